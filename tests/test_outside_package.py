"""The package of docs/how-to/extend.md, installed outside the source tree, runs through every command."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "extend.md"
WORDS = ("tea", "milk", "sugar", "honey", "lemon", "mint")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the package of the page with its entry points, and a log in its format."""
    place = tmp_path_factory.mktemp("outside")
    text = PAGE.read_text()
    for name, code in re.findall(r"```py\n# (\S+\.py)\n(.*?)```", text, re.DOTALL):
        path = place / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    (place / "site" / "queryveil_counts" / "__init__.py").touch()
    (toml,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    metadata = place / "site" / "queryveil_counts-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: queryveil-counts\nVersion: 0.1\n")
    groups = tomllib.loads(toml)["project"]["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    rows = [f"p{n};{WORDS[(n * step) % len(WORDS)]};0;0" for n in range(40) for step in (1, 2, 3)]
    (place / "log.txt").write_text("\n".join(rows) + "\n")
    return place


def queryveil(folder: Path, *words: str, code: int = 0) -> str:
    """Run a command with the package installed; return what it prints."""
    path = os.pathsep.join([str(folder / "site"), *sys.path])
    command = [sys.executable, "-W", "error", "-m", "queryveil", *words]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def release(folder: Path) -> Path:
    words = ("log.txt", "--method", "count_terms(k=5)", "--out", "release", "--private", "private", "--seed", "1")
    printed = queryveil(folder, "anonymize", *words)
    assert "count_k(k=5) holds: 6 combinations checked, counting people." in printed
    assert "6 terms counted" in printed
    return folder / "release"


def test_the_page_is_a_package_of_four_files(folder: Path) -> None:
    names = {path.name for path in (folder / "site" / "queryveil_counts").glob("*.py")}
    assert names == {"__init__.py", "kind.py", "guarantee.py", "method.py", "extras.py"}


def test_names_are_listed(folder: Path) -> None:
    printed = queryveil(folder, "list")
    for name in ("counts", "count_k(k)", "count_terms(k)", "counted", "guess_term", "semicolons"):
        assert re.search(rf"^  {re.escape(name)}\s", printed, re.MULTILINE), name


def test_the_release_holds_the_counts(release: Path) -> None:
    rows = pq.read_table(release / "data").to_pylist()
    assert [row["term"] for row in rows] == sorted(WORDS)
    assert min(row["people"] for row in rows) >= 5
    manifest = json.loads((release / "manifest.json").read_text())
    assert (manifest["kind"], manifest["guarantee"]) == ("counts", "count_k(k=5)")
    report = (release / "report.html").read_text()
    assert "Counts checked" in report
    assert "terms counted" in report


def test_verify_uses_the_verifier_of_the_package(folder: Path, release: Path) -> None:
    assert "count_k(k=5) holds" in queryveil(folder, "verify", "release", "--private", "private")
    assert "is violated" in queryveil(folder, "verify", "release", "--claim", "count_k(k=100)", code=1)
    refused = queryveil(folder, "verify", "release", "--claim", "km(k=2, m=1)", code=2)
    assert "is no claim about counts, which this release holds; claim count_k(k=…)." in refused


def test_a_changed_count_is_found(folder: Path, release: Path) -> None:
    printed = queryveil(folder, "verify", "release", "--private", "private", "--json")
    assert json.loads(printed)["state"] == "holds"
    copy = folder / "changed"
    subprocess.run(["cp", "-r", str(release), str(copy)], check=True)
    (data,) = (copy / "data").iterdir()
    table = pq.read_table(data)
    pq.write_table(table.set_column(1, "people", [[*table["people"].to_pylist()[:-1], 99]]), data)
    assert "has been changed since it was released" in queryveil(folder, "verify", "changed", code=1)


def test_measure_and_attack_look_at_the_new_kind(folder: Path, release: Path) -> None:
    printed = queryveil(folder, "measure", "release", "--against", "log.txt", "--private", "private")
    assert re.search(r"counted +terms counted +100\.0 % +100\.0 %", printed)
    words = ("attack", "release", "--against", "log.txt", "--private", "private", "--out", "attack.html")
    printed = queryveil(folder, *words)
    assert "guess_term" in printed
    assert "not run: known_terms(m=2): it applies to releases of kind" in printed
    assert "guess_term" in (folder / "attack.html").read_text()


def test_compare_puts_it_beside_the_built_in_methods(folder: Path, release: Path) -> None:
    words = ("--method", "count_terms(k=2|5)", "--method", "km(k=5, m=1)", "--method", "query_k(k=2)")
    printed = queryveil(folder, "compare", "log.txt", *words, "--out", "page.html")
    for name in ("count_terms(k=2)", "count_terms(k=5)", "km(k=5, m=1)", "query_k(k=2)"):
        assert name in printed
        assert name in (folder / "page.html").read_text()
