"""Collections in plain files: text files, JSON lines, and the SMART format of CACM, Cranfield and others.

A text file is one document, with its path as id. A JSON object has `id`, `text` and optionally `title`. In SMART,
`.I 1` begins a document and `.T` its title.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, CorpusFile, Document, decode, normalize_spaces, numbered_lines

TEXT = Corpus(
    "text",
    "text files: each one is a document, its name the title",
    functions={"local": "queryveil.search.corpora.plain:read_text"},
    recognise=lambda name, head: b"\0" not in head,
    accepts_all_files=True,
)
JSONL = Corpus(
    "jsonl",
    "JSON lines: an object with id, title and text for every document",
    functions={"local": "queryveil.search.corpora.plain:read_jsonl"},
    recognise=lambda name, head: head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"),
)
SMART = Corpus(
    "smart",
    "SMART: .I, .T and .W, as in CACM and Cranfield",
    functions={"local": "queryveil.search.corpora.plain:read_smart"},
    recognise=lambda name, head: re.match(rb"\s*\.I\s+\S+\s*\n", head) is not None,
)

_IDS, _TITLES, _TEXTS = ("id", "_id", "docno", "docid"), ("title",), ("text", "contents", "body")
_FIELD = re.compile(r"\.([A-Z])\s*$")
_BEGIN = re.compile(r"\.I\s+(\S+)\s*$")


def read_text(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield the one document of a file."""
    data = stream.read()
    if b"\0" in data:
        raise CorpusError(f"{file.path} is no text; take it away, or name the form of the documents with --format.")
    name = PurePath(file.name.removesuffix(".gz"))
    text = normalize_spaces(decode(data))
    yield Document(file.name, name.stem if text else "", text, str(file.path))


def read_jsonl(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield one document per non-empty line."""
    for number, line in numbered_lines(stream):
        if line.strip():
            location = f"{file.path}, line {number:,}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                raise CorpusError(f"{location} is no JSON object; give one document per line.")
            title, text = (_text(record, keys, location) for keys in (_TITLES, _TEXTS))
            yield Document(_id(record, location), title, text, location)


def _id(record: Mapping[str, Any], location: str) -> str:
    value = next((record[key] for key in _IDS if key in record), None)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise CorpusError(f"{location} has no id; give every document one, a text or a whole number.")
    return normalize_spaces(str(value))


def _text(record: Mapping[str, Any], keys: tuple[str, ...], location: str) -> str:
    key = next((key for key in keys if record.get(key) is not None), None)
    if key is None:
        return ""
    if not isinstance(record[key], str):
        raise CorpusError(f"{location}: {key} is not a text; give one.")
    return normalize_spaces(record[key])


def read_smart(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield the documents: `.T` is the title, `.W` the text; other fields, such as authors, are ignored."""
    name, first, field = "", 0, ""
    parts: dict[str, list[str]] = {}
    for number, line in numbered_lines(stream):
        if begins := _BEGIN.match(line):
            if first:
                yield _document(name, parts, file, first)
            name, first, field, parts = begins.group(1), number, "", {}
        elif _FIELD.match(line):
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
