"""Tokenizers find the terms of `fold`, one by one or in a pool of threads."""

import numpy as np
import pyarrow as pa
import pytest

from queryveil.histories.tokens import Tokenizer, WholeTexts, tokenize
from queryveil.kernels.tokens import Phrases
from queryveil.logs.terms import terms


@pytest.mark.parametrize("charset", ["letters", "paper"])
def test_the_tokenizer_grows_and_finds_the_terms_of_fold(charset: str) -> None:
    generator = np.random.default_rng(3)
    tokenizer = Tokenizer(charset)
    alphabet = list("abcXYZ019 -éØûМİ")
    found: list[list[str]] = []
    texts: list[str] = []
    for size in (0, 1, 3_000, 5_000):
        batch = ["".join(generator.choice(alphabet, generator.integers(0, 30))) for _ in range(size)]
        rows, numbers = tokenizer.add(pa.array(batch, pa.string()))
        words = tokenizer.vocabulary()
        of_row: list[list[str]] = [[] for _ in batch]
        for row, number in zip(rows, numbers, strict=True):
            of_row[row].append(words[number].as_py())
        found += of_row
        texts += batch
    assert found == [list(dict.fromkeys(terms(text, charset))) for text in texts]
    assert len(set(tokenizer.vocabulary().to_pylist())) == tokenizer.n_terms


def test_a_term_counts_once_per_query_except_with_repeats() -> None:
    queries = pa.array(["a b a", "", "b"])
    once, every = Tokenizer(), Tokenizer(repeats=True)
    assert [column.tolist() for column in once.add(queries)] == [[0, 0, 2], [0, 1, 1]]
    assert [column.tolist() for column in every.add(queries)] == [[0, 0, 0, 2], [0, 1, 0, 1]]


def test_whole_texts_are_numbered_unchanged() -> None:
    texts = WholeTexts()
    rows, numbers = texts.add(pa.array(["New York", "", "new york", "New York"]))
    assert (rows.tolist(), numbers.tolist()) == ([0, 2, 3], [0, 1, 0])
    assert texts.vocabulary().to_pylist() == ["New York", "new york"]


def test_weights_of_distinct_known_terms_add_up() -> None:
    tokenizer = Tokenizer()
    tokenizer.add(pa.array(["flu soup"]))
    phrases = Phrases(np.array([0, 1, 1]), np.array([1], np.int32), np.array([-4.0]))  # "flu soup"
    texts = pa.array(["Soup soup", "flu and soup tea", "", "soup flu"])
    sums, counts = tokenizer.weigh(texts, np.array([2.0, 0.5]), phrases)
    assert sums.tolist() == [[0.5, 0.0], [2.5, -4.0], [0.0, 0.0], [2.5, 0.0]]
    assert counts.tolist() == [1, 2, 0, 2]
    assert tokenizer.n_terms == 2


@pytest.mark.parametrize("kind", [Tokenizer, WholeTexts])
@pytest.mark.parametrize("n_workers", [1, 3])
def test_a_pool_gives_every_batch_common_numbers(kind: type, n_workers: int) -> None:
    batches = [["b a"], ["a", "c a"], [""], ["c", "b a", "d"]]
    numbered = ((number % n_workers, pa.array(batch, pa.string())) for number, batch in enumerate(batches))
    found, words = tokenize([kind() for _ in range(n_workers)], numbered)
    entries = words.to_pylist()
    assert len(entries) == len(set(entries))
    for batch, (rows, numbers) in zip(batches, found, strict=True):
        by_row: list[list[str]] = [[] for _ in batch]
        for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
            by_row[row].append(entries[number])
        assert by_row == [text.split() if kind is Tokenizer else [text] * bool(text) for text in batch]


def test_a_batch_can_be_sent_to_a_worker() -> None:
    found, words = tokenize([Tokenizer(), Tokenizer()], ((1, pa.array([text])) for text in ("a", "b")))
    assert [words[int(numbers[0])].as_py() for _, numbers in found] == ["a", "b"]
