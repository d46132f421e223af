"""Commands about releases: `anonymize`, `verify`, `measure`, `attack`, `why`, `compare` and `reproduce`.

Each function prints the result of the workflow that its decorator runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import typer

from queryveil.cli.command import workflow_command
from queryveil.cli.output import score_table, table
from queryveil.core.display import counted
from queryveil.core.results import Score, Verdict
from queryveil.workflows import requests

if TYPE_CHECKING:
    from queryveil.report.attacks import AttackReport
    from queryveil.report.comparison import MethodComparison
    from queryveil.report.reproduction import Reproduction
    from queryveil.workflows.anonymize import ReleaseResult
    from queryveil.workflows.datasheet import Datasheet
    from queryveil.workflows.explain import TermExplanation
    from queryveil.workflows.export import ExportedRelease


_OWN_PROFILES = "relevance was judged there by people's own profiles; keep the folder to yourself."


@workflow_command(
    requests.ReleaseRequest,
    "queryveil.workflows.anonymize:make_release",
    dry_run="queryveil.workflows.estimate:estimate_release",
    example="queryveil anonymize log.tsv --method 'km(k=10, m=2)' --out release --private private",
)
def anonymize(result: "ReleaseResult", request: requests.ReleaseRequest) -> None:
    """Anonymise a log and write a verified release."""
    for sentence in (*result.manifest.cleaning.sentences(), *_sentences(result.summary)):
        typer.echo(sentence, err=True)
    for warning in result.verdict.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(result.verdict.sentence())
    if result.scores:  # groups made on Spark have no measures
        typer.echo(score_table(result.scores))
    if result.attacks is not None:
        headings, rows = result.attacks.table()
        typer.echo(table(headings, rows, numbers=range(2, len(headings))))
    typer.echo(f"release: {result.location}")
    typer.echo(f"report: {result.location}/report.html")
    if result.private_location:
        typer.echo(f"private folder (keep it secret): {result.private_location}")
    typer.echo(f"done in {result.seconds:.1f} s", err=True)


def _sentences(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on what a method tried and chose, and its counts."""
    for what, value in summary.items():
        if isinstance(value, Mapping) and value and all(isinstance(share, float) for share in value.values()):
            tried = ", ".join(f"{share:.2f} by {way}" for way, share in value.items())
            yield f"{what}: {tried}; {summary.get('chosen', 'the best')} was chosen"
        elif isinstance(value, Mapping) and value and all(isinstance(number, int) for number in value.values()):
            yield f"{what}: {', '.join(counted(number, way) for way, number in value.items())}"
        elif isinstance(value, int) and not isinstance(value, bool):
            yield counted(value, what)
        elif isinstance(value, str) and what != "chosen":  # the sentence on what was tried ends with it
            yield f"{what}: {value}"


@workflow_command(
    requests.VerifyRequest,
    "queryveil.workflows.verify:verify",
    json="Print the verdict as JSON.",
    example="queryveil verify release --private private",
)
def verify(verdict: Verdict, request: requests.VerifyRequest) -> None:
    """Check a release, or any file: exit code 0 it holds, 1 it is violated, 2 it cannot be checked."""
    typer.echo("\n".join((verdict.sentence(), *(f"warning: {warning}" for warning in verdict.warnings))))
    if request.key is not None and verdict.holds:
        typer.echo(f"The manifest is signed by the key {request.key}.")


@workflow_command(
    requests.ExportRequest,
    "queryveil.workflows.export:export",
    example="queryveil export release --to csv --out release-csv",
)
def export(done: "ExportedRelease", request: requests.ExportRequest) -> None:
    """Write a verified release as CSV, TSV, JSON Lines or Parquet, with its manifest and the verdict."""
    for warning in done.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(done.verdict.sentence())
    typer.echo(f"export: {done.path} ({counted(done.rows, 'rows')} in {done.file})")


@workflow_command(
    requests.DatasheetRequest,
    "queryveil.workflows.datasheet:datasheet",
    json="Print it as JSON.",
    example="queryveil datasheet release --owner owner.toml --out datasheet.html",
)
def datasheet(sheet: "Datasheet", request: requests.DatasheetRequest) -> None:
    """Describe a verified release for those who receive it: Markdown or HTML, with what its owner states."""
    if sheet.path is None:
        typer.echo(sheet.text, nl=False)
    else:
        typer.echo(f"{'template' if request.template else 'datasheet'}: {sheet.path}")
    if sheet.missing:
        typer.echo(f"not stated by the owner: {', '.join(sheet.missing)}", err=True)


@workflow_command(
    requests.MeasureRequest,
    "queryveil.workflows.measure:measure",
    json="Print the scores as JSON.",
    record=lambda scores: [vars(score) for score in scores],
    remarks=lambda _, request: [] if request.trec is None else [f"{request.trec}: {_OWN_PROFILES}"],
    example="queryveil measure release --against log.tsv --private private",
)
def measure(scores: Sequence[Score], request: requests.MeasureRequest) -> None:
    """Measure a release, or a released log, against the original (cleaned as a release's manifest says)."""
    typer.echo(score_table(scores))


@workflow_command(
    requests.AttackRequest,
    "queryveil.workflows.attack:attack",
    json="Print the results as JSON.",
    example="queryveil attack release --against log.tsv --private private --out attacks.html",
)
def attack(result: "AttackReport", request: requests.AttackRequest) -> None:
    """Attack a release with knowledge drawn from its log: success, control, baseline and the same attack on the log."""
    headings, rows = result.table()
    typer.echo(table(headings, rows, numbers=range(2, len(headings))))
    from queryveil.report.attacks import COLUMNS

    for name, threat in result.threats.items():
        typer.echo(f"{name}: {threat}")
    for heading, meaning in COLUMNS.items():
        typer.echo(f"{heading}: {meaning}.")
    for name, reason in result.skipped.items():
        typer.echo(f"not run: {name}: {reason}")
    if result.page is not None:
        typer.echo(f"page: {result.page}")
    typer.echo(f"done in {result.seconds:.1f} s", err=True)


@workflow_command(
    requests.WhyRequest,
    "queryveil.workflows.explain:explain",
    json="Print the reasons as JSON.",
    example="queryveil why release --private private --user 142",
)
def why(explanation: "TermExplanation", request: requests.WhyRequest) -> None:
    """Say why terms or queries of a person were deleted: too few share them, or a combination. For the owner only."""
    from queryveil.workflows.explain import OWNER_ONLY

    typer.echo(OWNER_ONLY, err=True)
    typer.echo(f"{explanation.guarantee}: {explanation.required:,} people must share what is released.", err=True)
    headings, rows = explanation.table()
    typer.echo(table(headings, rows, numbers=[headings.index("queries")]))


@workflow_command(
    requests.CompareRequest,
    "queryveil.workflows.compare:compare",
    json="Print the comparison as JSON.",
    example="queryveil compare log.tsv --method 'km(k=5|10, m=2)' --out comparison.html",
)
def compare(result: "MethodComparison", request: requests.CompareRequest) -> None:
    """Run several methods on a log, verify and measure each, and show them side by side; nothing is released."""
    headings, rows = result.table()
    typer.echo(table(headings, rows, numbers=range(1, len(headings) - 1)))
    typer.echo(f"percentages are of {', '.join(f'{number:,} {what}' for what, number in result.counts.items())}.")
    if result.page is not None:
        typer.echo(f"page: {result.page}")
    typer.echo(f"done in {result.seconds:.1f} s", err=True)


@workflow_command(
    requests.ReproduceRequest,
    "queryveil.workflows.reproduce:reproduce",
    json="Print all numbers as JSON.",
    record=attrgetter("numbers"),
    remarks=lambda result, _: (*result.warnings, f"done in {result.seconds:.1f} s"),
    example="queryveil reproduce burghardt --users 2000 --out burghardt",
)
def reproduce(result: "Reproduction", request: requests.ReproduceRequest) -> None:
    """Make the tables and figures of a paper again, with the paper's own; every release is verified."""
    typer.echo(f"{result.paper}\n{result.log}")
    for found in result.tables:
        typer.echo(f"\n{found.name}: {found.caption}")
        typer.echo(table(found.headings, found.rows, numbers=found.numbers()))
        for note in found.notes:
            typer.echo(note)
    for text in result.reading:
        typer.echo(f"\n{text}")
