"""The analyzer against its slow twin, one text at a time and in batches."""

from hypothesis import given
from hypothesis import strategies as st

from queryveil.search.analyzer import Analyzer, BatchAnalyzer
from tests.search import twin
from tests.search.test_index import SLOW, TEXTS


@given(texts=st.lists(st.one_of(TEXTS, st.text(max_size=20)), max_size=6))
@SLOW
def test_batches_are_analyzed_like_single_texts(texts: list[str]) -> None:
    analyzer = BatchAnalyzer()
    for part in (texts[:3], texts[3:]):
        batch = analyzer.analyze(part)
        single = [Analyzer().terms(text) for text in part]
        assert single == [twin.analyze(text) for text in part]
        assert batch.joined == [" ".join(terms) for terms in single]
        assert batch.lengths.tolist() == [len(terms) for terms in single]
        assert [analyzer.terms[number] for number in batch.term_ids] == [term for terms in single for term in terms]


def test_analysis_is_idempotent() -> None:
    words = ["the", "geese", "islands", "went", "glasses", "javanese", "xyzzy's", "Straße"]
    first = [term for word in words for term in Analyzer().terms(word)]
    assert first == ["goose", "island", "go", "glasses", "javanese", "xyzzy", "s", "straße"]
    assert [term for word in first for term in Analyzer().terms(word)] == first
    assert [term for word in first for term in Analyzer(set(first)).terms(word)] == first


def test_a_batch_analyzer_continues_the_numbering_of_given_terms() -> None:
    analyzer = BatchAnalyzer(["java", "island"])
    assert analyzer.analyze(["an island of coffee", "", "Java"]).term_ids.tolist() == [1, 2, 0]
    assert analyzer.terms == ["java", "island", "coffee"]
