"""Settings of attacks from plain lists."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from queryveil.attacks.base import AttackInputs, ItemTable, ItemTables, Queries
from queryveil.core.names import Name, resolve

Rows = Sequence[Iterable[int]]


def table(rows: Rows, owners: Sequence[int], counts: Sequence[dict[int, int]] | None = None) -> ItemTable:
    """Return a table of rows given as keys; owners ascend."""
    ordered = [sorted(set(row)) for row in rows]
    keys = [key for row in ordered for key in row]
    often = None if counts is None else [counts[r][key] for r, row in enumerate(ordered) for key in row]
    return ItemTable(
        np.cumsum([0, *map(len, ordered)]).astype(np.int64),
        np.array(keys, np.int64),
        np.array(owners, np.int32),
        None if often is None else np.array(often, np.int64),
    )


def setting(
    original: Rows,
    released: Rows,
    *,
    owners: Sequence[int] | None = None,
    histories: Sequence[int] | None = None,
    others: Rows | None = None,
    claim: str = "km(k=2, m=2)",
    terms: Sequence[str] = (),
    queries: Sequence[tuple[int, str]] = (),
    kept: Mapping[str, ItemTables] | None = None,
    max_targets: int = 1_000,
    names: Mapping[int, Iterable[int]] | None = None,
) -> AttackInputs:
    """Return a setting in which `histories` names the original history behind every released one, in that order.

    `names` are keys of the release that stand for several keys of the log.
    """
    owners = list(range(len(original))) if owners is None else owners
    histories = list(range(len(released))) if histories is None else histories
    behind = [owners[history] for history in histories]
    owner_of = np.full(max(owners) + 1, -1, np.int32)
    owner_of[behind] = behind
    release = table(released, behind)
    texts = sorted({text for _, text in queries})
    return AttackInputs(
        kind="histories",
        claim=resolve("guarantee", claim),
        terms=ItemTables(
            release, table(original, owners), None if others is None else table(others, range(len(others)))
        ),
        term_number={term: number for number, term in enumerate(terms)},
        owner_of=owner_of,
        people=np.ones(len(owner_of), np.int64),
        held=np.ones(len(release.keys), np.int64),
        history_of=np.array(histories, np.int64),
        part=np.zeros(len(released), np.int32),
        max_targets=max_targets,
        kept=kept or {},
        queries=Queries(
            tuple(texts),
            np.array([person for person, _ in queries], np.int32),
            np.array([texts.index(text) for _, text in queries], np.int64),
            np.ones(len(queries), np.int64),
        ),
        meanings=None
        if names is None
        else np.array([(name, key) for name, keys in names.items() for key in (*sorted(keys), -1)], np.int64).T,
    )


def groups(original: Rows, group: Sequence[int], published: Rows) -> AttackInputs:
    """Return a setting of groups; everybody's group is given, -1 for none."""
    release = table(published, range(len(published)))
    rows = np.repeat(np.arange(len(published)), np.diff(release.indptr)).tolist()
    held = [
        sum(key in set(original[person]) for person in range(len(original)) if group[person] == row)
        for row, key in zip(rows, release.keys.tolist(), strict=True)
    ]
    return AttackInputs(
        kind="groups",
        claim=resolve("guarantee", Name("linkability", (("p", 0.5),))),
        terms=ItemTables(release, table(original, range(len(original)))),
        term_number={},
        owner_of=np.array(group, np.int32),
        people=np.bincount([g for g in group if g >= 0], minlength=len(published)),
        held=np.array(held, np.int64),
        history_of=np.full(len(published), -1, np.int64),
        part=np.zeros(len(published), np.int32),
        max_targets=1_000,
    )
