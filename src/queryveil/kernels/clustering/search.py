"""Finding the vocabulary nearest to a centre, or farthest from it, without matching them all.

Nearest: every vocabulary gets a lower bound of its distance from its numbers of known and unknown terms, where that is
low a better one from the best savings of its terms; those with the lowest bounds get one each, by dual prices of the
bags; matchings are made in the order of these bounds, stopped as soon as they cannot win, until no bound is left that
could.

Farthest: any matching gives an upper bound of the distance. An empty one gives a first bound, a greedy one, in which
each term goes to the first bag with room among the few best for it, a better one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.kernels import jit
from queryveil.kernels.clustering.centres import (
    NO_LIMIT,
    Bags,
    Centre,
    Columns,
    apart,
    best_savings,
    columns_of,
    distance,
    fill_costs,
)
from queryveil.kernels.order import at_most, lowest, sort_by

PRICE_BITS = 4  # a price is a multiple of 1/16
# change of a price per excess occurrence (at most _MOST of them) in each round of the ascent
_STEPS = (24, 24, 20, 20, 16, 14, 12, 10, 8, 7, 6, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2)
_MOST = 8
_NO_BOUND = -(1 << 62)
_OFFER_BITS = 30  # of a saving and the number of its bag, in one number
_FEW_BITS, _FEW = 4, 256  # one in 16, at least so many, get the first bounds by savings
_FIRST_GREEDY = 64  # vocabularies of the first greedy matchings, the largest ones
_FIRST = 4  # vocabularies with bounds of their own before the bounds of all are raised
_MORE = 3  # times as many before the next time
_SHARE_BITS = 3  # each vocabulary moves the mean prices by an eighth of the difference
_REACH_BITS = 16  # of the number of matchable occurrences of a term, after the saving of one
_MANY = (1 << _REACH_BITS) - 1
_CHOICES = 6  # best bags of a word that the greedy matching considers
_NO_CHOICE = (1 << 32) - 1
_BAG_BITS = 16  # of a cost and the number of its bag, in one number
_HIGHEST_PRICE = 1 << 12


class Greedy(NamedTuple):
    """What greedy matchings with a centre share."""

    choices: NDArray[np.uint32]  # (words, choices): see `_best_bags`
    left: NDArray[np.int64]  # (bags,): their units, before and after a matching
    touched: NDArray[np.int64]  # (bags,): scratch


@jit
def _ascend(centre: Centre, columns: Columns, prices: NDArray[np.int64], most: int) -> int:
    """Return a lower bound of the matching's cost, improving the prices (bags,), at most 0, as long as it helps.

    A bag that is wanted more often than it has occurrences gets more expensive, one wanted less often cheaper. The
    ascent ends once the bound exceeds `most`. The lowest cost of a column and its bag are found as one number, so that
    the loop over columns is vectorised.
    """
    n_bags, n_columns, shift = len(centre.units), len(columns.word), 0
    while 1 << shift < n_bags:
        shift += 1
    if centre.price[2] >= 1 << (_OFFER_BITS - shift - PRICE_BITS):
        return _NO_BOUND
    costs, lowest_cost = np.empty((n_bags, n_columns), np.int32), np.empty(n_columns, np.int32)
    fill_costs(centre, columns, shift + PRICE_BITS, costs)
    spare = np.empty(n_bags, np.int64)
    mask, best = (1 << shift) - 1, _NO_BOUND
    for step in _STEPS:
        total = 0
        for c in range(n_columns):
            lowest_cost[c] = 0
        for b in range(n_bags):
            total += prices[b] * centre.units[b]
            spare[b] = centre.units[b]
            row, more = costs[b], np.int32((-prices[b] << shift) + b)
            for c in range(n_columns):
                lowest_cost[c] = min(lowest_cost[c], np.int32(row[c] + more))
        for c in range(n_columns):
            cost = np.int64(lowest_cost[c] >> shift)
            total += cost * columns.room[c]
            spare[lowest_cost[c] & mask] -= columns.room[c] if cost < 0 else 0
        best = max(best, -(-total >> PRICE_BITS))  # costs are integers
        if best > most:
            break
        for b in range(n_bags):
            prices[b] = min(0, prices[b] + step * max(-_MOST, min(_MOST, spare[b])))
    return best


@jit
def nearest(
    centre: Centre,
    bags: Bags,
    alive: NDArray[np.int64],
    is_barred: NDArray[np.bool_],
    prices: NDArray[np.int64],  # (bags,): initial ones, at most 0, in sixteenths; better ones afterwards
) -> int:
    """Return the vocabulary nearest to a centre, the first of equals; at least one person is not barred."""
    bounds, alone = _first_bounds(centre, bags, alive)
    waiting, n_waiting = np.empty(len(alive), np.int64), 0
    for a in range(len(alive)):
        if is_barred[bags.owner[alive[a]]]:
            bounds[a] = NO_LIMIT
        waiting[n_waiting] = a
        n_waiting += bounds[a] < NO_LIMIT
    some = waiting[:n_waiting]
    if n_waiting > _FEW:
        some = lowest(some, bounds, max(_FEW, n_waiting >> _FEW_BITS))
    reach = _raise_bounds(centre, bags, alive, some, alone, prices, bounds)
    best, found, n_more = NO_LIMIT, np.int64(-1), _FIRST
    while len(some):
        some = lowest(some, bounds, n_more)
        for position in some:
            if bounds[position] <= best and not centre.is_maximum:
                bound = _lower_bound(centre, bags, alive[position], reach, prices, best - alone[position])
                bounds[position] = max(bounds[position], alone[position] + bound)
        for position in sort_by(some, bounds):
            if bounds[position] < best or (bounds[position] == best and position < found):
                columns = columns_of(bags, alive[position], reach)
                away, is_done = distance(centre, bags, alive[position], columns, -NO_LIMIT, best)
                if is_done and (away < best or (away == best and position < found)):
                    best, found = away, position
            bounds[position] = NO_LIMIT
        some = at_most(np.arange(len(alive)), bounds, best)
        n_more *= _MORE
        if len(some) > n_more:
            _raise_bounds(centre, bags, alive, some, alone, prices, bounds)
            some = at_most(some, bounds, best)
    return int(alive[found])


@jit
def _first_bounds(centre: Centre, bags: Bags, alive: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return lower bounds of the distances, and the distances if only terms unknown to the network are matched.

    A bound is as if all occurrences of known terms were matched at no cost. What terms unknown to the network save is
    exact, and found by inverted lists, since few share them.
    """
    bounds, alone = np.zeros(len(alive), np.int64), np.zeros(len(alive), np.int64)
    if centre.is_maximum:
        return bounds, alone
    shared, n_known = np.zeros(len(bags.sizes), np.int64), 0
    for units in centre.units:
        n_known += units
    for term in range(len(centre.own)):
        if centre.own[term] == 0:
            continue
        for i in range(bags.holder_indptr[term], bags.holder_indptr[term + 1]):
            shared[bags.holders[i]] += min(centre.own[term], bags.held[i])
    for a in range(len(alive)):
        t = alive[a]
        alone[a] = _most_distance(centre, bags, t) - centre.price[2] * shared[t]
        n_pairs = min(bags.known[t], n_known)
        bounds[a] = alone[a] - n_pairs * (centre.price[0] + centre.price[1])
    return bounds, alone


@jit
def _lower_bound(
    centre: Centre, bags: Bags, t: int, reach: NDArray[np.int32], prices: NDArray[np.int64], most: int
) -> int:
    """Return a lower bound of the cost of matching a vocabulary, good up to `most`; the prices move towards its own."""
    own = np.empty(len(prices), np.int64)
    for b in range(len(prices)):
        own[b] = prices[b]
    bound = _ascend(centre, columns_of(bags, t, reach), own, most)
    for b in range(len(prices)):
        prices[b] += (own[b] - prices[b]) >> _SHARE_BITS
    return bound


@jit
def _raise_bounds(
    centre: Centre,
    bags: Bags,
    alive: NDArray[np.int64],
    positions: NDArray[np.int64],  # positions in `alive`
    alone: NDArray[np.int64],  # (alive,): the distance if only unknown terms are matched
    prices: NDArray[np.int64],
    bounds: NDArray[np.int64],  # (alive,)
) -> NDArray[np.int32]:
    """Raise bounds to those by the best savings of a vocabulary's terms; return how many bags each word is near.

    The maximum model has no bounds, nor do savings or numbers of bags that do not fit two bytes.
    """
    integer_prices, paid = np.empty(len(prices), np.int64), 0
    for b in range(len(prices)):
        integer_prices[b] = prices[b] >> PRICE_BITS
        paid += integer_prices[b] * centre.units[b]
    savings, reach = best_savings(centre, integer_prices)
    if centre.is_maximum or max(centre.price[2], centre.size) > _MANY:
        return reach
    gain = np.empty(len(savings), np.uint32)  # two arrays instead of one would be slower
    for word in range(len(savings)):
        gain[word] = (savings[word] << _REACH_BITS) + reach[word]
    for a in positions:
        t, total = alive[a], alone[a] + paid
        for i in range(bags.indptr[t], bags.indptr[t + 1]):
            most = np.int64(gain[bags.words[i]])  # the last one is 0
            total -= (most >> _REACH_BITS) * min(bags.counts[i], most & _MANY)  # without a branch
        bounds[a] = max(bounds[a], total)
    return reach


@jit
def farthest(centre: Centre, bags: Bags, largest: NDArray[np.int64], prices: NDArray[np.int64]) -> np.int64:
    """Return the vocabulary farthest from the centre of one member, the first of equals.

    Vocabularies are sorted by falling size, since a small one cannot be far. Any prices at most 0 will do.
    """
    _, reach = best_savings(centre, np.zeros(len(centre.units), np.int64))
    falling = np.empty(len(largest), np.int64)  # upper bounds, negated
    for position in range(len(largest)):
        falling[position] = -NO_LIMIT
    best, found, waiting = -1, np.int64(-1), np.arange(len(largest))
    if not centre.is_maximum:
        waiting = _upper_bounds(centre, bags, largest, prices, reach, falling)
    for a in waiting:
        t = largest[a]
        if -falling[a] > best or (-falling[a] == best and t < found):
            away, is_done = distance(centre, bags, t, columns_of(bags, t, reach), best, NO_LIMIT)
            if is_done and (away > best or (away == best and t < found)):
                best, found = away, t
    return found


@jit
def _upper_bounds(
    centre: Centre,
    bags: Bags,
    largest: NDArray[np.int64],
    prices: NDArray[np.int64],
    reach: NDArray[np.int32],
    falling: NDArray[np.int64],  # (largest,): upper bounds, negated
) -> NDArray[np.int64]:
    """Set bounds by greedy matchings; return the positions of those who may be the farthest, the highest bound first.

    After each of growing numbers of vocabularies one matching tells how far the farthest is at least.
    """
    left = np.empty(len(centre.units), np.int64)
    for b in range(len(left)):
        left[b] = centre.units[b]
    greedy = Greedy(_best_bags(centre, prices), left, np.empty(len(left), np.int64))
    least, n_done, n_more = -1, 0, _FIRST_GREEDY
    while n_done < len(largest) and _most_distance(centre, bags, largest[n_done]) >= least:
        end, first = min(n_done + n_more, len(largest)), n_done
        for a in range(n_done, end):
            falling[a] = -_upper_bound(centre, bags, largest[a], greedy, least)
            if falling[a] < falling[first]:
                first = a
        t = largest[first]
        away, is_done = distance(centre, bags, t, columns_of(bags, t, reach), least, NO_LIMIT)
        least = max(least, away) if is_done else least
        n_done, n_more = end, n_more * _MORE
    return sort_by(at_most(np.arange(n_done), falling, -least), falling)


@jit
def _most_distance(centre: Centre, bags: Bags, t: int) -> np.int64:
    """Return the distance of a vocabulary from a centre if nothing is matched."""
    return centre.price[0] * centre.size + centre.price[1] * bags.sizes[t]


@jit
def _best_bags(centre: Centre, prices: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return, for every word, the few bags with the lowest cost at their prices, the best first.

    Cost and bag are one number, and a better one pushes the others down, without a branch, so that the loops over words
    are vectorised. Bags whose number does not fit are ignored.
    """
    n_words = centre.sums.shape[1]
    choices = np.empty((_CHOICES, n_words), np.uint32)
    for chosen in choices:
        for w in range(n_words):
            chosen[w] = _NO_CHOICE
    weight = centre.sums.dtype.type(min(centre.price[2], apart(centre.sums)))
    new = np.empty(n_words, np.uint32)
    for b in range(min(len(centre.sums), 1 << _BAG_BITS)):
        row, price = centre.sums[b], np.uint32(min(-prices[b] >> PRICE_BITS, _HIGHEST_PRICE))
        for w in range(n_words):
            cost = np.uint32(((np.uint32(row[w]) + price) << np.uint32(_BAG_BITS)) + np.uint32(b))
            new[w] = cost if row[w] < weight else np.uint32(_NO_CHOICE)
        for chosen in choices:
            for w in range(n_words):
                down = max(chosen[w], new[w])
                chosen[w] = min(chosen[w], new[w])
                new[w] = down
    by_word = np.empty((n_words, _CHOICES), np.uint32)
    for w in range(n_words):
        for i in range(_CHOICES):
            by_word[w, i] = choices[i, w]
    return by_word


@jit
def _upper_bound(centre: Centre, bags: Bags, t: int, greedy: Greedy, least: int) -> np.int64:
    """Return an upper bound of a vocabulary's distance by a greedy matching, which ends once it is below `least`."""
    choices, left, touched, n_touched = greedy.choices, greedy.left, greedy.touched, 0
    bound = _most_distance(centre, bags, t)
    for i in range(bags.indptr[t], bags.indptr[t + 1]):
        w, count = bags.words[i], np.int64(bags.counts[i])
        if bound < least:
            break
        if w < 0:
            bound -= centre.price[2] * min(count, centre.own[bags.ids[i]])
            continue
        for place in range(_CHOICES):
            choice = choices[w, place]
            if choice == _NO_CHOICE or count == 0:
                break
            b = np.int64(choice) & ((1 << _BAG_BITS) - 1)
            amount = min(count, left[b])
            if amount:
                if left[b] == centre.units[b]:
                    touched[n_touched] = b
                    n_touched += 1
                bound -= amount * (centre.price[2] - np.int64(centre.sums[b, w]))
                left[b] -= amount
                count -= amount
    for i in range(n_touched):
        left[touched[i]] = centre.units[touched[i]]
    return bound
