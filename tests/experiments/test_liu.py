"""The evaluation of Liu and Wang 2010 on a small generated log, and its running example."""

import numpy as np
import pytest

from queryveil.api import generate, profiles
from queryveil.core.errors import InputError
from queryveil.experiments import liu
from queryveil.experiments.liu import examples
from queryveil.experiments.liu.grid import KS, LG_BAG, SERIES
from queryveil.experiments.paper import PaperEvaluation, PaperInputs, PaperOptions
from queryveil.histories.profiles import Profiles
from tests.builders import profiles_of


def evaluation_of(log: Profiles) -> PaperEvaluation:
    return liu.evaluate(PaperInputs(log, PaperOptions(has_log=True), np.random.default_rng(0)))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> PaperEvaluation:
    log = tmp_path_factory.mktemp("liu") / "log.tsv"
    generate(log, users=60, seed=1)
    return evaluation_of(profiles(log))


def test_every_table_and_figure_is_made(found: PaperEvaluation) -> None:
    names = [table.name for table in found.tables]
    measures = ["bLM", "LM", "Recall", "sDist", "Published", "Time"]
    assert names == ["Figures 1 and 2", "Figure 3", "Table I", *measures]
    assert [figure.name for figure in found.figures] == ["bLM", "LM", "Recall", "Published"]
    for table in found.tables[3:]:
        assert [row[0] for row in table.rows] == list(SERIES)


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


def test_notes_name_the_settings_in_which_the_competitor_wins(found: PaperEvaluation) -> None:
    (table,) = (table for table in found.tables if table.name == "bLM")
    assert any(LG_BAG in note for note in table.notes)


def test_too_few_people_are_refused() -> None:
    with pytest.raises(InputError, match="the paper's k goes up to 20"):
        evaluation_of(profiles_of([("wine",)] * 3))
