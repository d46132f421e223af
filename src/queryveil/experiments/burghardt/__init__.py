"""The evaluation of Burghardt, Böhm, Guttman, Clifton 2010: tables 1 to 7, figures 1 and 2, and section 5.2's times.

The paper's logs and market data are not public, so the same is done to a log at hand and set beside what the paper
prints. Where we read it differently, and why: terms are ranked and ties broken as `queryveil.methods.km` says; table 5
shows what the target that aims at a measure keeps of it, which the paper says is the best in all cases; times are of
whole runs, for the paper mostly gives that of the first pass.
"""

from dataclasses import asdict

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.experiments.burghardt import input_tables, printed, result_tables
from queryveil.experiments.burghardt.grid import Task, run_grid
from queryveil.experiments.burghardt.supports import Holders
from queryveil.experiments.burghardt.times import run_times, warm_up
from queryveil.experiments.evaluation import Evaluation
from queryveil.histories.profiles import Profiles
from queryveil.market.table import Market
from queryveil.methods.utilities import Worth

PAPER = printed.PAPER


def evaluate(
    profiles: Profiles,
    market: Market,
    *,
    algorithm: str = "paper",
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Evaluation:
    """Make the paper's tables and figures on a log; every run is verified before it is reported."""
    task = Task(profiles, Worth(market=market), algorithm, rng)
    _refuse_unfit(task)
    warm_up(task)
    progress("looking for examples", 0, 1)
    holders = Holders(profiles)
    first, fourth = input_tables.table_1(holders), input_tables.table_4(holders)
    second, highest = input_tables.table_2(profiles, market)
    third, correlations = input_tables.table_3(profiles, market)
    times = run_times(task, progress)
    outcomes = run_grid(task, progress)
    grid = result_tables.by_cell(outcomes)
    (sizes, sizes_table), (clicks, clicks_table) = result_tables.figure_1(grid), result_tables.figure_2(grid)
    results = (result_tables.table_5(grid), result_tables.table_6(grid), result_tables.table_7(grid))
    tables = (input_tables.section_5_1(profiles), first, second, third, *fourth, *results, sizes_table, clicks_table)
    tables = (*tables, result_tables.times_table(times, outcomes))
    numbers = {
        "table_2": highest,
        "table_3": [{**asdict(each), "significant": each.is_significant} for each in correlations],
        "runs": [asdict(outcome) for outcome in outcomes],
        "timed": [asdict(outcome) for outcome in times.whole.values()],
        "timed_from_2_2": asdict(times.started),
        "tables": [asdict(table) for table in tables],
    }
    return Evaluation(tables, (sizes, clicks), numbers)


def _refuse_unfit(task: Task) -> None:
    """Refuse a log or a market table on which the paper's figures have no meaning."""
    largest, people = max(printed.KS), task.profiles.n_people
    if people < largest:
        raise InputError(
            f"the log has {people:,} people, but the paper's k goes up to {largest}; give a log of at least {largest}."
        )
    for name, value in task.values.items():
        if not value.any():
            raise InputError(
                f"the market table gives no {name} above 0 for any term of the log, so there is nothing of it to keep; "
                "give one that does by --market."
            )
