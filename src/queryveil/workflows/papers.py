"""The evaluations that can be made again: what each paper needs, refuses and makes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from queryveil._version import __version__
from queryveil.core.errors import InputError
from queryveil.core.files import scratch
from queryveil.core.names import Name, resolve
from queryveil.core.progress import Progress
from queryveil.engines import LogSource, open_log
from queryveil.experiments import burghardt, carpineto, liu, zhu
from queryveil.experiments.evaluation import Evaluation
from queryveil.histories.build import Unit, build
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts
from queryveil.logs.generate import generate
from queryveil.market.table import read_market
from queryveil.measures.utility.market import coverage
from queryveil.report.reproduction import Reproduction
from queryveil.search.index import open_index
from queryveil.sensitivity.lists import load_lists
from queryveil.sensitivity.model import load_model
from queryveil.workflows.index import index as make_index
from queryveil.workflows.requests import IndexRequest, ReproduceRequest

USERS_OF_ONE = 110  # of a log like aol, of whom one or more searched enough for the evaluation of Zhu and Xiong
FOR_THE_OWNER = (
    "These tables hold terms of the log as people typed them: they are for the log's owner, and are nothing to release."
)
VERIFIED = "every run was verified."


Run = Callable[[LogSource, ReproduceRequest, np.random.Generator, Progress], Reproduction]


@dataclass(frozen=True)
class Paper:
    """A paper whose evaluation can be made again."""

    like: str  # what a generated log resembles unless something is given
    run: Run
    check: Callable[[LogSource, ReproduceRequest], None]
    shows_terms: bool  # its tables hold terms of the log


def is_given(source: LogSource) -> bool:
    """Say whether there is a log, or one is to be generated."""
    return bool(source.paths) or source.table is not None


def _burghardt(
    source: LogSource, options: ReproduceRequest, rng: np.random.Generator, progress: Progress
) -> Reproduction:
    with _log(source, options, "burghardt", rng, progress, market=True) as (given, market_file):
        market = read_market(options.market or market_file, given.cleaning.charset)
        profiles = _profiles(given, progress)
    coverage(profiles, market)
    found = burghardt.evaluate(profiles, market, algorithm=options.algorithm, rng=rng, progress=progress)
    about = f"{_about(profiles, source, options, 'burghardt')}, anonymised by algorithm={options.algorithm}; {VERIFIED}"
    numbers = {"algorithm": options.algorithm, **found.numbers}
    return _reproduced(burghardt.PAPER, about, profiles, source, options, replace(found, numbers=numbers))


def _zhu(source: LogSource, options: ReproduceRequest, rng: np.random.Generator, progress: Progress) -> Reproduction:
    people = options.users or zhu.PEOPLE
    searchers = replace(options, users=USERS_OF_ONE * people)
    with _log(source, searchers, "zhu", rng, progress) as (given, _), scratch("reproduce") as folder:
        profiles = _profiles(given, progress)
        if options.index is None:
            make_index(IndexRequest(corpus="wordnet", out=folder / "index"), progress=progress)
        index = open_index(options.index or folder / "index")
        found = zhu.evaluate(profiles, index, people=people, rng=rng, progress=progress)
        documents = f"{len(index.documents):,} documents ({options.index or 'the bundled corpus'})"
    about = (
        f"{_about(profiles, source, options, 'zhu')}; {found.numbers['people']:,} of them take part and search "
        f"{documents}; {VERIFIED}"
    )
    return _reproduced(zhu.PAPER, about, profiles, source, options, found)


def _liu(source: LogSource, options: ReproduceRequest, rng: np.random.Generator, progress: Progress) -> Reproduction:
    with _log(source, options, "liu", rng, progress) as (given, _):
        profiles = _profiles(given, progress)
    found = liu.evaluate(profiles, rng=rng, progress=progress)
    return _reproduced(
        liu.PAPER, f"{_about(profiles, source, options, 'liu')}; {VERIFIED}", profiles, source, options, found
    )


def _carpineto(
    source: LogSource, options: ReproduceRequest, rng: np.random.Generator, progress: Progress
) -> Reproduction:
    with _log(source, options, "carpineto", rng, progress) as (given, _):
        profiles = _profiles(given, progress, unit="query")
    sensitivity = load_model().probabilities(profiles.vocabulary.entries)
    found = carpineto.evaluate(profiles, sensitivity, load_lists(), rng=rng, progress=progress)
    about = f"{_about(profiles, source, options, 'carpineto', unit='queries')}; {VERIFIED}"
    return _reproduced(carpineto.PAPER, about, profiles, source, options, found)


@contextmanager
def _log(
    source: LogSource,
    options: ReproduceRequest,
    paper: str,
    rng: np.random.Generator,
    progress: Progress,
    *,
    market: bool = False,
) -> Iterator[tuple[LogSource, Path]]:
    """Give the log, and where the market table of a generated one is; what is generated is gone afterwards."""
    with scratch("reproduce") as folder:
        log, table = folder / "log.tsv", folder / "market.csv"
        if is_given(source):
            yield source, table
            return
        wanted = table if market else None
        generate(log, like=_like(options, paper), users=options.users, rng=rng, market_out=wanted, progress=progress)
        yield replace(source, paths=(log,)), table


def _profiles(source: LogSource, progress: Progress, unit: Unit = "term") -> Profiles:
    with open_log(source, progress=progress) as log:
        return build(log, unit=unit, progress=progress)


def _reproduced(
    paper: str, about: str, profiles: Profiles, source: LogSource, options: ReproduceRequest, found: Evaluation
) -> Reproduction:
    log = {**Counts.of(profiles).record(), "generated": not is_given(source), "seed": options.seed}
    numbers = {"paper": paper, "log": log, **found.numbers}
    return Reproduction(paper, about, "", found.tables, found.figures, numbers, __version__, 0.0, found.reading)


def _like(options: ReproduceRequest, paper: str) -> str:
    return PAPERS[paper].like if options.like is None else options.like


def _about(profiles: Profiles, source: LogSource, options: ReproduceRequest, paper: str, unit: str = "terms") -> str:
    """Begin a sentence about the log."""
    counts = Counts.of(profiles).record()
    what = "The log given" if is_given(source) else f"A generated log (like {_like(options, paper)})"
    people, entries, occurrences = (counts[name] for name in ("people", "terms", "occurrences"))
    return f"{what}: {people:,} people, {entries:,} distinct {unit}, {occurrences:,} occurrences"


def _check_burghardt(source: LogSource, options: ReproduceRequest) -> None:
    _refuse_index(options)
    _refuse_users_of_a_given_log(source, options)
    resolve("method", Name("km", (("k", 2), ("m", 2), ("algorithm", options.algorithm))))
    if is_given(source) and options.market is None:
        raise InputError("--log needs the market table of its terms; give it by --market, or leave --log out.")
    if not is_given(source) and options.market is not None:
        raise InputError("--market goes with the log that it is about; give that by --log, or leave --market out.")


def _check_zhu(source: LogSource, options: ReproduceRequest) -> None:
    _refuse_market(options)
    if is_given(source) and options.like is not None:
        raise InputError("--like is about a generated log; leave it out, or leave --log out.")
    if source.cleaning.history != "user":
        raise InputError("a profile is of a person, so it goes with --history user; leave --history out.")
    if options.users is not None and options.users < zhu.FEWEST:
        raise InputError(f"--users must be a whole number of at least {zhu.FEWEST} for zhu, not {options.users}.")
    if options.index is not None:
        open_index(options.index)  # a wrong one is told before a log is made


def _check_liu(source: LogSource, options: ReproduceRequest) -> None:
    _refuse_index(options)
    _refuse_market(options)
    _refuse_users_of_a_given_log(source, options)


def _check_carpineto(source: LogSource, options: ReproduceRequest) -> None:
    _refuse_index(options)
    _refuse_market(options)
    _refuse_users_of_a_given_log(source, options)
    if source.cleaning.history != "user":
        raise InputError("the paper compares all queries of a person, so it goes with --history user; leave it out.")


def _refuse_index(options: ReproduceRequest) -> None:
    if options.index is not None:
        raise InputError("--index is for zhu, whose evaluation searches; leave it out.")


def _refuse_market(options: ReproduceRequest) -> None:
    if options.market is not None or options.algorithm != ReproduceRequest.algorithm:
        raise InputError("--market and --algorithm are for burghardt; leave them out.")


def _refuse_users_of_a_given_log(source: LogSource, options: ReproduceRequest) -> None:
    if is_given(source) and not (options.like is None and options.users is None):
        raise InputError("--like and --users are about a generated log; leave them out, or leave --log out.")


PAPERS = {
    "burghardt": Paper("altavista", _burghardt, _check_burghardt, shows_terms=True),
    "zhu": Paper("aol", _zhu, _check_zhu, shows_terms=True),
    "liu": Paper("demo", _liu, _check_liu, shows_terms=True),
    "carpineto": Paper("demo", _carpineto, _check_carpineto, shows_terms=False),
}
