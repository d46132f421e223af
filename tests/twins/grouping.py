"""A slow, obvious twin of the exact greedy: lists and dictionaries, sums in the same order as the kernels make them."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

Row = Sequence[tuple[int, float]]  # dimension, value; of unit length or empty
Legal = Callable[[Sequence[int]], bool]


def legal_rule(
    entries: Sequence[Sequence[int]],
    principle: str,
    p: float,
    *,
    average: str = "group",
    diversity: float = 1,
    distance: float = 1,
) -> Legal:
    """Return the function that says whether members may be a group."""
    everything = Counter(entry for row in entries for entry in row)
    everybody = sum(everything.values())

    def is_legal(members: Sequence[int]) -> bool:
        held = Counter(entry for row in members for entry in entries[row])
        pairs, n = sum(held.values()), len(members)
        if n < math.ceil(1 / p - 1e-9) or not pairs:
            return False
        if principle == "mean" and average == "group":
            return len(held) >= pairs / n / p * (1 - 1e-9)
        if principle == "mean":
            return len(held) >= everybody / len(entries) / p * (1 - 1e-9)
        if principle == "diversity":
            return -sum(c / pairs * math.log(c / pairs) for c in held.values()) >= math.log(diversity) - 1e-9
        if principle == "closeness":
            entries_all = everything.keys() | held.keys()
            return sum(abs(held[e] / pairs - everything[e] / everybody) for e in entries_all) / 2 <= distance + 1e-9
        return True

    return is_legal


def dot(a: Row, b: Row) -> float:
    """Return the dot product, dimension by dimension in the order of `a`."""
    other = dict(b)
    total = 0.0
    for dimension, value in a:
        if dimension in other:
            total += value * other[dimension]
    return total


def first_highest(candidates: Sequence[int], score: Sequence[float]) -> int:
    """Return the lowest candidate whose score is the highest up to rounding."""
    highest = max(score[each] for each in candidates)
    return min(each for each in candidates if score[each] >= highest - 1e-9 * abs(highest))


def by_score(scores: Sequence[float]) -> list[int]:
    """Return the numbers of scores, the highest first, tied ones ascending."""
    order, rest = list[int](), list(range(len(scores)))
    while rest:
        order.append(first_highest(rest, scores))
        rest.remove(order[-1])
    return order


def greedy_groups(rows: Sequence[Row], is_legal: Legal, seed: int, by_seed: bool, least: float) -> list[list[int]]:
    """Return the groups by their members; who fits nowhere is in none."""
    free, left, groups = set(range(len(rows))), list[int](), list[list[int]]()
    while seed >= 0:
        members, to_seed = _grow(rows, is_legal, seed, free, by_seed, least)
        if is_legal(members):
            groups.append(members)
        else:
            left += members
        free -= set(members)
        seed = first_highest(sorted(free), [-score for score in to_seed]) if free else -1
    return _place(rows, is_legal, groups, sorted(left), least)


def _grow(
    rows: Sequence[Row], is_legal: Legal, seed: int, free: set[int], by_seed: bool, least: float
) -> tuple[list[int], list[float]]:
    """Return a group grown from a seed, or the seed alone if nobody is alike enough, and all likenesses to the seed."""
    score, length = [0.0] * len(rows), 0.0
    members, to_seed = list[int](), list[float]()
    row = seed
    while True:
        if not members or not by_seed:
            length += 2 * score[row] + (1.0 if rows[row] else 0.0)
            _add(rows, row, score)
        to_seed = to_seed or list(score)
        members.append(row)
        others = sorted(free - set(members))
        if is_legal(members) or not others:
            return members, to_seed
        row = first_highest(others, score)
        if score[row] < least * math.sqrt(length):
            return [seed], to_seed


def _add(rows: Sequence[Row], row: int, score: list[float]) -> None:
    """Add every row's dot product with one row to its score, term by term."""
    for dimension, value in rows[row]:
        for other, features in enumerate(rows):
            for own, weight in features:
                if own == dimension:
                    score[other] += value * weight


def _place(
    rows: Sequence[Row], is_legal: Legal, groups: list[list[int]], left: list[int], least: float
) -> list[list[int]]:
    """Put who is left over into the closest groups that stay legal, or all together with the nearest."""
    lengths = [_length(rows, sorted(group)) for group in groups]
    remaining = list[int]()
    for row in left:
        scores = _scores(rows, groups, lengths, rows[row])
        fitting = [g for g in by_score(scores) if scores[g] >= least and is_legal([*groups[g], row])]
        if fitting:
            g = fitting[0]
            lengths[g] += 2 * scores[g] * math.sqrt(lengths[g]) + (1.0 if rows[row] else 0.0)
            groups[g].append(row)
        else:
            remaining.append(row)
    return _merge(rows, is_legal, groups, remaining) if remaining and least < 0 else groups


def _merge(rows: Sequence[Row], is_legal: Legal, groups: list[list[int]], left: list[int]) -> list[list[int]]:
    total: dict[int, float] = {}
    for row in left:
        for dimension, value in rows[row]:
            total[dimension] = total.get(dimension, 0.0) + value
    scores = _scores(rows, groups, [_length(rows, sorted(group)) for group in groups], list(total.items()))
    order = by_score(scores)
    for taken in range(len(groups) + 1):
        together = [*left, *(row for g in order[:taken] for row in groups[g])]
        if is_legal(together):
            return [together, *(groups[g] for g in order[taken:])]
    return groups


def _length(rows: Sequence[Row], members: Sequence[int]) -> float:
    total: dict[int, float] = {}
    length = 0.0
    for row in members:
        length += 2 * _against(rows[row], total) + (1.0 if rows[row] else 0.0)
        for dimension, value in rows[row]:
            total[dimension] = total.get(dimension, 0.0) + value
    return length


def _scores(rows: Sequence[Row], groups: Sequence[Sequence[int]], lengths: Sequence[float], to: Row) -> list[float]:
    dense = dict(to)
    found = list[float]()
    for group, length in zip(groups, lengths, strict=True):
        score = 0.0
        for row in sorted(group):
            score += _against(rows[row], dense)
        found.append(score / math.sqrt(length) if length > 0 else score)
    return found


def _against(row: Row, dense: dict[int, float]) -> float:
    total = 0.0
    for dimension, value in row:
        total += dense.get(dimension, 0.0) * value
    return total


def length_of(rows: Sequence[Row], members: Sequence[int]) -> float:
    """Return the length of the sum of the members' rows."""
    total: Counter[int] = Counter()
    for row in members:
        for dimension, value in rows[row]:
            total[dimension] += value  # type: ignore[assignment]
    return math.sqrt(sum(value * value for value in total.values()))


def exchange_once(rows: Sequence[Row], is_legal: Legal, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the groups after one pass, in which members change places where both lengths together grow.

    Which group a member looks at is decided by the sums at the beginning of the pass and the lengths of the moment.
    """
    first = [list(members) for members in groups]
    now = [list(members) for members in groups]
    for g in range(len(now)):
        for i in range(len(now[g])):
            row, lengths = now[g][i], [length_of(rows, members) for members in now]
            bar, other = lengths[g] - length_of(rows, [each for each in now[g] if each != row]), -1
            for h in range(len(now)):
                score = sum(dot(rows[row], rows[each]) for each in first[h])
                raised = math.sqrt(lengths[h] ** 2 + 2 * score + dot(rows[row], rows[row])) - lengths[h]
                if h != g and raised > bar * (1 + 1e-9):
                    bar, other = raised, h
            best, highest = None, (lengths[g] + lengths[other]) * (1 + 1e-9)
            for j in range(len(now[other]) if other >= 0 else 0):
                mine, theirs = list(now[g]), list(now[other])
                mine[i], theirs[j] = theirs[j], mine[i]
                total = length_of(rows, mine) + length_of(rows, theirs)
                if total > highest and is_legal(mine) and is_legal(theirs):
                    best, highest = (mine, theirs), total
            if best is not None:
                now[g], now[other] = best
    return now
