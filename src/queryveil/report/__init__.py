"""The report of a release: one static page that a person can read, forward and print."""

from queryveil.report.page import render

__all__ = ["render"]
