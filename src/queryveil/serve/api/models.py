"""The JSON bodies of the REST service; those that start runs are the specs of these runs with a name added."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

from queryveil.logs.options import ReadingOptions
from queryveil.serve.fields import with_options
from queryveil.serve.run_specs import AnonymizeSpec, AttackSpec, MeasureSpec, VerifySpec
from queryveil.serve.search import SearchQuery
from queryveil.serve.store import LogRow, RunRow, Store

Responses = dict[int | str, dict[str, Any]]
RunName = Annotated[str, Field(min_length=1, max_length=100, description="how people call it")]


class Problem(BaseModel):
    """What went wrong and what to do, and the field it is about where there is one."""

    error: str
    field: str | None = None


_MEANINGS = {
    400: "the request cannot be understood",
    401: "the token is missing or wrong",
    403: "the request came from a page of another site, or takes the owner's token",
    404: "there is nothing under this id",
    405: "the address does not take this method",
    409: "not now: a name is taken, or a run is not in the state for it",
    413: "larger than the server takes",
    422: "something that was given cannot be used",
    507: "the disk or the queue holds as much as the server may use",
    429: "several wrong tokens came from this address just before; wait for as long as Retry-After says",
}
PROBLEMS: Responses = {code: {"model": Problem, "description": meaning} for code, meaning in _MEANINGS.items()}
# The same for routes that do not return JSON, since FastAPI would document problems with the route's media type.
_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
JSON_PROBLEMS: Responses = {code: {"content": _PROBLEM, "description": meaning} for code, meaning in _MEANINGS.items()}


def documented(media_type: str, schema: dict[str, Any], description: str) -> Responses:
    """Return the responses of a route that does not return JSON."""
    return {**JSON_PROBLEMS, 200: {"content": {media_type: {"schema": schema}}, "description": description}}


_ID = "0123456789ab"


def example(body: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a request body with an example for the OpenAPI document."""
    return ConfigDict(json_schema_extra={"examples": [body]})


class StrictModel(BaseModel):
    """A request body that may hold no unknown field."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_surrogates(cls, data: Any) -> Any:
        """Refuse lone surrogates, which JSON can express and SQLite cannot store."""
        try:
            json.dumps(data, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise ValueError("a text holds half a character") from None
        return data


@with_options(ReadingOptions, "format", "columns")
class LogIn(StrictModel):
    """The demo log, or a file in the server's folder."""

    model_config = example({"name": "march", "path": "march.tsv"})

    name: RunName
    demo: bool = False
    path: Annotated[str | None, Field(description="the path of a file in the server's folder")] = None


class LogFields(BaseModel):
    """What logs and drafts have in common."""

    id: str
    name: str
    kind: Literal["demo", "upload", "file"]
    filename: str
    size: int | None
    reading: dict[str, str]
    created: str


class LogOut(LogFields):
    """A log that was added."""

    releases: int  # that were made from it; what several of them show together is not covered by any guarantee

    @classmethod
    def of(cls, row: LogRow, store: Store) -> "LogOut":
        """Return a log as programs see it, without its path."""
        made = sum(run.state == "done" for run in store.runs(log=row.id, kind="anonymize"))
        return cls(**{name: getattr(row, name) for name in cls.model_fields if name != "releases"}, releases=made)


@dataclass(frozen=True, kw_only=True)
class RunOut(RunRow):
    """A run: what was asked for, how far it is, how it ended, and once it is done what it found."""

    result: dict[str, Any] | None = None

    @classmethod
    def of(cls, row: RunRow, result: dict[str, Any] | None = None) -> "RunOut":
        """Return a run as programs see it."""
        return cls(**vars(row), result=result)


class NamedRun(StrictModel):
    """The name of a run, in addition to its spec."""

    name: RunName


class LogRunIn(NamedRun):
    """The fields of a run on a log besides its spec."""

    log: str


class RunIn(AnonymizeSpec, LogRunIn):
    """A run of a method on a log."""

    model_config = example({"name": "first try", "log": _ID, "method": "km(k=10, m=2)", "seed": 1})


class SweepIn(RunIn):
    """Runs of a method on a log, one for each combination of the alternatives in its parameters."""

    model_config = example({"name": "several k", "log": _ID, "method": "km(k=5|10|20, m=2)", "seed": 1})

    def spec_of(self, method: str) -> AnonymizeSpec:
        """Return the spec of one of the runs."""
        given = self.model_dump(exclude_unset=True, exclude={"name", "log"})
        return AnonymizeSpec.model_validate({**given, "method": method})


class PersonIn(StrictModel):
    """A person behind a release: a number of the list of people, or the user as it stands in the log."""

    model_config = example({"number": 3})

    number: Annotated[StrictInt, Field(ge=0, le=2**31 - 1)] | None = None
    person: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None


class PersonSearchIn(SearchQuery):
    """A query, and the person as whom it is answered: by number, or by the user as it stands in the log."""

    model_config = example({"query": "java", "number": 3})

    group: None = None
    number: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    user: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None


class IndexIn(StrictModel):
    """Documents to be made searchable."""

    model_config = example({"path": "documents.jsonl"})

    path: Annotated[str, Field(max_length=1_000, description="a file or a folder in the server's folder")] = ""


class ReleaseRunIn(NamedRun):
    """The fields of a run on a release besides its spec."""

    release: Annotated[str, Field(description="the id of the run that made it")]


class VerifyIn(VerifySpec, ReleaseRunIn):
    """A check of a release's own claim, or of another one."""

    model_config = example({"name": "check", "release": _ID})


class MeasureIn(MeasureSpec, ReleaseRunIn):
    """Measures of a release against its log; the usual ones unless some are named."""

    model_config = example({"name": "what was kept", "release": _ID, "measures": ["retention", "unique(m=2)"]})


class AttackIn(AttackSpec, ReleaseRunIn):
    """Attacks on a release; all that it can be attacked by unless some are named."""

    model_config = example({"name": "try it", "release": _ID, "attacks": ["known_terms(m=2)"], "targets": 100})


class ReleaseOut(BaseModel):
    """A release: what it promises and what is in it."""

    id: str
    name: str
    log: str | None
    kind: str
    method: str
    guarantee: str
    promise: str
    made: str | None
    content_sha256: str


class ReleaseDetail(ReleaseOut):
    """A release with its manifest, its verdict, its scores, and the runs on it."""

    manifest: dict[str, Any]
    verdict: dict[str, Any]
    scores: list[dict[str, Any]]
    runs: list[RunOut]
