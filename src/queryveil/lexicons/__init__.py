"""Words queryveil ships with: WordNet, names, places and stop words, as compiled tables and their readers.

Importing this package loads no table; each reader loads its own on first use. `scripts/build_lexicons.py` makes the
tables.
"""
