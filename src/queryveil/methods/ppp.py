"""PPP: queries with a person name, a place or a private word, released alone or left out.

Carpineto, Romano: Sensitive-aware Privacy Index for Sanitized Text Data, 2018, section 4: `only` and `none` are their
only-PPP and no-PPP. Their lists are not published; ours are in docs/decisions/0026. A name is a word that is nothing
but a name, or a first name directly followed by a last name.
"""

from itertools import pairwise

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.histories.outcomes import KeptPairs
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.methods.base import MethodTask

_REPORT_EVERY = 50_000  # queries, below a second


def run(task: MethodTask) -> KeptPairs:
    """Return which (history, query) pairs stay: those of queries with such a word, or those of all others."""
    profiles, method, lists = task.profiles, task.method, task.inputs.get(PersonalWordLists)
    entries = profiles.vocabulary
    phrases = lists.places | lists.words
    longest = max((phrase.count(" ") + 1 for phrase in phrases), default=0)
    found = np.zeros(len(entries), np.bool_)
    for number, entry in enumerate(entries):
        words = entry.split(" ")
        found[number] = has_name(words, lists) or has_phrase(words, phrases, longest)
        if number % _REPORT_EVERY == 0:
            task.progress("looking for names and places", number, len(entries))
    mask = found[profiles.ids] == (method.word("release") == "only")
    if not mask.any():
        which = "no query holds" if method.word("release") == "only" else "every query holds"
        raise GuaranteeError(f"{method}: {which} a name, place or private word, so nothing would be left of the log.")
    issued = int(profiles.counts.sum(dtype=np.int64))
    held = int(profiles.counts[found[profiles.ids]].sum(dtype=np.int64))
    return KeptPairs(
        mask, summary={"issued queries with a name, place or private word": held, "issued queries": issued}
    )


def has_name(words: list[str], lists: PersonalWordLists) -> bool:
    """Return whether a query has a word that is only a name, or a first name and after it a last name."""
    if not lists.names.isdisjoint(words):
        return True
    return any(a in lists.first_names and b in lists.last_names for a, b in pairwise(words))


def has_phrase(words: list[str], phrases: frozenset[str], longest: int) -> bool:
    """Return whether words of a query, side by side, are one of the phrases."""
    if not phrases.isdisjoint(words):
        return True
    return any(
        " ".join(words[first : first + length]) in phrases
        for length in range(2, min(longest, len(words)) + 1)
        for first in range(len(words) - length + 1)
    )
