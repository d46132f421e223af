"""Groups: every one legal by a check of its own, the greedy equal to its twin, blocks, what is published."""

import math
import operator
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.core.errors import GuaranteeError
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.kernels.grouping.exchange import exchange_members
from queryveil.kernels.grouping.greedy import LEFT_OVER, NEXT_SEED, empty_tally, grow_groups, start_greedy
from queryveil.methods import LINKABILITY
from queryveil.methods.linkability import group_profiles as run
from queryveil.methods.linkability import incremental
from queryveil.methods.linkability.blocks import BLOCK, EXACT_UP_TO
from queryveil.methods.linkability.greedy import (
    NO_MINIMUM,
    GroupingTask,
    group_rows,
    part_of,
    place_leftovers,
    task_of,
    without_illegal,
)
from queryveil.methods.linkability.principles import representatives, smallest_group, without_rare
from queryveil.semantics.augmentation import FeatureMatrix
from tests.builders import profiles_of, rows
from tests.twins.grouping import exchange_once, greedy_groups, legal_rule

PRINCIPLES = ("mean", "mean, average=global", "posterior", "belief", "diversity, l=6", "closeness, t=0.4")


def natural_log(n_people: int, seed: int, n_terms: int = 200, length: float = 8) -> Profiles:
    """Make a log of which some terms are much commoner than others, and histories differ in length."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(2, n_terms + 2)
    sizes = 1 + rng.geometric(1 / length, n_people)
    return profiles_of([[f"t{i:03}" for i in rng.choice(n_terms, size, p=share / share.sum())] for size in sizes])


def features_of(profiles: Profiles, seed: int = 0, n_dimensions: int = 30) -> FeatureMatrix:
    """Make features: every term has its own dimension and one that it shares with others."""
    shared = np.random.default_rng(seed).integers(0, n_dimensions, len(profiles.vocabulary))
    found: list[dict[int, float]] = []
    for row in rows(profiles):
        found.append({})
        for term in row:
            for dimension in (int(shared[term]), n_dimensions + term):
                found[-1][dimension] = found[-1].get(dimension, 0.0) + 1.0
    pairs = [sorted(row.items()) for row in found]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in pairs]))).astype(np.int64)
    ids = np.array([dimension for row in pairs for dimension, _ in row], np.int32)
    values = np.array([value for row in pairs for _, value in row])
    return FeatureMatrix(indptr, ids, values, n_dimensions + len(profiles.vocabulary))


def made(
    profiles: Profiles, name: str, *, seed: int = 1, progress: Progress = silent, exact_up_to: int = 10**6
) -> Grouping:
    method = resolve("method", name)
    rng = np.random.default_rng(seed)
    return run(profiles, features_of(profiles), method, rng=rng, exact_up_to=exact_up_to, progress=progress)


def check(profiles: Profiles, method: ResolvedName, grouped: Grouping) -> None:
    """Check every group by counting from scratch, with none of the method's code."""
    p, principle = method.real("p"), method.word("principle")
    least = math.ceil(1 / p - 1e-9)
    floor = int(method.values.get("floor", least))
    everybody = Counter(term for row in rows(profiles) for term in row)
    kept = [[term for term in row if everybody[term] >= floor] for row in rows(profiles)]
    known = Counter(term for row in kept for term in row)
    sizes = [len(row) for row in kept if row]
    assert all(grouped.group[h] < 0 for h, row in enumerate(kept) if not row)
    assert set(grouped.group[grouped.group >= 0]) == set(range(grouped.n_groups))
    for g in range(grouped.n_groups):
        members = np.flatnonzero(grouped.group == g)
        held = Counter(term for h in members for term in kept[h])
        n, pairs = len(members), sum(held.values())
        published = grouped.ids[grouped.indptr[g] : grouped.indptr[g + 1]].tolist()
        assert published == sorted(set(published)) and set(published) <= set(held)
        assert n >= least
        if principle == "mean":
            mean = pairs / n if method.word("average") == "group" else sum(sizes) / len(sizes)
            assert len(held) >= mean / p * (1 - 1e-6)
        elif principle == "posterior":
            assert all(held[term] / n <= p + 1e-6 for term in published)
        elif principle == "belief":
            assert all(held[term] / n - known[term] / len(kept) <= p + 1e-6 for term in published)
        elif principle == "diversity":
            assert math.exp(-sum(c / pairs * math.log(c / pairs) for c in held.values())) >= method.real("l") - 1e-6
        else:
            total = sum(known.values())
            assert sum(abs(held[t] / pairs - known[t] / total) for t in known) / 2 <= method.real("t") + 1e-6
        if principle not in ("posterior", "belief"):
            assert published == sorted(held)


@st.composite
def settings_of_runs(draw: st.DrawFn) -> str:
    p = draw(st.sampled_from((0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1)))
    options = [
        draw(st.sampled_from(("", ", closest=seed"))),
        draw(st.sampled_from(("", ", representative=union"))),
        draw(st.sampled_from(("", ", shrink=0.5"))),
        draw(st.sampled_from(("", "", ", min_similarity=0.3"))),
        draw(st.sampled_from(("", ", floor=1", ", floor=3"))),
    ]
    return f"linkability(p={p}, principle={draw(st.sampled_from(PRINCIPLES))}{''.join(options)})"


@settings(max_examples=100)
@given(name=settings_of_runs(), seed=st.integers(0, 1000), in_blocks=st.booleans())
def test_every_group_is_legal(name: str, seed: int, in_blocks: bool) -> None:
    profiles = natural_log(150, seed)
    try:
        grouped = made(profiles, name, seed=seed, exact_up_to=0 if in_blocks else 1000)
    except GuaranteeError:
        return
    check(profiles, resolve("method", name), grouped)
    assert grouped.n_groups == len(set(grouped.group[grouped.group >= 0])) > 0


@pytest.mark.parametrize("principle", PRINCIPLES)
@pytest.mark.parametrize("p", [0.1, 0.4])
def test_groups_of_blocks_are_legal_and_leave_nobody_out(
    principle: str, p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queryveil.methods.linkability.blocks.BLOCK", 100)
    profiles = natural_log(1500, 5, n_terms=800)
    name = f"linkability(p={p}, principle={principle})"
    grouped = made(profiles, name, exact_up_to=0)
    check(profiles, resolve("method", name), grouped)
    assert grouped.summary["people who fit nowhere"] == 0


def feature_lists(task: GroupingTask) -> list[list[tuple[int, float]]]:
    """Return the dimensions and values of every row."""
    return [
        list(zip(task.rows.feature_ids[a:b].tolist(), task.rows.feature_values[a:b].tolist(), strict=True))
        for a, b in pairwise(task.rows.feature_indptr)
    ]


@settings(max_examples=100)
@given(
    histories=st.lists(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=6), min_size=2, max_size=16),
    principle=st.sampled_from(("mean", "mean, average=global", "diversity, l=3", "closeness, t=0.3")),
    p=st.sampled_from((0.25, 0.4, 0.5, 0.8)),
    least=st.sampled_from((NO_MINIMUM, 0.2, 0.6)),
    by_seed=st.booleans(),
    data=st.data(),
)
def test_the_greedy_equals_its_twin(
    histories: list[list[str]], principle: str, p: float, least: float, by_seed: bool, data: st.DataObject
) -> None:
    profiles = profiles_of(histories)
    seed = data.draw(st.integers(0, len(histories) - 1))
    options = f"{', closest=seed' if by_seed else ''}{f', min_similarity={least}' if least > 0 else ''}, floor=1"
    method = resolve("method", f"linkability(p={p}, principle={principle}{options})")
    task = part_of(task_of(profiles, features_of(profiles), method), np.arange(len(histories)))
    group = group_rows(task, seed, lambda done: None)
    rule = legal_rule(
        rows(profiles), principle.split(",")[0], p, average=method.word("average"),
        diversity=float(method.values.get("l", 1)), distance=float(method.values.get("t", 1)),
    )  # fmt: skip
    expected = greedy_groups(feature_lists(task), rule, seed, by_seed, least)
    found = [np.flatnonzero(group == g).tolist() for g in range(group.max(initial=-1) + 1)]
    assert sorted(found) == sorted(sorted(members) for members in expected)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n_people=st.integers(6, 40),
    principle=st.sampled_from(("mean", "mean, average=global", "diversity, l=3")),
    p=st.sampled_from((0.25, 0.4, 0.5)),
)
def test_an_exchange_of_members_equals_its_twin(seed: int, n_people: int, principle: str, p: float) -> None:
    profiles = natural_log(n_people, seed, n_terms=40, length=4)
    method = resolve("method", f"linkability(p={p}, principle={principle}, floor=1)")
    values = np.random.default_rng(seed).uniform(0.5, 1.5, len(features_of(profiles).values))  # no two sums are tied
    task = task_of(profiles, replace(features_of(profiles), values=values), method)
    group = group_rows(task, 0, lambda done: None)
    group[np.random.default_rng(seed).random(n_people) < 0.1] = LEFT_OVER
    group = without_illegal(task, group)
    groups = [np.flatnonzero(group == g).tolist() for g in range(group.max(initial=-1) + 1)]
    rule = legal_rule(
        rows(profiles), principle.split(",")[0], p, average=method.word("average"),
        diversity=float(method.values.get("l", 1)),
    )  # fmt: skip
    expected = exchange_once(feature_lists(task), rule, groups)
    exchange_members(task.rows, task.rule, empty_tally(task.n_entries), group, len(groups))
    assert [np.flatnonzero(group == g).tolist() for g in range(len(groups))] == [sorted(each) for each in expected]


def test_two_people_in_the_wrong_groups_change_places() -> None:
    cats, dogs = (1.0, 0.2, 0.0, 0.0), (0.0, 0.0, 0.2, 1.0)
    task = task_of_rows("linkability(p=0.4, floor=1)", cats, cats, dogs, dogs, dogs, cats)
    group = np.array([0, 0, 0, 1, 1, 1], np.int32)
    assert exchange_members(task.rows, task.rule, empty_tally(task.n_entries), group, 2) == 1
    assert group.tolist() == [0, 0, 1, 1, 1, 0]


LESS, MORE = (0.3, 0.7, 0.2), (0.2, 0.3, 0.7)  # equally similar to (1, 1, 1), but not in floating-point arithmetic


def task_of_rows(name: str, *rows: Sequence[float]) -> GroupingTask:
    """Return the task of grouping people who have a term each, and these features."""
    indptr = np.arange(len(rows) + 1, dtype=np.int64) * 4
    features = FeatureMatrix(indptr, np.tile(np.arange(4, dtype=np.int32), len(rows)), np.concatenate(rows), 4)
    return task_of(profiles_of([[f"t{i}"] for i in range(len(rows))]), features, resolve("method", name))


@pytest.mark.parametrize("principle", ["mean", "posterior"])
@pytest.mark.parametrize("closest", ["centroid", "seed"])
def test_similarities_that_differ_in_the_last_bit_are_tied_and_the_lowest_row_wins(
    principle: str, closest: str
) -> None:
    name = f"linkability(p=0.5, principle={principle}, closest={closest}, floor=1)"
    task = task_of_rows(name, (1, 1, 1, 0), (*LESS, 0), (*MORE, 0), (0, 0, 0, 1))
    first, one, two, _ = task.rows.feature_values.reshape(4, 4).tolist()
    assert sum(map(operator.mul, first, one)) < sum(map(operator.mul, first, two))
    group = group_rows(task, 0, lambda done: None)
    assert group[0] == group[1] != group[2]


def test_the_next_seed_is_the_lowest_of_tied_rows() -> None:
    task = task_of_rows("linkability(p=1, floor=1)", (1, 1, 1, 0), (*MORE, 0), (*LESS, 0))
    state = start_greedy(task.rows, 0)
    grow_groups(task.rows, task.rule, empty_tally(3), state, False, NO_MINIMUM, 1)
    assert state.counters[NEXT_SEED] == 1


def test_a_leftover_row_joins_the_lowest_of_tied_groups() -> None:
    """Rows 0 to 3 are two groups; row 4 is as similar to both."""
    task = task_of_rows("linkability(p=0.5, floor=1)", *[(*LESS, 0)] * 2, *[(*MORE, 0)] * 2, (1, 1, 1, 0))
    group = np.array([0, 0, 1, 1, LEFT_OVER], np.int32)
    place_leftovers(task, group, lambda done: None)
    assert group.tolist() == [0, 0, 1, 1, 0]


def test_a_newcomer_joins_the_first_of_tied_groups() -> None:
    rows_of = np.array([(0.8, 0.2, 0.1), (0.8, 0.1, 0.2), (1, 1, 1)])  # tied, but not as computed
    features = FeatureMatrix(np.arange(4) * 3, np.tile(np.arange(3, dtype=np.int32), 3), rows_of.ravel(), 3)
    closest, _ = incremental._closest_groups(np.array([0, 1, -1], np.int32), np.ones(3, np.bool_), features)
    assert closest.tolist() == [-1, -1, 0]


def test_blocks_are_used_for_many_people_unless_refused_and_the_summary_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("queryveil.methods.linkability.blocks.BLOCK", 100)
    profiles = natural_log(500, 3)
    small = made(profiles, "linkability(p=0.4)")
    assert small.summary["people grouped"] == "all at once"
    cut = made(profiles, "linkability(p=0.4)", exact_up_to=400)
    found = re.fullmatch(r"in (\d+) blocks of at most (\d+) people", cut.summary["people grouped"])
    assert found is not None and int(found[1]) > 1 and 500 / int(found[1]) <= int(found[2]) <= 200
    exact = made(profiles, "linkability(p=0.4, blocks=none)", exact_up_to=400)
    assert exact.summary == small.summary
    assert exact.group.tolist() == small.group.tolist() != cut.group.tolist()


def test_the_declaration_names_the_size_above_which_blocks_are_used() -> None:
    (blocks,) = (each for each in LINKABILITY.parameters if each.name == "blocks")
    assert f"more than {EXACT_UP_TO:,} people are grouped in blocks of about {BLOCK:,}" in blocks.purpose


def cosines(profiles: Profiles, grouped: Grouping) -> float:
    """Return the mean cosine of people to what their group publishes."""
    total = 0.0
    for row, g in zip(rows(profiles), grouped.group, strict=True):
        if g >= 0:
            a, b = grouped.indptr[g : g + 2]
            published = dict(zip(grouped.ids[a:b].tolist(), grouped.weights[a:b].tolist(), strict=True))
            length = math.sqrt(sum(w * w for w in published.values()))
            total += sum(published.get(t, 0) for t in row) / math.sqrt(len(row)) / length if length else 0
    return total / len(grouped.group)


@pytest.mark.parametrize("principle", ["posterior", "belief"])
@pytest.mark.parametrize("p", [0.1, 0.4])
def test_groups_chosen_for_the_constraint_publish_more_than_suppressing_afterwards(principle: str, p: float) -> None:
    profiles = natural_log(400, 3, n_terms=1000, length=15)
    strict = made(profiles, f"linkability(p={p}, principle={principle})")
    method = resolve("method", f"linkability(p={p}, principle={principle})")
    afterwards = representatives(without_rare(profiles, method), made(profiles, f"linkability(p={p})").group, method)
    assert cosines(profiles, strict) > 1.1 * cosines(profiles, afterwards)


def test_same_seed_same_groups() -> None:
    profiles = natural_log(300, 4)
    for exact_up_to in (1000, 0):
        one, two = (made(profiles, "linkability(p=0.3)", seed=7, exact_up_to=exact_up_to) for _ in range(2))
        assert one.group.tolist() == two.group.tolist()
        assert one.weights.tolist() == two.weights.tolist()


def test_the_centroid_is_the_mean_over_members_and_the_union_over_holders() -> None:
    profiles = profiles_of([["a", "b"], ["a", "c"]])
    weighed = replace(profiles, weights=np.array([0.5, 1.0, 1.0, 0.25]))
    options = "p=1, principle=posterior, floor=1"
    centroid = _weights(run_pair(weighed, f"linkability({options})"))
    union = _weights(run_pair(weighed, f"linkability({options}, representative=union)"))
    assert centroid == {0: 0.75, 1: 0.5, 2: 0.125}
    assert union == {0: 0.75, 1: 1.0, 2: 0.25}


def run_pair(profiles: Profiles, name: str) -> Grouping:
    """Put two people into one group."""
    return representatives(profiles, np.zeros(2, np.int32), resolve("method", name))


def _weights(grouped: Grouping) -> dict[int, float]:
    return dict(zip(grouped.ids.tolist(), grouped.weights.tolist(), strict=True))


def test_shrinking_pulls_weights_of_small_groups_and_adds_no_term() -> None:
    profiles = natural_log(200, 9)
    plain, pulled = (made(profiles, f"linkability(p=0.4{option})") for option in ("", ", shrink=1"))
    assert plain.ids.tolist() == pulled.ids.tolist()
    share = Counter(term for row in rows(profiles) for term in row)
    sizes = np.bincount(plain.group[plain.group >= 0])
    for g in range(plain.n_groups):
        pull = smallest_group(0.4) / sizes[g]
        for i in range(plain.indptr[g], plain.indptr[g + 1]):
            everybody = share[int(plain.ids[i])] / profiles.n_histories
            assert pulled.weights[i] == pytest.approx((1 - pull) * plain.weights[i] + pull * everybody)


def test_nobody_is_put_with_people_less_alike_than_asked() -> None:
    alike = [["a", "b"], ["a", "c"], ["a", "d"], ["b", "c"]]
    profiles = profiles_of([*alike, ["x", "y"], ["z"]])
    grouped = made(profiles, "linkability(p=0.5, principle=posterior, min_similarity=0.1, floor=1)")
    assert grouped.group.tolist()[-2:] == [-1, -1]
    assert (grouped.group[:4] >= 0).all()
    assert grouped.summary["people who fit nowhere"] == 2


def least_cosine(features: FeatureMatrix, grouped: Grouping) -> float:
    """Return the lowest cosine of a member with the sum of its group's unit features, member by member."""
    found: list[float] = []
    unit = [
        {
            d: v / np.linalg.norm(features.values[a:b])
            for d, v in zip(features.ids[a:b], features.values[a:b], strict=True)
        }
        for a, b in zip(features.indptr, features.indptr[1:], strict=False)
    ]
    for g in range(grouped.n_groups):
        members = [unit[h] for h in np.flatnonzero(grouped.group == g)]
        total = Counter[int]()
        for each in members:
            total.update(each)
        length = math.sqrt(sum(v * v for v in total.values()))
        found += [sum(v * total[d] for d, v in each.items()) / length for each in members]
    return min(found)


@pytest.mark.parametrize("principle", [*PRINCIPLES[:-1], "closeness, t=0.9"])
@pytest.mark.parametrize("closest", ["centroid", "seed"])
@pytest.mark.parametrize("exact_up_to", [0, 1000])
def test_everybody_is_as_similar_as_asked_to_the_final_centroid(principle: str, closest: str, exact_up_to: int) -> None:
    profiles = natural_log(600, 1, n_terms=400)
    name = f"linkability(p=0.2, principle={principle}, closest={closest}, min_similarity=0.4, floor=1)"
    grouped = made(profiles, name, exact_up_to=exact_up_to)
    check(profiles, resolve("method", name), grouped)
    assert least_cosine(features_of(profiles), grouped) >= 0.4 - 1e-9


def test_a_person_without_a_term_that_is_common_enough_is_suppressed_and_counted() -> None:
    histories = [["a", "b"], ["c", "d"], ["a", "c"], ["b", "d"], ["mine"]]
    grouped = made(profiles_of(histories), "linkability(p=0.5)")
    assert (grouped.group >= 0).tolist() == [True, True, True, True, False]
    assert grouped.summary["people without a usable term"] == 1
    assert grouped.summary["pairs below the floor"] == 1


@pytest.mark.parametrize("histories", [[["a"]], [["a"], ["a"], ["a"]], [["a", "b"], ["a", "b"]], [["a"], ["b"], ["c"]]])
def test_where_no_group_is_legal_nothing_is_made(histories: Sequence[Sequence[str]]) -> None:
    with pytest.raises(GuaranteeError, match="make no legal group; take a larger p") as refused:
        made(profiles_of(histories), "linkability(p=0.4)")
    assert str(refused.value).startswith("linkability(p=0.4): the ")


def test_progress_comes_to_its_end_and_may_end_the_run() -> None:
    profiles = natural_log(300, 2)
    reports: list[tuple[str, int, int]] = []
    for exact_up_to in (1000, 0):
        made(profiles, "linkability(p=0.4)", exact_up_to=exact_up_to, progress=lambda *report: reports.append(report))
        assert reports[-1][1] == reports[-1][2]

    def stop(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    for exact_up_to in (1000, 0):
        with pytest.raises(KeyboardInterrupt):
            made(profiles, "linkability(p=0.4)", exact_up_to=exact_up_to, progress=stop)


def test_the_smallest_group() -> None:
    assert [smallest_group(p) for p in (1, 0.5, 0.4, 0.35, 0.1, 1 / 3, 0.001)] == [1, 2, 3, 3, 10, 3, 1000]
