"""Verifying a release, or a claim about any file, with code that shares nothing with the methods."""

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from queryveil.core.errors import InputError, ReleaseError, UnverifiedError
from queryveil.core.evidence import Evidence, Floor, ReleasedHistories
from queryveil.core.files import Folder, folder_of
from queryveil.core.names import ResolvedName, declarations, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.engines import log_source, open_log
from queryveil.guarantees import guarantee_of
from queryveil.kinds.base import Kind
from queryveil.kinds.private_folder import TAXONOMY, VECTORS, PrivateFolder
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.logs.options import CleaningOptions, ReadingOptions
from queryveil.release.exports import EXPORT_FILE
from queryveil.release.manifest import MANIFEST_FILE, SIGNATURE_FILE, Manifest
from queryveil.release.reader import Release, load_release
from queryveil.release.signing import signature_faults
from queryveil.release.verification import (
    collect_evidence,
    refuse_inapplicable_claim,
    require_known_sentences,
    verify_claim,
)
from queryveil.workflows.excluded import check_excluded, find_in_rows, recorded_terms
from queryveil.workflows.owner_lists import OwnerLists, add_lists
from queryveil.workflows.requests import HandOverRequest, VerifyRequest

_NO_CLEANING = CleaningOptions(scrub=False, duplicates="keep", bots=0)
_NO_LISTS = OwnerLists()


def verify(request: VerifyRequest, progress: Progress = silent) -> Verdict:
    """Return whether a release keeps what it claims; any other file needs a claim."""
    verdict: Verdict = request.engine_options.workflow("verify")(request, progress)
    return verdict


def verify_locally(request: VerifyRequest, progress: Progress) -> Verdict:
    """Verify a release folder, a file or a table on this machine."""
    release = folder_of(request.release)
    claim = None if request.claim is None else resolve("guarantee", request.claim)
    if isinstance(release, Folder) and release.is_dir():
        private = None if request.private is None else folder_of(request.private)
        files = request.lists, request.key, request.exclude_terms
        return verify_release(load_release(release), claim, private, *files, progress)
    if isinstance(release, Path) and not release.exists():
        raise ReleaseError(f"there is no release {release}; check the path.")
    if claim is None:
        raise InputError(
            "a file that is not a queryveil release claims nothing by itself; name a guarantee by --claim."
        )
    given = {"--private": request.private, "--key": request.key, "--exclude-terms": request.exclude_terms}
    for flag, value in given.items():
        if value is not None:
            raise InputError(f"{flag} goes with a queryveil release, not with another file; leave it out.")
    return verify_file(release, claim, request.reading, request.lists, progress)


def verify_release(
    release: Release,
    claim: ResolvedName | None = None,
    private: Folder | None = None,
    lists: OwnerLists = _NO_LISTS,
    key: Path | None = None,
    exclude_terms: Path | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Return whether a release keeps a claim, its own unless given, and is what its manifest and private folder say.

    With a public key, the signature of the manifest must verify against it; with a list of excluded terms, none of
    them may be published.
    """
    manifest = release.manifest
    claim = manifest.claim if claim is None else claim
    refuse_inapplicable_claim(claim, release.kind)
    folder = None if private is None else PrivateFolder(private)
    evidence, faults = collect_evidence(release, folder)
    run = None if folder is None else folder.check_belongs(manifest.content_sha256)
    found, unchecked = check_excluded(manifest, exclude_terms, run, partial(find_in_rows, release.rows))
    faults += found
    if key is not None:
        faults += _check_signature(release.path, key)
    elif (release.path / SIGNATURE_FILE).exists():
        unchecked += (f"{SIGNATURE_FILE} was not checked; give the signer's public key by --key.",)
    if folder is not None and manifest.cleaning.meaning is not None:
        add_network(evidence, folder, manifest, progress)
    missing = add_lists(evidence, claim, lists, manifest)
    if missing:
        state: Literal["violated", "unchecked"] = "violated" if faults else "unchecked"
        return Verdict(str(claim), state, "nothing", reason="; ".join((*faults, missing)))
    verdict = verify_claim(claim, release.kind, evidence, faults=faults, progress=progress)
    verdict = replace(verdict, warnings=(*verdict.warnings, *unchecked))
    if verdict.holds and str(claim) == manifest.guarantee and release.export and release.export.contradicts(verdict):
        verdict = replace(verdict, state="violated", reason=f"{EXPORT_FILE} states another verdict than this one")
    return require_known_sentences(verdict, manifest, is_authenticated=private is not None or key is not None)


def _check_signature(folder: Folder, key: Path) -> list[str]:
    signature = folder / SIGNATURE_FILE
    signed = (folder / MANIFEST_FILE).read_bytes()
    return signature_faults(key, signed, signature.read_bytes() if signature.is_file() else None)


def load_verified(request: HandOverRequest, progress: Progress) -> tuple[Release, Verdict]:
    """Return a release and the verdict on its claim; raise an error unless it holds."""
    release = load_release(request.release)
    verdict = verify_release(release, None, request.private, request.lists, request.key, None, progress)
    if not verdict.holds:
        raise UnverifiedError(f"nothing was written: {verdict.sentence()}", verdict.exit_code)
    return release, verdict


def add_network(evidence: Evidence, private: PrivateFolder, manifest: Manifest, progress: Progress) -> None:
    """Let verifiers compare terms as the method did, by a user's taxonomy or vectors if the private folder has some."""
    from queryveil.semantics.network import Network

    networks, name = declarations("network"), (manifest.cleaning.meaning or {})["network"]
    files = (private.path / file for file in (TAXONOMY, VECTORS))
    if name not in networks:
        raise ReleaseError(f"there is no network {name!r} to compare terms by (cleaning); the release is damaged.")
    given = next((file for file in files if file.is_file()), None)
    excluded = recorded_terms(manifest, private.check_belongs(manifest.content_sha256))

    def open_network() -> Network:
        network: Network = networks[name].load()(private.log_profiles, given, progress)
        return network.hide_names(excluded) if excluded else network

    evidence.add(Network, open_network)


def add_word_lists(evidence: Evidence, _: ResolvedName, places: Path | None, manifest: Manifest | None) -> str:
    """Add the lists of names, places and private words, with the owner's places; return why these are missing."""
    made_with = None if manifest is None else (manifest.lists or {}).get("places") or ""  # "": without
    if places is None and made_with:
        return "the release was made with a list of places that is not part of it; give it by --places"
    from queryveil.sensitivity.lists import load_lists

    lists = load_lists(places)
    if places is not None and made_with is not None and hashlib.sha256(places.read_bytes()).hexdigest() != made_with:
        raise InputError(f"--places: {places} is not the list that the release was made with (lists); give that one.")
    evidence.add(PersonalWordLists, lambda: lists)
    return ""


def verify_file(
    file: Any, claim: ResolvedName, reading: ReadingOptions, lists: OwnerLists, progress: Progress
) -> Verdict:
    """Read a file that is no release without cleaning and check a claim about it; every user is one history."""
    from queryveil.logs.files import take_sample
    from queryveil.logs.formats import find_format

    kind = _kind_of_file(claim)
    is_path = isinstance(file, Path)
    source = log_source(file, reading, _NO_CLEANING)
    with open_log(source, progress=progress) as log:
        has_baskets = (
            is_path
            and kind.unit == "term"
            and find_format(
                take_sample(file, "" if reading.is_utf8 else reading.encoding), reading.format, reading.column_roles()
            ).holds_baskets
        )
        released = _baskets(log, kind) if has_baskets else _histories(log, kind, progress)
        n_bad = log.steps["bad lines"].count
    evidence = Evidence(released, Floor())
    missing = add_lists(evidence, claim, lists)
    if missing:
        return Verdict(str(claim), "unchecked", "nothing", reason=missing)
    verdict = verify_claim(claim, kind, evidence, progress=progress)
    if verdict.holds and n_bad:  # what was not read may break the claim
        reason = f"the lines that can be read keep it, but {n_bad:,} cannot be read; correct the file"
        return replace(verdict, state="unchecked", reason=reason)
    return verdict


def _kind_of_file(claim: ResolvedName) -> Kind:
    """Return the kind as which a file of histories is taken to check a claim; refuse a claim about other things."""
    guarantee = guarantee_of(claim)
    kinds = [kind for kind in declarations("kind").values() if isinstance(kind, Kind)]
    readable = [kind for kind in kinds if kind.reads_foreign_files and kind.unit == guarantee.unit]
    for kind in readable:
        if kind.name in guarantee.kinds:
            return kind
    refuse_inapplicable_claim(claim, readable[0], "these rows hold")
    raise InputError(f"{claim} cannot be checked on a file; give a release.")


def _baskets(log: Any, kind: Kind) -> ReleasedHistories:
    """Return the items of baskets unchanged: folding them would make different items look alike."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for batch in log.batches():
        items = pc.utf8_split_whitespace(batch["query"])
        history = batch["history"].take(pc.list_parent_indices(items))
        parts.append(pa.table({"user": history.cast(pa.int64()), "term": pc.list_flatten(items)}))
    rows = pa.concat_tables(parts)
    return kind.read_evidence(rows.filter(pc.not_equal(rows["term"], "")), None, 1).get(ReleasedHistories)


def _histories(log: Any, kind: Kind, progress: Progress) -> ReleasedHistories:
    """Return the terms of queries or whole queries, or a column of terms unchanged."""
    from queryveil.histories.build import build

    profiles = build(log, unit="entry" if log.has_single_terms else kind.unit, progress=progress)
    return ReleasedHistories(
        np.arange(profiles.n_histories),
        profiles.indptr,
        profiles.ids,
        profiles.counts,
        profiles.vocabulary,
        None,
        kind.unit,
    )
