"""What the evaluations share: example logs, verified runs of methods, and means over repeated runs."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.errors import InternalError
from queryveil.core.evidence import Evidence, Floor, Owners, ReleasedHistories, Views
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.core.rows import select_entries
from queryveil.histories.assembly import assemble
from queryveil.histories.profiles import Profiles
from queryveil.methods.base import MethodTask, method_of


def example_log(histories: Sequence[Iterable[str]], persons: Sequence[str]) -> Profiles:
    """Return a log of one history per person, each occurrence of a term in a query of its own."""
    words = sorted({term for history in histories for term in history})
    number = {word: i for i, word in enumerate(words)}
    pairs = np.array([(h, number[term]) for h, history in enumerate(histories) for term in history], np.int32)
    owner = np.arange(len(histories), dtype=np.int32)
    return assemble(pairs[:, 0], pairs[:, 1], pa.array(words, pa.large_string()), owner, tuple(persons))


def run_method(
    method: ResolvedName, profiles: Profiles, rng: np.random.Generator, *inputs: object, progress: Progress = silent
) -> Any:
    """Return the outcome of a method; `inputs` are the objects that it looks up by type, None for those it lacks."""
    task = MethodTask(profiles, method, rng, Views.of(*filter(None, inputs)), progress)
    return method_of(method).load()(task)


def confirm(method: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Return the verifier's verdict on the result of a method; raise if the claim does not hold."""
    claim = method_of(method).claim(method)
    verdict: Verdict = claim.declaration.load()(claim, evidence, progress=progress)
    if not verdict.holds:
        raise InternalError(
            f"the result of {method} was refused by its verifier ({verdict.state}); please report this."
        )
    return verdict


def confirm_kept(
    method: ResolvedName,
    profiles: Profiles,
    mask: NDArray[np.bool_],
    *evidence: object,
    unit: Literal["term", "query"] = "term",
    progress: Progress = silent,
) -> int:
    """Verify the kept pairs of profiles; return how much the verifier checked, 0 if nothing was kept."""
    if not mask.any():
        return 0
    kept, ids = np.unique(profiles.ids[mask], return_inverse=True)
    entries = tuple(profiles.vocabulary[entry] for entry in kept.tolist())
    histories = np.arange(profiles.n_histories)
    indptr, counts = select_entries(profiles.indptr, mask), profiles.counts[mask]
    released = ReleasedHistories(histories, indptr, ids.astype(np.int32), counts, entries, None, unit)
    owners = Owners(profiles.owner, histories, profiles.holders_by_text)
    return confirm(method, Evidence.of(released, owners, Floor(), *evidence), progress=progress).checked


def mean_figures(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every figure over repeated runs."""
    return {name: fmean(figures[name] for figures in runs) for name in runs[0]}
