"""The releases behind the figures: each is made by the method it is called after, verified, and measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence, Floor, LogPair, Owners, ReleasedHistories
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress
from queryveil.core.rows import gather_rows, row_sums, select_entries
from queryveil.experiments.carpineto.printed import HEAVY_PEOPLE
from queryveil.experiments.runs import confirm, run_method
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import PersonalWordLists

MEASURES = ("impressions", "jsd", "spi", "pel", "pel(estimate=joint)", "exposed")
Mask = NDArray[np.bool_]
Order = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """What all runs share."""

    profiles: Profiles  # people × whole queries
    sensitivity: NDArray[np.float64]  # (entries,)
    lists: PersonalWordLists
    rng: np.random.Generator
    progress: Progress

    def issued(self) -> int:
        """Count the queries that were issued."""
        return int(self.profiles.counts.sum(dtype=np.int64))

    def pair(self, mask: Mask) -> LogPair:
        """Set the log beside what is left of it."""
        profiles, counts = self.profiles, self.profiles.counts.astype(np.int64)
        level = self.sensitivity[profiles.ids]
        after = np.where(mask, counts, 0)
        return LogPair(profiles.indptr, profiles.ids, counts, after, profiles.persons, level, level)


@dataclass(frozen=True)
class Outcome:
    """What was released in one way, and its figures."""

    strategy: str
    k: int | None  # where every query was issued by so many people
    figures: Mapping[str, float]  # measure → its first figure: % for impressions, PEL and exposed
    nothing: float  # % of people of whom nothing was released


By = Mapping[float, Sequence[Outcome]]  # size of releases (%) → one of each strategy


def heavy(profiles: Profiles, rng: np.random.Generator) -> Profiles:
    """Return the profiles of people with more queries than the mean, at most as many as in the paper."""
    issued = row_sums(profiles.counts, profiles.indptr)
    chosen = np.flatnonzero(issued > issued.mean())
    if len(chosen) > HEAVY_PEOPLE:
        chosen = np.sort(rng.choice(chosen, HEAVY_PEOPLE, replace=False))
    indptr, taken = gather_rows(profiles.indptr, chosen)
    return replace(
        profiles,
        indptr=indptr,
        ids=profiles.ids[taken],
        counts=profiles.counts[taken],
        owner=np.arange(len(chosen), dtype=np.int32),
        persons=tuple(profiles.persons[person] for person in profiles.owner[chosen].tolist()),
        log_history=profiles.log_history[chosen],
    )


def release(task: Task, method: str) -> Mask:
    """Return what a method leaves, verified."""
    bound = resolve("method", method)
    kept: KeptPairs = run_method(bound, task.profiles, task.rng, task.lists, progress=task.progress)
    _verify(task, bound, kept.mask)
    return kept.mask


def _verify(task: Task, method: ResolvedName, mask: Mask) -> None:
    """Have the verifier confirm what was kept; of nothing there is nothing to verify."""
    if not mask.any():
        return
    profiles = task.profiles
    released, ids = np.unique(profiles.ids[mask], return_inverse=True)
    queries = tuple(profiles.vocabulary[query] for query in released.tolist())
    users = np.arange(profiles.n_histories)
    indptr, counts = select_entries(profiles.indptr, mask), profiles.counts[mask]
    histories = ReleasedHistories(users, indptr, ids.astype(np.int32), counts, queries, None, "query")
    owners = Owners(profiles.owner, users, profiles.holders_by_text)
    confirm(method, Evidence.of(histories, owners, Floor(), task.lists))


def outcome(task: Task, strategy: str, mask: Mask, k: int | None = None) -> Outcome:
    """Measure what is left of the log."""
    pair = task.pair(mask)
    figures = {}
    for name in MEASURES:
        bound = resolve("measure", name)
        figures[name] = float(bound.declaration.load()(Evidence.of(pair), bound, rng=task.rng)[0].value or 0.0)
    return Outcome(strategy, k, figures, 100.0 * float((pair.n_after == 0).mean()))


def drawn(task: Task, pool: Mask) -> Order:
    """Return the pairs of a pool in a random order, of which every beginning is a release and part of the next."""
    return task.rng.permutation(np.flatnonzero(pool))


def up_to(task: Task, order: Order, size: float) -> Mask:
    """Return the longest beginning of an order of pairs that is no more than a share (%) of the issued queries."""
    issued = np.cumsum(task.profiles.counts[order], dtype=np.int64)
    mask = np.zeros(len(task.profiles.ids), np.bool_)
    mask[order[: np.searchsorted(issued, size / 100.0 * task.issued() + 1e-9, side="right")]] = True
    return mask


class ByPeople:
    """Queries by falling number of people who issued them, those of equally many in a random order."""

    def __init__(self, task: Task) -> None:
        profiles = task.profiles
        self._task = task
        self._people = profiles.holders()
        self._order = np.lexsort((task.rng.random(len(self._people)), -self._people))
        issued = np.bincount(profiles.ids, profiles.counts, minlength=len(self._people))
        self._issued = np.cumsum(issued[self._order])

    def up_to(self, size: float) -> tuple[Mask, int]:
        """Return whole queries that make up no more than a share (%) of all, and how many people issued each."""
        task = self._task
        n_kept = int(np.searchsorted(self._issued, size / 100.0 * task.issued() + 1e-9, side="right"))
        is_kept = np.zeros(len(self._people), np.bool_)
        is_kept[self._order[:n_kept]] = True
        mask: Mask = is_kept[task.profiles.ids]
        k = int(self._people[self._order[n_kept - 1]]) if n_kept else task.profiles.n_people
        _verify(task, resolve("method", f"query_k(k={k})"), mask)
        return mask, k
