"""The notebook runs from its first cell to its last, and ends in what its text says."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "tutorial.ipynb"


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        assert cell["outputs"] == []
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert names["share"] > 0.9
    assert names["done"].verdict.holds
    assert len(names["released"]) > 500
    assert {"retention", "unique(m=2)"} <= set(names["scores"]["measure"])
    assert (names["attacks"]["rate"] < names["attacks"]["original"] / 2).all()
    assert names["runs"]["log size"].is_monotonic_decreasing
    assert names["released"].equals(names["written"].to_pandas())
    assert names["verdict"].holds
    assert {path.name for path in tmp_path.iterdir()} == {"log.tsv", "release", "private"}
