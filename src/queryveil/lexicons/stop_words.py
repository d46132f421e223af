"""Lucene's English stop words: words too common to tell texts apart."""

_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
will with
"""

ENGLISH = frozenset(_WORDS.split())
