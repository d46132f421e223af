"""One run of a method on the profiles of a log, and the check of what it would release."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import GuaranteeError, InternalError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.histories.assembly import partition_profiles
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.methods import Method
from queryveil.methods.utilities import Worth
from queryveil.release.content import Content
from queryveil.release.reader import Release
from queryveil.workflows.verify import check_release

TOO_FEW = "parts with too few people"


def method_of(bound: ResolvedName) -> Method:
    """Return the declaration of a method by its bound name."""
    declared = bound.declaration
    if not isinstance(declared, Method):
        raise TypeError(f"{declared.name} is declared as a method but is none")
    return declared


def run_method(
    bound: ResolvedName,
    profiles: Profiles,
    worth: Worth,
    *,
    rng: np.random.Generator,
    start: NDArray[np.bool_] | None = None,
    lists: PersonalWordLists | None = None,
    progress: Progress = silent,
) -> KeptPairs:
    """Run the method on the log, or on each of its parts apart; `start` is what a weaker guarantee kept."""
    method = method_of(bound).load()
    if profiles.partition is None:
        more = {} if lists is None else {"lists": lists}
        kept: KeptPairs = method(profiles, bound, rng=rng, worth=worth, start=start, progress=progress, **more)
        return _not_empty(kept, bound)
    mask = np.zeros(len(profiles.ids), np.bool_)
    suppressed, chosen = 0, Counter[str]()
    for part in range(len(profiles.partition_values)):
        part_profiles, place = partition_profiles(profiles, part)
        if part_profiles.n_people < bound.integer("k"):
            suppressed += 1
            continue
        begun = None if start is None else start[place]
        kept = method(part_profiles, bound, rng=rng, worth=worth, start=begun, progress=progress)
        mask[place] = kept.mask
        chosen[kept.summary.get("chosen", kept.summary["algorithm"])] += 1
    parts = {"parts": len(profiles.partition_values), TOO_FEW: suppressed, "parts by what was chosen": dict(chosen)}
    return _not_empty(KeptPairs(mask, {"algorithm": bound["algorithm"], **parts}), bound)


def _not_empty(kept: KeptPairs, bound: ResolvedName) -> KeptPairs:
    if not kept.mask.any():
        raise GuaranteeError(f"{bound}: nothing would be left of the log; lower k or m, or give a larger log.")
    return kept


def histories_behind(content: Content) -> NDArray[np.int64]:
    """Return the history of the profiles behind every released id."""
    is_released = content.release_id >= 0
    order = np.argsort(np.where(is_released, content.release_id, len(is_released)), kind="stable")
    return order[: np.count_nonzero(is_released)]


def confirmed(
    release: Release, people: NDArray[np.int32], progress: Progress = silent, lists: PersonalWordLists | None = None
) -> Verdict:
    """Return the verdict on a release of ours, which must hold: a release that its verifier refuses is our bug."""
    verdict = check_release(release, release.manifest["guarantee"], people=people, lists=lists, progress=progress)
    return must_hold(verdict, release)


def must_hold(verdict: Verdict, release: Release) -> Verdict:
    """Return a verdict on a release of ours if it holds."""
    if not verdict.holds:
        raise InternalError(
            f"the release made for {release.manifest['method']} was refused by its own verifier ({verdict.state}), so "
            "nothing was released; please report this with the method's name and the size of the log."
        )
    return verdict
