"""Tables 1 to 5: the paper's four example profiles, augmented and grouped by our code."""

from collections.abc import Iterable, Sequence

import numpy as np

from queryveil.core.names import resolve
from queryveil.core.rows import indptr_of
from queryveil.experiments.zhu import printed
from queryveil.histories.profiles import Profiles, Vocabulary
from queryveil.methods.linkability import group_profiles
from queryveil.report.reproduction import PaperTable
from queryveil.semantics.augmentation import augment
from queryveil.semantics.network import wordnet

_SEED = 1  # of a generator that draws UP_1 or UP_2 as the first seed: else who is left over makes other groups


def example() -> Profiles:
    """Return the profiles of Table 1."""
    words = sorted({term for profile in printed.TABLE_1.values() for term in profile})
    rows = [sorted((words.index(term), weight) for term, weight in row.items()) for row in printed.TABLE_1.values()]
    pairs = [pair for row in rows for pair in row]
    return Profiles(
        Vocabulary(tuple(words)),
        indptr_of([len(row) for row in rows]),
        np.array([term for term, _ in pairs], np.int32),
        np.ones(len(pairs), np.int32),
        np.arange(len(rows), dtype=np.int32),
        tuple(printed.TABLE_1),
        weights=np.array([weight for _, weight in pairs]),
    )


def example_tables() -> tuple[PaperTable, ...]:
    """Return tables 1 to 5, the paper's beside ours."""
    profiles = tuple((name, _written(row.items())) for name, row in printed.TABLE_1.items())
    return (
        PaperTable("Table 1", "An example profile set with 4 users", ("", "profile"), profiles, (0, 1)),
        _synonyms(),
        _augmented("Table 3", "The augmented profiles after synonym replacement", 0),
        _augmented("Table 4", "The augmented profiles after hypernym augmentation", 1),
        _groups(),
    )


def similarity(a: int) -> float:
    """Return the semantic similarity of UP_1 and UP_2."""
    features = augment(example(), wordnet(), a=a, weighting="paper")
    rows = np.zeros((2, features.n_dimensions))
    for person in range(2):
        part = slice(features.indptr[person], features.indptr[person + 1])
        rows[person, features.ids[part]] = features.values[part]
    return float(rows[0] @ rows[1] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[1]))


def sets_of(term: str, a: int) -> list[tuple[str, ...]]:
    """Return the synonym set of a term's first sense and the hypernym sets at most `a` steps above it."""
    network = wordnet()
    word = network.find(term)
    first = network.senses[network.sense_indptr[word or 0]]
    return [network.words_of(node) for node in network.paths(int(first))[0][: a + 1]]


def _synonyms() -> PaperTable:
    rows = tuple((term, _set(theirs), _set(sets_of(term, 0)[0])) for term, theirs in printed.TABLE_2.items())
    return PaperTable("Table 2", "Example synonym sets", ("term", "paper", "ours"), rows, (0, 1, 2))


def _augmented(name: str, caption: str, a: int) -> PaperTable:
    rows = []
    for person in ("UP_1", "UP_2"):
        steps = [(sets_of(term, a), weight) for term, weight in printed.TABLE_1[person].items()]
        # the synonym sets first, then the sets one step above them, as the paper prints them
        rows.append((person, _written((_set(sets[k]), weight) for k in range(a + 1) for sets, weight in steps)))
    ours = f"{similarity(a):.3f}"
    note = f"Similarity of UP_1 and UP_2: {ours} (the paper: {printed.SIMILARITY[a]})."
    return PaperTable(name, caption, ("", "ours"), tuple(rows), (0, 1), (note,))


def _groups() -> PaperTable:
    profiles = example()
    name = f"linkability(p={printed.EXAMPLE_P}, average=global, weighting=paper, representative=union, floor=1)"
    features = augment(profiles, wordnet(), a=1, weighting="paper")
    made = group_profiles(profiles, features, resolve("method", name), rng=np.random.default_rng(_SEED))
    rows = []
    for label, theirs in printed.TABLE_5.items():
        g = int(made.group[profiles.persons.index(theirs[0])])
        part = slice(made.indptr[g], made.indptr[g + 1])
        members = [person for person, group in zip(profiles.persons, made.group.tolist(), strict=True) if group == g]
        terms = zip((profiles.vocabulary[i] for i in made.ids[part]), made.weights[part].tolist(), strict=True)
        rows.append((label, ", ".join(theirs), ", ".join(members), _written(terms)))
    notes = (
        f"p = {printed.EXAMPLE_P}; the paper gives none, and any from 0.625 up to 0.833 makes these groups.",
        "Java of UP_3 and of UP_4 is one term here, with its mean weight; the paper lists it twice, which tells that "
        "two members hold it and in what order they came.",
    )
    heads = ("", "members, paper", "members, ours", "terms, ours")
    return PaperTable("Table 5", "Example anonymized user groups", heads, tuple(rows), (0, 1, 2, 3), notes)


def _set(words: Sequence[str]) -> str:
    return f"{{{', '.join(words)}}}"


def _written(pairs: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"({term}, {weight:g})" for term, weight in pairs)
