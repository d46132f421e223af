"""Training a sensitivity model on a user's labels, and explaining what a model says of a query."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from queryveil.core.display import Brief
from queryveil.core.errors import InputError
from queryveil.core.files import check_replaceable, write_new_file
from queryveil.core.progress import Progress, silent
from queryveil.logs.terms import terms
from queryveil.sensitivity.model import Explanation, SensitivityModel, is_model, load_model, model_bytes
from queryveil.sensitivity.topics import SENSITIVE, topic_of

if TYPE_CHECKING:  # scikit-learn takes long to import
    from queryveil.sensitivity.training import ClassifierScores


@dataclass(frozen=True, repr=False)
class Trained(Brief):
    """A model that was trained and written, and its scores in cross-validation."""

    _shown = ("path", "model")
    path: Path
    model: SensitivityModel
    scores: "ClassifierScores"


def train(labelled: Path, out: Path, *, seed: int = 0, force: bool = False, progress: Progress = silent) -> Trained:
    """Train a model on labelled queries, score it by 10-fold cross-validation, and write it."""
    check_replaceable(out, "a sensitivity model", is_model, overwrite=force)
    from queryveil.sensitivity.training import cross_validate, read_labels
    from queryveil.sensitivity.training import train as fit

    examples = read_labels(labelled)
    scores = cross_validate(examples, rng=np.random.default_rng(seed), progress=progress)
    model = fit(examples, name=f"{scores.texts:,} labelled queries")
    write_new_file(out, model_bytes(model), overwrite=force)
    return Trained(out, model, scores)


def explain(
    query: str, *, model: Path | None = None, words: Path | None = None, vectors: Path | None = None
) -> Explanation:
    """Say how likely a query is sensitive, what it is then about, and which of its words weigh how much."""
    if not query.strip():
        raise InputError("there is no query to explain; give some words.")
    loaded = load_model(model, words)
    if vectors is not None:
        from queryveil.sensitivity.unknown_words import learn_words

        loaded = learn_words(loaded, terms(query), vectors)
    found = loaded.explain(query)
    is_sensitive = bool(found.words) and found.probability >= SENSITIVE
    return replace(found, topic=topic_of(found.words)) if is_sensitive else found
