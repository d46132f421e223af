"""The evaluation of Carpineto, Romano 2018: Figures 1 and 2, and the correlations the paper quotes.

The paper shows its figures as pictures and its log is no longer distributed, so the evaluation is repeated on another
log and compared to what the paper says. How we read it, and what we had to choose:
docs/explanation/papers/carpineto-romano.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.experiments.carpineto import runs, tables
from queryveil.experiments.carpineto.runs import BySize, Mask, QueryResults, QueryRun, QuerySetup, measure_others
from queryveil.experiments.paper import Paper, PaperEvaluation, PaperInputs, PaperOptions
from queryveil.histories.pairs import Sensitivity
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.measures import CARPINETO
from queryveil.sensitivity.lists import load_lists
from queryveil.sensitivity.model import BAYES, load_model

DRAWS = 5  # repetitions of the random choices of Figure 2: in a small log a single one is mostly chance
FEWEST = 3  # heavy users; of fewer, means and correlations are meaningless
KS = (1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100, 200, 300, 500, 700, 1000)  # the paper: from 1 to 1000
SAMPLE_K, SAMPLE_PARTS = 10, (16, 8, 4, 2, 1)  # the k and the parts (1/16 …) of the growing samples
GENERATED_USERS = 35_000  # in a log like demo, about 10,000 of them are heavy users, as in the paper
SIZES = (10.0, 20.0, 30.0, 40.0, 50.0)  # % of the queries of the log


def evaluate(
    profiles: Profiles,
    sensitivity: Sensitivity,
    lists: PersonalWordLists,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> PaperEvaluation:
    """Compute the paper's figures on profiles of whole queries; `sensitivity` gives the probability of each text."""
    heavy = runs.select_heavy_users(profiles, rng)
    if heavy.n_people < FEWEST:
        raise InputError(
            f"{heavy.n_people:,} people of the log have more queries than the mean, and the paper's figures are of "
            f"such people; give a log with at least {FEWEST}."
        )
    texts = pa.array(heavy.vocabulary, pa.large_string())
    setup = QuerySetup(heavy, sensitivity(texts), lists, rng, progress)
    pools = {
        name: runs.release(setup, f"ppp(release={which})") for name, which in (("no-PPP", "none"), ("only-PPP", "only"))
    }
    shares = {name: 100.0 * float(heavy.counts[pool].sum()) / setup.n_issued for name, pool in pools.items()}
    drawn, others = figure_2(setup, pools, shares), measure_others(setup, sensitivity)
    results = QueryResults(setup, shares, *figure_1(setup), enlarge_samples(setup), drawn, others)
    figures, figure_tables = tables.figure_2(results)
    made = (
        tables.the_log(profiles, results),
        *tables.measure_tables(results),
        tables.correlation_table(results.first),
        *figure_tables,
        tables.others_table(others),
    )
    charts, findings = (tables.figure_1_chart(results.first), *figures), tables.check_claims(results)
    return PaperEvaluation(findings, made, charts, _record(results), heavy.n_people, setup.tally, tables.READING)


def _record(results: QueryResults) -> dict[str, Any]:
    """Return all figures for JSON."""
    return {
        "heavy_people": results.setup.profiles.n_people,
        "pools": results.shares,
        "samples": {n: asdict(run) for n, run in results.samples.items()},
        "figure_1": [asdict(run) for run in results.first],
        "figure_1_steady": [asdict(run) for run in results.steady],
        "correlations": [asdict(each) for each in tables.correlations_of(results.first)],
        "figure_2": _records(results.by_size),
        "figure_2_draws": [_records(draw) for draw in results.draws],
        "other_methods": [asdict(run) for run in results.others],
    }


def figure_1(setup: QuerySetup) -> tuple[list[QueryRun], list[QueryRun]]:
    """Release queries under query k-anonymity for every k up to the number of people.

    Return the runs, and those over the people of whom something is released at every k at which anything is.
    """
    ks = [k for k in KS if k <= setup.profiles.n_people]
    found, masks = [], {}
    for number, k in enumerate(ks):
        setup.progress("figure 1", number, len(ks))
        mask = runs.release_common(setup, k)
        found.append(runs.measure(setup, "k-anonymity", mask, k))
        if mask.any():
            masks[k] = mask
    last = masks[max(masks)]  # larger k release less, so who has something here has something at every k
    people = np.unique(setup.profiles.owner_per_pair()[last]).astype(np.int64)
    part, pairs = setup.of_people(people)
    return found, [runs.measure(part, "k-anonymity", mask[pairs], k) for k, mask in masks.items()]


def enlarge_samples(setup: QuerySetup) -> dict[int, QueryRun]:
    """Return what the measures say for ever larger samples of the people: size → run."""
    n_people = setup.profiles.n_people
    order, found = setup.rng.permutation(n_people), {}
    for n in (n_people // part for part in SAMPLE_PARTS if n_people // part >= FEWEST):
        sample, _ = setup.of_people(np.sort(order[:n]))
        found[n] = runs.measure(sample, "k-anonymity", runs.release_common(sample, SAMPLE_K), SAMPLE_K)
    return found


def sizes(shares: Iterable[float]) -> list[float]:
    """Return the sizes of releases (% of all queries): the paper's, and those of pools smaller than its largest."""
    return sorted({*SIZES, *(floor(10 * share) / 10 for share in shares if share < max(SIZES))})


def figure_2(setup: QuerySetup, pools: Mapping[str, Mask], shares: Mapping[str, float]) -> list[BySize]:
    """Release equally many queries by each strategy; larger releases contain the smaller ones of the same draw.

    A strategy that has fewer queries than a size is left out there.
    """
    everything, wanted = np.ones(len(setup.profiles.ids), np.bool_), sizes(shares.values())
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
            for name, order in orders.items():
                if shares.get(name, 100.0) >= size:
                    releases[name] = (runs.take_share(setup, order, size), None)
            by_size[size] = [
                runs.measure(setup, name, *releases[name]) for name in tables.STRATEGIES if name in releases
            ]
        draws.append(by_size)
    return draws


def _records(by_size: BySize) -> list[dict[str, Any]]:
    return [{"size": size, **asdict(run)} for size, releases in by_size.items() for run in releases]


def _evaluate_inputs(inputs: PaperInputs) -> PaperEvaluation:
    sensitivity = load_model(BAYES).sensitivities
    return evaluate(inputs.profiles, sensitivity, load_lists(), rng=inputs.rng, progress=inputs.progress)


def _check_options(options: PaperOptions) -> None:
    options.refuse_generator_options()
    if options.history != "user":
        raise InputError("the paper compares all queries of a person, so it goes with --history user; leave it out.")


PAPER = Paper(
    CARPINETO,
    "demo",
    _evaluate_inputs,
    _check_options,
    enough_people=runs.HEAVY_PEOPLE // 2,
    generated_users=lambda options: options.users or GENERATED_USERS,
    unit="query",
    shows_terms=False,
)
