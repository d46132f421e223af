"""From a log or a profile file to a verified release of groups."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from queryveil._version import __version__
from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress
from queryveil.core.results import Score, Verdict
from queryveil.engines import LogSource, open_log
from queryveil.histories.build import build
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profile_files import COLUMNS, is_profile_file, read_profiles
from queryveil.histories.profiles import Profiles
from queryveil.methods.linkability.later import Continued, go_on
from queryveil.methods.linkability.principles import floor_of, without_rare
from queryveil.release import manifest as manifests
from queryveil.release import private as privates
from queryveil.release.content import Content, groups_content
from queryveil.release.groups import groups_of, members_of
from queryveil.release.reader import Release
from queryveil.release.writer import check_places, staging
from queryveil.semantics.augmentation import augment, weighted
from queryveil.semantics.options import SemanticOptions
from queryveil.workflows.anonymized import Anonymized, digest_of, digests_of
from queryveil.workflows.continuing import Older, open_older
from queryveil.workflows.meaning import Place, known_terms, open_network
from queryveil.workflows.measure import score_groups
from queryveil.workflows.running import method_of, must_hold
from queryveil.workflows.verify import check_groups
from queryveil.workflows.writing import write_verified


def group(
    source: LogSource, bound: ResolvedName, place: Place, meaning: SemanticOptions, progress: Progress
) -> Anonymized:
    """Write a release of groups; nothing appears unless its verifier agrees."""
    started = time.monotonic()
    refuse(source, bound, has_private=place.private is not None)
    check_places(place.out, place.private, force=place.force)
    claim = method_of(bound).claim(bound)
    older = _older(place, claim)
    seed = secrets.randbits(64) if place.seed is None else place.seed
    rng = np.random.default_rng(seed)
    profiles, cleaning = _profiles(source, meaning, progress)
    network = open_network(profiles, meaning, progress)
    profiles = _weighed(known_terms(profiles, network, meaning), meaning)
    features = augment(
        without_rare(profiles, bound),
        network,
        a=bound.integer("a"),
        weighting="paper" if bound.word("weighting") == "paper" else "content",
        unknown="keep",
        progress=progress,
    )
    continued = None
    if older is None:
        grouped: Grouping = method_of(bound).load()(profiles, features, bound, rng=rng, progress=progress)
    else:
        continued = go_on(profiles, features, older.before(profiles), bound, rng=rng, progress=progress)
        grouped = continued.grouped
    progress("writing", 0, 1)
    content = groups_content(profiles, grouped)
    manifest = manifests.make(
        "groups",
        bound,
        claim,
        content.rows,
        floor=floor_of(bound),
        cleaning={**cleaning, "meaning": meaning.as_record()},
        counts=_counts(profiles, grouped),
    )
    run: dict[str, Any] = {"seed": seed, "method": str(bound), "kind": "groups", "queryveil": __version__}
    with staging(place.out, place.private, force=place.force) as staged:
        if staged.private:
            run["inputs"] = digests_of(source)
            run["taxonomy"] = digest_of(meaning.taxonomy)
            privates.write(staged.private, profiles, content, run)
            privates.write_counted(staged.private, _counted(profiles, content, older, continued))
        verdict, scores, manifest = write_verified(
            staged, manifest, content, lambda release: _judge(release, profiles, content, bound, rng, progress)
        )
        staged.commit(manifest["content_sha256"])
    return Anonymized(
        place.out, place.private, manifest, verdict, tuple(scores), grouped.summary, time.monotonic() - started
    )


def _older(place: Place, claim: ResolvedName) -> Older | None:
    """Return the older groups to go on from, where some were given."""
    if place.groups is not None:
        return open_older(place.groups, place.groups_private, claim)
    if place.groups_private is not None:
        raise InputError("--groups-private goes with --groups; give that too, or leave it out.")
    return None


def _counted(profiles: Profiles, content: Content, older: Older | None, continued: Continued | None) -> dict[str, int]:
    """Return, for everybody whose terms are in what is published, the released id of that group."""
    if older is None or continued is None:
        people = zip(profiles.persons, content.release_id.tolist(), strict=True)
        return {person: group for person, group in people if group >= 0}
    return older.counted_now(profiles, continued, content.release_id)


def refuse(source: LogSource, bound: ResolvedName, *, has_private: bool) -> None:
    """Refuse to make groups without a private folder, and what cuts a person's queries apart: groups are of people."""
    if not has_private:
        raise InputError(f"{bound} needs a private folder: who is in which group stands there; give --private.")
    if source.cleaning.history != "user" or source.cleaning.partition_by:
        raise InputError(f"{bound} groups people, so it goes with --history user and without --partition-by.")
    if source.keep:
        raise InputError("--keep needs single queries, and a release of groups has none; leave it out.")


def _profiles(source: LogSource, meaning: SemanticOptions, progress: Progress) -> tuple[Profiles, Mapping[str, Any]]:
    """Read a profile file, or build the profiles of a log; and say how it was cleaned."""
    options = source.cleaning.as_record()
    if source.table is not None and set(COLUMNS) <= set(source.table.column_names):
        raise InputError("a table of user, term, weight would be read as a log; write it to a file and give that.")
    if len(source.paths) == 1 and is_profile_file(source.paths[0]):
        if meaning.weights != "paper":
            raise InputError(f"--weights: {source.paths[0]} is a profile file and has weights; leave --weights out.")
        return read_profiles(source.paths[0]), {"options": options, "steps": []}
    with open_log(source, progress=progress) as log:
        profiles = build(log, progress=progress)
        steps = [asdict(step) for step in log.steps]
    return profiles, {"options": options, "steps": steps}


def _weighed(profiles: Profiles, meaning: SemanticOptions) -> Profiles:
    """Return the profiles with weights: those of their file, else of the kind asked for."""
    if profiles.weights is not None:
        return profiles
    if meaning.weights == "paper":
        return replace(profiles, weights=np.ones(len(profiles.ids)))
    return weighted(profiles, "counts" if meaning.weights == "counts" else "tfidf")


def _counts(profiles: Profiles, grouped: Grouping) -> dict[str, Any]:
    before = manifests.counts_of(profiles)
    n_people = int(np.count_nonzero(grouped.group >= 0))
    if n_people == 0:
        raise GuaranteeError("nobody is left to publish; take a larger p or give a larger log.")
    n_terms = int(np.count_nonzero(np.bincount(grouped.ids)))
    counts = (n_people, n_people, n_terms, len(grouped.ids), len(grouped.ids))
    after = dict(zip(manifests.COUNTS, counts, strict=True))
    return {"before": before, "after": {**after, "groups": grouped.n_groups}}


def _judge(
    release: Release,
    profiles: Profiles,
    content: Content,
    bound: ResolvedName,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Verdict, list[Score]]:
    """Verify a release that has been written, and measure it."""
    released = groups_of(release.rows)
    members = members_of(profiles, content.release_id, released)
    verdict = must_hold(check_groups(release, release.manifest["guarantee"], members, progress), release)
    return verdict, score_groups(released, members, (f"linkability(p={bound['p']})",), rng, progress)
