"""Runs that get a signal at an exact moment: before the n-th change to the file system, in a forked child.

Every state that a killed run can leave behind is the state before one of its changes, so killing before each of them
leaves nothing out. The process that forks must not have threads of its own: run it as a script of its own.
"""

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from queryveil.cli import run
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import ReleaseContent
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.manifest import Manifest
from queryveil.release.reader import load_release
from queryveil.release.writer import prepare_targets
from tests.builders import encode_histories, profiles_of
from tests.releases import manifest_of, write_release

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate"}
DONE, WRONG, INTERRUPTED, KILLED = 0, 99, 130, -signal.SIGKILL
Action = Callable[[], object]


def is_change(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether an audit event comes before a change to the file system."""
    if event == "open":
        return isinstance(arguments[2], int) and bool(arguments[2] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))
    return event in CHANGES


def forked(action: Action, moment: int = 0, number: signal.Signals = signal.SIGKILL) -> int:
    """Run an action in a child that gets a signal before its n-th change; return how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = WRONG
    try:
        if moment:
            sys.addaudithook(_Signaller(moment, number))
        action()
        code = DONE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as end:
        code = int(str(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


class _Signaller:
    def __init__(self, moment: int, number: signal.Signals) -> None:
        self.left, self.number = moment, number

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if is_change(event, arguments):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.number)


@cache
def material(word: str) -> tuple[Profiles, ReleaseContent, Manifest]:
    """Return a small log, what is released of it (every history holds `word`), and the manifest."""
    profiles = profiles_of([{word, "all"}, {word, "all"}, {word, "all", "rare"}])
    mask = np.array([profiles.vocabulary[entry] != "rare" for entry in profiles.ids])
    content = encode_histories(profiles, mask)
    return profiles, content, manifest_of(profiles, content.rows, "km(k=3, m=2)", mask)


def write(out: Path, private: Path | None, word: str, *, force: bool) -> None:
    """Write a small release, as `anonymize` does."""
    profiles, content, manifest = material(word)
    write_release(out, private, profiles, content, manifest, report=f"<p>{word}</p>", force=force)


def standing(out: Path, private: Path | None) -> str | None:
    """Return the word of the release that stands whole, with its private folder; None where nothing stands."""
    if not out.exists():
        if private is not None and private.exists():
            raise ValueError("a private folder stands without its release")
        return None
    word = word_of(out)
    if private is not None:
        folder = PrivateFolder(private)
        folder.check_belongs(load_release(out).manifest.content_sha256)
        folder.owners(np.arange(3))
        expect(len(list(private.iterdir())) == 3, "the private folder has something left in it")
    return word


def word_of(out: Path) -> str:
    """Return the word of a release that is whole."""
    release = load_release(out)
    if release.faults:
        raise ValueError(f"the release is not whole: {release.faults}")
    (word,) = set(release.rows["term"].to_pylist()) - {"all"}
    return str(word)


def leftovers(folder: Path) -> list[str]:
    """Return the workspaces left in a folder or below."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.startswith(".queryveil-")]


def expect(is_right: bool, what: str) -> None:
    if not is_right:
        raise ValueError(what)


def survey(folder: Path, private_at: str, *, force: bool, again_every: int) -> int:
    """Kill a run before each of its changes and look at what is left; return before how many it was killed."""
    moment = 0
    while True:
        moment += 1
        out, private = _fresh(folder, private_at, force=force)
        if forked(partial(write, out, private, "new", force=force), moment) != KILLED:
            expect(leftovers(folder) == [], "a run that was not killed left something")
            return moment - 1
        _check_after_kill(folder, out, private, force=force)
        if again_every and moment % again_every == 0:
            _kill_the_recovery_too(folder, private_at, moment, force=force)


def _fresh(folder: Path, private_at: str, *, force: bool) -> tuple[Path, Path | None]:
    """Clear the folder and return the places, an old release standing there where one is to be replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "elsewhere").mkdir(parents=True)
    out, private = folder / "out", folder / private_at if private_at else None
    if force:
        expect(forked(partial(write, out, private, "old", force=False)) == DONE, "the first run failed")
    return out, private


def _check_after_kill(folder: Path, out: Path, private: Path | None, *, force: bool) -> None:
    def check() -> None:
        expect(not out.exists() or word_of(out) in ("old", "new"), "a release that is neither")
        prepare_targets(out, private, force=True)  # what the next start does
        word = standing(out, private)
        expect(word in (("old", "new") if force else (None, "new")), f"after the sweep {word} stands")
        expect(leftovers(folder) == [], f"after the sweep there is {leftovers(folder)}")
        write(out, private, "newer", force=force or out.exists())
        expect(standing(out, private) == "newer", "the next run did not stand")
        expect(leftovers(folder) == [], f"the next run left {leftovers(folder)}")

    expect(forked(check) == DONE, "see above")


def _kill_the_recovery_too(folder: Path, private_at: str, moment: int, *, force: bool) -> None:
    second = 0
    ended = KILLED
    while ended == KILLED:
        second += 1
        out, private = _fresh(folder, private_at, force=force)
        forked(partial(write, out, private, "new", force=force), moment)
        ended = forked(partial(prepare_targets, out, private, force=True), second)
        _check_after_kill(folder, out, private, force=force)


def survey_interrupts(folder: Path, private_at: str, *, force: bool) -> int:
    """Interrupt a run before each of its changes: at once nothing is left of it, or it stands."""
    before = "old" if force else None
    moment, ended = 0, INTERRUPTED
    stood_at: list[int] = []
    while not stood_at or moment < stood_at[0] + 30:
        moment += 1
        out, private = _fresh(folder, private_at, force=force)
        ended = forked(partial(write, out, private, "new", force=force), moment, signal.SIGINT)
        expect(ended in (INTERRUPTED, DONE), f"the run ended by {ended}")
        expected = "new" if ended == DONE else before
        expect(forked(partial(_expect_standing, out, private, expected)) == DONE, f"moment {moment}")
        expect(leftovers(folder) == [], f"moment {moment} left {leftovers(folder)}")
        stood_at += [moment] if ended == DONE else []
    return stood_at[0] - 1


def _expect_standing(out: Path, private: Path | None, expected: str | None) -> None:
    expect(standing(out, private) == expected, f"{standing(out, private)} stands, not {expected}")


def survey_command(folder: Path, log: Path, step: int) -> int:
    """Kill `queryveil anonymize` at every so many changes, its temporary files included, then let it run."""
    out, private, scratch = folder / "out", folder / "private", folder / "scratch"
    scratch.mkdir(parents=True)
    os.environ["TMPDIR"] = str(scratch)
    arguments = ["anonymize", str(log), "--method", "km(k=5, m=2)", "--out", str(out), "--private", str(private)]
    moment = 1
    while forked(partial(_command, [*arguments, "--seed", "1", "--json"]), moment) == KILLED:
        moment += step
        if out.exists():
            expect(forked(partial(_command, ["verify", str(out)])) == DONE, "the release does not verify")
            arguments.append("--force")
    for path in (folder, private, scratch):
        expect(leftovers(path) == [], f"{leftovers(path)} were left")
    expect(list(scratch.iterdir()) == [], "something was left among the temporary files")
    verify = ["verify", str(out), "--private", str(private)]
    expect(forked(partial(_command, verify)) == DONE, "the release does not verify with its private folder")
    return moment


def _command(arguments: list[str]) -> None:
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    sys.exit(run(arguments))


def main() -> None:
    """Survey every layout; print before how many changes each run was killed or interrupted."""
    folder, mode = Path(sys.argv[1]) / "survey", sys.argv[2]
    if mode == "command":
        sys.stdout.write(f"command {survey_command(folder, Path(sys.argv[3]), int(sys.argv[4]))}\n")
        return
    for word in ("old", "new", "newer"):
        material(word)
    if mode == "interrupt":
        sys.stdout.write(f"interrupt {survey_interrupts(folder, 'private', force=True)}\n")
        return
    for private_at, force, again_every in (
        ("", True, 0),
        ("private", False, 0),
        ("private", True, 0),
        ("elsewhere/private", True, 19),
    ):
        moments = survey(folder, private_at, force=force, again_every=again_every)
        sys.stdout.write(f"{private_at or 'none'} {'force' if force else 'fresh'} {moments}\n")


if __name__ == "__main__":
    main()
