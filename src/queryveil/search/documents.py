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

    def id(self, number: int) -> str:
        """Return a document's id."""
        return str(self.table["id"][int(number)].as_py())

    def title(self, number: int) -> str:
        """Return a document's title."""
        return str(self.table["title"][int(number)].as_py())

    def text(self, number: int) -> str:
        """Return a document's text."""
        return str(self.table["text"][int(number)].as_py())


def open_documents(path: Path) -> Documents:
    """Map a file of documents into memory."""
    return Documents(pa.ipc.open_file(pa.memory_map(str(path))).read_all())
