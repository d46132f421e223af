"""Progress reports of long work."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # stage, done, total


def silent(stage: str, done: int, total: int) -> None:
    """Take progress reports and show nothing."""


def nested_progress(stage: str, progress: Progress) -> Progress:
    """Return progress that names an outer stage, such as which run of a sweep it is, before the inner one."""
    return lambda inner, done, total: progress(f"{stage}: {inner}", done, total)
