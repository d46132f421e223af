"""Measuring a release, or anybody's released log, on Spark against the log it was made from."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.progress import Progress
from queryveil.core.results import Score
from queryveil.engines import SPARK, LogSource
from queryveil.engines.spark.session import open_session
from queryveil.engines.spark.sql import history_counts
from queryveil.engines.spark.storage import Storage
from queryveil.histories.build import Unit
from queryveil.histories.distributed import clean_histories
from queryveil.histories.pairs import LogDocuments, Match, Sensitivity, pair_logs
from queryveil.kinds.base import FOREIGN_LOG, PAIR_MEASURES, Counts, Kind
from queryveil.kinds.private_folder import MEMBERSHIP
from queryveil.measures.spark_pairs import PAIR_SCHEMA, DistributedPair, pair_row
from queryveil.measures.spark_unique import DistributedComparison
from queryveil.measures.utility.retention import RetentionCounts
from queryveil.methods.distributed.blocks import PEOPLE, block_of
from queryveil.methods.distributed.encoding import arrow_schema
from queryveil.release.manifest import MANIFEST_FILE
from queryveil.release.reader import manifest_faults
from queryveil.workflows import log_pairs
from queryveil.workflows.excluded import recorded_terms
from queryveil.workflows.measure import check_measure, needs_model, refuse_other_counts, take_measures
from queryveil.workflows.requests import MeasureRequest
from queryveil.workflows.spark_verify import ClusterRelease, location_uri, require_spark_support, supported_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOCAL_ONLY = ("market", "taxonomy", "people", "index", "trec")  # options without a Spark form
_DOCUMENTS = "block INT, person STRING, text STRING, n LONG"


def measure_on_spark(request: MeasureRequest, progress: Progress) -> list[Score]:
    """Score a release, or anybody's released log, against the original, as on one machine."""
    named = [resolve("measure", name) for name in request.measures]
    for each in named:
        require_spark_support("measure", each)
    for name in _LOCAL_ONLY:
        if getattr(request, name) is not None:
            raise InputError(f"--{name} has no Spark form; leave it out, or use --engine local.")
    with open_session(request.engine_options.cluster()) as spark, ExitStack() as stack:
        compared = _open(spark, request, stack, progress)
        supported = supported_names("measure")
        defaults = [name for name in compared.defaults() if name.split("(")[0] in supported]
        measures = named or [resolve("measure", name) for name in defaults]
        for each in measures:
            check_measure(each, compared.kind, has_market=False, may_pair=True)
        evidence = Evidence()
        evidence.add(DistributedComparison, compared.comparison)
        evidence.add(RetentionCounts, lambda: evidence.get(DistributedComparison).retention())
        evidence.add(DistributedPair, lambda: compared.pair(needs_model(measures)))
        return take_measures(measures, evidence, np.random.default_rng(request.seed), progress, SPARK.name)


def _open(spark: "SparkSession", request: MeasureRequest, stack: ExitStack, progress: Progress) -> "_Compared":
    """Return a release, or anybody's released log, with the log it was made from."""
    release, private = str(request.release), None if request.private is None else str(request.private)
    uri, storage = location_uri(release), Storage(spark)
    if not storage.exists(uri) and not any(sign in uri for sign in "*?["):
        raise InputError(f"there is no release or log {release}; check the path.")
    if storage.exists(uri) and (storage.is_folder(uri) or storage.exists(f"{uri}/{MANIFEST_FILE}")):
        folder = ClusterRelease(spark, release)
        if folder.kind.needs_private or folder.kind.is_generalized:
            raise InputError(f"{release} is of kind {folder.kind.name}, which has no Spark form; use --engine local.")
        faults = [*manifest_faults(folder.manifest), *folder.file_faults()]
        if faults:
            raise InputError(f"{release}: {faults[0]}; verify the release before measuring it.")
        if private is not None:
            folder.check_belongs(private)
        return _ComparedRelease(spark, request, stack, progress, folder, private)
    if private is not None:
        raise InputError("--private goes with a queryveil release, not with another log; leave it out.")
    return _ComparedLogs(spark, request, stack, progress)


@dataclass
class _Compared(ABC):
    """A log and what was released of it; what is kept in the cluster's storage is freed by `stack`."""

    spark: "SparkSession"
    request: MeasureRequest
    stack: ExitStack
    progress: Progress

    def __post_init__(self) -> None:
        self._cleaned: dict[tuple[LogSource, Unit], DataFrame] = {}

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
    def pair(self, needs_model: bool) -> DistributedPair:
        """Return both person by person."""

    def cleaned(self, source: LogSource, unit: Unit) -> "DataFrame":
        """Return a log's histories, cleaned once."""
        if (source, unit) not in self._cleaned:
            histories = clean_histories(self.spark, source, unit=unit, progress=self.progress)
            self.stack.callback(histories.release)
            self._cleaned[source, unit] = histories.frame
        return self._cleaned[source, unit]

    def matching(self, needs_model: bool) -> "Matching":
        """Return how documents are matched."""
        pairing = self.request.pairing
        sensitivity = log_pairs.load_sensitivity(pairing) if needs_model else None
        return Matching(self.kind.match(pairing.match), sensitivity, pairing.map is not None)

    def with_map(self) -> "DataFrame | None":
        """Return `user, person` of the people of the release, where a map was given."""
        given = log_pairs.original_persons(self.request.pairing)
        if given is None:
            return None
        return self.spark.createDataFrame(sorted(given.items()), "user STRING, person STRING")

    def pair_frames(self, before: "DataFrame", after: "DataFrame", matching: "Matching") -> DistributedPair:
        """Return two logs as a pair: `person, text, n` before, and `user, person, text, n` after.

        The user has the documents in the release, the person is who that is in the original, where it is known.
        """
        from pyspark import StorageLevel

        people = before.select("person").distinct()
        known = after.join(people.selectExpr("person", "TRUE AS is_there"), "person", "left")
        users = known.select("user", "is_there").distinct().groupBy("is_there").count().collect()
        counts = {bool(row[0]): int(row[1]) for row in users}
        if counts.get(False) and not counts.get(True):
            hint = "check --map" if matching.is_mapped else "give --map with the columns original, released"
            raise InputError(f"no person of the release is in the original log; {hint}.")
        n_blocks = -(-people.count() // PEOPLE)
        sides = [
            frame.select("person", "text", "n").mapInArrow(_AddBlock(n_blocks), _DOCUMENTS).groupBy("block")
            for frame in (before, known.where("is_there"))
        ]
        frame = sides[0].cogroup(sides[1]).applyInArrow(_pair_block(matching), PAIR_SCHEMA)
        frame = frame.persist(StorageLevel.DISK_ONLY)
        self.stack.callback(frame.unpersist)
        return DistributedPair(frame, counts.get(False, 0))


class _ComparedLogs(_Compared):
    """Two logs as they are."""

    def pair(self, needs_model: bool) -> DistributedPair:
        """Return both person by person."""
        matching, request = self.matching(needs_model), self.request
        unit: Unit = "term" if matching.match == "terms" else "query"
        original = request.original(log_pairs.MERGE_CLICKS_ONLY)
        reading = log_pairs.release_reading(request.pairing, request.reading)
        released = LogSource((), reading, log_pairs.MERGE_CLICKS_ONLY, uris=(str(request.release),))
        before, after = (_documents(self.cleaned(source, unit)) for source in (original, released))
        users, given = after.withColumnRenamed("person", "user"), self.with_map()
        known = users.selectExpr("*", "user AS person") if given is None else users.join(given, "user", "left")
        return self.pair_frames(before, known, matching)


@dataclass
class _ComparedRelease(_Compared):
    """A release and its log, which is cleaned in the way that the manifest says."""

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

    def _original(self, unit: Unit, **cleaning: Any) -> "DataFrame":
        """Return the histories of the log, cleaned as the manifest says except for some options."""
        applied = replace(self.folder.manifest.cleaning.cleaning(), **cleaning)
        run = None if self.private is None else self.folder.check_belongs(self.private)
        excluded = recorded_terms(self.folder.manifest, run)
        histories = self.cleaned(self.request.original(applied, excluded=excluded), unit)
        if unit == self.kind.unit and not cleaning:
            refuse_other_counts(self.folder.manifest, Counts(*history_counts(histories)))
        return histories

    def _rows(self) -> "DataFrame":
        """Return `user, entry, count`: how often each entry occurs in a released history."""
        rows = self.folder.rows()
        return rows.selectExpr("user", f"{rows.columns[1]} AS entry").groupBy("user", "entry").count()

    def _members(self) -> "DataFrame":
        """Return `user, person, history`, the history being the number within the person."""
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        if self.private is None:
            raise InputError(log_pairs.NEEDS_MEMBERS.format(self.folder.name))
        membership = self.spark.read.parquet(f"{location_uri(self.private)}/{MEMBERSHIP}")
        place = f.dense_rank().over(Window.partitionBy("person").orderBy("history")) - 1
        numbered = membership.withColumn("number", place).where("release_id IS NOT NULL")
        return numbered.selectExpr("release_id AS user", "person", "number AS history")

    def comparison(self) -> DistributedComparison:
        """Return the terms, or whole queries, of both."""
        from pyspark.sql import functions as f

        entries = f.sort_array(f.collect_list(f.struct("entry", "count")))
        gathered = self._rows().groupBy("user").agg(entries.alias("pairs"))
        released = gathered.selectExpr(
            "user", "pairs.entry AS entries", "transform(pairs, p -> INT(p.count)) AS counts"
        )
        if self.private is None:
            released = released.selectExpr("STRING(user) AS owner", "0 AS history", "entries", "counts")
        else:
            released = released.join(self._members(), "user").withColumnRenamed("person", "owner")
        original = self._original(self.kind.unit).withColumnRenamed("person", "owner")
        return DistributedComparison(self.kind, original, released, self.private is not None, self.request.seed)

    def pair(self, needs_model: bool) -> DistributedPair:
        """Return both person by person."""
        matching = self.matching(needs_model)
        if self.kind.unit == "term":
            return self._pair_terms(matching)
        is_cut = matching.match == "terms"
        original = self._original("term", stop_words="none") if is_cut else self._original("query")
        rows = self._rows().selectExpr("STRING(user) AS user", "entry AS text", "count AS n")
        if is_cut:
            rows = rows.selectExpr("user", "explode(array_distinct(split(text, ' '))) AS text", "n")
        given = self.with_map()
        known = self._members().select("user", "person") if given is None else given
        return self.pair_frames(_documents(original), rows.join(known, "user", "left"), matching)

    def _pair_terms(self, matching: "Matching") -> DistributedPair:
        """Return the terms of both; how often a released one was issued is known from the log."""
        if self.private is None:
            raise InputError(log_pairs.NEEDS_PRIVATE.format(self.kind.name))
        original = self._original("term")
        issued = _documents(original, "history").withColumnRenamed("text", "entry")
        rows = self._rows().select("user", "entry").join(self._members(), "user")
        after = rows.join(issued, ["person", "history", "entry"], "left")
        documents = after.selectExpr("person AS user", "person", "entry AS text", "coalesce(n, 0L) AS n")
        return self.pair_frames(_documents(original), documents, matching)


def _documents(histories: "DataFrame", *columns: str) -> "DataFrame":
    """Return `person, text, n` of histories, how often each document occurs in them; and further columns."""
    zipped = histories.selectExpr("person", *columns, "explode(arrays_zip(entries, counts)) AS pair")
    return zipped.selectExpr("person", *columns, "pair.entries AS text", "BIGINT(pair.counts) AS n")


@dataclass(frozen=True)
class Matching:
    """When a released document stands for one of the original, and how sensitive documents are."""

    match: Match
    sensitivity: Sensitivity | None
    is_mapped: bool  # a map from released to original identifiers was given


@dataclass(frozen=True)
class _AddBlock:
    """Adds the block of the person to every document."""

    n_blocks: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            number = pa.array([block_of(person, self.n_blocks) for person in batch["person"].to_pylist()], pa.int32())
            yield pa.RecordBatch.from_arrays([number, *batch.columns], ["block", *batch.schema.names])


def _pair_block(matching: Matching) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Return a function that pairs the people of a block.

    Spark inspects the number of arguments, so it must be a plain function, not a callable object.
    """

    def pair(before: pa.Table, after: pa.Table) -> pa.Table:
        block = before["block"][0].as_py()
        persons = sorted(set(before["person"].to_pylist()))
        texts = sorted({*before["text"].to_pylist(), *after["text"].to_pylist()})
        made = pair_logs(
            _side(before, persons, texts),
            _side(after, persons, texts),
            pa.array(texts, pa.large_string()),
            match=matching.match,
            sensitivity=matching.sensitivity,
        )
        return pa.Table.from_pylist([pair_row(block, made)], arrow_schema(PAIR_SCHEMA))

    return pair


def _side(table: pa.Table, persons: list[str], texts: list[str]) -> LogDocuments:
    person = {name: number for number, name in enumerate(persons)}
    document = {text: number for number, text in enumerate(texts)}
    return LogDocuments(
        np.array([person[name] for name in table["person"].to_pylist()], np.int32),
        np.array([document[text] for text in table["text"].to_pylist()], np.int32),
        tuple(persons),
        table["n"].to_numpy().astype(np.int32),
    )
