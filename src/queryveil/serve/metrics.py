"""Metrics of the search service in Prometheus' text format; never a query, a group or an address.

Several processes may share a folder: each counts in a memory-mapped file of its own there, and the process that is
scraped adds up all files.
"""

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path

ANSWERS = (200, 400, 401, 404, 405, 408, 413, 415, 421, 422, 500, 503)
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5)  # seconds
_COUNTER_OF = {answer: place for place, answer in enumerate(ANSWERS)}
_BUCKETS = len(ANSWERS)  # the first bucket; the last bucket counts what took longer than the last bound
_NANOSECONDS = _BUCKETS + len(BOUNDS) + 1
_IN_FLIGHT = _NANOSECONDS + 1
_SIZE = _IN_FLIGHT + 1


class Metrics:
    """The counters of a process, and their sums over all processes that share its folder."""

    def __init__(self, gauges: Mapping[str, tuple[str, int]], folder: Path | None = None) -> None:
        """Take constant gauges (name → purpose, value), and a folder if several processes share it."""
        self._gauges, self._folder = gauges, folder
        self._counts = memoryview(bytearray(8 * _SIZE)).cast("q") if folder is None else _map_file(folder)

    def begin(self) -> None:
        """Count a request that has arrived."""
        self._counts[_IN_FLIGHT] += 1

    def end(self, answer: int, nanoseconds: int | None = None) -> None:
        """Count a response by its status and, for a search, by its latency."""
        counts = self._counts
        counts[_IN_FLIGHT] -= 1
        counts[_COUNTER_OF[answer]] += 1
        if nanoseconds is not None:
            counts[_BUCKETS + bisect_left(BOUNDS, nanoseconds / 1e9)] += 1
            counts[_NANOSECONDS] += nanoseconds

    def text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        return "".join(f"{line}\n" for line in self._lines(self._sums()))

    def _sums(self) -> list[int]:
        if self._folder is None:
            return self._counts.tolist()
        return [sum(column) for column in zip(*map(_read, self._folder.iterdir()), strict=True)]

    def _lines(self, sums: list[int]) -> Iterator[str]:
        name = "queryveil_requests_total"
        yield from _heading(name, "counter", "Requests by the status of the answer.")
        yield from (f'{name}{{answer="{answer}"}} {sums[place]}' for answer, place in _COUNTER_OF.items())
        name = "queryveil_search_seconds"
        yield from _heading(name, "histogram", "Time from a search request to its answer.")
        totals = list(accumulate(sums[_BUCKETS:_NANOSECONDS]))
        bounds = (*map(str, BOUNDS), "+Inf")
        yield from (f'{name}_bucket{{le="{bound}"}} {n}' for bound, n in zip(bounds, totals, strict=True))
        yield f"{name}_sum {sums[_NANOSECONDS] / 1e9:.9f}"
        yield f"{name}_count {totals[-1]}"
        in_flight = ("Requests that are being answered.", sums[_IN_FLIGHT])
        for name, (purpose, value) in {"queryveil_in_flight": in_flight, **self._gauges}.items():
            yield from _heading(name, "gauge", purpose)
            yield f"{name} {value}"


def _heading(name: str, kind: str, purpose: str) -> tuple[str, str]:
    return f"# HELP {name} {purpose}", f"# TYPE {name} {kind}"


def _map_file(folder: Path) -> memoryview:
    """Map this process's file; the counts of an earlier process with the same id are continued."""
    descriptor = os.open(folder / str(os.getpid()), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(descriptor, 8 * _SIZE)
        counts = memoryview(mmap.mmap(descriptor, 8 * _SIZE)).cast("q")
    finally:
        os.close(descriptor)
    counts[_IN_FLIGHT] = 0
    return counts


def _read(path: Path) -> list[int]:
    """Return the counts of a process; requests in flight in a process that has ended do not count."""
    counts = memoryview(path.read_bytes().ljust(8 * _SIZE, b"\0")).cast("q").tolist()
    return counts if _is_alive(int(path.name)) else [*counts[:_IN_FLIGHT], 0]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
