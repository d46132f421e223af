"""Folders that appear in one step or not at all, and recovery of what a killed run left behind.

Next to each target a workspace holds `new`, the folder that is being written, and `aside`, the folder that it replaces.
Of several folders that belong together the last one decides: the workspaces of the others have a journal that names a
file of the deciding folder, and without this file the others are withdrawn. The end of a run and the recovery of a
killed one follow the same rules, and each of their steps is one rename.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from queryveil.core import files
from queryveil.core.errors import OutputError

NEW, ASIDE = "new", "aside"
EXISTS = "{} exists already; choose another place, or replace it with --force."
_JOURNAL, _WITHDRAWN, _OLD = "journal.json", "withdrawn", "old"
_PURPOSE = "place"


def file_digest(path: Path | None) -> str | None:
    """Return the SHA-256 of a file; None where there is none, or it is a pipe, which cannot be read again."""
    if path is not None and path.is_file():
        with suppress(OSError), path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    return None


def write_journal(workspace: Path, target: Path, file: str, decider: Path, staged_decider: Path) -> None:
    """Note that a workspace's folder is withdrawn unless the file `staged_decider` gets to the path `decider`."""
    journal = {
        "name": target.name,  # of the folder next to the workspace
        "file": file,  # of the folder, with its digest: a folder that came there in another way is left alone
        "file_sha256": file_digest(workspace / NEW / file),
        "decider": os.path.abspath(decider),  # noqa: PTH100  (it need not exist yet)
        "decider_sha256": file_digest(staged_decider),
    }
    files.write_file(workspace / _JOURNAL, json.dumps(journal).encode(), 0o600)


def open_workspace(target: Path) -> AbstractContextManager[Path]:
    """Make the workspace of a target; only one run at a time can have it."""
    return files.workspace(target.parent, _workspace_name(target), recover)


def _workspace_name(target: Path) -> str:
    return f"{_PURPOSE}-{hashlib.sha256(target.name.encode(errors='surrogateescape')).hexdigest()[:16]}"


def move_into_place(workspace: Path, target: Path, *, force: bool) -> None:
    """Move the finished folder to its target in one step; the folder that it replaces is moved aside first."""
    if os.path.lexists(target):
        if not force:
            raise OutputError(EXISTS.format(target))
        (workspace / ASIDE).mkdir(exist_ok=True)
        target.rename(workspace / ASIDE / target.name)
    (workspace / NEW).rename(target)
    with suppress(OSError):  # it is there; only whether it would survive a power cut is not known
        files.sync_folder(target.parent)


def recover_all(parent: Path) -> None:
    """Recover and remove the workspaces that killed runs left in a folder."""
    files.remove_abandoned(parent.glob(f"{files.PREFIX}{_PURPOSE}-*"), recover)


def recover(workspace: Path) -> None:
    """Finish or undo what was begun in a workspace; afterwards nothing in it is needed any more."""
    if (workspace / _JOURNAL).exists():
        journal = json.loads((workspace / _JOURNAL).read_bytes())
        if file_digest(Path(journal["decider"])) != journal["decider_sha256"]:
            # take the folder away from its target again, if it had got there and is still there
            target = workspace.parent / journal["name"]
            was_moved = not (workspace / NEW).exists() and not (workspace / _WITHDRAWN).exists()
            if was_moved and file_digest(target / journal["file"]) == journal["file_sha256"]:
                target.rename(workspace / _WITHDRAWN)
    if (workspace / ASIDE).is_dir():
        for old in (workspace / ASIDE).iterdir():
            if not os.path.lexists(workspace.parent / old.name):
                old.rename(workspace.parent / old.name)
        (workspace / ASIDE).rename(workspace / _OLD)  # so that what is being deleted is never put back
    (workspace / _JOURNAL).unlink(missing_ok=True)


def prepare_target(place: Path, needed: str, *, force: bool) -> Path:
    """Recover what killed runs left next to a path, then refuse it if a folder cannot or may not be written there.

    Only a folder with the file `needed` is replaced. Returns the path ending in the folder's name, unlike `.` and `..`.
    """
    place = place.resolve() if place.name in ("", "..") else place
    parent = place.parent
    if parent.exists() and not parent.is_dir():
        raise OutputError(f"cannot write {place}: {parent} is a file, not a folder; choose another place.")
    if not parent.is_dir():
        raise OutputError(f"cannot write {place}: there is no folder {parent}; make it first.")
    files.refuse_inside_release(place)
    files.refuse_unwritable(place)
    recover_all(parent)
    if (parent / f"{files.PREFIX}{_workspace_name(place)}").exists():
        raise OutputError(f"another run is writing {place}; wait for it, or choose another place.")
    if os.path.lexists(place):
        if not force:
            raise OutputError(EXISTS.format(place))
        if not place.is_dir() or place.is_symlink() or (any(place.iterdir()) and not (place / needed).is_file()):
            raise OutputError(
                f"{place} was not made by queryveil, so --force does not replace it; choose another place."
            )
    return place


def write_folder(out: Path, contents: Mapping[str, bytes], needed: str, *, force: bool, secret: bool) -> None:
    """Write files into a new folder of results; only its owner can read a secret one."""
    target = prepare_target(out, needed, force=force)
    with files.write_errors_as_sentences(out, "nothing was written"), open_workspace(target) as workspace:
        new = workspace / NEW
        new.mkdir(mode=0o700 if secret else 0o755)
        for name, data in contents.items():
            files.write_file(new / name, data, 0o600 if secret else 0o644)
        files.sync_folder(new)
        move_into_place(workspace, target, force=force)
