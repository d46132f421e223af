"""What the REST service takes and gives."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from queryveil.serve.store import LogRow, RunRow

Responses = dict[int | str, dict[str, Any]]
State = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
Kind = Literal["statistics", "anonymize", "verify", "measure", "attack", "index"]
RunName = Annotated[str, Field(min_length=1, max_length=100, description="how people call it")]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, description="makes random draws repeatable")]
Names = Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=50)]


class Problem(BaseModel):
    """What went wrong and what to do, and the field it is about where there is one."""

    error: str
    field: str | None = None


_MEANINGS = {
    400: "the request cannot be understood",
    401: "the token is missing or wrong",
    403: "the request came from a page of another site",
    404: "there is nothing under this id",
    405: "the address does not take this method",
    409: "not now: a name is taken, or a run is not in the state for it",
    413: "larger than the server takes",
    422: "something that was given cannot be used",
}
PROBLEMS: Responses = {code: {"model": Problem, "description": meaning} for code, meaning in _MEANINGS.items()}
# The same for routes that give something else than JSON, or FastAPI would say that problems come as that too.
_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEMS_BESIDE: Responses = {
    code: {"content": _PROBLEM, "description": meaning} for code, meaning in _MEANINGS.items()
}


class Strict(BaseModel):
    """A request in which nothing unknown may stand."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _can_be_written(cls, data: Any) -> Any:
        """Refuse halves of characters, which JSON can name and nothing can store."""
        try:
            json.dumps(data, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise ValueError("a text holds half a character") from None
        return data


class LogIn(Strict):
    """The demo log, or a file in the server's folder."""

    name: RunName
    demo: bool = False
    path: Annotated[str | None, Field(description="the path of a file in the server's folder")] = None
    format: str = ""
    columns: Annotated[str, Field(description="role=column pairs such as user=uid,query=q,time=ts")] = ""


class LogOut(BaseModel):
    """A log that was added."""

    id: str
    name: str
    kind: Literal["demo", "upload", "file"]
    filename: str
    size: int | None
    reading: dict[str, str]
    created: str

    @classmethod
    def of(cls, row: LogRow) -> "LogOut":
        """Return what programs are told of a log: not where it lies."""
        return cls(size=row.size, **{name: getattr(row, name) for name in cls.model_fields if name != "size"})


class RunOut(BaseModel):
    """A run: what was asked for, how far it is, how it ended, and once it is done what it found."""

    id: str
    name: str
    kind: Kind
    log: str | None
    release: str | None
    spec: dict[str, Any]
    state: State
    stage: str
    done: int
    total: int
    error: str
    created: str
    started: str | None
    ended: str | None
    result: dict[str, Any] | None = None

    @classmethod
    def of(cls, row: RunRow, result: dict[str, Any] | None = None) -> "RunOut":
        """Return what programs are told of a run."""
        return cls(**vars(row), result=result)


class RunIn(Strict):
    """A run of a method on a log."""

    name: RunName
    log: str
    method: Annotated[str, Field(max_length=1_000, examples=["km(k=10, m=2)"])]
    kind: Annotated[str | None, Field(description="of release, where the method makes several")] = None
    keep: Annotated[list[str], Field(max_length=10, description="of time, rank, url: what is released uncovered")] = []
    seed: Seed | None = None
    options: Annotated[dict[str, str | int | bool], Field(description="of cleaning and meaning, by name")] = {}
    market: Annotated[str | None, Field(description="a file in the server's folder, as the three below")] = None
    values: str | None = None
    taxonomy: str | None = None
    places: str | None = None

    def spec(self) -> dict[str, Any]:
        """Return what is asked for, without what was not said."""
        return {key: value for key, value in self.model_dump(exclude={"name", "log"}).items() if value}


class OnRelease(Strict):
    """A run on a release."""

    name: RunName
    release: Annotated[str, Field(description="the id of the run that made it")]

    def spec(self) -> dict[str, Any]:
        """Return what is asked for, without what was not said."""
        return {key: value for key, value in self.model_dump(exclude={"name", "release"}).items() if value}


class VerifyIn(OnRelease):
    """A check of a release's own claim, or of another one."""

    claim: Annotated[str | None, Field(max_length=500, examples=["km(k=5, m=2)"])] = None
    places: Annotated[str | None, Field(description="a list of places in the server's folder")] = None


class MeasureIn(OnRelease):
    """Measures of a release against its log; the usual ones unless some are named."""

    measures: Names = []
    market: Annotated[str | None, Field(description="a file in the server's folder, as the one below")] = None
    taxonomy: str | None = None
    seed: Seed = 0


class AttackIn(OnRelease):
    """Attacks on a release; all that it can be attacked by unless some are named."""

    attacks: Names = []
    targets: Annotated[int, Field(ge=1, le=1_000_000, description="at most so many people are attacked")] = 5_000
    seed: Seed = 0


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


class FieldOut(BaseModel):
    """A parameter of something that has a name."""

    name: str
    type: Literal["integer", "real", "flag", "word", "text"]
    values: str
    purpose: str
    default: str | int | float | bool | None
    required: bool
    goes_with: list[str | int | float | bool] | None
    minimum: float | None
    maximum: float | None
    choices: list[str]


class EntryOut(BaseModel):
    """Something that has a name."""

    name: str
    signature: str
    purpose: str
    paper: str
    parameters: list[FieldOut]
    about: dict[str, Any]


class DeclarationsOut(BaseModel):
    """Everything that has a name, and the options."""

    methods: list[EntryOut]
    guarantees: list[EntryOut]
    targets: list[EntryOut]
    measures: list[EntryOut]
    attacks: list[EntryOut]
    formats: list[EntryOut]
    corpora: list[EntryOut]
    options: dict[str, list[FieldOut]]
