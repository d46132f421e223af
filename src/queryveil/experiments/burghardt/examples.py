"""Examples of the paper's kind: its own small ones as logs, and the like of them in a log at hand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from queryveil.experiments.burghardt.supports import Holders
from queryveil.histories.assembly import assemble
from queryveil.histories.profiles import Profiles

LOOKED_AT = 400  # histories in which an example is looked for
LONGEST = 40  # of these
MOST_HOLDERS = 400  # of a term whose frequent combinations are counted one by one

# Table 1: people with the counts that the paper prints
ARNOLD = (
    *[("arnold", "lilburn", "georgia")],
    *[("arnold", "georgia")] * 14,
    *[("lilburn", "georgia")] * 4,
    *[("arnold",)] * 152,
    *[("lilburn",)],
    *[("georgia",)] * 1361,
)
# Table 4, example 10: the first history's eugene, chicago, smith is not frequent
SMITH = (
    ("eugene", "chicago", "smith", "x2"),
    ("chicago", "smith", "x2"),
    *[("smith", "eugene", "x3")] * 2,
    *[("chicago", "eugene", "x1")] * 2,
    *[("eugene", "x4", "x5")] * 2,
    *[("eugene", "x6", "x7")] * 2,
    ("eugene", "x2"),
    *[("chicago",)] * 2,
)

Step = tuple[int, str, int, int, str]  # iteration, term, size of combinations, frequency, state


def profiles_of(histories: Sequence[Iterable[str]]) -> Profiles:
    """Return a log of one history per person, each term in one query."""
    words = sorted({term for history in histories for term in history})
    number = {word: i for i, word in enumerate(words)}
    pairs = np.array([(h, number[term]) for h, history in enumerate(histories) for term in history], np.int32)
    owner = np.arange(len(histories), dtype=np.int32)
    persons = tuple(str(person) for person in owner)
    return assemble(pairs[:, 0], pairs[:, 1], pa.array(words, pa.large_string()), owner, persons)


def decide(figures: Mapping[str, Sequence[int]]) -> list[Step]:
    """Return the steps by which `fis` chooses one of some terms, from each one's figures for sizes m to 1."""
    steps: list[Step] = []
    candidates = list(figures)
    m = len(next(iter(figures.values())))
    for iteration, size in enumerate(range(m, 0, -1), 1):
        frequency = {term: figures[term][iteration - 1] for term in candidates}
        lowest = [term for term in candidates if frequency[term] == min(frequency.values())]
        chosen = "delete term" if len(lowest) == 1 else "candidate"
        steps += [(iteration, t, size, frequency[t], chosen if t in lowest else "keep term") for t in candidates]
        candidates = lowest
        if len(candidates) == 1:
            break
    return steps


def find_identified(holders: Holders) -> tuple[int, int, int] | None:
    """Find the like of georgia, arnold and lilburn: two terms only one person has together, and a third of theirs.

    Of the pairs in the first histories, the one whose rarer term most people have; the third term goes with either.
    """
    best: tuple[int, int, int] | None = None
    for row in _rows(holders.profiles):
        for rare, common in ((b, a) for b in row[1:] for a in row[: row.index(b)]):
            if best is not None and rare >= best[2]:  # ids fall with the number of people
                break
            if holders.support([common, rare]) == 1:
                third = [
                    t
                    for t in row
                    if t not in (common, rare) and min(holders.support([t, x]) for x in (common, rare)) > 1
                ]
                if third:
                    best = third[0], common, rare
                    break
    return best


def find_undecided(holders: Holders, k: int, m: int) -> list[Step]:
    """Find a combination of m terms that fewer than k people have and that `fis` decides in the most iterations."""
    figures: dict[int, tuple[int, ...]] = {}
    best: list[Step] = []
    for row in _rows(holders.profiles):
        few = [term for term in row if k <= holders.support([term]) <= MOST_HOLDERS]
        for chosen in combinations(few[:8], m):
            if holders.support(chosen) >= k:
                continue
            for term in chosen:
                if term not in figures:
                    figures[term] = holders.fis_figures(term, k, m)
            steps = decide({holders.profiles.vocabulary[term]: figures[term] for term in chosen})
            if steps[-1][0] > (best[-1][0] if best else 0):
                best = steps
        if best and best[-1][0] == m:
            break
    return best


def _rows(profiles: Profiles) -> Iterator[list[int]]:
    """Yield the terms of the first histories that have several but not too many."""
    lengths = np.diff(profiles.indptr)
    for history in np.flatnonzero((lengths >= 3) & (lengths <= LONGEST))[:LOOKED_AT].tolist():
        yield profiles.ids[profiles.indptr[history] : profiles.indptr[history + 1]].tolist()
