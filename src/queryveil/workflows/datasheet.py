"""Describing a release for those who receive it: what it holds and promises, and what its owner states."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.core.errors import InputError
from queryveil.core.files import check_new_file, check_replaceable, read_input, write_new_file
from queryveil.core.names import nearest
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.kinds.base import COLUMNS, PLURALS
from queryveil.release.manifest import MANIFEST_FILE, SIGNATURE_FILE, Manifest
from queryveil.release.reader import Release
from queryveil.report.attacks import AttackReport, read_attacks
from queryveil.report.datasheet import FORMS, MARK, OWNER_FIELDS, owner_template, render_datasheet
from queryveil.report.rendering import number, percent
from queryveil.workflows.requests import DatasheetRequest
from queryveil.workflows.verify import load_verified

_COUNTS = ("people", "histories", "terms", "occurrences")


@dataclass(frozen=True)
class Datasheet:
    """A datasheet, or an empty file for its owner's fields."""

    text: str
    missing: tuple[str, ...] = ()  # fields that the owner has not stated
    verdict: Verdict | None = None
    path: Path | None = None

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "text": self.text,
            "missing": list(self.missing),
            "verdict": self.verdict and self.verdict.record(),
            "path": self.path and str(self.path),
        }

    def _repr_markdown_(self) -> str:
        return self.text


def datasheet(request: DatasheetRequest, progress: Progress = silent) -> Datasheet:
    """Write the datasheet of a verified release, or a template of the fields that its owner states."""
    if request.template:
        return _write_template(request)
    suffix = _check_out(request.out, force=request.force)
    owner = _read_owner(request.owner)
    missing = {name: ": ".join(OWNER_FIELDS[name]) for name in OWNER_FIELDS if not owner[name]}
    release, verdict = load_verified(request, progress)
    attacks = None if request.attacks is None else _read_attacks(request.attacks, release.manifest)
    context = {**_context(release), "missing": missing}
    text = render_datasheet(suffix, release.manifest, verdict, owner, attacks, context)
    if request.out is not None:
        write_new_file(request.out, text.encode(), overwrite=request.force)
    return Datasheet(text, tuple(missing), verdict, request.out)


def _write_template(request: DatasheetRequest) -> Datasheet:
    """Write an empty file of the owner's fields, or only return it; no file is replaced, since it may be filled in."""
    text = owner_template()
    if request.out is not None:
        check_new_file(request.out, overwrite=False)
        write_new_file(request.out, text.encode(), overwrite=False)
    return Datasheet(text, path=request.out)


def _check_out(out: Path | None, *, force: bool) -> str:
    """Refuse a file that cannot or must not be written, before any work is done; return the end of its name."""
    if out is None:
        return ".md"
    if out.suffix not in FORMS:
        raise InputError(f"--out: a datasheet is a file {' or '.join(FORMS)}, not {out.name!r}; give another name.")
    check_replaceable(out, "a datasheet", MARK, overwrite=force)
    return out.suffix


def _read_owner(path: Path | None) -> dict[str, str]:
    """Return what the owner states of each field, "" where nothing is stated."""
    given: Mapping[str, Any] = {}
    if path is not None:
        try:
            given = tomllib.loads(read_input(path, "--owner").decode())
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"--owner: {path} is not TOML in UTF-8: {error}; start from --template.") from None
    for name, value in given.items():
        if name not in OWNER_FIELDS:
            raise InputError(f"--owner: {path} has an unknown field {name!r}; {nearest(name, list(OWNER_FIELDS))}")
        if not isinstance(value, str):
            raise InputError(f'--owner: {name} in {path} must be a text in quotes; write {name} = "…".')
    return {name: given.get(name, "").strip() for name in OWNER_FIELDS}


def _read_attacks(path: Path, manifest: Manifest) -> AttackReport:
    """Return the results of attacks, which must be on the same rows."""
    try:
        report = read_attacks(json.loads(read_input(path, "--attacks")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"--attacks: {path} is not the JSON that queryveil attack prints; give its output.") from None
    if report.content_sha256 != manifest.content_sha256:
        raise InputError(f"--attacks: {path} is about another release; attack this one.")
    return report


def _context(release: Release) -> dict[str, Any]:
    """Return what the template shows of a release besides its manifest."""
    kind, manifest, path = release.kind, release.manifest, release.path
    uncovered = {column.name: f" (here: {column})" for column in (manifest.kept.columns if manifest.kept else ())}
    columns = [
        (
            field.name,
            str(field.type),
            COLUMNS.get(field.name, "") + uncovered.get(field.name, ""),
            "no" if field.name in uncovered else "yes",
        )
        for field in release.rows.schema
    ]
    before, after = manifest.counts["before"], manifest.counts["after"]
    comparable = _COUNTS if kind.deletes_terms else _COUNTS[:2]
    kept = [
        (
            PLURALS[kind.unit] if name == "terms" else name,
            number(before[name]),
            number(after[name]),
            percent(100 * after[name] / before[name]),
        )
        for name in comparable
    ]
    files = manifest.files if release.export is None else release.export.files_with(manifest)
    listed = [(entry.path, "" if entry.rows is None else number(entry.rows), entry.sha256) for entry in files]
    digest = hashlib.sha256((path / MANIFEST_FILE).read_bytes()).hexdigest()
    private = " --private FOLDER" if kind.needs_private else ""
    key = " --key KEY.pem" if (path / SIGNATURE_FILE).exists() else ""
    return {
        "unit": kind.unit,
        "units": PLURALS[kind.unit],
        "purpose": kind.purpose,
        "rows": release.rows.num_rows,
        "columns": columns,
        "kept": kept,
        "files": [*listed, (MANIFEST_FILE, "", digest)],
        "commands": [f"queryveil verify .{private}{key}"],
    }
