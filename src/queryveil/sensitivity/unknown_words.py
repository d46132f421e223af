"""The sensitivity of words that a model lacks, by the words that a user's word vectors say are used most like them.

The bundled model was trained on the bundled vectors, so that it has a weight for every word of theirs. A word of a
user's vectors that the model lacks takes the mean of the weights of the known words nearest to it, by their cosines.
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from queryveil.semantics.word_vectors import cosines, read_vectors
from queryveil.sensitivity.model import SensitivityModel

NEIGHBOURS = 10
LEAST_COSINE = 0.35  # below that, a known word says nothing about another


def learn_words(model: SensitivityModel, words: Collection[str], path: Path) -> SensitivityModel:
    """Return the model with those of the words that it lacks and that are near known words in a file of vectors."""
    weight_of = dict(zip(model.words, model.weights.tolist(), strict=True))
    lacking = frozenset(words) - weight_of.keys()
    vectors = read_vectors(path, lambda word: word in lacking or word in weight_of)
    number = {word: i for i, word in enumerate(vectors.words)}
    known, found = ([word for word in number if (word in lacking) == is_lacking] for is_lacking in (False, True))
    rows, own = (vectors.select([number[word] for word in some]).rows for some in (known, found))
    weights = np.array([weight_of[word] for word in known])
    learnt = {}
    for word, cosine in zip(found, cosines(own, rows), strict=True):
        nearest = np.argsort(-cosine, kind="stable")[:NEIGHBOURS]
        nearest = nearest[cosine[nearest] >= LEAST_COSINE]
        if len(nearest):
            learnt[word] = float(np.average(weights[nearest], weights=cosine[nearest]))
    return model.with_weights(learnt)
