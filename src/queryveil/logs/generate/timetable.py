"""When people search: sessions over the months, and short pauses between the queries of a session."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.people import People
from queryveil.logs.generate.shape import Shape

SESSION_GAP = 30 * 60  # seconds without a query that end a session
_DAY = 24 * 60 * 60
_BOT_PAUSE = 20  # seconds, at most
# Share of sessions that begin in each hour of the day: quiet nights, a busy evening
_HOURS = np.array([3, 2, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 8, 8, 8, 7, 5], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Timetable:
    """The queries of a block, by person and time."""

    owners: NDArray[np.int64]  # (queries,): the person
    sessions: NDArray[np.int64]  # (queries,): the session, counted through the block
    is_first: NDArray[np.bool_]  # (queries,): whether it opens a session
    seconds: NDArray[np.int64]  # (queries,): since the first day began
    session_owners: NDArray[np.int64]  # (sessions,): the person


def make_timetable(people: People, shape: Shape, rng: np.random.Generator) -> Timetable:
    """Lay out sessions and times for all queries of a block."""
    owners = np.repeat(np.arange(len(people)), people.n_queries)
    is_first = _session_starts(people, owners, shape, rng)
    sessions = np.cumsum(is_first) - 1
    session_owners = owners[is_first]
    since_start = _since_start(people, owners, is_first, shape, rng)
    last = np.append(np.flatnonzero(is_first)[1:], len(owners)) - 1
    starts = _keep_apart(_wished_starts(session_owners, shape, rng), since_start[last], session_owners, shape)
    return Timetable(owners, sessions, is_first, starts[sessions] + since_start, session_owners)


def _session_starts(
    people: People, owners: NDArray[np.int64], shape: Shape, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Cut each person's queries into sessions of geometric length; a bot has just one."""
    is_first = (rng.random(len(owners)) < 1 / shape.activity.session_queries) & ~people.is_bot[owners]
    is_first[np.cumsum(people.n_queries) - people.n_queries] = True
    return is_first


def _since_start(
    people: People, owners: NDArray[np.int64], is_first: NDArray[np.bool_], shape: Shape, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the seconds from the start of the session to each query."""
    activity = shape.activity
    pauses = np.ceil(rng.lognormal(activity.pause_log_mean, activity.pause_log_sigma, size=len(owners)))
    pauses = np.minimum(pauses, np.where(people.is_bot[owners], _BOT_PAUSE, SESSION_GAP)).astype(np.int64)
    elapsed = np.cumsum(np.where(is_first, 0, pauses))
    within: NDArray[np.int64] = elapsed - elapsed[is_first][np.cumsum(is_first) - 1]
    return within


def _wished_starts(session_owners: NDArray[np.int64], shape: Shape, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw when each session would begin, in order for each person."""
    n = len(session_owners)
    hours = np.searchsorted(np.cumsum(_HOURS) / _HOURS.sum(), rng.random(n), side="right")
    starts = rng.integers(shape.days, size=n) * _DAY + hours * 3600 + rng.integers(3600, size=n)
    ordered: NDArray[np.int64] = starts[np.lexsort((starts, session_owners))]
    return ordered


def _keep_apart(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], session_owners: NDArray[np.int64], shape: Shape
) -> NDArray[np.int64]:
    """Move sessions back until each begins more than a session's gap after the one before it ended.

    A start is the latest of its wish and the earliest allowed: start[i] = max(wish[i], start[i-1] + busy[i-1]).
    Less the time busy before it, that is a running maximum; a person's number, scaled, keeps people apart in it.
    """
    busy = lengths + SESSION_GAP + 1
    busy_before = np.cumsum(busy) - busy
    far = int(busy.sum()) + shape.days * _DAY + 1
    apart = session_owners * far
    moved: NDArray[np.int64] = np.maximum.accumulate(starts - busy_before + apart) + busy_before - apart
    return moved
