"""Time: whether a person is found by a few moments of searching.

Times are outside every guarantee; a release that keeps them shows when each query was issued. Moments are counted in
seconds, minutes, hours or days, and the person's own are known as precisely as that.
"""

import numpy as np

from queryveil.attacks.base import ItemTable, ItemTables, Setting, play
from queryveil.attacks.crowds import Attempt, attack_crowds
from queryveil.attacks.targets import draw_rows, know, know_strangers, refuse_none
from queryveil.core.errors import InternalError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import AttackResult
from queryveil.core.rows import select_entries

SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


def run(
    evidence: Evidence, attack: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[AttackResult]:
    """Attack with m moments, as precisely as the unit says."""
    setting = evidence.get(Setting)
    if setting.moments is None:
        raise InternalError("the attack time was run without times; please report this.")
    m, unit = attack.integer("m"), attack.word("unit")
    given = setting.moments
    others = None if given.others is None else in_units(given.others, SECONDS[unit])
    game = play(
        setting, ItemTables(in_units(given.release, SECONDS[unit]), in_units(given.original, SECONDS[unit]), others)
    )
    rows = draw_rows(game.people, m, setting.most_targets, rng)
    refuse_none(rows, game.people, str(attack), m, f"different {unit}s of searching")
    known, strangers = know(game.people, rows, m, rng), know_strangers(game, m, setting.most_targets, rng)
    label = f"the {unit} of 1 query" if m == 1 else f"the {unit}s of {m} queries"
    return attack_crowds(game, Attempt(str(attack), "linkability", label), known, strangers, progress)


def in_units(table: ItemTable, seconds: int) -> ItemTable:
    """Return a table of moments in coarser units, each once in a row."""
    keys, rows = table.keys // seconds, table.rows()
    is_new = np.ones(len(keys), np.bool_)
    is_new[1:] = (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1])
    indptr = select_entries(table.indptr, is_new)
    return ItemTable(indptr, keys[is_new], table.owner)
