"""What runs can be asked to do: a class for each kind of run, with its fields, its checks and the workflow it performs.

REST bodies and HTML forms become specs. A spec is checked when its run is queued, stored as JSON with the run, and
performed by the worker. Workflows are imported when they are needed, since they import numpy and more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.names import ResolvedName, nearest, resolve
from queryveil.core.progress import Progress
from queryveil.core.results import Verdict
from queryveil.serve.records import LogRow, RunKind

if TYPE_CHECKING:
    from queryveil.engines import LogSource
    from queryveil.workflows.requests import ReleaseRequest

RELEASE, PRIVATE, INDEX = "release", "private", "index"  # in a run's folder
BUNDLED_CORPUS = "wordnet"  # needs no file
_EMPTY_AS_NONE = BeforeValidator(lambda text: text or None)
OptionalText = Annotated[str | None, _EMPTY_AS_NONE]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, description="makes random draws repeatable")]
Names = Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=50)]
Targets = Annotated[int, Field(ge=1, le=1_000_000, description="at most so many people are attacked")]


@dataclass(frozen=True, kw_only=True)
class RunInputs:
    """The folder of a run, and the files, the log and the release that its spec needs."""

    folder: Path
    files: Mapping[str, Path]  # field of the spec → file in the server's folder
    log_row: LogRow | None
    release_run: Path | None  # the folder of the run whose release is examined
    demo_people: int  # of the demo log, which the first run that needs it generates; 0 for any other log
    index: Path | None  # the index that is searched, if there is one

    @property
    def log(self) -> LogRow:
        """Return the log of a spec that needs one."""
        if self.log_row is None:
            raise TypeError("the run has no log")
        return self.log_row

    @property
    def examined(self) -> Path:
        """Return the folder of the run whose release a spec examines."""
        if self.release_run is None:
            raise TypeError("the run examines no release")
        return self.release_run

    @property
    def source(self) -> "LogSource":
        """Return the log in the form that workflows take."""
        return source_of(self.log.path, self.log.reading)


class RunSpec(BaseModel):
    """What a run is to do; the base of one class for each kind of run."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    run_kind: ClassVar[RunKind]
    needs_log: ClassVar[bool] = True
    needs_release: ClassVar[bool] = False
    file_fields: ClassVar[tuple[str, ...]] = ()  # fields that hold paths in the server's folder

    def to_json(self) -> dict[str, Any]:
        """Return the fields that hold something other than their default, without those that a REST body adds."""
        declared = _SPECS[self.run_kind].model_fields
        values = self.model_dump(include=set(declared))
        return {name: value for name, value in values.items() if value != declared[name].default}

    def named_files(self) -> dict[str, str]:
        """Return the paths in the server's folder that the spec names, by field."""
        return {name: path for name in self.file_fields if (path := getattr(self, name))}

    def check(self, inputs: RunInputs) -> None:
        """Raise the command line's error if no run can do what the spec asks for."""

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Run the workflow and return its result as JSON values."""
        raise NotImplementedError


class StatisticsSpec(RunSpec):
    """Statistics of a log."""

    run_kind = "statistics"

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Describe the log."""
        from queryveil.workflows.statistics import describe

        return describe(inputs.source, progress=progress).record()


class AnonymizeSpec(RunSpec):
    """A run of a method on a log."""

    run_kind = "anonymize"
    file_fields = ("market", "values", "taxonomy", "places")

    method: Annotated[str, Field(max_length=1_000, examples=["km(k=10, m=2)"])]
    kind: Annotated[OptionalText, Field(description="of release, where the method makes several")] = None
    keep: Annotated[list[str], Field(max_length=10, description="of time, rank, url: what is released uncovered")] = []
    seed: Seed | None = None
    options: Annotated[dict[str, str | int | bool], Field(description="of cleaning and meaning, by name")] = {}
    market: Annotated[OptionalText, Field(description="a file in the server's folder, as the three below")] = None
    values: OptionalText = None
    taxonomy: OptionalText = None
    places: OptionalText = None

    def check(self, inputs: RunInputs) -> None:
        """Raise if the method does not exist, or the options do not fit it."""
        from queryveil.methods.targets import check_term_values
        from queryveil.workflows.anonymize import plan_release

        method = _resolve("method", self.method, "method")
        request = self.release_request(inputs)
        plan_release(request)
        if (target := method.values.get("target")) is not None:
            check_term_values(target, values=request.values is not None, market=request.market is not None)

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Make the release in the run's folder."""
        from queryveil.workflows.anonymize import make_release

        done = make_release(self.release_request(inputs), progress=progress)
        return {
            "verdict": _verdict_record(done.verdict),
            "manifest": done.manifest.record(),
            "scores": [asdict(score) for score in done.scores],
            "summary": done.summary,
            "seconds": round(done.seconds, 2),
        }

    def release_request(self, inputs: RunInputs) -> "ReleaseRequest":
        """Return the workflow's request of a release in the run's folder."""
        from queryveil.logs.options import Cleaning
        from queryveil.semantics.options import SemanticOptions
        from queryveil.workflows.requests import ReleaseRequest

        known = [each.name for each in (*Cleaning.options(), *SemanticOptions.options()) if not each.is_path]
        for name in self.options:
            if name not in known:
                raise UnknownNameError(f"there is no option {name!r}; {nearest(name, known)}", field=name)
        needs_market = "target" in resolve("method", self.method).values
        values = {
            "log": Path(inputs.log.path),
            "method": self.method,
            "out": inputs.folder / RELEASE,
            "private": inputs.folder / PRIVATE,
            "kind": self.kind,
            "keep": self.keep,
            "seed": self.seed,
            "market": inputs.log.market_path if needs_market else None,
        }
        return ReleaseRequest.from_values({**inputs.log.reading, **self.options, **values, **inputs.files})


class VerifySpec(RunSpec):
    """A check of a release's own claim, or of another one."""

    run_kind = "verify"
    needs_log = False
    needs_release = True
    file_fields = ("places",)

    claim: Annotated[str | None, Field(max_length=500, examples=["km(k=5, m=2)"]), _EMPTY_AS_NONE] = None
    places: Annotated[OptionalText, Field(description="a list of places in the server's folder")] = None

    def check(self, inputs: RunInputs) -> None:
        """Raise if the claim is no guarantee."""
        if self.claim is not None:
            _resolve("guarantee", self.claim, "claim")

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Verify the release."""
        from queryveil.workflows.requests import VerifyRequest
        from queryveil.workflows.verify import verify

        release, private, places = inputs.examined / RELEASE, inputs.examined / PRIVATE, inputs.files.get("places")
        request = VerifyRequest(release=release, claim=self.claim, private=private, places=places)
        return {"verdict": _verdict_record(verify(request, progress=progress))}


class MeasureSpec(RunSpec):
    """Measures of a release against its log; the usual ones unless some are named."""

    run_kind = "measure"
    needs_release = True
    file_fields = ("market", "taxonomy")

    measures: Names = []
    market: Annotated[OptionalText, Field(description="a file in the server's folder, as the one below")] = None
    taxonomy: OptionalText = None
    seed: Seed = 0

    def check(self, inputs: RunInputs) -> None:
        """Raise if a measure does not exist."""
        _resolve_all("measure", self.measures, "measures")

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Measure the release; the log's market table and the index are used if a measure needs them."""
        from queryveil.workflows.measure import measure
        from queryveil.workflows.requests import MeasureRequest

        request = MeasureRequest(
            release=inputs.examined / RELEASE,
            against=inputs.source.paths,
            private=inputs.examined / PRIVATE,
            measures=tuple(self.measures),
            market=inputs.files.get("market", inputs.log.market_path if self._any("needs_market") else None),
            taxonomy=inputs.files.get("taxonomy"),
            index=inputs.index if self._any("needs_index") else None,
            reading=inputs.source.reading,
            seed=self.seed,
        )
        return {"scores": [asdict(score) for score in measure(request, progress=progress)]}

    def _any(self, need: str) -> bool:
        return any(getattr(resolve("measure", name).declaration, need, False) for name in self.measures)


class AttackSpec(RunSpec):
    """Attacks on a release; all that it can be attacked by unless some are named."""

    run_kind = "attack"
    needs_release = True

    attacks: Names = []
    targets: Targets | None = None  # None: the workflow's default
    seed: Seed = 0

    def check(self, inputs: RunInputs) -> None:
        """Raise if an attack does not exist."""
        _resolve_all("attack", self.attacks, "attacks")

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Attack the release."""
        from queryveil.workflows.attack import attack
        from queryveil.workflows.requests import AttackRequest

        request = AttackRequest(
            release=inputs.examined / RELEASE,
            against=inputs.source.paths,
            private=inputs.examined / PRIVATE,
            attacks=tuple(self.attacks),
            reading=inputs.source.reading,
            targets=self.targets or AttackRequest.targets,
            seed=self.seed,
        )
        done = attack(request, progress=progress)
        headings, rows = done.table()
        named = replace(done, release=inputs.examined.name)  # the run's id in place of the server's path
        return {**named.record(), "table": {"headings": headings, "rows": rows}}


class IndexSpec(RunSpec):
    """An index of a corpus that needs no file."""

    run_kind = "index"
    needs_log = False

    corpus: str

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Write the index into the run's folder."""
        from queryveil.workflows.index import index
        from queryveil.workflows.requests import IndexRequest

        request = IndexRequest(corpus=self.corpus, out=inputs.folder / INDEX)
        return {**asdict(index(request, progress=progress)), "path": INDEX}


_SPECS: Mapping[str, type[RunSpec]] = {
    each.run_kind: each for each in (StatisticsSpec, AnonymizeSpec, VerifySpec, MeasureSpec, AttackSpec, IndexSpec)
}


def parse_spec(kind: str, spec: Mapping[str, Any]) -> RunSpec:
    """Return the spec of a run of some kind from its stored JSON."""
    if kind not in _SPECS:
        raise InputError(f"there is no run of kind {kind!r}; there are {', '.join(_SPECS)}.", field="kind")
    return _SPECS[kind](**spec)


def source_of(path: str | Path, reading: Mapping[str, str]) -> "LogSource":
    """Return a log file in the form that workflows take."""
    from queryveil.engines import LogSource
    from queryveil.logs.options import Reading

    return LogSource((Path(path),), Reading(**reading))


def _resolve(kind: str, name: str, field: str) -> ResolvedName:
    """Resolve a text name; an error that names no parameter is attributed to the given field of the spec."""
    try:
        return resolve(kind, name)
    except UnknownNameError as error:
        error.field = error.field or field
        raise


def _resolve_all(kind: str, names: Iterable[str], field: str) -> None:
    for name in names:
        _resolve(kind, name, field)


def _verdict_record(verdict: Verdict) -> dict[str, Any]:
    return {**verdict.record(), "sentence": verdict.sentence()}
