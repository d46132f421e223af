"""Compiled inner loops of the methods that cluster vocabularies, and of the measures of what clusters lose."""
