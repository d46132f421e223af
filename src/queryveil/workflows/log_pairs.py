"""Pairs of logs, an original and what was released of it, person by person: of a release, or of anybody's log."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.arrow import as_array
from queryveil.core.errors import InputError
from queryveil.core.evidence import LogPair
from queryveil.core.progress import Progress, silent
from queryveil.engines import LogSource, QueryLog, log_source, open_log
from queryveil.histories.pairs import Sensitivity, documents_of_profiles, documents_of_texts, pair_logs, read_documents
from queryveil.kinds.base import FOREIGN_LOG
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.logs.options import CleaningOptions, ReadingOptions
from queryveil.measures.base import Comparison
from queryveil.release.reader import Release
from queryveil.workflows.requests import MeasureRequest, PairingOptions

# Another owner's logs are taken as they are; only rows that are clicks of one query are merged.
MERGE_CLICKS_ONLY = CleaningOptions(scrub=False, bots=0)
MAP_COLUMNS = ("original", "released")
NEEDS_PRIVATE = "--match terms of a release of kind {} needs its private folder; give --private."
NEEDS_MEMBERS = (
    "who is behind {} stands in its private folder; give --private, or --map with the columns "
    f"{', '.join(MAP_COLUMNS)}."
)


def load_sensitivity(pairing: PairingOptions) -> Sensitivity:
    """Return the function that estimates how likely texts are sensitive."""
    from queryveil.sensitivity.model import load_model

    return load_model(pairing.model, words=pairing.words).sensitivities


def original_persons(pairing: PairingOptions) -> Mapping[str, str] | None:
    """Return the original identifier of each released one, where a map was given."""
    return None if pairing.map is None else read_map(pairing.map)


def release_reading(pairing: PairingOptions, reading: ReadingOptions) -> ReadingOptions:
    """Return how a released log is read."""
    return replace(reading, format=pairing.release_format, columns=pairing.release_columns)


def pair_files(
    released: Any, request: MeasureRequest, *, needs_model: bool = True, progress: Progress = silent
) -> LogPair:
    """Return a released log and the original that a request names, taken as they are, as a pair."""
    pairing = request.pairing
    match, original_of = FOREIGN_LOG.match(pairing.match), original_persons(pairing)
    sensitivity = load_sensitivity(pairing) if needs_model else None
    other = log_source(released, release_reading(pairing, request.reading), MERGE_CLICKS_ONLY)
    sources = request.original(MERGE_CLICKS_ONLY), other
    (before, after), texts = read_documents(
        _opened(sources, progress), len(sources), charset=MERGE_CLICKS_ONLY.charset, match=match, progress=progress
    )
    return pair_logs(
        before, after, texts, match=match, original_of=original_of, sensitivity=sensitivity, progress=progress
    )


def _opened(sources: Sequence[LogSource], progress: Progress) -> Iterator[QueryLog]:
    """Open logs one after the other; each is closed before the next is opened."""
    for source in sources:
        with open_log(source, progress=progress) as log:
            yield log


def pair_release(
    release: Release,
    log: QueryLog,
    pairing: PairingOptions,
    private: PrivateFolder | None,
    *,
    needs_model: bool = True,
    progress: Progress = silent,
) -> LogPair:
    """Return a release of queries, or of their terms, with the log it was made from."""
    match = release.kind.match(pairing.match)
    original_of = _persons(release, pairing, private)
    sensitivity = load_sensitivity(pairing) if needs_model else None
    cleaning = log.source.cleaning
    (original,), texts = read_documents([log], 1, charset=cleaning.charset, match=match, progress=progress)
    user, text = release.kind.released_queries(release.rows)
    if match == "terms":  # each term once per query
        words = pa.array([sorted({*query.split(" ")}) for query in text.to_pylist()], pa.list_(pa.string()))
        user, text = user.take(pc.list_parent_indices(words)), pc.list_flatten(words)
    users, number = np.unique(as_array(user), return_inverse=True)
    released, texts = documents_of_texts(number, text, tuple(map(str, users.tolist())), texts)
    return pair_logs(
        original,
        released,
        texts,
        match=match,
        original_of=original_of,
        stop_words=cleaning.stop_words if release.kind.is_order_lost else "none",
        sensitivity=sensitivity,
        progress=progress,
    )


def pair_terms(comparison: Comparison, pairing: PairingOptions, *, needs_model: bool = True) -> LogPair:
    """Return the terms of a release with those of the log it was made from."""
    times = comparison.released_occurrences()
    if comparison.history_of is None or times is None:
        raise InputError(NEEDS_PRIVATE.format(comparison.kind.name))
    (before, after), texts = documents_of_profiles(
        comparison.original, comparison.released, comparison.released_owner(), times
    )
    return pair_logs(
        before, after, texts, match="terms", sensitivity=load_sensitivity(pairing) if needs_model else None
    )


def _persons(release: Release, pairing: PairingOptions, private: PrivateFolder | None) -> Mapping[str, str]:
    """Return the original identifier of each released id."""
    given = original_persons(pairing)
    if given is not None:
        return given
    if private is None:
        raise InputError(NEEDS_MEMBERS.format(release.path))
    private.check_belongs(release.manifest.content_sha256)
    members = private.membership().select(["person", "release_id"]).drop_null()
    return dict(zip(map(str, members["release_id"].to_pylist()), members["person"].to_pylist(), strict=True))


def read_map(path: Path) -> dict[str, str]:
    """Read a CSV file with the columns original and released; return released → original."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            lines = list(csv.reader(stream, strict=True))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check --map.") from None
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} cannot be read as a CSV file in UTF-8; save it as such.") from None
    if not lines or sorted(map(str.strip, lines[0])) != sorted(MAP_COLUMNS):
        raise InputError(f"{path}: the first line must name the columns {', '.join(MAP_COLUMNS)}; add it.")
    first, second = (list(map(str.strip, lines[0])).index(name) for name in MAP_COLUMNS)
    found: dict[str, str] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        if len(line) != len(MAP_COLUMNS) or not all(map(str.strip, line)):
            raise InputError(f"{path}, line {number}: a line has an original and a released id; correct it.")
        if found.setdefault(line[second].strip(), line[first].strip()) != line[first].strip():
            raise InputError(f"{path}, line {number}: a released id stands for two people; list it once.")
    return found
