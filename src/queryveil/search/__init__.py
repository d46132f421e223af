"""Searching documents: an index, its vectors, and the order that a profile gives to what was found."""
