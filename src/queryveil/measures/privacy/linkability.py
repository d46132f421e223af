"""Linkability: how likely members of published groups are tied to the groups' terms, and what the groups are like.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010. A group's linking probability is the share of
its members who hold a term, averaged over its terms: Figure 6 shows it beside the p that was asked for, Figure 5 the
mean size of groups. An average hides that some terms are held by nearly all members, so the highest share of a term
is given beside it, and how many of the terms that people have in common with what is published of them lie above p: by
`posterior` where more than a share of p of the members hold the term, by `belief` where that share exceeds the term's
share of all people by more than p.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence, GroupMembers, ReleasedGroups
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import IntArray, ranges, row_numbers

PAIRS_AT_ONCE = 4_000_000  # looked up in about a second, so that an interrupt is noticed
SLACK = 1e-12  # relative: what is equal in decimals may differ in binary
NO_GROUPS = "the release has no groups"
PROBABILITIES = {
    "linking probability": (
        "the share of members who hold a term, averaged over a group's terms, then over groups (the paper's Figure 6)"
    ),
    "linking probability of the worst group": (
        "the same of the group where it is the highest; this is what principle=mean bounds by p"
    ),
    "linking probability of the worst term": (
        "the share of members who hold the term of a group that most of them hold, averaged over groups"
    ),
}

Reals = NDArray[np.float64]


class Shared(NamedTuple):
    """What members have in common with what is published of their groups."""

    held: IntArray  # (rows,): members of the group who hold the term
    product: Reals  # (people,): of a profile's weights with the published ones


def compute(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return linking probabilities, pairs above p, group sizes, people suppressed, and how like members groups are."""
    released, members = evidence.get(ReleasedGroups), evidence.get(GroupMembers)
    shared = _shared(released, members, progress)
    group = _row_group(released)
    sizes = np.bincount(members.group[members.group >= 0], minlength=len(released.groups))
    shares = shared.held / np.maximum(1, sizes)[group]
    return [
        *_probabilities(str(measure), shares, group, len(released.groups)),
        *_pairs_above(measure, released, members, shares, shared.held),
        *_sizes(str(measure), sizes),
        _suppressed(str(measure), members),
        _cosine(str(measure), released, members, shared.product),
    ]


def _row_group(released: ReleasedGroups) -> IntArray:
    """Return the place of every row's group."""
    return row_numbers(released.indptr)


def _shared(released: ReleasedGroups, members: GroupMembers, progress: Progress) -> Shared:
    """Look every pair of a member and a term up among the rows of the member's group."""
    width = len(members.terms)
    cells = _row_group(released) * width + released.ids  # group and term as one number, ascending
    held, product = np.zeros(len(cells), np.int64), np.zeros(len(members.group))
    people = np.flatnonzero(members.group >= 0)
    people = people[np.argsort(members.group[people], kind="stable")]  # so that lookups are near each other
    sizes = np.diff(members.indptr)[people]
    ends = np.cumsum(sizes)
    for part in _parts(ends):
        person = np.repeat(people[part], sizes[part])
        pair = ranges(members.indptr[people[part]], sizes[part])
        key = members.group[person].astype(np.int64) * width + members.ids[pair]
        row = np.searchsorted(cells, key)
        is_found = cells[np.minimum(row, len(cells) - 1)] == key
        row, pair, person = row[is_found], pair[is_found], person[is_found]
        held += np.bincount(row, minlength=len(cells))
        product += np.bincount(person, members.weights[pair] * released.weights[row], minlength=len(product))
        progress("measuring linkability", part.stop, len(people))
    return Shared(held, product)


def _parts(ends: IntArray) -> list[slice]:
    """Cut people, given how many pairs there are up to each, into parts of about PAIRS_AT_ONCE pairs."""
    if len(ends) == 0:
        return []
    cuts = np.searchsorted(ends, np.arange(PAIRS_AT_ONCE, ends[-1], PAIRS_AT_ONCE)) + 1
    bounds = np.unique(np.concatenate(([0], cuts, [len(ends)]))).tolist()
    return [slice(begin, end) for begin, end in pairwise(bounds)]


def _probabilities(measure: str, shares: Reals, group: IntArray, n_groups: int) -> list[Score]:
    """Score the shares of members who hold a term, by group."""
    mean = np.bincount(group, shares, minlength=n_groups) / np.maximum(1, np.bincount(group, minlength=n_groups))
    highest = np.zeros(n_groups)
    np.maximum.at(highest, group, shares)

    def score(label: str, value: float | None, note: str) -> Score:
        return Score(measure, label, value, unit="", units_counted=n_groups, better="lower", note=note)

    if n_groups == 0:
        return [score(label, None, NO_GROUPS) for label in PROBABILITIES]
    values = (float(mean.mean()), float(mean.max()), float(highest.mean()))
    return [score(*figure) for figure in zip(PROBABILITIES, values, PROBABILITIES.values(), strict=True)]


def _pairs_above(
    measure: ResolvedName, released: ReleasedGroups, members: GroupMembers, shares: Reals, held: IntArray
) -> list[Score]:
    """Score how many of the terms of people that are published for their groups are above p."""
    p, total = measure.real("p"), int(held.sum())
    known = np.bincount(members.ids, minlength=len(members.terms))[released.ids] / max(1, len(members.group))
    notes = {
        "posterior": f"of members and terms of theirs that are published: more than {p:g} of the members hold the term",
        "belief": f"likewise: the share of members who hold the term exceeds that of all people by more than {p:g}",
    }

    def score(principle: str, highest: float | Reals) -> Score:
        above = int(held[shares > highest * (1 + SLACK)].sum())
        value, note = (100.0 * above / total, notes[principle]) if total else (None, NO_GROUPS)
        label = f"pairs above p by {principle}"
        return Score(str(measure), label, value, units_counted=total, better="lower", note=note)

    return [score("posterior", p), score("belief", p + known)]


def _sizes(measure: str, sizes: IntArray) -> list[Score]:
    """Score how many members groups have."""
    notes = {
        "group size": "members of a group, averaged over groups (the paper's Figure 5)",
        "smallest group": "members of the group that has the fewest",
        "largest group": "members of the group that has the most",
    }
    values: Sequence[float | None] = (None, None, None)
    if len(sizes):
        values = (float(sizes.mean()), float(sizes.min()), float(sizes.max()))
    return [
        Score(measure, label, value, unit="people", units_counted=len(sizes), better="", note=note)
        for (label, note), value in zip(notes.items(), values, strict=True)
    ]


def _suppressed(measure: str, members: GroupMembers) -> Score:
    """Score how many people are in no group."""
    n_people = len(members.group)
    value = 100.0 * np.count_nonzero(members.group < 0) / n_people if n_people else None
    note = "people who are in no published group"
    return Score(measure, "people suppressed", value, units_counted=n_people, better="lower", note=note)


def _cosine(measure: str, released: ReleasedGroups, members: GroupMembers, product: Reals) -> Score:
    """Score how like people are to what is published of their group."""
    person = row_numbers(members.indptr)
    own = np.sqrt(np.bincount(person, members.weights**2, minlength=len(members.group)))
    published = np.sqrt(np.bincount(_row_group(released), released.weights**2, minlength=len(released.groups)))
    # the last one is for people without a group, where −1 finds it
    lengths = own * np.append(published, 0.0)[members.group]
    cosine = np.divide(product, lengths, out=np.zeros(len(product)), where=lengths > 0)
    value = float(cosine.mean()) if len(cosine) else None
    note = "of a person's profile with what is published of the group, averaged over all people; 0 for the suppressed"
    return Score(measure, "cosine to the published profile", value, unit="", units_counted=len(cosine), note=note)
