"""Text files: every file is one document, with its path as id."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, CorpusFile, Document, decode, normalize_spaces


def _is_text(name: str, head: bytes) -> bool:
    return b"\0" not in head


TEXT = Corpus(
    "text",
    "text files: each one is a document, its name the title",
    functions={"local": "queryveil.search.corpora.text_files:read_text"},
    recognise=_is_text,
    accepts_all_files=True,
)


def read_text(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield the one document of a file."""
    data = stream.read()
    if b"\0" in data:
        raise CorpusError(f"{file.path} is no text; take it away, or name the form of the documents with --format.")
    name = PurePath(file.name.removesuffix(".gz"))
    text = normalize_spaces(decode(data))
    yield Document(file.name, name.stem if text else "", text, str(file.path))
