"""The runs: clusters for every eps, generalising bags and sets, suppressing, for every k; each is verified."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.evidence import Evidence, Floor, Owners
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.experiments.liu.printed import EPSILONS, KS
from queryveil.experiments.runs import confirm, run_method
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.measures.utility import blm, patterns
from queryveil.measures.vocabularies import Vocabularies, released_from
from queryveil.semantics.network import Network

LG_BAG, LG_SET, SUPPRESSION = "LG (bag)", "LG (set)", "suppression"
SSC = {eps: f"SSC, ε = {eps}" for eps in EPSILONS}
SERIES = (*SSC.values(), LG_BAG, LG_SET, SUPPRESSION)


@dataclass(frozen=True)
class Outcome:
    """What one run kept, verified."""

    series: str
    method: str
    k: int
    seconds: float  # of the method alone
    blm: float
    lm: float
    recall: float  # % of the entries of frequent patterns
    sdist: float
    published: float  # % of the occurrences
    nothing_left: bool = False

    def as_record(self) -> dict[str, object]:
        """Return the figures by name, for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Task:
    """What all runs share."""

    profiles: Profiles
    network: Network
    n_patterns: int
    rng: np.random.Generator


def methods(k: int) -> Mapping[str, str]:
    """Return the method of each series for a k."""
    return {
        **{name: f"vocabulary(k={k}, eps={eps})" for eps, name in SSC.items()},
        LG_BAG: f"generalize(k={k})",
        LG_SET: f"generalize(k={k}, bags=false)",
        SUPPRESSION: f"suppress(k={k})",
    }


def run_grid(task: Task, progress: Progress = silent) -> list[Outcome]:
    """Make all runs, k outside."""
    wanted = [(k, series, name) for k in KS for series, name in methods(k).items()]
    return [
        run_once(task, series, name, k, within(f"run {number} of {len(wanted)}", progress))
        for number, (k, series, name) in enumerate(wanted, 1)
    ]


def within(stage: str, progress: Progress) -> Progress:
    """Return progress that says which run it is about."""
    return lambda inner, done, total: progress(f"{stage}: {inner}", done, total)


def publish(
    task: Task, name: str, progress: Progress = silent
) -> tuple[ResolvedName, PublishedVocabularies | None, float]:
    """Run a method and have the verifier look at what it publishes; None where nothing would be left."""
    bound = resolve("method", name)
    began = time.perf_counter()
    try:
        published = run_method(bound, task.profiles, task.rng, task.network, progress=progress)
    except GuaranteeError:
        return bound, None, time.perf_counter() - began
    seconds = time.perf_counter() - began
    _verify(task.profiles, published, bound, progress)
    return bound, published, seconds


def run_once(task: Task, series: str, name: str, k: int, progress: Progress = silent) -> Outcome:
    """Make one run and measure what it kept."""
    bound, published, seconds = publish(task, name, progress)
    if published is None:
        alone = resolve("measure", "patterns").integer("eps") + 1
        return Outcome(series, str(bound), k, seconds, 1.0, 1.0, 0.0, float(alone), 0.0, nothing_left=True)
    released, behind = released_from(published)
    eps = int(bound.values.get("eps", 0))
    evidence = Evidence.of(Vocabularies(task.profiles, released, behind, task.network, eps))
    scores = [
        *blm.compute_blm(evidence, resolve("measure", "blm"), rng=task.rng, progress=progress),
        *blm.compute_lm(evidence, resolve("measure", "lm"), rng=task.rng, progress=progress),
        *patterns.compute(
            evidence, resolve("measure", f"patterns(n={task.n_patterns})"), rng=task.rng, progress=progress
        ),
    ]
    loss, kept, as_sets, recall, distance = (float(score.value or 0.0) for score in scores)
    return Outcome(series, str(bound), k, seconds, loss, as_sets, recall, distance, kept)


def _verify(profiles: Profiles, published: PublishedVocabularies, bound: ResolvedName, progress: Progress) -> None:
    """Have the guarantee's verifier look at what is published."""
    released, behind = released_from(published)
    owners = Owners(profiles.owner[behind], behind, profiles.holders_by_text)
    confirm(bound, Evidence.of(released, owners, Floor()), progress=progress)
