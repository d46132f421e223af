"""Running a method on profiles and having its verifier confirm the result, as every evaluation does."""

from typing import Any

import numpy as np

from queryveil.core.errors import InternalError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.core.views import Views
from queryveil.histories.profiles import Profiles
from queryveil.methods.base import MethodTask, method_of


def run_method(
    method: ResolvedName,
    profiles: Profiles,
    rng: np.random.Generator,
    *inputs: object,
    progress: Progress = silent,
) -> Any:
    """Return the outcome of a method; inputs are the objects that it looks up by type."""
    task = MethodTask(profiles, method, rng, Views.of(*filter(None, inputs)), progress)
    return method_of(method).load()(task)


def confirm(method: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return the verdict on a result, which must hold."""
    claim = method_of(method).claim(method)
    verdict: Verdict = claim.declaration.load()(claim, evidence, progress=progress)
    if not verdict.holds:
        raise InternalError(
            f"the result of {method} was refused by its verifier ({verdict.state}); please report this."
        )
    return verdict
