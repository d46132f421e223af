"""Linkability: how likely members of published groups are linked to the groups' terms, and properties of the groups.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010. A group's linking probability is the share of
its members who hold a term, averaged over its terms (Figure 6); Figure 5 shows the mean size of groups. An average
hides that some terms are held by nearly all members, so we also give the highest share of a term, and how many pairs of
a member and a published term lie above p: by `posterior` where more than a share of p of the members hold the term, by
`belief` where that share exceeds the term's share of all people by more than p.
"""

from itertools import pairwise

import numpy as np

from queryveil.core.evidence import Evidence, GroupMembers, ReleasedGroups
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.core.rows import FloatArray, IntArray, ranges, row_numbers

PAIRS_AT_ONCE = 4_000_000  # looked up in about a second, so that an interrupt is noticed
SHARE_ROUNDING = 1e-12  # relative: numbers that are equal in decimals may differ in binary
NO_GROUPS = "the release has no groups"
NO_GROUP = "people who are in no published group"
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
SIZES = {
    "group size": "members of a group, averaged over groups (the paper's Figure 5)",
    "smallest group": "members of the group that has the fewest",
    "largest group": "members of the group that has the most",
}


def measure_linkability(
    evidence: Evidence, measure: ResolvedName, *, rng: np.random.Generator, progress: Progress = silent
) -> list[Score]:
    """Return linking probabilities, pairs above p, group sizes, people suppressed, and cosines to the groups."""
    released, members = evidence.get(ReleasedGroups), evidence.get(GroupMembers)
    name, n_groups, n_people = str(measure), len(released.groups), len(members.group)
    held, products = _match_members(released, members, progress)
    group = row_numbers(released.indptr)
    sizes = np.bincount(members.group[members.group >= 0], minlength=n_groups)
    shares = held / np.maximum(1, sizes)[group]
    figures = zip(PROBABILITIES.items(), _probabilities(shares, group, n_groups), strict=True)
    spread = (float(sizes.mean()), float(sizes.min()), float(sizes.max())) if n_groups else (None, None, None)
    suppressed = 100.0 * np.count_nonzero(members.group < 0) / n_people if n_people else None
    cosines = _cosines(released, members, products)
    cosine = float(cosines.mean()) if len(cosines) else None
    note = "of a person's profile with what is published of the group, averaged over all people; 0 for the suppressed"
    return [
        *(
            Score(name, label, value, None, "", n_groups, None, "lower", note if n_groups else NO_GROUPS, "groups")
            for (label, note), value in figures
        ),
        *_pairs_above(measure, released, members, shares, held),
        *(
            Score(name, label, value, None, "people", n_groups, better="", note=note, base="groups")
            for (label, note), value in zip(SIZES.items(), spread, strict=True)
        ),
        Score(name, "people suppressed", suppressed, None, "%", n_people, None, "lower", NO_GROUP, "people"),
        Score(name, "cosine to the published profile", cosine, None, "", len(cosines), note=note, base="people"),
    ]


def _match_members(released: ReleasedGroups, members: GroupMembers, progress: Progress) -> tuple[IntArray, FloatArray]:
    """Return how many members hold the term of every released row, and every person's dot product with the group."""
    width = len(members.terms)
    cells = row_numbers(released.indptr) * width + released.ids  # group and term as one number, ascending
    held, products = np.zeros(len(cells), np.int64), np.zeros(len(members.group))
    people = np.flatnonzero(members.group >= 0)
    people = people[np.argsort(members.group[people], kind="stable")]  # so that lookups are near each other
    lengths = np.diff(members.indptr)[people]
    for part in _parts(np.cumsum(lengths)):
        some = people[part]
        person, pair = np.repeat(np.arange(len(some)), lengths[part]), ranges(members.indptr[some], lengths[part])
        key = members.group[some][person].astype(np.int64) * width + members.ids[pair]
        row = np.searchsorted(cells, key)
        is_found = cells[np.minimum(row, len(cells) - 1)] == key
        row, pair, person = row[is_found], pair[is_found], person[is_found]
        first = released.indptr[members.group[some[0]]]  # no row before it is one of these people's
        holders = np.bincount(row - first)
        held[first : first + len(holders)] += holders
        products[some] = np.bincount(person, members.weights[pair] * released.weights[row], minlength=len(some))
        progress("measuring linkability", part.stop, len(people))
    return held, products


def _parts(ends: IntArray) -> list[slice]:
    """Cut people into parts of about PAIRS_AT_ONCE pairs; `ends` are the cumulated lengths of their profiles."""
    if len(ends) == 0:
        return []
    cuts = np.searchsorted(ends, np.arange(PAIRS_AT_ONCE, ends[-1], PAIRS_AT_ONCE)) + 1
    bounds = np.unique(np.concatenate(([0], cuts, [len(ends)]))).tolist()
    return [slice(begin, end) for begin, end in pairwise(bounds)]


def _probabilities(shares: FloatArray, group: IntArray, n_groups: int) -> tuple[float | None, ...]:
    """Return the mean linking probability of groups, the highest, and the mean of the highest shares of a term."""
    if n_groups == 0:
        return None, None, None
    mean = np.bincount(group, shares, minlength=n_groups) / np.maximum(1, np.bincount(group, minlength=n_groups))
    highest = np.zeros(n_groups)
    np.maximum.at(highest, group, shares)
    return float(mean.mean()), float(mean.max()), float(highest.mean())


def _pairs_above(
    measure: ResolvedName, released: ReleasedGroups, members: GroupMembers, shares: FloatArray, held: IntArray
) -> list[Score]:
    """Score how many pairs of a member and a published term are above p."""
    p, total = measure.real("p"), int(held.sum())
    known = np.bincount(members.ids, minlength=len(members.terms))[released.ids] / max(1, len(members.group))
    posterior = f"of members and terms of theirs that are published: more than {p:g} of the members hold the term"
    belief = f"likewise: the share of members who hold the term exceeds that of all people by more than {p:g}"

    def score(principle: str, highest: float | FloatArray, note: str) -> Score:
        above = int(held[shares > highest * (1 + SHARE_ROUNDING)].sum())
        value, note = (100.0 * above / total, note) if total else (None, NO_GROUPS)
        label = f"pairs above p by {principle}"
        return Score(str(measure), label, value, units_counted=total, better="lower", note=note, base="pairs")

    return [score("posterior", p, posterior), score("belief", p + known, belief)]


def _cosines(released: ReleasedGroups, members: GroupMembers, products: FloatArray) -> FloatArray:
    """Return the cosine of every person's profile and what is published of the group; 0 without a group."""
    own = np.sqrt(np.bincount(row_numbers(members.indptr), members.weights**2, minlength=len(members.group)))
    group = row_numbers(released.indptr)
    published = np.sqrt(np.bincount(group, released.weights**2, minlength=len(released.groups)))
    lengths = own * np.append(published, 0.0)[members.group]  # group −1 finds the appended 0
    cosines: FloatArray = np.divide(products, lengths, out=np.zeros(len(products)), where=lengths > 0)
    return cosines
