"""Multiplicity: whether a person is found by how often a few terms were searched for.

(k, m)-anonymity and its kin are about sets of terms; a release of single queries also tells in how many of them a
history has a term. Here a term together with that number is what is known: it must match as a whole.
"""

from dataclasses import replace

import numpy as np

from queryveil.attacks.base import ItemTable, ItemTables, Setting, play
from queryveil.attacks.crowds import Attempt, attack_crowds
from queryveil.attacks.targets import draw_rows, know, know_strangers, refuse_none
from queryveil.core.errors import InternalError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult


def run(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m terms, each with the number of queries that have it."""
    setting = evidence.get(Setting)
    m = attack.integer("m")
    tables = [setting.terms.release, setting.terms.original, setting.terms.others]
    most = max(int(_counts(table).max(initial=0)) for table in tables if table is not None)
    others = None if setting.terms.others is None else _counted(setting.terms.others, most)
    game = play(
        setting, ItemTables(_counted(setting.terms.release, most), _counted(setting.terms.original, most), others)
    )
    rows = draw_rows(game.people, m, setting.most_targets, rng)
    refuse_none(rows, game.people, str(attack), m, "terms")
    known, strangers = know(game.people, rows, m, rng), know_strangers(game, m, setting.most_targets, rng)
    label = "1 term and how often" if m == 1 else f"{m} terms and how often each"
    return attack_crowds(game, Attempt(str(attack), "linkability", label), known, strangers, progress)


def _counted(table: ItemTable, most: int) -> ItemTable:
    """Return a table of terms with how often; the order of keys within a row stays."""
    return replace(table, keys=table.keys * (most + 1) + _counts(table), counts=None)


def _counts(table: ItemTable) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if table.counts is None:
        raise InternalError("multiplicity was run on a table without counts; please report this.")
    return table.counts
