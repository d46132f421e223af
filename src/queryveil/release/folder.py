"""Writing a folder of results that is no release: it too appears whole or not at all."""

from collections.abc import Mapping
from pathlib import Path

from queryveil.core.errors import OutputError
from queryveil.core.files import sync_folder, write_file
from queryveil.release import places
from queryveil.release.writer import named


def write_folder(out: Path, contents: Mapping[str, bytes], *, force: bool, secret: bool) -> None:
    """Write files into a new folder; only its owner can read a secret one."""
    place = named(out)
    try:
        with places.beside(place) as workspace:
            new = workspace / places.NEW
            new.mkdir(mode=0o700 if secret else 0o755)
            for name, data in contents.items():
                write_file(new / name, data, 0o600 if secret else 0o644)
            sync_folder(new)
            places.put(workspace, place, force=force)
    except OSError as error:
        raise OutputError(f"cannot write {out}: {error.strerror or error}; nothing was written.") from None
