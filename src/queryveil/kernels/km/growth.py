"""Growing an anonymous log term by term, for combinations of two.

A term is inserted into all histories that hold it in the original at once; histories where one of its pairs would be
infrequent are then rejected until there is none. What remains is the largest set of histories that can accept the term,
since the union of two such sets is one too. A history that would lose less than it gains deletes the terms that
conflict with the new one, if every pair that this breaks up is held by more than k people.

So the log is anonymous after every term, and supports never have to be repaired.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import NOT_NEGATIVE, jit
from queryveil.kernels.km.supports import Tree, find_node

MAX_CONFLICTS = 8  # a history deletes at most so many terms for one
_PREFETCHED = 128  # histories


class GrowingLog(NamedTuple):
    """The log that grows: the (history, term) pairs that are kept so far, and their supports.

    Pairs are ordered by term, so that those of one term are read in sequence; `term_postings` lists them.
    """

    indptr: NDArray[np.int64]
    owner: NDArray[np.int32]
    has_one_each: bool  # every person has one history
    first: NDArray[np.int64]  # (people + 1,): the histories of person p are first[p] … first[p + 1] − 1
    kept: NDArray[np.bool_]  # (pairs,)
    kept_terms: NDArray[np.int32]  # (pairs,): the kept terms of history h, in no order, from indptr[h] on …
    pair_at: NDArray[np.int64]  # (pairs,): … and which pair each is
    size: NDArray[np.int64]  # (histories,): how many they are
    support1: NDArray[np.int32]  # (terms,)
    pair_people: NDArray[np.int32]  # (terms,): people who hold each term and the new one; reset to zero between calls
    last_person: NDArray[np.int32]  # (terms,): the person counted last for a term; -1 between calls
    touched: NDArray[np.int32]  # (terms + 1,): the terms with a count above zero …
    n_touched: NDArray[np.int64]  # (1,): … and how many they are
    accepts: NDArray[np.bool_]  # (most holders of a term,): which of them accept the new term
    held: NDArray[np.int64]  # (2, most holders of a term): where the kept terms of each of them begin, and end


@jit
def add_potentials(
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    tree: Tree,
    gain: NDArray[np.float64],
    n_terms: int,
    first: int,
    end: int,
    potential: NDArray[np.float64],
) -> None:
    """Add to every pair of the histories `first` to `end` − 1 the gain of all compatible terms there."""
    start, term = tree.start2, tree.term2
    position_of = np.full(n_terms, -1, np.int64)
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
                    i = position_of[term[node]]
                    if i >= begin:  # others are left over from earlier histories
                        potential[i] += gain[j]
                        potential[j] += gain[i]
            else:
                for i in range(begin, j):
                    if find_node(term, low, high, ids[i]) >= 0:
                        potential[i] += gain[j]
                        potential[j] += gain[i]
            position_of[t] = j


@jit
def pair_node(start: NDArray[np.int64], term: NDArray[np.int32], a: int, b: int) -> int:
    """Return the node of a pair of terms, or -1."""
    rarer, other = (a, b) if a > b else (b, a)
    return find_node(term, start[rarer], start[rarer + 1], other)


@jit
def are_elsewhere(
    kept_terms: NDArray[np.int32],
    indptr: NDArray[np.int64],
    size: NDArray[np.int64],
    h: int,
    first: int,
    end: int,
    a: int,
    b: int,
) -> bool:
    """Return whether one of the histories from `first` to `end` − 1 other than h keeps both terms."""
    for g in range(first, end):
        if g == h:
            continue
        has_a = has_b = False
        for i in range(indptr[g], indptr[g] + size[g]):
            has_a |= kept_terms[i] == a
            has_b |= kept_terms[i] == b
        if has_a and has_b:
            return True
    return False


@jit
def _change_supports(log: GrowingLog, tree: Tree, h: int, t: int, by: int) -> None:
    """Raise or lower the supports of a term and of its pairs with the other kept terms of a history."""
    kept_terms, indptr, size = log.kept_terms, log.indptr, log.size
    start, term, support2 = tree.start2, tree.term2, tree.support2
    first, end = log.first[log.owner[h]], log.first[log.owner[h] + 1]
    has_several = end - first > 1
    if not (has_several and are_elsewhere(kept_terms, indptr, size, h, first, end, t, t)):
        log.support1[t] += by
    for i in range(indptr[h], indptr[h] + size[h]):
        x = kept_terms[i]
        if x != t and not (has_several and are_elsewhere(kept_terms, indptr, size, h, first, end, t, x)):
            support2[pair_node(start, term, t, x)] += by


@jit
def _count_pair_people(log: GrowingLog, history: NDArray[np.int32], a: int, b: int) -> int:
    """Count the people who would hold the term, alone and with each other term, if all accepting histories took it."""
    kept_terms, indptr, size, owner = log.kept_terms, log.indptr, log.size, log.owner
    pair_people, last_person, touched, accepts = log.pair_people, log.last_person, log.touched, log.accepts
    has_one_each = log.has_one_each
    people, previous, n_touched, begins, ends = 0, -1, 0, log.held[0], log.held[1]
    for q in range(b - a):  # loads that depend on nothing overlap
        h = np.uint32(history[a + q])
        begins[q], ends[q] = indptr[h], indptr[h] + size[h]
    loaded = np.empty(_PREFETCHED, np.int32)
    for q in range(b - a):
        if q % _PREFETCHED == 0:
            for ahead in range(min(_PREFETCHED, b - a - q)):
                loaded[ahead] = kept_terms[begins[q + ahead] & NOT_NEGATIVE]
        if not accepts[q]:
            continue
        if has_one_each:
            people += 1
            for i in range(begins[q], ends[q]):
                x = np.uint32(kept_terms[i & NOT_NEGATIVE])
                touched[n_touched] = x
                n_touched += pair_people[x] == 0
                pair_people[x] += 1
            continue
        person = owner[history[a + q]]
        people += person != previous
        previous = person
        for i in range(begins[q], ends[q]):
            x = kept_terms[i]
            touched[n_touched] = x
            n_touched += pair_people[x] == 0
            if last_person[x] != person:
                last_person[x] = person
                pair_people[x] += 1
    log.n_touched[0] = n_touched
    return people


@jit
def reset_counts(log: GrowingLog) -> None:
    """Reset the pair counts to zero."""
    pair_people, last_person, touched = log.pair_people, log.last_person, log.touched
    for i in range(log.n_touched[0]):
        pair_people[touched[i]] = 0
        last_person[touched[i]] = -1
    log.n_touched[0] = 0


@jit
def _can_delete_conflicts(
    kept_terms: NDArray[np.int32],
    begin: int,
    end: int,
    pair_people: NDArray[np.int32],
    k: int,
    support1: NDArray[np.int32],
    start: NDArray[np.int64],
    term: NDArray[np.int32],
    support2: NDArray[np.int32],
) -> bool:
    """Return whether a history may delete all conflicting terms: more than k people hold each pair that this breaks."""
    for i in range(begin, end):
        if pair_people[kept_terms[i]] >= k:
            continue
        if support1[kept_terms[i]] <= k:
            return False
        for j in range(begin, end):
            if j != i and support2[pair_node(start, term, kept_terms[i], kept_terms[j])] <= k:
                return False
    return True


@jit
def _reject_histories(
    log: GrowingLog,
    tree: Tree,
    k: int,
    weight: NDArray[np.float64],
    history: NDArray[np.int32],
    a: int,
    b: int,
    people: int,
    may_delete_terms: bool,
    is_checked: bool,
) -> tuple[int, int, int]:
    """Reject histories that cannot accept the term or lose by it; return how many accept, how many do not, and people.

    With one history per person the counts are updated at once; rejecting only lowers counts, so none is accepted again.
    """
    kept_terms, pair_at, begins, ends = log.kept_terms, log.pair_at, log.held[0], log.held[1]
    kept, accepts, pair_people = log.kept, log.accepts, log.pair_people
    support1, start, term, support2 = log.support1, tree.start2, tree.term2, tree.support2
    has_one_each = log.has_one_each
    n_accepting = n_rejected = 0
    for q in range(a, b):
        if kept[q] or not accepts[q - a]:
            continue
        begin, end = begins[q - a], ends[q - a]
        can_accept = people >= k and weight[q] >= 0
        n_conflicts = 0
        loss = 0.0
        i = begin
        while can_accept and i < end:
            if pair_people[kept_terms[i]] < k:
                n_conflicts += 1
                loss += weight[pair_at[i]]
                can_accept = may_delete_terms and n_conflicts <= MAX_CONFLICTS and loss < weight[q]
            i += 1
        if can_accept and n_conflicts and is_checked:
            can_accept = _can_delete_conflicts(kept_terms, begin, end, pair_people, k, support1, start, term, support2)
        n_accepting += can_accept
        if not can_accept:
            n_rejected += 1
            accepts[q - a] = False
            if has_one_each:
                people -= 1
                for i in range(begin, end):
                    pair_people[kept_terms[i]] -= 1
    return n_accepting, n_rejected, people


@jit
def reject_until_stable(
    log: GrowingLog,
    tree: Tree,
    k: int,
    weight: NDArray[np.float64],
    history: NDArray[np.int32],
    a: int,
    b: int,
    may_delete_terms: bool,
    is_checked: bool,
) -> int:
    """Reject histories until all others can accept the term; return their number and leave the counts for them.

    Unless it is checked whether conflicting terms may be deleted, some may accept it that cannot.
    """
    people = _count_pair_people(log, history, a, b)
    while True:
        n_accepting, n_rejected, people = _reject_histories(
            log, tree, k, weight, history, a, b, people, may_delete_terms, is_checked
        )
        if not n_accepting or not n_rejected:
            return n_accepting
        if not log.has_one_each:
            reset_counts(log)
            people = _count_pair_people(log, history, a, b)


@jit
def _delete_conflicting_terms(log: GrowingLog, tree: Tree, k: int, history: NDArray[np.int32], a: int, b: int) -> bool:
    """Delete the terms that conflict with the new one from each accepting history; return whether any was rejected."""
    kept_terms, pair_at, indptr, size = log.kept_terms, log.pair_at, log.indptr, log.size
    kept, accepts, pair_people = log.kept, log.accepts, log.pair_people
    support1, start, term, support2 = log.support1, tree.start2, tree.term2, tree.support2
    is_changed = False
    for q in range(a, b):
        if kept[q] or not accepts[q - a]:
            continue
        h = history[q]
        if not _can_delete_conflicts(
            kept_terms, indptr[h], indptr[h] + size[h], pair_people, k, support1, start, term, support2
        ):
            accepts[q - a] = False
            is_changed = True
            continue
        i = indptr[h]
        while i < indptr[h] + size[h]:
            if pair_people[kept_terms[i]] < k:
                _change_supports(log, tree, h, kept_terms[i], -1)
                kept[pair_at[i]] = False
                size[h] -= 1
                kept_terms[i], pair_at[i] = kept_terms[indptr[h] + size[h]], pair_at[indptr[h] + size[h]]
            else:
                i += 1
    return is_changed


@jit
def _insert_term(log: GrowingLog, tree: Tree, k: int, t: int, history: NDArray[np.int32], a: int, b: int) -> None:
    """Insert the term into all accepting histories, for which the pairs must be counted.

    With one history per person the counts are the new supports; counts below k belong to terms that were just deleted.
    """
    kept_terms, pair_at, indptr, size = log.kept_terms, log.pair_at, log.indptr, log.size
    kept, accepts, pair_people, touched = log.kept, log.accepts, log.pair_people, log.touched
    has_one_each = log.has_one_each
    if has_one_each:
        for i in range(log.n_touched[0]):
            x = touched[i]
            if x != t and pair_people[x] >= k:
                tree.support2[pair_node(tree.start2, tree.term2, t, x)] = pair_people[x]
    for q in range(a, b):
        if accepts[q - a] and not kept[q]:
            h = history[q]
            if has_one_each:
                log.support1[t] += 1
            else:
                _change_supports(log, tree, h, t, 1)
            kept_terms[indptr[h] + size[h]], pair_at[indptr[h] + size[h]] = t, q
            size[h] += 1
            kept[q] = True


@jit
def grow(
    log: GrowingLog,
    tree: Tree,
    k: int,
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    first: int,
    budget: int,
    start: NDArray[np.int64],
    history: NDArray[np.int32],
) -> int:
    """Grow the log by the terms of the order, from `first` on, until the budget of work is used up.

    `start, history` are the postings of terms; a history may delete terms for one of more `weight` (one per pair).
    Return the next position in the order.
    """
    kept, accepts = log.kept, log.accepts
    work = 0
    turn = first
    while turn < len(order) and work < budget:
        t = order[turn]
        turn += 1
        a, b = start[t], start[t + 1]
        n_kept = 0
        for q in range(a, b):
            n_kept += kept[q]
            accepts[q - a] = True
        work += 10 + 5 * (b - a)
        if b - a < k or n_kept == b - a:
            continue
        n_accepting = reject_until_stable(log, tree, k, weight, history, a, b, True, True)
        if n_accepting and _delete_conflicting_terms(log, tree, k, history, a, b):
            reset_counts(log)
            n_accepting = reject_until_stable(log, tree, k, weight, history, a, b, False, True)
        if n_accepting:
            _insert_term(log, tree, k, t, history, a, b)
        reset_counts(log)
    return turn
