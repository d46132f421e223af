"""The worked examples of Burghardt, Böhm, Guttman, Clifton 2010."""

from collections.abc import Iterable, Sequence

import pytest

from queryveil.core.results import Verdict
from queryveil.histories.profiles import Profiles
from queryveil.methods.targets import TermValues
from tests.builders import histories_in, profiles_of, rows, run_method, verify_histories
from tests.twins.km import Supports, algorithm_1, fis_figures

# Table 1: people with the counts that the paper prints
ARNOLD = (
    *[("arnold", "lilburn", "georgia")],
    *[("arnold", "georgia")] * 14,
    *[("lilburn", "georgia")] * 4,
    *[("arnold",)] * 152,
    *[("lilburn",)],
    *[("georgia",)] * 1361,
)
EXAMPLE_7 = ("abc", "abd", "bcd")
EXAMPLE_8 = (*EXAMPLE_7, "ace")
UTILITY = {"a": 1.0, "b": 1.1, "c": 1.2, "d": 1.3, "e": 1.4}
FIRST_VARIANT = ("c", "bd", "bd", "c")  # S'
SECOND_VARIANT = ("abc", "ab", "bc", "ac")  # S''


def verify(histories: Sequence[Iterable[str]], claim: str) -> Verdict:
    return verify_histories(claim, histories_in(profiles_of(histories)))


def kept_terms(profiles: Profiles, method: str, values: dict[str, float] | None = None, seed: int = 0) -> list[str]:
    mask = run_method(profiles, method, TermValues(values), seed=seed).mask
    bounds = zip(profiles.indptr, profiles.indptr[1:], strict=False)
    return ["".join(sorted(profiles.vocabulary[i] for i in profiles.ids[a:b][mask[a:b]])) for a, b in bounds]


def test_table_1_arnold_and_lilburn_single_a_person_out() -> None:
    assert verify(ARNOLD, "km(k=6, m=1)").holds
    verdict = verify(ARNOLD, "km(k=2, m=2)")
    assert verdict.state == "violated"
    assert verdict.counterexample is not None
    assert set(verdict.counterexample.entries) == {"arnold", "lilburn"}
    assert verdict.counterexample.support == 1


@pytest.mark.parametrize("variant", [("ab", "ab", "b"), ("bc", "b", "bc")])
def test_example_7_both_variants_are_anonymous(variant: tuple[str, ...]) -> None:
    assert verify(variant, "km(k=2, m=2)").holds
    assert not verify(EXAMPLE_7, "km(k=2, m=2)").holds


@pytest.mark.parametrize(("variant", "worth"), [(FIRST_VARIANT, 7.2), (SECOND_VARIANT, 9.9)])
def test_example_8_variants_are_anonymous_and_worth_what_is_printed(variant: tuple[str, ...], worth: float) -> None:
    assert verify(variant, "km(k=2, m=2)").holds
    assert sum(UTILITY[term] for history in variant for term in history) == pytest.approx(worth)


def test_example_8_algorithm_1_returns_the_first_variant_by_bare_value() -> None:
    profiles = profiles_of(EXAMPLE_8)
    method = "km(k=2, m=2, target=file, algorithm=paper, ranking=value)"
    assert kept_terms(profiles, method, UTILITY) == list(FIRST_VARIANT)
    by_occurrences = kept_terms(profiles, "km(k=2, m=2, target=file, algorithm=paper)", UTILITY)
    assert by_occurrences != list(FIRST_VARIANT)  # b occurs three times, d twice, so d is worth less than a and b
    by_id = [UTILITY[term] for term in profiles.vocabulary]
    twin, _ = algorithm_1(rows(profiles), range(4), 2, 2, "file", by_id)
    assert ["".join(sorted(profiles.vocabulary[i] for i in row)) for row in twin] == list(FIRST_VARIANT)


def test_example_8_second_variant_has_a_unique_triple() -> None:
    verdict = verify(SECOND_VARIANT, "km(k=2, m=3)")
    assert verdict.counterexample is not None
    assert verdict.counterexample.entries == ("a", "b", "c")
    assert verdict.counterexample.support == 1


def test_example_9_frequent_pairs() -> None:
    profiles = profiles_of(EXAMPLE_7)
    supports = Supports(rows(profiles), range(3), 2).support
    names = profiles.vocabulary
    frequent = {"".join(sorted(names[i] for i in c)) for c, n in supports.items() if n >= 2 and len(c) == 2}
    assert frequent == {"ab", "bc", "bd"}


EXAMPLE_10 = (
    ["eugene", "chicago", "smith", "x2"],
    ["chicago", "smith", "x2"],
    *[["smith", "eugene", "x3"]] * 2,
    *[["chicago", "eugene", "x1"]] * 2,
    *[["eugene", "x4", "x5"]] * 2,
    *[["eugene", "x6", "x7"]] * 2,
    ["eugene", "x2"],
)


@pytest.mark.parametrize("ties", ["last", "random"])
def test_example_10_and_table_4_delete_smith(ties: str) -> None:
    histories = [*EXAMPLE_10, *[["chicago"]] * 2]
    profiles = profiles_of(histories)
    supports = Supports(rows(profiles), range(len(histories)), 3).support
    number = {term: i for i, term in enumerate(profiles.vocabulary)}
    eugene, chicago, smith = (fis_figures(number[t], supports, 2, 3) for t in ("eugene", "chicago", "smith"))
    assert eugene[0] == 4
    assert chicago == (2, 4, 6)
    assert smith == (2, 4, 4)
    first = kept_terms(profiles, f"km(k=2, m=3, target=fis, algorithm=paper, ties={ties})")[0]
    assert "smith" not in first
    assert "eugene" in first and "chicago" in first


def test_example_10_without_a_rarer_term_deletes_a_random_one() -> None:
    profiles = profiles_of([*EXAMPLE_10])  # chicago and smith are now alike in every figure
    method = "km(k=2, m=3, target=fis, algorithm=paper{})"
    first = [kept_terms(profiles, method.format(", ties=random"), seed=seed)[0] for seed in range(20)]
    assert all("eugene" in kept and ("chicago" in kept) != ("smith" in kept) for kept in first)
    assert 2 < sum("smith" in kept for kept in first) < 18
    assert len({kept_terms(profiles, method.format(""), seed=seed)[0] for seed in range(20)}) == 1
