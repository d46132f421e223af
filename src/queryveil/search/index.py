"""The index folder, and an index opened for searching.

`index.json`, written last, records size and digest of every other file, and the layout, analyzer and engine version
the index was built with. A folder without it is not an index. Documents and vectors are memory-mapped.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from queryveil._version import __version__
from queryveil.core.errors import CorpusError
from queryveil.core.files import sync_folder, write_file
from queryveil.core.rows import Int32Array, IntArray
from queryveil.search.analyzer import ANALYZER_SETTINGS, Analyzer
from queryveil.search.engine import ENGINE_VERSION, SearchEngine
from queryveil.search.ranking import ProfileVector, RankedDocuments, TermCounts, profile_vector

RECORD_FILE = "index.json"
ENGINE_FOLDER = "engine"  # written by the search engine
DOCUMENTS_FILE, TERMS_FILE = "documents.arrow", "terms.arrow"
INDPTR_FILE, IDS_FILE, COUNTS_FILE, WEIGHTS_FILE = "indptr.npy", "ids.npy", "counts.npy", "weights.npy"
DOCUMENT_SCHEMA = pa.schema([(name, pa.large_string()) for name in ("id", "title", "text")])
_LAYOUT = 1


@dataclass(frozen=True, eq=False)
class DocumentStore:
    """The documents of an index by number, in corpus order; titles and texts are read from disk on access."""

    table: pa.Table = field(repr=False)  # DOCUMENT_SCHEMA

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of all documents, as in the corpus."""
        return tuple(self.table["id"].to_pylist())

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """Map every id to its document's number."""
        return MappingProxyType({name: number for number, name in enumerate(self.ids)})

    def get(self, number: int) -> tuple[str, str, str]:
        """Return a document's id, title and text."""
        name, title, text = (self.table[column][number].as_py() for column in DOCUMENT_SCHEMA.names)
        return name, title, text


@dataclass(frozen=True, eq=False)
class Index:
    """A searchable index of documents, safe to use from several threads; `open_index` returns one."""

    path: Path
    documents: DocumentStore
    terms: tuple[str, ...] = field(repr=False)  # sorted; a term's id is its position
    indptr: IntArray = field(repr=False)  # (documents + 1,): rows are document vectors
    ids: Int32Array = field(repr=False)  # (postings,): ascending and unique within a document
    weights: NDArray[np.float32] = field(repr=False)  # (postings,): tf-idf, of unit length per document
    engine: SearchEngine = field(repr=False)

    @cached_property
    def term_id(self) -> Mapping[str, int]:
        """Map every term to its id."""
        return MappingProxyType({term: number for number, term in enumerate(self.terms)})

    @cached_property
    def analyzer(self) -> Analyzer:
        """Return the analyzer for queries and profiles, the same that the documents were indexed with."""
        return Analyzer(self.term_id)

    def search(self, query: str, n: int = 100) -> RankedDocuments:
        """Return the n best documents for a query by BM25; ties are broken by document number."""
        return self.engine.search(self.analyzer.terms(query), n)

    def vector(self, terms: Iterable[str], weights: Iterable[float]) -> ProfileVector:
        """Map a profile onto index terms; each word of a phrase gets its weight, and weights of a word add up."""
        return profile_vector(self.analyzer, self.term_id.get, terms, weights)

    def term_counts(self) -> TermCounts:
        """Return the term frequencies of the documents, from which an index with more documents is built."""
        return TermCounts(self.indptr, self.ids, _memory_map(self.path / COUNTS_FILE))


def open_index(path: Path) -> Index:
    """Open an index; one that is damaged, or was built by an incompatible version, is refused."""
    _check_record(path)
    try:
        terms = _read_table(path / TERMS_FILE)["term"]
        return Index(
            path,
            DocumentStore(_read_table(path / DOCUMENTS_FILE)),
            tuple(terms.to_pylist()),
            _memory_map(path / INDPTR_FILE),
            _memory_map(path / IDS_FILE),
            _memory_map(path / WEIGHTS_FILE),
            SearchEngine(path / ENGINE_FOLDER),
        )
    except (OSError, ValueError, KeyError, pa.ArrowException):
        raise CorpusError(f"{path} cannot be opened; make it anew with queryveil index --force.") from None


def _memory_map(path: Path) -> NDArray[Any]:
    """Memory-map an array read-only; an empty array, which cannot be mapped, is loaded."""
    return np.asarray(np.load(path, mmap_mode="r"))


def _read_table(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def write_record(folder: Path, counts: Mapping[str, int]) -> None:
    """Write the record of a finished folder, which makes it an index; lock files of the engine are not part of it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    record = {
        "queryveil": __version__,
        **_versions(),
        **counts,
        "files": {str(path.relative_to(folder)): _fingerprint(path) for path in files if path.suffix != ".lock"},
    }
    for path in (folder / ENGINE_FOLDER, folder):
        sync_folder(path)
    write_file(folder / RECORD_FILE, json.dumps(record, indent=2).encode())
    sync_folder(folder)


def _check_record(folder: Path) -> None:
    """Refuse a folder that is not an index, is damaged, or was built by an incompatible version."""
    if not (folder / RECORD_FILE).is_file():
        raise CorpusError(f"{folder} is no index: it has no {RECORD_FILE}; make one with queryveil index.")
    try:
        record = json.loads((folder / RECORD_FILE).read_bytes())
        built_with = {key: record[key] for key in _versions()}
        files = {str(name): dict(fingerprint) for name, fingerprint in record["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise CorpusError(
            f"{folder / RECORD_FILE} cannot be read; make it anew with queryveil index --force."
        ) from None
    for part, version in _versions().items():
        if built_with[part] != version:
            raise CorpusError(
                f"{folder} was made with another {part} than that of queryveil {__version__}; "
                "make it anew with queryveil index --force."
            )
    for name, fingerprint in files.items():
        path = folder / name
        if not path.is_file() or _fingerprint(path) != fingerprint:
            what = "has been changed" if path.is_file() else "is missing"
            raise CorpusError(f"{folder} is damaged: {name} {what}; make it anew with queryveil index --force.")


def _versions() -> dict[str, object]:
    """Return what an index must have been built with to be searched by this version."""
    return {"layout": _LAYOUT, "analyser": dict(ANALYZER_SETTINGS), "engine": ENGINE_VERSION}


def _fingerprint(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
