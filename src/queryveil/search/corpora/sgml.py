"""Collections in SGML files: TREC's, and the newswire stories of Reuters-21578."""

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, CorpusFile, Document, normalize_spaces, numbered_lines

TREC = Corpus(
    "trec",
    "TREC: documents between <DOC> and </DOC>, each with a <DOCNO>",
    functions={"local": "queryveil.search.corpora.sgml:read_trec"},
    recognise=lambda name, head: b"<doc>" in head.lower() and b"<docno>" in head.lower(),
)
REUTERS = Corpus(
    "reuters",
    "Reuters-21578: SGML files of newswire stories",
    paper="Lewis 1997, Reuters-21578, distribution 1.0",
    functions={"local": "queryveil.search.corpora.sgml:read_reuters"},
    recognise=lambda name, head: b"<REUTERS" in head,
)

_TREC_ID = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.DOTALL | re.IGNORECASE)
_TREC_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|TI|H3)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_TREC_TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.DOTALL | re.IGNORECASE)
_TREC_ID_OR_TITLE = re.compile(r"<(DOCNO|DOCID|TITLE|HEADLINE|HEAD|TI|H3)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^>]*>")

_REUTERS_ID = re.compile(r'<REUTERS[^>]*\sNEWID="([^"]+)"')
_REUTERS_TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
_REUTERS_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
_UNPROCESSED = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)  # stories without a marked-up body
_OTHER_FIELDS = re.compile(r"<(TITLE|AUTHOR|DATELINE)>.*?</\1>|</?[A-Z][^>]*>", re.DOTALL)


def read_trec(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield the documents; if one has no <TEXT>, everything but its id and title is text."""
    for location, document in _elements(stream, file, "<DOC>", "</DOC>"):
        found = _TREC_ID.search(document)
        if found is None:
            raise CorpusError(f"{location}: the document has no <DOCNO>; give every document one.")
        title = _TREC_TITLE.search(document)
        texts = _TREC_TEXT.findall(document) or [_TREC_ID_OR_TITLE.sub(" ", document)]
        marked_up = (title.group(2) if title else "", " ".join(texts))
        plain_title, text = (_plain(_TAG.sub(" ", part)) for part in marked_up)
        yield Document(normalize_spaces(found.group(1)), plain_title, text, location)


def read_reuters(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield the stories with their NEWID as id; a story of type BRIEF has a title but no text."""
    for location, story in _elements(stream, file, "<REUTERS", "</REUTERS>"):
        found = _REUTERS_ID.search(story)
        if found is None:
            raise CorpusError(f"{location}: the story has no NEWID; get the file anew.")
        title, body = _REUTERS_TITLE.search(story), _REUTERS_BODY.search(story) or _UNPROCESSED.search(story)
        text = _OTHER_FIELDS.sub(" ", body.group(1)) if body else ""
        yield Document(found.group(1), _plain(title.group(1)) if title else "", _plain(text), location)


def _plain(text: str) -> str:
    return normalize_spaces(html.unescape(text))


def _elements(stream: BinaryIO, file: CorpusFile, begin: str, end: str) -> Iterator[tuple[str, str]]:
    """Yield location and text of each element, from a line that starts with the begin tag to one with the end tag."""
    element: list[str] = []
    first = 0
    for number, line in numbered_lines(stream):
        if not element and not line.lstrip().upper().startswith(begin):
            continue
        first = first if element else number
        element.append(line)
        if end in line.upper():
            yield f"{file.path}, line {first:,}", "\n".join(element)
            element = []
    if element:
        raise CorpusError(f"{file.path}, line {first:,} begins a document that does not end; get the file anew.")
