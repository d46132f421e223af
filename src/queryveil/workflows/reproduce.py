"""Making a paper's evaluation again: on a log at hand with its market table, or on a generated one."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from queryveil._version import __version__
from queryveil.engines import LogSource, open_log
from queryveil.errors import InputError, UnknownNameError
from queryveil.experiments import burghardt, liu
from queryveil.files import scratch
from queryveil.histories.build import build
from queryveil.logs.generate import generate
from queryveil.market.table import Market, read_market
from queryveil.measures.utility.market import coverage
from queryveil.release import manifest as manifests
from queryveil.release.folder import write_folder
from queryveil.release.writer import check_place
from queryveil.report.reproduced import Evaluation, Reproduced
from queryveil.report.reproduction import render_reproduction
from queryveil.spec import Name, nearest, resolve
from queryveil.types import Profiles, Progress, silent

PAPERS = ("burghardt", "liu")
LIKE = {"burghardt": "altavista", "liu": "demo"}  # what a generated log resembles
PAGE, NUMBERS = "page.html", "numbers.json"
FOR_THE_OWNER = (
    "These tables hold terms of the log as people typed them: they are for the log's owner, and are nothing to release."
)


@dataclass(frozen=True)
class ReproduceOptions:
    """What a reproduction is told besides the log."""

    market: Path | None = None
    like: str | None = None  # of a generated log; LIKE unless given
    users: int | None = None
    seed: int = 1
    algorithm: str = "paper"
    out: Path | None = None
    force: bool = False


def reproduce(
    paper: str,
    source: LogSource = LogSource(()),
    *,
    options: ReproduceOptions = ReproduceOptions(),
    progress: Progress = silent,
) -> Reproduced:
    """Make the tables and figures of a paper; every run is verified before it is reported.

    A source without files and table stands for a generated log, which is read and cleaned as the source says.
    """
    started = time.monotonic()
    _check(paper, source, options)
    rng = np.random.default_rng(options.seed)
    with _inputs(paper, source, options, rng, progress) as (given, market_file):
        market = read_market(market_file, given.cleaning.charset) if paper == "burghardt" else None
        with open_log(given, progress=progress) as log:
            profiles = build(log, progress=progress)
    found = _evaluated(profiles, market, options, rng, progress)
    about = _about(paper, profiles, source, options)
    warning = FOR_THE_OWNER if _is_given(source) else ""
    seconds = time.monotonic() - started
    numbers = {
        "paper": found.paper,
        "log": {**manifests.counts_of(profiles), "generated": not _is_given(source), "seed": options.seed},
        "queryveil": __version__,
        "seconds": round(seconds, 2),
        **found.numbers,
    }
    done = Reproduced(found.paper, about, warning, found.tables, found.figures, numbers, __version__, seconds)
    if options.out is not None:
        progress("writing", 0, 1)
        contents = {
            NUMBERS: (json.dumps(numbers, indent=2, ensure_ascii=False) + "\n").encode(),
            PAGE: render_reproduction(done).encode(),
        }
        write_folder(options.out, contents, force=options.force, secret=_is_given(source))
    return done


def _evaluated(
    profiles: Profiles,
    market: Market | None,
    options: ReproduceOptions,
    rng: np.random.Generator,
    progress: Progress,
) -> Evaluation:
    """Make the evaluation of the paper that needs a market table, or of the one that needs none."""
    if market is None:
        return liu.evaluate(profiles, rng=rng, progress=progress)
    coverage(profiles, market)
    return burghardt.evaluate(profiles, market, algorithm=options.algorithm, rng=rng, progress=progress)


def _is_given(source: LogSource) -> bool:
    """Say whether there is a log, or one is to be generated."""
    return bool(source.paths) or source.table is not None


def _check(paper: str, source: LogSource, options: ReproduceOptions) -> None:
    """Refuse what cannot be done, before any work is."""
    is_given = _is_given(source)
    if paper not in PAPERS:
        raise UnknownNameError(f"there is no reproduction of {paper!r}; {nearest(paper, PAPERS)}")
    resolve("method", Name("km", (("k", 2), ("m", 2), ("algorithm", options.algorithm))))
    if paper == "liu" and options.market is not None:
        raise InputError("--market: the paper is about vocabularies and not about what terms are worth; leave it out.")
    if paper == "burghardt" and is_given and options.market is None:
        raise InputError("--log needs the market table of its terms; give it by --market, or leave --log out.")
    if not is_given and options.market is not None:
        raise InputError("--market goes with the log that it is about; give that by --log, or leave --market out.")
    if is_given and not (options.like is None and options.users is None):
        raise InputError("--like and --users are about a generated log; leave them out, or leave --log out.")
    if source.cleaning.partition_by:
        raise InputError("--partition-by: the paper anonymises a log as a whole; leave it out.")
    if options.out is not None:
        check_place(options.out, NUMBERS, force=options.force)


def _like(paper: str, options: ReproduceOptions) -> str:
    return LIKE[paper] if options.like is None else options.like


@contextmanager
def _inputs(
    paper: str, source: LogSource, options: ReproduceOptions, rng: np.random.Generator, progress: Progress
) -> Iterator[tuple[LogSource, Path]]:
    """Give the log and where its market table is, if it is needed; what is generated is gone afterwards."""
    if _is_given(source):
        yield source, options.market or Path()
        return
    with scratch("reproduce") as folder:
        log, market = folder / "log.tsv", folder / "market.csv"
        wanted = market if paper == "burghardt" else None
        generate(log, like=_like(paper, options), users=options.users, rng=rng, market_out=wanted, progress=progress)
        yield replace(source, paths=(log,)), market


def _about(paper: str, profiles: Profiles, source: LogSource, options: ReproduceOptions) -> str:
    """Say in a sentence what the log is."""
    counts = manifests.counts_of(profiles)
    what = "The log given" if _is_given(source) else f"A generated log (like {_like(paper, options)})"
    how = f", anonymised by algorithm={options.algorithm}" if paper == "burghardt" else ""
    return (
        f"{what}: {counts['people']:,} people, {counts['terms']:,} distinct terms, {counts['occurrences']:,} "
        f"occurrences{how}; every run was verified."
    )
