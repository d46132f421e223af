"""Exporting a release: its rows in another form, with its manifest and the verdict, in one folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.display import counted
from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.release.atomic_folder import prepare_target, write_folder
from queryveil.release.exports import EXPORT_FILE, FORMATS, PARQUET, encode_export, row_schema, rows_file
from queryveil.release.manifest import MANIFEST_FILE, SIGNATURE_FILE
from queryveil.release.reader import row_faults
from queryveil.workflows.requests import ExportRequest
from queryveil.workflows.verify import load_verified

_FORMULA = r"^[=+\-@\t\r]"  # how a text begins that spreadsheets compute


@dataclass(frozen=True)
class ExportedRelease:
    """What was exported: the folder, the file of its rows, and the verdict on them."""

    path: Path
    file: str
    rows: int
    verdict: Verdict
    warnings: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "export": str(self.path),
            "file": self.file,
            "rows": self.rows,
            "verdict": self.verdict.record(),
            "warnings": list(self.warnings),
        }


def export(request: ExportRequest, progress: Progress = silent) -> ExportedRelease:
    """Write the rows of a verified release in another form, with everything else of the release as it is."""
    source, form = request.release, FORMATS[request.to]
    out = request.out or Path(f"{source.resolve() if source.name in ('', '..') else source}-{request.to}")
    prepare_target(out, EXPORT_FILE, force=request.force)
    release, verdict = load_verified(request, progress)
    manifest, contents = release.manifest, encode_export(release.rows, request.to, verdict)
    written = form.read(contents[rows_file(request.to)], row_schema(manifest))
    if row_faults(manifest, (written,)):
        raise InputError(f"{source}: its rows cannot be written as {form.name} exactly; choose another form by --to.")
    others = [entry.path for entry in manifest.files if not entry.path.endswith(PARQUET.suffix)]
    for name in (*others, SIGNATURE_FILE, MANIFEST_FILE):
        if (source / name).exists():
            contents[name] = (source / name).read_bytes()
    write_folder(out, contents, EXPORT_FILE, force=request.force, secret=False)
    warnings = (*verdict.warnings, *(_formula_warning(release.rows) if form.opens_in_spreadsheets else ()))
    return ExportedRelease(out, rows_file(request.to), release.rows.num_rows, verdict, warnings)


def _formula_warning(rows: pa.Table) -> list[str]:
    """Return a warning if a spreadsheet would take texts for formulas; they are exported as they are."""
    texts = [column for column in rows.columns if pa.types.is_string(column.type)]
    n_formulas = sum(pc.sum(pc.match_substring_regex(column, _FORMULA)).as_py() or 0 for column in texts)
    return [f"{counted(n_formulas, 'cells')} may be taken for formulas; import every column as text."] * bool(
        n_formulas
    )
