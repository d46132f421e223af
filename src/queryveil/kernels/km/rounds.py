"""(k,m)-anonymity in rounds: the combinations of a block of histories, and what the block does with their supports.

A combination of up to four terms, ascending, is two numbers: `high` holds the first two, `low` the others; the last
term is repeated where there are fewer, so a term alone is a pair with itself, and `low` is then 0.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import advance

_TERM_BITS = 32


@jit
def _pack(first: int, second: int) -> np.int64:
    return (np.int64(first) << _TERM_BITS) | np.int64(second)


@jit
def key_of(terms: NDArray[np.int32], size: int) -> tuple[np.int64, np.int64]:
    """Return the two numbers of a combination."""
    high = _pack(terms[0], terms[min(1, size - 1)])
    low = np.int64(0)
    if size > 2:
        low = _pack(terms[2], terms[size - 1])
    return high, low


@jit
def n_combinations(n: int, size: int) -> int:
    """Return how many combinations of a size there are."""
    result = 1
    for i in range(size):
        result = result * (n - i) // (i + 1)
    return result


@jit
def masked_positions(indptr: NDArray[np.int64], mask: NDArray[np.bool_], history: int) -> NDArray[np.int64]:
    """Return the positions of a history's pairs that a mask selects."""
    places = np.empty(indptr[history + 1] - indptr[history], np.int64)
    n = 0
    for i in range(indptr[history], indptr[history + 1]):
        if mask[i]:
            places[n] = i
            n += 1
    return places[:n]


@jit
def combinations(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    mask: NDArray[np.bool_],
    queried: NDArray[np.bool_],
    owner: NDArray[np.int32],
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return the keys of all combinations of a size within histories, and the owner of each.

    Only combinations that contain an entry marked in `queried` are returned.
    """
    n_all = 0
    for h in range(len(indptr) - 1):
        n_all += n_combinations(len(masked_positions(indptr, mask, h)), size)
    high, low = np.empty(n_all, np.int64), np.empty(n_all, np.int64)
    whose = np.empty(n_all, np.int32)
    indices, terms = np.empty(4, np.int64), np.empty(4, np.int32)
    n = 0
    for h in range(len(indptr) - 1):
        places = masked_positions(indptr, mask, h)
        if len(places) < size:
            continue
        for i in range(size):
            indices[i] = i
        while True:
            is_queried = False
            for i in range(size):
                terms[i] = ids[places[indices[i]]]
                is_queried = is_queried or queried[places[indices[i]]]
            if is_queried:
                high[n], low[n] = key_of(terms, size)
                whose[n] = owner[h]
                n += 1
            if not advance(indices, size, len(places), size - 1):
                break
    return high[:n], low[:n], whose[:n]


@jit
def combinations_with_one(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    kept: NDArray[np.bool_],
    is_candidate: NDArray[np.bool_],
    owner: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the keys of all candidates and of all pairs of a candidate and a kept term, and the owner of each."""
    n_all = 0
    for h in range(len(indptr) - 1):
        candidates = masked_positions(indptr, is_candidate, h)
        n_all += len(candidates) * (1 + len(masked_positions(indptr, kept, h)))
    high, whose = np.empty(n_all, np.int64), np.empty(n_all, np.int32)
    n = 0
    for h in range(len(indptr) - 1):
        places = masked_positions(indptr, kept, h)
        for candidate in masked_positions(indptr, is_candidate, h):
            high[n], whose[n] = _pack(ids[candidate], ids[candidate]), owner[h]
            n += 1
            for place in places:
                high[n], whose[n] = _pair_key(ids[candidate], ids[place]), owner[h]
                n += 1
    return high, whose


@jit
def _pair_key(a: int, b: int) -> np.int64:
    return _pack(min(a, b), max(a, b))


@jit
def find_key(high: NDArray[np.int64], low: NDArray[np.int64], wanted_high: np.int64, wanted_low: np.int64) -> int:
    """Return the position of a key among ascending keys, or −1."""
    a, b = 0, len(high)
    while a < b:
        middle = (a + b) // 2
        if high[middle] < wanted_high or (high[middle] == wanted_high and low[middle] < wanted_low):
            a = middle + 1
        else:
            b = middle
    if a < len(high) and high[a] == wanted_high and low[a] == wanted_low:
        return a
    return -1


@jit
def _list_matches(
    places: NDArray[np.int64],
    ids: NDArray[np.int32],
    max_size: int,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    total: NDArray[np.int64],
    k: int,
    members: NDArray[np.int32],
    is_infrequent: NDArray[np.bool_],
) -> int:
    """List the combinations of a history that are among the keys, as far as they fit; return how many there are."""
    indices, terms = np.empty(4, np.int64), np.empty(4, np.int32)
    n = 0
    for size in range(1, max_size + 1):
        if len(places) < size:
            break
        for i in range(size):
            indices[i] = i
        while True:
            for i in range(size):
                terms[i] = ids[places[indices[i]]]
            wanted_high, wanted_low = key_of(terms, size)
            place = find_key(high, low, wanted_high, wanted_low)
            if place >= 0:
                if n < len(members):
                    for i in range(4):
                        members[n, i] = indices[i] if i < size else -1
                    is_infrequent[n] = total[place] < k
                n += 1
            if not advance(indices, size, len(places), size - 1):
                break
    return n


@jit
def delete_hitting_sets(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    cost: NDArray[np.float64],
    kept: NDArray[np.bool_],
    max_size: int,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    total: NDArray[np.int64],
    k: int,
    caution: float,
) -> int:
    """Delete from each history a hitting set of its infrequent combinations; return how many of these there were.

    Terms are deleted greedily by the number of combinations they hit, relative to their cost. `caution` postpones
    a term whose deletion could make further combinations infrequent; ties are resolved in favour of the rarest term.
    """
    n_found = 0
    for h in range(len(indptr) - 1):
        places = masked_positions(indptr, kept, h)
        members, is_infrequent = np.empty((64, 4), np.int32), np.empty(64, np.bool_)
        n = _list_matches(places, ids, max_size, high, low, total, k, members, is_infrequent)
        if n > len(members):
            members, is_infrequent = np.empty((n, 4), np.int32), np.empty(n, np.bool_)
            _list_matches(places, ids, max_size, high, low, total, k, members, is_infrequent)
        n_infrequent, critical = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
        n_left = 0
        for c in range(n):
            n_left += is_infrequent[c]
            for i in range(4):
                if members[c, i] >= 0:
                    n_infrequent[members[c, i]] += is_infrequent[c]
                    critical[members[c, i]] += not is_infrequent[c]
        n_found += n_left
        is_open = np.ones(n, np.bool_)
        while n_left > 0:
            best, highest = -1, 0.0
            for i in range(len(places)):
                if n_infrequent[i] > 0:
                    score = n_infrequent[i] / (cost[places[i]] * (1 + caution * critical[i]))
                    if best < 0 or score >= highest:
                        best, highest = i, score
            kept[places[best]] = False
            for c in range(n):
                if is_open[c] and _holds(members[c], best):
                    is_open[c] = False
                    n_left -= is_infrequent[c]
                    for i in range(4):
                        if members[c, i] >= 0:
                            n_infrequent[members[c, i]] -= is_infrequent[c]
                            critical[members[c, i]] -= not is_infrequent[c]
    return n_found


@jit
def _holds(members: NDArray[np.int32], position: int) -> bool:
    for i in range(4):
        if members[i] == position:
            return True
    return False


@jit
def reinsert(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    cost: NDArray[np.float64],
    kept: NDArray[np.bool_],
    is_candidate: NDArray[np.bool_],
    max_size: int,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
) -> int:
    """Reinsert candidates, the costliest first, if all combinations that arise are among the frequent keys."""
    n_inserted = 0
    terms = np.empty(4, np.int32)
    for h in range(len(indptr) - 1):
        candidates = masked_positions(indptr, is_candidate, h)
        order = np.argsort(-cost[candidates], kind="mergesort")
        for candidate in candidates[order]:
            places = masked_positions(indptr, kept, h)
            if _are_all_listed(places, ids, candidate, max_size, high, low, terms):
                kept[candidate] = True
                n_inserted += 1
    return n_inserted


@jit
def drop_blocked(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    kept: NDArray[np.bool_],
    is_candidate: NDArray[np.bool_],
    max_size: int,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
) -> int:
    """Unmark candidates that would make a combination with kept terms that is not among the keys; count the others."""
    n_candidates = 0
    terms = np.empty(4, np.int32)
    for h in range(len(indptr) - 1):
        places = masked_positions(indptr, kept, h)
        for candidate in masked_positions(indptr, is_candidate, h):
            is_candidate[candidate] = _are_all_listed(places, ids, candidate, max_size, high, low, terms)
            n_candidates += is_candidate[candidate]
    return n_candidates


@jit
def _are_all_listed(
    places: NDArray[np.int64],
    ids: NDArray[np.int32],
    candidate: int,
    max_size: int,
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    terms: NDArray[np.int32],
) -> bool:
    """Return whether a term's combinations with up to `max_size` − 1 kept terms are all among the keys."""
    indices = np.empty(4, np.int64)
    for others in range(max_size):
        if len(places) < others:
            break
        for i in range(others):
            indices[i] = i
        while True:
            n, is_in = 0, False
            for i in range(others):
                term = ids[places[indices[i]]]
                if not is_in and ids[candidate] < term:
                    terms[n] = ids[candidate]
                    n, is_in = n + 1, True
                terms[n] = term
                n += 1
            if not is_in:
                terms[n] = ids[candidate]
            wanted_high, wanted_low = key_of(terms, others + 1)
            if find_key(high, low, wanted_high, wanted_low) < 0:
                return False
            if others == 0 or not advance(indices, others, len(places), others - 1):
                break
    return True


@jit
def bucket_keys(high: NDArray[np.int64], low: NDArray[np.int64], n_buckets: int) -> NDArray[np.int32]:
    """Return the bucket of every key, by a hash that is the same everywhere (the finaliser of SplitMix64)."""
    bucket = np.empty(len(high), np.int32)
    for i in range(len(high)):
        x = np.uint64(high[i]) ^ (np.uint64(low[i]) * np.uint64(0x9E3779B97F4A7C15))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
        bucket[i] = np.int32(x % np.uint64(n_buckets))
    return bucket


@jit
def _people_of(high: NDArray[np.int64], people: NDArray[np.int64], a: int, b: int) -> int:
    """Return the people of a pair of terms, of a term with itself those of the term, or −1 if it is not listed."""
    wanted = _pair_key(a, b)
    place = np.searchsorted(high, wanted)
    return people[place] if place < len(high) and high[place] == wanted else -1


@jit
def _loss_for(
    places: NDArray[np.int64],
    ids: NDArray[np.int32],
    counts: NDArray[np.int32],
    candidate: int,
    high: NDArray[np.int64],
    people: NDArray[np.int64],
    least: int,
    conflicts: NDArray[np.bool_],
) -> int:
    """Mark the kept terms that a history must delete for a candidate; return their count, or −1 if it may not.

    It may not if fewer than `least` people hold one of these terms, or one of its pairs with a kept term.
    """
    loss = 0
    for i in range(len(places)):
        conflicts[i] = _people_of(high, people, ids[candidate], ids[places[i]]) < 0
        if conflicts[i]:
            loss += counts[places[i]]
            if loss >= counts[candidate]:
                return -1
            for j in range(len(places)):
                if _people_of(high, people, ids[places[i]], ids[places[j]]) < least:
                    return -1
    return loss


@jit
def propose_changes(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    counts: NDArray[np.int32],
    cost: NDArray[np.float64],
    kept: NDArray[np.bool_],
    is_candidate: NDArray[np.bool_],
    high: NDArray[np.int64],
    people: NDArray[np.int64],
    least: int,
    changed: NDArray[np.bool_],
) -> int:
    """Mark for each history the candidate that gains most and what it replaces; return the number of proposals.

    The keys are the terms and pairs that enough people hold or could hold, with their holders.
    """
    n_proposals = 0
    for h in range(len(indptr) - 1):
        places = masked_positions(indptr, kept, h)
        conflicts, replaced = np.zeros(len(places), np.bool_), np.zeros(len(places), np.bool_)
        best, most = -1, 0.0
        for candidate in masked_positions(indptr, is_candidate, h):
            if _people_of(high, people, ids[candidate], ids[candidate]) < 0:
                continue
            loss = _loss_for(places, ids, counts, candidate, high, people, least, conflicts)
            gain = cost[candidate] * (counts[candidate] - loss) / counts[candidate]
            if loss >= 0 and gain > most:
                best, most = candidate, gain
                replaced[:] = conflicts
        if best >= 0:
            n_proposals += 1
            changed[best] = True
            changed[places[replaced]] = True
    return n_proposals


@jit
def withdraw_proposals(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    kept: NDArray[np.bool_],
    changed: NDArray[np.bool_],
    is_candidate: NDArray[np.bool_],
    high: NDArray[np.int64],
    people: NDArray[np.int64],
) -> int:
    """Withdraw the proposals that would make, or leave to too few people, one of the keys; return how many these are.

    A withdrawn term is no candidate any more.
    """
    n_withdrawn = 0
    is_touched = kept | changed
    for h in range(len(indptr) - 1):
        places = masked_positions(indptr, is_touched, h)
        if not changed[places].any() or not _meets_key(places, ids, kept, changed, high, people):
            continue
        n_withdrawn += 1
        for place in places:
            if changed[place]:
                is_candidate[place] &= kept[place]
                changed[place] = False
    return n_withdrawn


@jit
def _meets_key(
    places: NDArray[np.int64],
    ids: NDArray[np.int32],
    kept: NDArray[np.bool_],
    changed: NDArray[np.bool_],
    high: NDArray[np.int64],
    people: NDArray[np.int64],
) -> bool:
    """Return whether a term or pair that a history holds before or after its change is among the keys."""
    for i in range(len(places)):
        for j in range(i + 1):
            a, b = places[i], places[j]
            is_replaced = kept[a] != kept[b] and changed[a] and changed[b]  # never held together
            if (changed[a] or changed[b]) and not is_replaced and _people_of(high, people, ids[a], ids[b]) > 0:
                return True
    return False
