"""p-linkability: people are published in groups alike in meaning.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010.

Where we read it differently, and why: the greedy is that of the prose (the pseudo-code never adds the seed); the mean
profile size is by default that of the group itself, since with the mean of all people one heavy user is a group;
nobody's term that fewer than `floor` people hold is looked at or published. Terms are published once, sorted.
"""

from dataclasses import replace

import numpy as np

from queryveil.errors import GuaranteeError
from queryveil.kernels.grouping import make_tally
from queryveil.methods.linkability.greedy import ANYBODY, Likeness, greedy, rows_of, take
from queryveil.methods.linkability.principles import rule_for, without_rare
from queryveil.methods.linkability.representatives import representatives
from queryveil.spec import Bound
from queryveil.types import Features, Grouped, Profiles, Progress, silent


def run(
    profiles: Profiles,
    features: Features,
    bound: Bound,
    *,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Grouped:
    """Return groups of the histories, all legal by the principle, and what is published of each.

    Profiles have one history per person; features say what histories are compared by. Who holds no term that may be
    published, or fits nowhere, has no group.
    """
    common = without_rare(profiles, bound)
    usable = np.flatnonzero(np.diff(common.indptr))
    rows = take(rows_of(common, features), usable)
    likeness = Likeness(bound.word("closest") == "seed", float(bound.values.get("min_similarity", ANYBODY)))
    group = np.full(profiles.n_histories, -1, np.int32)
    if len(usable):
        tally = make_tally(len(profiles.vocabulary))
        seed = int(rng.integers(len(usable)))
        group[usable] = greedy(
            rows, rule_for(common, bound), likeness, tally, seed, lambda done: progress("grouping", done, len(usable))
        )
    made = representatives(common, group, bound)
    if not made.n_groups:
        raise GuaranteeError(
            f"{bound}: the {len(usable):,} people with terms to publish make no legal group; "
            "take a larger p, a weaker principle or more people."
        )
    return replace(made, summary=_summary(profiles, common, made))


def _summary(profiles: Profiles, common: Profiles, made: Grouped) -> dict[str, object]:
    """Say what was done, in counts."""
    without = int(np.count_nonzero(np.diff(common.indptr) == 0))
    return {
        "groups": made.n_groups,
        "people without a usable term": without,
        "people who fit nowhere": int(np.count_nonzero(made.group < 0)) - without,
        "pairs below the floor": len(profiles.ids) - len(common.ids),
        **made.summary,
    }
