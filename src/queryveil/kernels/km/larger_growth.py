"""Growing an anonymous log term by term, for combinations of up to four.

As in `growth` a term is inserted into all histories that hold it in the original at once, and histories where one of
its combinations is infrequent are then rejected until there is none. Before it is rejected, a history gives up terms
that weigh less than the new one, if more than k people hold every combination that this breaks up. So the log is
anonymous after every term.

A combination with the new term is held by those who accept the term and hold the others: these are counted in a hash
table, which is emptied for each term. Of other combinations the bits of `triples.Holders` say who holds them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.growth import (
    MAX_CONFLICTS,
    GrowingLog,
    are_elsewhere,
    pair_node,
    reject_until_stable,
    reset_counts,
)
from queryveil.kernels.km.supports import ONE, Tree, find_node
from queryveil.kernels.km.triples import Holders, count_holders_of_all

NONE = -1  # in place of a term
SLOTS = 1 << 22  # of the hash table at most, which bounds its room to 64 MB …
FIRST_SLOTS = 1 << 8  # … and for a new term
MOST_TERMS = 1 << 21  # that are grown for combinations of four: three terms fit into a key


class Insertion(NamedTuple):
    """Scratch space for the insertion of one term: the counts of its combinations, and what its histories did."""

    table: NDArray[np.int64]  # (slots, 2): keys of combinations with up to three others, and who holds them; 0: empty
    asked: NDArray[np.int64]  # (terms,): when a term was last one of a history that may accept the new one
    fell: NDArray[np.int64]  # (terms + 1,): when a combination of each term became infrequent
    terms: NDArray[np.int64]  # (longest,): some terms of a history, ascending, …
    places: NDArray[np.int64]  # (longest,): … and where they are among those that it keeps
    checked: NDArray[np.int64]  # (most holders of a term,): when each history was last checked; -1: never
    n_given_up: NDArray[np.int64]  # (most holders of a term,): terms, which stand behind those that are kept
    state: NDArray[np.int64]  # (4,): the time, the slots in use, those not empty, the last time that a count fell


class Takers(NamedTuple):
    """The histories that hold the new term in the original, what they keep, and which of them take it so far."""

    history: NDArray[np.int32]
    owner: NDArray[np.int32]
    accepts: NDArray[np.bool_]
    indptr: NDArray[np.int64]
    size: NDArray[np.int64]
    kept_terms: NDArray[np.int32]
    has_one_each: bool


def make_insertion(n_terms: int, longest: int, most_holders: int) -> Insertion:
    """Return scratch space; room in the hash table is only taken when it is used."""
    return Insertion(
        table=np.zeros((SLOTS, 2), np.int64),
        asked=np.zeros(n_terms, np.int64),
        fell=np.zeros(n_terms + 1, np.int64),
        terms=np.empty(longest, np.int64),
        places=np.empty(longest, np.int64),
        checked=np.empty(most_holders, np.int64),
        n_given_up=np.empty(most_holders, np.int64),
        state=np.zeros(4, np.int64),
    )


@jit
def _hash(key: int) -> int:
    """Return a number whose low bits say where in the table a key belongs."""
    mixed = key * -7046029254386353131
    return mixed ^ (mixed >> 32)


@jit
def _make_room(table: NDArray[np.int64], state: NDArray[np.int64], n_more: int) -> bool:
    """Use more slots if the table would be more than half full; return whether there is room."""
    n_slots, n_wanted = state[1], state[1]
    while n_wanted < SLOTS and 2 * (state[2] + n_more) > n_wanted:
        n_wanted *= 2
    if n_wanted > n_slots:
        old = table[:n_slots].copy()
        table[:n_wanted] = 0
        for i in range(n_slots):
            if old[i, 0] != 0:
                slot = _hash(old[i, 0]) & (n_wanted - 1)
                while table[slot, 0] != 0:
                    slot = (slot + 1) & (n_wanted - 1)
                table[slot, 0], table[slot, 1] = old[i, 0], old[i, 1]
        state[1] = n_wanted
    return 2 * (state[2] + n_more) <= n_wanted


@jit
def _n_combinations(n: int, m: int) -> int:
    """Return how many combinations of up to m − 1 of n terms there are."""
    return 1 + n + n * (n - 1) // 2 + (n * (n - 1) * (n - 2) // 6 if m > 3 else 0)


@jit
def _load(
    kept_terms: NDArray[np.int32],
    begin: int,
    size: int,
    times: NDArray[np.int64],
    after: int,
    terms: NDArray[np.int64],
    places: NDArray[np.int64],
) -> int:
    """Load the terms of a history with a time after a given one, sorted; return how many they are."""
    n = 0
    for place in range(size):
        t = kept_terms[begin + place]
        if times[t] > after:
            i = n
            while i > 0 and terms[i - 1] > t:
                terms[i], places[i] = terms[i - 1], places[i - 1]
                i -= 1
            terms[i], places[i] = t, place
            n += 1
    return n


@jit
def _keeps(kept_terms: NDArray[np.int32], begin: int, end: int, t: int) -> bool:
    for i in range(begin, end):
        if kept_terms[i] == t:
            return True
    return t == NONE


@jit
def _is_counted(takers: Takers, end: int, q: int, x: int, y: int, z: int) -> bool:
    """Return whether another history of the person of q takes the new term and keeps three others, before `end`."""
    history, owner, accepts, kept_terms = takers.history, takers.owner, takers.accepts, takers.kept_terms
    first = q
    while first > 0 and owner[history[first - 1]] == owner[history[q]]:
        first -= 1
    for other in range(first, end):
        g = history[other]
        if owner[g] != owner[history[q]]:
            return False
        low, high = takers.indptr[g], takers.indptr[g] + takers.size[g]
        if other == q or not accepts[other] or not _keeps(kept_terms, low, high, x):
            continue
        if _keeps(kept_terms, low, high, y) and _keeps(kept_terms, low, high, z):
            return True
    return False


@jit
def _count(
    table: NDArray[np.int64],
    state: NDArray[np.int64],
    fell: NDArray[np.int64],
    terms: NDArray[np.int64],
    k: int,
    m: int,
    n: int,
    by: int,
    required: int,
    adds: bool,
    takers: Takers,
    q: int,
    end: int,
) -> None:
    """Change the counts of all combinations of n loaded terms of a history, or only of those with a required one.

    They count once per person: here if no history before `end` has them. Combinations that are not in the table are
    added, or do not matter.
    """
    now, last, base = state[0], state[1] - 1, len(fell)
    for i in range(-1, n):
        x = terms[i] if i >= 0 else NONE
        for j in range(-1, max(i, 0)):
            y = terms[j] if j >= 0 else NONE
            row = (x + 1) * base + y + 2
            for g in range(-1, max(j, 0) if m > 3 else 0):
                z = terms[g] if g >= 0 else NONE
                if required != NONE and x != required and y != required and z != required:
                    continue
                key = row * base + z if m > 3 else row
                slot = _hash(key) & last
                while table[slot, 0] != 0 and table[slot, 0] != key:
                    slot = (slot + 1) & last
                if table[slot, 0] == 0:
                    if not adds:
                        continue
                    table[slot, 0], table[slot, 1] = key, 0
                    state[2] += 1
                if takers.has_one_each or not _is_counted(takers, end, q, x, y, z):
                    table[slot, 1] += by
                    if by < 0 and table[slot, 1] == k - 1:
                        fell[x] = fell[y] = fell[z] = state[3] = now


@jit
def _count_combinations(kept: NDArray[np.bool_], s: Insertion, k: int, m: int, takers: Takers) -> tuple[int, int]:
    """Count who hold the combinations of the histories that may take the term; return their number and the work.

    Histories whose combinations have no room are rejected.
    """
    table, state, asked, fell, terms, places = s.table, s.state, s.asked, s.fell, s.terms, s.places
    history, accepts, kept_terms, indptr, size = (
        takers.history,
        takers.accepts,
        takers.kept_terms,
        takers.indptr,
        takers.size,
    )
    work, n_candidates, before = 0, 0, state[0]
    state[0], state[1], state[2] = before + 1, FIRST_SLOTS, 0
    table[:FIRST_SLOTS] = 0
    for q in range(len(history)):
        if accepts[q] and not kept[q]:
            h, s.checked[q], s.n_given_up[q] = history[q], -1, 0
            accepts[q] = _make_room(table, state, _n_combinations(size[h], m))
            if accepts[q]:
                n, n_candidates = _load(kept_terms, indptr[h], size[h], fell, -1, terms, places), n_candidates + 1
                for i in range(n):
                    asked[terms[i]] = before + 1
                _count(table, state, fell, terms, k, m, n, int(takers.has_one_each), NONE, True, takers, q, 0)
                work += _n_combinations(n, m)
    for q in range(len(history)):
        if accepts[q] and (kept[q] or not takers.has_one_each):
            h = history[q]
            n = _load(kept_terms, indptr[h], size[h], asked, before, terms, places)
            _count(table, state, fell, terms, k, m, n, 1, NONE, False, takers, q, q)
            work += _n_combinations(n, m)
    return n_candidates, work


@jit
def _find_conflict(
    table: NDArray[np.int64],
    last: int,
    terms: NDArray[np.int64],
    places: NDArray[np.int64],
    k: int,
    m: int,
    n: int,
    base: int,
    weight: NDArray[np.float64],
    pairs: NDArray[np.int64],
) -> int:
    """Return the place of the one of n loaded terms that weighs least in a combination infrequent with the new one.

    If the new one is infrequent alone, return how many terms are kept; if there is no such combination, -1.
    """
    for i in range(-1, n):
        x = terms[i] if i >= 0 else NONE
        for j in range(-1, max(i, 0)):
            row = (x + 1) * base + (terms[j] if j >= 0 else NONE) + 2
            for g in range(-1, max(j, 0) if m > 3 else 0):
                key = row * base + (terms[g] if g >= 0 else NONE) if m > 3 else row
                slot = _hash(key) & last
                while table[slot, 0] != key:
                    slot = (slot + 1) & last
                if table[slot, 1] >= k:
                    continue
                if i < 0:
                    return len(pairs)
                lightest = places[i]
                for each in (j, g):
                    if each >= 0 and weight[pairs[places[each]]] < weight[pairs[lightest]]:
                        lightest = places[each]
                return lightest
    return -1


@jit
def _can_spare(
    log: GrowingLog,
    tree: Tree,
    holders: Holders,
    k: int,
    m: int,
    t: int,
    terms: NDArray[np.int64],
    n: int,
    nodes: NDArray[np.int64],
) -> bool:
    """Return whether more than k people hold each combination of a term and others of the n loaded ones."""
    support2, start, term, has_one_each = tree.support2, tree.start2, tree.term2, log.has_one_each
    bits, words, first, posting, owner = holders.bits, holders.words, holders.first, holders.start, holders.owner
    if log.support1[t] <= k:
        return False
    for i in range(n):
        nodes[i] = pair_node(start, term, t, terms[i]) if terms[i] != t else -1
        if terms[i] != t and support2[nodes[i]] <= k:
            return False
    for i in range(n):
        a = max(t, terms[i])  # the rarest
        row, width, low, high = first[a], words[a], start[a], start[a + 1]
        for j in range(i if terms[i] != t else 0):
            for g in range(-1, j if m > 3 else 0):
                if terms[j] == t or (g >= 0 and terms[g] == t):
                    continue
                other = nodes[j] if a == t else find_node(term, low, high, terms[j])
                third = other
                if g >= 0:
                    third = nodes[g] if a == t else find_node(term, low, high, terms[g])
                rows = row + nodes[i] * width, row + other * width, row + third * width
                if count_holders_of_all(bits, *rows, width, k + 1, owner, posting[a], has_one_each) <= k:
                    return False
    return True


@jit
def _change_supports(log: GrowingLog, tree: Tree, holders: Holders, h: int, by: int) -> None:
    """Raise or lower the supports of the term behind the kept ones of a history and of its pairs with these."""
    kept_terms, pair_at, indptr, size = log.kept_terms, log.pair_at, log.indptr, log.size
    start, term, support2 = tree.start2, tree.term2, tree.support2
    bits, words, first_bit, first_posting = holders.bits, holders.words, holders.first, holders.start
    first, end = log.first[log.owner[h]], log.first[log.owner[h] + 1]
    has_several, last = end - first > 1, indptr[h] + size[h]
    t = kept_terms[last]
    if not (has_several and are_elsewhere(kept_terms, indptr, size, h, first, end, t, t)):
        log.support1[t] += by
    for i in range(indptr[h], last):
        x = kept_terms[i]
        node, rarer, pair = pair_node(start, term, t, x), max(t, x), pair_at[last if t > x else i]
        if not (has_several and are_elsewhere(kept_terms, indptr, size, h, first, end, t, x)):
            support2[node] += by
        rank = pair - first_posting[rarer]
        bits[first_bit[rarer] + node * words[rarer] + (rank >> 6)] ^= ONE << np.uint64(rank & 63)


@jit
def _give_up(log: GrowingLog, tree: Tree, holders: Holders, h: int, at: int) -> None:
    """Move a term of a history behind those that it keeps."""
    kept_terms, pair_at = log.kept_terms, log.pair_at
    one = log.indptr[h] + at
    log.size[h] -= 1
    other = log.indptr[h] + log.size[h]
    kept_terms[one], kept_terms[other] = kept_terms[other], kept_terms[one]
    pair_at[one], pair_at[other] = pair_at[other], pair_at[one]
    _change_supports(log, tree, holders, h, -1)


@jit
def _take_back(log: GrowingLog, tree: Tree, holders: Holders, h: int, n: int) -> None:
    """Let a history keep again what it gave up."""
    for _ in range(n):
        _change_supports(log, tree, holders, h, 1)
        log.size[h] += 1


@jit
def _reject_infrequent(
    log: GrowingLog,
    tree: Tree,
    holders: Holders,
    s: Insertion,
    k: int,
    m: int,
    weight: NDArray[np.float64],
    first: int,
    takers: Takers,
) -> int:
    """Let each history give up what conflicts with the new term, or reject it if that is too much; return how many."""
    table, state, fell, terms, places, checked = s.table, s.state, s.fell, s.terms, s.places, s.checked
    history, accepts, n_given_up, base, n_rejected = takers.history, takers.accepts, s.n_given_up, len(s.fell), 0
    kept, kept_terms, pair_at, size = log.kept, log.kept_terms, log.pair_at, log.size
    for q in range(len(history)):
        if not accepts[q] or kept[first + q]:
            continue
        h = history[q]
        begin, after, loss = log.indptr[h], checked[q], 0.0
        for i in range(size[h], size[h] + n_given_up[q]):
            loss += weight[pair_at[begin + i]]
        state[0] += 1
        checked[q] = state[0]
        while accepts[q]:
            n = _load(kept_terms, begin, size[h], fell, after, terms, places)
            at = _find_conflict(
                table, state[1] - 1, terms, places, k, m, n, base, weight, pair_at[begin : begin + size[h]]
            )
            if at < 0:
                break
            loss += weight[pair_at[begin + at]] if at < size[h] else np.inf
            accepts[q] = n_given_up[q] < MAX_CONFLICTS and loss < weight[first + q]
            n = _load(kept_terms, begin, size[h], fell, -1, terms, places)
            if accepts[q]:
                accepts[q] = _can_spare(log, tree, holders, k, m, kept_terms[begin + at], terms, n, places)
            required = kept_terms[begin + at] if accepts[q] else NONE
            _count(table, state, fell, terms, k, m, n, -1, required, False, takers, q, len(history))
            if accepts[q]:
                _give_up(log, tree, holders, h, at)
                n_given_up[q] += 1
            else:
                _take_back(log, tree, holders, h, n_given_up[q])
                n_rejected += 1
    return n_rejected


@jit
def _insert(
    log: GrowingLog, tree: Tree, holders: Holders, s: Insertion, t: int, history: NDArray[np.int32], a: int, b: int
) -> None:
    """Insert the term into all accepting histories."""
    kept, kept_terms, pair_at, size = log.kept, log.kept_terms, log.pair_at, log.size
    for q in range(a, b):
        if log.accepts[q - a] and not kept[q]:
            h = history[q]
            end = log.indptr[h] + size[h]
            for i in range(end, end + s.n_given_up[q - a]):
                kept[pair_at[i]] = False
            kept[q], kept_terms[end], pair_at[end] = True, t, q
            _change_supports(log, tree, holders, h, 1)
            size[h] += 1


@jit
def grow_larger(
    log: GrowingLog,
    tree: Tree,
    holders: Holders,
    s: Insertion,
    k: int,
    m: int,
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    first: int,
    budget: int,
    start: NDArray[np.int64],
    history: NDArray[np.int32],
) -> int:
    """Grow the log by the terms of the order, from `first` on, until the budget of work is used up.

    Arguments are as of `growth.grow`. Return the next position in the order.
    """
    kept, accepts = log.kept, log.accepts
    work, turn = 0, first
    while turn < len(order) and work < budget:
        t = order[turn]
        turn += 1
        a, b = start[t], start[t + 1]
        work += 10 + 5 * (b - a)
        for q in range(a, b):
            accepts[q - a] = m < 4 or t < MOST_TERMS - 1
        n_accepting = reject_until_stable(log, tree, k, weight, history, a, b, True, False)
        reset_counts(log)
        if not n_accepting:
            continue
        one = Takers(history[a:b], log.owner, accepts, log.indptr, log.size, log.kept_terms, log.has_one_each)
        n_accepting, more_work = _count_combinations(kept[a:b], s, k, m, one)
        work += more_work
        is_stable = False
        while n_accepting and not is_stable:
            since = s.state[0]
            n_accepting -= _reject_infrequent(log, tree, holders, s, k, m, weight, a, one)
            is_stable = s.state[3] <= since
        if n_accepting:
            _insert(log, tree, holders, s, t, history, a, b)
    return turn
