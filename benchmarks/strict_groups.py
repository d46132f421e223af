"""What `posterior` and `belief` cost: how like people are to what is published, as a share of what `mean` reaches.

`python -m benchmarks.strict_groups` (some minutes). The share depends on what is compared, so all of it is shown: over
terms and over meaning (`benchmarks.likeness`), with weights of 1 and by tf-idf, with the floor there is by default,
⌈1/p⌉, and with floor=1 as in the paper. `mean` always has the same weights and floor. Over terms no groups whatever
exceed a bound: with at most a share h of a group's members holding a published term, the mean cosine is at most the
root of the mean over people of the sum of h·û² over the terms that may be published, û being a profile at unit length.
"""

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.common import SMALL, Figures, main, make_log
from benchmarks.groups import of_equal_length, run_timed
from benchmarks.likeness import in_meaning, in_terms, unit_weights
from queryveil.api import profiles as read_profiles
from queryveil.core.names import ResolvedName, resolve
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability.principles import (
    floor_of,
    highest_shares,
    population_of,
    representatives,
    without_rare,
)
from queryveil.semantics.augmentation import Weights, augment, weighted
from queryveil.semantics.network import wordnet

BARS = {0.4: 0.85, 0.1: 0.75}  # of the cosine that `mean` reaches
WEIGHTS: tuple[Weights, ...] = ("paper", "tfidf")
FLOORS = ("", ", floor=1")


def measure(users: int | None) -> Figures:
    """Measure at the paper's size and on the demo log of 20,000 people; there is no larger form."""
    with tempfile.TemporaryDirectory() as folder:
        paper = of_equal_length(read_profiles(make_log(Path(folder), 3 * SMALL, "aol")))
    with tempfile.TemporaryDirectory() as folder:
        demo = read_profiles(make_log(Path(folder), SMALL, "demo"))
    return {
        label: figure
        for name, profiles in (("720 × 150", paper), ("demo", demo))
        for weights, floor in product(WEIGHTS, FLOORS)
        for label, figure in _shares(f"{name}, weights={weights}{floor}", weighted(profiles, weights), floor)
    }


def _shares(name: str, profiles: Profiles, floor: str) -> Iterator[tuple[str, str]]:
    """Yield what posterior and belief reach of the cosines of `mean`, next to suppressing afterwards and the bound."""
    features = augment(profiles, wordnet(), a=1)
    for p, least in BARS.items():
        mean, _ = run_timed(profiles, features, f"linkability(p={p}{floor})")
        reached = _cosines(profiles, mean)
        for principle in ("posterior", "belief"):
            bound = resolve("method", f"linkability(p={p}, principle={principle}{floor})")
            made, _ = run_timed(profiles, features, str(bound))
            after = representatives(without_rare(profiles, bound), mean.group, bound)
            label = f"{name}, {principle}, p={p}: of mean's cosine over terms / over meaning (bar: ≥ {least})"
            chosen, suppressed = (_ratios(_cosines(profiles, each), reached) for each in (made, after))
            most = f"over terms no groups exceed {_bound(profiles, bound) / reached[0]:.3f}"
            yield label, f"{chosen} (suppressing afterwards: {suppressed}; {most})"


def _cosines(profiles: Profiles, made: Grouping) -> tuple[float, float]:
    return in_terms(profiles, made), in_meaning(profiles, made)


def _ratios(cosines: tuple[float, float], reached: tuple[float, float]) -> str:
    return " / ".join(f"{cosine / of_mean:.3f}" for cosine, of_mean in zip(cosines, reached, strict=True))


def _bound(profiles: Profiles, bound: ResolvedName) -> float:
    """Return what the mean cosine over terms cannot exceed, whatever the groups."""
    highest = highest_shares(population_of(profiles), bound)
    if highest is None:
        raise ValueError(f"{bound}: its principle bounds no term by itself")
    people = np.bincount(profiles.ids, minlength=len(profiles.vocabulary))
    allowed = np.where(people >= floor_of(bound), np.minimum(1.0, highest), 0.0)
    return float(np.sqrt((unit_weights(profiles) ** 2 * allowed[profiles.ids]).sum() / profiles.n_histories))


if __name__ == "__main__":
    main(measure)
