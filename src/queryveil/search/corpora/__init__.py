"""Corpora: one file for each form in which documents come, and the guess of which one a place has."""

from queryveil.search.corpora.wordnet import WORDNET

DECLARATIONS = (WORDNET,)
