"""The evaluation of Carpineto, Romano 2018: Figures 1 and 2, and the correlations the paper quotes.

The paper shows its figures as pictures and its log is no longer distributed, so the evaluation is repeated on another
log and compared to what the paper says. How we read it, and what we had to choose:
docs/explanation/papers/carpineto-romano.md.
"""

from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

import numpy as np

from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import FloatArray
from queryveil.experiments.carpineto import runs, tables
from queryveil.experiments.carpineto.runs import BySize, Mask, QueryRun, QuerySetup
from queryveil.experiments.paper import Paper, PaperEvaluation, PaperInputs, PaperOptions, mean_figures
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.measures import CARPINETO
from queryveil.sensitivity.lists import load_lists
from queryveil.sensitivity.model import load_model

DRAWS = 5  # repetitions of the random choices of Figure 2: in a small log a single one is mostly chance
FEWEST = 3  # heavy users; of fewer, means and correlations are meaningless
KS = (1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100, 200, 300, 500, 700, 1000)  # the paper: from 1 to 1000
STRATEGIES = ("no-PPP", "k-anonymity", "random", "only-PPP")  # of Figure 2
SIZES = (10.0, 20.0, 30.0, 40.0, 50.0)  # % of the queries of the log


def evaluate(
    profiles: Profiles,
    sensitivity: FloatArray,
    lists: PersonalWordLists,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> PaperEvaluation:
    """Compute the paper's figures on profiles of whole queries; `sensitivity` (entries,) is a probability per query."""
    heavy = runs.select_heavy_users(profiles, rng)
    if heavy.n_people < FEWEST:
        raise InputError(
            f"{heavy.n_people:,} people of the log have more queries than the mean, and the paper's figures are of "
            f"such people; give a log with at least {FEWEST}."
        )
    setup = QuerySetup(heavy, sensitivity, lists, rng, progress)
    pools = {
        name: runs.release(setup, f"ppp(release={which})") for name, which in (("no-PPP", "none"), ("only-PPP", "only"))
    }
    shares = {name: 100.0 * float(heavy.counts[pool].sum()) / setup.n_issued for name, pool in pools.items()}
    first, draws = figure_1(setup), figure_2(setup, pools, sizes(min(shares.values())))
    second = mean_of(draws)
    figures, figure_tables = tables.figure_2(second, draws)
    made = (
        tables.the_log(profiles, setup, shares["only-PPP"]),
        tables.figure_1(first),
        tables.correlation_table(first),
        *figure_tables,
    )
    record = {
        "heavy_people": heavy.n_people,
        "pools": shares,
        "figure_1": [asdict(run) for run in first],
        "correlations": [asdict(each) for each in tables.correlations_of(first)],
        "figure_2": _records(second),
        "figure_2_draws": [_records(draw) for draw in draws],
    }
    return PaperEvaluation(made, (tables.figure_1_chart(first), *figures), record, tables.reading(second, draws))


def figure_1(setup: QuerySetup) -> list[QueryRun]:
    """Release queries under query k-anonymity for every k up to the number of people."""
    ks = [k for k in KS if k <= setup.profiles.n_people]
    found = []
    for number, k in enumerate(ks):
        setup.progress("figure 1", number, len(ks))
        try:
            mask = runs.release(setup, f"query_k(k={k})")
        except GuaranteeError:  # no query has k people: nothing is released, which the figure shows too
            mask = np.zeros(len(setup.profiles.ids), np.bool_)
        found.append(runs.measure(setup, "k-anonymity", mask, k))
    return found


def sizes(smallest: float) -> list[float]:
    """Return the sizes of releases (% of all queries) up to that of the smallest pool, which is the last."""
    allowed = [size for size in SIZES if size <= smallest]
    return allowed if smallest >= max(SIZES) or smallest in allowed else [*allowed, smallest]


def figure_2(setup: QuerySetup, pools: dict[str, Mask], wanted: list[float]) -> list[BySize]:
    """Release equally many queries by each strategy; larger releases contain the smaller ones of the same draw."""
    everything = np.ones(len(setup.profiles.ids), np.bool_)
    draws: list[BySize] = []
    for number in range(DRAWS):
        # pairs of each pool in random order; every prefix can be released
        all_pools = {**pools, "random": everything}
        orders = {name: setup.rng.permutation(np.flatnonzero(pool)) for name, pool in all_pools.items()}
        common_first = runs.CommonQueriesFirst(setup)
        by_size: dict[float, list[QueryRun]] = {}
        for position, size in enumerate(wanted):
            setup.progress("figure 2", number * len(wanted) + position, DRAWS * len(wanted))
            releases: dict[str, tuple[Mask, int | None]] = {"k-anonymity": common_first.take_share(size)}
            releases |= {name: (runs.take_share(setup, order, size), None) for name, order in orders.items()}
            by_size[size] = [runs.measure(setup, strategy, *releases[strategy]) for strategy in STRATEGIES]
        draws.append(by_size)
    return draws


def mean_of(draws: list[BySize]) -> BySize:
    """Return the mean of every figure over the draws; k is that of the first draw."""
    return {
        size: [
            replace(
                repeats[0],
                figures=mean_figures([run.figures for run in repeats]),
                nothing=fmean(run.nothing for run in repeats),
            )
            for repeats in zip(*(draw[size] for draw in draws), strict=True)
        ]
        for size in draws[0]
    }


def _records(by_size: BySize) -> list[dict[str, Any]]:
    return [{"size": size, **asdict(run)} for size, releases in by_size.items() for run in releases]


def _evaluate_inputs(inputs: PaperInputs) -> PaperEvaluation:
    sensitivity = load_model().sensitivities(inputs.profiles.vocabulary)
    return evaluate(inputs.profiles, sensitivity, load_lists(), rng=inputs.rng, progress=inputs.progress)


def _check_options(options: PaperOptions) -> None:
    options.refuse_generator_options()
    if options.history != "user":
        raise InputError("the paper compares all queries of a person, so it goes with --history user; leave it out.")


PAPER = Paper(CARPINETO, "demo", _evaluate_inputs, _check_options, unit="query", shows_terms=False)
