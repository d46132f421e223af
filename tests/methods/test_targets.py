"""The value of terms under each target, worked by hand."""

import numpy as np
import pytest

from queryveil.core.errors import InputError
from queryveil.core.names import declarations
from queryveil.market import Market, make_market
from queryveil.methods.targets import TermValues, value_of_terms
from tests.builders import profiles_of, run_method

NAN = float("nan")
# 9 occurrences; ids by falling number of people: car, loan, rare
PROFILES = profiles_of([["car", "car", "loan"], ["car", "loan", "loan"], ["car", "rare", "rare"]])


def market() -> Market:
    numbers = np.array([[2.0, 10.0, 100.0], [0.5, NAN, 40.0], [9.0, 9.0, 9.0]])
    return make_market("market.csv", {"car": 0, "rare": 1, "elsewhere": 2}, numbers)


TERM_VALUES = TermValues({"loan": 3.0}, market())
VALUES: dict[str, list[float]] = {
    "logsize": [1, 1, 1],
    "file": [0, 3, 0],
    "bid": [2, 0, 0.5],
    "clicks": [10, 0, 0],
    "impressions": [100, 0, 40],
    "revenue": [20, 0, 0],
}


@pytest.mark.parametrize("target", VALUES)
def test_value_of_an_occurrence_and_rank_of_a_term(target: str) -> None:
    value = value_of_terms(target, PROFILES, TERM_VALUES)
    assert value is not None
    assert value.tolist() == VALUES[target]
    ranked = declarations("target")[target].load()(PROFILES, TERM_VALUES)
    assert ranked.tolist() == [v * n for v, n in zip(VALUES[target], (4, 3, 2), strict=True)]


@pytest.mark.parametrize("target", ["users", "distinct", "fis", "random"])
def test_other_targets_give_no_value_to_an_occurrence(target: str) -> None:
    assert value_of_terms(target, PROFILES, TERM_VALUES) is None


def test_users_and_distinct_are_opposite() -> None:
    ranked = {
        name: declarations("target")[name].load()(PROFILES, TERM_VALUES).tolist() for name in ("users", "distinct")
    }
    assert ranked == {"users": [3, 2, 1], "distinct": [-3, -2, -1]}


@pytest.mark.parametrize("target", ["bid", "clicks", "impressions", "revenue"])
def test_a_marketing_target_needs_a_market_table(target: str) -> None:
    with pytest.raises(InputError) as caught:
        value_of_terms(target, PROFILES, TermValues({"car": 1.0}))
    columns = "the columns term, bid, clicks, impressions"
    assert str(caught.value) == f"target={target} needs a market table; give a file with {columns} by --market."


def test_target_file_needs_values() -> None:
    with pytest.raises(InputError, match="by --values"):
        value_of_terms("file", PROFILES, TermValues(market=market()))


@pytest.mark.parametrize("figure", ["bid", "clicks", "impressions", "revenue"])
def test_a_market_target_deletes_as_the_same_values_in_a_file_do(figure: str) -> None:
    rng = np.random.default_rng(4)
    terms = [f"t{i}" for i in range(25)]
    profiles = profiles_of([rng.choice(terms, size=rng.integers(2, 12)).tolist() for _ in range(60)])
    numbers = rng.lognormal(size=(len(terms), 3))
    numbers[::4, 1] = NAN
    table = make_market("market.csv", {term: i for i, term in enumerate(terms)}, numbers)
    values = {term: float(np.nan_to_num(table.of(figure, [term])[0])) for term in terms}
    masks = [
        run_method(profiles, f"km(k=3, m=2, target={target}, algorithm=paper)", term_values).mask
        for target, term_values in (
            (figure, TermValues(market=table)),
            ("file", TermValues(values)),
            ("logsize", TermValues()),
        )
    ]
    assert masks[0].any()
    assert masks[0].tolist() == masks[1].tolist() != masks[2].tolist()


def test_every_target_but_fis_and_random_is_tested_here() -> None:
    assert set(declarations("target")) == {*VALUES, "users", "distinct", "fis", "random"}
