"""TREC: SGML files of documents between `<DOC>` and `</DOC>`, each with a `<DOCNO>`."""

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, CorpusFile, Document, normalize_spaces, sgml_elements

_ID = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|TI|H3)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.DOTALL | re.IGNORECASE)
_ID_OR_TITLE = re.compile(r"<(DOCNO|DOCID|TITLE|HEADLINE|HEAD|TI|H3)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^>]*>")


def _is_trec(name: str, head: bytes) -> bool:
    return b"<doc>" in head.lower() and b"<docno>" in head.lower()


TREC = Corpus(
    "trec",
    "TREC: documents between <DOC> and </DOC>, each with a <DOCNO>",
    functions={"local": "queryveil.search.corpora.trec:read_trec"},
    recognise=_is_trec,
)


def read_trec(stream: BinaryIO, file: CorpusFile) -> Iterator[Document]:
    """Yield the documents; if one has no <TEXT>, everything but its id and title is text."""
    for location, document in sgml_elements(stream, file, "<DOC>", "</DOC>"):
        found = _ID.search(document)
        if found is None:
            raise CorpusError(f"{location}: the document has no <DOCNO>; give every document one.")
        title = _TITLE.search(document)
        texts = _TEXT.findall(document) or [_ID_OR_TITLE.sub(" ", document)]
        yield Document(
            normalize_spaces(found.group(1)),
            _strip_tags(title.group(2) if title else ""),
            _strip_tags(" ".join(texts)),
            location,
        )


def _strip_tags(text: str) -> str:
    return normalize_spaces(html.unescape(_TAG.sub(" ", text)))
