"""From a log to a verified release of vocabularies."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from queryveil._version import __version__
from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress
from queryveil.core.results import Score, Verdict
from queryveil.engines import LogSource, open_log
from queryveil.histories.build import build
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.methods.vocabularies import floor_of
from queryveil.release import manifest as manifests
from queryveil.release import private as privates
from queryveil.release.content import Content, vocabularies_content
from queryveil.release.reader import Release
from queryveil.release.writer import check_places, staging
from queryveil.semantics.network import Network
from queryveil.semantics.options import SemanticOptions
from queryveil.workflows.anonymized import Anonymized, digest_of, digests_of
from queryveil.workflows.beside import vocabularies_beside
from queryveil.workflows.meaning import Place, known_terms, open_network
from queryveil.workflows.measure import score
from queryveil.workflows.running import histories_behind, method_of, must_hold
from queryveil.workflows.verify import check_vocabularies
from queryveil.workflows.writing import write_verified

LEAST_KNOWN = 0.01  # share of a log's occurrences that a taxonomy must know, else it is the wrong one
_MEASURES = ("blm", "patterns")


def publish(
    source: LogSource, bound: ResolvedName, place: Place, meaning: SemanticOptions, progress: Progress
) -> Anonymized:
    """Write a release of vocabularies; nothing appears unless its verifier agrees."""
    started = time.monotonic()
    _refuse_what_does_not_fit(source, bound, place, meaning)
    check_places(place.out, place.private, force=place.force)
    seed = secrets.randbits(64) if place.seed is None else place.seed
    with open_log(source, progress=progress) as log:
        profiles = build(log, progress=progress)
        cleaning = {"options": source.cleaning.as_record(), "steps": [asdict(step) for step in log.steps]}
    network = open_network(profiles, meaning, progress)
    known = _coverage(profiles, network, meaning)
    profiles = known_terms(profiles, network, meaning)
    published: PublishedVocabularies = method_of(bound).load()(profiles, network, bound, progress=progress)
    progress("writing", 0, 1)
    content = vocabularies_content(published)
    manifest = manifests.make(
        "vocabularies",
        bound,
        method_of(bound).claim(bound),
        content.rows,
        floor=floor_of(bound),
        cleaning={**cleaning, "meaning": meaning.as_record()},
        counts=_counts(profiles, published, content),
    )
    run: dict[str, Any] = {"seed": seed, "method": str(bound), "kind": "vocabularies", "queryveil": __version__}
    rng = np.random.default_rng(seed)
    with staging(place.out, place.private, force=place.force) as staged:
        if staged.private:
            run["inputs"] = digests_of(source)
            run["taxonomy"] = digest_of(meaning.taxonomy)
            privates.write(staged.private, profiles, content, run)
        verdict, scores, manifest = write_verified(
            staged, manifest, content, lambda release: _judge(release, profiles, content, meaning, rng, progress)
        )
        staged.commit(manifest["content_sha256"])
    summary = {**known, **published.summary}
    return Anonymized(place.out, place.private, manifest, verdict, tuple(scores), summary, time.monotonic() - started)


def _refuse_what_does_not_fit(source: LogSource, bound: ResolvedName, place: Place, meaning: SemanticOptions) -> None:
    """Refuse options that mean nothing for vocabularies, before anything is read."""
    if source.cleaning.partition_by:
        raise InputError(f"{bound} looks at the whole log, so it goes without --partition-by; leave that out.")
    if source.keep:
        raise InputError("--keep needs single queries, and a release of vocabularies has none; leave it out.")
    if place.groups is not None or place.groups_private is not None:
        raise InputError(f"--groups goes on with groups, and {bound} makes none; leave it out.")
    if meaning.weights != "paper":
        raise InputError(f"--weights is for methods that make groups; {bound} counts occurrences, leave it out.")


def _coverage(profiles: Profiles, network: Network, meaning: SemanticOptions) -> dict[str, int]:
    """Count what the network does not know; refuse a taxonomy that is not about this log."""
    is_known = network.find_all(profiles.vocabulary.entries) >= 0
    total = int(profiles.counts.sum(dtype=np.int64))
    known = int(profiles.counts[is_known[profiles.ids]].sum(dtype=np.int64))
    if meaning.taxonomy is not None and known < LEAST_KNOWN * total:
        raise InputError(
            f"{meaning.taxonomy} knows {np.count_nonzero(is_known):,} of the {len(is_known):,} terms of the log, "
            f"{known / max(1, total):.1%} of their occurrences; at least {LEAST_KNOWN:.0%} are needed, so give a "
            "taxonomy of the log's own terms."
        )
    return {
        "terms that the network does not know": int(np.count_nonzero(~is_known)),
        "occurrences of these": total - known,
        "occurrences of terms that it knows": known,
    }


def _counts(profiles: Profiles, published: PublishedVocabularies, content: Content) -> dict[str, Mapping[str, int]]:
    is_released = content.release_id >= 0
    counts = (
        len(np.unique(profiles.owner[is_released])),
        int(np.count_nonzero(is_released)),
        int(np.count_nonzero(np.bincount(published.ids))),
        len(published.ids),
        int(published.counts.sum(dtype=np.int64)),
    )
    return {"before": manifests.counts_of(profiles), "after": dict(zip(manifests.COUNTS, counts, strict=True))}


def _judge(
    release: Release,
    profiles: Profiles,
    content: Content,
    meaning: SemanticOptions,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Verdict, list[Score]]:
    """Verify a release that has been written, and measure what it cost."""
    history_of = histories_behind(content)
    claim, owner = release.manifest["guarantee"], profiles.owner[history_of]
    verdict = must_hold(check_vocabularies(release, claim, owner, _holders(profiles), progress), release)
    beside = vocabularies_beside(profiles, release, history_of, meaning.taxonomy, progress)
    return verdict, score(beside, _MEASURES, rng, progress)


def _holders(profiles: Profiles) -> dict[str, int]:
    """Count the people who hold each term of the log."""
    return dict(zip(profiles.vocabulary.entries, profiles.holders().tolist(), strict=True))
