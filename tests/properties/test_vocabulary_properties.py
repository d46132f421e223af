"""Clusters of vocabularies equal those of the slow twin, whatever the rules and the data."""

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryveil.core.progress import silent
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import ClusteringRule
from queryveil.methods.vocabulary import cluster_blocks, cut_by_length
from queryveil.methods.vocabulary.clustering import cluster_vocabularies, distance_rows, prepare
from queryveil.semantics.network import distance, wordnet
from tests.builders import profiles_of
from tests.twins import vocabulary as twins

# near each other in different ways: synonyms, two forms of one word, other parts of speech, names WordNet has not
TERMS = ("dog", "dogs", "cat", "wolf", "puppy", "run", "running", "quickly", "red", "crimson", "wine", "xqz", "myspce")
AWAY = {
    frozenset(pair): distance(wordnet(), *pair) for pair in [*combinations(TERMS, 2), *((term,) * 2 for term in TERMS)]
}

histories = st.lists(st.lists(st.sampled_from(TERMS), min_size=1, max_size=6), min_size=4, max_size=9)
rules = st.builds(
    ClusteringRule,
    k=st.integers(2, 3),
    eps=st.sampled_from((0, 2, 4, 8)),
    omega=st.sampled_from((1, 3, 9, 40_000)),
    is_maximum=st.booleans(),
    is_farthest=st.booleans(),
)


def expanded(profiles: Profiles) -> list[list[int]]:
    occurrences = np.split(np.repeat(profiles.ids, profiles.counts), np.cumsum(_sizes(profiles))[:-1])
    return [part.tolist() for part in occurrences]


def _sizes(profiles: Profiles) -> list[int]:
    bounds = zip(profiles.indptr, profiles.indptr[1:], strict=False)
    return [int(profiles.counts[a:b].sum()) for a, b in bounds]


@given(histories, rules, st.booleans(), st.sampled_from((0, 1_000_000)))
def test_clusters_are_the_twins(
    lists: list[list[str]], rule: ClusteringRule, are_sessions: bool, cache_bytes: int
) -> None:
    """Whether the cache of distances has room for all words or for one vocabulary makes no difference."""
    owners = sorted(h // 2 if are_sessions else h for h in range(len(lists)))
    rule = rule._replace(k=min(rule.k, len(set(owners))))
    profiles = profiles_of(lists, owners)
    entries = profiles.vocabulary
    away = np.array([[0.0 if a == b else AWAY[frozenset((a, b))] for b in entries] for a in entries])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("queryveil.methods.vocabulary.clustering._CACHE_BYTES", cache_bytes)
        bags, cache = prepare(profiles, wordnet(), rule.eps)
    made = cluster_vocabularies(bags, cache, rule, silent)
    n_words = len(cache.slot)
    assert distance_rows(cache, np.arange(n_words, dtype=np.int32)).shape == (n_words, n_words)
    twin = twins.Twin(rule.k, rule.eps, rule.omega, rule.is_maximum, rule.is_farthest)
    wanted = twins.clusters(expanded(profiles), profiles.owner.tolist(), away, twin)
    assert [list(cluster.members) for cluster in made] == [members for members, _ in wanted]
    for cluster, (_, bags_wanted) in zip(made, wanted, strict=True):
        repeated = np.repeat(cluster.terms, cluster.units, axis=0).tolist()
        assert unordered(repeated) == unordered(bags_wanted)


@given(histories, rules, st.booleans(), st.integers(1, 9))
def test_clusters_in_blocks_are_those_of_each_block(
    lists: list[list[str]], rule: ClusteringRule, are_sessions: bool, block: int
) -> None:
    owners = [h // 2 if are_sessions else h for h in range(len(lists))]
    rule = rule._replace(k=min(rule.k, len(set(owners))))
    profiles = profiles_of(lists, owners)
    blocks = cut_by_length(profiles, rule.k, block)
    assert sorted(np.concatenate(blocks)) == list(range(len(lists)))
    assert all(len(np.unique(profiles.owner[rows])) >= rule.k for rows in blocks)
    sizes = np.array(_sizes(profiles))
    assert all(sizes[a].min() >= sizes[b].max() for a, b in pairwise(blocks))
    wanted: list[tuple[list[int], list[list[int]]]] = []
    for rows in blocks:
        whole = expanded(profiles)
        terms = sorted({term for row in rows for term in whole[row]})
        entries = [profiles.vocabulary[term] for term in terms]
        away = np.array([[0.0 if a == b else AWAY[frozenset((a, b))] for b in entries] for a in entries])
        local = [[terms.index(term) for term in whole[row]] for row in rows]
        twin = twins.Twin(rule.k, rule.eps, rule.omega, rule.is_maximum, rule.is_farthest)
        for members, bags in twins.clusters(local, profiles.owner[rows].tolist(), away, twin):
            wanted.append((rows[members].tolist(), unordered([[terms[term] for term in bag] for bag in bags])))
    made = cluster_blocks(profiles, wordnet(), rule, blocks, silent)
    found = [(c.members.tolist(), unordered(np.repeat(c.terms, c.units, axis=0).tolist())) for c in made]
    assert found == wanted


def unordered(bags: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return bags as the tie rule sees them: whose term is whose makes no difference."""
    return sorted(sorted(bag) for bag in bags)
