"""Lexicons that ship with queryveil: WordNet, names, places, private words and stop words, as compiled tables.

Importing a module reads no table; each table is read on first use. `scripts/build_lexicons.py` compiles them.
"""
