"""How tests are shared out to several processes: what has something costly in common stays together.

Under CI property tests try the same examples every time; elsewhere hypothesis draws new ones, and `make explore` runs
them many times over.
"""

import gc
import os
import sys
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("queryveil", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("queryveil")

# Where byte code is not kept, this process and all those that tests start would compile every module anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

gc.disable()  # a quarter of the time of collecting the tests, which makes no garbage to speak of

# one session of Spark, one server and one browser for all of them; these take longest, so they are started first
TOGETHER = ("tests/spark/", "tests/serve/", "tests/browser/")
APART = "tests/test_docs.py"  # whose tests are long, too, and have nothing in common
FIRST = (*TOGETHER, APART)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives out a file at a time, a folder where its files belong together, a test where those do not."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path == APART:
            return nodeid
        return next((folder for folder in TOGETHER if path.startswith(folder)), path)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start what takes longest first, so that all processes are busy to the end."""
    items.sort(key=lambda item: next((n for n, first in enumerate(FIRST) if item.nodeid.startswith(first)), len(FIRST)))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Tell xdist how to share out tests: in the order above, not by the number of tests in a file."""
    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_collection_finish() -> None:
    """Collect garbage from now on, and never look at what the tests themselves are made of."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let Python clean up as usual at the end: extensions report what is left over."""
    gc.unfreeze()
