"""SMART: the format of CACM, Cranfield and other early test collections; `.I 1` begins a document, `.T` its title."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, CorpusFile, Document, normalize_spaces, numbered_lines

_FIELD = re.compile(r"\.([A-Z])\s*$")
_BEGIN = re.compile(r"\.I\s+(\S+)\s*$")


def _is_smart(name: str, head: bytes) -> bool:
    return re.match(rb"\s*\.I\s+\S+\s*\n", head) is not None


SMART = Corpus(
    "smart",
    "SMART: .I, .T and .W, as in CACM and Cranfield",
    functions={"local": "queryveil.search.corpora.smart:read_smart"},
    recognise=_is_smart,
)


def read_smart(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield the documents: `.T` is the title, `.W` the text; other fields, such as authors, are ignored."""
    name, first, field = "", 0, ""
    parts: dict[str, list[str]] = {}
    for number, line in numbered_lines(stream):
        begins = _BEGIN.match(line)
        if begins or _FIELD.match(line):
            if begins:
                if first:
                    yield _document(name, parts, file, first)
                name, first, field, parts = begins.group(1), number, "", {}
            else:
                field = line[1]
        elif first:
            parts.setdefault(field, []).append(line)
        elif line.strip():
            raise CorpusError(f"{file.path}, line {number:,} stands before the first .I; get the file anew.")
    if first:
        yield _document(name, parts, file, first)


def _document(name: str, parts: dict[str, list[str]], file: CorpusFile, first: int) -> Document:
    title, text = (normalize_spaces(" ".join(parts.get(field, ()))) for field in "TW")
    return Document(name, title, text, f"{file.path}, line {first:,}")
