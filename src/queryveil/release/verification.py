"""The one place where a claim is checked: for a release just made, one that was read, or rows that would be released.

Nothing here knows the methods: code that makes a release must not be the code that certifies it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from queryveil._version import __version__
from queryveil.core.display import alternatives
from queryveil.core.errors import InputError, InternalError
from queryveil.core.evidence import Evidence, KeptValues, MethodParameters
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.engines import BASKETS
from queryveil.engines.kept_columns import KeptColumn, KeptColumns
from queryveil.engines.sql import KeptTables, SqlSession, open_sql_session
from queryveil.guarantees import guarantee_of
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts, Kind, kind_of, wrong_counts
from queryveil.kinds.private_folder import PrivateFolder, RunRecord
from queryveil.release.manifest import Manifest
from queryveil.release.reader import Release, manifest_faults

WRONG_PARTITION = "released histories are in another partition than the private folder has them in"


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
    manifest: Manifest,
    kind: Kind,
    evidence: Evidence,
    *,
    faults: Sequence[str] = (),
    engine: str = "local",
    progress: Progress,
) -> Verdict:
    """Return the verdict on a release of our own, which must hold: one that its verifier refuses is our bug."""
    evidence.add(Manifest, lambda: manifest)
    verdict = verify_claim(manifest.claim, kind, evidence, faults=faults, engine=engine, progress=progress)
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
    faults, counts = [*release.faults, *claim_faults(manifest)], manifest.counts
    is_intact = len(release.faults) == len(manifest_faults(manifest))  # files and rows are what the manifest lists
    if is_intact:  # a damaged release has other rows anyway
        faults += wrong_counts(kind.count_rows(evidence), counts["after"], "rows")
    if private is not None:
        run = private.check_belongs(manifest.content_sha256)
        evidence.add(MethodParameters, lambda: MethodParameters(run.parameters))
        evidence.add(Profiles, lambda: private.log_profiles)
        faults += run_faults(run, manifest)
        faults += kind.private_faults(evidence, private, counts["after"], is_intact=is_intact)
        before = Counts.of(private.log_profiles).record()
        faults += wrong_counts(before, counts["before"], "private folder", "before")
        if is_intact and manifest.partition is not None:
            faults += _partition_faults(release, private)
    return evidence, faults


def claim_faults(manifest: Manifest) -> list[str]:
    """Return where a manifest contradicts the guarantee that it claims; the sentences of other versions may differ."""
    claim, guarantee, kind = manifest.claim, guarantee_of(manifest.claim), kind_of(manifest.kind)
    given, partition = manifest.parameters, manifest.partition
    has_floor = type(given.get("floor", 1)) is int
    before, after = manifest.counts["before"], manifest.counts["after"]
    promise, limits = guarantee.sentences(claim)
    if manifest.queryveil != __version__:
        promise, limits = manifest.promise, manifest.limits  # see `require_known_sentences`
    made = ((claim.values.get(each.name), given.get(each.name, each.default)) for each in guarantee.parameters)
    wrong = {
        "method": not has_floor or any(stated is not None and stated != claimed for claimed, stated in made),
        "promise": manifest.promise != promise,
        "limits": manifest.limits != limits,
        "floor": has_floor and manifest.floor != guarantee.floor(claim, given),
        "uncovered_columns": not {*manifest.uncovered_columns} <= {*kind.keepable},
        "partition": ("" if partition is None else partition.column) != manifest.cleaning.cleaning().partition_by,
        "counts": after["people"] > before["people"]
        or after["histories"] > before["pairs"]  # a history may be published in pieces, each of one pair or more
        or any(0 < counts["histories"] < counts["people"] for counts in (before, after)),  # some kinds have none
        "lists": {*(manifest.lists or ())} != {*guarantee.inputs},
    }
    names = ", ".join(name for name in wrong if wrong[name])
    return [f"the manifest has {names} that cannot be of a release under {claim}"] if names else []


def require_known_sentences(verdict: Verdict, manifest: Manifest, *, is_authenticated: bool) -> Verdict:
    """Return the verdict, or `unchecked` if promise and limits are in other words than this version's.

    They are accepted if a private folder or a signature authenticates the manifest.
    """
    promise, limits = guarantee_of(manifest.claim).sentences(manifest.claim)
    if not verdict.holds or is_authenticated or (manifest.promise, manifest.limits) == (promise, limits):
        return verdict
    reason = f"its promise and limits are in the words of version {manifest.queryveil}, and nothing vouches for them"
    return replace(verdict, state="unchecked", reason=f"{reason}; give --private or --key, or verify with that version")


def _partition_faults(release: Release, private: PrivateFolder) -> list[str]:
    """Return whether released histories are in other partitions than the private folder has them in."""
    unit, members = next(iter(release.kind.columns)), private.membership().drop_null()
    found, true = (
        {*zip(table[name].to_pylist(), table["partition"].to_pylist(), strict=True)}
        for table, name in ((release.rows, unit), (members, "release_id"))
    )
    return [] if found == true else [WRONG_PARTITION]


def run_faults(run: RunRecord, manifest: Manifest) -> list[str]:
    """Return which fields of a manifest are not those that the run recorded in the private folder."""
    found = manifest.field_digests()
    is_other = {name: found.get(name) != run.manifest_sha256.get(name) for name in {**found, **run.manifest_sha256}}
    for name in ("queryveil", "kind", "method"):
        is_other[name] |= getattr(manifest, name) != getattr(run, name)
    is_other["method"] |= any(run.parameters.get(name) != value for name, value in manifest.parameters.items())
    names = ", ".join(name for name, is_wrong in is_other.items() if is_wrong)
    return [f"the private folder recorded another manifest ({names})"] if names else []


def check_kept_columns(evidence: Evidence) -> tuple[list[str], list[str]]:
    """Return where kept columns are not what the manifest says, and a warning about what they give away."""
    manifest, tables, values = evidence.find(Manifest), evidence.find(KeptTables), evidence.find(KeptValues)
    if values is not None:
        tables = KeptTables(lambda: open_sql_session(kept=values.table), values.is_linked)
    if manifest is None or manifest.kept is None or tables is None:
        return [], []
    counted = "people" if tables.is_linked else "histories"
    with tables.open() as session:
        faults = [
            fault for column in manifest.kept.columns for fault in _faults(session, column, manifest.kept, counted)
        ]
        return faults, [_warning(session, manifest.kept)]


def _faults(session: SqlSession, column: KeptColumn, kept: KeptColumns, counted: str) -> list[str]:
    """Return whether a column has values of another form, or values that too few share."""
    name = column.name
    ((n_other,),) = session.query(
        f"SELECT COUNT(*) FROM {{kept}} WHERE {name} IS NOT NULL AND COALESCE({name} <> {column.sql}, TRUE)"
    )
    ((n_rare,),) = session.query(
        f"SELECT COUNT(*) FROM (SELECT part, {name} FROM {{kept}} WHERE {name} IS NOT NULL GROUP BY part, {name}"
        f" HAVING COUNT(DISTINCT owner) < {kept.floor}) AS rare"
    )
    faults = [f"{n_other:,} rows have a {name} that is not of the form {column}"] if n_other else []
    rare = (
        f"{n_rare:,} values of the column {name} are of fewer than {kept.floor:,} {counted}, the floor of kept values"
    )
    return [*faults, rare] if n_rare else faults


def _warning(session: SqlSession, kept: KeptColumns) -> str:
    """Return a sentence about how many histories show a kept value, or values of one query, that nobody else has."""
    ((n_histories,),) = session.query("SELECT COUNT(DISTINCT history) FROM {kept}")
    several, listed = len(kept.columns) > 1, alternatives(list(map(str, kept.columns)), "and")
    text = (
        f"The guarantee does not cover the column{'s' if several else ''} {listed}: of "
        f"{n_histories:,} histories, {_count_own(session, [[name] for name in kept.names]):,} have a value there that "
        "nobody else has"
    )
    if several:
        text += f", and {_count_own(session, [kept.names]):,} have a query whose values there nobody else has together"
    return f"{text}. Several values of a history together may single out more."


def _count_own(session: SqlSession, keys: Sequence[Sequence[str]]) -> int:
    """Count the histories with values, under one of the keys, that only one owner in the partition has."""
    own = " UNION ".join(
        "SELECT history FROM (SELECT history, MIN(owner) OVER alike AS lowest, MAX(owner) OVER alike AS highest"
        f" FROM {{kept}} WHERE {' OR '.join(f'{name} IS NOT NULL' for name in key)}"
        f" WINDOW alike AS (PARTITION BY part, {', '.join(key)})) AS owners WHERE lowest = highest"
        for key in keys
    )
    ((n_own,),) = session.query(f"SELECT COUNT(DISTINCT history) FROM ({own}) AS own")
    return int(n_own)
