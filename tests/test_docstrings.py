"""Every public function has parameters, returns, raises and an example, and the examples give what they show."""

import doctest
import inspect
from pathlib import Path
from typing import Any

import pandas
import pytest

import queryveil

PUBLIC = {name: getattr(queryveil, name) for name in queryveil.__all__}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
DOCUMENTED: dict[str, Any] = {**FUNCTIONS, "Searcher": queryveil.Searcher, "Searcher.search": queryveil.Searcher.search}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return queryveil.generate(tmp_path_factory.mktemp("log") / "log.tsv", users=500, seed=1).path.read_bytes()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_give_what_they_show(name: str, log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.tsv").write_bytes(log)
    known = {"queryveil": queryveil, "pandas": pandas, "Path": Path}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(DOCUMENTED[name]) or "", known, name, None, 0)
    assert test.examples
    assert any(example.want for example in test.examples)
    found = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test)
    assert (found.failed, found.attempted) == (0, len(test.examples))


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstrings_are_complete(name: str) -> None:
    doc, parameters = inspect.getdoc(DOCUMENTED[name]) or "", inspect.signature(DOCUMENTED[name]).parameters
    for heading in ("Returns", "Raises", "Example"):
        assert f"\n{heading}:\n" in doc
    for each in parameters:
        assert each == "self" or f"\n    {each}: " in doc
        assert parameters[each].kind is not inspect.Parameter.VAR_KEYWORD or name == "name"
