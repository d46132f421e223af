"""Progress reports of long work."""

from collections.abc import Callable, Iterator

Progress = Callable[[str, int, int], None]  # stage, done, total


def silent(stage: str, done: int, total: int) -> None:
    """Take progress reports and show nothing."""


def nested_progress(stage: str, progress: Progress) -> Progress:
    """Return progress that names an outer stage, such as which run of a sweep it is, before the inner one."""
    return lambda inner, done, total: progress(f"{stage}: {inner}", done, total)


def batches(n: int, size: int, stage: str, progress: Progress) -> Iterator[slice]:
    """Yield slices of at most `size` elements that cover n elements, and report progress between them."""
    for start in range(0, n, size):
        progress(stage, start, n)
        yield slice(start, min(start + size, n))
    progress(stage, n, n)
