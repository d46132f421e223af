"""What every corpus declares: how a file of it is recognised, and how its documents are read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from queryveil.spec import Declaration


@dataclass(frozen=True)
class Document:
    """One document as its corpus has it."""

    id: str
    title: str
    text: str
    place: str  # where it stands, for a message


class Reader(Protocol):
    """The function that a corpus declares: it reads the documents of one file."""

    def __call__(self, stream: BinaryIO, path: Path) -> Iterator[Document]:
        """Yield the documents in the order of the file."""


@dataclass(frozen=True)
class Corpus(Declaration):
    """A form in which documents come: in files, or bundled with queryveil and then without any."""

    recognise: Callable[[Path, bytes], bool] = field(default=lambda path, head: False, repr=False)
    is_bundled: bool = False
