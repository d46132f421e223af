"""What people click: for each query the ranks, and the sites that stand there."""

import zlib
from bisect import bisect_right

import numpy as np

from queryveil.logs.generate.shape import Habits
from queryveil.logs.generate.stock import Stock

_MOST = 5  # clicks on one query
_STOPS = 0.55  # chance that a reader going down the results clicks the next one


class Engine:
    """A search engine: the same query finds the same site at the same rank, whoever asks."""

    def __init__(self, stock: Stock) -> None:
        self._sites = stock.sites.items
        self._names = frozenset(stock.sites.items)
        self._cumulated: list[float] = stock.sites.cumulated.tolist()

    def address(self, query: str, rank: int) -> str:
        """Return what stands at a rank: first a site that is asked for by its name, else a popular one."""
        if rank == 1:
            for word in query.replace(".", " ").split(" "):
                if word in self._names:
                    return f"http://www.{word}.com"
        luck = zlib.crc32(f"{rank} {query}".encode()) / 2**32
        return f"http://www.{self._sites[bisect_right(self._cumulated, luck)]}.com"


def make_clicks(n_queries: int, habits: Habits, rng: np.random.Generator) -> list[list[int]]:
    """Draw the ranks, from 1 and ascending, at which each query is clicked; many queries are not."""
    more = np.minimum(rng.geometric(1 - habits.next_click, size=n_queries), _MOST)
    counts = np.where(rng.random(n_queries) < habits.click, more, 0)
    ranks = np.cumsum(rng.geometric(_STOPS, size=(n_queries, _MOST)), axis=1).tolist()
    return [clicked[:count] for clicked, count in zip(ranks, counts.tolist(), strict=True)]
