"""Corpora: one file for each form in which documents come, and the guess of which one a place has."""

from queryveil.search.corpora.json_lines import JSONL
from queryveil.search.corpora.reuters import REUTERS
from queryveil.search.corpora.smart import SMART
from queryveil.search.corpora.text_files import TEXT
from queryveil.search.corpora.trec import TREC
from queryveil.search.corpora.wordnet import WORDNET

# In the order in which they are tried: the most particular first, since anything can be text.
DECLARATIONS = (REUTERS, TREC, SMART, JSONL, TEXT, WORDNET)
