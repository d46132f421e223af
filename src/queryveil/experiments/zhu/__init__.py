"""The evaluation of Zhu and Xiong 2010: tables 1 to 5 and figures 1 to 6.

AOL's log and the TIPSTER corpus cannot be shipped, so people come from another log or a generated one, and documents
from any index. Where we read the paper differently, and why: precision is given in several definitions, because the
paper has no formula; next to the groups there are random groups, one group of everybody, and each with the person's own
profile left out, because the headline figure is high for any groups; figure 3 is taken to have the p of figure 2.
"""

from queryveil.core.errors import InputError
from queryveil.experiments.paper import Paper, PaperEvaluation, PaperInputs, PaperOptions, required
from queryveil.experiments.zhu.examples import example_tables
from queryveil.experiments.zhu.figures import all_runs, check_claims, figure_2, figures_3_to_6, interpret
from queryveil.experiments.zhu.grid import FEWEST, equal_profiles, run_grid
from queryveil.search.index import open_index

CITATION = "Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010"
PEOPLE = 720
USERS_PER_PERSON = 110  # in a log like aol, about one of them has enough terms to take part


def evaluate(inputs: PaperInputs) -> PaperEvaluation:
    """Compute the paper's tables and figures with people of a log and the documents of an index."""
    index, rng, progress = open_index(required(inputs.index)), inputs.rng, inputs.progress
    progress("choosing people", 0, 0)
    people = equal_profiles(inputs.profiles, inputs.options.users or PEOPLE, rng)
    grid = run_grid(people, index, rng, progress)
    drawn, (compared, second) = figures_3_to_6(grid), figure_2(grid)
    tables = (*example_tables(), *second, *(table for _, table in drawn), all_runs(grid))
    runs = [  # with the estimates of all their variants and metrics
        {
            **{"settings": settings, "p": p, "a": a, "method": run.method, "groups": run.groups},
            **run.privacy,
            "figures": {
                variant: {metric: grid.resamples.mean(values)._asdict() for metric, values in figures.items()}
                for variant, figures in {**run.figures, **grid.common}.items()
            },
        }
        for (settings, p, a), run in grid.runs.items()
    ]
    record = {"people": grid.people, "queries": grid.queries, "runs": runs}
    documents = f"{len(index.documents):,} documents ({inputs.options.index or 'the bundled corpus'})"
    setting = f"; {grid.people:,} of them take part and search {documents}"
    return PaperEvaluation(
        check_claims(grid),
        tables,
        (compared, *(figure for figure, _ in drawn)),
        record,
        grid.people,
        grid.tally,
        interpret(grid),
        setting,
    )


def _check_options(options: PaperOptions) -> None:
    if options.has_log and options.like is not None:
        raise InputError("--like is about a generated log; leave it out, or leave --log out.")
    if options.history != "user":
        raise InputError("a profile is of a person, so it goes with --history user; leave --history out.")
    if options.users is not None and options.users < FEWEST:
        raise InputError(f"--users must be a whole number of at least {FEWEST} for zhu, not {options.users}.")
    if options.index is not None:
        open_index(options.index)  # refuse a bad index before a log is generated


PAPER = Paper(
    CITATION,
    "aol",
    evaluate,
    _check_options,
    enough_people=PEOPLE // 2,
    generated_users=lambda options: USERS_PER_PERSON * (options.users or PEOPLE),
    needs_index=True,
)
