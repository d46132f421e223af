"""The one place where a claim is checked: for a release just made, one that was read, or rows that would be released.

Nothing here knows the methods: code that makes a release must not be the code that certifies it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from queryveil.core.errors import InputError, InternalError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.engines import BASKETS
from queryveil.guarantees import guarantee_of
from queryveil.kinds.base import Kind
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.kept_columns import check_kept_columns, compare_kept_columns
from queryveil.release.manifest import Manifest
from queryveil.release.reader import Release


def verify_claim(
    claim: ResolvedName,
    kind: Kind,
    evidence: Evidence,
    *,
    faults: Sequence[str] = (),
    engine: str = "local",
    progress: Progress = silent,
) -> Verdict:
    """Return whether a claim holds; a release that is not what it says it is (`faults`) violates every claim."""
    refuse_inapplicable_claim(claim, kind)
    verdict: Verdict = claim.declaration.load(engine)(claim, evidence, progress=progress)
    kept_faults, warnings = check_kept_columns(evidence)
    verdict, faults = replace(verdict, warnings=(*verdict.warnings, *warnings)), [*faults, *kept_faults]
    if not faults:
        caution = guarantee_of(claim).caution(claim) if verdict.holds else ""
        misleading = release_warnings(evidence.find(Manifest), kind, caution)
        return replace(verdict, caution=caution, warnings=(*verdict.warnings, *misleading))
    reasons = [*faults, *([verdict.reason] if verdict.reason else [])]
    return replace(verdict, state="violated", reason="; ".join(reasons))


def release_warnings(manifest: Manifest | None, kind: Kind, caution: str) -> Iterator[str]:
    """Yield what a reader might wrongly conclude from a claim about a release, by its manifest."""
    if manifest is None:
        return
    if caution and manifest.counts["before"] == manifest.counts["after"]:
        yield "Nothing was removed: the release holds every query of the log."
    if kind.unit == "query" and any(step.get("unit") == BASKETS for step in manifest.cleaning.steps):
        yield "The log holds baskets of items: each basket counts as one query, which is released whole or not at all."


def refuse_inapplicable_claim(claim: ResolvedName, kind: Kind, what: str = "this release holds") -> None:
    """Refuse a claim that cannot be made about a kind of release."""
    if kind.name not in guarantee_of(claim).kinds:
        raise InputError(f"{claim} is no claim about {kind.content}, which {what}; claim {kind.example_claim}.")


def verify_or_raise(
    manifest: Manifest, kind: Kind, evidence: Evidence, *, engine: str = "local", progress: Progress
) -> Verdict:
    """Return the verdict on a release of our own, which must hold: one that its verifier refuses is our bug."""
    evidence.add(Manifest, lambda: manifest)
    verdict = verify_claim(manifest.claim, kind, evidence, engine=engine, progress=progress)
    if not verdict.holds:
        raise InternalError(
            f"the release made for {manifest.method} was refused by its own verifier ({verdict.state}), so "
            "nothing was released; please report this with the method's name and the size of the log."
        )
    return verdict


def collect_evidence(release: Release, private: PrivateFolder | None) -> tuple[Evidence, list[str]]:
    """Return the evidence of a release that was read, and where it contradicts its manifest or private folder."""
    kind, manifest = release.kind, release.manifest
    evidence = kind.read_evidence(release.rows, private, manifest.floor)
    evidence.add(Manifest, lambda: manifest)
    faults = list(release.faults)
    is_intact = not faults
    if is_intact:  # a damaged release has other rows anyway
        faults += wrong_counts(kind.count_rows(evidence), manifest.counts["after"])
    if private is not None:
        private.check_belongs(manifest.content_sha256)
        faults += compare_kept_columns(manifest, private.run())
        faults += kind.private_faults(evidence, private, manifest.counts["after"], is_intact=is_intact)
    return evidence, faults


def wrong_counts(found: Mapping[str, int], stated: Mapping[str, int]) -> list[str]:
    """Return a sentence for every count of the manifest that is not that of the rows."""
    return [
        f"the manifest gives another number of {name} than the rows" for name in found if stated[name] != found[name]
    ]
