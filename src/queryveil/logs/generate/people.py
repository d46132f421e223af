"""The people of a synthetic log: how much each searches, when, and what for."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queryveil.core.rows import BoolArray, IntArray, indptr_of
from queryveil.logs.generate.lexicon import NOTHING, Ids, QueryLexicon
from queryveil.logs.generate.shape import Activity, LogShape, Slot
from queryveil.logs.generate.word_sources import TOPICS

TOPICS_EACH = 3
HEAVIEST_LENGTH = 5  # terms in each query of the person with the largest history
_FAVOURITE_SITES = 4
_OWN_NAME = 0.5  # of the names typed by somebody who looks for their own name: their own
_LARGEST_STEP = 800  # between the identifiers of two people
_HOUR, _DAY = 3_600, 86_400
_PAUSE_SIGMA = 1.1  # of the logarithm of a pause
_OPERATOR_QUERIES = 65  # of a program that combines terms by "or"
_BOT_QUERIES = 120, 300  # of a bot, in one session
_BOT_PAUSE = 20  # seconds, at most
_INTERESTS = np.array([topic.interest for topic in TOPICS], np.float32)


@dataclass(frozen=True, eq=False)
class SyntheticPeople:
    """Some people, in the order of their identifiers; each field has one row per person."""

    identifiers: IntArray
    n_queries: IntArray
    is_operator: BoolArray  # a program that combines terms by "or"
    is_heaviest: BoolArray  # one person has the largest history
    is_bot: BoolArray
    is_stranger: BoolArray  # uses words that few others use
    topics: IntArray  # (people, TOPICS_EACH): the favourite first
    personal: Ids  # (people, 0), or entries for: first and last name, home town, its state, favourite sites

    def __len__(self) -> int:
        return len(self.identifiers)

    def part(self, begin: int, end: int) -> "SyntheticPeople":
        """Return the people from one position to another."""
        return SyntheticPeople(*(values[begin:end] for values in vars(self).values()))

    def personal_entries(self, people: IntArray, lexicon: QueryLexicon, rng: np.random.Generator) -> dict[Slot, Ids]:
        """Return the entries for slots that depend on the person, for each query of the given people."""
        if not self.personal.shape[1]:
            return {}
        n, own = len(people), self.personal[people]
        is_own_name = (own[:, 0] != NOTHING) & (rng.random(n) < _OWN_NAME)
        names = np.where(is_own_name[:, None], own[:, :2], _draw_names(n, lexicon, rng))
        return {
            Slot.KNOWN_FIRST_NAME: names[:, 0],
            Slot.KNOWN_LAST_NAME: names[:, 1],
            Slot.HOME_TOWN: own[:, 2],
            Slot.HOME_STATE: own[:, 3],
            Slot.FAVOURITE_SITE: own[np.arange(n), 4 + rng.integers(_FAVOURITE_SITES, size=n)],
        }


def make_people(n: int, shape: LogShape, lexicon: QueryLexicon, rng: np.random.Generator) -> SyntheticPeople:
    """Make n people who together type as many queries as the shape says."""
    is_operator, is_heaviest, is_bot = _draw_roles(n, shape, rng)
    fixed = np.where(is_operator, _OPERATOR_QUERIES, 0)
    fixed[is_heaviest] = shape.largest // HEAVIEST_LENGTH
    fixed[is_bot] = rng.integers(*_BOT_QUERIES, size=np.count_nonzero(is_bot), endpoint=True)
    identifiers = np.cumsum(rng.integers(1, _LARGEST_STEP, size=n, endpoint=True))
    n_queries = _draw_n_queries(fixed, shape.activity, rng)
    is_stranger = rng.random(n) < shape.queries.strangers
    # Sorting by noise / interest draws different topics for each person
    waiting = rng.standard_exponential((n, len(_INTERESTS)), np.float32) / _INTERESTS
    return SyntheticPeople(
        identifiers=identifiers,
        n_queries=n_queries,
        is_operator=is_operator,
        is_heaviest=is_heaviest,
        is_bot=is_bot,
        is_stranger=is_stranger,
        topics=np.argsort(waiting, axis=1)[:, :TOPICS_EACH],
        personal=_draw_personal(n, shape, lexicon, rng),
    )


def draw_towns(n: int, lexicon: QueryLexicon, rng: np.random.Generator) -> Ids:
    """Draw n home towns: (n, 2), the entries for the town and for its state."""
    towns, states = lexicon.samplers[Slot.HOME_TOWN], lexicon.samplers[Slot.HOME_STATE]
    positions = towns.positions(rng.random(n))
    return np.column_stack((towns.ids[positions], states.ids[positions]))


def _draw_personal(n: int, shape: LogShape, lexicon: QueryLexicon, rng: np.random.Generator) -> Ids:
    """Draw the entries that belong to a person; only people who look for their own name have one."""
    if not shape.sizes.home_towns:
        return np.zeros((n, 0), np.int32)
    looks_for_self = rng.random(n) < shape.queries.own_names
    names = np.where(looks_for_self[:, None], _draw_names(n, lexicon, rng), np.int32(NOTHING))
    sites = lexicon.samplers[Slot.SITE].draw_many(n * _FAVOURITE_SITES, rng)
    return np.column_stack((names, draw_towns(n, lexicon, rng), sites.reshape(n, -1)))


def _draw_names(n: int, lexicon: QueryLexicon, rng: np.random.Generator) -> Ids:
    """Draw n names: (n, 2), the entries for the first and the last name."""
    return np.column_stack([lexicon.samplers[slot].draw_many(n, rng) for slot in (Slot.FIRST_NAME, Slot.LAST_NAME)])


def _draw_roles(n: int, shape: LogShape, rng: np.random.Generator) -> BoolArray:
    """Choose the operators, in a log of full size the one with the largest history, and the bots: (3, people)."""
    order = rng.permutation(n)
    roles = np.zeros((3, n), np.bool_)
    n_operators = round(n * shape.activity.operators)
    n_bots = int(n * shape.activity.bots + rng.random()) if shape.activity.bots else 0  # small logs may have one too
    roles[0, order[:n_operators]] = True
    if shape.largest and n >= shape.users:
        roles[1, order[-1]] = True
    roles[2, order[n_operators : n_operators + n_bots]] = True
    return roles


def _draw_n_queries(fixed: IntArray, activity: Activity, rng: np.random.Generator) -> IntArray:
    """Draw how many queries each person types unless it is fixed, so that the sum is that of the shape."""
    total, is_free = round(len(fixed) * activity.queries), fixed == 0
    mean = (total - fixed.sum()) / max(np.count_nonzero(is_free), 1)
    drawn = rng.lognormal(np.log(max(mean, 1.0)) - activity.sigma**2 / 2, activity.sigma, size=len(fixed))
    counts = np.where(is_free, np.clip(drawn, 1, activity.max_queries).astype(np.int64), fixed)
    while missing := total - int(counts.sum()):  # some search once more or once less; who searched once still does
        step = 1 if missing > 0 else -1
        able = np.flatnonzero(is_free & (counts > (1 if step > 0 else 2)) & (counts < activity.max_queries))
        if not len(able):
            break
        counts[rng.permutation(able)[: abs(missing)]] += step
    return counts


def draw_times(
    people: SyntheticPeople, owners: IntArray, shape: LogShape, rng: np.random.Generator
) -> NDArray[np.datetime64]:
    """Draw the time of every query, to the second; strictly increasing for each person."""
    activity, first = shape.activity, indptr_of(people.n_queries)[:-1]
    n, is_bot = len(owners), people.is_bot[owners]
    short = activity.pause * np.exp(_PAUSE_SIGMA * rng.standard_normal(n))
    is_long = (rng.random(n) < 1 / activity.session_queries) & ~is_bot
    pauses = np.where(is_long, rng.standard_exponential(n) * activity.long_pause, short)  # seconds before each query
    elapsed = np.cumsum(np.where(is_bot, np.minimum(pauses, _BOT_PAUSE), pauses))
    elapsed -= elapsed[first][owners]
    length = elapsed[first + people.n_queries - 1]
    all_days, margin = shape.days * _DAY, activity.margin
    start = rng.random(len(people)) * np.maximum(all_days - length, margin)
    # Who searches for longer than the log lasts is sped up; a query's position keeps its second different from others
    room = all_days - 1 - people.n_queries - np.maximum(start, margin)
    pace = np.minimum(1.0, room / np.maximum(length, 1.0))
    moments = start[owners] + elapsed * pace[owners]
    if activity.hours:
        # Shift moments within their day, in order, so that each hour is as busy as given. The last hour must be no
        # busier than the mean, so that no moment comes closer to midnight.
        days, of_day = np.divmod(moments, _DAY)
        busy_until = np.cumsum((0.0, *activity.hours))
        moments = days * _DAY + np.interp(of_day, busy_until * (_DAY / busy_until[-1]), np.arange(25) * _HOUR)
    seconds = moments.astype(np.int64) + np.arange(n) - first[owners]
    times: NDArray[np.datetime64] = np.datetime64(shape.first_day, "s") + seconds.astype("timedelta64[s]")
    return times
