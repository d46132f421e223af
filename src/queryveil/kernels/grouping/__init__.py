"""Compiled inner loops of the methods that put people into groups."""
