"""The evaluation of Carpineto and Romano 2018: heavy users, nested releases of equal size, and their figures."""

import numpy as np
import pyarrow as pa
import pytest

from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.progress import silent
from queryveil.core.rows import FloatArray, row_numbers
from queryveil.experiments import carpineto
from queryveil.experiments.carpineto.runs import (
    CommonQueriesFirst,
    QuerySetup,
    select_heavy_users,
    take_share,
    words_of,
)
from queryveil.experiments.carpineto.tables import CLAIMS
from queryveil.experiments.paper import PaperEvaluation
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


def sensitivity(texts: pa.Array) -> FloatArray:
    return np.array([0.9 if "clinic" in text or text == "smith" else 0.1 for text in texts.to_pylist()])


def setup_of(seed: int = 1) -> QuerySetup:
    profiles = select_heavy_users(log(seed), np.random.default_rng(seed))
    return QuerySetup(profiles, sensitivity(pa.array(profiles.vocabulary)), LISTS, np.random.default_rng(seed), silent)


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
    ("smallest", "expected"),
    [(60.0, [10, 20, 30, 40, 50]), (20.0, [10, 20, 30, 40, 50]), (25.07, [10, 20, 25.0, 30, 40, 50])],
)
def test_sizes_are_the_papers_and_that_of_a_smaller_pool(smallest: float, expected: list[float]) -> None:
    assert carpineto.sizes([smallest, 100 - smallest]) == expected


@pytest.fixture(scope="module")
def found() -> PaperEvaluation:
    return carpineto.evaluate(log(), sensitivity, LISTS, rng=np.random.default_rng(2))


def test_the_tables_and_figures_of_a_small_log(found: PaperEvaluation) -> None:
    names = [table.name for table in found.tables]
    assert names == [
        *("Findings", "Section 3", "Samples", "Figure 1", "Figure 1, something released at every k", "Section 3.2"),
        *("Figure 2, SPI", "Figure 2, exposed", "Figure 2, PEL", "Section 4"),
    ]
    assert [figure.name for figure in found.figures] == [names[i] for i in (3, 6, 7, 8)]
    first = found.numbers["figure_1"][0]
    assert (first["k"], first["figures"]["impressions"], first["figures"]["spi"]) == (1, 100, pytest.approx(0))
    assert [each["k"] for each in found.numbers["figure_1"]] == [1, 2, 3, 5, 7, 10, 20]
    jsd = [each["figures"]["jsd"] for each in found.numbers["figure_1"]]
    assert jsd == sorted(jsd)
    for size in {each["size"] for each in found.numbers["figure_2"]}:
        exposed = {
            each["strategy"]: each["figures"]["exposed"] for each in found.numbers["figure_2"] if each["size"] == size
        }
        assert exposed["no-PPP"] < exposed["random"]
        assert exposed["random"] < exposed.get("only-PPP", 100.0)
    assert "SPI does not see whether it was published" in found.reading[0]


def test_figure_1_is_also_of_people_with_something_at_every_k(found: PaperEvaluation) -> None:
    steady = found.numbers["figure_1_steady"]
    released = [each["k"] for each in found.numbers["figure_1"] if each["figures"]["impressions"] > 0]
    assert [each["k"] for each in steady] == released
    assert {each["nothing"] for each in steady} == {0}
    table = next(table for table in found.tables if table.name == "Figure 1, something released at every k")
    assert table.notes[0].endswith(
        "of 20 people. Who has nothing left would pull PEL down, whatever it says of others."
    )


def test_a_pool_that_is_too_small_has_no_figure_at_larger_sizes(found: PaperEvaluation) -> None:
    share = found.numbers["pools"]["only-PPP"]
    assert 10 < share < 50
    table = next(table for table in found.tables if table.name == "Figure 2, SPI")
    sizes = [float(head.removeprefix("released, % = ")) for head in table.headings[1:]]
    assert [size for size in sizes if size % 10 == 0] == [10, 20, 30, 40, 50]
    for name, *cells in table.rows:
        too_small = [size > share for size in sizes] if name == "only-PPP" else [False] * len(sizes)
        assert [cell == "–" for cell in cells] == too_small


def test_samples_grow_to_all_people(found: PaperEvaluation) -> None:
    assert [*found.numbers["samples"]] == [5, 10, 20]  # of 20 heavy people, no fewer than three
    assert found.numbers["samples"][20]["figures"] == next(
        run["figures"] for run in found.numbers["figure_1"] if run["k"] == 10
    )


def test_other_methods_are_compared_by_words(found: PaperEvaluation) -> None:
    others = {each["strategy"]: each for each in found.numbers["other_methods"]}
    assert [*others] == ["vocabulary(k=5, eps=8)", "linkability(p=0.4)"]
    for each in others.values():
        assert 0 <= each["figures"]["spi"] <= each["figures"]["jsd"] <= 1
    assert others["linkability(p=0.4)"]["figures"]["jsd"] > 0
    profiles = profiles_of([["red shoes", "red shoes", "red tea"], ["tea"]])
    words = words_of(profiles)
    assert words.vocabulary == ("tea", "red", "shoes")
    assert (words.indptr.tolist(), words.ids.tolist(), words.counts.tolist()) == ([0, 3, 4], [0, 1, 2, 0], [1, 3, 2, 1])


def test_releases_of_nothing_are_counted_and_every_claim_is_judged(found: PaperEvaluation) -> None:
    of_k = [run for draw in found.numbers["figure_2_draws"] for run in draw if run["strategy"] == "k-anonymity"]
    claimed = [*found.numbers["figure_1"], *found.numbers["samples"].values(), *of_k, *found.numbers["other_methods"]]
    assert found.tally.empty == sum(each["nothing"] == 100 for each in claimed) > 0
    by_claim = dict(zip(CLAIMS, found.findings, strict=True))
    assert by_claim["jsd"].judgement == "by construction"
    assert by_claim["accuracy"].judgement == "not comparable"
    sensitive = next(row for row in found.tables[1].rows if row[0] == "of these classified as sensitive")
    assert by_claim["sensitive"].ours == sensitive[1]
    levels = [each["figures"]["pel"] for each in found.numbers["figure_1_steady"]]
    assert by_claim["pel_steady"].ours == f"from {min(levels):.1f} to {max(levels):.1f} %"
    assert (by_claim["pel_steady"].judgement == "confirmed") is (min(levels) >= 0.8 * max(levels))


def test_the_same_seed_gives_the_same_figures() -> None:
    profiles = log()
    first, second = (carpineto.evaluate(profiles, sensitivity, LISTS, rng=np.random.default_rng(3)) for _ in range(2))
    assert first.numbers == second.numbers


def test_logs_without_heavy_users_or_without_ppp_queries_are_refused() -> None:
    even = profiles_of([["tea"], ["tea"], ["tea", "tea"]])
    with pytest.raises(InputError, match="1 people of the log have more queries than the mean"):
        carpineto.evaluate(even, sensitivity, LISTS, rng=np.random.default_rng(0))
    none = profiles_of([["tea", "maps"]] * 4 + [["tea"]] * 8)
    with pytest.raises(GuaranteeError, match="no query holds a name, place or private word"):
        carpineto.evaluate(none, sensitivity, LISTS, rng=np.random.default_rng(0))
