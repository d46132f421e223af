"""The evaluation of Liu and Wang 2010 on a small generated log, and its running example."""

import numpy as np
import pytest

from queryveil.api import generate, profiles
from queryveil.core.errors import InputError
from queryveil.experiments import liu
from queryveil.experiments.liu import examples
from queryveil.experiments.liu.grid import AS_PUBLISHED, KS, LG_BAG, SERIES, SSC
from queryveil.experiments.paper import PaperEvaluation, PaperInputs, PaperOptions
from queryveil.histories.profiles import Profiles
from tests.builders import profiles_of


def evaluation_of(log: Profiles, sessions: Profiles | None = None) -> PaperEvaluation:
    return liu.evaluate(
        PaperInputs(
            log,
            PaperOptions(has_log=True),
            np.random.default_rng(0),
            cut={} if sessions is None else {"session": sessions},
        )
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> PaperEvaluation:
    log = tmp_path_factory.mktemp("liu") / "log.tsv"
    generate(log, users=60, seed=1)
    return evaluation_of(profiles(log), profiles(log, history="session"))


def test_every_table_and_figure_is_made(found: PaperEvaluation) -> None:
    names = [table.name for table in found.tables]
    measures = ["bLM", "LM", "Recall", "sDist", "Published", "Time"]
    example = ["Figure 1(a)", "Figure 2(a)", "Figures 1(b) and 2(b)", "Figure 3", "Figure 4", "Table I"]
    assert names == ["Findings", *example, *measures, "Granularity"]
    assert [figure.name for figure in found.figures] == ["bLM", "LM", "Recall", "Published"]
    for table in found.tables[7:-1]:
        assert [row[0] for row in table.rows] == list(SERIES)


def test_sessions_are_compared_to_people(found: PaperEvaluation) -> None:
    table = found.tables[-1]
    assert [row[1] for row in table.rows] == ["user", "session"] * 3
    by_user = {run["series"]: run for run in found.numbers["runs"] if run["k"] == 5}
    assert table.rows[0][2] == f"{by_user[SSC[8]]['blm']:.3f}"
    assert " people; k counts people, not sessions." in table.notes[0]


def test_vocabularies_of_figure_1a() -> None:
    assert examples.figure_1a().rows == (
        ("∞", "boots:1, jackets:1, wine:2", "boots:1, jackets:1, wine:2"),
        ("30 minutes", "–", "boots:1, jackets:1, wine:1 and wine:1"),
    )


def test_the_pseudo_code_by_the_letter_does_not_give_the_papers_clusters() -> None:
    table, as_published = examples.figure_4(examples.example(np.random.default_rng(0)))
    clusters = {row[0]: row[1] for row in table.rows}
    assert as_published == ["t1 t3, t2 t4 t5", "t1 t2, t3 t4 t5"]
    assert clusters["second model, ω = 5, farthest from the last seed"] == examples.CLUSTERS


def test_findings_follow_from_the_runs(found: PaperEvaluation) -> None:
    by_claim = dict(zip(examples.CLAIMS, found.findings, strict=True))
    assert [by_claim[name].judgement for name in ("example", "recall")] == ["by construction"] * 2
    assert by_claim["models"][2:] == ("t1–t3: 4 and 104 at ω = 100", "not confirmed")
    runs = {(run["series"], run["k"]): run for run in found.numbers["runs"]}
    for claim, series in (("blm_first", 0), ("blm_second", 1)):
        lost = [f"k = {k}" for k in KS if runs[[*AS_PUBLISHED][series], k]["blm"] >= runs[LG_BAG, k]["blm"]]
        expected = f"not at {'; '.join(lost)}" if lost else "at every setting"
        assert by_claim[claim][2:] == (expected, "not confirmed" if lost else "confirmed")


def test_releases_of_nothing_are_named_and_not_verified(found: PaperEvaluation) -> None:
    empty = [f"{run['series']}, k = {run['k']}" for run in found.numbers["runs"] if run["nothing_left"]]
    assert empty
    assert f"Nothing was released, and nothing verified, of: {'; '.join(empty)}." in found.tables[7].notes
    assert found.tally.empty >= len(empty)


def test_the_running_example_equals_the_paper() -> None:
    table = examples.figures_1_and_2(examples.example(np.random.default_rng(0)))
    assert [row[4] for row in table.rows] == [row[5] for row in table.rows] == list(examples.TYPICAL)
    assert [row[3] for row in table.rows][:2] == ["goods:4", "apparel:2, edibles:2"]
    assert "SSC gives the paper's clusters" in table.notes[0]


def test_distances_of_the_example() -> None:
    table = examples.figure_3(examples.example(np.random.default_rng(0)))
    ours = {row[0]: (row[1], row[2]) for row in table.rows}
    assert ours["wine, vino"] == ("2", "2")
    assert ours["wine, jackets"] == ("6", "6")
    assert ours["t1, t2 by the first model, ε = 4"] == ("6", "6")
    assert ours["t1, t3 by the first model, ε = 4"][1] == "4"


def test_numbers_contain_every_run(found: PaperEvaluation) -> None:
    runs = found.numbers["runs"]
    assert len(runs) == len(SERIES) * len(KS)
    for run in runs:
        assert 0 <= run["blm"] <= 1
        assert 0 <= run["recall"] <= 100
        assert run["sdist"] >= 0


def test_too_few_people_are_refused() -> None:
    with pytest.raises(InputError, match="the paper's k goes up to 20"):
        evaluation_of(profiles_of([("wine",)] * 3))
