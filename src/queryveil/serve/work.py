"""What happens inside a worker process: one run of one workflow, its progress and its end told over a pipe."""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import UnknownNameError, sentence_of
from queryveil.core.files import write_file
from queryveil.core.progress import Progress
from queryveil.core.results import Score, Verdict
from queryveil.serve.parents import end_with_parent

if TYPE_CHECKING:
    from queryveil.core.names import ResolvedName
    from queryveil.engines import LogSource

RELEASE, PRIVATE, RESULT, INDEX = "release", "private", "result.json", "index"  # in a run's folder
BUNDLED = "wordnet"  # the corpus that needs no file
_PAUSE = 0.25  # seconds between two reports of one stage
OUT_OF_MEMORY = "the run needed more memory than there is; try a smaller log, or fewer runs at once (--jobs)."


@dataclass(frozen=True)
class Task:
    """All that a worker is told."""

    kind: str
    folder: Path  # of the run
    spec: Mapping[str, Any]
    log: Path | None = None
    shown: str = ""  # what the owner calls the log's file
    reading: Mapping[str, str] | None = None
    market: Path | None = None  # the log's own
    demo_people: int = 0  # where the log is the demo log, which is made when it is first needed
    release: Path | None = None  # the folder of the run whose release this one looks at
    files: Mapping[str, Path] | None = None  # option → file in the server's folder
    index: Path | None = None  # what is searched, where there is one


def main(task: Task, pipe: Connection) -> None:
    """Do the task; say at the end how it went. Whoever is told to stop says nothing."""
    _settle(task)
    try:
        if task.demo_people:
            _make_demo(task, _reporter(pipe))
        result = _WORK[task.kind](task, _reporter(pipe))
        text = json.dumps(result, ensure_ascii=False, default=str)
        write_file(task.folder / RESULT, text.encode(), 0o600)
        pipe.send(("done", ""))
    except KeyboardInterrupt:
        return
    except MemoryError:
        pipe.send(("failed", OUT_OF_MEMORY))
    except Exception as error:
        pipe.send(("failed", _shown(sentence_of(error), task)))


def _settle(task: Task) -> None:
    """Let the server alone stop this process, print nothing, and keep temporary files with the run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(silence, stream.fileno())
    temporary = task.folder / "tmp"
    temporary.mkdir(mode=0o700, exist_ok=True)
    tempfile.tempdir = str(temporary)
    end_with_parent()


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _reporter(pipe: Connection) -> Progress:
    """Return a progress callback that tells every stage, and of each a few steps a second."""
    last_stage, last_time = "", 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last_stage, last_time
        moment = time.monotonic()
        if stage != last_stage or moment - last_time >= _PAUSE:
            last_stage, last_time = stage, moment
            pipe.send(("progress", stage, int(done), int(total)))

    return report


def _shown(sentence: str, task: Task) -> str:
    """Name the log's file as its owner does, not by where the server keeps it."""
    return sentence if task.log is None else sentence.replace(str(task.log), task.shown)


def _make_demo(task: Task, progress: Progress) -> None:
    """Make the demo log and its market table where no other run has done so; all make the same."""
    log, market = _needed(task.log), _needed(task.market)
    if log.exists() and market.exists():
        return
    import numpy as np

    from queryveil.logs.generate import generate

    rng = np.random.default_rng(1)
    generate(log, users=task.demo_people, rng=rng, market_out=market, overwrite=True, progress=progress)


def _statistics(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.statistics import describe

    return describe(source_of(_needed(task.log), task.reading or {}), progress=progress).record()


def _anonymize(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.anonymize import anonymize

    source, options = asked_for(task.spec, _needed(task.log), task.reading or {}, task.files or {}, task.market)
    release, private = task.folder / RELEASE, task.folder / PRIVATE
    done = anonymize(source, task.spec["method"], release, private=private, options=options, progress=progress)
    return {
        "verdict": _verdict(done.verdict),
        "manifest": done.manifest,
        "scores": _scores(done.scores),
        "summary": done.summary,
        "seconds": round(done.seconds, 2),
    }


def _verify(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.verify import verify

    made = _needed(task.release)
    places = (task.files or {}).get("places")
    claim = task.spec.get("claim")
    verdict = verify(made / RELEASE, claim=claim, private=made / PRIVATE, places=places, progress=progress)
    return {"verdict": _verdict(verdict)}


def _measure(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.measure import MeasureOptions, measure
    from queryveil.workflows.rankings import SearchPlaces

    made, files = _needed(task.release), task.files or {}
    options = MeasureOptions(
        measures=tuple(task.spec.get("measures", ())),
        private=made / PRIVATE,
        market=files.get("market", task.market if _needs(task.spec, "needs_market") else None),
        taxonomy=files.get("taxonomy"),
        places=SearchPlaces(task.index if _needs(task.spec, "needs_index") else None),
        reading=source_of(_needed(task.log), task.reading or {}).reading,
        seed=task.spec.get("seed") or 0,
    )
    return {"scores": _scores(measure(made / RELEASE, [_needed(task.log)], options=options, progress=progress))}


def _needs(spec: Mapping[str, Any], what: str) -> bool:
    """Say whether a measure is asked for that needs a market table, or an index."""
    from queryveil.core.names import resolve

    asked = (resolve("measure", name).declaration for name in spec.get("measures", ()))
    return any(getattr(measure, what, False) for measure in asked)


def _attack(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.attack import MOST_TARGETS, AttackOptions, attack

    made = _needed(task.release)
    options = AttackOptions(
        attacks=tuple(task.spec.get("attacks", ())),
        reading=source_of(_needed(task.log), task.reading or {}).reading,
        targets=task.spec.get("targets") or MOST_TARGETS,
        seed=task.spec.get("seed") or 0,
    )
    done = attack(made / RELEASE, [_needed(task.log)], made / PRIVATE, options=options, progress=progress)
    headings, rows = done.table()
    return {**replace(done, release=made.name).record(), "table": {"headings": headings, "rows": rows}}


def _index(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.indexing import index

    corpus: str | Path = (task.files or {}).get("corpus", BUNDLED)
    done = index(corpus, task.folder / INDEX, form=task.spec.get("format", ""), progress=progress)
    return {**asdict(done), "path": INDEX}


_WORK: Mapping[str, Callable[[Task, Progress], dict[str, Any]]] = {
    "statistics": _statistics,
    "anonymize": _anonymize,
    "verify": _verify,
    "measure": _measure,
    "attack": _attack,
    "index": _index,
}
KINDS = tuple(_WORK)


def resolved(kind: str, name: str, field: str) -> "ResolvedName":
    """Return a text name checked; what is wrong is said of its parameter, else of the field it stands in."""
    from queryveil.core.names import resolve

    try:
        return resolve(kind, name)
    except UnknownNameError as error:
        error.field = error.field or field
        raise


def source_of(log: Path, reading: Mapping[str, str]) -> "LogSource":
    """Return a log as a workflow takes it."""
    from queryveil.engines import LogSource
    from queryveil.logs.options import Reading

    return LogSource((log,), Reading(**reading))


def asked_for(
    spec: Mapping[str, Any], log: Path, reading: Mapping[str, str], files: Mapping[str, Path], market: Path | None
) -> tuple["LogSource", Any]:
    """Return what a run of a method is told, refusing what no run can do with the sentence of the command line."""
    from queryveil.core.names import nearest
    from queryveil.logs.options import CLEANING, Cleaning
    from queryveil.methods.utilities import check_worth
    from queryveil.semantics.options import MEANING, Meaning
    from queryveil.workflows.anonymize import Options, check

    bound = resolved("method", spec.get("method", ""), "method")
    given = dict(spec.get("options", {}))
    cleaning = {p.name: given.pop(p.name) for p in CLEANING if p.name in given}
    meaning = {p.name: given.pop(p.name) for p in MEANING if p.name in given}
    if given:
        option, known = next(iter(given)), [parameter.name for parameter in (*CLEANING, *MEANING)]
        raise UnknownNameError(f"there is no option {option!r}; {nearest(option, known)}", field=option)
    source = replace(source_of(log, reading), cleaning=Cleaning(**cleaning), keep=tuple(spec.get("keep", ())))
    target = bound.values.get("target")
    options = Options(
        kind=spec.get("kind"),
        values=files.get("values"),
        market=files.get("market", None if target is None else market),
        seed=spec.get("seed"),
        meaning=Meaning(**meaning, taxonomy=files.get("taxonomy")),
        places=files.get("places"),
    )
    check(bound, source, options)
    if target is not None:
        check_worth(target, values=options.values is not None, market=options.market is not None)
    return source, options


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {**verdict.record(), "sentence": verdict.sentence()}


def _scores(scores: tuple[Score, ...] | list[Score]) -> list[dict[str, Any]]:
    return [asdict(score) for score in scores]


def _needed(path: Path | None) -> Path:
    if path is None:
        raise TypeError("the task lacks a path")
    return path
