"""Tables 1 to 5: the four example profiles that the paper prints, augmented and grouped by our code."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from queryveil.core.names import resolve
from queryveil.core.rows import row_numbers
from queryveil.experiments.paper import example_log, read_printed
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability import group_profiles
from queryveil.report.reproduction import PaperTable
from queryveil.semantics.augmentation import augment, augment_part
from queryveil.semantics.network import wordnet

_SEED = 1  # of a generator that draws UP_1 or UP_2 as the first seed; otherwise the rest forms other groups
ALL_STEPS = 99  # more than any path of WordNet has
FIRST_SENSES = ("kitten", "riding", "pup", "equitation")  # terms of figure 1 besides java

_PRINTED = read_printed(__file__)
PROFILES: dict[str, dict[str, float]] = _PRINTED["profiles"]
SYNONYMS: dict[str, tuple[str, ...]] = {term: tuple(words) for term, words in _PRINTED["synonyms"].items()}
SIMILARITY = {0: 0.536, 1: 0.737}  # a → that of UP_1 and UP_2, tables 3 and 4
CLAIMS: dict[str, tuple[str, str]] = _PRINTED["claims"]
GROUPS = {"G_1": ("UP_1", "UP_2"), "G_2": ("UP_3", "UP_4")}
GROUPS_P = 0.7  # any p from 0.625 up to 0.833 gives these groups


def example() -> Profiles:
    """Return the profiles of Table 1."""
    log = example_log([*PROFILES.values()], [*PROFILES])
    pairs = zip(log.owner_per_pair().tolist(), log.ids.tolist(), strict=True)
    weights = [PROFILES[log.persons[person]][log.vocabulary[term]] for person, term in pairs]
    return replace(log, weights=np.array(weights))


def example_tables() -> tuple[PaperTable, ...]:
    """Return figure 1 and tables 1 to 5, with the paper's values next to ours."""
    profiles = tuple((name, _format_weights(row.items())) for name, row in PROFILES.items())
    synonyms = tuple((term, _format_set(theirs), _format_set(sets_of(term, 0)[0])) for term, theirs in SYNONYMS.items())
    return (
        PaperTable("Table 1", "An example profile set with 4 users", ("", "profile"), profiles, (0, 1)),
        _figure_1(),
        PaperTable("Table 2", "Example synonym sets", ("term", "paper", "ours"), synonyms, (0, 1, 2)),
        _augmented_table("Table 3", "The augmented profiles after synonym replacement", 0, _PRINTED["table_3"]),
        _augmented_table("Table 4", "The augmented profiles after hypernym augmentation", 1, _PRINTED["table_4"]),
        _table_5(),
    )


def similarity(a: int) -> float:
    """Return the semantic similarity of UP_1 and UP_2."""
    features = augment(example(), wordnet(), a=a, weighting="paper")
    rows = np.zeros((len(PROFILES), features.n_dimensions))
    rows[row_numbers(features.indptr), features.ids] = features.values
    return float(rows[0] @ rows[1] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[1]))


def sets_of(term: str, a: int) -> list[tuple[str, ...]]:
    """Return the synonym set of a term's first sense and the hypernym sets at most `a` steps above it."""
    network = wordnet()
    word = network.find(term)
    first = network.senses[network.sense_indptr[word or 0]]
    return [network.words_of(node) for node in network.paths(int(first))[0][: a + 1]]


def java_path(person: str) -> list[tuple[str, ...]]:
    """Return the hypernym path chosen for java in the profile of a person: the synonym set first, the root last."""
    network, profiles, row = wordnet(), example(), [*PROFILES].index(person)
    part = augment_part(profiles, network, a=0, weighting="paper", content=np.ones(len(profiles.vocabulary)))
    dimensions = slice(part.features.indptr[row], part.features.indptr[row + 1])
    chosen = set(part.dimensions[part.features.ids[dimensions]].tolist())
    word = network.find("java") or 0
    senses = network.senses[network.sense_indptr[word] : network.sense_indptr[word + 1]].tolist()
    sense = next(sense for sense in senses if sense in chosen)
    return [network.words_of(node) for node in network.paths(sense)[0]]


def _figure_1() -> PaperTable:
    paths = {
        **{term: sets_of(term, ALL_STEPS) for term in FIRST_SENSES},
        **{f"java of {person}": java_path(person) for person in ("UP_3", "UP_4")},
    }
    rows = tuple((term, " → ".join(_format_set(words) for words in path)) for term, path in paths.items())
    note = "The paper prints only the picture; of several hypernyms of a set the first is shown."
    caption = "Example hypernym paths, from the synonym set of a term up to the root"
    return PaperTable("Figure 1", caption, ("term", "ours"), rows, (0, 1), (note,))


def _augmented_table(name: str, caption: str, a: int, printed: Sequence[str]) -> PaperTable:
    rows = []
    for person, theirs in zip(("UP_1", "UP_2"), printed, strict=True):
        steps = [(sets_of(term, a), weight) for term, weight in PROFILES[person].items()]
        # in the paper's order: the synonym sets first, then the sets one step above them
        pairs = ((_format_set(sets[k]), weight) for k in range(a + 1) for sets, weight in steps)
        rows.append((person, theirs, _format_weights(pairs)))
    note = f"Similarity of UP_1 and UP_2: {similarity(a):.3f} (the paper: {SIMILARITY[a]})."
    return PaperTable(name, caption, ("", "paper", "ours"), tuple(rows), (0, 1, 2), (note,))


def _table_5() -> PaperTable:
    profiles = example()
    name = f"linkability(p={GROUPS_P}, average=global, weighting=paper, representative=union, floor=1)"
    features = augment(profiles, wordnet(), a=1, weighting="paper")
    grouped = group_profiles(profiles, features, resolve("method", name), rng=np.random.default_rng(_SEED))
    rows = []
    for label, theirs in GROUPS.items():
        g = int(grouped.group[profiles.persons.index(theirs[0])])
        part = slice(grouped.indptr[g], grouped.indptr[g + 1])
        members = [person for person, group in zip(profiles.persons, grouped.group.tolist(), strict=True) if group == g]
        terms = zip((profiles.vocabulary[i] for i in grouped.ids[part]), grouped.weights[part].tolist(), strict=True)
        rows.append((label, ", ".join(theirs), ", ".join(members), _format_weights(sorted(terms))))
    notes = (
        f"p = {GROUPS_P}; the paper gives none, and any from 0.625 up to 0.833 makes these groups.",
        "The first seed is drawn at random, and we took a random seed that draws UP_1 or UP_2: UP_3 or UP_4 as the "
        "first seed makes other groups.",
        "Java of UP_3 and of UP_4 is one term here, with its mean weight; the paper lists it twice, which tells that "
        "two members hold it and in what order they came.",
    )
    heads = ("", "members, paper", "members, ours", "terms, ours")
    return PaperTable("Table 5", "Example anonymized user groups", heads, tuple(rows), (0, 1, 2, 3), notes)


def _format_set(words: Sequence[str]) -> str:
    return f"{{{', '.join(words)}}}"


def _format_weights(pairs: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"({term}, {weight:g})" for term, weight in pairs)
