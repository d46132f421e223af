"""The evaluation of Zhu and Xiong 2010: tables 1 to 5 and figures 2 to 6.

AOL's log and the TIPSTER corpus are not ours to ship, so people come from a log at hand or a generated one and
documents from any index. Where we read it differently, and why: the precision is given in several definitions, since
the paper has no formula; beside the groups stand random ones, everybody, and each with the own profile left out, since
the headline figure is high for any groups; figure 3's p is taken to be that of figure 2.
"""

from dataclasses import asdict

import numpy as np

from queryveil.core.progress import Progress, silent
from queryveil.experiments.evaluation import Evaluation
from queryveil.experiments.zhu import printed
from queryveil.experiments.zhu.examples import example_tables
from queryveil.experiments.zhu.figures import all_runs, figure_2, figure_3, figure_4, figure_5, figure_6
from queryveil.experiments.zhu.grid import Grid, run_grid
from queryveil.experiments.zhu.people import FEWEST, equal_profiles
from queryveil.experiments.zhu.reading import read
from queryveil.histories.profiles import Profiles
from queryveil.search.index import Index

__all__ = ("FEWEST", "PAPER", "PEOPLE", "evaluate")

PAPER, PEOPLE = printed.PAPER, printed.PEOPLE


def evaluate(
    profiles: Profiles,
    index: Index,
    *,
    people: int = PEOPLE,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Evaluation:
    """Make the paper's tables and figures with people of a log and the documents of an index."""
    progress("choosing people", 0, 0)
    grid = run_grid(equal_profiles(profiles, people, rng), index, rng, progress)
    drawn = [figure(grid) for figure in (figure_3, figure_4, figure_5, figure_6)]
    tables = (*example_tables(), *figure_2(grid), *(table for _, table in drawn), all_runs(grid))
    numbers = {"people": grid.people, "queries": grid.queries, "runs": _runs(grid)}
    numbers["tables"] = [asdict(table) for table in tables]
    return Evaluation(tables, tuple(figure for figure, _ in drawn), numbers, read(grid))


def _runs(grid: Grid) -> list[dict[str, object]]:
    """Return every run with the estimates of all its variants and metrics."""
    return [
        {
            "settings": settings,
            "p": p,
            "a": a,
            "method": run.method,
            "groups": run.groups,
            **run.privacy,
            "figures": {
                variant: {metric: grid.resamples.mean(values)._asdict() for metric, values in figures.items()}
                for variant, figures in {**run.figures, **grid.common}.items()
            },
        }
        for (settings, p, a), run in grid.runs.items()
    ]
