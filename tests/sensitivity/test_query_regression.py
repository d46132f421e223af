import math

import numpy as np

from scripts.query_regression import EXPONENT, HALVING, Features, Floats, encode, fit

QUERIES = [("prison",), ("ohio",), ("ohio", "prison"), ("ohio", "map"), ("map",), ("breast", "stroke"), ("breast",)]
SENSITIVE = np.array([True, False, True, False, False, False, True])
KNOWN = {word: np.array([float(i), 1.0]) for i, word in enumerate(("prison", "ohio", "map", "breast", "stroke"))}
SCALES = {"own": 6.0, "phrase": 4.0, "lemma": 3.0}
TOPICS = {("breast", "stroke"): -1.0, ("ohio", "map"): 0.5}
PRIOR = -0.5


def twin_loss(features: Features, weights: list[Floats]) -> float:
    """Return the penalized loss of weights, query by query."""
    known, own, topics, phrase = (np.asarray(getattr(b, "todense", lambda b=b: b)()) for b in features.blocks)
    values = [*(known @ weights[0] + own @ weights[1]), *(topics @ weights[2] + phrase @ weights[3])]
    total = sum(float(part @ part) for part in weights) / 2
    for row, query in enumerate(QUERIES):
        found = [values[thing] for thing, at in zip(features.held, features.query, strict=True) if at == row]
        above, below = sum(v for v in found if v > 0), sum(v for v in found if v < 0)
        odds = PRIOR + (above + below / (1 + above / HALVING)) / len(query) ** EXPONENT
        total += math.log1p(math.exp(-odds if SENSITIVE[row] else odds))
    return total


def test_no_weights_near_the_fitted_ones_lose_less() -> None:
    features, _, _ = encode(QUERIES, KNOWN, TOPICS, SCALES)
    found = fit(features, SENSITIVE, np.ones(len(QUERIES)), PRIOR)
    least = twin_loss(features, found)
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = [part + rng.normal(0, 0.05, len(part)) for part in found]
        assert twin_loss(features, near) > least


def test_words_of_one_base_form_share_a_weight_and_phrases_have_their_own() -> None:
    features, own, phrases = encode([("prisons",), ("prison", "ohio")], KNOWN | {"prisons": np.zeros(2)}, {}, SCALES)
    assert own == {"prison": 0, "ohio": 1}
    assert phrases == {("prison", "ohio"): 0}
    assert features.own.toarray().tolist() == [[6.0, 0.0], [6.0, 0.0], [0.0, 6.0]]
    assert (features.held.tolist(), features.query.tolist()) == ([0, 1, 2, 3], [0, 1, 1, 1])
