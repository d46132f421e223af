"""A paper whose evaluation can be reproduced: what it declares, which inputs it gets, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from queryveil.core.errors import InputError, InternalError
from queryveil.core.progress import Progress, silent
from queryveil.histories.build import Unit
from queryveil.histories.profiles import Profiles
from queryveil.market.table import Market
from queryveil.report.charts import Point
from queryveil.report.reproduction import PaperFigure, PaperTable

DEFAULT_ALGORITHM = "paper"

Input = TypeVar("Input")


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


def required(value: Input | None) -> Input:
    """Return an input that the paper declares as needed."""
    if value is None:
        raise InternalError("an input of the evaluation is missing; please report this.")
    return value


@dataclass(frozen=True)
class PaperEvaluation:
    """The tables and figures of a paper, all their numbers, and what they mean in plain words."""

    tables: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...]
    numbers: dict[str, Any]  # for JSON
    reading: tuple[str, ...] = ()
    setting: str = ""  # continues the sentence about the log


@dataclass(frozen=True)
class Paper:
    """Declares how a paper's evaluation is reproduced."""

    citation: str
    like: str  # what a generated log resembles by default
    evaluate: Callable[[PaperInputs], PaperEvaluation]
    check_options: Callable[[PaperOptions], None]
    generated_users: Callable[[PaperOptions], int | None] = lambda options: (
        options.users
    )  # None: the generator's default
    unit: Unit = "term"  # of the profiles
    needs_market: bool = False
    needs_index: bool = False
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
    values: Mapping[str, Sequence[float]]  # line → (xs,)
    texts: Mapping[str, Sequence[str]]  # line → (xs,): the values as formatted in the table

    @classmethod
    def formatted(cls, over: str, xs: Sequence[float], values: Mapping[str, Sequence[float]], form: str) -> "Lines":
        """Return lines whose values are all formatted alike."""
        return cls(over, xs, values, {line: [format(y, form) for y in ys] for line, ys in values.items()})

    def figure(self, name: str, caption: str, what: str, scale: float = 1.0) -> PaperFigure:
        """Return the chart; `what` is the title of its y axis."""
        points = [
            Point(float(x), scale * y, line)
            for line, ys in self.values.items()
            for x, y in zip(self.xs, ys, strict=True)
        ]
        return PaperFigure(name, caption, what, tuple(points), tuple(self.values), over=self.over)

    def table(self, name: str, caption: str, notes: tuple[str, ...] = (), corner: str = "") -> PaperTable:
        """Return the table, with one row per line."""
        headings = (corner, *(f"{self.over} = {x:g}" for x in self.xs))
        rows = tuple((line, *texts) for line, texts in self.texts.items())
        return PaperTable(name, caption, headings, rows, notes=notes)
