"""What every corpus declares: how a file of it is recognised, and how its documents are read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from queryveil.core.names import Declaration


@dataclass(frozen=True)
class Document:
    """One document as its corpus has it."""

    id: str
    title: str
    text: str
    place: str  # where it stands, for a message


@dataclass(frozen=True)
class File:
    """A file of a corpus: its place, and its name within the corpus."""

    path: Path
    name: str


class Reader(Protocol):
    """What a corpus of files declares as its function; a bundled one takes nothing."""

    def __call__(self, stream: BinaryIO, file: File) -> Iterator[Document]:
        """Yield the documents of a file in order; the stream gives its decompressed bytes."""


@dataclass(frozen=True)
class Corpus(Declaration):
    """A form in which documents come: in files, or bundled with queryveil and then without any."""

    recognise: Callable[[str, bytes], bool] = field(default=lambda name, head: False, repr=False)
    # from a file's name and first bytes
    is_bundled: bool = False


_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")


def tidy(text: str) -> str:
    """Return a text on one line, with single spaces and without control characters, which could steer a terminal."""
    return " ".join(text.translate(_CONTROLS).split())
