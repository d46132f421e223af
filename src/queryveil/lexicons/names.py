"""First and last names of the United States with how common they are (Census Bureau, 1990)."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.lexicons.tables import column, read_table


@dataclass(frozen=True, eq=False)
class NameList:
    """Names in lower case, the most common first, ties by name."""

    names: tuple[str, ...] = field(repr=False)
    shares: NDArray[np.int32]  # (names,): thousandths of a per cent of the people; 0 where it is below a half

    def __len__(self) -> int:
        return len(self.names)


def last_names() -> NameList:
    """Return the last names."""
    return _load("last")


def female_names() -> NameList:
    """Return the first names of women."""
    return _load("female")


def male_names() -> NameList:
    """Return the first names of men."""
    return _load("male")


@cache
def _load(kind: str) -> NameList:
    table = read_table("names")
    table = table.filter(pc.equal(table["list"], kind)).sort_by([("share", "descending"), ("name", "ascending")])
    return NameList(tuple(table["name"].to_pylist()), column(table, "share"))
