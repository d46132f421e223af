"""Measuring a release, or anybody's released log, on a cluster against the log it was made from."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.progress import Progress
from queryveil.core.results import Score
from queryveil.engines import LogSource
from queryveil.engines.spark.session import open_session
from queryveil.engines.spark.storage import Storage
from queryveil.histories.build import Unit
from queryveil.histories.distributed import clean_histories
from queryveil.kinds.base import FOREIGN_LOG, PAIR_MEASURES, Kind
from queryveil.kinds.private_folder import MEMBERSHIP
from queryveil.logs.options import Reading
from queryveil.measures.distributed.base import DistributedComparison
from queryveil.measures.distributed.pairs import DistributedPair
from queryveil.release.manifest import NAME
from queryveil.workflows.log_pairs import AS_IT_STANDS, MAP_COLUMNS, load_sensitivity, original_persons
from queryveil.workflows.measure import needs_model
from queryveil.workflows.measures import check_measure, take_measures
from queryveil.workflows.requests import MeasureRequest
from queryveil.workflows.spark_pairs import Matching, pair_frames
from queryveil.workflows.spark_support import ENGINE, require_spark_support, supported_names
from queryveil.workflows.spark_verify import ClusterRelease, location_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def measure_on_spark(request: MeasureRequest, progress: Progress) -> list[Score]:
    """Score a release, or anybody's released log, against the original, as on one machine."""
    named = [resolve("measure", name) for name in request.measures]
    for each in named:
        require_spark_support("measure", each)
    _refuse_local_options(request)
    cluster = request.engine_options.cluster()
    if cluster is None:
        raise TypeError("a measurement on a cluster needs a cluster")
    with open_session(cluster) as spark, ExitStack() as stack:
        sides = _open_sides(spark, request, progress)
        stack.callback(sides.release)
        measures = named or [resolve("measure", name) for name in _supported(sides.defaults())]
        for each in measures:
            check_measure(each, sides.kind, has_market=False, may_pair=True)
        evidence = Evidence()
        evidence.add(DistributedComparison, sides.comparison)
        evidence.add(DistributedPair, lambda: _kept_pair(sides, needs_model(measures), stack))
        return take_measures(measures, evidence, np.random.default_rng(request.seed), progress, ENGINE)


def _kept_pair(sides: "_Sides", has_model: bool, stack: ExitStack) -> DistributedPair:
    pair = sides.pair(has_model)
    stack.callback(pair.frame.unpersist)
    return pair


def _open_sides(spark: "SparkSession", request: MeasureRequest, progress: Progress) -> "_Sides":
    """Return a release, or anybody's released log, with the log it was made from."""
    release, private = str(request.release), None if request.private is None else str(request.private)
    against, uri, storage = tuple(map(str, request.against)), location_uri(release), Storage(spark)
    if not storage.exists(uri) and not any(sign in uri for sign in "*?["):
        raise InputError(f"there is no release or log {release}; check the path.")
    if storage.exists(uri) and (storage.is_folder(uri) or storage.exists(f"{uri}/{NAME}")):
        folder = ClusterRelease(spark, release)
        if folder.kind.needs_private:
            raise InputError(f"{release} is of kind {folder.kind.name}, which has no Spark form; use --engine local.")
        faults = folder.file_faults()
        if faults:
            raise InputError(f"{release}: {faults[0]}; verify the release before measuring it.")
        if private is not None:
            folder.check_belongs(private)
        return _Release(spark, release, against, request, progress, folder, private)
    if private is not None:
        raise InputError("--private goes with a queryveil release, not with another log; leave it out.")
    return _Logs(spark, release, against, request, progress)


def _refuse_local_options(request: MeasureRequest) -> None:
    """Refuse what can only be done on one machine."""
    for name in ("market", "taxonomy", "people", "index", "trec"):
        if getattr(request, name) is not None:
            raise InputError(f"--{name} has no Spark form; leave it out, or use --engine local.")


def _supported(names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the default measures that Spark supports."""
    return tuple(name for name in names if name.split("(")[0] in supported_names("measure"))


@dataclass
class _Sides(ABC):
    """A log and what was released of it."""

    spark: "SparkSession"
    name: str  # of what was released, for messages
    against: tuple[str, ...]
    request: MeasureRequest
    progress: Progress

    def __post_init__(self) -> None:
        self._cleaned: dict[Any, Any] = {}

    @property
    def kind(self) -> Kind:
        """Return the kind of release."""
        return FOREIGN_LOG

    def defaults(self) -> tuple[str, ...]:
        """Return the measures taken unless some are named."""
        return PAIR_MEASURES

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
        """Free the cluster's storage."""
        for cleaned in self._cleaned.values():
            cleaned.release()

    def matching(self, has_model: bool) -> Matching:
        """Return how documents are matched."""
        pairing = self.request.pairing
        sensitivity = load_sensitivity(pairing) if has_model else None
        return Matching(self.kind.match(pairing.match), "none", sensitivity, pairing.map is not None)


class _Logs(_Sides):
    """Two logs as they stand."""

    def pair(self, has_model: bool) -> DistributedPair:
        """Return both person by person."""
        matching, pairing, reading = self.matching(has_model), self.request.pairing, self.request.reading
        unit: Unit = "term" if matching.match == "terms" else "query"
        other = Reading(pairing.release_format, pairing.release_columns, reading.max_bad_lines, reading.memory_limit)
        before = _documents(self.cleaned(LogSource((), reading, AS_IT_STANDS, uris=self.against), unit))
        after = _documents(self.cleaned(LogSource((), other, AS_IT_STANDS, uris=(self.name,)), unit))
        users = after.withColumnRenamed("person", "user")
        given = original_persons(pairing)
        if given is None:
            return pair_frames(before, users.selectExpr("*", "user AS person"), matching)
        who = self.spark.createDataFrame(sorted(given.items()), "user STRING, person STRING")
        return pair_frames(before, users.join(who, "user", "left"), matching)


def _documents(histories: "DataFrame") -> "DataFrame":
    """Return `person, text, n` of histories: how often each document stands in them."""
    zipped = histories.selectExpr("person", "explode(arrays_zip(entries, counts)) AS pair")
    return zipped.selectExpr("person", "pair.entries AS text", "BIGINT(pair.counts) AS n")


@dataclass
class _Release(_Sides):
    """A release beside its log, which is cleaned in the way that the manifest says."""

    folder: ClusterRelease
    private: str | None

    @property
    def kind(self) -> Kind:
        """Return the kind of release."""
        return self.folder.kind

    def defaults(self) -> tuple[str, ...]:
        """Return the measures taken unless some are named."""
        given = {"private": self.private, "map": self.request.pairing.map}
        available = frozenset(name for name, value in given.items() if value is not None)
        return self.kind.default_measures(self.folder.manifest.claim, available)

    def _source(self, **cleaning: Any) -> LogSource:
        applied = self.folder.manifest.cleaning.cleaning()
        return LogSource((), self.request.reading, replace(applied, **cleaning), uris=self.against)

    def _rows(self) -> "DataFrame":
        """Return `user, entry, n`: how often each entry stands in a released history."""
        rows = self.folder.rows()
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
        membership = self.spark.read.parquet(f"{location_uri(self.private)}/{MEMBERSHIP}")
        place = f.row_number().over(Window.partitionBy("person").orderBy("history")) - 1
        numbered = membership.withColumn("number", place).where("release_id IS NOT NULL")
        return numbered.selectExpr("release_id AS user", "person", "number AS history")

    def comparison(self) -> DistributedComparison:
        """Return the terms, or whole queries, of both."""
        from pyspark.sql import functions as f

        original = self.cleaned(self._source(), self.kind.unit)
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
            self.kind,
            original.withColumnRenamed("person", "owner"),
            released,
            self.private is not None,
            self.request.seed,
        )

    def pair(self, has_model: bool) -> DistributedPair:
        """Return both person by person."""
        matching = self.matching(has_model)
        if self.kind.unit == "term":
            return self._pair_terms(matching)
        is_cut = matching.match == "terms"
        before = _documents(
            self.cleaned(self._source(stop_words="none"), "term") if is_cut else self.cleaned(self._source(), "query")
        )
        rows = self._rows().selectExpr("user", "entry AS text", "count AS n")
        if is_cut:
            rows = rows.selectExpr("user", "explode(array_distinct(split(text, ' '))) AS text", "n")
        given = original_persons(self.request.pairing)
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
                f"--match terms of a release of kind {self.kind.name} needs its private folder; give --private."
            )
        original = self.cleaned(self._source(), "term")
        zipped = original.selectExpr("person", "history", "explode(arrays_zip(entries, counts)) AS pair")
        issued = zipped.selectExpr("person", "history", "pair.entries AS entry", "BIGINT(pair.counts) AS n")
        rows = self._rows().select("user", "entry").join(self._members(), "user")
        after = rows.join(issued, ["person", "history", "entry"], "left")
        documents = after.selectExpr("person AS user", "person", "entry AS text", "coalesce(n, 0L) AS n")
        return pair_frames(_documents(original), documents, matching)
