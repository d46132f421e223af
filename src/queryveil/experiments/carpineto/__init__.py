"""The evaluation of Carpineto, Romano 2018: Figures 1 and 2, and the correlations the paper quotes.

The paper shows its figures as pictures and its log is no longer given out, so the same is done to a log at hand and set
beside what the paper says. How it is read, and where we chose: docs/decisions/0021.
"""

from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.progress import Progress, silent
from queryveil.experiments.carpineto import printed, tables
from queryveil.experiments.carpineto.runs import By, ByPeople, Outcome, Task, drawn, heavy, outcome, release, up_to
from queryveil.experiments.evaluation import Evaluation
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import PersonalWordLists

PAPER = printed.PAPER
DRAWS = 5  # of what is released by lot in Figure 2: one alone is mostly chance in a small log
FEWEST = 3  # heavy people, below which means and correlations are of nothing


def evaluate(
    profiles: Profiles,
    sensitivity: NDArray[np.float64],
    lists: PersonalWordLists,
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
    first, draws = figure_1(task), figure_2(task, pools, sizes(min(shares.values())))
    second = mean_of(draws)
    made = (
        tables.the_log(profiles, task, shares["only-PPP"]),
        tables.figure_1(first),
        tables.correlation_table(first),
        *tables.figure_2(second, draws),
    )
    numbers = {
        "heavy_people": chosen.n_people,
        "pools": shares,
        "figure_1": [asdict(each) for each in first],
        "correlations": [asdict(each) for each in tables.correlations_of(first)],
        "figure_2": _listed(second),
        "figure_2_draws": [_listed(draw) for draw in draws],
        "tables": [asdict(table) for table in made],
    }
    figures = (tables.figure_1_chart(first), *tables.figure_2_charts(second))
    return Evaluation(made, figures, numbers, tables.reading(second, draws))


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


def figure_2(task: Task, pools: dict[str, NDArray[np.bool_]], wanted: list[float]) -> list[By]:
    """Release equally many queries by each strategy, ever larger sets of the same ones; several times by lot."""
    everything = np.ones(len(task.profiles.ids), np.bool_)
    draws: list[By] = []
    for number in range(DRAWS):
        orders = {name: drawn(task, pool) for name, pool in {**pools, "random": everything}.items()}
        by_people = ByPeople(task)
        found: dict[float, list[Outcome]] = {}
        for place, size in enumerate(wanted):
            task.progress("figure 2", number * len(wanted) + place, DRAWS * len(wanted))
            mask, k = by_people.up_to(size)
            found[size] = [
                outcome(task, "no-PPP", up_to(task, orders["no-PPP"], size)),
                outcome(task, "k-anonymity", mask, k),
                outcome(task, "random", up_to(task, orders["random"], size)),
                outcome(task, "only-PPP", up_to(task, orders["only-PPP"], size)),
            ]
        draws.append(found)
    return draws


def mean_of(draws: list[By]) -> By:
    """Return the mean of every figure over the draws; k is that of each."""
    return {
        size: [
            replace(
                each,
                figures={name: fmean(draw[size][i].figures[name] for draw in draws) for name in each.figures},
                nothing=fmean(draw[size][i].nothing for draw in draws),
            )
            for i, each in enumerate(draws[0][size])
        ]
        for size in draws[0]
    }


def _listed(found: By) -> list[dict[str, Any]]:
    return [{"size": size, **asdict(each)} for size, outcomes in found.items() for each in outcomes]
