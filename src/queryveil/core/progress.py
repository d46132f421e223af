"""Progress reports of long work."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # stage, done, total


def silent(stage: str, done: int, total: int) -> None:
    """Take progress reports and show nothing."""
