"""Text files: every file is a document, called by its path."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, Document, File, tidy
from queryveil.search.corpora.files import decoded


def _recognise(name: str, head: bytes) -> bool:
    return b"\0" not in head


TEXT = Corpus(
    "text",
    "text files: each one is a document, its name the title",
    functions={"local": "queryveil.search.corpora.text_files:read"},
    recognise=_recognise,
)


def read(stream: BinaryIO, file: File) -> Iterator[Document]:
    """Yield the one document of a file."""
    data = stream.read()
    if b"\0" in data:
        raise CorpusError(f"{file.path} is no text; take it away, or name the form of the documents with --format.")
    name = PurePath(file.name.removesuffix(".gz"))
    text = tidy(decoded(data))
    yield Document(file.name, name.stem if text else "", text, str(file.path))
