"""Measuring a release, or somebody's released log, on a cluster against the log it was made from."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Score
from queryveil.engines import LogSource
from queryveil.engines.spark.session import SparkCluster, open_session
from queryveil.engines.spark.storage import Storage
from queryveil.histories.build import Unit
from queryveil.histories.distributed import clean_histories
from queryveil.logs.options import Cleaning, Reading
from queryveil.measures import FILE
from queryveil.measures.distributed.base import DistributedComparison
from queryveil.measures.distributed.pairs import DistributedPair
from queryveil.release import manifest as manifests
from queryveil.release.private import MEMBERSHIP
from queryveil.workflows.distributed.forms import check_form, with_form
from queryveil.workflows.distributed.pairs import Matching, pair_frames
from queryveil.workflows.distributed.verify import check_belongs, file_faults, manifest_of, uri
from queryveil.workflows.measure import check_measure, default_measures
from queryveil.workflows.pair_scores import USUAL, is_paired, needs_model
from queryveil.workflows.pairs import AS_IT_STANDS, MAP_COLUMNS, match_for, originals_of, sensitivity_of
from queryveil.workflows.requests import MeasureRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS = ("histories", "queries")  # that have a Spark form


def measure(options: MeasureRequest, *, progress: Progress = silent) -> list[Score]:
    """Score a release, or somebody's released log, against the original, as on one machine."""
    release, against = str(options.release), tuple(map(str, options.against))
    private = None if options.private is None else str(options.private)
    asked = [resolve("measure", name) for name in options.measures]
    for bound in asked:
        check_form("measure", bound)
    _refuse(options)
    with open_session(options.engine_options.cluster() or SparkCluster()) as spark:
        place = uri(release)
        storage = Storage(spark)
        if not storage.exists(place) and not any(sign in place for sign in "*?["):
            raise InputError(f"there is no release or log {release}; check the path.")
        if storage.exists(place) and (storage.is_folder(place) or storage.exists(f"{place}/{manifests.NAME}")):
            sides: _Sides = _of_release(spark, release, place, against, private, options, progress)
        else:
            if private is not None:
                raise InputError("--private goes with a queryveil release, not with another log; leave it out.")
            sides = _Logs(spark, release, against, options, progress)
        bounds = asked or [resolve("measure", name) for name in sides.usual()]
        for bound in bounds:
            check_measure(bound, has_market=False, kind=sides.kind, may_pair=True)
        return _scores(sides, bounds, options, progress)


def _refuse(options: MeasureRequest) -> None:
    """Refuse what can only be done on one machine."""
    given = {
        "market": options.market,
        "taxonomy": options.taxonomy,
        "people": options.people,
        "index": options.index,
        "trec": options.trec,
    }
    for name, value in given.items():
        if value is not None:
            raise InputError(f"--{name} has no Spark form; leave it out, or use --engine local.")


def _on_spark(names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the usual measures that have a Spark form."""
    return tuple(name for name in names if name.split("(")[0] in with_form("measure"))


def _scores(
    sides: "_Sides", bounds: Sequence[ResolvedName], options: MeasureRequest, progress: Progress
) -> list[Score]:
    """Compute every measure, in the order asked for; logs are cleaned once."""
    scores: list[Score] = []
    comparison = pair = None
    try:
        for number, bound in enumerate(bounds):
            progress("measuring", number, len(bounds))
            function = bound.declaration.load("spark")
            if is_paired(bound):
                pair = pair or sides.pair(needs_model(bounds))
                scores += function(pair, bound, progress=progress)
            else:
                comparison = comparison or sides.comparison()
                scores += function(comparison, bound, seed=options.seed, progress=progress)
    finally:
        sides.release()
        if pair is not None:
            pair.frame.unpersist()
    progress("measuring", len(bounds), len(bounds))
    return scores


@dataclass
class _Sides(ABC):
    """A log and what was released of it."""

    spark: "SparkSession"
    name: str  # of what was released, for messages
    against: tuple[str, ...]
    options: MeasureRequest
    progress: Progress

    def __post_init__(self) -> None:
        self._cleaned: dict[Any, Any] = {}

    @property
    def kind(self) -> str:
        """Return the kind of release."""
        return FILE

    def usual(self) -> tuple[str, ...]:
        """Return what is measured unless something is asked for."""
        return _on_spark(USUAL)

    def comparison(self) -> DistributedComparison:
        """Return the terms, or whole queries, of both."""
        raise InputError("somebody else's log has no terms to compare; give measures of pairs of logs.")

    @abstractmethod
    def pair(self, has_model: bool) -> DistributedPair:
        """Return both person by person."""

    def cleaned(self, source: LogSource, unit: Unit) -> "DataFrame":
        """Return a log's histories, cleaned once."""
        if (source, unit) not in self._cleaned:
            self._cleaned[source, unit] = clean_histories(self.spark, source, unit=unit, progress=self.progress)
        frame: DataFrame = self._cleaned[source, unit].frame
        return frame

    def release(self) -> None:
        """Give the cluster's storage back."""
        for cleaned in self._cleaned.values():
            cleaned.release()

    def matching(self, has_model: bool, stop_words: str = "none") -> Matching:
        """Return how documents are matched."""
        pairing = self.options.pairing
        sensitivity = sensitivity_of(pairing) if has_model else None
        return Matching(match_for(pairing, self.kind), stop_words, sensitivity, pairing.map is not None)


class _Logs(_Sides):
    """Two logs as they stand."""

    def pair(self, has_model: bool) -> DistributedPair:
        """Return both person by person."""
        matching, pairing, reading = self.matching(has_model), self.options.pairing, self.options.reading
        unit: Unit = "term" if matching.match == "terms" else "query"
        other = Reading(pairing.release_format, pairing.release_columns, reading.max_bad_lines, reading.memory_limit)
        before = _documents(self.cleaned(LogSource((), reading, AS_IT_STANDS, uris=self.against), unit))
        after = _documents(self.cleaned(LogSource((), other, AS_IT_STANDS, uris=(self.name,)), unit))
        users = after.withColumnRenamed("person", "user")
        given = originals_of(pairing)
        if given is None:
            return pair_frames(before, users.selectExpr("*", "user AS person"), matching)
        who = self.spark.createDataFrame(sorted(given.items()), "user STRING, person STRING")
        return pair_frames(before, users.join(who, "user", "left"), matching)


def _documents(histories: "DataFrame") -> "DataFrame":
    """Return `person, text, n` of histories: how often each document stands in them."""
    zipped = histories.selectExpr("person", "explode(arrays_zip(entries, counts)) AS pair")
    return zipped.selectExpr("person", "pair.entries AS text", "BIGINT(pair.counts) AS n")


def _of_release(
    spark: "SparkSession",
    release: str,
    place: str,
    against: tuple[str, ...],
    private: str | None,
    options: MeasureRequest,
    progress: Progress,
) -> "_Release":
    """Return a release of ours, if it is whole."""
    manifest = manifest_of(spark, release, place)
    if manifest["kind"] not in KINDS:
        raise InputError(f"{release} is of kind {manifest['kind']}, which has no Spark form; use --engine local.")
    faults = file_faults(spark, place, manifest)
    if faults:
        raise InputError(f"{release}: {faults[0]}; verify the release before measuring it.")
    if private is not None:
        check_belongs(spark, uri(private), private, manifest)
    return _Release(spark, release, against, options, progress, manifest, f"{place}/data", private)


@dataclass
class _Release(_Sides):
    """A release beside its log, which is cleaned in the way that the manifest says."""

    manifest: dict[str, Any]
    data: str
    private: str | None

    @property
    def kind(self) -> str:
        """Return the kind of release."""
        return str(self.manifest["kind"])

    def usual(self) -> tuple[str, ...]:
        """Return what is measured unless something is asked for."""
        is_linked = self.private is not None or self.options.pairing.map is not None
        return _on_spark(
            (*default_measures(has_market=False), *(USUAL if self.kind == "queries" and is_linked else ()))
        )

    def _source(self, **cleaning: Any) -> LogSource:
        applied = Cleaning.from_record(self.manifest["cleaning"]["options"])
        return LogSource((), self.options.reading, replace(applied, **cleaning), uris=self.against)

    def _rows(self) -> "DataFrame":
        """Return `user, entry, n`: how often each entry stands in a released history."""
        rows = self.spark.read.parquet(self.data)
        return rows.selectExpr("user", f"{rows.columns[1]} AS entry").groupBy("user", "entry").count()

    def _members(self) -> "DataFrame":
        """Return `user, person, history`, the history being the number within the person."""
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        if self.private is None:
            raise InputError(
                f"who is behind {self.name} stands in its private folder; give --private, or --map with the columns "
                f"{', '.join(MAP_COLUMNS)}."
            )
        membership = self.spark.read.parquet(f"{uri(self.private)}/{MEMBERSHIP}")
        place = f.row_number().over(Window.partitionBy("person").orderBy("history")) - 1
        numbered = membership.withColumn("number", place).where("release_id IS NOT NULL")
        return numbered.selectExpr("release_id AS user", "person", "number AS history")

    def comparison(self) -> DistributedComparison:
        """Return the terms, or whole queries, of both."""
        from pyspark.sql import functions as f

        original = self.cleaned(self._source(), "query" if self.kind == "queries" else "term")
        entries = f.sort_array(f.collect_list(f.struct("entry", "count")))
        gathered = self._rows().groupBy("user").agg(entries.alias("pairs"))
        released = gathered.selectExpr(
            "user", "pairs.entry AS entries", "transform(pairs, p -> INT(p.count)) AS counts"
        )
        if self.private is None:
            released = released.selectExpr("STRING(user) AS owner", "0 AS history", "entries", "counts")
        else:
            released = released.join(self._members(), "user").withColumnRenamed("person", "owner")
        return DistributedComparison(
            self.kind, original.withColumnRenamed("person", "owner"), released, self.private is not None
        )

    def pair(self, has_model: bool) -> DistributedPair:
        """Return both person by person."""
        matching = self.matching(has_model)
        if self.kind == "histories":
            return self._pair_terms(matching)
        is_cut = matching.match == "terms"
        before = _documents(
            self.cleaned(self._source(stop_words="none"), "term") if is_cut else self.cleaned(self._source(), "query")
        )
        rows = self._rows().selectExpr("user", "entry AS text", "count AS n")
        if is_cut:
            rows = rows.selectExpr("user", "explode(array_distinct(split(text, ' '))) AS text", "n")
        given = originals_of(self.options.pairing)
        if given is None:
            who = self._members().select("user", "person")
        else:
            who = self.spark.createDataFrame(sorted(given.items()), "user STRING, person STRING")
        return pair_frames(
            before, rows.selectExpr("STRING(user) AS user", "text", "n").join(who, "user", "left"), matching
        )

    def _pair_terms(self, matching: Matching) -> DistributedPair:
        """Return the terms of both; how often a released one was in the log is known there."""
        if self.private is None:
            raise InputError(
                f"--match terms of a release of kind {self.kind} needs its private folder; give --private."
            )
        original = self.cleaned(self._source(), "term")
        zipped = original.selectExpr("person", "history", "explode(arrays_zip(entries, counts)) AS pair")
        issued = zipped.selectExpr("person", "history", "pair.entries AS entry", "BIGINT(pair.counts) AS n")
        rows = self._rows().select("user", "entry").join(self._members(), "user")
        after = rows.join(issued, ["person", "history", "entry"], "left")
        told = after.selectExpr("person AS user", "person", "entry AS text", "coalesce(n, 0L) AS n")
        return pair_frames(_documents(original), told, matching)
