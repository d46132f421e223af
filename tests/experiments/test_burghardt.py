"""The evaluation of Burghardt et al. 2010 on a small log, against values by hand, a slow twin and the measures."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from queryveil.core.errors import InputError, InternalError
from queryveil.core.evidence import Evidence
from queryveil.core.names import declarations, resolve
from queryveil.core.progress import silent
from queryveil.core.results import Verdict
from queryveil.experiments.burghardt import claims, evaluate, examples, grid, history_size, printed, result_tables
from queryveil.experiments.burghardt.examples import TermHolders
from queryveil.experiments.burghardt.grid import TARGETS, KmRun, KmSetup, mean_of, run_once
from queryveil.experiments.paper import PaperEvaluation, PaperInputs, PaperOptions, example_log
from queryveil.histories.profiles import Profiles
from queryveil.kinds.log import LOG as LOG_KIND
from queryveil.market import Market, make_market
from queryveil.measures.base import Comparison
from queryveil.measures.utility.market import measure_market, significance
from queryveil.measures.utility.retention import measure_retention
from queryveil.methods.targets import TermValues
from tests.builders import profiles_of, rows
from tests.papers.test_burghardt import ARNOLD
from tests.twins.km import Supports, fis_figures


def small_log(n_people: int = 140, n_terms: int = 40) -> Profiles:
    rng = np.random.default_rng(11)
    popularity = 1 / np.arange(1, n_terms + 1)
    return profiles_of(
        [
            [f"t{i}" for i in rng.choice(n_terms, size=rng.integers(2, 9), p=popularity / popularity.sum())]
            for _ in range(n_people)
        ]
    )


def small_market(profiles: Profiles) -> Market:
    rng = np.random.default_rng(12)
    numbers = rng.lognormal(size=(len(profiles.vocabulary), 3))
    numbers[::3, 1] = np.nan
    return make_market("market.csv", {term: i for i, term in enumerate(profiles.vocabulary)}, numbers)


LOG = small_log()
MARKET = small_market(LOG)


def evaluation_of(profiles: Profiles, market: Market, *, has_log: bool = True) -> PaperEvaluation:
    options = PaperOptions(has_log=has_log)
    return evaluate(PaperInputs(profiles, options, np.random.default_rng(1), market=market, n_queries=321))


@pytest.fixture(scope="module")
def found() -> PaperEvaluation:
    return evaluation_of(LOG, MARKET)


def run_of(target: str, **kept: float) -> KmRun:
    return KmRun("km", 2, 2, target, 1.0, 3.0, 10, kept)


def test_supports_and_fis_figures_equal_the_twin() -> None:
    holders, m = TermHolders(LOG), 3
    twin = Supports(rows(LOG), range(LOG.n_histories), m).support
    for terms in [(0,), (1, 2), (0, 3), (0, 1, 2), (4, 7, 9), (30, 38)]:
        assert holders.support(terms) == twin[terms]
    for term in (0, 5, 20, 39):
        for k in (2, 3):
            assert holders.fis_figures(term, k, m) == fis_figures(term, twin, k, m)


def test_supports_count_a_person_with_several_histories_once() -> None:
    holders = TermHolders(profiles_of([["a", "b"], ["a", "b", "c"], ["a", "c"]], owners=[0, 0, 1]))
    assert holders.profiles.vocabulary == ("a", "c", "b")
    assert [holders.support(terms) for terms in ([0], [1], [2], [0, 1], [0, 2])] == [2, 2, 1, 2, 1]
    assert holders.fis_figures(0, 2, 2) == (1, 2)  # of its pairs, only a and c are held by two people


def test_the_example_logs_have_the_printed_counts() -> None:
    holders = TermHolders(example_log(ARNOLD, [str(person) for person in range(len(ARNOLD))]))
    number = {term: i for i, term in enumerate(holders.profiles.vocabulary)}
    for combination, people in printed.TABLE_1.items():
        assert holders.support([number[term] for term in combination]) == people
    smith = TermHolders(examples.smith_log())
    number = {term: i for i, term in enumerate(smith.profiles.vocabulary)}
    figures = {term: smith.fis_figures(number[term], 2, 3) for term in ("eugene", "chicago", "smith")}
    assert tuple(examples.decide(figures)) == printed.TABLE_4


def test_terms_that_tie_in_every_iteration_stay_candidates() -> None:
    assert examples.decide({"a": (1, 1), "b": (1, 1)}) == [
        (1, "a", 2, 1, "candidate"),
        (1, "b", 2, 1, "candidate"),
        (2, "a", 1, 1, "candidate"),
        (2, "b", 1, 1, "candidate"),
    ]


def test_the_identified_person_has_two_terms_that_only_others_have_alone() -> None:
    holders = TermHolders(LOG)
    third, common, rare = examples.find_identified(holders) or (0, 0, 0)
    assert holders.support([common, rare]) == 1
    assert min(holders.support([third, common]), holders.support([third, rare])) > 1
    # among all pairs that only one person has, none has a rarer term that more people have
    pairs = {pair for row in rows(LOG) if len(row) >= 3 for pair in combinations(row, 2) if holders.support(pair) == 1}
    assert (common, rare) in pairs
    assert rare <= min(b for a, b in pairs if has_third(holders, a, b))


def has_third(holders: TermHolders, a: int, b: int) -> bool:
    (history,) = holders.histories([a, b]).tolist()
    row = rows(holders.profiles)[history]
    return any(holders.support([t, a]) > 1 and holders.support([t, b]) > 1 for t in row if t not in (a, b))


def test_kept_shares_equal_the_measures(found: PaperEvaluation) -> None:
    setup = KmSetup(LOG, TermValues(market=MARKET), "paper", np.random.default_rng(0))
    result, mask = run_once(setup, 2, 2, "clicks")
    released = LOG.select(mask)
    comparison = Comparison(LOG_KIND, LOG, released, np.arange(LOG.n_histories), MARKET)
    for measure, compute in (("retention", measure_retention), ("market", measure_market)):
        for score in compute(Evidence(comparison), resolve("measure", measure), rng=np.random.default_rng(0)):
            if score.label != "pairs":
                assert result.kept[score.label] == pytest.approx(score.value)
    (same,) = (run for run in found.numbers["runs"] if run["method"] == result.method)
    assert same["kept"] == pytest.approx(result.kept)
    assert same["checked"] == result.checked > 0


def test_every_cell_of_the_grid_is_run(found: PaperEvaluation) -> None:
    made = [(run["m"], run["k"], run["target"]) for run in found.numbers["runs"]]
    assert made == [(m, k, target) for m in (2, 3) for k in (2, 10, 20, 40, 100) for target in TARGETS]
    timed = [(run["k"], run["m"]) for run in found.numbers["timed"]]
    assert timed == [(2, 2), (5, 2), (2, 3), (5, 3)]
    started, complete = found.numbers["timed_from_2_2"], found.numbers["timed"][2]
    assert started["kept"]["log size"] <= found.numbers["timed"][0]["kept"]["log size"]
    assert abs(started["kept"]["log size"] - complete["kept"]["log size"]) < 5


def test_names_and_shapes_of_tables_and_figures(found: PaperEvaluation) -> None:
    names = [table.name for table in found.tables]
    assert [name for name in names if "this log" not in name] == [
        "Findings",
        "Section 5.1",
        *(f"Table {i}" for i in range(1, 8)),
        "Figure 1",
        "Figure 2",
        "Section 5.2",
        "Section 5.6",
    ]
    shapes = {table.name: (len(table.rows), len(table.headings)) for table in found.tables}
    assert [shapes[f"Table {i}"] for i in range(1, 8)] == [
        (7, 5),
        (12, 9),
        (15, 7),
        (7, 6),
        (10, 9),
        (10, 11),
        (10, 14),
    ]
    assert all(len(row) == len(table.headings) for table in found.tables for row in table.rows)
    assert [figure.name for figure in found.figures] == ["Figure 1", "Figure 2"]
    assert all(len(figure.points) == len(TARGETS) * 5 for figure in found.figures)


def test_section_5_1_counts_the_log(found: PaperEvaluation) -> None:
    assert found.tables[1].rows == (
        ("users", "367,803", "140"),
        ("queries", "1,846,134", "321"),
        ("distinct terms", "251,115", str(len({term for row in rows(LOG) for term in row}))),
        ("occurrences", "5,501,825", str(sum(LOG.counts.tolist()))),
        ("terms of the largest history", "495", str(max(map(len, rows(LOG))))),
        ("distinct terms that WordNet lacks, % (section 2.3)", "85", "100.0"),  # t0, t1 … are no words
    )


def judgements(evaluation: PaperEvaluation) -> dict[str, tuple[str, str]]:
    """Return what was found about each claim, and the judgement."""
    return {name: each[2:] for name, each in zip(printed.CLAIMS, evaluation.findings, strict=True)}


def test_what_was_made_to_come_out_is_not_called_confirmed(found: PaperEvaluation) -> None:
    given = judgements(found)
    assert given["table_3"][1] in ("confirmed", "not confirmed")
    assert given["wordnet"] == ("100 %", "confirmed")
    assert given["table_4"] == ("smith, in a log that we wrote for it", "by construction")
    generated = judgements(evaluation_of(LOG, MARKET, has_log=False))
    assert generated["table_3"] == (given["table_3"][0], "by construction")
    assert generated["wordnet"] == ("100 %", "by construction")


def test_runs_that_release_nothing_are_not_counted_as_verified() -> None:
    log = small_log(n_people=110)
    found = evaluation_of(log, small_market(log))
    empty = [run for run in found.numbers["runs"] if not run["checked"]]
    assert {run["k"] for run in empty} == {100}  # of 110 people no 100 share a term
    assert found.tally.empty == sum(2 if run["target"] == "random" else 1 for run in empty)
    n_runs = 5 + 10 * (len(TARGETS) + 1) + len(found.numbers["history_sizes"])
    assert found.tally.verified + found.tally.empty == n_runs


def grid_by_hand(kept: dict[tuple[int, int, str], float]) -> result_tables.Grid:
    """Return a grid in which every target keeps 50 % of everything, but for some log sizes by m, k and target."""
    return {
        (m, k): {
            target: replace(
                run_of(target, **dict.fromkeys(printed.COLUMNS_5, 50.0) | {"log size": kept.get((m, k, target), 50.0)}),
                k=k,
                m=m,
            )
            for target in TARGETS
        }
        for m in printed.MS
        for k in printed.KS
    }


def test_section_5_5_is_judged_by_the_largest_difference_of_m() -> None:
    same = claims.check_sizes(grid_by_hand({}))
    assert same["m_large_k"] == ("up to 0.0 points (users, k = 100)", True)
    cost = claims.check_sizes(grid_by_hand({(3, 100, "logsize"): 42.8}))
    assert cost["m_large_k"] == ("up to 7.2 points (log size, k = 100)", False)
    assert cost["m_largest_k"][1] is False
    assert cost["m_specific"][1] is False
    small_k = claims.check_sizes(grid_by_hand({(3, 2, "logsize"): 45.0}))
    assert small_k["m_large_k"][1] is True
    assert small_k["m_generic"] == ("up to 5.0 points (log size, k = 2)", False)


def test_section_5_4_is_judged_by_every_k_and_m() -> None:
    ranks = {(m, k, "logsize"): 60.0 for m in printed.MS for k in printed.KS}
    ranks |= {(m, k, "users"): 55.0 for m in printed.MS for k in printed.KS}
    found = claims.check_targets(grid_by_hand(ranks))
    assert found["users"] == ("at 10 of 10 k and m", True)
    assert found["own_target"] == ("not in 0 of 60 cases", True)
    assert found["generic"] == ("up to 10.0 points, in log size", False)
    assert found["random"] == ("random up to 10.0 points behind, others up to 10.0", False)
    assert claims.check_targets(grid_by_hand(ranks | {(2, 2, "fis"): 58.0}))["users"][1] is False


def test_section_5_2_is_judged_by_times() -> None:
    seconds = {(2, 2): 10.0, (5, 2): 2.0, (2, 3): 100.0, (5, 3): 50.0}
    runs = {cell: replace(run_of("logsize", **{"log size": 1.0}), seconds=s) for cell, s in seconds.items()}
    started = runs[5, 3]
    all_targets = [replace(run_of(target), seconds=i) for i, target in enumerate(TARGETS)]
    found = claims.check_times(runs, started, all_targets)
    assert found["first_pass"] == ("whole run: in 20 % of the time", True)
    assert found["started"] == ("50 % of the time", False)
    assert found["slowest"] == ("random, 7.00 s on average", False)
    table = result_tables.times_table(runs, started, [replace(each, seconds=6.0, passes=4.0) for each in all_targets])
    assert ("time of a pass on average, m = 2", "00h:04m:00s", "1.500 s") in table.rows


def test_tables_5_to_7_by_hand() -> None:
    cell = {
        "logsize": run_of("logsize", **{"log size": 40.0, "clicks": 50.0, "distinct terms": 1.0}),
        "clicks": run_of("clicks", **{"log size": 37.0, "clicks": 80.0, "distinct terms": 2.0}),
        "fis": run_of("fis", **{"log size": 41.0, "clicks": 60.0, "distinct terms": 1.5}),
        "random": run_of("random", **{"log size": 20.0, "clicks": 30.0, "distinct terms": 4.0}),
    }
    assert result_tables.quality(cell, "log size") == 40.0
    assert result_tables.best_run(cell, "log size").target == "fis"
    assert result_tables.quality(cell, "distinct terms") == 4.0
    assert result_tables.differences(cell, "log size") == (21.0, 4.0, 0.0)
    assert result_tables.differences(cell, "clicks") == (50.0, 30.0, 20.0)
    assert result_tables.differences(cell, "distinct terms") == (0.0, 3.0, 2.5)


def test_random_is_the_mean_of_two_runs() -> None:
    one, two = run_of("random", users=10.0), replace(run_of("random", users=20.0), seconds=3.0, passes=None)
    mean = mean_of([one, two])
    assert (mean.kept, mean.seconds, mean.passes, mean.checked) == ({"users": 15.0}, 2.0, 3.0, 20)


def test_cells_contain_our_figure_and_the_papers(found: PaperEvaluation) -> None:
    tables = {table.name: table for table in found.tables}
    runs = {(run["m"], run["k"], run["target"]): run["kept"] for run in found.numbers["runs"]}
    row = tables["Table 5"].rows[6]  # m = 3, k = 10
    assert row[:2] == ("3", "10")
    assert row[3] == f"{runs[3, 10, 'logsize']['log size']:.1f} | 25"
    assert row[2].endswith(" | 2.12")
    figure = tables["Figure 2"].rows
    assert figure[TARGETS.index("clicks")][1] == f"{runs[3, 2, 'clicks']['clicks']:.1f} | 78"
    assert figure[TARGETS.index("random")][1] == f"{runs[3, 2, 'random']['clicks']:.1f} | 46"
    assert figure[TARGETS.index("bid")][1] == f"{runs[3, 2, 'bid']['clicks']:.1f}"
    assert tables["Section 5.2"].rows[0][1] == "02h:55m:58s (first pass)"
    assert tables["Section 5.2"].rows[2][1] == "90h:08m:24s (first pass)"


def test_table_2_names_the_highest_terms(found: PaperEvaluation) -> None:
    by_criterion = {row["highest"]: row for row in found.numbers["table_2"]}
    assert by_criterion["users"]["term"] == LOG.vocabulary[0]
    revenue = {term: MARKET.of("revenue", [term])[0] for term in LOG.vocabulary}
    highest = max((t for t in revenue if not np.isnan(revenue[t])), key=lambda t: revenue[t])
    assert by_criterion["revenue"]["term"] == highest
    assert by_criterion["revenue"]["revenue"] == pytest.approx(
        by_criterion["revenue"]["bid"] * by_criterion["revenue"]["clicks"]
    )


def test_the_transcribed_tables_are_complete() -> None:
    cells = {(m, k) for m in printed.MS for k in printed.KS}
    assert set(printed.TABLE_5) == set(printed.TABLE_6) == set(printed.TABLE_7) == cells
    assert sum(significance < 0.01 for _, significance, _ in printed.TABLE_3.values()) == 9
    assert sum(correlation < 0 for correlation, _, _ in printed.TABLE_3.values()) == 1


@pytest.mark.parametrize("pair", printed.TABLE_3)
def test_significance_equals_the_printed_one_up_to_rounding(pair: tuple[str, str]) -> None:
    correlation, significance_printed, n = printed.TABLE_3[pair]
    low, high = (significance(max(0.0, abs(correlation) + off), n) for off in (0.0005, -0.0005))
    assert low - 0.0005 <= significance_printed <= high + 0.0005


def test_a_result_that_the_verifier_refuses_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(claim: object, *_: object, **__: object) -> Verdict:
        return Verdict(str(claim), "violated", "people")

    monkeypatch.setattr("queryveil.verifiers.km.verify", refuse)
    with pytest.raises(InternalError, match=r"km\(k=2, m=2.*\) was refused by its verifier \(violated\)"):
        evaluation_of(LOG, MARKET)


def test_too_few_people_and_a_market_without_clicks_are_refused() -> None:
    few = small_log(n_people=60)
    with pytest.raises(InputError, match="the log has 60 people, but the paper's k goes up to 100"):
        evaluation_of(few, small_market(few))
    numbers = np.array([[1.0, 0.0, 5.0]])
    with pytest.raises(InputError, match="gives no clicks above 0 for any term of the log"):
        evaluation_of(LOG, make_market("m.csv", {"t0": 0}, numbers))


def test_every_target_of_the_paper_is_run() -> None:
    assert set(TARGETS) == set(declarations("target")) - {"distinct", "file"}
    assert set(grid.OWN_TARGET) | {"distinct terms"} == set(printed.COLUMNS_5)


def test_splitting_is_beside_cutting_by_time() -> None:
    single_terms = [[LOG.vocabulary[term]] for terms in rows(LOG) for term in terms]
    cut = profiles_of(single_terms, [owner for owner, terms in enumerate(rows(LOG)) for _ in terms])
    setup = grid.KmSetup(LOG, TermValues(market=MARKET), "paper", np.random.default_rng(1))
    runs = history_size.run_history_sizes(setup, {"session": cut}, silent)
    assert [(run.history, run.split) for run in runs] == [
        ("user", "none"),
        ("user", "all"),
        ("session", "none"),
        ("session", "all"),
    ]
    whole, pieces, single, _ = runs
    ceiling = LOG.counts[LOG.holder_counts()[LOG.ids] >= history_size.K].sum() / LOG.counts.sum()
    assert pieces.log_size == pytest.approx(100 * ceiling)
    assert whole.log_size <= pieces.log_size
    assert whole.together <= pieces.together
    assert single.together == 0
    assert setup.tally.verified == sum(run.released > 0 for run in runs)
    table = history_size.history_size_table(runs)
    assert len(table.rows) == 4
    assert table.rows[0][:2] == ("user", "none")
