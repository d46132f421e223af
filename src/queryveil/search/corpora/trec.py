"""TREC: SGML files of documents between `<DOC>` and `</DOC>`, each with a `<DOCNO>`."""

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from queryveil.core.errors import CorpusError
from queryveil.search.corpora.base import Corpus, Document, File, tidy
from queryveil.search.corpora.files import elements

_ID = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|TI|H3)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.DOTALL | re.IGNORECASE)
_NAMES = re.compile(r"<(DOCNO|DOCID|TITLE|HEADLINE|HEAD|TI|H3)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^>]*>")


def _recognise(name: str, head: bytes) -> bool:
    return b"<doc>" in head.lower() and b"<docno>" in head.lower()


TREC = Corpus(
    "trec",
    "TREC: documents between <DOC> and </DOC>, each with a <DOCNO>",
    functions={"local": "queryveil.search.corpora.trec:read"},
    recognise=_recognise,
)


def read(stream: BinaryIO, file: File) -> Iterator[Document]:
    """Yield the documents; where none of one is marked as text, all of it is."""
    for place, document in elements(stream, file, "<DOC>", "</DOC>"):
        found = _ID.search(document)
        if found is None:
            raise CorpusError(f"{place}: the document has no <DOCNO>; give every document one.")
        title = _TITLE.search(document)
        texts = _TEXT.findall(document) or [_NAMES.sub(" ", document)]
        yield Document(tidy(found.group(1)), _plain(title.group(2) if title else ""), _plain(" ".join(texts)), place)


def _plain(text: str) -> str:
    return tidy(html.unescape(_TAG.sub(" ", text)))
