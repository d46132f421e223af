"""Compiled inner loops over semantic networks."""
