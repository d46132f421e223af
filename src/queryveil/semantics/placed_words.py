"""WordNet with words that it lacks, each placed below the nouns that are used most like it.

Liu and Wang 2010 and Zhu and Xiong 2010 compare terms by WordNet, which knows no brands and few names. Here a term that
WordNet lacks becomes a node of its own, one edge below the first sense of each of the `MAX_PARENTS` nouns whose vectors
have the largest cosine with its vector. This is no hierarchy: "toyota" is near "car" because both are written about
alike, not because one is a kind of the other. So distances and neighbours count placed words, and whatever publishes
or prices more general terms ignores them (`Network.hierarchy`).

With the bundled vectors, a term that these lack takes the vector of a frequent word of which it is a misspelling by one
letter, or the sum of the vectors of two frequent words of which it is made ("lionking").
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import FloatArray, Int32Array, IntArray, indptr_of
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.wordnet import NOUN
from queryveil.semantics.lemmas import LemmaIndex
from queryveil.semantics.network import Network, wordnet
from queryveil.semantics.word_vectors import WordVectors, bundled_vectors, cosines, read_vectors, to_bytes

MAX_PARENTS = 3
LEAST_COSINE = 0.35  # below that, the nearest nouns have nothing to do with a word
FREQUENT = 20_000  # words of the bundled table of which others may be misspellings or parts
_SHORTEST_NOUN, _SHORTEST_PART, _SHORTEST_MISSPELT = 3, 3, 6
_TERMS_PER_CHUNK = 500
_STAGE = "placing words"


def open_placed_words(profiles: Profiles, vectors: Path | None = None, progress: Progress = silent) -> Network:
    """Return WordNet with the terms of profiles that it lacks, placed by the bundled vectors or by a user's file."""
    network = wordnet()
    lacking = [term for term in profiles.vocabulary if network.find(term) is None]
    if vectors is None:
        return place(network, *find_vectors(lacking, bundled_vectors()), bundled_vectors(), progress)
    wanted = frozenset(lacking)
    given = read_vectors(vectors, lambda word: word in wanted or is_parent(word))
    position = {word: number for number, word in enumerate(given.words)}
    found = [term for term in lacking if term in position]
    if lacking and not found:
        raise InputError(
            f"--vectors: {vectors} has none of the {len(lacking):,} words of the log that WordNet lacks; give vectors "
            "of the log's own words, or leave the option out."
        )
    return place(network, found, given.rows[[position[term] for term in found]], given, progress, keeps_vectors=True)


def is_parent(word: str) -> bool:
    """Return whether words may be placed below a word: a noun of WordNet."""
    return len(word) >= _SHORTEST_NOUN and wordnet().lemmas.has(word, NOUN)


def find_vectors(terms: Iterable[str], vectors: WordVectors) -> tuple[list[str], NDArray[np.int8]]:
    """Return the terms that have a vector, by themselves, corrected or as two words, and their vectors."""
    position = {word: number for number, word in enumerate(vectors.words)}
    frequent = {word: number for word, number in position.items() if number < FREQUENT}
    found, rows = list[str](), list[FloatArray]()
    for term in terms:
        places = [position[term]] if term in position else _correct(term, frequent) or _split(term, frequent)
        if places:
            found.append(term)
            rows.append(vectors.rows[places].sum(axis=0, dtype=np.float64))
    return found, to_bytes(np.array(rows).reshape(len(rows), vectors.rows.shape[1]))


def _correct(term: str, frequent: dict[str, int]) -> list[int]:
    """Return the number of the most frequent word that differs from a term by one letter, or none."""
    if len(term) < _SHORTEST_MISSPELT or not term.isalpha():
        return []
    return sorted(frequent[word] for word in set(_misspellings(term)) if word in frequent)[:1]


def _misspellings(term: str) -> Iterator[str]:
    """Yield texts with a letter left out, exchanged with the next, replaced or added."""
    for i in range(len(term) + 1):
        head, tail = term[:i], term[i:]
        yield head + tail[1:]
        yield head + tail[1:2] + tail[:1] + tail[2:]
        for letter in ascii_lowercase:
            yield head + letter + tail[1:]
            yield head + letter + tail


def _split(term: str, frequent: dict[str, int]) -> list[int]:
    """Return the numbers of two words that make a term, those of which the rarer one is most frequent, or none."""
    cuts = range(_SHORTEST_PART, len(term) - _SHORTEST_PART + 1)
    pairs = [(term[:cut], term[cut:]) for cut in cuts if term[:cut] in frequent and term[cut:] in frequent]
    numbers = [[frequent[one], frequent[other]] for one, other in pairs]
    return min(numbers, key=max, default=[])


def place(
    network: Network,
    terms: Sequence[str],
    rows: NDArray[np.int8],
    vectors: WordVectors,
    progress: Progress = silent,
    *,
    keeps_vectors: bool = False,
) -> Network:
    """Return a network with terms placed below the nouns of `vectors` nearest to their rows, if these are near."""
    nouns = np.array([number for number, word in enumerate(vectors.words) if is_parent(word)], np.int64)
    near = np.empty((len(terms), min(MAX_PARENTS, len(nouns))), np.int64)
    is_near = np.zeros(near.shape, np.bool_)
    for first in range(0, len(terms), _TERMS_PER_CHUNK):
        progress(_STAGE, first, len(terms))
        part = slice(first, first + _TERMS_PER_CHUNK)
        cosine = cosines(rows[part], vectors.rows[nouns])
        order = np.argsort(-cosine, axis=1, kind="stable")[:, :MAX_PARENTS]
        near[part], is_near[part] = nouns[order], np.take_along_axis(cosine, order, axis=1) >= LEAST_COSINE
    progress(_STAGE, len(terms), len(terms))
    placed = np.flatnonzero(is_near.any(axis=1))
    names = [terms[number] for number in placed.tolist()]
    lengths = is_near[placed].sum(axis=1)
    known = [network.lemmas.numbers[vectors.words[number]] for number in near[placed][is_near[placed]].tolist()]
    parents = network.senses[network.sense_indptr[np.array(known, np.int64)]]  # nouns come first
    made = _add_words(network, names, lengths, parents.astype(np.int32))
    if not keeps_vectors:
        return made
    used = np.unique(near[is_near])
    own = WordVectors(tuple(names), rows[placed])
    nouns_used = vectors.select(used.tolist())
    return replace(made, vectors=WordVectors(own.words + nouns_used.words, np.concatenate((own.rows, nouns_used.rows))))


def _add_words(network: Network, names: Sequence[str], lengths: IntArray, parents: Int32Array) -> Network:
    """Return the network with a word and a node more for every name; `lengths` are the numbers of parents of each."""
    words, nodes = len(network.words), network.n_nodes
    each = np.arange(1, len(names) + 1)
    numbers = {**network.lemmas.numbers, **{name: words + i for i, name in enumerate(names)}}
    parts = np.concatenate((network.lemmas.parts, np.full(len(names), 1 << NOUN, np.int8)))
    new_words, new_nodes = (np.arange(first, first + len(names), dtype=np.int32) for first in (words, nodes))
    return replace(
        network,
        name="vectors",
        words=(*network.words, *names),
        lemmas=LemmaIndex(numbers, parts),
        sense_indptr=np.concatenate((network.sense_indptr, network.sense_indptr[-1] + each)),
        senses=np.concatenate((network.senses, new_nodes)),
        word_indptr=np.concatenate((network.word_indptr, network.word_indptr[-1] + each)),
        node_words=np.concatenate((network.node_words, new_words)),
        edge_indptr=np.concatenate((network.edge_indptr, network.edge_indptr[-1] + indptr_of(lengths)[1:])),
        edges=np.concatenate((network.edges, parents)),
        parts=np.concatenate((network.parts, np.full(len(names), NOUN, np.int32))),
        without_placed=network,
    )
