"""The results of verifiers, measures and attacks: verdicts, scores and rates of success."""

import math
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, Literal

from queryveil.core.display import LONGEST_REPR, Brief, Tabular, counted, html_table, percent, printable

_HISTORIES = "histories; that these are different people needs the private folder"


@dataclass(frozen=True, repr=False)
class Violation(Brief):
    """The smallest combination that breaks a guarantee, and how many have it."""

    _shown = ("entries", "support", "required")
    entries: tuple[str, ...]
    support: int
    required: int

    def __str__(self) -> str:
        holders = "1 holder has" if self.support == 1 else f"{self.support} holders have"
        return f"{{{', '.join(map(printable, self.entries))}}}: {holders} it, at least {self.required} must"


@dataclass(frozen=True, repr=False)
class Verdict(Brief):
    """What a verifier found: the claim, whether it holds, what was counted, and the smallest counterexample."""

    _shown = ("claim", "state", "counted", "checked", "violations")
    claim: str
    state: Literal["holds", "violated", "unchecked"]
    counted: Literal["people", "histories", "nothing"]  # nothing: the claim is about each query by itself
    checked: int = 0  # combinations (or queries) looked at
    violations: int = 0
    counterexample: Violation | None = None
    reason: str = ""  # why it is violated or could not be checked, where there is no counterexample
    unit: Literal["combinations", "queries"] = "combinations"  # what was looked at
    caution: str = ""  # in a few words, what a claim that holds is if it is no anonymity
    warnings: tuple[str, ...] = ()  # sentences: what a reader of the claim might wrongly conclude from it

    @property
    def holds(self) -> bool:
        """Return whether the claim was checked and holds."""
        return self.state == "holds"

    @property
    def exit_code(self) -> int:
        """Return the exit code of a command whose result is the verdict."""
        return {"holds": 0, "violated": 1, "unchecked": 2}[self.state]

    def sentence(self) -> str:
        """Return in a sentence what the verifier found."""
        holders = "people" if self.counted == "people" else _HISTORIES
        if self.holds:
            counting = "" if self.counted == "nothing" else f", counting {holders}"
            caution = f" ({self.caution})" if self.caution else ""
            return f"{self.claim} holds{caution}: {counted(self.checked, self.unit)} checked{counting}."
        if self.state == "unchecked":
            return f"{self.claim} could not be checked: {self.reason}."
        parts = [self.reason] if self.reason else []
        if self.counterexample is not None:
            others = self.violations - 1
            what = "more combinations of that size" if self.unit == "combinations" else f"more {self.unit}"
            more = f", and {counted(others, what)} {'falls' if others == 1 else 'fall'} short" if others > 0 else ""
            parts.append(f"{self.counterexample} (counting {holders}){more}")
        elif self.checked and not self.violations:
            return f"The release is not as it was made: {self.reason}. Its rows keep {self.claim}."
        return f"{self.claim} is violated: {'; '.join(parts)}."

    def record(self) -> dict[str, Any]:
        """Return the verdict for JSON, without `unit` and the support that was required."""
        record, found = asdict(self), self.counterexample
        del record["unit"]
        return record | {
            "counterexample": None if found is None else {"terms": list(found.entries), "support": found.support}
        }

    def _repr_html_(self) -> str:
        """Return the verdict for a notebook; the counterexample, which may be of a log, is not in it."""
        warnings = "".join(f"<br>Warning: {escape(warning)}" for warning in self.warnings)
        found = self.counterexample
        hidden = None if found is None else replace(found, entries=(f"{len(found.entries)} of them",))
        sentence = replace(self, counterexample=hidden).sentence()
        return f"<b>{escape(self.caution or self.state)}</b>: {escape(sentence)}{warnings}"


@dataclass(frozen=True, repr=False)
class Score(Brief):
    """One figure of a measure: its value, how it was computed, and whether higher is better."""

    _shown = ("measure", "label", "original", "value", "unit")
    measure: str  # the measure's text name
    label: str
    value: float | None  # None: it cannot be computed from what was given
    original: float | None = None  # the same figure of the original log, if it has one
    unit: str = "%"
    units_counted: int = 0  # the number of people, terms or pairs that the figure is computed from
    interval: tuple[float, float] | None = None
    better: Literal["higher", "lower", ""] = "higher"  # "": neither
    note: str = ""
    base: str = ""  # what `units_counted` counts: a percentage is of these, a mean is over them
    original_interval: tuple[float, float] | None = None  # of the original's figure

    def basis(self) -> str:
        """Return what the figure is a share or a mean of, such as "860 people"."""
        return counted(self.units_counted, self.base) if self.base and self.units_counted else ""

    def figure(self, value: float | None) -> str:
        """Format one of the score's figures with its unit."""
        if value is None:
            return "–"
        return percent(value) if self.unit == "%" else f"{value:.3f} {self.unit}".rstrip()


class Scores(Tabular, tuple[Score, ...]):
    """The scores of a release; a notebook shows them as a table."""

    def __repr__(self) -> str:
        return f"Scores({len(self)} of {', '.join(dict.fromkeys(score.measure for score in self))})"[:LONGEST_REPR]

    def to_arrow(self) -> Any:
        """Return a row per figure: its measure, its values in the log and in the release, its interval and base."""
        import pyarrow as pa

        names = ("measure", "label", "original", "value", "unit", "better", "interval", "units_counted", "base", "note")
        types = dict.fromkeys(("original", "value"), pa.float64()) | {"interval": pa.list_(pa.float64())}
        types |= {"units_counted": pa.int64()}
        columns = {name: [getattr(score, name) for score in self] for name in names}
        return pa.table(columns, pa.schema({name: types.get(name, pa.string()) for name in names}))

    def _repr_html_(self) -> str:
        rows = [(s.measure, s.label, s.figure(s.original), s.figure(s.value), s.basis(), s.note) for s in self]
        return html_table(("measure", "", "original", "release", "of", ""), rows)


Z = 1.959963984540054  # 95 % of a normal distribution lie within this number of standard deviations


def wilson(hits: float, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by E. B. Wilson's score, which is valid near 0 and 1 too.

    Hits may be fractions, such as a chance of one in ten: these vary less than hits and misses with the same sum.
    """
    share, spread = hits / trials, Z * Z / trials
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt((share * (1 - share) + spread / 4) / trials) / (1 + spread)
    # at the ends, rounding would leave the share itself just outside
    return (0.0 if hits == 0 else centre - half), (1.0 if hits == trials else centre + half)


Risk = Literal["singling out", "linkability", "inference"]  # the regulators' words (WP29, opinion 05/2014)


@dataclass(frozen=True)
class Rate:
    """A share between 0 and 1 with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return percent(100 * self.value)


@dataclass(frozen=True, repr=False)
class AttackResult(Brief):
    """The success of an attack with some knowledge, of its control, of a guess, and of the same attack on the log."""

    _shown = ("attack", "knowledge", "rate", "control", "baseline", "original", "risk", "targets")
    attack: str  # the attack's text name
    risk_of: Risk
    knowledge: str  # what of a person the attacker knows
    rate: Rate  # of success against the release
    control: Rate  # the same attack on people who are not in what is attacked
    baseline: Rate  # guessing
    risk: Rate  # what the attack reaches above its control, relative to what could be reached
    original: Rate  # the same attack on the log with pseudonyms; if low, the attack is too weak to show anything
    targets: int
    controls: int
    controlled_by: str  # who is attacked in the control
    crowd: float | None = None  # the median number of people that a found target hides among
    smallest: int | None = None  # the smallest such number
    note: str = ""

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return asdict(self)
