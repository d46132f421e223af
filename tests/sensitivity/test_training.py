from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB

from queryveil.core.errors import InputError, OutputError
from queryveil.sensitivity.training import Examples, TrainingOptions, cross_validate, features, score_predictions, train
from queryveil.workflows.sensitivity import train as train_file

TEXTS = ["flu fever", "fever pill", "flu flu pill", "soup bread", "bread butter", "soup", "butter tea"]
LABELS = [True, True, True, False, False, False, False]


def examples(texts: list[str], labels: list[bool]) -> Examples:
    return Examples(tuple(map(features, texts)), np.array(labels), np.arange(len(texts)), np.ones(len(texts)))


def test_weights_are_those_of_naive_bayes() -> None:
    made = examples(TEXTS, LABELS)
    model = train(made)
    words = sorted(frozenset().union(*made.features))
    matrix = np.array([[word in text for word in words] for text in made.features])
    weights = np.where(LABELS, 7 / 6, 7 / 8)  # both classes weigh the same
    bayes = BernoulliNB(class_prior=[4 / 7, 3 / 7]).fit(matrix, LABELS, sample_weight=weights)
    assert model.probabilities(TEXTS) == pytest.approx(bayes.predict_proba(matrix)[:, 1], abs=1e-3)


def test_the_probability_of_an_unknown_text_can_be_set() -> None:
    model = train(examples(TEXTS, LABELS), TrainingOptions(unknown=0.25))
    assert model.probabilities(["zzz"])[0] == pytest.approx(0.25, abs=1e-4)


def test_a_group_is_never_split() -> None:
    texts = [f"w{i}" for i in range(20)] * 3
    made = Examples(
        tuple(map(features, texts)), np.array(([True] * 10 + [False] * 10) * 3), np.arange(60) % 20, np.ones(60)
    )
    found = cross_validate(made, rng=np.random.default_rng(1))
    # trained without anything of its group, a model knows no word of a text and says the same of all
    assert found.balanced_accuracy == 0.5


def test_cross_validation_of_separable_texts() -> None:
    made = examples([f"flu a{i}" for i in range(15)] + [f"bread b{i}" for i in range(30)], [True] * 15 + [False] * 30)
    found = cross_validate(made, rng=np.random.default_rng(1))
    assert (found.texts, found.sensitive, found.accuracy, found.precision, found.recall) == (45, 15, 1.0, 1.0, 1.0)
    assert sum(b.texts for b in found.bins) == 45


def test_scores_of_four_predictions() -> None:
    found = score_predictions(np.array([0.9, 0.6, 0.4, 0.1]), np.array([True, False, True, False]))
    assert (found.accuracy, found.balanced_accuracy, found.precision, found.recall) == (0.5, 0.5, 0.5, 0.5)
    assert found.calibration_error == pytest.approx((0.1 + 0.6 + 0.6 + 0.1) / 4)


def write_labels(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    return path


def test_too_few_of_a_class(tmp_path: Path) -> None:
    path = write_labels(tmp_path, "query,label\na,1\nb,0\n")
    with pytest.raises(InputError, match="1 different texts are labelled not sensitive; 10-fold"):
        train_file(path, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_training_writes_a_model_and_replaces_only_models(tmp_path: Path) -> None:
    rows = [f"flu pill{i},sensitive" for i in range(12)] + [f"bread tea{i},neutral" for i in range(12)]
    path = write_labels(tmp_path, "query,label\n" + "\n".join(rows))
    done = train_file(path, tmp_path / "model")
    again = train_file(path, tmp_path / "model", force=True)
    assert done.scores == again.scores
    assert done.scores.accuracy == 1.0
    with pytest.raises(OutputError, match="exists already"):
        train_file(path, tmp_path / "model")
    with pytest.raises(OutputError, match="is not a sensitivity model"):
        train_file(path, path, force=True)
