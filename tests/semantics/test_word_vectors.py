from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from queryveil.core.errors import InputError
from queryveil.semantics.word_vectors import WordVectors, bundled_vectors, cosines, read_vectors, to_bytes


def anything(word: str) -> bool:
    return True


def test_the_bundled_table_tells_what_words_are_used_alike() -> None:
    vectors = bundled_vectors()
    assert vectors.rows.shape == (150_000, 100)
    number = {word: i for i, word in enumerate(vectors.words)}
    toyota, car, soup = (vectors.rows[[number[word]]] for word in ("toyota", "car", "soup"))
    assert cosines(toyota, car)[0, 0] > 0.4 > cosines(toyota, soup)[0, 0]


@given(
    arrays(np.int8, (3, 4), elements=st.integers(-127, 127)), arrays(np.int8, (5, 4), elements=st.integers(-127, 127))
)
def test_cosines_are_those_of_the_formula(some: np.ndarray, others: np.ndarray) -> None:
    for i, one in enumerate(some.astype(float)):
        for j, other in enumerate(others.astype(float)):
            norms = np.linalg.norm(one) * np.linalg.norm(other)
            expected = float(one @ other) / norms if norms else 0.0
            assert cosines(some, others)[i, j] == pytest.approx(expected)


def test_bytes_keep_directions_and_do_not_change_again() -> None:
    rows = to_bytes(np.array([[0.5, -1.0, 0.25], [0.0, 0.0, 0.0]]))
    assert rows.tolist() == [[64, -127, 32], [0, 0, 0]]
    assert np.array_equal(to_bytes(rows.astype(float)), rows)


@pytest.mark.parametrize("header", ["", "2 3\n"])
def test_text_of_word2vec_and_glove_is_read(tmp_path: Path, header: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(f"{header}Tea 1 0 0\ncar 0 2 0\ntea 0 0 9\n")
    found = read_vectors(path, anything)
    assert found.words == ("tea", "car")
    assert found.rows.tolist() == [[127, 0, 0], [0, 127, 0]]
    assert read_vectors(path, lambda word: word == "car").words == ("car",)


def test_a_matrix_is_read_with_the_words_beside_it(tmp_path: Path) -> None:
    np.save(tmp_path / "own.npy", np.array([[1, 0], [0, 3]], np.float32))
    (tmp_path / "own.txt").write_text("tea\ncar\n")
    assert read_vectors(tmp_path / "own.npy", anything).rows.tolist() == [[127, 0], [0, 127]]


def test_vectors_written_as_text_are_read_back(tmp_path: Path) -> None:
    vectors = WordVectors(("tea", "car"), np.array([[127, -3], [5, 127]], np.int8))
    (tmp_path / "some.txt").write_text(vectors.as_text())
    assert np.array_equal(read_vectors(tmp_path / "some.txt", anything).rows, vectors.rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"tea 1 0 0\ncar 0 2\n", r"line 2 has 2 numbers, not 3 as those before it; correct that line\.$"),
        (b"tea\n", r"line 1 has 0 numbers, not 2 or more; correct that line\.$"),
        (b"tea 1 0\ncar 1 x\n", r"line 2 has a component that is no number; correct that line\.$"),
        (b"tea 1 nan\n", r"line 1 has a component that is no number; correct that line\.$"),
        (b"t\xe9 1 0\n", r"is not text in UTF-8; save it as such\.$"),
        (b"", r"has none of the words to compare; give vectors of the queries' language\.$"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(InputError, match=f"--vectors: .*{message}"):
        read_vectors(tmp_path / "bad.txt", anything)


def test_a_bad_matrix_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "own.npy"
    for content in (b"no matrix", b""):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is no NumPy matrix; save it by numpy\.save\.$"):
            read_vectors(path, anything)
    np.save(path, np.ones((3, 2)))
    with pytest.raises(InputError, match=r"there is no file .*own\.txt; check the path\.$"):
        read_vectors(path, anything)
    (tmp_path / "own.txt").write_text("tea\ncar\n")
    with pytest.raises(InputError, match=r"shape \(3, 2\), and .* has 2 words; a matrix of numbers with a row"):
        read_vectors(path, anything)
    for matrix in (np.ones((2, 1)), np.ones(2), np.ones((2, 2), np.complex128), np.ones((2, 2), np.bool_)):
        np.save(path, matrix)
        with pytest.raises(InputError, match=rf"of {matrix.dtype} of shape .*of 2 numbers or more, is needed\.$"):
            read_vectors(path, anything)
    np.save(path, np.array([[1.0, 0.0], [0.0, np.inf]]))
    with pytest.raises(InputError, match=r"has a row with a component that is no number; correct it\.$"):
        read_vectors(path, anything)
    (tmp_path / "own.txt").write_bytes(b"t\xe9\ncar\n")
    with pytest.raises(InputError, match=r"own\.txt is not text in UTF-8; save it as such\.$"):
        read_vectors(path, anything)
