"""p-linkability: people are published in groups of similar meaning.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010.

Where we read it differently, and why: the greedy is that of the prose (the pseudo-code never adds the seed); the mean
profile size is by default that of the group itself, since with the mean of all people one heavy user is a group;
terms that fewer than `floor` people hold are neither considered nor published; many people are grouped in blocks
unless the method has blocks=none. Terms are published once, sorted.
"""

from dataclasses import replace

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.histories.outcomes import Grouping, PreviousGroups
from queryveil.histories.profiles import Profiles
from queryveil.methods.base import MethodTask
from queryveil.methods.linkability.blocks import EXACT_UP_TO, group_all
from queryveil.methods.linkability.greedy import task_of
from queryveil.methods.linkability.principles import representatives, without_groups, without_rare
from queryveil.semantics.augmentation import FeatureMatrix, augment
from queryveil.semantics.network import Network


def run(task: MethodTask) -> Grouping:
    """Run the method as declared: group everybody, or extend the groups of an earlier release."""
    profiles, method, previous = task.profiles, task.method, task.inputs.find(PreviousGroups)
    if previous is None:  # the features are given away, so that their memory can be freed
        return group_profiles(profiles, _features_of(task), method, rng=task.rng, progress=task.progress)
    from queryveil.methods.linkability.incremental import extend_groups

    return extend_groups(profiles, _features_of(task), previous, method, rng=task.rng, progress=task.progress)


def _features_of(task: MethodTask) -> FeatureMatrix:
    """Return the semantic dimensions by which people are compared."""
    return augment(
        without_rare(task.profiles, task.method),
        task.inputs.get(Network),
        a=task.method.integer("a"),
        weighting="paper" if task.method.word("weighting") == "paper" else "content",
        unknown="keep",
        progress=task.progress,
    )


def group_profiles(
    profiles: Profiles,
    features: FeatureMatrix,
    method: ResolvedName,
    *,
    rng: np.random.Generator,
    exact_up_to: int = EXACT_UP_TO,
    progress: Progress = silent,
) -> Grouping:
    """Return groups of the histories, all legal by the principle, and what is published of each.

    Profiles have one history per person; histories are compared by their features. People who hold no publishable term,
    or fit nowhere, have no group. More people than `exact_up_to` are grouped in blocks, unless the method has none.
    """
    common = without_rare(profiles, method)
    usable = np.flatnonzero(np.diff(common.indptr))
    if method.word("blocks") == "none":
        exact_up_to = len(usable)
    task = task_of(common, features, method)
    del features
    group, blocks = group_all(task, usable, rng, exact_up_to, progress)
    del task
    made = representatives(common, group, method)
    made, _ = without_groups(made, np.diff(made.indptr) == 0)  # nothing may be published of them
    if not made.n_groups:
        raise GuaranteeError(
            f"{method}: the {len(usable):,} people with terms to publish make no legal group; "
            "take a larger p, a weaker principle or more people."
        )
    n_without = profiles.n_histories - len(usable)
    in_blocks = f"in {len(blocks):,} blocks of at most {max(blocks):,} people"
    summary = {
        "groups": made.n_groups,
        "people grouped": "all at once" if len(blocks) == 1 else in_blocks,
        "people without a usable term": n_without,
        "people who fit nowhere": int(np.count_nonzero(made.group < 0)) - n_without,
        "pairs below the floor": len(profiles.ids) - len(common.ids),
        **made.summary,
    }
    return replace(made, summary=summary)
