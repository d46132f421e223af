"""The reference page of the release folder: columns of every kind, fields of the manifest, and the private folder."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from queryveil.core.names import declarations
from queryveil.kinds.base import COLUMNS, Kind, kind_of
from queryveil.kinds.private_folder import RunRecord
from queryveil.release.manifest import Manifest

MANIFEST = {  # field → key in the file, and what it says
    "queryveil": ("queryveil", "the version that made it"),
    "made": ("made", "the day on which it was made (UTC), or that of SOURCE_DATE_EPOCH"),
    "title": ("title", "only with `--title`: the owner's title"),
    "dataset": ("dataset", "only with `--dataset`: what the log is, in the owner's words"),
    "kind": ("kind", "the kind of release"),
    "method": ("method", "the method, as a text name"),
    "guarantee": ("guarantee", "the guarantee that `queryveil verify` checks, as a text name"),
    "promise": ("promise", "the guarantee in plain words"),
    "limits": ("limits", "what the guarantee does not cover, in plain words"),
    "floor": ("floor", "every published term is held, or query was issued, by at least so many people"),
    "columns": ("columns", "all columns"),
    "uncovered_columns": ("uncovered_columns", "the columns that the guarantee does not cover"),
    "kept": (
        "kept",
        "only with `--keep`: `columns`, the uncovered ones with their form (`time:day`), and `floor`, how many people "
        "share each of their values",
    ),
    "partition": (
        "partition",
        "the column by which the log was cut, how many values it had and how many had too few people, or null",
    ),
    "cleaning": (
        "cleaning",
        "the options, what each step did, and under `meaning` how terms were compared, where they were",
    ),
    "counts": (
        "counts",
        "of the log (`before`) and of the release (`after`): people, histories, distinct terms (kind `queries`: "
        "queries), pairs and occurrences; of groups also how many there are",
    ),
    "content_sha256": ("content_sha256", "SHA-256 over the rows, independent of how they are cut into files"),
    "files": ("files", "path, SHA-256 and number of rows of every file"),
    "lists": ("lists", "only of `ppp`: the SHA-256 of the list given by `--places`, or null"),
    "excluded": (
        "excluded",
        "only with `--exclude-terms`: `terms`, how many, and `digest`, the scrypt digest (n = 16384, r = 8, p = 1) of "
        "the sorted terms with `content_sha256` as its salt; the terms themselves are in the private folder only",
    ),
    "fields_sha256": ("fields_sha256", "the SHA-256 of every other field as JSON with sorted keys"),
}
RUN = {
    "seed": ("seed", "the seed of the random draws"),
    "method": ("method", "the method, as a text name"),
    "kind": ("kind", "the kind of release"),
    "queryveil": ("queryveil", "the version that made the release"),
    "engine": ("engine", "the engine, unless it was `local`"),
    "inputs": ("inputs", "path and SHA-256 of the files of the log"),
    "parameters": ("parameters", "all parameters of the method, with defaults"),
    "more": ("worth, start_from, …", "SHA-256 of other input files, and the release that the run started from"),
    "content_sha256": ("content_sha256", "of the release that the folder belongs to"),
    "manifest_sha256": ("manifest_sha256", "the SHA-256 of every field of that release's manifest"),
}
PRIVATE = {
    "membership.parquet": "`person` as in the log, `history`, `release_id` (empty where nothing of the history was "
    "released), `partition` where the log was cut into parts",
    "profiles.parquet": "`history, term, count` as the method saw them; of groups also `weight`",
    "counted.parquet": "only of groups: `person, release_id`, whose terms are in what is published of a group; "
    "`is_frozen` where it is published as in an earlier release (releases made on Spark extend none)",
    "taxonomy.csv": "a copy of the file given by `--taxonomy`, where one was",
    "run.json": "how the release was made",
}
PAGE = """# The release folder

| file | what it is |
|---|---|
| `data/part-*.parquet` | the rows |
| `report.html` | a static page: the guarantee, its limits, what was kept; no script, no outside reference |
| `manifest.sig` | only with `--sign-key`: the Ed25519 signature of `manifest.json` |
| `manifest.json` | written last: a folder without it is not a release |

`queryveil export` writes a folder with the same `manifest.json`, `manifest.sig` and `report.html`, in which `rows.csv`
(`.tsv`, `.jsonl`, `.parquet`) takes the place of the data files, and `export.json` states its SHA-256, its form and
the verdict ([how to hand over a release](../how-to/hand-over.md)).

## Kinds

| kind | what it holds | columns | with `--keep` |
|---|---|---|---|
{kinds}
| column | what it is |
|---|---|
{columns}
- No id tells anything about the log's order or ids, and links between one person's histories are not published.
- Rows are sorted by their ids, then by their texts.
- A release cut by `--partition-by` has a column `partition` besides.

## manifest.json

| key | what it says |
|---|---|
{manifest}
## The private folder

Made by `--private`, with mode 0700; it tells who is behind the release.

| file | what it holds |
|---|---|
{private}
`run.json`:

| key | what it says |
|---|---|
{run}"""


def release_page() -> str:
    """Return the page; a kind's columns and the fields of the JSON files come from their declarations."""
    return PAGE.format(
        kinds="".join(_kind_row(kind_of(name)) for name in declarations("kind")),
        columns=_rows(COLUMNS.items()),
        manifest=_field_rows(Manifest, MANIFEST),
        private=_rows(PRIVATE.items()),
        run=_field_rows(RunRecord, RUN),
    )


def _kind_row(kind: Kind) -> str:
    columns, kept = (", ".join(f"`{name}`" for name in names) for names in (kind.columns, kind.keepable))
    return f"| `{kind.name}` | {kind.purpose} | {columns} | {kept} |\n"


def _field_rows(record: type[Any], meanings: Mapping[str, tuple[str, str]]) -> str:
    """Return a row for each field of a record; one without a meaning is an error."""
    return _rows(meanings[each.name] for each in fields(record))


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"| `{key}` | {meaning} |\n" for key, meaning in pairs)
