"""The runs of the evaluation: clustering (SSC) for every ε, generalization (LG) and suppression, for every k."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.evidence import Evidence, Floor, Owners
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, nested_progress, silent
from queryveil.experiments.paper import RunTally, confirm, run_method
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.measures.utility import blm, patterns
from queryveil.measures.vocabularies import Vocabularies, released_from
from queryveil.semantics.network import Network

KS = (2, 5, 10, 20)
LG_BAG, LG_SET, SUPPRESSION = "LG (bag)", "LG (set)", "suppression"
SSC = {eps: f"SSC, ε = {eps}" for eps in (4, 6, 8)}
# by the letter of the paper: the first vocabulary that is left begins a cluster, any term may be published, ω ≫ ε
AS_PUBLISHED = {
    "SSC as published, first model": "vocabulary(k={k}, eps={eps}, model=maximum, seed_rule=first, floor=1)",
    "SSC as published, second model": "vocabulary(k={k}, eps={eps}, omega=100, seed_rule=first, floor=1)",
}
FIRST_MODEL, SECOND_MODEL = AS_PUBLISHED
PUBLISHED_EPS = 8  # the paper gives none; with this one SSC does best here
SERIES = (*SSC.values(), *AS_PUBLISHED, LG_BAG, LG_SET, SUPPRESSION)


@dataclass(frozen=True)
class VocabularyRun:
    """What one verified run kept."""

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


@dataclass(frozen=True, eq=False)
class VocabularySetup:
    """What all runs share."""

    profiles: Profiles
    network: Network
    n_patterns: int
    rng: np.random.Generator
    tally: RunTally = field(default_factory=RunTally)


def methods(k: int) -> Mapping[str, str]:
    """Return the method of each series for a k."""
    return {
        **{name: f"vocabulary(k={k}, eps={eps})" for eps, name in SSC.items()},
        **{name: method.format(k=k, eps=PUBLISHED_EPS) for name, method in AS_PUBLISHED.items()},
        LG_BAG: f"generalize(k={k})",
        LG_SET: f"generalize(k={k}, bags=false)",
        SUPPRESSION: f"suppress(k={k})",
    }


def run_grid(setup: VocabularySetup, progress: Progress = silent) -> list[VocabularyRun]:
    """Make all runs, ordered by k and series."""
    cells = [(k, series, name) for k in KS for series, name in methods(k).items()]
    return [
        run_once(setup, series, name, k, nested_progress(f"run {number} of {len(cells)}", progress))
        for number, (k, series, name) in enumerate(cells, 1)
    ]


def publish(
    setup: VocabularySetup, name: str, progress: Progress = silent
) -> tuple[ResolvedName, PublishedVocabularies | None, float]:
    """Run a method and verify what it publishes, None if nothing would be left; return also its seconds."""
    method = resolve("method", name)
    began = time.perf_counter()
    try:
        published: PublishedVocabularies = run_method(
            method, setup.profiles, setup.rng, setup.network, progress=progress
        )
    except GuaranteeError:
        setup.tally.empty += 1
        return method, None, time.perf_counter() - began
    seconds = time.perf_counter() - began
    released, history_of = released_from(published)
    owners = Owners(setup.profiles.owner[history_of], history_of, setup.profiles.holders_by_text)
    confirm(method, Evidence(released, owners, Floor()), setup.tally, progress=progress)
    return method, published, seconds


def run_once(setup: VocabularySetup, series: str, name: str, k: int, progress: Progress = silent) -> VocabularyRun:
    """Run a method, verify the result and measure it."""
    method, published, seconds = publish(setup, name, progress)
    if published is None:
        no_match = resolve("measure", "patterns").integer("eps") + 1
        return VocabularyRun(series, str(method), k, seconds, 1.0, 1.0, 0.0, float(no_match), 0.0, nothing_left=True)
    released, history_of = released_from(published)
    eps = int(method.values.get("eps", 0))
    evidence = Evidence(Vocabularies(setup.profiles, released, history_of, setup.network, eps))
    measures = {
        "blm": blm.measure_blm,
        "lm": blm.measure_lm,
        f"patterns(n={setup.n_patterns})": patterns.measure_patterns,
    }
    loss, kept, loss_as_sets, recall, distance = (
        float(score.value or 0.0)
        for measure, compute in measures.items()
        for score in compute(evidence, resolve("measure", measure), rng=setup.rng, progress=progress)
    )
    return VocabularyRun(series, str(method), k, seconds, loss, loss_as_sets, recall, distance, kept)
