"""Reproducing a paper's evaluation, on a log of the user or on a generated one."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from queryveil._version import __version__
from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.files import scratch
from queryveil.core.names import nearest
from queryveil.core.progress import Progress, silent
from queryveil.engines import open_log
from queryveil.experiments import burghardt, carpineto, liu, zhu
from queryveil.experiments.paper import Paper, PaperInputs, PaperOptions
from queryveil.histories.build import build
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import Counts
from queryveil.logs.generate import generate
from queryveil.market import read_market
from queryveil.release.atomic_folder import prepare_target, write_folder
from queryveil.report.reproduction import Reproduction, render_reproduction
from queryveil.workflows.requests import IndexRequest, ReproduceRequest
from queryveil.workflows.search import index as make_index

PAGE, NUMBERS = "page.html", "numbers.json"
FOR_THE_OWNER = (
    "These tables hold terms of the log as people typed them: they are for the log's owner, and are nothing to release."
)
SMALL_LOG = (
    "This is a small log: {:,} people take part, and at least {:,} should for a comparison with the paper; "
    "what is confirmed or not may be otherwise in a larger one."
)
PAPERS = {"burghardt": burghardt.PAPER, "zhu": zhu.PAPER, "liu": liu.PAPER, "carpineto": carpineto.PAPER}


def reproduce(request: ReproduceRequest, *, progress: Progress = silent) -> Reproduction:
    """Compute the tables and figures of a paper; every release is verified before it is reported.

    Without a log in the request one is generated, and read and cleaned as the request says.
    """
    started = time.monotonic()
    if request.paper not in PAPERS:
        raise UnknownNameError(f"there is no reproduction of {request.paper!r}; {nearest(request.paper, list(PAPERS))}")
    paper, options = PAPERS[request.paper], _paper_options(request)
    if request.out is not None:
        prepare_target(request.out, NUMBERS, force=request.force)
    if request.source.cleaning.partition_by:
        raise InputError("--partition-by: the paper anonymises a log as a whole; leave it out.")
    paper.check(options)
    with _inputs(paper, options, request, progress) as inputs:
        evaluation = paper.evaluate(inputs)
    seconds = time.monotonic() - started
    counts = Counts.of(inputs.profiles).record()
    done = Reproduction(
        paper.citation,
        f"{_describe_log(paper, options, counts)}{evaluation.setting}; seed {request.seed}; {evaluation.tally}.",
        _warnings(paper, options, evaluation.people),
        evaluation.tables,
        evaluation.figures,
        {
            "paper": paper.citation,
            "log": {**counts, "generated": not options.has_log, "seed": request.seed},
            **evaluation.numbers,
            "queryveil": __version__,
            "seconds": round(seconds, 2),
        },
        __version__,
        seconds,
        evaluation.reading,
    )
    if request.out is not None:
        progress("writing", 0, 1)
        write_folder(request.out, _files(done), NUMBERS, force=request.force, secret=options.has_log)
    return done


def _warnings(paper: Paper, options: PaperOptions, people: int) -> tuple[str, ...]:
    """Return what the reader of a reproduction should know first."""
    for_owner = (FOR_THE_OWNER,) if paper.shows_terms and options.has_log else ()
    is_small = people < paper.enough_people
    return (*for_owner, *((SMALL_LOG.format(people, paper.enough_people),) if is_small else ()))


def _files(done: Reproduction) -> dict[str, bytes]:
    """Return the contents of a reproduction's folder: its numbers and its page."""
    numbers = json.dumps(done.numbers, indent=2, ensure_ascii=False) + "\n"
    return {NUMBERS: numbers.encode(), PAGE: render_reproduction(done).encode()}


def _paper_options(request: ReproduceRequest) -> PaperOptions:
    source = request.source
    return PaperOptions(
        bool(source.paths) or source.table is not None,
        source.cleaning.history,
        request.market,
        request.like,
        request.users,
        request.algorithm,
        request.index,
    )


@contextmanager
def _inputs(
    paper: Paper, options: PaperOptions, request: ReproduceRequest, progress: Progress
) -> Iterator[PaperInputs]:
    """Read or generate the inputs of a paper; generated files are deleted at the end."""
    rng = np.random.default_rng(request.seed)
    with scratch("reproduce") as folder:
        source, market_file = request.source, options.market
        if not options.has_log:
            log, market_file = folder / "log.tsv", folder / "market.csv" if paper.needs_market else None
            users, like = paper.generated_users(options), _like(paper, options)
            generate(log, like=like, users=users, rng=rng, market_out=market_file, progress=progress)
            source = replace(source, paths=(log,))
        market = None if market_file is None else read_market(market_file, source.cleaning.charset)
        with open_log(source, progress=progress) as opened:
            profiles, n_queries = build(opened, unit=paper.unit, progress=progress), opened.n_queries
        cut: dict[str, Profiles] = {}
        for history in paper.histories if opened.has_times and source.cleaning.history == "user" else ():
            with open_log(replace(source, cleaning=replace(source.cleaning, history=history))) as reopened:
                cut[history] = build(reopened)
        index = options.index
        if paper.needs_index and index is None:
            index = folder / "index"
            make_index(IndexRequest(corpus="wordnet", out=index), progress=progress)
        yield PaperInputs(profiles, options, rng, progress, market, index, cut, n_queries)


def _like(paper: Paper, options: PaperOptions) -> str:
    return paper.like if options.like is None else options.like


def _describe_log(paper: Paper, options: PaperOptions, counts: dict[str, int]) -> str:
    """Begin the sentence about the log."""
    what = "The log given" if options.has_log else f"A generated log (like {_like(paper, options)})"
    items = {"term": "terms", "query": "queries"}[paper.unit]
    people, entries, occurrences = (counts[name] for name in ("people", "terms", "occurrences"))
    return f"{what}: {people:,} people, {entries:,} distinct {items}, {occurrences:,} occurrences"
