"""The Python API: the commands as functions, on files and on pandas, Polars or Arrow tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.names import Name, Parameter, Value, declarations, nearest
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Scores, Verdict
from queryveil.engines import LogSource, QueryLog, open_log
from queryveil.histories.build import Unit, build
from queryveil.histories.profile_files import is_profile_file, read_profiles
from queryveil.histories.profiles import Profiles
from queryveil.logs.generate import GeneratedLog
from queryveil.logs.generate import generate as generate_log
from queryveil.logs.options import CLEANING, READING, Cleaning, Reading
from queryveil.release.reader import Release
from queryveil.release.reader import load as load_release
from queryveil.semantics.options import MEANING, Meaning
from queryveil.workflows.searching import Searcher as Searcher

if TYPE_CHECKING:
    from queryveil.engines.spark.session import Cluster
    from queryveil.report.attacked import Attacked
    from queryveil.report.compared import Compared
    from queryveil.report.reproduced import Reproduced
    from queryveil.workflows.anonymized import Anonymized
    from queryveil.workflows.fates import Why
    from queryveil.workflows.indexing import Indexed
    from queryveil.workflows.profiling import WrittenProfiles

Place = str | Path
Log = Place | Sequence[Place] | QueryLog | Any  # or a pandas, Polars or Arrow table


def name(word: str, **arguments: Value) -> Name:
    """Return a text name: `name("km", k=10, m=2)` is km(k=10, m=2)."""
    return Name(word, tuple(arguments.items()))


def read(log: Log, *, keep: Sequence[str] = (), progress: Progress = silent, **options: Any) -> QueryLog:
    """Open and clean a log; use it in a `with` block. The options are those of reading and cleaning."""
    return open_log(_source(log, tuple(keep), options), progress=progress)


def profiles(log: Log, *, unit: Unit = "term", progress: Progress = silent, **options: Any) -> Profiles:
    """Return histories × terms (or × whole queries) of a log; a profile file (user, term, weight) is read as it is."""
    if isinstance(log, Place) and is_profile_file(Path(log)):
        return read_profiles(Path(log))
    if isinstance(log, QueryLog):
        return build(log, unit=unit, progress=progress)
    with read(log, progress=progress, **options) as opened:
        return build(opened, unit=unit, progress=progress)


def write_profiles(
    log: Log, out: Place, *, weights: str = "paper", force: bool = False, progress: Progress = silent, **options: Any
) -> "WrittenProfiles":
    """Write the profiles of a log as a file `user, term, weight`; keep it secret, it names people."""
    from queryveil.workflows.profiling import write_profiles as run

    return run(_source(log, (), options), Path(out), weights, force=force, progress=progress)


def anonymize(
    log: Log,
    method: str | Name,
    out: Place,
    *,
    private: Place | None = None,
    kind: str | None = None,
    keep: Sequence[str] = (),
    values: Place | None = None,
    market: Place | None = None,
    seed: int | None = None,
    start_from: Place | None = None,
    start_from_private: Place | None = None,
    taxonomy: Place | None = None,
    groups: Place | None = None,
    groups_private: Place | None = None,
    places: Place | None = None,
    force: bool = False,
    engine: str = "local",
    spark: Any = None,
    progress: Progress = silent,
    **options: Any,
) -> "Anonymized":
    """Write a verified release of a log or of profiles; the options are those of reading, cleaning and meaning.

    With `engine="spark"` the log and the places are paths that Spark can read and write; `spark` is a session of yours.
    """
    from queryveil.workflows.anonymize import Options
    from queryveil.workflows.anonymize import anonymize as run

    meaning = {key: value for key, value in options.items() if key in _names(MEANING)}
    source = _source(log, tuple(keep), {key: value for key, value in options.items() if key not in meaning})
    told = Options(
        kind=kind,
        values=_place(values),
        market=_place(market),
        seed=seed,
        force=force,
        start_from=_place(start_from),
        start_from_private=_place(start_from_private),
        meaning=Meaning(**meaning, taxonomy=_place(taxonomy)),
        groups=_place(groups),
        groups_private=_place(groups_private),
        places=_place(places),
    )
    cluster = _cluster(engine, spark)
    if cluster is None:
        return run(source, method, Path(out), private=_place(private), options=told, progress=progress)
    from queryveil.workflows.distributed.anonymize import anonymize as run_on_spark

    secret = None if private is None else str(private)
    source = replace(source, paths=(), uris=_uris(log))
    return run_on_spark(source, method, str(out), private=secret, options=told, cluster=cluster, progress=progress)


def verify(
    release: Place | Any,
    *,
    claim: str | Name | None = None,
    private: Place | None = None,
    engine: str = "local",
    spark: Any = None,
    places: Place | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Verdict:
    """Say whether a release keeps what it claims; a table or file of somebody else's needs a claim."""
    from queryveil.workflows.verify import verify as run

    cluster = _cluster(engine, spark)
    if cluster is not None:
        from queryveil.workflows.distributed.verify import verify as run_on_spark

        (place,), secret = _uris(release), None if private is None else str(private)
        return run_on_spark(place, claim=claim, private=secret, cluster=cluster, progress=progress)
    return run(
        Path(release) if isinstance(release, Place) else _table(release),
        claim=claim,
        private=_place(private),
        reading=Reading(**_of(READING, options)),
        places=_place(places),
        progress=progress,
    )


def measure(
    release: Place,
    against: Place | Sequence[Place],
    *,
    measures: Sequence[str | Name] = (),
    private: Place | None = None,
    market: Place | None = None,
    taxonomy: Place | None = None,
    index: Place | None = None,
    trec: Place | None = None,
    map: Place | None = None,  # noqa: A002  (the option's name)
    match: str | None = None,
    model: Place | None = None,
    words: Place | None = None,
    people: Place | None = None,
    release_format: str = "",
    release_columns: str = "",
    seed: int = 0,
    force: bool = False,
    engine: str = "local",
    spark: Any = None,
    progress: Progress = silent,
    **options: Any,
) -> Scores:
    """Score a release, or a released log, against the original, by all usual measures unless some are named.

    With `engine="spark"` all are paths that Spark can read; `spark` is a session of yours.
    """
    from queryveil.workflows.measure import MeasureOptions
    from queryveil.workflows.measure import measure as run
    from queryveil.workflows.pairs import Pairing
    from queryveil.workflows.rankings import SearchPlaces

    cluster = _cluster(engine, spark)
    chosen = MeasureOptions(
        measures=tuple(measures),
        private=None if private is None or cluster is not None else Path(private),
        market=_place(market),
        taxonomy=_place(taxonomy),
        pairing=Pairing(match, _place(map), _place(model), _place(words), release_format, release_columns),
        places=SearchPlaces(_place(index), _place(trec)),
        reading=Reading(**_of(READING, options)),
        people=_place(people),
        seed=seed,
        force=force,
    )
    if cluster is not None:
        from queryveil.workflows.distributed.measure import measure as run_on_spark

        (place,), secret = _uris(release), None if private is None else str(private)
        logs = _uris(against)
        return Scores(run_on_spark(place, logs, private=secret, options=chosen, cluster=cluster, progress=progress))
    return Scores(run(Path(release), _paths(against), options=chosen, progress=progress))


def attack(
    release: Place,
    against: Place | Sequence[Place],
    private: Place,
    *,
    attacks: Sequence[str | Name] = (),
    control: Place | Sequence[Place] = (),
    targets: int = 5_000,
    seed: int = 0,
    page: Place | None = None,
    force: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> "Attacked":
    """Attack a release with knowledge drawn from its log, by all attacks that it can be attacked by or those named."""
    from queryveil.workflows.attack import AttackOptions
    from queryveil.workflows.attack import attack as run

    return run(
        Path(release),
        _paths(against),
        Path(private),
        options=AttackOptions(
            attacks=tuple(attacks),
            control=tuple(_paths(control)),
            reading=Reading(**_of(READING, options)),
            targets=targets,
            seed=seed,
            page=_place(page),
            force=force,
        ),
        progress=progress,
    )


def compare(
    log: Log,
    methods: str | Name | Sequence[str | Name],
    *,
    measures: Sequence[str | Name] = (),
    values: Place | None = None,
    market: Place | None = None,
    seed: int = 0,
    reuse: bool = True,
    page: Place | None = None,
    force: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> "Compared":
    """Run methods or sweeps on a log, verify and measure each; nothing is released. `page` is an HTML file to write."""
    from queryveil.workflows.compare import CompareOptions
    from queryveil.workflows.compare import compare as run

    return run(
        _source(log, (), options),
        [methods] if isinstance(methods, str | Name) else methods,
        options=CompareOptions(
            measures=tuple(measures),
            values=_place(values),
            market=_place(market),
            seed=seed,
            reuse=reuse,
            page=_place(page),
            force=force,
        ),
        progress=progress,
    )


def reproduce(
    paper: str,
    log: Log | None = None,
    *,
    market: Place | None = None,
    like: str | None = None,
    users: int | None = None,
    seed: int = 1,
    algorithm: str = "paper",
    out: Place | None = None,
    force: bool = False,
    index: Place | None = None,
    progress: Progress = silent,
    **options: Any,
) -> "Reproduced":
    """Make a paper's tables and figures again, on a log (burghardt: with its market table) or on a generated one."""
    from queryveil.workflows.papers import ReproduceOptions
    from queryveil.workflows.reproduce import reproduce as run

    return run(
        paper,
        _source(() if log is None else log, (), options),
        options=ReproduceOptions(_place(market), like, users, seed, algorithm, _place(out), force, _place(index)),
        progress=progress,
    )


def why(
    release: Place,
    private: Place,
    user: str,
    *,
    history: int | None = None,
    term: str | None = None,
    progress: Progress = silent,
) -> "Why":
    """Say what became of a person's terms and why; for the owner, who holds the private folder."""
    from queryveil.workflows.why import why as run

    return run(Path(release), Path(private), user, history=history, term=term, progress=progress)


def index(
    corpus: Place,
    out: Place,
    *,
    form: str = "",
    add: bool = False,
    force: bool = False,
    progress: Progress = silent,
) -> "Indexed":
    """Make an index of documents, or add documents to one; `"wordnet"` is the bundled corpus."""
    from queryveil.workflows.indexing import index as run

    return run(corpus, Path(out), form=form, add=add, force=force, progress=progress)


def load(release: Place) -> Release:
    """Read a release folder: its manifest and its rows, as Arrow, pandas or Polars."""
    return load_release(Path(release))


def generate(
    out: Place,
    *,
    like: str = "demo",
    users: int | None = None,
    seed: int = 1,
    market_out: Place | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> GeneratedLog:
    """Write a synthetic log to try things on, and, where asked for, a market table of its terms."""
    return generate_log(
        Path(out),
        like=like,
        users=users,
        rng=np.random.default_rng(seed),
        market_out=None if market_out is None else Path(market_out),
        overwrite=force,
        progress=progress,
    )


def _source(log: Log, keep: tuple[str, ...], options: Mapping[str, Any]) -> LogSource:
    if isinstance(log, QueryLog):
        if options or keep:
            raise InputError("an opened log has its options already; give them to read().")
        return log.source
    _of((*READING, *CLEANING), options)
    reading = Reading(**{key: value for key, value in options.items() if key in _names(READING)})
    cleaning = Cleaning(**{key: value for key, value in options.items() if key in _names(CLEANING)})
    if isinstance(log, Place) or (isinstance(log, Sequence) and all(isinstance(path, Place) for path in log)):
        return LogSource(tuple(_paths(log)), reading, cleaning, keep)
    return LogSource((), reading, cleaning, keep, _table(log))


def _cluster(engine: str, spark: Any) -> "Cluster | None":
    """Return the cluster to run on; None for one machine."""
    if engine not in declarations("engine"):
        raise UnknownNameError(f"there is no engine {engine!r}; {nearest(engine, declarations('engine'))}")
    if engine == "local":
        if spark is not None:
            raise InputError('a Spark session goes with engine="spark"; add that, or leave the session out.')
        return None
    from queryveil.engines.spark.session import Cluster

    return Cluster(given=spark)


def _uris(places: Any) -> tuple[str, ...]:
    """Return paths as texts: a `Path` would spoil hdfs://… ."""
    given = [places] if isinstance(places, Place) else places
    if isinstance(given, Sequence) and all(isinstance(place, Place) for place in given):
        return tuple(map(str, given))
    raise InputError("on Spark a log or release is a path, or several; write a table to Parquet first.")


def _of(parameters: Sequence[Parameter], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options if all are declared, else name the nearest."""
    for option in options:
        if option not in _names(parameters):
            raise UnknownNameError(f"there is no option {option!r}; {nearest(option, _names(parameters))}")
    return options


def _names(parameters: Sequence[Parameter]) -> list[str]:
    return [parameter.name for parameter in parameters]


def _place(place: Place | None) -> Path | None:
    return None if place is None else Path(place)


def _paths(paths: Place | Sequence[Place]) -> list[Path]:
    return [Path(paths)] if isinstance(paths, Place) else [Path(path) for path in paths]


def _table(table: Any) -> pa.Table:
    """Return any table that speaks Arrow as an Arrow table."""
    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    raise InputError(
        f"a log is a file, files, or a pandas, Polars or Arrow table, not {type(table).__name__}; give one of these."
    )
