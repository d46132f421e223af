"""The evaluation of Liu and Wang 2010: the running example, Table I, and SSC against LG and suppression over k.

The paper prints no figures of its experiments, which are in a technical report that is not public; so the runs it names
are made on a log at hand: bLM, Recall and sDist for k = 2, 5, 10, 20 and ε = 4, 6, 8. LM stands beside bLM to show how
it flatters. Where we read the paper differently, and why: docs/decisions/0018 and 0019.
"""

from dataclasses import asdict

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.experiments.evaluation import Evaluation
from queryveil.experiments.liu import examples, printed, result_tables
from queryveil.experiments.liu.grid import Task, methods, publish, run_grid
from queryveil.histories.profiles import Profiles
from queryveil.semantics.network import wordnet

PAPER = printed.PAPER
PATTERNS = 1_000  # the most frequent ones, compared


def evaluate(profiles: Profiles, *, rng: np.random.Generator, progress: Progress = silent) -> Evaluation:
    """Make the paper's example, Table I and its comparison on a log; every run is verified before it is reported."""
    largest = max(printed.KS)
    if profiles.n_people < largest:
        raise InputError(
            f"the log has {profiles.n_people:,} people, but the paper's k goes up to {largest}; give a log of at least "
            f"{largest}."
        )
    task = Task(profiles, wordnet(), PATTERNS, rng)
    small = examples.example(rng)
    for name in methods(printed.EXAMPLE_K).values():
        publish(small, name)  # so that nothing is compiled while the clock runs
    first = (examples.figures_1_and_2(small), examples.figure_3(small), examples.table_1(task, progress))
    outcomes = run_grid(task, progress)
    cells = result_tables.by_cell(outcomes)
    tables = (*first, *result_tables.tables(cells))
    numbers = {
        "runs": [outcome.as_record() for outcome in outcomes],
        "patterns": PATTERNS,
        "tables": [asdict(table) for table in tables],
    }
    return Evaluation(tables, tuple(result_tables.figures(cells)), numbers)
