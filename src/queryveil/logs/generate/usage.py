"""How often the terms of worded queries are used."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain, groupby
from operator import itemgetter

import numpy as np

from queryveil.logs.generate.tally import Terms
from queryveil.logs.scrub import ASCII_CANDIDATE, scrub

_TERM = re.compile(r"[a-z0-9]+")
_CANDIDATE = re.compile(ASCII_CANDIDATE)


class Usage:
    """Counts of the whole log, and of what our own cleaning would leave: no bots, no direct identifiers."""

    def __init__(self) -> None:
        self.terms: set[str] = set()
        self.occurrences = self.pairs = self.largest = 0
        self._frequency: Counter[str] = Counter()
        self._users: Counter[str] = Counter()

    def add(self, owners: Iterable[int], queries: Iterable[str], is_bot: list[bool]) -> None:
        """Count the queries of some people, all of a person's side by side."""
        for owner, typed in groupby(zip(owners, queries, strict=True), key=itemgetter(0)):
            texts = [text for _, text in typed]
            self._add_person([set(_TERM.findall(text)) for text in texts])
            if not is_bot[owner]:
                self._add_cleaned([set(_TERM.findall(_scrubbed(text))) for text in texts])

    def after_cleaning(self) -> Terms:
        """Return the terms in alphabetical order."""
        texts = sorted(self._users)
        frequency = np.array([self._frequency[text] for text in texts], np.int64)
        return Terms(texts, frequency, np.array([self._users[text] for text in texts], np.int64))

    def _add_person(self, queries: list[set[str]]) -> None:
        history = set().union(*queries)
        self.terms |= history
        self.occurrences += sum(map(len, queries))
        self.pairs += len(history)
        self.largest = max(self.largest, len(history))

    def _add_cleaned(self, queries: list[set[str]]) -> None:
        self._frequency.update(chain.from_iterable(queries))
        self._users.update(set().union(*queries))


def _scrubbed(text: str) -> str:
    return scrub(text)[0] if _CANDIDATE.search(text) else text
