"""Corpora: the readers of document formats, and the detection of a corpus's format."""

from queryveil.search.corpora.plain import JSONL, SMART, TEXT
from queryveil.search.corpora.sgml import REUTERS, TREC
from queryveil.search.corpora.wordnet import WORDNET

# In the order of detection: the most specific first, because any file without null bytes is a text file.
DECLARATIONS = (REUTERS, TREC, SMART, JSONL, TEXT, WORDNET)
