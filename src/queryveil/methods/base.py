"""What a method is, what it is given and what it returns."""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from queryveil.core.evidence import Views
from queryveil.core.names import Declaration, Name, ResolvedName, Value, declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.guarantees import Guarantee
from queryveil.histories.profiles import Profiles

GOALS: Mapping[str, str] = {  # what an owner wants to do with a log
    "publish": "Publish the log, or hand it to researchers",
    "personalise": "Personalise search without keeping who searched for what",
    "ads": "Know what people search for that advertisers pay for",
    "statistics": "Keep statistics and suggestions of queries",
}


@dataclass(frozen=True)
class Suggestion:
    """A run of a method that serves a goal, and the reason."""

    goal: str
    method: str  # with parameters
    reason: str


@dataclass(frozen=True)
class Method(Declaration):
    """A method: besides the declaration, the guarantee it claims, the kinds of release it makes and what it needs.

    On one machine its function takes a `MethodTask` and returns an outcome (`queryveil.histories.outcomes`) that the
    kind of release can encode.
    """

    guarantee: str = ""
    refinements: Mapping[str, "Refinement"] = field(default_factory=dict)  # parameter → what a run given it does more
    kinds: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()  # names of inputs besides the profiles (`queryveil.workflows.inputs`)
    one_of: tuple[str, ...] = ()  # optional parameters of which exactly one is given
    spark_only: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)  # the values that a cluster supports
    suggestions: tuple[Suggestion, ...] = ()  # the runs of the method that serve goals

    def caution(self, method: ResolvedName | None = None) -> str:
        """Return in a few words what the guarantee of a run, or of every run, is if that is no anonymity."""
        guarantee = declarations("guarantee")[self.guarantee]
        return guarantee.caution(method) if isinstance(guarantee, Guarantee) else ""

    def claim(self, method: ResolvedName, found: Mapping[str, Value] | None = None) -> ResolvedName:
        """Return the guarantee that a run claims; `found` are parameters of the claim that the run determined."""
        guarantee, values = self.guarantee_given(method), {**method.values, **(found or {})}
        shared = tuple((p.name, values[p.name]) for p in guarantee.parameters if p.name in values)
        return resolve("guarantee", Name(guarantee.name, shared))

    def guarantee_given(self, method: ResolvedName) -> Guarantee:
        """Return the declaration of the guarantee of a run, whose parameters may not be known yet."""
        refinement = self.refinement(method)
        declared = declarations("guarantee")[self.guarantee if refinement is None else refinement.guarantee]
        if not isinstance(declared, Guarantee):
            raise TypeError(f"{declared.name} is no guarantee")
        return declared

    def refinement(self, method: ResolvedName) -> "Refinement | None":
        """Return what a run does more by its parameters."""
        return next((each for parameter, each in self.refinements.items() if parameter in method.values), None)


@dataclass(frozen=True)
class Refinement:
    """A last step of a method by which a run keeps a stronger guarantee."""

    guarantee: str
    functions: Mapping[str, str]  # engine → "module:function", which the method calls

    def load(self, engine: str) -> Callable[..., Any]:
        """Import and return the function of an engine."""
        function: Callable[..., Any] = pkgutil.resolve_name(self.functions[engine])
        return function


@dataclass(frozen=True, eq=False)
class MethodTask:
    """What a method works on."""

    profiles: Profiles
    method: ResolvedName  # its name and parameters
    rng: "np.random.Generator"  # quoted: NumPy imports its generators on first use, which takes long
    inputs: Views = field(default_factory=Views)  # by type, such as `TermValues`, or `KeptPairs` of a weaker run
    progress: Progress = silent


def method_of(name: ResolvedName) -> Method:
    """Return the declaration of a method by its resolved name."""
    if not isinstance(name.declaration, Method):
        raise TypeError(f"{name.declaration.name} is registered as a method but is not a Method")
    return name.declaration
