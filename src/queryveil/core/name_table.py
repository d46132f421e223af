"""Everything of a category that has a name, as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from queryveil.core.display import LONGEST_REPR, Tabular, html_table
from queryveil.core.names import Declaration, category_of, declarations


@dataclass(frozen=True, repr=False)
class NameTable(Tabular):
    """The names of a category, such as the methods, with what each is for; iterating gives the names."""

    declarations: tuple[Declaration, ...]

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in self.declarations)

    def __len__(self) -> int:
        return len(self.declarations)

    def __repr__(self) -> str:
        return f"NameTable({', '.join(self)})"[:LONGEST_REPR]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return name, signature, purpose and paper of each."""
        return [(each.name, each.signature(), each.marked_purpose, each.paper) for each in self.declarations]

    def to_arrow(self) -> Any:
        """Return the rows as an Arrow table."""
        import pyarrow as pa

        return pa.table([list(column) for column in zip(*self.rows(), strict=True)], list(_HEADINGS))

    def _repr_html_(self) -> str:
        return html_table(_HEADINGS, self.rows())


_HEADINGS = ("name", "signature", "purpose", "paper")


def list_names(category: str) -> NameTable:
    """Return everything of a category, which may be given in the singular or the plural."""
    return NameTable(tuple(declarations(category_of(category)).values()))
