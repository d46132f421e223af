"""The evaluation of Carpineto, Romano 2018: Figures 1 and 2, and the correlations the paper quotes.

The paper shows its figures as pictures and its log is no longer given out, so the same is done to a log at hand and set
beside what the paper says. How it is read, and where we chose: docs/decisions/0021.
"""

from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from queryveil.errors import GuaranteeError, InputError
from queryveil.experiments.carpineto import printed, tables
from queryveil.experiments.carpineto.runs import ByPeople, Outcome, Task, drawn, heavy, outcome, release, up_to
from queryveil.experiments.evaluation import Evaluation
from queryveil.types import Lists, Profiles, Progress, silent

PAPER = printed.PAPER
FEWEST = 3  # heavy people, below which means and correlations are of nothing


def evaluate(
    profiles: Profiles,
    sensitivity: NDArray[np.float64],
    lists: Lists,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Evaluation:
    """Make the paper's figures on a log of whole queries, told how sensitive each different query is."""
    chosen = heavy(profiles, rng)
    if chosen.n_people < FEWEST:
        raise InputError(
            f"{chosen.n_people:,} people of the log have more queries than the mean, and the paper's figures are of "
            f"such people; give a log with at least {FEWEST}."
        )
    task = Task(chosen, sensitivity, lists, rng, progress)
    pools = {"no-PPP": release(task, "ppp(release=none)"), "only-PPP": release(task, "ppp(release=only)")}
    shares = {name: 100.0 * float(chosen.counts[pool].sum()) / task.issued() for name, pool in pools.items()}
    first, second = figure_1(task), figure_2(task, pools, sizes(min(shares.values())))
    made = (
        tables.the_log(profiles, task, shares["only-PPP"]),
        tables.figure_1(first),
        tables.correlation_table(first),
        *tables.figure_2(second),
    )
    numbers = {
        "heavy_people": chosen.n_people,
        "pools": shares,
        "figure_1": [asdict(each) for each in first],
        "correlations": [asdict(each) for each in tables.correlations_of(first)],
        "figure_2": [{"size": size, **asdict(each)} for size, found in second.items() for each in found],
        "tables": [asdict(table) for table in made],
    }
    figures = (tables.figure_1_chart(first), *tables.figure_2_charts(second))
    return Evaluation(made, figures, numbers, tables.reading(second))


def figure_1(task: Task) -> list[Outcome]:
    """Release queries by query k-anonymity, k from 1 to 1000 or the number of people."""
    ks = [k for k in printed.KS if k <= task.profiles.n_people]
    found = []
    for number, k in enumerate(ks):
        task.progress("figure 1", number, len(ks))
        try:
            mask = release(task, f"query_k(k={k})")
        except GuaranteeError:  # so many people share no query: nothing is released, which the figure shows too
            mask = np.zeros(len(task.profiles.ids), np.bool_)
        found.append(outcome(task, "k-anonymity", mask, k))
    return found


def sizes(smallest: float) -> list[float]:
    """Return the sizes of releases (% of all queries) that the smallest pool allows; its own is the last."""
    allowed = [size for size in printed.SIZES if size <= smallest]
    return allowed if smallest >= max(printed.SIZES) or smallest in allowed else [*allowed, smallest]


def figure_2(task: Task, pools: dict[str, NDArray[np.bool_]], wanted: list[float]) -> dict[float, list[Outcome]]:
    """Release equally many queries by each strategy, ever larger sets of the same ones."""
    everything = np.ones(len(task.profiles.ids), np.bool_)
    orders = {name: drawn(task, pool) for name, pool in {**pools, "random": everything}.items()}
    by_people = ByPeople(task)
    found: dict[float, list[Outcome]] = {}
    for number, size in enumerate(wanted):
        task.progress("figure 2", number, len(wanted))
        mask, k = by_people.up_to(size)
        found[size] = [
            outcome(task, "no-PPP", up_to(task, orders["no-PPP"], size)),
            outcome(task, "k-anonymity", mask, k),
            outcome(task, "random", up_to(task, orders["random"], size)),
            outcome(task, "only-PPP", up_to(task, orders["only-PPP"], size)),
        ]
    return found
