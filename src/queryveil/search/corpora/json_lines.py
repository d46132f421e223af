"""JSON lines: one object per document, with `id`, `text` and optionally `title`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, CorpusFile, Document, normalize_spaces, numbered_lines

_IDS, _TITLES, _TEXTS = ("id", "_id", "docno", "docid"), ("title",), ("text", "contents", "body")


def _is_jsonl(name: str, head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{")


JSONL = Corpus(
    "jsonl",
    "JSON lines: an object with id, title and text for every document",
    functions={"local": "queryveil.search.corpora.json_lines:read_jsonl"},
    recognise=_is_jsonl,
)


def read_jsonl(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield one document per non-empty line."""
    for number, line in numbered_lines(stream):
        if line.strip():
            location = f"{file.path}, line {number:,}"
            record = _record(line, location)
            title, text = (_text(record, keys, location) for keys in (_TITLES, _TEXTS))
            yield Document(_id(record, location), title, text, location)


def _record(line: str, location: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise CorpusError(f"{location} is no JSON object; give one document per line.")
    return record


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
