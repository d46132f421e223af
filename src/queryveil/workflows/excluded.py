"""Terms that the owner of a log excluded: what the manifest says of them, and whether one is published."""

from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.display import printable
from queryveil.core.errors import GuaranteeError, InputError
from queryveil.kinds.private_folder import RunRecord
from queryveil.logs.terms import excluded_digest, excluded_in, read_terms
from queryveil.release.manifest import Manifest

RECORDED = "excluded_terms"  # in the private record of a run
WOULD_PUBLISH = (
    "--exclude-terms: an excluded term would be published by what is not taken from queries, which are the values of "
    "--partition-by and the groups of --groups; leave these out, or the term."
)


def excluded_record(excluded: Set[str], content_sha256: str) -> dict[str, Any]:
    """Return what a manifest says of excluded terms: how many, and a digest that also depends on the rows."""
    return {"terms": len(excluded), "digest": excluded_digest(excluded, content_sha256)}


def find_published(texts: Iterable[str], excluded: Set[str]) -> set[str]:
    """Return the excluded terms that published texts hold; names such as (other) stand for no term."""
    from queryveil.semantics.tree import NO_MEANING  # imports numba, which few commands need

    found = (excluded_in(text, excluded) for text in texts if text not in NO_MEANING)
    return set().union(*found)


def find_in_rows(rows: pa.Table, excluded: Set[str]) -> set[str]:
    """Return the excluded terms that any text of released rows holds: terms, queries, URLs, values of a partition."""
    columns = (rows[field.name] for field in rows.schema if pa.types.is_string(field.type))
    return set().union(*(find_published(pc.unique(column.drop_null()).to_pylist(), excluded) for column in columns))


def refuse_published(rows: pa.Table, excluded: Set[str]) -> None:
    """Raise an error if rows that are about to be released hold an excluded term."""
    if find_in_rows(rows, excluded):
        raise GuaranteeError(WOULD_PUBLISH)


def recorded_terms(manifest: Manifest, run: RunRecord | None) -> frozenset[str]:
    """Return the terms that were excluded from a release, as its private folder records them."""
    if manifest.excluded is None:
        return frozenset()
    if run is None or not isinstance(run.more.get(RECORDED), list):
        raise InputError(
            "terms were excluded from the release, and which ones stands in its private folder; give --private."
        )
    return frozenset(map(str, run.more[RECORDED]))


def check_excluded(
    manifest: Manifest, path: Path | None, run: RunRecord | None, find: Callable[[Set[str]], Set[str]]
) -> tuple[list[str], tuple[str, ...]]:
    """Return faults and warnings about excluded terms, given a list of them or the record of the run.

    `find` returns which of some terms are published.
    """
    stated: Mapping[str, Any] | None = manifest.excluded
    if path is None and (stated is None or run is None):
        unchecked = (
            "The release was made without a list of terms; give it by --exclude-terms to check that none is there."
        )
        return [], (unchecked,) if stated is not None else ()
    charset = manifest.cleaning.cleaning().charset
    terms = recorded_terms(manifest, run) if path is None else read_terms(path, charset)
    found, faults = find(terms), []
    if found:
        first = printable(min(found))
        faults.append(f"{len(found):,} of the {len(terms):,} excluded terms are published, such as {first!r}")
    if (excluded_record(terms, manifest.content_sha256) if terms else None) != stated:
        if path is None:
            faults.append("the private folder recorded other excluded terms than the manifest (excluded)")
        elif not found:
            raise InputError(
                f"--exclude-terms: none of the terms of {path} is published, but it is not the list that the release "
                "was made with (excluded); give that one."
            )
    return faults, ()
