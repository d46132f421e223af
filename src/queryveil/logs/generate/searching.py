"""What people type, query after query: fresh queries, and earlier ones repeated, refined, recalled and mistyped."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate.composers import Scene, compose
from queryveil.logs.generate.misspelling import misspell
from queryveil.logs.generate.people import People, session_topics
from queryveil.logs.generate.shape import Habits, Shape
from queryveil.logs.generate.stock import Stock
from queryveil.logs.generate.timetable import Timetable

_LONGEST = 6  # words; beyond, a query is only shortened


class Move(IntEnum):
    """How a query comes from earlier ones of the same person."""

    FRESH = 0
    REPEAT = 1
    REFINE = 2
    RECALL = 3


def make_queries(people: People, times: Timetable, shape: Shape, stock: Stock, rng: np.random.Generator) -> list[str]:
    """Return the text of every query of the timetable."""
    topics = session_topics(people, times.session_owners, rng)[times.sessions]
    scene = Scene(times.owners, topics, people, stock, shape, rng)
    fresh, extensions = compose(scene)
    meant = _follow(fresh, extensions, _moves(times, shape.habits, rng), times.owners, rng)
    _replace_bots(meant, scene)
    return _type(meant, shape.habits, rng)


def _moves(times: Timetable, habits: Habits, rng: np.random.Generator) -> list[int]:
    """Draw the move of every query; what opens a session cannot repeat or refine the query before."""
    bounds = np.cumsum([1 - habits.repeat - habits.refine - habits.recall, habits.repeat, habits.refine])
    moves = np.searchsorted(bounds, rng.random(len(times.owners)), side="right")
    follows = (moves == Move.REPEAT) | (moves == Move.REFINE)
    moves[times.is_first & follows] = Move.FRESH
    # Whoever has typed nothing yet has nothing to recall
    moves[np.flatnonzero(np.diff(times.owners, prepend=-1))] = Move.FRESH
    return moves.tolist()  # type: ignore[no-any-return]


def _follow(
    fresh: list[str], extensions: list[str], moves: list[int], owners: NDArray[np.int64], rng: np.random.Generator
) -> list[str]:
    """Play the moves in order, so that each can build on what the person typed before."""
    meant: list[str] = []
    sources: list[int] = []  # the fresh query that each stems from
    begin, owner_before = 0, -1  # where the person's queries begin
    for at, (owner, luck) in enumerate(zip(owners.tolist(), rng.random(len(fresh)).tolist(), strict=True)):
        if owner != owner_before:
            begin, owner_before = at, owner
        if moves[at] == Move.FRESH:
            meant.append(fresh[at])
            sources.append(at)
            continue
        base = begin + int(luck * (at - begin)) if moves[at] == Move.RECALL else at - 1
        sources.append(sources[base])
        is_refined = moves[at] == Move.REFINE
        meant.append(_refine(meant[base], extensions[sources[base]], luck) if is_refined else meant[base])
    return meant


def _refine(query: str, extension: str, luck: float) -> str:
    """Leave a word out of a longer query, or add what makes it clearer."""
    words = query.split(" ")
    if len(words) >= _LONGEST or (len(words) > 2 and luck < 0.4) or extension in query:
        del words[int(luck * len(words))]
        return " ".join(words) or query
    return f"{query} {extension}"


def _replace_bots(meant: list[str], scene: Scene) -> None:
    """Let every bot ask the same of one town after the other, as a program that collects addresses does."""
    asks = np.flatnonzero(scene.people.is_bot[scene.owners])
    towns = scene.stock.towns.take(len(asks), scene.rng)
    errands = scene.stock.errands.take(len(scene.people), scene.rng)
    for at, owner, town in zip(asks.tolist(), scene.owners[asks].tolist(), towns, strict=True):
        meant[at] = f"{errands[owner]} {town.replace(',', '')}"


def _type(meant: list[str], habits: Habits, rng: np.random.Generator) -> list[str]:
    """Type what was meant, now and then wrongly; a repeated query is thereby often the corrected one."""
    typed = list(meant)
    for at in np.flatnonzero(rng.random(len(meant)) < habits.misspell).tolist():
        typed[at] = misspell(meant[at], rng)
    return typed
