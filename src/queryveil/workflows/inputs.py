"""The inputs that methods take besides profiles.

A method names its inputs in its declaration. Each is opened before the log is read, so that a bad file is reported at
once; it may then change the profiles, hands the method what it needs, and notes in the private record what it was.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import Views
from queryveil.core.names import ResolvedName, declarations
from queryveil.core.progress import Progress
from queryveil.histories.groups import Grouping, PreviousGroups
from queryveil.histories.outcomes import Outcome
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Kind, ReleaseContent
from queryveil.kinds.private_folder import write_contributors
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.market.table import FIGURES, Market, read_market, read_values
from queryveil.measures.utility.market import coverage
from queryveil.methods.base import StartingPoint, method_of
from queryveil.methods.targets import TermValues, check_term_values
from queryveil.semantics import SemanticOptions
from queryveil.semantics.augmentation import weighted
from queryveil.semantics.network import Network
from queryveil.workflows.earlier_releases import (
    EarlierGroups,
    WeakerRelease,
    contributors,
    open_earlier_groups,
    open_weaker_release,
)
from queryveil.workflows.requests import ReleaseRequest

_NO_START = "--start-from is for methods that delete terms, and {} does not; leave it out."
_NO_TAXONOMY = "--taxonomy is for methods that compare meanings, and {} does not; leave it out."
_NO_GROUPS = "--groups goes on with groups, and {} makes none; leave it out."
LEAST_KNOWN = 0.01  # share of a log's occurrences that a taxonomy must know, else it is the wrong one


def file_digest(path: Path | None) -> str | None:
    """Return the SHA-256 of a file; None where there is none, or it is a pipe, which cannot be read again."""
    if path is None or not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class MethodInput:
    """One input of a run; subclasses override what they need."""

    def __init__(self, request: ReleaseRequest, method: ResolvedName, kind: Kind, progress: Progress) -> None:
        """Open and check the input before the log is read."""
        self.request, self.method, self.progress = request, method, progress
        self.summary: Mapping[str, Any] = {}  # what is said about the input when the run is done

    def prepare(self, profiles: Profiles) -> Profiles:
        """Return the profiles as the method is to see them."""
        return profiles

    def provide(self, profiles: Profiles, views: Views) -> None:
        """Add what the method, verifier and measures may use."""

    def record(self) -> Mapping[str, Any]:
        """Return what the private run record says about the input."""
        return {}

    def write_private(self, folder: Path, profiles: Profiles, outcome: Outcome, content: ReleaseContent) -> None:
        """Write what a later run needs to build on this one."""


class TermValuesInput(MethodInput):
    """What terms are worth: a file of values, a market table, or neither."""

    def __init__(self, request: ReleaseRequest, method: ResolvedName, kind: Kind, progress: Progress) -> None:
        """Read the files; a target that needs one that is not given is refused."""
        super().__init__(request, method, kind, progress)
        values, market, charset = request.values, request.market, request.source.cleaning.charset
        check_term_values(method.values.get("target"), values=values is not None, market=market is not None)
        self.values = TermValues(
            None if values is None else read_values(values, charset),
            None if market is None else read_market(market, charset),
        )
        self.summary = {"market": {}}

    def provide(self, profiles: Profiles, views: Views) -> None:
        """Add the values; refuse a market that has no figure for the target."""
        views.add(TermValues, lambda: self.values)
        market, target = self.values.market, self.method.values.get("target")
        if market is None:
            return
        found = coverage(profiles, market)
        if target in FIGURES and not found[target].n_terms:
            raise InputError(
                f"{market.name} gives no {target} for any of the {len(profiles.vocabulary):,} terms of the log, so "
                f"target={target} has nothing to keep; fill in the column, or choose another target."
            )
        views.add(Market, lambda: market)
        self.summary = {"market": {figure: asdict(share) for figure, share in found.items()}}

    def record(self) -> Mapping[str, Any]:
        """Return the digests of the files."""
        request = self.request
        return {"worth": {"values": file_digest(request.values), "market": file_digest(request.market)}}


class WordListsInput(MethodInput):
    """The lists of names, places and private words."""

    def __init__(self, request: ReleaseRequest, method: ResolvedName, kind: Kind, progress: Progress) -> None:
        """Read the lists."""
        super().__init__(request, method, kind, progress)
        from queryveil.sensitivity.lists import load_lists

        self._lists = load_lists(request.places)

    def provide(self, profiles: Profiles, views: Views) -> None:
        """Add the lists."""
        views.add(PersonalWordLists, lambda: self._lists)


class WeakerReleaseInput(MethodInput):
    """A release of the same log under a weaker guarantee, from which the run starts."""

    def __init__(self, request: ReleaseRequest, method: ResolvedName, kind: Kind, progress: Progress) -> None:
        """Read and verify the release."""
        super().__init__(request, method, kind, progress)
        self._weaker: WeakerRelease | None = None
        if request.start_from is not None:
            self._weaker = open_weaker_release(
                request.start_from,
                request.start_from_private,
                method,
                kind,
                request.source.cleaning,
                progress=progress,
            )
        elif request.start_from_private is not None:
            raise InputError("--start-from-private goes with --start-from; give that too, or leave it out.")

    def provide(self, profiles: Profiles, views: Views) -> None:
        """Add the pairs that the weaker release kept."""
        weaker = self._weaker
        if weaker is not None:
            mask = weaker.mask(profiles)
            views.add(StartingPoint, lambda: StartingPoint(mask))

    def record(self) -> Mapping[str, Any]:
        """Return which release the run started from."""
        return {} if self._weaker is None else {"start_from": self._weaker.record()}


class NetworkInput(MethodInput):
    """The semantic network by which terms are compared."""

    def __init__(self, request: ReleaseRequest, method: ResolvedName, kind: Kind, progress: Progress) -> None:
        """Keep the options."""
        super().__init__(request, method, kind, progress)
        self.meaning = request.semantics
        self.network: Network | None = None

    def prepare(self, profiles: Profiles) -> Profiles:
        """Open the network, and drop the terms that it does not know where that is asked for."""
        self.network = open_network(profiles, self.meaning, self.progress)
        return known_terms(profiles, self.network, self.meaning)

    def provide(self, profiles: Profiles, views: Views) -> None:
        """Add the network."""
        network = self.network
        if network is not None:
            views.add(Network, lambda: network)
            views.add(SemanticOptions, lambda: self.meaning)

    def record(self) -> Mapping[str, Any]:
        """Return the digest of the taxonomy."""
        return {"taxonomy": file_digest(self.meaning.taxonomy)}


class HierarchyInput(NetworkInput):
    """A semantic network whose knowledge of the log is counted: terms that it does not know are lost."""

    def prepare(self, profiles: Profiles) -> Profiles:
        """Count what the network does not know; refuse a taxonomy that is not about this log."""
        self.network = open_network(profiles, self.meaning, self.progress)
        self.summary = _network_coverage(profiles, self.network, self.meaning)
        return known_terms(profiles, self.network, self.meaning)


def _network_coverage(profiles: Profiles, network: Network, meaning: SemanticOptions) -> dict[str, int]:
    is_known = network.find_all(profiles.vocabulary) >= 0
    total = int(profiles.counts.sum(dtype=np.int64))
    known = int(profiles.counts[is_known[profiles.ids]].sum(dtype=np.int64))
    if meaning.taxonomy is not None and known < LEAST_KNOWN * total:
        raise InputError(
            f"{meaning.taxonomy} knows {np.count_nonzero(is_known):,} of the {len(is_known):,} terms of the log, "
            f"{known / max(1, total):.1%} of their occurrences; at least {LEAST_KNOWN:.0%} are needed, so give a "
            "taxonomy of the log's own terms."
        )
    return {
        "terms that the network does not know": int(np.count_nonzero(~is_known)),
        "occurrences of these": total - known,
        "occurrences of terms that it knows": known,
    }


def open_network(profiles: Profiles, meaning: SemanticOptions, progress: Progress) -> Network:
    """Return the semantic network that the options choose."""
    network: Network = declarations("network")[meaning.network_name].load()(profiles, meaning.taxonomy, progress)
    return network


def known_terms(profiles: Profiles, network: Network, meaning: SemanticOptions) -> Profiles:
    """Return the profiles, without the terms that the network does not know where these are to be dropped."""
    if meaning.unknown_terms == "keep":
        return profiles
    known = network.find_all(profiles.vocabulary) >= 0
    return profiles.select(known[profiles.ids])


class WeightsInput(MethodInput):
    """How much of a profile each of its terms is."""

    def prepare(self, profiles: Profiles) -> Profiles:
        """Return the profiles with weights: those of their file, else of the kind asked for."""
        weights = self.request.semantics.weights
        if profiles.weights is not None:
            if weights != "paper":
                name = self.request.source.paths[0]
                raise InputError(f"--weights: {name} is a profile file and has weights; leave --weights out.")
            return profiles
        if weights == "paper":
            return replace(profiles, weights=np.ones(len(profiles.ids)))
        return weighted(profiles, "counts" if weights == "counts" else "tfidf")


class PreviousGroupsInput(MethodInput):
    """An earlier release of groups that is extended: newcomers join, and nobody moves without need."""

    def __init__(self, request: ReleaseRequest, method: ResolvedName, kind: Kind, progress: Progress) -> None:
        """Read the earlier release."""
        super().__init__(request, method, kind, progress)
        self._earlier: EarlierGroups | None = None
        if request.groups is not None:
            claim = method_of(method).claim(method)
            self._earlier = open_earlier_groups(request.groups, request.groups_private, kind, claim)
        elif request.groups_private is not None:
            raise InputError("--groups-private goes with --groups; give that too, or leave it out.")

    def provide(self, profiles: Profiles, views: Views) -> None:
        """Add the earlier groups over today's people and terms."""
        earlier = self._earlier
        if earlier is not None:
            views.add(PreviousGroups, lambda: earlier.over(profiles))

    def write_private(self, folder: Path, profiles: Profiles, outcome: Outcome, content: ReleaseContent) -> None:
        """Write whose terms are in what is published, which a later run that extends the groups must know."""
        if isinstance(outcome, Grouping):
            write_contributors(folder, contributors(profiles, outcome, content.release_ids, self._earlier))


INPUTS: Mapping[str, type[MethodInput]] = MappingProxyType(
    {
        "term_values": TermValuesInput,
        "word_lists": WordListsInput,
        "weaker_release": WeakerReleaseInput,
        "network": NetworkInput,
        "hierarchy": HierarchyInput,
        "weights": WeightsInput,
        "previous_groups": PreviousGroupsInput,
    }
)
# inputs, an option that belongs to them, and why a method that takes none of these inputs refuses the option
_REFUSALS = (
    ("term_values", "values", "--values is for methods that weigh terms, and {} does not; leave it out."),
    ("term_values", "market", "--market is for methods that weigh terms, and {} does not; leave it out."),
    ("word_lists", "places", "--places is for methods that look for places, and {} does not; leave it out."),
    ("weaker_release", "start_from", _NO_START),
    ("weaker_release", "start_from_private", _NO_START),
    ("network hierarchy", "semantics.taxonomy", _NO_TAXONOMY),
    ("weights", "semantics.weights", "--weights is for methods that make groups; {} counts occurrences, leave it out."),
    ("previous_groups", "groups", _NO_GROUPS),
    ("previous_groups", "groups_private", _NO_GROUPS),
)
_NOT_GIVEN = (None, SemanticOptions().weights)  # values of options that were not given


def open_inputs(
    request: ReleaseRequest, method: ResolvedName, kind: Kind, progress: Progress
) -> tuple[MethodInput, ...]:
    """Open the inputs of a method; options of inputs that it does not take are refused."""
    taken = method_of(method).inputs
    for inputs, option, sentence in _REFUSALS:
        if not set(inputs.split()) & set(taken) and attrgetter(option)(request) not in _NOT_GIVEN:
            raise InputError(sentence.format(method))
    return tuple(INPUTS[name](request, method, kind, progress) for name in taken)
