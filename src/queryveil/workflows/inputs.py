"""The inputs that methods take besides profiles.

A method names its inputs in its declaration. Each is opened before the log is read, so that a bad file is reported at
once. Then they are applied in order: each may add objects for the method and replace the profiles that later ones see.
"""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar

from queryveil.core.errors import InputError
from queryveil.core.evidence import Views
from queryveil.core.files import Folder
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress
from queryveil.histories.outcomes import Outcome
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Kind, ReleaseContent
from queryveil.market import FIGURES, Market, read_market, read_values
from queryveil.methods.base import method_of
from queryveil.methods.targets import TermValues, check_term_values
from queryveil.release.atomic_folder import file_digest
from queryveil.semantics import SemanticOptions
from queryveil.workflows.owner_lists import OWNER_LISTS
from queryveil.workflows.requests import ReleaseRequest

_NO_LIST = "--{} is for methods that {}, and {{}} does not; leave it out."
_NO_START = "--start-from is for methods that delete terms, and {} does not; leave it out."
_NO_VECTORS = "--vectors is for methods that compare meanings, and {} does not; leave it out."
_NO_TAXONOMY = "--taxonomy is for methods that compare meanings, and {} does not; leave it out."
_NO_GROUPS = "--groups goes on with groups, and {} makes none; leave it out."


@dataclass(eq=False)
class MethodInput:
    """One input of a run; subclasses override what they need."""

    parameters: ClassVar[tuple[str, ...]] = ()  # of the method, on which the input depends
    request: ReleaseRequest
    method: ResolvedName
    kind: Kind
    progress: Progress
    summary: Mapping[str, Any] = field(default_factory=dict)  # what the summary of the run says about it
    record: Mapping[str, Any] = field(default_factory=dict)  # what the private record of the run says about it
    lists: Mapping[str, Any] = field(default_factory=dict)  # what the manifest says about it

    def __post_init__(self) -> None:
        """Open and check the input, before the log is read."""

    def provide(self, profiles: Profiles, views: Views) -> Profiles:
        """Add what the method, verifier and measures may use; return the profiles as the method is to see them."""
        return profiles

    def write_private(self, folder: Folder, profiles: Profiles, outcome: Outcome, content: ReleaseContent) -> None:
        """Write what a later run needs to build on this one."""


class ListInput(MethodInput):
    """A list that an owner gives, of the terms of the log only: it is the same on every engine."""

    def provide_for(self, terms: Callable[[], Sequence[str]], views: Views) -> None:
        """Add what the method and the verifier may use, given how to get the terms of the log."""
        raise NotImplementedError

    def provide(self, profiles: Profiles, views: Views) -> Profiles:
        """Add what the method and the verifier may use."""
        self.provide_for(lambda: profiles.vocabulary, views)
        return profiles


class TermValuesInput(MethodInput):
    """What terms are worth: a file of values, a market table, or neither."""

    parameters = ("target",)

    def __post_init__(self) -> None:
        """Read the files; a target that needs one that is not given is refused."""
        values, market = self.request.values, self.request.market
        charset = self.request.source.cleaning.charset
        check_term_values(self.method.values.get("target"), values=values is not None, market=market is not None)
        self.values = TermValues(
            None if values is None else read_values(values, charset),
            None if market is None else read_market(market, charset),
        )
        self.summary = {"market": {}}
        self.record = {"worth": {"values": file_digest(values), "market": file_digest(market)}}

    def provide(self, profiles: Profiles, views: Views) -> Profiles:
        """Add the values; refuse a market that has no figure for the target."""
        views.add(TermValues, lambda: self.values)
        market, target = self.values.market, self.method.values.get("target")
        if market is None:
            return profiles
        from queryveil.measures.utility.market import coverage

        found = coverage(profiles, market)
        if target in FIGURES and not found[target].n_terms:
            raise InputError(
                f"{market.name} gives no {target} for any of the {len(profiles.vocabulary):,} terms of the log, so "
                f"target={target} has nothing to keep; fill in the column, or choose another target."
            )
        views.add(Market, lambda: market)
        self.summary = {"market": {figure: asdict(share) for figure, share in found.items()}}
        return profiles


INPUTS: Mapping[str, str] = MappingProxyType(  # imported when a method takes them
    {
        "term_values": "queryveil.workflows.inputs:TermValuesInput",
        **{name: each.method_input for name, each in OWNER_LISTS.items()},
        "weaker_release": "queryveil.workflows.earlier_releases:WeakerReleaseInput",
        "network": "queryveil.workflows.semantic_inputs:NetworkInput",
        "hierarchy": "queryveil.workflows.semantic_inputs:HierarchyInput",
        "weights": "queryveil.workflows.semantic_inputs:WeightsInput",
        "previous_groups": "queryveil.workflows.earlier_releases:PreviousGroupsInput",
    }
)
# inputs, an option that belongs to them, and why a method that takes none of these inputs refuses the option
_REFUSALS = (
    ("term_values", "values", "--values is for methods that weigh terms, and {} does not; leave it out."),
    ("term_values", "market", "--market is for methods that weigh terms, and {} does not; leave it out."),
    *((name, f"lists.{each.option}", _NO_LIST.format(each.option, each.methods)) for name, each in OWNER_LISTS.items()),
    ("weaker_release", "start_from", _NO_START),
    ("weaker_release", "start_from_private", _NO_START),
    ("network hierarchy", "semantics.taxonomy", _NO_TAXONOMY),
    ("network hierarchy", "semantics.vectors", _NO_VECTORS),
    ("weights", "semantics.weights", "--weights is for methods that make groups; {} counts occurrences, leave it out."),
    ("previous_groups", "groups", _NO_GROUPS),
    ("previous_groups", "groups_private", _NO_GROUPS),
)
_NOT_GIVEN = (None, SemanticOptions().weights)  # values of options that were not given
_OPTIONAL = ("weaker_release",)  # inputs that are opened only if one of their options was given


def input_key(method: ResolvedName) -> tuple[Any, ...]:
    """Return what the inputs of a run depend on, so that runs of a sweep share them."""
    names = (name for each in method_of(method).inputs for name in pkgutil.resolve_name(INPUTS[each]).parameters)
    return method.declaration.name, *map(method.values.get, names)


def open_inputs(
    request: ReleaseRequest, method: ResolvedName, kind: Kind, progress: Progress
) -> tuple[MethodInput, ...]:
    """Open the inputs of a method; options of inputs that it does not take are refused."""
    taken, given = method_of(method).inputs, set[str]()
    for inputs, option, sentence in _REFUSALS:
        if attrgetter(option)(request) not in _NOT_GIVEN:
            if not set(inputs.split()) & set(taken):
                raise InputError(sentence.format(method))
            given.update(inputs.split())
    opened = (name for name in taken if name in given or name not in _OPTIONAL)
    return tuple(pkgutil.resolve_name(INPUTS[name])(request, method, kind, progress) for name in opened)
