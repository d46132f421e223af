"""The dry run of a release: everything is checked, the method runs on a sample, and nothing is written.

The sample is the beginning of each file. The method runs on half of it and on all of it; time is extrapolated by the
growth between the two, memory by the number of pairs of a history and a term.
"""

import math
import time
from codecs import getincrementaldecoder
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.core.display import counted
from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.files import folder_of, scratch
from queryveil.core.progress import Progress, nested_progress, silent
from queryveil.engines import LogSource
from queryveil.engines.local.files import find_files
from queryveil.guarantees import guarantee_of
from queryveil.histories.profile_files import is_profile_file
from queryveil.logs.files import Compression, open_decompressed, take_sample
from queryveil.release.writer import open_staging
from queryveil.report.comparison import MethodComparison
from queryveil.workflows.anonymize import ReleasePlan, plan_release
from queryveil.workflows.compare import compare
from queryveil.workflows.inputs import open_inputs
from queryveil.workflows.requests import CompareRequest, ReleaseRequest

SAMPLE_BYTES = 4 << 20  # of text, over all files
SAMPLE_ROWS = 100_000  # of Parquet files and tables
_COUNTED = ("people", "pairs", "occurrences")
_PROCESS, _PER_LOG_BYTE, _PER_PAIR = 250e6, 4, 120  # bytes of memory, after peaks of logs of up to 370,000 people


@dataclass(frozen=True)
class ReleaseEstimate:
    """What a release would be: as the sample shows it, and extrapolated to the whole log."""

    method: str
    kind: str
    promise: str
    share: float  # of the log that the sample is
    sample: dict[str, int]  # counts of the sample before the method
    kept: dict[str, int]  # counts of what would be released of the sample; empty if that is not possible
    problem: str  # why it is not
    rows: int  # of the release, for the whole log
    seconds: float
    memory_mb: int

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """Return the estimate in words."""
        whole = self.share >= 1
        sample = "the whole log" if whole else f"a sample, the first {self.share:.1%} of the log"
        of = ", ".join(counted(number, what) for what, number in self.sample.items())
        found = [f"{self.method} makes a release of kind {self.kind}. {self.promise}", f"tried on {sample}: {of}."]
        if self.problem:
            remedy = "" if whole else " The whole log is larger and may allow it."
            return [*found, f"it cannot be met there: {self.problem}{remedy}", "nothing was written."]
        kept = ", ".join(f"{counted(n, what)} ({n / max(self.sample[what], 1):.1%})" for what, n in self.kept.items())
        more = "" if whole else " A larger log usually keeps a larger share."
        estimate = f"about {counted(self.rows, 'rows')}, {self.seconds:,.0f} s and {self.memory_mb:,} MB of memory"
        found += [f"it keeps {kept}.{more}", f"estimated for the whole log, roughly: {estimate}, without compiling."]
        return [*found, "nothing was written."]


def estimate_release(request: ReleaseRequest, progress: Progress = silent) -> ReleaseEstimate:
    """Return an estimate of a release after checking its options, folders and inputs; write nothing."""
    plan = plan_release(request)
    if request.engine_options != type(request.engine_options)():
        raise InputError("--dry-run tries the method on this machine; leave --engine and its options out.")
    open_staging(folder_of(request.out), folder_of(request.private), force=request.force)
    open_inputs(request, plan.method, plan.kind, progress)
    with scratch("sample") as folder:
        sample, half, share, log_bytes = _take_samples(plan.source, folder)
        _try(plan, half, nested_progress("half of the sample", progress))  # compiles, so it is not timed
        seconds_of_half, _, _ = _try(plan, half, nested_progress("half of the sample", progress))
        seconds, result, problem = _try(plan, sample, nested_progress("the sample", progress))
    before = {} if result is None else {name: result.counts[name] for name in _COUNTED}
    after = {} if result is None else result.runs[0].counts or {}
    kept = {name: after[name] for name in before}
    factor = 1 / share
    exponent = min(max(math.log2(max(seconds, 1e-3) / max(seconds_of_half, 1e-3)), 1), 2)
    reading = min(request.reading.memory_bytes(), _PER_LOG_BYTE * log_bytes)
    memory = _PROCESS + reading + _PER_PAIR * factor * before.get("pairs", 0)
    promise, _ = guarantee_of(plan.claim({})).sentences(plan.claim({}))
    return ReleaseEstimate(
        method=str(plan.method),
        kind=plan.kind.name,
        promise=promise,
        share=share,
        sample=before,
        kept=kept,
        problem=problem,
        rows=round(kept.get("pairs", 0) * factor),
        seconds=round(seconds * factor**exponent, 1),
        memory_mb=round(memory / 1e6),
    )


def _try(plan: ReleasePlan, source: LogSource, progress: Progress) -> tuple[float, MethodComparison | None, str]:
    """Run the method on a sample; return the seconds from reading to measuring, the result, or why there is none."""
    request, started = plan.request, time.perf_counter()
    trial = CompareRequest(
        log=source,
        methods=(str(plan.method),),
        values=request.values,
        market=request.market,
        lists=request.lists,
        semantics=request.semantics,
        seed=plan.seed,
    )
    try:
        result, problem = compare(trial, progress=progress), ""
    except GuaranteeError as error:
        result, problem = None, str(error)
    return time.perf_counter() - started, result, problem


def _take_samples(source: LogSource, folder: Path) -> tuple[LogSource, LogSource, float, float]:
    """Return the beginning of a log, half of it, the share of the log that it is, and the bytes of the log."""
    if source.table is not None:
        n_rows = source.table.num_rows
        whole, half = (replace(source, table=source.table.slice(0, SAMPLE_ROWS // part)) for part in (1, 2))
        return whole, half, min(1, SAMPLE_ROWS / max(n_rows, 1)), source.table.nbytes
    files = [each.path for each in find_files(source)]
    if len(files) == 1 and is_profile_file(files[0]):
        raise InputError("--dry-run takes a sample of a log, and profiles cannot be cut; leave --dry-run out.")
    samples = [_sample_file(path, source, folder / str(number), len(files)) for number, path in enumerate(files)]
    reading = replace(source.reading, encoding="utf-8")
    wholes = replace(source, paths=tuple(folder / f"{number}-1" for number in range(len(files))), reading=reading)
    halves = replace(wholes, paths=tuple(folder / f"{number}-2" for number in range(len(files))))
    sampled, total = (sum(sizes) for sizes in zip(*samples, strict=True))
    return wholes, halves, min(1, sampled / total), total


def _sample_file(path: Path, source: LogSource, out: Path, n_files: int) -> tuple[float, float]:
    """Write the beginning of a file, and half of that; return the bytes of the sample and of the file unpacked."""
    whole, half = (out.with_name(f"{out.name}-{part}") for part in (1, 2))
    encoding = "" if source.reading.is_utf8 else source.reading.encoding
    sample = take_sample(path, encoding)
    if sample.is_parquet:
        file = pq.ParquetFile(path)
        rows = pa.Table.from_batches(islice(file.iter_batches(SAMPLE_ROWS // n_files), 1), file.schema_arrow)
        pq.write_table(rows, whole)
        pq.write_table(rows.slice(0, (rows.num_rows + 1) // 2), half)
        return rows.num_rows, file.metadata.num_rows
    with open_decompressed(path, sample.compression) as stream:
        data = stream.read(SAMPLE_BYTES // n_files)
        is_whole = not stream.read(1)
    size = len(data) if is_whole else path.stat().st_size * len(data) / len(_compressed(data, sample.compression))
    text = getincrementaldecoder(encoding or "utf-8")(errors="replace").decode(data, final=is_whole)
    lines = text.splitlines(keepends=True)
    lines = lines if is_whole else lines[:-1]
    whole.write_text("".join(lines), "utf-8", newline="")
    half.write_text("".join(lines[: max(2, len(lines) // 2)]), "utf-8", newline="")
    return len(data), size


def _compressed(data: bytes, compression: Compression) -> bytes:
    """Return data about as small as it is in a compressed file."""
    if compression == "none":
        return data
    packed: bytes = pa.compress(data, codec=compression, asbytes=True)
    return packed
