"""Profiles of histories × terms, built from a cleaned log or read from a profile file."""
