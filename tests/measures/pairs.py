"""Small pairs of logs for tests, built from plain counts, and the measures as their formulas stand in the paper."""

from collections.abc import Mapping, Sequence
from math import log2

import numpy as np

from queryveil.core.evidence import Evidence, LogPair
from queryveil.core.names import resolve
from queryveil.core.results import Score

Counts = Mapping[str, int]
NIL = "\0"


def pair_of(people: Sequence[tuple[Counts, Counts]], sensitivity: Mapping[str, float] | None = None) -> LogPair:
    """Return the pair of people given as their queries before and after."""
    documents = sorted({query for sides in people for side in sides for query in side})
    rows = [[d for d in documents if before.get(d) or after.get(d)] for before, after in people]
    sides = list(zip(rows, people, strict=True))
    how = None if sensitivity is None else np.array([sensitivity[d] for row in rows for d in row], np.float64)
    return LogPair(
        np.cumsum([0, *map(len, rows)]),
        np.array([documents.index(d) for row in rows for d in row], np.int32),
        np.array([before.get(d, 0) for row, (before, _) in sides for d in row], np.int64),
        np.array([after.get(d, 0) for row, (_, after) in sides for d in row], np.int64),
        tuple(f"u{i}" for i in range(len(people))),
        how,
        how,
    )


def measure(name: str, pair: LogPair) -> list[Score]:
    """Take a measure by its text name."""
    resolved = resolve("measure", name)
    scores: list[Score] = resolved.declaration.load()(Evidence(pair), resolved, rng=np.random.default_rng(0))
    return scores


def value(name: str, pair: LogPair) -> float:
    """Return the first figure of a measure."""
    found = measure(name, pair)[0].value
    assert found is not None
    return found


def distribution(counts: Counts) -> dict[str, float]:
    """Return the probabilities of a person's queries, or one nil document."""
    total = sum(counts.values())
    return {query: count / total for query, count in counts.items() if count} if total else {NIL: 1.0}


def kld(weights: Mapping[str, float], x: Mapping[str, float], y: Mapping[str, float]) -> float:
    """Return WKLD(w, x‖y) as in the paper's Equation 3."""
    return sum(weights.get(d, 1.0) * p * log2(p / y[d]) for d, p in x.items())


def spi_twin(before: Counts, after: Counts, sensitivity: Mapping[str, float]) -> float:
    """Return SPI(u) = ½ WKLD(X‖M) + ½ WKLD(Y‖M), as written."""
    x, y = distribution(before), distribution(after)
    middle = {d: (x.get(d, 0.0) + y.get(d, 0.0)) / 2 for d in {*x, *y}}
    weights = {d: 1 - s for d, s in sensitivity.items()}
    return kld(weights, x, middle) / 2 + kld(weights, y, middle) / 2


def exposed_twin(before: Counts, after: Counts, sensitivity: Mapping[str, float]) -> float:
    """Return Σ σ(d) · P(d|X) · [d is released], as written."""
    return sum(sensitivity[d] * p for d, p in distribution(before).items() if after.get(d))


def pel_twin(before: Counts, after: Counts, estimate: str) -> float | None:
    """Return 100 · I(X;Y) / H(X) over all pairs (x, y); None where H(X) is 0."""
    x = distribution(before)
    entropy = -sum(p * log2(p) for p in x.values())
    if entropy == 0:
        return None
    if estimate == "paper":
        y = distribution(after) if sum(after.values()) else {}
        return 100 * sum(q * log2(1 / x[d]) for d, q in y.items() if d in x) / entropy
    total = sum(before.values())
    joint: dict[tuple[str, str], float] = {}
    for d, count in before.items():
        kept = min(count, after.get(d, 0))
        joint[d, d], joint[d, NIL] = kept / total, (count - kept) / total
    p_y: dict[str, float] = {}
    for (_, fate), p in joint.items():
        p_y[fate] = p_y.get(fate, 0.0) + p
    information = sum(p * log2(p / (x[d] * p_y[fate])) for (d, fate), p in joint.items() if p)
    return 100 * information / entropy
