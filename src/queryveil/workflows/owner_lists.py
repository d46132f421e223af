"""Lists that an owner gives besides the log, and that a guarantee may be about.

Each list is declared here once: its option, the input of methods that reads it, and what tells a verifier of it. A
guarantee and a method name a list among their inputs; the manifest has a digest of it under the same name.
"""

import pkgutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.options import OptionGroup, optional_file
from queryveil.guarantees import guarantee_of
from queryveil.release.manifest import Manifest


@dataclass(frozen=True)
class OwnerList:
    """A list that an owner may give."""

    option: str  # of `OwnerLists`
    methods: str  # what the methods do that take it
    claims: str  # what the claims are about that need it
    method_input: str  # "module:class" of a `ListInput`
    evidence: str  # "module:function", called as `add_lists` calls it
    reasons: str = ""  # "module:function", called as `reasons` calls it, if terms that k people share may be forbidden


OWNER_LISTS: Mapping[str, OwnerList] = MappingProxyType(
    {
        "places": OwnerList(
            "places",
            "look for places",
            "places, such as ppp(release=none)",
            "queryveil.workflows.semantic_inputs:WordListsInput",
            "queryveil.workflows.verify:add_word_lists",
        ),
        "sensitive_terms": OwnerList(
            "sensitive",
            "bound inference",
            "a list of sensitive terms",
            "queryveil.workflows.sensitive_terms_input:SensitiveTermsInput",
            "queryveil.workflows.sensitive_terms:add_sensitive_terms",
            "queryveil.workflows.sensitive_terms:reasons",
        ),
    }
)


@dataclass(frozen=True, kw_only=True)
class OwnerLists(OptionGroup):
    """The files of these lists."""

    panel = "Inputs of methods and measures"
    places: Path | None = optional_file(
        "More places, one on each line, for methods that look for places; to verify, the same list."
    )
    sensitive: Path | None = optional_file(
        "Sensitive terms, one on each line, for a bound h on inference; unless given, the bundled model says."
    )

    def only(self, names: Collection[str]) -> "OwnerLists":
        """Return the group without the lists that are not among some inputs."""
        return replace(self, **{each.option: None for name, each in OWNER_LISTS.items() if name not in names})


def add_lists(evidence: Evidence, claim: ResolvedName, lists: OwnerLists, manifest: Manifest | None = None) -> str:
    """Let the verifier of a claim know the lists that it is about; return why one cannot be known, else "".

    Without a manifest, the claim is about a file that is no release.
    """
    missing = []
    for name, each in OWNER_LISTS.items():
        path = getattr(lists, each.option)
        if name in guarantee_of(claim).inputs:
            missing.append(pkgutil.resolve_name(each.evidence)(evidence, claim, path, manifest))
        elif path is not None:
            raise InputError(f"--{each.option} goes with a claim about {each.claims}, not {claim}; leave it out.")
    return "; ".join(filter(None, missing))


def reasons(claim: ResolvedName, recorded: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return what finds why a claim forbids a term that k people share; None if it forbids none.

    `recorded` is what the private record of the run says of its inputs.
    """
    found = (OWNER_LISTS[name].reasons for name in guarantee_of(claim).inputs)
    return next((pkgutil.resolve_name(function)(claim, recorded) for function in found if function), None)
