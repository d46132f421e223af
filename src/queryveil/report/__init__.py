"""The report of a release: one self-contained page."""

from queryveil.report.charts import warm_up
from queryveil.report.page import render

__all__ = ["render", "warm_up"]
