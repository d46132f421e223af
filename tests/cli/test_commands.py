"""The commands as a person or a script runs them."""

import inspect
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from queryveil._version import __version__
from queryveil.cli import run
from queryveil.core.names import CATEGORIES, declarations, plural


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log, a release of it and its private folder."""
    place = tmp_path_factory.mktemp("commands")
    assert run(["generate", str(place / "log.tsv"), "--users", "300", "--seed", "3"]) == 0
    arguments = ["--method", "km(k=3, m=2)", "--out", str(place / "release"), "--private", str(place / "private")]
    assert run(["anonymize", str(place / "log.tsv"), *arguments, "--seed", "1"]) == 0
    return place


@pytest.mark.parametrize("arguments", [["list"], ["verify", "release"]])
def test_output_that_nobody_reads_is_no_answer(folder: Path, arguments: list[str]) -> None:
    """Exit codes 0 and 1 would say that a guarantee holds or is violated."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "queryveil", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"queryveil {__version__}\n"


@pytest.mark.parametrize("kind", CATEGORIES)
def test_list_names_every_declaration(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", plural(kind)]) == 0
    shown = " ".join(capsys.readouterr().out.split())  # lines are wrapped
    for declaration in declarations(kind).values():
        assert declaration.signature() in shown
        assert " ".join(declaration.marked_purpose.split()) in shown


def test_list_marks_what_is_no_anonymity(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("methods", "guarantees"):
        assert run(["list", kind]) == 0
        listed = re.split(r"\n  (?=\S)", capsys.readouterr().out)
        marked = [text for text in listed if "content filter, no anonymity" in " ".join(text.split())]
        assert [text.split("(")[0] for text in marked] == ["ppp"]


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(listed) == set(map(plural, CATEGORIES))
    names = ["k", "m", "target", "algorithm", "ties", "ranking", "h", "threshold", "split", "thin"]
    assert [p["name"] for p in listed["methods"][0]["parameters"]] == names


def test_generate_prints_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", str(tmp_path / "log.tsv"), "--users", "50", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    lines = (tmp_path / "log.tsv").read_text().splitlines()
    assert made["people"] == 50
    assert made["rows"] == len(lines) - 1
    assert run(["generate", str(tmp_path / "log.tsv"), "--users", "50"]) == 2  # it exists
    assert run(["generate", str(tmp_path / "log.tsv"), "--users", "50", "--force"]) == 0


def test_anonymize_as_json(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--method", "km(k=3, m=2)", "--out", str(tmp_path / "release"), "--seed", "1", "--json"]
    assert run(["anonymize", str(folder / "log.tsv"), *arguments]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["verdict"]["state"] == "holds"
    assert made["verdict"]["counted"] == "people"
    assert made["manifest"]["method"] == "km(k=3, m=2)"
    assert Path(made["report"]).is_file()
    assert (tmp_path / "release" / "manifest.json").read_bytes() == (folder / "release" / "manifest.json").read_bytes()


def test_anonymize_prints_results_on_stdout_and_the_rest_on_stderr(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["anonymize", str(folder / "log.tsv"), "--method", "km(k=3, m=1)", "--out", str(tmp_path / "r")]) == 0
    shown = capsys.readouterr()
    assert "km(k=3, m=1) holds" in shown.out
    assert str(tmp_path / "r") in shown.out
    assert "direct identifiers taken out" in shown.err
    assert "done in" in shown.err


def test_verify_exit_codes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = str(folder / "release")
    assert run(["verify", release]) == 0
    assert "counting histories" in capsys.readouterr().out
    assert run(["verify", release, "--private", str(folder / "private")]) == 0
    assert "counting people" in capsys.readouterr().out
    assert run(["verify", release, "--claim", "km(k=200, m=2)", "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["state"] == "violated"
    assert verdict["counterexample"]["support"] < 200
    assert run(["verify", str(folder / "log.tsv")]) == 2


def test_measure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["measure", str(folder / "release"), "--against", str(folder / "log.tsv")]
    assert run([*arguments, "--private", str(folder / "private"), "--json"]) == 0
    scores = {(score["measure"], score["label"]): score for score in json.loads(capsys.readouterr().out)}
    assert 0 < scores["retention", "log size"]["value"] < 100
    assert scores["unique(m=2)", "singled out by 2 random terms"]["value"] == 0
    assert scores["unique(m=2)", "singled out by 2 random terms"]["original"] > 0
    assert run([*arguments, "--measure", "unique(m=1)"]) == 0
    assert "unique(m=1)" in capsys.readouterr().out


def test_light_commands_load_nothing_heavy(folder: Path) -> None:
    for arguments in (["--help"], ["list"]):
        code = f"import sys; from queryveil.cli import run; run({arguments}); print([m for m in "
        code += "('numba', 'duckdb', 'pandas', 'pyarrow.parquet') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]", arguments


def test_making_a_release_does_not_load_pandas(folder: Path, tmp_path: Path) -> None:
    made = ["--out", str(tmp_path / "release"), "--private", str(tmp_path / "private")]
    arguments = ["anonymize", str(folder / "log.tsv"), "--method", "km(k=3, m=2)", *made]
    code = f"import sys; from queryveil.cli import run; assert run({arguments}) == 0; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_progress_shows_on_a_terminal_only(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "queryveil", "anonymize", str(folder / "log.tsv"), "--method", "km(k=3, m=2)"]
    quiet = subprocess.run([*command, "--out", str(tmp_path / "a")], capture_output=True, check=True)
    assert b"\x1b" not in quiet.stderr
    ours, theirs = pty.openpty()
    with subprocess.Popen([*command, "--out", str(tmp_path / "b")], stderr=theirs, stdout=subprocess.DEVNULL) as child:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the terminal's other end is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert child.returncode == 0
    assert b"\x1b" in shown
    assert b"done in" in shown


def test_anonymize_prints_what_was_tried_and_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,query,country\n" + "".join(f"{i},red shoes,{'de' if i < 4 else 'fr'}\n" for i in range(8)))
    assert run(["anonymize", str(log), "--method", "km(k=2, m=2)", "--out", str(tmp_path / "whole")]) == 0
    assert "logsize kept, in %: 100.00 by paper, 100.00 by growth" in capsys.readouterr().err
    parts = ("--partition-by", "country", "--out", str(tmp_path / "parts"))
    assert run(["anonymize", str(log), "--method", "km(k=2, m=2)", *parts]) == 0
    assert "parts by what was chosen: 2 " in capsys.readouterr().err


def test_every_command_can_print_its_timings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from queryveil.cli import COMMANDS

    assert all("timings" in inspect.signature(function).parameters for function in COMMANDS.values())
    log, release = str(tmp_path / "log.tsv"), str(tmp_path / "release")
    assert run(["generate", log, "--users", "50", "--seed", "1", "--timings"]) == 0
    capsys.readouterr()
    assert run(["anonymize", log, "--method", "km(k=3, m=2)", "--out", release, "--timings"]) == 0
    out, err = capsys.readouterr()
    stages = [
        "starting",
        "reading",
        "cleaning",
        "counting combinations",
        "writing",
        "verifying",
        "rendering the report",
    ]
    assert all(f"\n{stage} " in err and f"\n{stage} " not in out for stage in stages)
    assert run(["list", "methods", "--timings"]) == 0
    assert "CPU seconds" in capsys.readouterr().err
