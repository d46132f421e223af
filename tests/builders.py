"""Small profiles for tests, built from plain lists."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from queryveil.histories.assembly import assemble
from queryveil.histories.profiles import Profiles


def profiles_of(histories: Sequence[Iterable[str]], owners: Sequence[int] | None = None) -> Profiles:
    """Return profiles of histories given as terms; a repeated term counts as often."""
    owners = list(range(len(histories))) if owners is None else owners
    words = sorted({term for history in histories for term in history})
    number = {word: i for i, word in enumerate(words)}
    pairs = [(h, number[term]) for h, history in enumerate(histories) for term in history]
    history, term = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    persons = tuple(f"u{i}" for i in range(max(owners) + 1))
    return assemble(history, term, pa.array(words, pa.large_string()), np.array(owners, np.int32), persons)


def rows(profiles: Profiles) -> list[list[int]]:
    """Return the entry ids of every history."""
    return [profiles.ids[a:b].tolist() for a, b in zip(profiles.indptr, profiles.indptr[1:], strict=False)]
