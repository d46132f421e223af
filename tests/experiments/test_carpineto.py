"""The evaluation of Carpineto and Romano 2018: heavy users, nested releases of equal size, and their figures."""

import numpy as np
import pytest

from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.progress import silent
from queryveil.core.rows import row_numbers
from queryveil.experiments import carpineto
from queryveil.experiments.carpineto.runs import (
    CommonQueriesFirst,
    QuerySetup,
    select_heavy_users,
    take_share,
)
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import PersonalWordLists
from tests.builders import profiles_of

LISTS = PersonalWordLists(frozenset({"smith"}), frozenset(), frozenset(), frozenset({"paris"}), frozenset({"clinic"}))
QUERIES = ("tea", "red shoes", "clinic", "smith", "paris hotel", "news", "maps", "dark clinic", "weather", "mail")


def log(seed: int = 1, people: int = 40) -> Profiles:
    """Return a log in which half of the people issue more queries than the others."""
    rng = np.random.default_rng(seed)
    weights = np.arange(len(QUERIES), 0, -1) / 55
    lengths = [30 if person % 2 else 5 for person in range(people)]
    return profiles_of([rng.choice(QUERIES, n, p=weights).tolist() for n in lengths])


def sensitivity(profiles: Profiles) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([0.9 if "clinic" in query or query == "smith" else 0.1 for query in profiles.vocabulary])


def setup_of(seed: int = 1) -> QuerySetup:
    profiles = select_heavy_users(log(seed), np.random.default_rng(seed))
    return QuerySetup(profiles, sensitivity(profiles), LISTS, np.random.default_rng(seed), silent)


def test_heavy_users_have_more_queries_than_the_mean() -> None:
    profiles = log()
    heavy = select_heavy_users(profiles, np.random.default_rng(0))
    assert heavy.persons == tuple(f"u{person}" for person in range(1, 40, 2))
    assert np.add.reduceat(heavy.counts, heavy.indptr[:-1]).tolist() == [30] * 20
    assert heavy.owner.tolist() == list(range(20))


def test_larger_releases_contain_smaller_ones_and_keep_to_their_size() -> None:
    setup = setup_of()
    everything = np.ones(len(setup.profiles.ids), np.bool_)
    order, common_first = setup.rng.permutation(len(everything)), CommonQueriesFirst(setup)
    smaller = [~everything] * 2
    for size in (10.0, 30.0, 50.0, 100.0):
        masks = [take_share(setup, order, size), common_first.take_share(size)[0]]
        for mask, before in zip(masks, smaller, strict=True):
            assert (mask | ~before).all()
            assert setup.profiles.counts[mask].sum() <= size / 100 * setup.n_issued + 1e-6
        smaller = masks
    assert all(mask.all() for mask in smaller)


def test_k_is_the_smallest_number_of_people_of_a_released_query() -> None:
    setup = setup_of()
    profiles, (mask, k) = setup.profiles, CommonQueriesFirst(setup).take_share(60.0)
    owner = profiles.owner[row_numbers(profiles.indptr)]
    assert min(len(set(owner[profiles.ids == query])) for query in set(profiles.ids[mask])) == k


@pytest.mark.parametrize(
    ("smallest", "expected"), [(60.0, [10, 20, 30, 40, 50]), (20.0, [10, 20]), (25.0, [10, 20, 25.0]), (4.0, [4.0])]
)
def test_sizes_end_with_that_of_the_smallest_pool(smallest: float, expected: list[float]) -> None:
    assert carpineto.sizes(smallest) == expected


def test_the_tables_and_figures_of_a_small_log() -> None:
    profiles = log()
    found = carpineto.evaluate(profiles, sensitivity(profiles), LISTS, rng=np.random.default_rng(2))
    assert [table.name for table in found.tables] == [
        "Section 3",
        "Figure 1",
        "Section 3.2",
        "Figure 2, SPI",
        "Figure 2, exposed",
        "Figure 2, PEL",
    ]
    assert [figure.name for figure in found.figures] == [found.tables[i].name for i in (1, 3, 4, 5)]
    first = found.numbers["figure_1"][0]
    assert (first["k"], first["figures"]["impressions"], first["figures"]["spi"]) == (1, 100, pytest.approx(0))
    assert [each["k"] for each in found.numbers["figure_1"]] == [1, 2, 3, 5, 7, 10, 20]
    jsd = [each["figures"]["jsd"] for each in found.numbers["figure_1"]]
    assert jsd == sorted(jsd)
    for size in {each["size"] for each in found.numbers["figure_2"]}:
        exposed = {
            each["strategy"]: each["figures"]["exposed"] for each in found.numbers["figure_2"] if each["size"] == size
        }
        assert exposed["no-PPP"] < exposed["random"] < exposed["only-PPP"]
    assert "no-PPP exposes less of what is sensitive at" in found.reading[-1]


def test_the_same_seed_gives_the_same_figures() -> None:
    profiles = log()
    first, second = (
        carpineto.evaluate(profiles, sensitivity(profiles), LISTS, rng=np.random.default_rng(3)) for _ in range(2)
    )
    assert first.numbers == second.numbers


def test_logs_without_heavy_users_or_without_ppp_queries_are_refused() -> None:
    even = profiles_of([["tea"], ["tea"], ["tea", "tea"]])
    with pytest.raises(InputError, match="1 people of the log have more queries than the mean"):
        carpineto.evaluate(even, sensitivity(even), LISTS, rng=np.random.default_rng(0))
    none = profiles_of([["tea", "maps"]] * 4 + [["tea"]] * 8)
    with pytest.raises(GuaranteeError, match="no query holds a name, place or private word"):
        carpineto.evaluate(none, sensitivity(none), LISTS, rng=np.random.default_rng(0))
