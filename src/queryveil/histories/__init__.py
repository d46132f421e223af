"""Histories × terms, built from a cleaned log."""
