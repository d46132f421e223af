"""JSON lines: an object for every document, with `id`, `text` and, where there is one, `title`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, Document, File, tidy
from queryveil.search.corpora.files import lines

_IDS, _TITLES, _TEXTS = ("id", "_id", "docno", "docid"), ("title",), ("text", "contents", "body")


def _recognise(name: str, head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{")


JSONL = Corpus(
    "jsonl",
    "JSON lines: an object with id, title and text for every document",
    functions={"local": "queryveil.search.corpora.json_lines:read"},
    recognise=_recognise,
)


def read(stream: BinaryIO, file: File) -> Iterator[Document]:
    """Yield the document of every line that is not empty."""
    for number, line in lines(stream):
        if line.strip():
            place = f"{file.path}, line {number:,}"
            record = _record(line, place)
            title, text = (_text(record, keys, place) for keys in (_TITLES, _TEXTS))
            yield Document(_id(record, place), title, text, place)


def _record(line: str, place: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise CorpusError(f"{place} is no JSON object; give one document per line.")
    return record


def _id(record: Mapping[str, Any], place: str) -> str:
    value = next((record[key] for key in _IDS if key in record), None)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise CorpusError(f"{place} has no id; give every document one, a text or a whole number.")
    return tidy(str(value))


def _text(record: Mapping[str, Any], keys: tuple[str, ...], place: str) -> str:
    key = next((key for key in keys if record.get(key) is not None), None)
    if key is None:
        return ""
    if not isinstance(record[key], str):
        raise CorpusError(f"{place}: {key} is not a text; give one.")
    return tidy(record[key])
