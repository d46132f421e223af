"""Which files a log is made of, and how each is laid out."""

import glob
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from queryveil.core.errors import LogError
from queryveil.engines import LogSource
from queryveil.engines.local.selecting import Input
from queryveil.logs.formats import Layout, find_format
from queryveil.logs.formats.columns import check_column
from queryveil.logs.formats.table import arrow_layout
from queryveil.logs.sample import take_sample


def find_inputs(source: LogSource) -> list[Input]:
    """Return every file of a log, or its table, with its layout."""
    given, partition = source.reading.column_roles(), source.cleaning.partition_by
    if source.table is not None:
        layout = _with_partition(arrow_layout(source.table, given), partition, "the table")
        return [Input(Path("the table"), layout, "table", in_memory=True)]
    inputs = [_input(path, source.reading.format, given, partition) for path in expand(source.paths)]
    timed = [each for each in inputs if "time" in each.layout.roles]
    if 0 < len(timed) < len(inputs):
        without = next(each for each in inputs if "time" not in each.layout.roles)
        raise LogError(
            f"{without.path} has no time column and {timed[0].path} has one; name it with --columns time=COLUMN, "
            "or read the files as two logs."
        )
    return inputs


def _input(path: Path, name: str, given: dict[str, str], partition: str) -> Input:
    sample = take_sample(path)
    found = find_format(sample, name, given)
    layout = found.layout(sample, given) if found.layout else Layout("lines", {})
    layout = _with_partition(layout, partition, str(path))
    return Input(path, layout, found.name, sample.compression, sample.n_blank_lines)


def _with_partition(layout: Layout, column: str, where: str) -> Layout:
    """Add the column by which the log is cut to the roles."""
    if not column:
        return layout
    if layout.shape == "lines":
        raise LogError(f"{where}: a log of baskets has no columns to partition by; leave --partition-by out.")
    check_column(where, column, layout.columns, shown=layout.shape == "parquet")
    return replace(layout, roles={**layout.roles, "part": column})


def expand(paths: Sequence[Path]) -> list[Path]:
    """Return the files that paths and glob patterns stand for, patterns in sorted order."""
    files: list[Path] = []
    for path in paths:
        if glob.has_magic(str(path)) and not path.exists():
            matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207  (the pattern may be absolute)
            if not matches:
                raise LogError(f"no file matches {path}; check the pattern.")
            files += [Path(match) for match in matches]
        else:
            files.append(path)
    if not files:
        raise LogError("no log is given; name at least one file.")
    return files
