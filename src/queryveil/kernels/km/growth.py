"""Growing an anonymous log term by term, for combinations of two.

A term goes into all histories that hold it in the original at once, and leaves those again where one of its pairs
would be infrequent, until none is: what remains is the largest set of histories that can take it, given all else, since
the union of two sets that can is one too. Where a history would lose less than it gains, it lets go of the terms that
stand in the way, if every pair that it breaks up by this is held by more than k people.

So the log is anonymous after every term, and no supports need to be repaired.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.km.supports import Tree, find, postings

MOST_IN_THE_WAY = 8  # a history gives up at most so many terms for one


class Grown(NamedTuple):
    """The log that grows: what is kept of it, and the supports of that.

    Pairs of a term and a history stand term by term, so that a term's are read in order; `holders` says which they are.
    """

    indptr: NDArray[np.int64]
    owner: NDArray[np.int32]
    one_each: bool  # every history has an owner of its own
    first: NDArray[np.int64]  # (people + 1,): the histories of person p are first[p] … first[p + 1] − 1
    kept: NDArray[np.bool_]  # (pairs,)
    row: NDArray[np.int32]  # (pairs,): the kept terms of history h, in no order, from indptr[h] on …
    at: NDArray[np.int64]  # (pairs,): … and which pair each is
    size: NDArray[np.int64]  # (histories,): how many they are
    support1: NDArray[np.int32]  # (terms,)
    with_it: NDArray[np.int32]  # (terms,): people who hold a term with the one that is looked at; zeros in between
    last: NDArray[np.int32]  # (terms,): the person counted last for a term; -1 in between
    met: NDArray[np.int32]  # (terms,): the terms with a count above zero …
    n_met: NDArray[np.int64]  # (1,): … and how many they are
    is_in: NDArray[np.bool_]  # (most holders of a term,): which of them are to take the term


@jit
def holders(
    indptr: NDArray[np.int64], ids: NDArray[np.int32], n_terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return, for every term below n_terms, the histories that hold it, ascending, and where in the log."""
    start, history = postings(indptr, ids, n_terms)
    end, place = start[:-1].copy(), np.empty(len(history), np.int64)
    for i in range(len(ids)):
        t = ids[i]
        if t < n_terms:
            place[end[t]] = i
            end[t] += 1
    return start, history, place


@jit
def potentials(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    tree: Tree,
    gain: NDArray[np.float64],
    n_terms: int,
    first: int,
    end: int,
    potential: NDArray[np.float64],
) -> None:
    """Add to every pair of the histories `first` to `end` − 1 the gain of all terms there that go with its term."""
    start, term = tree.start2, tree.term2
    place_of = np.full(n_terms, -1, np.int64)
    for h in range(first, end):
        begin = indptr[h]
        for j in range(begin, indptr[h + 1]):
            t = ids[j]
            if t >= n_terms:
                break
            potential[j] += gain[j]
            low, high = start[t], start[t + 1]
            if high - low <= 20 * (j - begin):
                for node in range(low, high):
                    i = place_of[term[node]]
                    if i >= begin:  # others are left from histories before
                        potential[i] += gain[j]
                        potential[j] += gain[i]
            else:
                for i in range(begin, j):
                    if find(term, low, high, ids[i]) >= 0:
                        potential[i] += gain[j]
                        potential[j] += gain[i]
            place_of[t] = j


@jit
def _node(start: NDArray[np.int64], term: NDArray[np.int32], a: int, b: int) -> int:
    """Return the node of a pair of terms, or -1."""
    rarer, other = (a, b) if a > b else (b, a)
    return find(term, start[rarer], start[rarer + 1], other)


@jit
def _is_elsewhere(
    row: NDArray[np.int32],
    indptr: NDArray[np.int64],
    size: NDArray[np.int64],
    h: int,
    first: int,
    end: int,
    a: int,
    b: int,
) -> bool:
    """Say whether one of the histories from `first` to `end` − 1 other than h keeps both terms."""
    for g in range(first, end):
        if g == h:
            continue
        has_a = has_b = False
        for i in range(indptr[g], indptr[g] + size[g]):
            has_a |= row[i] == a
            has_b |= row[i] == b
        if has_a and has_b:
            return True
    return False


@jit
def _change(log: Grown, tree: Tree, h: int, t: int, by: int) -> None:
    """Raise or lower the supports of a term and of its pairs with the other kept terms of a history."""
    row, indptr, size = log.row, log.indptr, log.size
    start, term, support2 = tree.start2, tree.term2, tree.support2
    first, end = log.first[log.owner[h]], log.first[log.owner[h] + 1]
    several = end - first > 1
    if not (several and _is_elsewhere(row, indptr, size, h, first, end, t, t)):
        log.support1[t] += by
    for i in range(indptr[h], indptr[h] + size[h]):
        x = row[i]
        if x != t and not (several and _is_elsewhere(row, indptr, size, h, first, end, t, x)):
            support2[_node(start, term, t, x)] += by


@jit
def _count(log: Grown, history: NDArray[np.int32], a: int, b: int) -> int:
    """Count the people who would hold the term, with each other term, if all that are in took it."""
    row, indptr, size, owner = log.row, log.indptr, log.size, log.owner
    with_it, last, met, is_in = log.with_it, log.last, log.met, log.is_in
    one_each = log.one_each
    people, before, n_met = 0, -1, 0
    for q in range(a, b):
        if not is_in[q - a]:
            continue
        h = history[q]
        who = h if one_each else owner[h]
        people += who != before
        before = who
        for i in range(indptr[h], indptr[h] + size[h]):
            x = row[i]
            if with_it[x] == 0:
                met[n_met] = x
                n_met += 1
            if one_each or last[x] != who:
                last[x] = who
                with_it[x] += 1
    log.n_met[0] = n_met
    return people


@jit
def _reset_counts(log: Grown) -> None:
    """Make the counts zero again."""
    with_it, last, met = log.with_it, log.last, log.met
    for i in range(log.n_met[0]):
        with_it[met[i]] = 0
        last[met[i]] = -1
    log.n_met[0] = 0


@jit
def _can_give_up(
    row: NDArray[np.int32],
    begin: int,
    end: int,
    with_it: NDArray[np.int32],
    k: int,
    support1: NDArray[np.int32],
    start: NDArray[np.int64],
    term: NDArray[np.int32],
    support2: NDArray[np.int32],
) -> bool:
    """Say whether a history may let go of all terms that are in the way: more than k people hold what this breaks."""
    for i in range(begin, end):
        if with_it[row[i]] >= k:
            continue
        if support1[row[i]] <= k:
            return False
        for j in range(begin, end):
            if j != i and support2[_node(start, term, row[i], row[j])] <= k:
                return False
    return True


@jit
def _drop_losers(
    log: Grown,
    tree: Tree,
    k: int,
    weight: NDArray[np.float64],
    history: NDArray[np.int32],
    a: int,
    b: int,
    people: int,
    may_give_up: bool,
) -> tuple[int, int, int]:
    """Take out the histories that cannot take the term or lose by it; return how many stay, how many went, and people.

    Where every history has an owner of its own, the counts follow at once: fewer can only make more go.
    """
    row, at, indptr, size = log.row, log.at, log.indptr, log.size
    kept, is_in, with_it = log.kept, log.is_in, log.with_it
    support1, start, term, support2 = log.support1, tree.start2, tree.term2, tree.support2
    one_each = log.one_each
    stay = went = 0
    for q in range(a, b):
        if kept[q] or not is_in[q - a]:
            continue
        begin, end = indptr[history[q]], indptr[history[q]] + size[history[q]]
        takes = people >= k and weight[q] >= 0
        in_the_way = 0
        loss = 0.0
        i = begin
        while takes and i < end:
            if with_it[row[i]] < k:
                in_the_way += 1
                loss += weight[at[i]]
                takes = may_give_up and in_the_way <= MOST_IN_THE_WAY and loss < weight[q]
            i += 1
        if takes and in_the_way:
            takes = _can_give_up(row, begin, end, with_it, k, support1, start, term, support2)
        stay += takes
        if not takes:
            went += 1
            is_in[q - a] = False
            if one_each:
                people -= 1
                for i in range(begin, end):
                    with_it[row[i]] -= 1
    return stay, went, people


@jit
def _drop_until_stable(
    log: Grown,
    tree: Tree,
    k: int,
    weight: NDArray[np.float64],
    history: NDArray[np.int32],
    a: int,
    b: int,
    may_give_up: bool,
) -> int:
    """Take histories out until all that are in can take the term; return how many stay, the counts being theirs."""
    people = _count(log, history, a, b)
    while True:
        stay, went, people = _drop_losers(log, tree, k, weight, history, a, b, people, may_give_up)
        if not stay or not went:
            return stay
        if not log.one_each:
            _reset_counts(log)
            people = _count(log, history, a, b)


@jit
def _give_up(log: Grown, tree: Tree, k: int, history: NDArray[np.int32], a: int, b: int) -> bool:
    """Let histories go of what is in the way, one after the other; say whether some could not any more."""
    row, at, indptr, size = log.row, log.at, log.indptr, log.size
    kept, is_in, with_it = log.kept, log.is_in, log.with_it
    support1, start, term, support2 = log.support1, tree.start2, tree.term2, tree.support2
    is_changed = False
    for q in range(a, b):
        if kept[q] or not is_in[q - a]:
            continue
        h = history[q]
        if not _can_give_up(row, indptr[h], indptr[h] + size[h], with_it, k, support1, start, term, support2):
            is_in[q - a] = False
            is_changed = True
            continue
        i = indptr[h]
        while i < indptr[h] + size[h]:
            if with_it[row[i]] < k:
                _change(log, tree, h, row[i], -1)
                kept[at[i]] = False
                size[h] -= 1
                row[i], at[i] = row[indptr[h] + size[h]], at[indptr[h] + size[h]]
            else:
                i += 1
    return is_changed


@jit
def _put_in(log: Grown, tree: Tree, k: int, t: int, history: NDArray[np.int32], a: int, b: int) -> None:
    """Put the term into all histories that are in; the counts are theirs.

    Where every history has an owner of its own, the counts are the new supports; a smaller one is of a term let go of.
    """
    row, at, indptr, size, kept, is_in = log.row, log.at, log.indptr, log.size, log.kept, log.is_in
    with_it, met, one_each = log.with_it, log.met, log.one_each
    if one_each:
        for i in range(log.n_met[0]):
            x = met[i]
            if x != t and with_it[x] >= k:
                tree.support2[_node(tree.start2, tree.term2, t, x)] = with_it[x]
    for q in range(a, b):
        if is_in[q - a] and not kept[q]:
            h = history[q]
            if one_each:
                log.support1[t] += 1
            else:
                _change(log, tree, h, t, 1)
            row[indptr[h] + size[h]], at[indptr[h] + size[h]] = t, q
            size[h] += 1
            kept[q] = True


@jit
def grow(
    log: Grown,
    tree: Tree,
    k: int,
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    first: int,
    budget: int,
    start: NDArray[np.int64],
    history: NDArray[np.int32],
) -> int:
    """Let the terms of the order, from `first` on, grow until the budget of work is used up.

    `start, history` are the holders of terms; a history gives terms up for one of more `weight` (one per pair). Return
    the next place in the order.
    """
    kept, is_in = log.kept, log.is_in
    work = 0
    turn = first
    while turn < len(order) and work < budget:
        t = order[turn]
        turn += 1
        a, b = start[t], start[t + 1]
        n_kept = 0
        for q in range(a, b):
            n_kept += kept[q]
            is_in[q - a] = True
        work += 10 + 5 * (b - a)
        if b - a < k or n_kept == b - a:
            continue
        stay = _drop_until_stable(log, tree, k, weight, history, a, b, True)
        if stay and _give_up(log, tree, k, history, a, b):
            _reset_counts(log)
            stay = _drop_until_stable(log, tree, k, weight, history, a, b, False)
        if stay:
            _put_in(log, tree, k, t, history, a, b)
        _reset_counts(log)
    return turn
