"""Runs that examine what somebody else released: a folder or a file of the server's folder, or a file that was sent."""

import os
import zipfile
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from queryveil.core.errors import InputError
from queryveil.core.names import resolve
from queryveil.core.options import Option
from queryveil.core.progress import Progress
from queryveil.release.manifest import MANIFEST_FILE, load_manifest
from queryveil.serve.fields import with_options
from queryveil.serve.run_files import TEMPORARY, UPLOAD, check_unpacked
from queryveil.serve.run_specs import (
    AttackSpec,
    RunInputs,
    RunSpec,
    attack_record,
    register_spec,
    verdict_record,
)
from queryveil.workflows.requests import AttackRequest, VerifyRequest

SENT_FILE_IS_GONE = "the file that was sent was removed when the run ended; send it again."
NOTHING_CHOSEN = "nothing was chosen; send a file, or choose one of the server's folder."
NEEDS_CLAIM = "a file claims nothing by itself; give the guarantee to check, such as km(k=5, m=2)."
NOT_A_RELEASE = "the archive holds neither a release nor a single file; pack a release's folder, or send one file."
_MOST_MEMBERS = 10_000  # of an archive
_LARGEST_RATIO, _ALWAYS_ALLOWED = 20, 100_000_000  # what an archive may unpack to: times its size, or bytes
_CHUNK = 1 << 20
ServerPath = Annotated[str, Field(max_length=1_000)]


@register_spec
@with_options(VerifyRequest, "claim", "format", "columns")
class CheckSpec(RunSpec):
    """A check of somebody else's release by its own claim or another one, or of any file by a claim."""

    run_kind = "check"
    needs_log = False
    folder_fields = ("path",)
    path: Annotated[ServerPath, Field(description="a release, or a file, in the server's folder")] = ""
    sent: Annotated[str, Field(max_length=200, description="the name of the file that was sent instead")] = ""

    @property
    def is_about_folder(self) -> bool:
        """Return whether a file of the folder is checked: a counterexample may be a query of a raw log in there."""
        return bool(self.path)

    def check(self, inputs: RunInputs) -> None:
        """Raise if the claim does not exist, or there is nothing to check."""
        super().check(inputs)
        if not self.path and not self.sent:
            raise InputError(NOTHING_CHOSEN, field="path")
        if self.sent and not (inputs.folder / UPLOAD / self.sent).is_file():
            raise InputError(SENT_FILE_IS_GONE, field="file")
        place = inputs.files.get("path")
        if place is not None and not (place / MANIFEST_FILE).exists() and self._options["claim"] is None:
            raise InputError(NEEDS_CLAIM, field="claim")
        if self._options["format"]:
            resolve("format", self._options["format"])
        self._request(place or inputs.folder)

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Unpack what was sent, and verify it."""
        from queryveil.workflows.verify import verify

        place = self._unpacked(inputs) if self.sent else inputs.files["path"]
        is_release = (place / MANIFEST_FILE).exists()
        if not is_release and self._options["claim"] is None:
            raise InputError(NEEDS_CLAIM, field="claim")
        verdict = verify(self._request(place), progress=progress)
        manifest = load_manifest(place).record() if is_release else None
        return {"verdict": verdict_record(verdict), "manifest": manifest}

    def _unpacked(self, inputs: RunInputs) -> Path:
        """Return what was sent, unpacked, or raise if it is too large."""
        place = unpack(inputs.folder / UPLOAD / self.sent, inputs.folder / TEMPORARY / "unpacked")
        for file in [place] if place.is_file() else sorted(place.rglob("*.parquet")):
            check_unpacked(file, file.name, inputs.max_unpacked)
        return place

    @property
    def _options(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in self.declared}

    def _request(self, place: Path) -> VerifyRequest:
        return VerifyRequest.from_values({**self._options, "release": place})


@register_spec
class AttackOtherSpec(AttackSpec):
    """Attacks on a release in the server's folder, with its private folder there, and a log that was added here."""

    run_kind = "attack_other"
    needs_release = needs_private = False  # both are in the server's folder
    folder_fields = ("path", "private")
    declared: ClassVar[tuple[Option, ...]]
    path: Annotated[ServerPath, Field(description="a release in the server's folder")]
    private: Annotated[ServerPath, Field(description="its private folder, in the server's folder")]

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Attack the release."""
        from queryveil.workflows.attack import attack

        own = {each.name: getattr(self, each.name) for each in self.declared}
        places = {"release": inputs.files["path"], "private": inputs.files["private"]}
        files = {name: path for name, path in inputs.files.items() if name not in self.folder_fields}
        request = AttackRequest.from_values({**own, **files, **places, **inputs.log_options})
        return attack_record(attack(request, progress=progress), self.path)


def unpack(file: Path, folder: Path) -> Path:
    """Return the release, or the single file, that an archive holds; any other file is returned itself."""
    if not zipfile.is_zipfile(file):
        return file
    allowed = max(_ALWAYS_ALLOWED, _LARGEST_RATIO * file.stat().st_size)
    folder.mkdir(mode=0o700, parents=True)
    try:
        with zipfile.ZipFile(file) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            if len(members) > _MOST_MEMBERS:
                raise InputError(f"the archive holds more than {_MOST_MEMBERS:,} files; send a release.", field="file")
            for member in members:
                allowed -= _unpack_member(archive, member, folder, allowed)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
        raise InputError("the archive cannot be unpacked; pack it again, without a password.", field="file") from None
    manifests = sorted(folder.rglob(MANIFEST_FILE), key=lambda path: len(path.parts))
    if manifests:
        return manifests[0].parent
    files = [path for path in folder.rglob("*") if path.is_file()]
    if len(files) != 1:
        raise InputError(NOT_A_RELEASE, field="file")
    return files[0]


def _unpack_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, allowed: int) -> int:
    """Write a file of an archive below a folder and return its size; refuse one that leads outside or is too large."""
    path = folder / member.filename
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError("the archive holds a path that leads outside of it; pack it again.", field="file")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    size = 0
    with archive.open(member) as source, path.open("xb") as out:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > allowed:
                raise InputError("the archive unpacks to far more than its own size; send the files.", field="file")
            out.write(chunk)
    return size


def releases_in(folder: Path | None, most: int = 1_000) -> tuple[list[str], list[str]]:
    """Return the relative paths of the releases and of the private folders below the server's folder."""
    from queryveil.kinds.private_folder import RUN_FILE

    found: tuple[list[str], list[str]] = ([], [])
    if folder is None:
        return found
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        relative = str(Path(path).relative_to(folder))
        for list_, file in zip(found, (MANIFEST_FILE, RUN_FILE), strict=True):
            if file in names and len(list_) < most and relative != ".":
                list_.append(relative)
    return found
