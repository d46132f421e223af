"""Explaining why a term that enough people share is not in a release: with it, something sensitive would follow.

Putting a term back into a history changes what follows from the combinations of this history with the term, and, if the
term is sensitive, how surely it follows from the others. The bound is on people and on histories.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.names import ResolvedName
from queryveil.workflows.sensitive_terms import INPUT, THRESHOLD, by_model


def reasons(
    claim: ResolvedName, recorded: Mapping[str, Any]
) -> Callable[..., tuple[tuple[int, ...], int, int, int] | None]:
    """Return `find_inference` for a release, of whose run the private record has the list of sensitive terms, if any.

    Its last argument are the texts of the terms.
    """
    listed = recorded.get(INPUT)
    if not isinstance(listed, list):
        return partial(find_inference, claim, by_model(float(claim.values.get("threshold", THRESHOLD))).mark)
    return partial(find_inference, claim, lambda terms: np.array([term in listed for term in terms], np.bool_))


def find_inference(
    claim: ResolvedName,
    mark: Callable[[Sequence[str]], NDArray[np.bool_]],
    histories_of: Callable[[int], NDArray[np.int64]],
    owner: NDArray[np.int32],
    history: int,
    kept: Sequence[int],
    removed: int,
    texts: Sequence[str],
) -> tuple[tuple[int, ...], int, int, int] | None:
    """Return what would follow too surely with a removed term put back: a combination, a term, who has it, of how many.

    The combination is a smallest one, of these the one from which the term follows most surely.
    """
    sensitive = mark(texts)
    share, terms = Fraction(str(claim.real("h"))), sorted((*kept, removed))
    here = np.array([history])
    holders = {term: np.union1d(histories_of(term), here) for term in terms}
    views = (owner, np.arange(len(owner)))  # people are counted, and histories
    for size in range(1, claim.integer("m") + 1):
        found = []
        for known in combinations(terms, size):
            holding = reduce(np.intersect1d, (holders[term] for term in known))
            for term in terms:
                if not sensitive[term] or term in known or removed not in (term, *known):
                    continue
                having = np.intersect1d(holding, holders[term])
                for who in views:
                    counts = len(np.unique(who[having])), len(np.unique(who[holding]))
                    found.append((Fraction(*counts), (known, term, *counts)))
        worst = max(found, key=lambda each: each[0], default=(Fraction(0), None))
        if worst[0] > share:
            return worst[1]
    return None
