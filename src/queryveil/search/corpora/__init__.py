"""Corpora: one module per document format, and the detection of a corpus's format."""

from queryveil.search.corpora.json_lines import JSONL
from queryveil.search.corpora.reuters import REUTERS
from queryveil.search.corpora.smart import SMART
from queryveil.search.corpora.text_files import TEXT
from queryveil.search.corpora.trec import TREC
from queryveil.search.corpora.wordnet import WORDNET

# In the order of detection: the most specific first, because any file without null bytes is a text file.
DECLARATIONS = (REUTERS, TREC, SMART, JSONL, TEXT, WORDNET)
