"""The documents of an index: number → id, title and text, read from disk as they are wanted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

SCHEMA = pa.schema([(name, pa.large_string()) for name in ("id", "title", "text")])


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents by number, in the order of the corpus."""

    table: pa.Table = field(repr=False)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Return all ids, as in the corpus."""
        return tuple(self.table["id"].to_pylist())

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Return all titles."""
        return tuple(self.table["title"].to_pylist())

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """Map every id to its document's number."""
        return MappingProxyType({name: number for number, name in enumerate(self.ids)})

    def get(self, number: int) -> tuple[str, str, str]:
        """Return a document's id, title and text."""
        name, title, text = (column[number].as_py() for column in self._columns)
        return name, title, text

    @cached_property
    def _columns(self) -> list[pa.ChunkedArray]:
        return list(self.table.columns)


def open_documents(path: Path) -> Documents:
    """Map a file of documents into memory."""
    return Documents(pa.ipc.open_file(pa.memory_map(str(path))).read_all())
