"""Count the frequent combinations of up to four terms.

The histories that hold a term are scanned for the terms after it into a dense counter: no hash table, no candidate
generation, no sorting. Combinations of three are the pairs among the histories that hold the rarest term, reduced to
the terms that are frequent with it; those of four are the pairs in a reduction of the reduced histories.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import NOT_NEGATIVE, jit
from queryveil.kernels.km.supports import Postings, term_postings

Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]  # indptr, ids, owner of histories
Nodes = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]  # start, term, support
Counted = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]  # children of each parent, terms, supports


@jit
def _with_room(array: NDArray[np.int32], n: int, n_more: int) -> NDArray[np.int32]:
    """Return the array, or a larger copy of its first n entries if there is no room for more."""
    if n + n_more <= len(array):
        return array
    larger = np.empty(2 * (n + n_more), np.int32)
    for i in range(n):  # assigning slices takes two seconds to compile
        larger[i] = array[i]
    return larger


@jit
def count_pairs(
    first: int,
    end: int,
    k: int,
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    owner: NDArray[np.int32],
    has_one_each: bool,  # every owner has one history
    start: NDArray[np.int64],  # with history and position: `term_postings` of the terms that can be in a pair
    history: NDArray[np.int32],
    position: NDArray[np.int64],
) -> Counted:
    """Return, for each term from `first` to `end` − 1, how many rarer terms k owners hold with it, these, and supports.

    The rarer terms of one term are in no order.
    """
    n_terms = len(start) - 1
    count, last = np.zeros(n_terms, np.int32), np.full(n_terms, -1, np.int32)
    touched = np.empty(n_terms + 1, np.uint32)
    n_rarer, rarer, support = np.zeros(end - first, np.int32), np.empty(64, np.int32), np.empty(64, np.int32)
    n = 0
    for b in range(first, end):
        n_touched = 0
        for q in range(start[b], start[b + 1]):
            h = history[q]
            place = position[q] & NOT_NEGATIVE
            for i in range(1, indptr[h + 1] - place):
                t = np.uint32(ids[place + i])
                if t >= n_terms:
                    break
                if not has_one_each:
                    if last[t] == owner[h]:
                        continue
                    last[t] = owner[h]
                touched[n_touched & NOT_NEGATIVE] = t  # overwritten if it was touched before: faster than a branch
                n_touched += count[t] == 0
                count[t] += 1
        rarer, support = _with_room(rarer, n, n_touched), _with_room(support, n, n_touched)
        begin = n
        for i in range(n_touched):
            t = touched[i]
            rarer[n], support[n] = t, count[t]
            n += count[t] >= k
            count[t], last[t] = 0, -1
        n_rarer[b - first] = n - begin
    return n_rarer, rarer[:n].copy(), support[:n].copy()


@jit
def transpose(n_rarer: NDArray[np.int32], rarer: NDArray[np.int32], support: NDArray[np.int32]) -> Nodes:
    """Return the pairs of all terms by their rarer term: where the other terms of each begin, these, and supports."""
    start = np.zeros(len(n_rarer) + 1, np.int64)
    for t in rarer:
        start[t + 1] += 1
    for t in range(len(n_rarer)):
        start[t + 1] += start[t]
    end = start[:-1].copy()
    other, support_of = np.empty(len(rarer), np.int32), np.empty(len(rarer), np.int32)
    i = 0
    for b in range(len(n_rarer)):
        for _ in range(n_rarer[b]):
            place = end[rarer[i]]
            other[place], support_of[place] = b, support[i]
            end[rarer[i]] += 1
            i += 1
    return start, other, support_of


@jit
def _reduce(
    history: NDArray[np.int32],
    ends: NDArray[np.int64],
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    owner: NDArray[np.int32],
    place: NDArray[np.int32],
) -> Rows:
    """Return these histories, up to their ends, with the places of terms as ids; terms of place −1 are left out."""
    room = 0
    for r in range(len(history)):
        room += ends[r] - indptr[history[r]]
    begin, places, owners = np.zeros(len(history) + 1, np.int64), np.empty(room, np.int32), owner[history]
    n = 0
    for r in range(len(history)):
        for i in range(indptr[history[r]], ends[r]):
            if place[ids[i]] >= 0:
                places[n] = place[ids[i]]
                n += 1
        begin[r + 1] = n
    return begin, places[:n], owners


@jit
def _count_among(
    history: NDArray[np.int32],
    ends: NDArray[np.int64],
    rows: Rows,
    place: NDArray[np.int32],
    n_places: int,
    has_one_each: bool,
    k: int,
) -> tuple[Rows, Postings, Nodes]:
    """Return these histories reduced to the terms that have a place, the postings of places, and their pairs."""
    indptr, places, owner = _reduce(history, ends, rows[0], rows[1], rows[2], place)
    held = term_postings(indptr, places, n_places)
    counted = count_pairs(0, n_places, k, indptr, places, owner, has_one_each, held[0], held[1], held[2])
    return (indptr, places, owner), held, transpose(counted[0], counted[1], counted[2])


@jit
def _count_quadruples(
    rows: Rows,
    held: Postings,
    start3: NDArray[np.int64],
    place_of: NDArray[np.int32],
    place: NDArray[np.int32],  # −1
    has_one_each: bool,
    k: int,
    n_children: NDArray[np.int32],
    terms: NDArray[np.int32],
    supports: NDArray[np.int32],
    n: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Append the fourth terms, as places, and supports of the combinations with each triple; return both and the end.

    Triples are given by their two other terms; `n_children` receives how many fourth terms each has.
    """
    for j in range(len(start3) - 1):
        u, v = start3[j], start3[j + 1]
        if v - u < 2:
            continue
        for i in range(u, v):
            place[place_of[i]] = i - u
        a, b = held[0][j], held[0][j + 1]
        _, _, (start4, place_of4, support) = _count_among(
            held[1][a:b], held[2][a:b], rows, place, v - u, has_one_each, k
        )
        terms, supports = _with_room(terms, n, len(support)), _with_room(supports, n, len(support))
        for i in range(len(support)):
            terms[n + i], supports[n + i] = place_of[u + place_of4[i]], support[i]
        n += len(support)
        for i in range(u, v):
            n_children[i] = start4[i - u + 1] - start4[i - u]
            place[place_of[i]] = -1
    return terms, supports, n


@jit
def count_larger(
    first: int,
    end: int,
    k: int,
    m: int,
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    owner: NDArray[np.int32],
    has_one_each: bool,
    start: NDArray[np.int64],
    history: NDArray[np.int32],
    position: NDArray[np.int64],
    start2: NDArray[np.int64],
    term2: NDArray[np.int32],
) -> tuple[Counted, Counted]:
    """Count the combinations of three and four whose rarest term is one from `first` to `end` − 1.

    Return, for each size, how many children each node of the size before has, the children and their supports.
    """
    n_children3 = np.zeros(start2[end] - start2[first], np.int32)
    term3, support3, n3, parent = np.empty(64, np.int32), np.empty(64, np.int32), 0, 0
    n_children4, term4, support4, n4 = np.empty(64, np.int32), np.empty(64, np.int32), np.empty(64, np.int32), 0
    place, place3 = np.full(len(start) - 1, -1, np.int32), np.full(len(start) - 1, -1, np.int32)
    for t in range(first, end):
        terms2 = term2[start2[t] : start2[t + 1]]
        for j in range(len(terms2)):
            place[terms2[j]] = j
        if len(terms2) > 1:
            a, b = start[t], start[t + 1]
            rows, held, (start3, place_of, support) = _count_among(
                history[a:b], position[a:b], (indptr, ids, owner), place, len(terms2), has_one_each, k
            )
            n = len(support)
            term3, support3 = _with_room(term3, n3, n), _with_room(support3, n3, n)
            for i in range(n):
                term3[n3 + i], support3[n3 + i] = terms2[place_of[i]], support[i]
            for j in range(len(terms2)):
                n_children3[parent + j] = start3[j + 1] - start3[j]
            if m > 3:
                n_children4, begin = _with_room(n_children4, n3, n), n4
                n_children4[n3 : n3 + n] = 0
                term4, support4, n4 = _count_quadruples(
                    rows, held, start3, place_of, place3, has_one_each, k, n_children4[n3:], term4, support4, n4
                )
                for i in range(begin, n4):
                    term4[i] = terms2[term4[i]]
            n3 += n
        for j in range(len(terms2)):
            place[terms2[j]] = -1
        parent += len(terms2)
    n_parents4 = n3 if m > 3 else 0
    return (
        (n_children3, term3[:n3].copy(), support3[:n3].copy()),
        (n_children4[:n_parents4].copy(), term4[:n4].copy(), support4[:n4].copy()),
    )
