"""Papers whose evaluations can be reproduced: their declaration, and what the evaluations share."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from queryveil.core.errors import InputError, InternalError
from queryveil.core.evidence import Evidence, Floor, Owners, ReleasedHistories, Views
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict
from queryveil.core.rows import BoolArray, select_entries
from queryveil.histories.build import Unit, assemble
from queryveil.histories.profiles import Profiles
from queryveil.market import Market
from queryveil.methods.base import MethodTask, method_of
from queryveil.report.charts import Point
from queryveil.report.reproduction import PaperFigure, PaperTable

DEFAULT_ALGORITHM = "paper"
OURS_AND_THEIRS = "ours | the paper's"  # what a cell of two figures contains
NO_VALUE = "–"
CONFIRMED, NOT_CONFIRMED = "confirmed", "not confirmed"
BY_CONSTRUCTION, NOT_COMPARABLE = "by construction", "not comparable"
JUDGEMENTS = (
    f"{CONFIRMED}, {NOT_CONFIRMED}: what the paper states is so, or is not so, on this log.",
    f"{BY_CONSTRUCTION}: the input or the settings were made so that it comes out; it shows nothing about the paper.",
    f"{NOT_COMPARABLE}: a figure of other people, documents or labels than the paper's.",
)

Input = TypeVar("Input")
Found = dict[str, tuple[str, bool | str]]  # claim → what was found, and whether the claim holds, or a judgement


@dataclass(frozen=True)
class PaperOptions:
    """The options of a reproduction that not every paper accepts."""

    has_log: bool  # False: a log is generated
    history: str = "user"  # what one history is: all queries of a user, a session, a day …
    market: Path | None = None
    like: str | None = None  # what a generated log resembles
    users: int | None = None  # people of a generated log; for zhu, people who take part
    algorithm: str = DEFAULT_ALGORITHM  # of km
    index: Path | None = None  # to search in

    def refuse_generator_options(self) -> None:
        """Refuse options of the generator if a log is given."""
        if self.has_log and not (self.like is None and self.users is None):
            raise InputError("--like and --users are about a generated log; leave them out, or leave --log out.")


@dataclass(frozen=True, eq=False)
class PaperInputs:
    """What the evaluation of a paper is computed from."""

    profiles: Profiles
    options: PaperOptions
    rng: np.random.Generator
    progress: Progress = silent
    market: Market | None = None  # if the paper declares that it needs one
    index: Path | None = None  # likewise
    cut: Mapping[str, Profiles] = field(default_factory=dict)  # what a history is instead → the log so cut
    n_queries: int = 0  # of the log after cleaning


def required(value: Input | None) -> Input:
    """Return an input that the paper declares as needed."""
    if value is None:
        raise InternalError("an input of the evaluation is missing; please report this.")
    return value


@dataclass
class RunTally:
    """Counts the runs of an evaluation: a run that releases nothing leaves nothing to verify."""

    verified: int = 0
    empty: int = 0

    def __str__(self) -> str:
        empty = f"; {self.empty:,} released nothing, so there was nothing to verify" if self.empty else ""
        return f"{self.verified:,} releases were verified{empty}"


class JudgedStatement(NamedTuple):
    """What a paper states, what was found here, and whether that bears the statement out."""

    where: str  # such as "Section 5.4"
    paper: str
    ours: str
    judgement: str


def read_printed(module: str) -> dict[str, Any]:
    """Read printed.toml next to a module: what its paper prints, and its claims as pairs of a place and a statement."""
    printed = tomllib.loads(Path(module).with_name("printed.toml").read_text("utf-8"))
    return {**printed, "claims": {name: (where, statement) for name, (where, statement) in printed["claims"].items()}}


def judge(claims: Mapping[str, tuple[str, str]], found: Found) -> tuple[JudgedStatement, ...]:
    """Return a finding per claim, which is given as its place and its statement."""

    def judgement(holds: bool | str) -> str:
        return holds if isinstance(holds, str) else CONFIRMED if holds else NOT_CONFIRMED

    return tuple(
        JudgedStatement(where, statement, found[name][0], judgement(found[name][1]))
        for name, (where, statement) in claims.items()
    )


@dataclass(frozen=True)
class PaperEvaluation:
    """The findings, tables and figures of a paper, all their numbers, and what they mean in plain words."""

    findings: tuple[JudgedStatement, ...]
    evaluated: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...]
    record: Mapping[str, Any]  # numbers for JSON that the tables round or do not contain
    people: int  # who take part
    tally: RunTally
    reading: tuple[str, ...] = ()
    setting: str = ""  # continues the sentence about the log

    @property
    def tables(self) -> tuple[PaperTable, ...]:
        """Return the table of findings, followed by the others."""
        heads = ("where", "the paper", "here", "judgement")
        caption = "What the paper states, and what was found here"
        return (PaperTable("Findings", caption, heads, self.findings, (0, 1, 2, 3), JUDGEMENTS), *self.evaluated)

    @property
    def numbers(self) -> dict[str, Any]:
        """Return everything for JSON."""
        findings = [finding._asdict() for finding in self.findings]
        return {
            **{"findings": findings, "releases": asdict(self.tally)},
            **self.record,
            "tables": [asdict(table) for table in self.tables],
        }


@dataclass(frozen=True)
class Paper:
    """Declares how a paper's evaluation is reproduced."""

    citation: str
    like: str  # what a generated log resembles by default
    evaluate: Callable[[PaperInputs], PaperEvaluation]
    check_options: Callable[[PaperOptions], None]
    enough_people: int  # of fewer, what is confirmed or not depends on who they happen to be
    generated_users: Callable[[PaperOptions], int | None] = lambda options: options.users  # None: generator's default
    unit: Unit = "term"  # of the profiles
    needs_market: bool = False
    needs_index: bool = False
    histories: tuple[str, ...] = ()  # what histories it looks at besides those of users, in a log with times
    shows_terms: bool = True  # the tables contain terms of the log

    def check(self, options: PaperOptions) -> None:
        """Refuse options that this paper does not use or that contradict each other, before any work is done."""
        if options.index is not None and not self.needs_index:
            raise InputError("--index is for zhu, whose evaluation searches; leave it out.")
        if not self.needs_market and (options.market is not None or options.algorithm != DEFAULT_ALGORITHM):
            raise InputError("--market and --algorithm are for burghardt; leave them out.")
        self.check_options(options)


@dataclass(frozen=True)
class Lines:
    """Lines over a parameter, which can be drawn as a figure and tabulated."""

    over: str  # name of the parameter
    xs: Sequence[float]  # its values
    values: Mapping[str, Sequence[float]]  # line → (xs,); NaN where there is no value
    texts: Mapping[str, Sequence[str]]  # line → (xs,): the values as formatted in the table

    @classmethod
    def formatted(cls, over: str, xs: Sequence[float], values: Mapping[str, Sequence[float]], form: str) -> "Lines":
        """Return lines whose values are all formatted alike."""
        texts = {line: [NO_VALUE if isnan(y) else format(y, form) for y in ys] for line, ys in values.items()}
        return cls(over, xs, values, texts)

    def figure(self, name: str, caption: str, what: str, scale: float = 1.0) -> PaperFigure:
        """Return the chart; `what` is the title of its y axis."""
        points = [
            Point(float(x), scale * y, line)
            for line, ys in self.values.items()
            for x, y in zip(self.xs, ys, strict=True)
            if not isnan(y)
        ]
        return PaperFigure(name, caption, what, tuple(points), tuple(self.values), over=self.over)

    def table(self, name: str, caption: str, notes: tuple[str, ...] = (), corner: str = "") -> PaperTable:
        """Return the table, with one row per line."""
        headings = (corner, *(f"{self.over} = {x:g}" for x in self.xs))
        rows = tuple((line, *texts) for line, texts in self.texts.items())
        return PaperTable(name, caption, headings, rows, notes=notes)


def example_log(histories: Sequence[Iterable[str]], persons: Sequence[str]) -> Profiles:
    """Return a log of one history per person, each occurrence of a term in a query of its own."""
    words = sorted({term for history in histories for term in history})
    number = {word: i for i, word in enumerate(words)}
    pairs = np.array([(h, number[term]) for h, history in enumerate(histories) for term in history], np.int32)
    owner = np.arange(len(histories), dtype=np.int32)
    return assemble(pairs[:, 0], pairs[:, 1], pa.array(words, pa.large_string()), owner, tuple(persons))


def run_method(
    method: ResolvedName, profiles: Profiles, rng: np.random.Generator, *inputs: object, progress: Progress = silent
) -> Any:
    """Return the outcome of a method; `inputs` are the objects that it looks up by type, None for those it lacks."""
    task = MethodTask(profiles, method, rng, Views(*filter(None, inputs)), progress)
    return method_of(method).load()(task)


def confirm(method: ResolvedName, evidence: Evidence, tally: RunTally, *, progress: Progress = silent) -> Verdict:
    """Return the verifier's verdict on the result of a method, and count it; raise if the claim does not hold."""
    claim = method_of(method).claim(method)
    verdict: Verdict = claim.declaration.load()(claim, evidence, progress=progress)
    if not verdict.holds:
        raise InternalError(
            f"the result of {method} was refused by its verifier ({verdict.state}); please report this."
        )
    tally.verified += 1
    return verdict


def confirm_kept(
    method: ResolvedName,
    profiles: Profiles,
    mask: BoolArray,
    tally: RunTally,
    *evidence: object,
    unit: Literal["term", "query"] = "term",
    progress: Progress = silent,
) -> int:
    """Verify the kept pairs of profiles; return how much the verifier checked, 0 if nothing was kept."""
    if not mask.any():
        tally.empty += 1
        return 0
    kept, ids = np.unique(profiles.ids[mask], return_inverse=True)
    entries = tuple(profiles.vocabulary[entry] for entry in kept.tolist())
    histories = np.arange(profiles.n_histories)
    indptr, counts = select_entries(profiles.indptr, mask), profiles.counts[mask]
    released = ReleasedHistories(histories, indptr, ids.astype(np.int32), counts, entries, None, unit)
    owners = Owners(profiles.owner, histories, profiles.holders_by_text)
    return confirm(method, Evidence(released, owners, Floor(), *evidence), tally, progress=progress).checked


def mean_figures(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every figure over repeated runs."""
    return {name: fmean(figures[name] for figures in runs) for name in runs[0]}
