"""Kills, interrupts and full disks: a release stands whole or not at all, and nothing is left lying about."""

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import queryveil
from queryveil.core import files
from queryveil.core.errors import OutputError
from queryveil.kinds.private_folder import RunRecord
from queryveil.logs.generate import generate
from queryveil.release import atomic_folder
from queryveil.release.writer import prepare_targets, staging
from tests.release.dying import leftovers, material, standing, word_of, write

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.tsv"
    generate(path, like="demo", users=150, rng=np.random.default_rng(2))
    queryveil.anonymize(path, "km(k=5, m=2)", path.parent / "warm")  # so that later runs find the kernels compiled
    return path


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def survey(folder: Path, *arguments: str) -> dict[str, int]:
    """Run `tests.release.dying` in a process without threads; return how many moments each layout had."""
    command = [sys.executable, "-m", "tests.release.dying", str(folder), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: int(number) for name, number in (line.rsplit(" ", 1) for line in done.stdout.splitlines())}


def test_a_kill_at_any_moment_leaves_the_old_release_or_the_new_one(tmp_path: Path) -> None:
    moments = survey(tmp_path, "kill")
    assert set(moments) == {"none force", "private fresh", "private force", "elsewhere/private force"}
    assert all(number > 15 for number in moments.values())


def test_an_interrupt_at_any_moment_leaves_nothing_but_what_stood(tmp_path: Path) -> None:
    assert survey(tmp_path, "interrupt")["interrupt"] > 15


def test_the_command_survives_kills_throughout(tmp_path: Path, log: Path) -> None:
    assert (
        survey(tmp_path, "command", str(log), "13")["command"] > 60
    )  # changes of files, at every 13th of which it dies


def command(log: Path, out: Path, private: Path, *more: str) -> list[str]:
    places = ["--out", str(out), "--private", str(private), *more]
    return [sys.executable, "-m", "queryveil", "anonymize", str(log), "--method", "km(k=5, m=2)", *places]


def started(arguments: list[str], scratch: Path, before: Callable[[], None] | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        arguments,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def test_kills_at_random_times(tmp_path: Path, log: Path, scratch: Path) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    chance = random.Random(7)
    for _ in range(6):
        run = started(command(log, out, private, *(["--force"] if out.exists() else [])), scratch)
        time.sleep(chance.uniform(0.3, 1.6))
        run.kill()
        run.communicate()
        if out.exists():
            assert queryveil.verify(out).holds
    run = started(command(log, out, private, *(["--force"] if out.exists() else [])), scratch)
    _, complaint = run.communicate()
    assert run.returncode == 0, complaint
    assert queryveil.verify(out, private=private).counted == "people"
    assert leftovers(tmp_path) == []
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_ends_the_command_with_one_line(
    tmp_path: Path, log: Path, scratch: Path, number: signal.Signals
) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    run = started(command(log, out, private), scratch)
    while not list(scratch.glob(".queryveil-*")):  # Python's probe of the folder comes before signals are handled
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(number)
    printed, complaint = run.communicate(timeout=120)
    assert (run.returncode, printed, complaint) == (130, "", "queryveil: interrupted.\n")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["scratch"]


def test_a_file_that_cannot_grow_ends_the_command_with_one_sentence(tmp_path: Path, log: Path, scratch: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))

    out, private = tmp_path / "out", tmp_path / "private"
    printed, complaint = (run := started(command(log, out, private), scratch, limit)).communicate(timeout=120)
    assert (run.returncode, printed) == (2, "")
    assert complaint == f"queryveil: cannot write {out}: File too large; nothing was released.\n"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["scratch"]


def full_disk(moment: int) -> Callable[[int], None]:
    """Return an fsync that finds the disk full the n-th time."""
    calls = iter(range(1, 1000))

    def fsync(descriptor: int) -> None:
        if next(calls) == moment:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return fsync


@pytest.mark.parametrize("force", [False, True])
def test_a_full_disk_leaves_what_stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    if force:
        write(out, private, "old", force=False)
    for refused in range(100):
        monkeypatch.setattr(os, "fsync", full_disk(refused + 1))
        try:
            write(out, private, "new", force=force)
        except OutputError as error:
            assert "No space left on device; nothing was released." in str(error)
            assert standing(out, private) == ("old" if force else None)
            assert leftovers(tmp_path) == []
        else:
            assert standing(out, private) == "new"
            break
    assert refused > 5


def test_no_room_for_a_workspace_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def full(path: Path, flags: int, *arguments: int, **options: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opened(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(OutputError, match="No space left on device; choose another place"):
        write(tmp_path / "out", None, "new", force=False)
    assert list(tmp_path.iterdir()) == []


def test_a_release_that_cannot_be_put_takes_its_private_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    write(out, private, "old", force=False)
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if target == out and self.name == "new":
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OutputError, match="Permission denied; nothing was released"):
        write(out, private, "new", force=True)
    assert standing(out, private) == "old"
    assert leftovers(tmp_path) == []


def test_runs_into_different_places_of_a_folder_leave_each_other_alone(tmp_path: Path) -> None:
    with staging(tmp_path / "one", tmp_path / "secret one", force=False) as one:
        (one.release / "data" / "x").touch()
        write(tmp_path / "two", tmp_path / "secret two", "new", force=False)
        atomic_folder.recover_all(tmp_path)
        assert (one.release / "data" / "x").exists()
        assert one.private is not None
        assert one.private.exists()
    assert standing(tmp_path / "two", tmp_path / "secret two") == "new"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("private", [None, "secret"])
def test_a_second_run_into_the_same_place_is_refused(tmp_path: Path, private: str | None) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    secret = tmp_path / private if private else None
    with staging(out, secret, force=False):
        with pytest.raises(OutputError, match="another run is writing"):
            write(other if private else out, secret, "new", force=True)
        assert not out.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_place_taken_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    with pytest.raises(OutputError, match="exists already"), staging(out, private, force=False) as staged:
        write_by_another(staged.release, staged.private)
        out.mkdir()
        (out / "theirs").touch()
        staged.commit(material("word")[2])
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "theirs"]


def write_by_another(release: Path, private: Path | None) -> None:
    (release / "manifest.json").write_text("{}")
    assert private is not None
    RunRecord(1, "km(k=2, m=1)", "histories", "0.1.0").write(private)


def test_a_folder_that_is_not_a_workspace_of_ours_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".queryveil-place-link").symlink_to(elsewhere)
    (tmp_path / ".queryveil-place-file").write_text("x")
    theirs = tmp_path / ".queryveil-place-theirs"
    theirs.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    atomic_folder.recover_all(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    monkeypatch.undo()
    atomic_folder.recover_all(tmp_path)
    assert not theirs.exists()
    assert elsewhere.exists()


HAMMER = """
import sys
from queryveil.core.files import scratch
for _ in range(300):
    with scratch("test") as folder:
        (folder / "kept").touch()
        assert (folder / "kept").exists()
"""


def test_making_and_sweeping_at_the_same_time(scratch: Path) -> None:
    runs = [started([sys.executable, "-c", HAMMER], scratch) for _ in range(4)]
    assert [(run.communicate()[1], run.returncode) for run in runs] == [("", 0)] * 4
    assert list(scratch.iterdir()) == []


@pytest.fixture
def interrupted() -> Iterator[list[int]]:
    """Note interrupts instead of raising them."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    yield came
    signal.signal(signal.SIGINT, before)


def test_interrupts_wait_until_they_may_act(interrupted: list[int]) -> None:
    interrupts = files.Interrupts()
    interrupts.defer()
    signal.raise_signal(signal.SIGINT)
    assert interrupted == []
    interrupts.resume()
    assert interrupted == [signal.SIGINT]
    signal.raise_signal(signal.SIGINT)
    assert len(interrupted) == 2
    interrupts.defer()
    signal.raise_signal(signal.SIGINT)
    interrupts.resume(deliver=False)
    assert len(interrupted) == 2
    signal.raise_signal(signal.SIGINT)
    assert len(interrupted) == 3


def test_starting_again_names_what_stands(tmp_path: Path) -> None:
    out, private = tmp_path / "out", tmp_path / "private"
    write(out, private, "old", force=False)
    for refused in (partial(prepare_targets, out, None), partial(prepare_targets, tmp_path / "other", private)):
        with pytest.raises(OutputError, match="exists already; choose another place, or replace it with --force"):
            refused(force=False)
    assert word_of(out) == "old"
