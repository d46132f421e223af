"""Small profiles for tests, built from plain lists."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.evidence import Evidence, Floor, Owners, ReleasedHistories, Views
from queryveil.core.names import resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.histories.build import assemble
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import ReleaseContent
from queryveil.kinds.histories import HISTORIES
from queryveil.methods.base import MethodTask


def profiles_of(histories: Sequence[Iterable[str]], owners: Sequence[int] | None = None) -> Profiles:
    """Return profiles of histories given as terms; a repeated term counts as often."""
    owners = list(range(len(histories))) if owners is None else owners
    words = sorted({term for history in histories for term in history})
    number = {word: i for i, word in enumerate(words)}
    pairs = [(h, number[term]) for h, history in enumerate(histories) for term in history]
    history, term = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    persons = tuple(f"u{i}" for i in range(max(owners) + 1))
    return assemble(history, term, pa.array(words, pa.large_string()), np.array(owners, np.int32), persons)


def run_method(profiles: Profiles, name: str, *inputs: object, seed: int = 0, progress: Progress = silent) -> Any:
    """Return the outcome of a method with these inputs, such as a network."""
    method = resolve("method", name)
    task = MethodTask(profiles, method, np.random.default_rng(seed), Views(*inputs), progress)
    return method.declaration.load()(task)


def rows(profiles: Profiles) -> list[list[int]]:
    """Return the entry ids of every history."""
    return [profiles.ids[a:b].tolist() for a, b in zip(profiles.indptr, profiles.indptr[1:], strict=False)]


def encode_histories(profiles: Profiles, mask: NDArray[np.bool_]) -> ReleaseContent:
    """Return what a release of kind `histories` holds of the masked pairs."""
    return HISTORIES.encode(KeptPairs(mask), profiles)


def histories_in(profiles: Profiles, unit: Literal["term", "query"] = "term") -> ReleasedHistories:
    """Return profiles as a verifier sees released histories."""
    users, entries = np.arange(profiles.n_histories), profiles.vocabulary
    return ReleasedHistories(users, profiles.indptr, profiles.ids, profiles.counts, entries, None, unit)


def verify_histories(
    claim: str, released: ReleasedHistories, people: NDArray[np.int32] | None = None, *more: object
) -> Verdict:
    """Return what the verifier of a claim says about histories; `people` are their owners where these are known."""
    resolved = resolve("guarantee", claim)
    views: list[object] = [released, Floor(), *more]
    if people is not None:
        views.append(Owners(people, np.arange(len(people)), dict))
    verdict: Verdict = resolved.declaration.load()(resolved, Evidence(*views))
    return verdict
