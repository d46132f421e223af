"""The work that a run does: a class for each kind of run, with its options, its checks and its workflow.

REST bodies and HTML forms become specs. A spec is checked when its run is queued, stored as JSON with the run, and
performed by the worker. Workflows are imported when they are needed, since they import numpy and more.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.names import Integer, nearest, parse_sweep, resolve
from queryveil.core.options import Option, OptionGroup, TextName
from queryveil.core.progress import Progress
from queryveil.core.results import Verdict
from queryveil.engines import LogSource
from queryveil.logs.options import ReadingOptions
from queryveil.report.datasheet import OWNER_FIELDS
from queryveil.serve.fields import CLEANING, SEMANTICS, with_options
from queryveil.serve.run_files import DATASHEET, INDEX, PRIVATE, RELEASE, RESULT, TEMPORARY
from queryveil.serve.store import LogRow, RunKind
from queryveil.workflows.requests import (
    AttackRequest,
    DatasheetRequest,
    DescribeRequest,
    IndexRequest,
    MeasureRequest,
    ReleaseRequest,
    VerifyRequest,
)

if TYPE_CHECKING:
    from queryveil.report.attacks import AttackReport

MOST_RUNS = 60  # of one sweep

BUNDLED_CORPUS = "wordnet"  # needs no file
_SERVER_PATHS = ("release", "report", "private")  # of a release's record, which are not shown
Request = TypeVar("Request", bound=OptionGroup)
NO_ATTACKS = "there are no results of that run of attacks; choose another, or leave it out."
LONGEST_FIELD = 4_000  # characters


@dataclass(frozen=True, kw_only=True)
class RunInputs:
    """The folder of a run, and the files, the log and the release that its spec needs."""

    folder: Path
    files: Mapping[str, Path]  # field of the spec → file in the server's folder
    log_row: LogRow | None
    release_run: Path | None  # the folder of the run whose release is examined
    demo_people: int  # of the demo log, which the first run that needs it generates; 0 for any other log
    index: Path | None  # the index that is searched, if there is one
    max_unpacked: str  # of a file that was sent, such as 5GB

    @property
    def log(self) -> LogRow:
        """Return the log of a spec that needs one."""
        if self.log_row is None:
            raise TypeError("the run has no log")
        return self.log_row

    @property
    def release_options(self) -> dict[str, Any]:
        """Return the options of a workflow that name the examined release."""
        if self.release_run is None:
            raise TypeError("the run examines no release")
        private = self.release_run / PRIVATE  # missing once it was forgotten who is behind the release
        return {"release": self.release_run / RELEASE, "private": private if private.is_dir() else None}

    @property
    def log_options(self) -> dict[str, Any]:
        """Return the options of a workflow that name the log of the examined release."""
        return {"against": Path(self.log.path), **self.log.reading}


class RunSpec(BaseModel):
    """What a run is to do; the base of one class for each kind of run."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    run_kind: ClassVar[RunKind]
    lane: ClassVar[str] = "runs"  # the runs of a lane wait for each other, and not for those of other lanes
    goes_with_log: ClassVar[bool] = False  # deleting the log deletes the run
    needs_log: ClassVar[bool] = True
    needs_release: ClassVar[bool] = False
    needs_private: ClassVar[bool] = False  # the private folder of the release
    declared: ClassVar[tuple[Option, ...]] = ()  # the options that the spec takes
    folder_fields: ClassVar[tuple[str, ...]] = ()  # fields of its own that name a file or a folder

    def to_json(self) -> dict[str, Any]:
        """Return the fields that were given or differ from their default, without those that a REST body adds."""
        fields = _SPECS[self.run_kind].model_fields
        values = self.model_dump(include=set(fields))
        given = {name for name in self.model_fields_set & set(values) if values[name] not in (None, "", [], {})}
        return {name: value for name, value in values.items() if name in given or value != fields[name].default}

    def named_files(self) -> dict[str, str]:
        """Return the paths in the server's folder that the spec names, by field."""
        names = (*(each.name for each in self.declared if each.is_path), *self.folder_fields)
        return {name: path for name in names if (path := getattr(self, name))}

    def request(self, request: type[Request], inputs: RunInputs, **values: Any) -> Request:
        """Return the workflow's request: the options of the spec, `values`, and files of the server's folder."""
        own = {each.name: getattr(self, each.name) for each in self.declared}
        return request.from_values({**own, **values, **inputs.files})

    @property
    def is_about_folder(self) -> bool:
        """Return whether the result repeats content of a file in the server's folder, which only the owner may see."""
        return False

    def check(self, inputs: RunInputs) -> None:
        """Raise the command line's error if no run can do what the spec asks for: here, if a name is unknown.

        An error that names no parameter is attributed to the field of the spec.
        """
        for option in self.declared:
            if not isinstance(option.type, TextName):
                continue
            given = getattr(self, option.name)
            try:
                for name in given if option.is_repeatable else [given]:
                    if name is not None:
                        resolve(option.type.category, name)
            except UnknownNameError as error:
                error.field = error.field or option.name
                raise

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Run the workflow and return its result as JSON values."""
        raise NotImplementedError


class StatisticsSpec(RunSpec):
    """Statistics of a log."""

    run_kind = "statistics"
    lane = "statistics"
    goes_with_log = True

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Describe the log."""
        from queryveil.workflows.describe import describe

        done = describe(DescribeRequest(log=source_of(inputs.log.path, inputs.log.reading)), progress=progress)
        shown = replace(done, log=inputs.log.filename)  # in place of the server's path
        return {**shown.record(), "sections": [asdict(part) for part in shown.sections()]}


@with_options(ReleaseRequest, "method", "kind", "keep", "keep_floor", "seed", "market", "values", "taxonomy", "places")
class AnonymizeSpec(RunSpec):
    """A run of a method on a log."""

    run_kind = "anonymize"
    method: str
    options: Annotated[dict[str, str | int | bool], Field(description="of cleaning and meaning, by name")] = {}

    def check(self, inputs: RunInputs) -> None:
        """Raise if the method does not exist, or the options do not fit it."""
        from queryveil.methods.targets import check_term_values
        from queryveil.workflows.anonymize import plan_release

        super().check(inputs)
        request = self.release_request(inputs)
        target = plan_release(request).method.values.get("target")
        if target is not None:
            check_term_values(target, values=request.values is not None, market=request.market is not None)

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Make the release in the run's folder."""
        from queryveil.workflows.anonymize import make_release

        done = make_release(self.release_request(inputs), progress=progress)
        shown = {name: value for name, value in done.record().items() if name not in _SERVER_PATHS}
        return {**shown, "verdict": verdict_record(done.verdict)}

    def release_request(self, inputs: RunInputs) -> ReleaseRequest:
        """Return the workflow's request of a release in the run's folder."""
        known = [each.name for each in (*CLEANING, *SEMANTICS)]
        for name in self.options:
            if name not in known:
                raise UnknownNameError(f"there is no option {name!r}; {nearest(name, known)}", field=name)
        values: dict[str, Any] = {
            **inputs.log.reading,
            **self.options,
            "log": Path(inputs.log.path),
            "out": inputs.folder / RELEASE,
            "private": inputs.folder / PRIVATE,
        }
        if "target" in resolve("method", self.method).values:
            values["market"] = inputs.log.market_path
        return self.request(ReleaseRequest, inputs, **values)


@with_options(VerifyRequest, "claim", "places")
class VerifySpec(RunSpec):
    """A check of a release's own claim, or of another one."""

    run_kind = "verify"
    needs_log = False
    needs_release = True

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Verify the release."""
        from queryveil.workflows.verify import verify

        request = self.request(VerifyRequest, inputs, **inputs.release_options)
        return {"verdict": verdict_record(verify(request, progress=progress))}


@with_options(MeasureRequest, "measures", "market", "taxonomy", "seed")
class MeasureSpec(RunSpec):
    """Measures of a release against its log; the usual ones unless some are named."""

    run_kind = "measure"
    needs_release = True
    measures: list[str] = []

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Measure the release; the log's market table and the index are used if a measure needs them."""
        from queryveil.workflows.measure import measure

        named = [resolve("measure", name).declaration for name in self.measures]
        available = {"market": inputs.log.market_path, "index": inputs.index}
        needed = {
            name: path for name, path in available.items() if any(getattr(n, f"needs_{name}", False) for n in named)
        }
        request = self.request(MeasureRequest, inputs, **inputs.release_options, **inputs.log_options, **needed)
        return {"scores": [asdict(score) for score in measure(request, progress=progress)]}


@with_options(
    AttackRequest, "attacks", "taxonomy", "targets", "seed", changed={"targets": {"type": Integer(1, 1_000_000)}}
)
class AttackSpec(RunSpec):
    """Attacks on a release; all that it can be attacked by unless some are named."""

    run_kind: ClassVar[RunKind] = "attack"
    needs_release = True
    needs_private = True

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Attack the release."""
        from queryveil.workflows.attack import attack

        request = self.request(AttackRequest, inputs, **inputs.release_options, **inputs.log_options)
        return attack_record(attack(request, progress=progress), inputs.release_options["release"].parent.name)


class IndexSpec(RunSpec):
    """An index of the bundled corpus, or of documents in the server's folder."""

    run_kind = "index"
    needs_log = False
    folder_fields = ("path",)
    path: Annotated[
        str, Field(max_length=1_000, description="a file or a folder of documents in the server's folder")
    ] = ""

    def check(self, inputs: RunInputs) -> None:
        """Raise if the documents are in no form that can be read."""
        from queryveil.search.corpora.base import find_corpus

        super().check(inputs)
        if self.path:
            find_corpus(str(inputs.files["path"]), "")

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Write the index into the run's folder."""
        from queryveil.workflows.search import index

        request = IndexRequest(corpus=str(inputs.files.get("path", BUNDLED_CORPUS)), out=inputs.folder / INDEX)
        return {**asdict(index(request, progress=progress)), "path": INDEX, "corpus": self.path or BUNDLED_CORPUS}


@with_options(DatasheetRequest, "places")
class DatasheetSpec(RunSpec):
    """A datasheet of a release: what it holds and promises, and what its owner states."""

    run_kind = "datasheet"
    needs_log = False
    needs_release = True
    owner: Annotated[
        dict[str, Annotated[str, Field(max_length=LONGEST_FIELD)]],
        Field(description=f"what only the owner knows, by field: {', '.join(OWNER_FIELDS)}"),
    ] = {}
    attacks: Annotated[
        str, Field(pattern="^([0-9a-f]{12})?$", description="the id of a run of attacks whose results are shown")
    ] = ""

    @field_validator("owner")
    @classmethod
    def _check_owner(cls, owner: dict[str, str]) -> dict[str, str]:
        """Refuse fields that a datasheet does not have; those that are empty are not given."""
        if not set(owner) <= set(OWNER_FIELDS):
            raise ValueError(f"the fields are {', '.join(OWNER_FIELDS)}")
        return {name: text for name, text in owner.items() if text.strip()}

    def check(self, inputs: RunInputs) -> None:
        """Raise if there are no such results of attacks."""
        super().check(inputs)
        if self.attacks and not (inputs.folder.parent / self.attacks / RESULT).is_file():
            raise InputError(NO_ATTACKS, field="attacks")

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Write the datasheet into the run's folder."""
        from queryveil.workflows.datasheet import datasheet

        folder = inputs.folder / TEMPORARY
        given = {"owner": folder / "owner.toml", "out": inputs.folder / DATASHEET}
        stated = (f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in self.owner.items())
        given["owner"].write_text("\n".join(stated).replace("\x7f", ""))  # the one character that TOML does not take
        if self.attacks:
            found = json.loads((inputs.folder.parent / self.attacks / RESULT).read_text())
            given["attacks"] = folder / "attacks.json"
            given["attacks"].write_text(json.dumps({name: found[name] for name in found if name != "table"}))
        done = datasheet(self.request(DatasheetRequest, inputs, **inputs.release_options, **given), progress)
        return {"missing": list(done.missing)}


_SPECS: dict[str, type[RunSpec]] = {
    each.run_kind: each
    for each in (StatisticsSpec, AnonymizeSpec, VerifySpec, MeasureSpec, AttackSpec, IndexSpec, DatasheetSpec)
}
Spec = TypeVar("Spec", bound=type[RunSpec])


def register_spec(spec: Spec) -> Spec:
    """Add a kind of run; a decorator of specs that other modules define."""
    _SPECS[spec.run_kind] = spec
    return spec


def kinds_of_lane(lane: str) -> list[str]:
    """Return the kinds of runs that share a lane."""
    return [kind for kind, spec in _SPECS.items() if spec.lane == lane]


LANES = tuple(dict.fromkeys(spec.lane for spec in _SPECS.values()))


def spec_class(kind: str) -> type[RunSpec]:
    """Return the class of the specs of a kind of run."""
    if kind not in _SPECS:
        raise InputError(f"there is no run of kind {kind!r}; there are {', '.join(_SPECS)}.", field="kind")
    return _SPECS[kind]


def parse_spec(kind: str, spec: Mapping[str, Any]) -> RunSpec:
    """Return the spec of a run of some kind from its stored JSON."""
    return spec_class(kind)(**spec)


def sweep_names(method: str) -> list[str]:
    """Return the text names of the runs of a sweep, or raise if there are too many or one is not valid."""
    names = parse_sweep(method)
    if len(names) > MOST_RUNS:
        raise InputError(
            f"a sweep of {len(names):,} runs is too large here; ask for at most {MOST_RUNS} at once.", field="method"
        )
    return [str(resolve("method", name)) for name in names]


def source_of(path: str | Path, reading: Mapping[str, str]) -> LogSource:
    """Return a log file in the form that workflows take."""
    return LogSource((Path(path),), ReadingOptions(**reading))


def attack_record(report: "AttackReport", release: str) -> dict[str, Any]:
    """Return the results of attacks as JSON values; `release` is shown in place of the server's path."""
    headings, rows = report.table()
    return {**replace(report, release=release).record(), "table": {"headings": headings, "rows": rows}}


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON values, with its sentence."""
    return {**verdict.record(), "sentence": verdict.sentence()}
