"""Verify p-linkability: what is published about groups links nobody to a term beyond p.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010, definition 1, equation 1 and the clustering
constraint. The constraint bounds the *average* share of members who hold a term (`mean`); definition 1 applied to every
term is `posterior`; equation 1, the change of belief, is `belief`. The poster names l-diversity and t-closeness without
formulas. We compare two distributions of terms, each by how many people hold a term: all publishable terms in all
profiles, and the published terms of a group.

Everything is counted again from everybody's profile in exact integers, and p and t are the fractions that their
decimals stand for. A limit that is met exactly is met, one that is missed by a hair is missed. Only diversity, a
logarithm, is compared with a tolerance. A person who holds no publishable term does not count as a member, because
that person hides nobody.

The rules and their sentences are here. `ArrayGroupFinder` finds what breaks a rule in arrays, `SqlGroupFinder` in
tables of any engine that runs SQL. Sorted arrays are kept on one machine because SQL takes several times as long.

Where a run had a least similarity, profiles are augmented by meaning as the paper compares them
(`queryveil.semantics.augmentation`). The centroid is the sum of the members' features, each of unit length.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from queryveil.core.display import counted
from queryveil.core.errors import InternalError
from queryveil.core.evidence import Evidence, Floor, GroupMembers, MethodParameters, ReleasedGroups
from queryveil.core.names import ResolvedName, Value
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.core.rows import Int32Array
from queryveil.engines.sql import GroupTables
from queryveil.histories.profiles import Profiles
from queryveil.semantics.augmentation import augment
from queryveil.semantics.network import Network
from queryveil.verifiers.group_arrays import ArrayGroupFinder
from queryveil.verifiers.group_tables import Fault, SqlGroupFinder, exact, fault_of

GroupFinder = ArrayGroupFinder | SqlGroupFinder

ENTROPY_TOLERANCE = 1e-9  # absolute: sums in another order differ by rounding
NO_MEMBERS = "who is in a group is only in the private folder; give --private"
NO_ROWS = "the release has no rows"
NOT_OF_EVERY_TERM = (
    "The bound is {}, not on every term: the commonest term of a group is held by {:.1f} % of its members, averaged "
    "over groups. For publication take principle=belief or principle=posterior, which bound every term."
)
WHAT_IS_BOUNDED = {
    "mean": "on an average over the terms of a group",
    "global mean": "on how many terms a group has",
    "diversity": "on how diverse the terms of a group are",
    "closeness": "on a sum over the terms of a group",
}
TOLERANCE = 1e-6  # features may have been summed in another order


def verify(claim: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return whether a claim linkability(p, …) holds for released groups, given as arrays or as tables."""
    tables, floor = evidence.find(GroupTables), evidence.get(Floor).people
    parameters = getattr(evidence.find(MethodParameters), "values", None)
    if tables is None:
        released, members = evidence.get(ReleasedGroups), evidence.find(GroupMembers)
        verdict = check_groups(claim, released, members, floor=floor, parameters=parameters, progress=progress)
    elif not tables.has_members:
        return Verdict(str(claim), "unchecked", "people", reason=NO_MEMBERS)
    else:
        progress("verifying", 0, 1)
        with tables.open() as session:
            verdict = check_findings(claim, SqlGroupFinder(session, floor, tables.frozen), floor, parameters)
        progress("verifying", 1, 1)
    network = evidence.find(Network)
    if not verdict.holds or network is None or not parameters or "min_similarity" not in parameters:
        return verdict
    members = evidence.get(GroupMembers)
    below = count_dissimilar(members.group, evidence.get(Profiles), network, parameters, floor)
    reason = f"{below:,} members are less similar than {parameters['min_similarity']} to the centroid of their group"
    return replace(verdict, state="violated", violations=below, reason=reason) if below else verdict


def check_groups(
    claim: ResolvedName,
    released: ReleasedGroups,
    members: GroupMembers | None,
    *,
    floor: int,
    parameters: Mapping[str, Value] | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Return whether a claim linkability(p, …) holds for released groups that are given as arrays."""
    if members is None:
        return Verdict(str(claim), "unchecked", "people", reason=NO_MEMBERS)
    return check_findings(claim, ArrayGroupFinder(released, members, floor, progress), floor, parameters)


def check_findings(
    claim: ResolvedName, finder: GroupFinder, floor: int, parameters: Mapping[str, Value] | None = None
) -> Verdict:
    """Return whether a claim holds by what a finder finds.

    Every published term must be held by `floor` people of the whole log. With average=global the mean principle is the
    paper's, by the mean profile size of all people. `checked` counts the published terms of all groups; `violations`
    counts those (or the groups, or the terms) that break the claim in the first way that is found. Where the parameters
    of the run are known, weights must be those of the members' profiles.
    """
    fault = next(_faults(claim, finder, floor, parameters), None)
    if fault is not None:
        found = (fault.violations, fault.counterexample, fault.reason)
        return Verdict(str(claim), "violated", "people", finder.n_rows, *found)
    if finder.n_rows == 0:
        return Verdict(str(claim), "unchecked", "people", reason=NO_ROWS)
    is_global = claim.word("principle") == "mean" and claim.word("average") == "global"
    bounded = WHAT_IS_BOUNDED.get("global mean" if is_global else claim.word("principle"))
    warnings = (NOT_OF_EVERY_TERM.format(bounded, 100 * finder.worst_share()),) if bounded else ()
    return Verdict(str(claim), "holds", "people", finder.n_rows, warnings=warnings)


def _faults(
    claim: ResolvedName, finder: GroupFinder, floor: int, parameters: Mapping[str, Value] | None
) -> Iterator[Fault]:
    """Yield the ways in which the claim is broken; each check assumes that the checks before it passed."""
    yield from finder.impossible_groups()
    if finder.n_rows == 0:
        return
    yield from _damaged_rows(finder)
    p, principle = exact(claim.real("p")), claim.word("principle")
    least = math.ceil(1 / p)  # in a smaller group one member is a larger share than p
    small = finder.small_groups(least)
    size = f"group {small.group} has {counted(small.members, 'members')}"
    yield from fault_of(small, f"{size}, at least {least:,} must be in it")
    rare = finder.rare_terms()
    if rare.violations:
        yield Fault(rare.violations, "", Violation((rare.term,), rare.held, floor))
    invented = finder.invented_terms()
    yield from fault_of(invented, f"{invented.term!r} is published for group {invented.group}, but no member holds it")
    if principle == "mean":
        yield from (_mean if claim.word("average") == "group" else _global_mean)(finder, p)
    elif principle == "diversity":
        yield from _diversity(finder, claim.real("l"))
    elif principle == "closeness":
        yield from _closeness(finder, claim.real("t"))
    elif principle in ("posterior", "belief"):
        yield from _shares(finder, p, has_prior=principle == "belief")
    else:
        raise InternalError(f"there is no check of the principle {principle}; please report this.")
    if parameters is not None:
        pull = float(parameters.get("shrink", 0)) * math.ceil(1 / exact(float(parameters["p"])))  # not the claim's p
        other = finder.other_weights(pull, is_union=parameters.get("representative") == "union")
        weight = f"the term {other.term!r} of group {other.group} has another weight than the profiles of"
        yield from fault_of(other, f"{weight} its members give")


def _damaged_rows(finder: GroupFinder) -> Iterator[Fault]:
    """Yield rows that no intact release has."""
    twice = finder.repeated_terms()
    yield from fault_of(twice, f"group {twice.group} has the term {twice.term!r} twice")
    unordered = finder.unordered_terms()
    yield from fault_of(unordered, f"the terms of group {unordered.group} are not in the order of their texts")
    wrong = finder.wrong_weights()
    weight = f"the term {wrong.term!r} of group {wrong.group} has the weight {wrong.value}"
    yield from fault_of(wrong, f"{weight}, which is not a number above 0")


def _mean(finder: GroupFinder, p: Fraction) -> Iterator[Fault]:
    """Yield groups whose terms are held by more than a share of p of the members, averaged over the terms."""
    above = finder.groups_above_mean(p)
    most = p.numerator * above.members * above.terms // p.denominator
    times = f"its {above.terms:,} terms {above.held:,} times, at most {most:,} times are allowed"
    yield from fault_of(above, f"the {above.members:,} members of group {above.group} hold {times}")


def _global_mean(finder: GroupFinder, p: Fraction) -> Iterator[Fault]:
    """Yield groups with fewer terms than the mean profile size of all people over p."""
    mean = finder.mean_profile_size()
    least = math.ceil(mean / p)
    short = finder.groups_with_few_terms(least)
    size = f"group {short.group} has {counted(short.terms, 'terms')}, at least {least:,} must be"
    yield from fault_of(short, f"{size} published for it, since profiles have {float(mean):.6g} on average")


def _shares(finder: GroupFinder, p: Fraction, *, has_prior: bool) -> Iterator[Fault]:
    """Yield published terms that more members hold than may."""
    above = finder.terms_above_share(p, has_prior=has_prior)
    who = f"{above.held:,} of the {above.members:,} members of group {above.group} hold {above.term!r}"
    yield from fault_of(above, f"{who}, at most {above.most:,} may")


def _diversity(finder: GroupFinder, least: float) -> Iterator[Fault]:
    """Yield groups whose terms are less diverse than `least` equally frequent ones."""
    below = finder.groups_below_entropy(math.log(least) - ENTROPY_TOLERANCE)
    found = f"the terms of group {below.group} are as diverse as {math.exp(below.value):.6g} equally"
    yield from fault_of(below, f"{found} frequent ones, not {least:.6g}")


def _closeness(finder: GroupFinder, most: float) -> Iterator[Fault]:
    """Yield groups whose terms are distributed too differently from those of all people."""
    above = finder.groups_above_distance(exact(most))
    found = f"the terms of group {above.group} are {above.value:.6g} from those of all people"
    yield from fault_of(above, f"{found} by total variation, at most {most:.6g} is allowed")


def count_dissimilar(
    group: Int32Array, profiles: Profiles, network: Network, parameters: Mapping[str, Value], floor: int
) -> int:
    """Return how many people are below `min_similarity`; `group` is everybody's, −1 for none."""
    features = augment(
        profiles.select(profiles.holder_counts()[profiles.ids] >= floor),
        network,
        a=int(parameters["a"]),
        weighting="paper" if parameters["weighting"] == "paper" else "content",
    )
    person = np.repeat(np.arange(len(group)), np.diff(features.indptr))
    length = np.sqrt(np.bincount(person, features.values**2, len(group)))
    is_member = group[person] >= 0
    person, dimension, value = person[is_member], features.ids[is_member], (features.values / length[person])[is_member]
    _, cell = np.unique(group[person].astype(np.int64) * features.n_dimensions + dimension, return_inverse=True)
    total = np.bincount(cell, value)[cell]  # of the group in the dimension
    of_group = np.bincount(group[person], value * total, int(group.max()) + 1)  # the length of the sum, squared
    cosine = np.bincount(person, value * total, len(group)) / np.sqrt(np.maximum(of_group[group], np.finfo(float).tiny))
    return int(np.count_nonzero((group >= 0) & (cosine < float(parameters["min_similarity"]) - TOLERANCE)))
