"""The attacks on a release: their results as text, as HTML and for JSON, and the document about them.

The document is ordered by the three risks of the Article 29 Working Party's opinion 05/2014 on anonymisation
techniques. It names no person and no term.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from queryveil.core.display import Tabular, html_table
from queryveil.core.results import AttackResult, Rate, Risk
from queryveil.report.charts import grouped_bar_chart, responsive
from queryveil.report.rendering import group_notes, percent, render

TITLE = "Attacks on a released search log"
COLUMNS = {  # heading → what it means
    "known": "what the attacker knows about a person",
    "success": "how often the attack on the release succeeds; a person found among c people counts 1/c",
    "95 % interval": "of the success, in %",
    "in the log": "the same attack on the original log with pseudonyms only: what the release is to prevent",
    "guess": "without the release, or pointing at anybody in it",
    "control": "the same attack, scored in the same way, on people whose data are not in the release",
    "risk": "(success − control) ÷ (1 − control), at least 0: what the person's own data give away",
    "targets": "how many people were attacked, drawn at random",
    "crowd": "the median number of people among whom a person who was found hides",
    "least": "the smallest such number",
}
QUESTIONS: Mapping[Risk, str] = {
    "singling out": "Can a person be isolated in the release by somebody who knows a little about that person?",
    "linkability": "Can what the release shows be tied to another record about the same person or the same group?",
    "inference": "Can something be learnt from the release about a person that was not known before?",
}
WEAK = 0.2  # an attack with less success on the log itself is too weak to show anything
TOO_WEAK = "the attack succeeds seldom on the log itself, so that its failing here shows little"
_LEVELS = ((0.05, "low"), (0.2, "moderate"), (1.01, "high"))  # below this risk, its word
_COLOURS = {"original log": "var(--before)", "release": "var(--after)", "control": "var(--series-2)"}


@dataclass(frozen=True, repr=False)
class AttackReport(Tabular):
    """The results of attacks on one release in the order of the attacks."""

    _shown = ("release", "kind", "guarantee", "results", "skipped")
    release: str
    kind: str
    guarantee: str
    results: tuple[AttackResult, ...]
    skipped: Mapping[str, str]  # attack → why it was not run
    threats: Mapping[str, str]  # attack → who attacks, knowing what, and what counts as success
    seed: int
    queryveil: str  # the version
    seconds: float
    page: Path | None = None
    content_sha256: str = ""  # of the rows that were attacked

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and the rows as text."""
        return ["attack", *COLUMNS], [[result.attack, *_row(result, str)] for result in self.results]

    def to_arrow(self) -> Any:
        """Return a row per attack and knowledge; a rate such as `control` has `control_low` and `control_high` too."""
        import pyarrow as pa

        columns: dict[str, list[Any]] = {}
        for each in fields(AttackResult):
            values = [getattr(result, each.name) for result in self.results]
            columns[each.name] = [value.value if isinstance(value, Rate) else value for value in values]
            for end in ("low", "high") if any(isinstance(value, Rate) for value in values) else ():
                columns[f"{each.name}_{end}"] = [getattr(value, end) for value in values]
        return pa.table(columns)

    def record(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "queryveil": self.queryveil,
            "release": self.release,
            "kind": self.kind,
            "guarantee": self.guarantee,
            "content_sha256": self.content_sha256,
            "seed": self.seed,
            "results": [result.record() for result in self.results],
            "skipped": dict(self.skipped),
            "threats": dict(self.threats),
            "page": None if self.page is None else str(self.page),
            "seconds": round(self.seconds, 2),
        }

    def _repr_html_(self) -> str:
        return html_table(*self.table())


def read_attacks(record: Any) -> AttackReport:
    """Return the report that `AttackReport.record` describes; raise an error of Python if it describes none."""
    rates = {each.name for each in fields(AttackResult) if each.type is Rate}

    def read(result: Mapping[str, Any]) -> AttackResult:
        values: dict[str, Any] = {name: Rate(**value) if name in rates else value for name, value in result.items()}
        return AttackResult(**values)

    values: dict[str, Any] = {**record, "results": tuple(map(read, record["results"])), "page": None}
    report = AttackReport(**values)
    if not report.results or report.record() != {**record, "page": None}:
        raise ValueError("this is no record of attacks")
    report.table()
    return report


def render_attack_report(report: AttackReport) -> str:
    """Return the results as one HTML document; the same input gives the same bytes."""
    context = {"attacks": report, "risks": describe_risks(report), "attack_columns": COLUMNS}
    return render("attacks.html.j2", title=TITLE, version=report.queryveil, **context)


def describe_risks(report: AttackReport) -> list[dict[str, Any]]:
    """Return what the templates show of every risk."""
    return [_risk_context(risk, report) for risk in QUESTIONS]


def _risk_context(risk: Risk, report: AttackReport) -> dict[str, Any]:
    """Return what the template shows of a risk: a summary, and every attack with its threat, chart, table and notes."""
    results = [result for result in report.results if result.risk_of == risk]
    by_attack: dict[str, list[AttackResult]] = {}
    for result in results:
        by_attack.setdefault(result.attack, []).append(result)
    attacks = [
        {
            "name": name,
            "threat": report.threats.get(name, ""),
            "chart": responsive(partial(_chart, own)),
            "rows": [_row(result, _share) for result in own],
            "notes": group_notes(_notes(own), len(own), "; "),
        }
        for name, own in by_attack.items()
    ]
    summary = "not tried"
    if results:
        worst = max(results, key=lambda result: result.rate.value)
        summary = f"at most {_share(worst.rate)} success ({worst.attack}, knowing {worst.knowledge})"
    verdict = risk_verdict(risk, results)
    return {"name": risk, "question": QUESTIONS[risk], "summary": summary, "verdict": verdict, "attacks": attacks}


def risk_verdict(risk: Risk, results: Sequence[AttackResult]) -> str:
    """Return one sentence that says how great a risk is, by the attack that gains most from the release."""
    if not results:
        return f"{risk.capitalize()} was not tried, so nothing is known of it."
    worst = max(results, key=lambda result: (result.risk.value, result.rate.value))
    level = next(word for bound, word in _LEVELS if worst.risk.value < bound)
    interval = f"{100 * worst.risk.low:.1f} to {100 * worst.risk.high:.1f}%"
    sentence = (
        f"The risk of {risk} is {level}: {worst.attack}, knowing {worst.knowledge}, succeeds in {_share(worst.rate)} "
        f"of all cases, in {_share(worst.control)} without the person's data, and in {_share(worst.original)} on the "
        f"log itself; a risk of {_share(worst.risk)} (95% interval {interval}) comes from the release"
    )
    return f"{sentence}, but {TOO_WEAK}." if worst.original.value < WEAK else f"{sentence}."


def level_bounds() -> str:
    """Return what the words for risks mean."""
    (low, _), (moderate, _), _ = _LEVELS
    return f"low below {percent(100 * low)}, moderate below {percent(100 * moderate)}, high from there on"


def _chart(results: Sequence[AttackResult], is_wide: bool) -> Markup:
    rows = [(r.knowledge, [100 * rate.value for rate in (r.original, r.rate, r.control)]) for r in results]
    return grouped_bar_chart(rows, _COLOURS, "Bar chart of the success of an attack", is_wide=is_wide)


def _row(result: AttackResult, show: Callable[[Rate], str]) -> list[str]:
    """Return a result as the cells of a table row, beginning with what the attacker knows."""
    return [
        result.knowledge,
        show(result.rate),
        f"{100 * result.rate.low:.1f} – {100 * result.rate.high:.1f}",
        show(result.original),
        show(result.baseline),
        show(result.control),
        show(result.risk),
        f"{result.targets:,}",
        "–" if result.crowd is None else f"{result.crowd:,.0f}",
        "–" if result.smallest is None else f"{result.smallest:,}",
    ]


def _notes(results: Sequence[AttackResult]) -> Iterator[tuple[str, str]]:
    """Yield who the control is, what exceeds the guarantee, and whether the attack is too weak, by what is known."""
    for result in results:
        yield f"control: {result.controlled_by}", result.knowledge
        yield result.note, result.knowledge
        if result.original.value < WEAK:
            yield TOO_WEAK, result.knowledge


def _share(rate: Rate) -> str:
    return percent(100 * rate.value)
