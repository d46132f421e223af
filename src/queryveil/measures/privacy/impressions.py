"""Impressions: how many of the queries are released, all together and by person."""

import numpy as np

from queryveil.measures.privacy.people import Reals, averaged, people_note
from queryveil.spec import Bound
from queryveil.types import LogPair, Progress, Score, silent


def impressions(pair: LogPair, bound: Bound, *, rng: np.random.Generator, progress: Progress = silent) -> list[Score]:
    """Return the share of queries released, of those that are not the person's own, and of people with none."""
    total, released = int(pair.before.sum()), int(pair.after.sum())
    foreign = int(pair.after[pair.before == 0].sum())
    what = "terms" if pair.unit == "term" else "queries"
    silent_people = 100.0 * float((pair.n_after == 0).mean())

    def score(label: str, value: float | None, counted: int, note: str) -> Score:
        return Score(str(bound), label, value, units_counted=counted, better="", note=note)

    return [
        score(f"{what} released", 100.0 * released / total, total, people_note(pair)),
        averaged(
            str(bound),
            f"{what} released, mean of all people",
            100.0 * impressions_by_person(pair, bound),
            highest=float("inf"),
            better="",
        ),
        score(
            f"released {what} that stand for none of the person's",
            100.0 * foreign / released if released else None,
            released,
            f"where this is high, {what} were changed: see --match" if foreign else "",
        ),
        score("people with nothing released", silent_people, pair.n_people, ""),
    ]


def impressions_by_person(pair: LogPair, bound: Bound) -> Reals:
    """Return the share of every person's queries that is released."""
    share: Reals = pair.n_after / pair.n_before
    return share
