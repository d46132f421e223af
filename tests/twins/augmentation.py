"""Augmentation in plain Python, step by step as Zhu and Xiong write it: dictionaries, recursion, exact fractions."""

import math
from collections import defaultdict
from fractions import Fraction

from queryveil.histories.profiles import Profiles
from queryveil.semantics.network import Network

Dimension = tuple[int, int]  # (0, node) or (1, entry): the order in which dimensions are numbered
Vector = dict[Dimension, float]
MOST_RELATED = 5


def paths_of(network: Network, node: int, passed: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Return every way to a root; a node above that was passed already is not entered again."""
    passed = (*passed, node)
    ways = [way for above in _above(network, node) if above not in passed for way in paths_of(network, above, passed)]
    return [(node, *way) for way in ways] or [(node,)]


def _above(network: Network, node: int) -> list[int]:
    edges: list[int] = network.edges[network.edge_indptr[node] : network.edge_indptr[node + 1]].tolist()
    return edges


def augmented(profiles: Profiles, network: Network, a: int, weighting: str, unknown: str) -> list[Vector]:
    """Return every history's dimensions with their values."""
    vectors: list[Vector] = []
    people: dict[Dimension, set[int]] = defaultdict(set)
    for h, owner in enumerate(profiles.owner.tolist()):
        pairs = range(profiles.indptr[h], profiles.indptr[h + 1])
        weights = {int(profiles.ids[p]): 1.0 if profiles.weights is None else float(profiles.weights[p]) for p in pairs}
        words = {entry: network.find(profiles.vocabulary[entry]) for entry in weights}
        vector: Vector = defaultdict(float)
        for entry, weight in weights.items():
            if weight == 0:
                continue
            for dimension, share, is_held in _dimensions(network, entry, words, weights, a, weighting, unknown):
                vector[dimension] += weight * share
                if is_held:
                    people[dimension].add(owner)
        vectors.append(vector)
    if weighting == "paper":
        return vectors
    n = profiles.n_people
    return [
        {d: v * math.log((n + 1) / max(len(people[d]), 1)) / math.log(n + 1) for d, v in w.items()} for w in vectors
    ]


def _dimensions(
    network: Network,
    entry: int,
    words: dict[int, int | None],
    weights: dict[int, float],
    a: int,
    weighting: str,
    unknown: str,
) -> list[tuple[Dimension, float, bool]]:
    """Return what an entry becomes: dimensions, their shares of its weight, and whether its holder holds them."""
    word = words[entry]
    if word is None:
        return [((1, entry), 1.0, True)] if unknown == "keep" else []
    is_content = weighting == "content"
    if network.strengths is not None:
        ties = _ties(network, word, a)
        return [((0, n), 1.0 if n == word or not is_content else tie / 2, n == word) for n, tie in ties]
    itself = [((1, entry), 1.0, True)] if is_content else []
    rest = [(other, weights[e]) for e, other in words.items() if other is not None and other != word]
    path = _path(network, word, rest)[: a + 1]
    return [*itself, *(((0, node), 0.5 if is_content else 1.0, True) for node in path)]


def _ties(network: Network, node: int, a: int) -> list[tuple[int, float]]:
    """Return a node and those strongest tied to it, by the best way of at most `a` edges."""
    assert network.strengths is not None
    best = {node: 1.0}
    for _ in range(a):
        before = dict(best)
        for here, tie in before.items():
            for e in range(network.edge_indptr[here], network.edge_indptr[here + 1]):
                other = int(network.edges[e])
                best[other] = max(best.get(other, 0.0), tie * float(network.strengths[e]))
    others = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return others[: MOST_RELATED + 1]


def _path(network: Network, word: int, rest: list[tuple[int, float]]) -> tuple[int, ...]:
    """Return the path of a word's senses, of its first part of speech, that is most like the rest of the profile."""
    senses = network.senses[network.sense_indptr[word] : network.sense_indptr[word + 1]].tolist()
    first = [sense for sense in senses if network.parts[sense] == network.parts[senses[0]]]
    paths = [path for sense in first for path in paths_of(network, sense)]
    return max(paths, key=lambda path: _likeness(network, path, rest))  # the first of equals


def _likeness(network: Network, path: tuple[int, ...], rest: list[tuple[int, float]]) -> Fraction:
    """Return the square of the cosine between profile and path, times the square of the profile's norm."""
    on_path = {int(w) for n in path for w in network.node_words[network.word_indptr[n] : network.word_indptr[n + 1]]}
    return sum((Fraction(weight) for word, weight in rest if word in on_path), Fraction()) ** 2 / len(on_path)


def numbered(vectors: list[Vector]) -> list[list[tuple[int, float]]]:
    """Return the rows with dimensions numbered in their order, only those that are used."""
    number = {dimension: i for i, dimension in enumerate(sorted({d for vector in vectors for d in vector}))}
    return [sorted((number[dimension], value) for dimension, value in vector.items()) for vector in vectors]
