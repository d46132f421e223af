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
    from queryveil.workflows.requests import ReleaseRequest

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
    from queryveil.workflows.anonymize import make_release

    request = release_request(
        task.spec, _needed(task.log), task.reading or {}, task.files or {}, task.market, task.folder
    )
    done = make_release(request, progress=progress)
    return {
        "verdict": _verdict(done.verdict),
        "manifest": done.manifest.record(),
        "scores": _scores(done.scores),
        "summary": done.summary,
        "seconds": round(done.seconds, 2),
    }


def _verify(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.requests import VerifyRequest
    from queryveil.workflows.verify import verify

    made = _needed(task.release)
    request = VerifyRequest(
        release=made / RELEASE,
        claim=task.spec.get("claim"),
        private=made / PRIVATE,
        places=(task.files or {}).get("places"),
    )
    return {"verdict": _verdict(verify(request, progress=progress))}


def _measure(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.measure import measure
    from queryveil.workflows.requests import MeasureRequest

    made, files = _needed(task.release), task.files or {}
    request = MeasureRequest(
        release=made / RELEASE,
        against=(_needed(task.log),),
        measures=tuple(task.spec.get("measures", ())),
        private=made / PRIVATE,
        market=files.get("market", task.market if _needs(task.spec, "needs_market") else None),
        taxonomy=files.get("taxonomy"),
        index=task.index if _needs(task.spec, "needs_index") else None,
        reading=source_of(_needed(task.log), task.reading or {}).reading,
        seed=task.spec.get("seed") or 0,
    )
    return {"scores": _scores(measure(request, progress=progress))}


def _needs(spec: Mapping[str, Any], what: str) -> bool:
    """Say whether a measure is asked for that needs a market table, or an index."""
    from queryveil.core.names import resolve

    asked = (resolve("measure", name).declaration for name in spec.get("measures", ()))
    return any(getattr(measure, what, False) for measure in asked)


def _attack(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.attack import attack
    from queryveil.workflows.requests import AttackRequest

    made = _needed(task.release)
    request = AttackRequest(
        release=made / RELEASE,
        against=(_needed(task.log),),
        private=made / PRIVATE,
        attacks=tuple(task.spec.get("attacks", ())),
        reading=source_of(_needed(task.log), task.reading or {}).reading,
        targets=task.spec.get("targets") or AttackRequest.targets,
        seed=task.spec.get("seed") or 0,
    )
    done = attack(request, progress=progress)
    headings, rows = done.table()
    return {**replace(done, release=made.name).record(), "table": {"headings": headings, "rows": rows}}


def _index(task: Task, progress: Progress) -> dict[str, Any]:
    from queryveil.workflows.index import index
    from queryveil.workflows.requests import IndexRequest

    corpus: str | Path = (task.files or {}).get("corpus", BUNDLED)
    request = IndexRequest(corpus=corpus, out=task.folder / INDEX, form=task.spec.get("format", ""))
    done = index(request, progress=progress)
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


def release_request(
    spec: Mapping[str, Any],
    log: Path,
    reading: Mapping[str, str],
    files: Mapping[str, Path],
    market: Path | None,
    folder: Path = Path(),
) -> "ReleaseRequest":
    """Return the release that a run makes, refusing what no run can do with the sentence of the command line."""
    from queryveil.core.names import nearest
    from queryveil.logs.options import Cleaning
    from queryveil.methods.utilities import check_worth
    from queryveil.semantics.options import SemanticOptions
    from queryveil.workflows.anonymize import plan_release
    from queryveil.workflows.requests import ReleaseRequest

    bound = resolved("method", spec.get("method", ""), "method")
    options = dict(spec.get("options", {}))
    known = [each.name for each in (*Cleaning.options(), *SemanticOptions.options()) if not each.is_path]
    for name in options:
        if name not in known:
            raise UnknownNameError(f"there is no option {name!r}; {nearest(name, known)}", field=name)
    target = bound.values.get("target")
    values = {
        "log": log,
        "method": spec["method"],
        "out": folder / RELEASE,
        "private": folder / PRIVATE,
        "kind": spec.get("kind"),
        "keep": spec.get("keep"),
        "seed": spec.get("seed"),
        "values": files.get("values"),
        "market": files.get("market", None if target is None else market),
        "taxonomy": files.get("taxonomy"),
        "places": files.get("places"),
    }
    request = ReleaseRequest.from_values({**reading, **options, **values})
    plan_release(request)
    if target is not None:
        check_worth(target, values=request.values is not None, market=request.market is not None)
    return request


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {**verdict.record(), "sentence": verdict.sentence()}


def _scores(scores: tuple[Score, ...] | list[Score]) -> list[dict[str, Any]]:
    return [asdict(score) for score in scores]


def _needed(path: Path | None) -> Path:
    if path is None:
        raise TypeError("the task lacks a path")
    return path
