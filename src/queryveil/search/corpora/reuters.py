"""Reuters-21578: SGML files of newswire stories."""

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, CorpusFile, Document, normalize_spaces, sgml_elements

_ID = re.compile(r'<REUTERS[^>]*\sNEWID="([^"]+)"')
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
_UNPROCESSED = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)  # stories without a marked-up body
_OTHER_FIELDS = re.compile(r"<(TITLE|AUTHOR|DATELINE)>.*?</\1>|</?[A-Z][^>]*>", re.DOTALL)


def _is_reuters(name: str, head: bytes) -> bool:
    return b"<REUTERS" in head


REUTERS = Corpus(
    "reuters",
    "Reuters-21578: SGML files of newswire stories",
    paper="Lewis 1997, Reuters-21578, distribution 1.0",
    functions={"local": "queryveil.search.corpora.reuters:read_reuters"},
    recognise=_is_reuters,
)


def read_reuters(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield the stories with their NEWID as id; a story of type BRIEF has a title but no text."""
    for location, story in sgml_elements(stream, file, "<REUTERS", "</REUTERS>"):
        found = _ID.search(story)
        if found is None:
            raise CorpusError(f"{location}: the story has no NEWID; get the file anew.")
        body = _BODY.search(story) or _UNPROCESSED.search(story)
        text = _OTHER_FIELDS.sub(" ", body.group(1)) if body else ""
        yield Document(found.group(1), _unescape(_TITLE.search(story)), normalize_spaces(html.unescape(text)), location)


def _unescape(found: re.Match[str] | None) -> str:
    return normalize_spaces(html.unescape(found.group(1))) if found else ""
