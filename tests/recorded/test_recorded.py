"""The recorded runs give what they gave when they were recorded: the same rows, verdicts, scores and messages."""

from pathlib import Path

import pytest

from tests.recorded.recording import differences, load, record
from tests.recorded.scenarios import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_results_are_those_recorded(name: str, tmp_path: Path) -> None:
    assert differences(load(name), record(SCENARIOS[name], tmp_path)) == []
