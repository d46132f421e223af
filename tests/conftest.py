"""How tests are shared out to several processes: what has something costly in common stays together.

Under CI property tests try the same examples every time; elsewhere hypothesis draws new ones, and `make explore` runs
them many times over.
"""

import gc
import os
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("queryveil", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("queryveil")

gc.disable()  # a quarter of the time of collecting the tests, which makes no garbage to speak of

TOGETHER = ("tests/spark/", "tests/browser/")  # one session of Spark, one server and one browser for all of them
APART = "tests/test_docs.py"  # whose tests are long and have nothing in common


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives out a file at a time, a folder where its files belong together, a test where those do not."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path == APART:
            return nodeid
        return next((folder for folder in TOGETHER if path.startswith(folder)), path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Tell xdist how to share out tests."""
    return ByFile(config, log)


def pytest_collection_finish() -> None:
    """Collect garbage from now on, and never look at what the tests themselves are made of."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let Python clean up as usual at the end: extensions report what is left over."""
    gc.unfreeze()
