"""The slow, obvious twin of an index: BM25 and tf-idf cosines written out, on dictionaries."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.logs.terms import terms
from queryveil.semantics.lemmas import lemmatize

K1, B, TITLE_BOOST = 1.2, 0.75, 2.0  # tantivy's constants, and our boost


def analyze(text: str) -> list[str]:
    """Return the index terms of a text."""
    return [lemmatize(word) or word for word in terms(text) if word not in STOP_WORDS]


def vectors(documents: Sequence[str]) -> list[dict[str, float]]:
    """Return the tf-idf vector of every document, of unit length."""
    counts = [Counter(analyze(text)) for text in documents]
    holders = Counter(term for count in counts for term in count)
    found = []
    for count in counts:
        raw = {t: (1 + math.log(n)) * math.log(1 + len(documents) / holders[t]) for t, n in count.items()}
        length = math.sqrt(sum(weight**2 for weight in raw.values())) or 1.0
        found.append({term: weight / length for term, weight in raw.items()})
    return found


def profile(weights: Mapping[str, float], known: set[str]) -> dict[str, float]:
    """Return a profile over known terms, of unit length."""
    raw: dict[str, float] = {}
    for text, weight in weights.items():
        for term in analyze(text):
            if term in known:
                raw[term] = raw.get(term, 0.0) + weight
    length = math.sqrt(sum(weight**2 for weight in raw.values())) or 1.0
    return {term: weight / length for term, weight in raw.items()}


def cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Return the cosine of two vectors of unit length."""
    return sum(weight * b.get(term, 0.0) for term, weight in a.items())


def blended(
    engine: Sequence[float], cosines: Sequence[Sequence[float]], blend: float, shrink: float, query_weight: float
) -> list[float]:
    """Return the scores of documents from the engine's and the cosines with group, everybody and query."""
    similarity = [(1 - shrink) * g + shrink * e + query_weight * q for g, e, q in zip(*cosines, strict=True)]
    if blend == 0:
        return similarity
    pairs = zip(z_scores(engine), z_scores(similarity), strict=True)
    return [blend * score + (1 - blend) * alike for score, alike in pairs]


def z_scores(values: Sequence[float]) -> list[float]:
    """Return z-scores, 0 where all values are the same but for rounding."""
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [0.0 if spread <= 1e-6 * max(map(abs, values)) else (value - mean) / spread for value in values]


def bm25(query: str, titles: Sequence[str], texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of every document, with exact lengths; tantivy rounds those above 40 terms."""
    scores = [0.0] * len(texts)
    for field, boost in ((titles, TITLE_BOOST), (texts, 1.0)):
        documents = [analyze(text) for text in field]
        mean = sum(map(len, documents)) / len(documents)
        for term in dict.fromkeys(analyze(query)):
            holders = sum(term in document for document in documents)
            idf = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
            for i, document in enumerate(documents):
                n = document.count(term)
                if n:
                    scores[i] += boost * idf * (1 + K1) * n / (n + K1 * (1 - B + B * len(document) / mean))
    return scores
