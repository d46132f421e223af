"""Putting finished folders in their places, and putting right what a killed run left there.

Beside each place a workspace holds `new`, the folder made ready, and `aside`, whatever stood at the place before. Of
folders that belong together the last decides: with it in its place all of them stand, without it none. The others'
workspaces have a journal that names the file by which one sees that the last one stands. The end of a run and the
sweeping of a killed one are settled by the same rules, and every step of them is one rename.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from queryveil.core import files
from queryveil.core.errors import OutputError

NEW, ASIDE = "new", "aside"
_JOURNAL, _WITHDRAWN, _OLD = "journal.json", "withdrawn", "old"
_PURPOSE = "place"


@dataclass(frozen=True)
class Journal:
    """What a workspace must know to undo: its folder's place and mark, and the mark of the folder that decides."""

    name: str  # of the folder's place, beside the workspace
    file: str  # a file in the folder, and its digest: so a folder that came there otherwise is left alone
    file_sha256: str
    decider: str  # a file in the folder that decides, and its digest
    decider_sha256: str

    def write(self, workspace: Path) -> None:
        """Write the journal, before the folder is put in its place."""
        files.write_file(workspace / _JOURNAL, json.dumps(asdict(self)).encode(), 0o600)


def journal_of(new: Path, file: str, place: Path, decider: Path, deciding: Path) -> Journal:
    """Return the journal for a folder that stands only if the file `deciding` gets to the place `decider`."""
    decider = Path(os.path.abspath(decider))  # noqa: PTH100  (it need not exist yet)
    return Journal(place.name, file, digest(new / file), str(decider), digest(deciding))


def digest(file: Path) -> str:
    """Return the SHA-256 of a file; "" where there is none."""
    with suppress(OSError):
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return ""


@contextmanager
def beside(place: Path) -> Iterator[Path]:
    """Make the workspace of a place; only one run at a time can have it."""
    with files.workspace(place.parent, _name(place), settle) as folder:
        yield folder


def is_taken(place: Path) -> bool:
    """Say whether a run is writing to the place just now; leftovers must be swept before."""
    return (place.parent / f"{files.PREFIX}{_name(place)}").exists()


def _name(place: Path) -> str:
    return f"{_PURPOSE}-{hashlib.sha256(place.name.encode(errors='surrogateescape')).hexdigest()[:16]}"


def sweep(parent: Path) -> None:
    """Settle and remove the workspaces that killed runs left in a folder."""
    files.sweep(parent, _PURPOSE, settle)


def put(workspace: Path, place: Path, *, force: bool) -> None:
    """Put the finished folder in its place in one step; an older one goes aside first."""
    if os.path.lexists(place):
        if not force:
            raise OutputError(f"{place} exists already; choose another place, or replace it with --force.")
        (workspace / ASIDE).mkdir(exist_ok=True)
        place.rename(workspace / ASIDE / place.name)
    (workspace / NEW).rename(place)
    with suppress(OSError):  # it stands; only whether it would survive a power cut is not known
        files.sync_folder(place.parent)


def settle(workspace: Path) -> None:
    """Finish or undo what was begun in a workspace; afterwards nothing in it is needed any more."""
    journal = _read_journal(workspace)
    if journal is not None and digest(Path(journal.decider)) != journal.decider_sha256:
        _withdraw(workspace, journal)
    if (workspace / ASIDE).is_dir():
        for old in (workspace / ASIDE).iterdir():
            if not os.path.lexists(workspace.parent / old.name):
                old.rename(workspace.parent / old.name)
        (workspace / ASIDE).rename(workspace / _OLD)  # so that what is being deleted is never put back
    (workspace / _JOURNAL).unlink(missing_ok=True)


def _withdraw(workspace: Path, journal: Journal) -> None:
    """Take a folder out of its place again, if it had got there and is still there."""
    place = workspace.parent / journal.name
    was_put = not (workspace / NEW).exists() and not (workspace / _WITHDRAWN).exists()
    if was_put and digest(place / journal.file) == journal.file_sha256:
        place.rename(workspace / _WITHDRAWN)


def _read_journal(workspace: Path) -> Journal | None:
    try:
        return Journal(**json.loads((workspace / _JOURNAL).read_bytes()))
    except FileNotFoundError:
        return None
