"""The project's own promises: how it sets itself up, what it ships, and how third parties add to it."""

import ast
import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint, packages_distributions
from pathlib import Path

import pytest

from queryveil._version import __version__
from queryveil.core import names
from queryveil.core.errors import UnknownNameError
from queryveil.core.extras import EXTRAS
from queryveil.core.names import Declaration, declarations, resolve

ROOT = Path(__file__).resolve().parent.parent
EXTRA = Declaration("extra", "a measure of somebody else's")
CLASHING = Declaration("retention", "a measure of the same name")


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    declarations.cache_clear()
    yield
    declarations.cache_clear()


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


@pytest.mark.parametrize(
    ("fake", "expected"),
    [
        ('case "$2" in *version_info*2\\]*) echo 3.11;; *venv*) exit 1;; esac', "apt-get install python3.11-venv"),
        ('case "$1" in --version) echo Python 3.9;; *) exit 1;; esac', "needs Python 3.11 or newer"),
    ],
)
def test_setting_up_says_what_is_missing(tmp_path: Path, fake: str, expected: str) -> None:
    environment = {**os.environ, "PYTHON": script(tmp_path / "python", fake)}
    done = subprocess.run(
        [ROOT / "scripts" / "make_venv", tmp_path / "venv", "serve"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "venv").exists()


def test_every_dependency_has_a_plain_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    names = {_distribution(name) for name in wanted} - {"queryveil"}  # extras of its own
    assert names <= {_distribution(name) for name in pinned}


def test_every_imported_package_is_declared() -> None:
    """A package that is imported is a core dependency, or an extra has it and core/extras.py says so."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {_distribution(name) for name in project["dependencies"]}
    of_extras = {module for modules in EXTRAS.values() for module in modules}
    providers = packages_distributions()
    undeclared = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in (ROOT / "src").rglob("*.py")
        for module in _third_party_modules(path)
        if module not in of_extras and not declared & {_distribution(name) for name in providers[module]}
    }
    assert undeclared == set()


def _distribution(requirement: str) -> str:
    """Return the normalised name of the distribution that a requirement asks for."""
    name = re.split(r"[\[<>=!~;, ]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def _third_party_modules(path: Path) -> set[str]:
    """Return the top-level modules that a file imports from other distributions, lazily or not."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, "queryveil"}


def test_changelog_knows_the_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_licences_of_bundled_data_ship() -> None:
    notice = (ROOT / "NOTICE").read_text()
    for name in ("WordNet", "Census", "Lucene"):
        assert name in notice
    assert "Princeton University" in (ROOT / "licenses" / "WordNet-3.0.txt").read_text()


def test_shipped_files_are_small() -> None:
    large = [
        p for p in (ROOT / "tests").rglob("*") if p.is_file() and p.suffix != ".pyc" and p.stat().st_size > 200_000
    ]
    assert large == []


@pytest.mark.usefixtures("fresh_registry")
def test_third_parties_add_declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("extra", "tests.test_project:EXTRA", "queryveil.measure")
    monkeypatch.setattr(names, "entry_points", lambda group: [point] if group == point.group else [])
    assert resolve("measure", "extra").declaration == EXTRA
    assert "extra" not in declarations("method")


@pytest.mark.usefixtures("fresh_registry")
def test_third_parties_cannot_replace_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("retention", "tests.test_project:CLASHING", "queryveil.measure")
    monkeypatch.setattr(names, "entry_points", lambda group: [point])
    with pytest.raises(UnknownNameError, match="retention"):
        declarations("measure")
