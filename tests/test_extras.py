"""What `pip install queryveil` can do without any extra, and what it says about the rest."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from queryveil.core.extras import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PROVIDERS = packages_distributions()
BLOCK = """
import json, sys
from contextlib import redirect_stdout, redirect_stderr
from importlib.abc import MetaPathFinder
from io import StringIO

missing = set(json.loads(sys.argv[1]))

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from queryveil.cli import run

found = []
for arguments in json.loads(sys.argv[2]):
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        found.append((run(arguments), said.getvalue()))
print(json.dumps(found))
"""


def closure(names: list[str]) -> set[str]:
    """Return the distributions that requirements install, with those that they require themselves."""
    found: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        extras = wanted.extras or {""}
        is_needed = wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras)
        if not is_needed or name in found:
            continue
        found.add(name)
        try:
            waiting += [
                each
                for each in map(Requirement, requires(name) or [])
                if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras)
            ]
        except PackageNotFoundError:
            continue  # a requirement of other systems
    return found


def modules_of(distributions: set[str]) -> set[str]:
    """Return the top-level modules that distributions provide."""
    return {
        module for module, owners in PROVIDERS.items() if {canonicalize_name(owner) for owner in owners} & distributions
    }


def run_bare(commands: list[list[str]], folder: Path) -> list[tuple[int, str]]:
    """Run commands in one process in which only the core dependencies can be imported."""
    missing = set(PROVIDERS) - modules_of(closure(PROJECT["dependencies"])) - {"queryveil"}
    assert {"pandas", "scipy", "sklearn"} < missing
    arguments = [json.dumps(sorted(missing)), json.dumps(commands)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", BLOCK, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(code, said) for code, said in json.loads(done.stdout.splitlines()[-1])]


def test_the_main_commands_need_no_extra(tmp_path: Path) -> None:
    anonymize = ["anonymize", "log.tsv", "--seed", "1", "--method"]
    commands = [
        ["--help"],
        ["list"],
        ["generate", "log.tsv", "--users", "60", "--seed", "3"],
        [*anonymize, "km(k=3, m=2)", "--out", "km", "--private", "km-private"],
        ["verify", "km", "--private", "km-private"],
        ["measure", "km", "--against", "log.tsv", "--private", "km-private"],
        [*anonymize, "linkability(p=0.3, min_similarity=0.1)", "--out", "groups", "--private", "groups-private"],
        ["verify", "groups", "--private", "groups-private"],
        ["compare", "log.tsv", "--method", "km(k=3, m=2)", "--method", "km(k=4, m=2)", "--out", "page.html"],
        ["sensitivity", "explain", "flu pills"],
    ]
    for command, (code, said) in zip(commands, run_bare(commands, tmp_path), strict=True):
        assert code == 0, (command, said)
    assert "<svg" in (tmp_path / "km" / "report.html").read_text()
    assert "<svg" in (tmp_path / "page.html").read_text()


FEATURES = {
    "search": (["index", "documents", "--out", "index"], "an index of documents", "tantivy"),
    "serve": (["serve", "--port", "0"], "queryveil serve", "uvicorn"),
    "sign": (["verify", "release", "--key", "key.pem"], "--key", "cryptography"),
    "spark": (
        ["anonymize", "log.csv", "--engine", "spark", "--method", "km(k=2, m=1)", "--out", "o"],
        "--engine spark",
        "pyspark",
    ),
}


def test_a_missing_extra_is_named_with_its_command(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "log.csv").write_text("user,query\na,flu\nb,flu\n")
    (tmp_path / "key.pem").write_text("")
    made = ["anonymize", "log.csv", "--method", "km(k=2, m=1)", "--out", "release"]
    (code, _), *found = run_bare([made, *(command for command, _, _ in FEATURES.values())], tmp_path)
    assert code == 0, made
    for (extra, (_, feature, package)), answer in zip(FEATURES.items(), found, strict=True):
        sentence = f"queryveil: {feature} needs the package {package}; run pip install 'queryveil[{extra}]'.\n"
        assert answer == (2, sentence)


def test_every_extra_has_a_test_of_its_sentence() -> None:
    frames = {"pandas", "polars"}  # in tests/core/test_extras.py
    assert set(FEATURES) | frames == set(EXTRAS)


def test_all_has_every_extra_and_dev_has_all() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == set(EXTRAS)
    assert "queryveil[all]" in extras["dev"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_modules_of_an_extra_are_what_it_installs(extra: str) -> None:
    names = PROJECT["optional-dependencies"][extra]
    direct: set[str] = {canonicalize_name(Requirement(name).name) for name in names}
    assert set(EXTRAS[extra]) <= modules_of(direct)
