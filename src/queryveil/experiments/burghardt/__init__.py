"""The evaluation of Burghardt, Böhm, Guttman, Clifton 2010: tables 1 to 7, figures 1 and 2, times, and history sizes.

The paper's logs and market data are not public, so the evaluation is repeated on another log, next to the paper's
figures. Where we read it differently, and why: terms are ranked and ties broken as `queryveil.methods.km` says; table 5
shows how much the target that aims at a measure keeps of it, which according to the paper is the best in all cases;
times are of complete runs, while the paper mostly reports that of the first pass.
"""

from dataclasses import asdict

from queryveil.core.errors import InputError
from queryveil.core.names import Name, resolve
from queryveil.experiments.burghardt import claims, input_tables, printed, result_tables
from queryveil.experiments.burghardt.examples import TermHolders
from queryveil.experiments.burghardt.grid import KmSetup, run_grid, run_times, warm_up
from queryveil.experiments.burghardt.history_size import UNITS, history_size_table, run_history_sizes
from queryveil.experiments.paper import Paper, PaperEvaluation, PaperInputs, PaperOptions, judge, required
from queryveil.measures.utility.market import coverage
from queryveil.methods.targets import TermValues


def evaluate(inputs: PaperInputs) -> PaperEvaluation:
    """Compute the paper's tables and figures on a log; every release is verified before it is reported."""
    profiles, market, algorithm = inputs.profiles, required(inputs.market), inputs.options.algorithm
    coverage(profiles, market)  # refuses a table of other terms
    setup, progress = KmSetup(profiles, TermValues(market=market), algorithm, inputs.rng), inputs.progress
    _check_inputs(setup)
    warm_up(setup)
    progress("looking for examples", 0, 1)
    holders = TermHolders(profiles)
    log, unknown = input_tables.section_5_1(profiles, inputs.n_queries)
    first, fourth = input_tables.table_1(holders), input_tables.table_4(holders)
    second, highest = input_tables.table_2(profiles, market)
    third, correlations, agree = input_tables.table_3(profiles, market)
    timed, started = run_times(setup, progress)
    runs = run_grid(setup, progress)
    cut = run_history_sizes(setup, inputs.cut, progress)
    grid = result_tables.grid_of(runs)
    figures, results = result_tables.figures_and_tables(grid)
    times = result_tables.times_table(timed, started, runs)
    found = claims.check_inputs(unknown, bool(first.notes), agree, is_generated=not inputs.options.has_log)
    found |= claims.check_times(timed, started, runs) | claims.check_targets(grid) | claims.check_sizes(grid)
    record = {
        "algorithm": algorithm,
        "table_2": highest,
        "table_3": [{**asdict(each), "significant": each.is_significant} for each in correlations],
        "runs": [asdict(run) for run in runs],
        "timed": [asdict(run) for run in timed.values()],
        "timed_from_2_2": asdict(started),
        "history_sizes": [asdict(run) for run in cut],
    }
    return PaperEvaluation(
        judge(printed.CLAIMS, found),
        (log, first, second, third, *fourth, *results, times, history_size_table(cut)),
        figures,
        record,
        profiles.n_people,
        setup.tally,
        setting=f", anonymised by algorithm={algorithm}",
    )


def _check_inputs(setup: KmSetup) -> None:
    """Refuse a log or a market table on which the paper's figures have no meaning."""
    largest, people = max(printed.KS), setup.profiles.n_people
    if people < largest:
        raise InputError(
            f"the log has {people:,} people, but the paper's k goes up to {largest}; give a log of at least {largest}."
        )
    for name, value in setup.values.items():
        if not value.any():
            raise InputError(
                f"the market table gives no {name} above 0 for any term of the log, so there is nothing of it to keep; "
                "give one that does by --market."
            )


def _check_options(options: PaperOptions) -> None:
    options.refuse_generator_options()
    resolve("method", Name("km", (("k", 2), ("m", 2), ("algorithm", options.algorithm))))
    if options.has_log and options.market is None:
        raise InputError("--log needs the market table of its terms; give it by --market, or leave --log out.")
    if not options.has_log and options.market is not None:
        raise InputError("--market goes with the log that it is about; give that by --log, or leave --market out.")


ENOUGH_PEOPLE = printed.LOG["users"] // 2
PAPER = Paper(
    printed.CITATION, "altavista", evaluate, _check_options, ENOUGH_PEOPLE, needs_market=True, histories=UNITS
)
