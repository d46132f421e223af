"""Reuters-21578: SGML files of newswire stories."""

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, Document, File, tidy
from queryveil.search.corpora.files import elements

_ID = re.compile(r'<REUTERS[^>]*\sNEWID="([^"]+)"')
_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
_WHOLE = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)  # of stories that were never taken apart
_APART = re.compile(r"<(TITLE|AUTHOR|DATELINE)>.*?</\1>|</?[A-Z][^>]*>", re.DOTALL)


def _recognise(name: str, head: bytes) -> bool:
    return b"<REUTERS" in head


REUTERS = Corpus(
    "reuters",
    "Reuters-21578: SGML files of newswire stories",
    paper="Lewis 1997, Reuters-21578, distribution 1.0",
    functions={"local": "queryveil.search.corpora.reuters:read"},
    recognise=_recognise,
)


def read(stream: BinaryIO, file: File) -> Iterator[Document]:
    """Yield the stories by their new id; a brief one has a title and no text."""
    for place, story in elements(stream, file, "<REUTERS", "</REUTERS>"):
        found = _ID.search(story)
        if found is None:
            raise CorpusError(f"{place}: the story has no NEWID; get the file anew.")
        body = _BODY.search(story) or _WHOLE.search(story)
        text = _APART.sub(" ", body.group(1)) if body else ""
        yield Document(found.group(1), _plain(_TITLE.search(story)), tidy(html.unescape(text)), place)


def _plain(found: re.Match[str] | None) -> str:
    return tidy(html.unescape(found.group(1))) if found else ""
