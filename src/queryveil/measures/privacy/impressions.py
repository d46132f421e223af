"""Impressions: how many of the queries are released, all together and by person."""

import numpy as np

from queryveil.core.evidence import Evidence, LogPair
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.measures.privacy.people import Figures, Reals, averaged, figures_of, people_note


def impressions(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return the share of queries released, of those that are not the person's own, and of people with none."""
    pair = evidence.get(LogPair)
    return impressions_scores(impressions_figures(pair, measure), measure)


def impressions_figures(pair: LogPair, measure: ResolvedName) -> Figures:
    """Return all queries, those released, those of them that are not the person's own, and the shares of people."""
    totals = (int(pair.before.sum()), int(pair.after.sum()), int(pair.after[pair.before == 0].sum()))
    return figures_of(pair, totals, (100.0 * impressions_by_person(pair, measure),))


def impressions_scores(found: Figures, measure: ResolvedName) -> list[Score]:
    """Score impressions by their figures."""
    total, released, foreign = found.totals
    what = "terms" if found.unit == "term" else "queries"
    silent_people = 100.0 * found.n_silent / found.n_people

    def score(label: str, value: float | None, counted: int, note: str) -> Score:
        return Score(str(measure), label, value, units_counted=counted, better="", note=note)

    return [
        score(f"{what} released", 100.0 * released / total, total, people_note(found)),
        averaged(
            str(measure),
            f"{what} released, mean of all people",
            found.spreads[0],
            highest=float("inf"),
            better="",
        ),
        score(
            f"released {what} that stand for none of the person's",
            100.0 * foreign / released if released else None,
            released,
            f"where this is high, {what} were changed: see --match" if foreign else "",
        ),
        score("people with nothing released", silent_people, found.n_people, ""),
    ]


def impressions_by_person(pair: LogPair, measure: ResolvedName) -> Reals:
    """Return the share of every person's queries that is released."""
    share: Reals = pair.n_after / pair.n_before
    return share
