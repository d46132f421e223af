"""Verify p-linkability: what is published of groups ties nobody to a term beyond p.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010, definition 1, equation 1 and the clustering
constraint. The constraint bounds the *average* share of members who hold a term (`mean`); definition 1 read for every
term is `posterior`, equation 1, the change of belief, is `belief`. The poster names l-diversity and t-closeness without
formulas; terms are there distributed by how many people hold them, all terms that may be published in all profiles
on the one side, those published of a group on the other.

Everything is counted anew from everybody's profile, in whole numbers, and p and t are the fractions they are written
as: a bound that is met exactly is met, one that is missed by a hair is missed. Diversity alone, a logarithm, is
compared with a tolerance of 1e-9. Who holds no term that may be published is no member: that person hides nobody.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InternalError, ReleaseError
from queryveil.core.evidence import Evidence, Floor, GroupMembers, ReleasedGroups
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation

PAIRS_AT_ONCE = 4_000_000  # sorted in well under a second, so that an interrupt is noticed
TOLERANCE = 1e-9  # of an entropy
NO_MEMBERS = "who is in a group is only in the private folder; give --private"
NO_ROWS = "the release has no rows"

Whole = NDArray[np.int64]


class Fault(NamedTuple):
    """One way in which a release breaks its claim: how often, and the worst case."""

    violations: int
    reason: str = ""
    counterexample: Violation | None = None


class Counts(NamedTuple):
    """What is counted of a release and of everybody's profiles."""

    group: Whole  # (rows,): the place of the row's group
    held: Whole  # (rows,): members of the group who hold the term
    members: Whole  # (groups,)
    terms: Whole  # (groups,): rows of the group
    known: Whole  # (released terms,): people of the whole log who hold the term
    people: int
    holders: int  # people who hold a term that may be published
    pairs: int  # of these people and such terms


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim linkability(p, …) holds for released groups."""
    released, members = evidence.get(ReleasedGroups), evidence.find(GroupMembers)
    return check_groups(claim, released, members, floor=evidence.get(Floor).people, progress=progress)


def check_groups(
    bound: ResolvedName,
    released: ReleasedGroups,
    members: GroupMembers | None,
    *,
    floor: int,
    progress: Progress = silent,
) -> Verdict:
    """Say whether a claim linkability(p, …) holds for released groups.

    Every published term must be held by `floor` people of the whole log. With average=global the mean principle is the
    paper's, by the mean profile size of all people. `checked` counts the published terms of all groups; `violations`
    those (or the groups, or the terms) that break the claim in the first way that is found.
    """
    claim = str(bound)
    if members is None:
        return Verdict(claim, "unchecked", "people", reason=NO_MEMBERS)
    _refuse_wrong_arrays(released, members)
    fault = next(_faults(bound, released, members, floor, progress), None)
    if fault is not None:
        found = (fault.violations, fault.counterexample, fault.reason)
        return Verdict(claim, "violated", "people", len(released.ids), *found)
    if len(released.groups) == 0:
        return Verdict(claim, "unchecked", "people", reason=NO_ROWS)
    return Verdict(claim, "holds", "people", len(released.ids))


def _faults(
    bound: ResolvedName, released: ReleasedGroups, members: GroupMembers, floor: int, progress: Progress
) -> Iterator[Fault]:
    """Yield the ways in which the claim is broken; each takes for granted that it is not broken in those before."""
    yield from _damages(released, members)
    if len(released.groups) == 0:
        return
    p, counts = exact(bound.real("p")), _count(released, members, floor, progress)
    yield from _small_groups(p, released, counts)
    yield from _rare_terms(floor, released, counts)
    yield from _invented_terms(released, counts)
    principle = bound.word("principle")
    if principle == "mean":
        yield from (_mean if bound.word("average") == "group" else _global_mean)(p, released, counts)
    elif principle == "diversity":
        yield from _diversity(bound.real("l"), released, counts)
    elif principle == "closeness":
        yield from _closeness(bound.real("t"), released, counts)
    elif principle in ("posterior", "belief"):
        yield from _shares(_most_holders(p, principle, released, counts), released, counts)
    else:
        raise InternalError(f"there is no check of the principle {principle}; please report this.")


def exact(value: float) -> Fraction:
    """Return a decimal number as the fraction that was meant: 0.1 is 1/10, and 0.3333333333333333 is 1/3."""
    simple = Fraction(str(value)).limit_denominator(1_000_000)
    return simple if float(simple) == value else Fraction(str(value))


def _damages(released: ReleasedGroups, members: GroupMembers) -> Iterator[Fault]:
    """Yield what no release has that is whole."""
    nowhere = int(np.count_nonzero((members.group < -1) | (members.group >= len(released.groups))))
    if nowhere:
        yield Fault(nowhere, f"{nowhere:,} people are in groups that are not released")
    groups, ids, weights = released.groups, released.ids, released.weights
    yield from _every(np.diff(released.indptr) == 0, lambda place: f"group {groups[place]} has no rows")
    group = _row_group(released)
    is_next = np.diff(group) == 0
    yield from _every(
        is_next & (ids[1:] == ids[:-1]),
        lambda row: f"group {groups[group[row]]} has the term {released.terms[ids[row]]!r} twice",
    )
    yield from _every(
        is_next & (ids[1:] < ids[:-1]),
        lambda row: f"the terms of group {groups[group[row]]} are not in the order of their texts",
    )
    yield from _every(
        ~(np.isfinite(weights) & (weights > 0)),
        lambda row: (
            f"the term {released.terms[ids[row]]!r} of group {groups[group[row]]} has the weight {weights[row]}, "
            "which is not a number above 0"
        ),
    )


def _every(is_wrong: NDArray[np.bool_], sentence: Callable[[int], str]) -> Iterator[Fault]:
    """Yield one fault for all places where something is wrong, if there are any; the first one is named."""
    places = np.flatnonzero(is_wrong)
    if len(places):
        yield Fault(len(places), sentence(int(places[0])) + more(len(places)))


def _row_group(released: ReleasedGroups) -> Whole:
    return np.repeat(np.arange(len(released.groups)), np.diff(released.indptr))


def _count(released: ReleasedGroups, members: GroupMembers, floor: int, progress: Progress) -> Counts:
    """Count all that the claim is about."""
    known = np.bincount(members.ids, minlength=len(members.terms))
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(known[members.ids] >= floor, dtype=np.int64)))
    is_holder = before[members.indptr[1:]] > before[members.indptr[:-1]]
    return Counts(
        group=_row_group(released),
        held=_holders(released, members, progress),
        members=np.bincount(members.group[is_holder & (members.group >= 0)], minlength=len(released.groups)),
        terms=np.diff(released.indptr),
        known=known[: len(released.terms)],
        people=len(members.group),
        holders=int(np.count_nonzero(is_holder)),
        pairs=int(before[-1]),
    )


def _holders(released: ReleasedGroups, members: GroupMembers, progress: Progress) -> Whole:
    """Return how many members hold each row's term: all their pairs are sorted, and each row finds its own among them.

    Time grows with pairs · log pairs, memory with the pairs of as many groups as are looked at together.
    """
    n_groups, width = len(released.groups), len(members.terms)
    people = np.flatnonzero(members.group >= 0)
    people = people[np.argsort(members.group[people], kind="stable")]  # group by group
    first = np.searchsorted(members.group[people], np.arange(n_groups + 1))
    sizes = np.diff(members.indptr)[people]
    pairs_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))[first]  # (groups + 1,)
    parts = np.searchsorted(pairs_before, np.arange(0, pairs_before[-1], PAIRS_AT_ONCE))
    bounds = np.unique(np.concatenate(([0], parts, [n_groups]))).tolist()
    cells = _row_group(released) * width + released.ids  # group and term as one number
    held = np.empty(len(cells), np.int64)
    for begin, end in pairwise(bounds):
        some = slice(first[begin], first[end])
        keys = np.repeat(members.group[people[some]].astype(np.int64) * width, sizes[some])
        keys += members.ids[_places(members.indptr[people[some]], sizes[some])]
        keys.sort()
        rows = slice(released.indptr[begin], released.indptr[end])
        held[rows] = np.searchsorted(keys, cells[rows], "right") - np.searchsorted(keys, cells[rows], "left")
        progress("verifying", end, n_groups)
    return held


def _places(starts: Whole, sizes: Whole) -> Whole:
    """Return all places of runs that start somewhere and have a size."""
    before = np.cumsum(sizes) - sizes
    places: Whole = np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)
    return places


def _small_groups(p: Fraction, released: ReleasedGroups, counts: Counts) -> Iterator[Fault]:
    """Yield groups in which one member is a larger share than p."""
    least = math.ceil(1 / p)
    n_small = int(np.count_nonzero(counts.members < least))
    if n_small:
        place = int(counts.members.argmin())
        size = f"group {released.groups[place]} has {plural(counts.members[place], 'member')}"
        yield Fault(n_small, f"{size}, at least {least:,} must be in it{more(n_small)}")


def _rare_terms(floor: int, released: ReleasedGroups, counts: Counts) -> Iterator[Fault]:
    """Yield published terms that too few people hold."""
    published = np.flatnonzero(np.bincount(released.ids))
    n_rare = int(np.count_nonzero(counts.known[published] < floor))
    if n_rare:
        rarest = int(published[counts.known[published].argmin()])
        yield Fault(n_rare, "", Violation((released.terms[rarest],), int(counts.known[rarest]), floor))


def _invented_terms(released: ReleasedGroups, counts: Counts) -> Iterator[Fault]:
    """Yield terms that are published for a group of which no member holds them."""
    groups, terms = released.groups[counts.group], released.terms
    yield from _every(
        counts.held == 0,
        lambda row: f"{terms[released.ids[row]]!r} is published for group {groups[row]}, but no member holds it",
    )


def _sums(values: Whole, released: ReleasedGroups) -> Whole:
    """Return the sums over the rows of each group; none is without rows."""
    sums: Whole = np.add.reduceat(values, released.indptr[:-1])
    return sums


def _limits(share: Fraction, wholes: list[int]) -> Whole:
    """Return the greatest whole numbers that are at most a share of others."""
    return np.array([share.numerator * whole // share.denominator for whole in wholes], np.int64)


def _mean(p: Fraction, released: ReleasedGroups, counts: Counts) -> Iterator[Fault]:
    """Yield groups whose terms are held by more than a share of p of the members, averaged over the terms."""
    held = _sums(counts.held, released)
    most = _limits(p, (counts.members * counts.terms).tolist())
    n_above = int(np.count_nonzero(held > most))
    if n_above:
        place = int(np.where(held > most, held / (counts.members * counts.terms), 0).argmax())
        who = f"the {counts.members[place]:,} members of group {released.groups[place]}"
        times = f"its {counts.terms[place]:,} terms {held[place]:,} times, at most {most[place]:,} times are allowed"
        yield Fault(n_above, f"{who} hold {times}{more(n_above)}")


def _global_mean(p: Fraction, released: ReleasedGroups, counts: Counts) -> Iterator[Fault]:
    """Yield groups with fewer terms than the mean profile size of all people over p."""
    mean = Fraction(counts.pairs, counts.holders)
    least = math.ceil(mean / p)
    n_below = int(np.count_nonzero(counts.terms < least))
    if n_below:
        place = int(counts.terms.argmin())
        size = f"group {released.groups[place]} has {plural(counts.terms[place], 'term')}, at least {least:,} must be"
        reason = f"{size} published for it, since profiles have {float(mean):.6g} on average"
        yield Fault(n_below, reason + more(n_below))


def _most_holders(p: Fraction, principle: str, released: ReleasedGroups, counts: Counts) -> Whole:
    """Return, for every row, how many members may hold the term."""
    if principle == "posterior":
        return _limits(p, counts.members.tolist())[counts.group]
    # held / members - known / people <= p, times members · people: all but the bound are whole numbers
    bound = _limits(p, [size * counts.people for size in counts.members.tolist()])
    known = counts.known[released.ids] * counts.members[counts.group]
    return (bound[counts.group] + known) // counts.people


def _shares(most: Whole, released: ReleasedGroups, counts: Counts) -> Iterator[Fault]:
    """Yield published terms that more members hold than may."""
    above = counts.held - most
    n_above = int(np.count_nonzero(above > 0))
    if n_above:
        row = int(above.argmax())
        place = counts.group[row]
        who = f"{counts.held[row]:,} of the {counts.members[place]:,} members of group {released.groups[place]} hold"
        reason = f"{who} {released.terms[released.ids[row]]!r}, at most {most[row]:,} may"
        yield Fault(n_above, reason + more(n_above))


def _diversity(least: float, released: ReleasedGroups, counts: Counts) -> Iterator[Fault]:
    """Yield groups whose terms are less diverse than so many equally frequent ones."""
    share = counts.held / _sums(counts.held, released)[counts.group]
    entropy = -np.bincount(counts.group, share * np.log(share), minlength=len(released.groups))
    n_below = int(np.count_nonzero(entropy < math.log(least) - TOLERANCE))
    if n_below:
        place = int(entropy.argmin())
        found = f"the terms of group {released.groups[place]} are as diverse as {math.exp(entropy[place]):.6g} equally"
        yield Fault(n_below, f"{found} frequent ones, not {least:.6g}{more(n_below)}")


def _closeness(most: float, released: ReleasedGroups, counts: Counts) -> Iterator[Fault]:
    """Yield groups whose terms are distributed too differently from those of all people.

    A term that is not published for the group adds nothing where only what the group has too much of is summed.
    """
    held = _sums(counts.held, released)
    excess = counts.held * counts.pairs - counts.known[released.ids] * held[counts.group]
    apart = _sums(excess.clip(0), released)
    n_above = int(np.count_nonzero(apart > _limits(exact(most), [size * counts.pairs for size in held.tolist()])))
    if n_above:
        distance = apart / (held * counts.pairs)
        place = int(distance.argmax())
        found = f"the terms of group {released.groups[place]} are {distance[place]:.6g} from those of all people"
        reason = f"{found} by total variation, at most {most:.6g} is allowed"
        yield Fault(n_above, reason + more(n_above))


def plural(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def more(violations: int) -> str:
    """Say how many others there are beside the one that is named."""
    return f" (and {violations - 1:,} more such)" if violations > 1 else ""


def _refuse_wrong_arrays(released: ReleasedGroups, members: GroupMembers) -> None:
    """Raise unless the arrays are those of one release and of its private side."""
    _refuse_wrong_rows("release", released.indptr, released.ids, released.weights, len(released.terms))
    _refuse_wrong_rows("private side", members.indptr, members.ids, members.weights, len(members.terms))
    _refuse(len(released.indptr) != len(released.groups) + 1, "the groups of the release are not those of its rows")
    _refuse(bool((released.groups[1:] <= released.groups[:-1]).any()), "the groups of the release are not in order")
    _refuse(len(members.indptr) != len(members.group) + 1, "the people of the private side are not those of its rows")
    terms = released.terms
    is_ordered = all(one < other for one, other in pairwise(terms))
    _refuse(not is_ordered, "the terms of the release are not in the order of their texts")
    _refuse(members.terms[: len(terms)] != terms, "the terms of the private side do not begin with the released ones")
    _refuse(len(set(members.terms)) != len(members.terms), "a term of the private side has two numbers")
    is_same = np.diff(np.repeat(np.arange(len(members.group)), np.diff(members.indptr))) == 0
    if (is_same & (members.ids[1:] <= members.ids[:-1])).any():
        raise ReleaseError("the private folder has a term of a person twice; it is damaged, check --private.")


def _refuse_wrong_rows(
    name: str, indptr: Whole, ids: NDArray[np.int32], weights: NDArray[np.float64], n_terms: int
) -> None:
    is_whole = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(ids) == len(weights)
    _refuse(not is_whole or bool((indptr[1:] < indptr[:-1]).any()), f"the rows of the {name} are not covered")
    _refuse(len(ids) > 0 and (ids.min() < 0 or ids.max() >= n_terms), f"a term of the {name} has no text")


def _refuse(is_wrong: bool, what: str) -> None:
    if is_wrong:
        raise InternalError(f"{what}; please report this.")
