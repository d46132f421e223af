"""Words that a model lacks, by a file of vectors."""

from pathlib import Path

import numpy as np
import pytest

from queryveil.core.errors import InputError
from queryveil.sensitivity.model import SensitivityModel, load_model
from queryveil.sensitivity.unknown_words import LEAST_COSINE, learn_words
from queryveil.workflows.sensitivity import explain


def test_an_unknown_word_takes_the_weights_of_the_known_words_nearest_to_it(tmp_path: Path) -> None:
    model = SensitivityModel(("far", "fever", "rash", "soup"), np.array([9.0, 2.0, 1.0, -4.0]), -1.0)
    path = tmp_path / "own.txt"
    path.write_text("fever 127 0\nrash 100 60\nsoup -127 0\nfar 0 127\nxqzt 127 10\nlost 5 -127\nrash2 1 1\n")
    learnt = learn_words(model, ["xqzt", "lost", "fever", "absent"], path)
    assert set(learnt.words) == {*model.words, "xqzt"}  # no known word is near "lost"
    vector, near = np.array([127.0, 10.0]), {"fever": (127.0, 0.0), "rash": (127.0, 76.0)}  # 60 × 127 / 100 as a byte
    cosine = {word: vector @ row / np.linalg.norm(vector) / np.linalg.norm(row) for word, row in near.items()}
    assert min(cosine.values()) > LEAST_COSINE > vector @ (0.0, 1.0) / np.linalg.norm(vector)
    expected = (2.0 * cosine["fever"] + 1.0 * cosine["rash"]) / sum(cosine.values())
    assert dict(learnt.explain("xqzt").words)["xqzt"] == pytest.approx(expected, abs=1e-12)
    assert learnt.explain("fever soup") == model.explain("fever soup")


def test_a_query_is_explained_by_vectors_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("hepatitis 1 0\ncirrhosis 1 0.1\nsoup 0 1\nxqzt 1 0\n")
    assert explain("xqzt treatment").unknown == ("xqzt",)
    found = explain("xqzt treatment", vectors=path)
    assert dict(found.words)["xqzt"] > 0.5
    assert found.unknown == ()
    assert found.topic == "health"


@pytest.mark.parametrize("content", ["", "zzzq 1 0\n"])
def test_vectors_of_none_of_the_words_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "own.txt"
    path.write_text(content)
    with pytest.raises(InputError, match="has none of the words to compare; give vectors of the queries' language"):
        learn_words(load_model(), ["xqzt"], path)
