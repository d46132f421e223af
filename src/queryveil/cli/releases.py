"""`queryveil anonymize`, `verify`, `measure`, `attack` and `why`: releases, made and examined."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from queryveil.cli.command import command
from queryveil.cli.output import print_json, progress_bar, score_table, table
from queryveil.workflows.requests import AttackRequest, MeasureRequest, ReleaseRequest, VerifyRequest, WhyRequest

if TYPE_CHECKING:
    from queryveil.workflows.anonymize import ReleaseResult

_CODES = {"holds": 0, "violated": 1, "unchecked": 2}  # exit codes by the state of a verdict


@command(ReleaseRequest, json="Print the result as JSON.")
def anonymize(request: ReleaseRequest, as_json: bool) -> int:
    """Anonymise a log and write a verified release."""
    from queryveil.workflows.anonymize import make_release as run

    with progress_bar() as progress:
        done = run(request, progress=progress)
    if as_json:
        print_json(
            {
                "release": str(done.location),
                "report": f"{done.location}/report.html",
                "private": None if request.private is None else str(request.private),
                "verdict": done.verdict.record(),
                "manifest": done.manifest.record(),
                "scores": [score.__dict__ for score in done.scores],
                "summary": done.summary,
                "seconds": round(done.seconds, 2),
            }
        )
    else:
        _print_release(done)
    return 0


def _print_release(done: "ReleaseResult") -> None:
    for step in done.manifest.cleaning.steps:
        note = f" ({step['note']})" if step["note"] else ""
        typer.echo(f"{step['count']:,} {step['unit']}{note}", err=True)
    for sentence in _sentences(done.summary):
        typer.echo(sentence, err=True)
    typer.echo(done.verdict.sentence())
    typer.echo(score_table(done.scores))
    typer.echo(f"release: {done.location}")
    typer.echo(f"report: {done.location}/report.html")
    if done.private_location:
        typer.echo(f"private folder (keep it secret): {done.private_location}")
    typer.echo(f"done in {done.seconds:.1f} s", err=True)


def _sentences(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on what a method tried and chose, and its counts."""
    for what, value in summary.items():
        if isinstance(value, Mapping) and value and all(isinstance(share, float) for share in value.values()):
            tried = ", ".join(f"{share:.2f} by {way}" for way, share in value.items())
            yield f"{what}: {tried}; {summary.get('chosen', 'the best')} was chosen"
        elif isinstance(value, Mapping) and value and all(isinstance(number, int) for number in value.values()):
            yield f"{what}: {', '.join(f'{number:,} {way}' for way, number in value.items())}"
        elif isinstance(value, int) and not isinstance(value, bool):
            yield f"{value:,} {what}"


@command(VerifyRequest, json="Print the verdict as JSON.")
def verify(request: VerifyRequest, as_json: bool) -> int:
    """Check a release, ours or anybody's file: exit code 0 it holds, 1 it is violated, 2 it cannot be checked."""
    from queryveil.workflows.verify import verify as run

    with progress_bar() as progress:
        verdict = run(request, progress=progress)
    if as_json:
        print_json(verdict.record())
    else:
        typer.echo(verdict.sentence())
    return _CODES[verdict.state]


@command(MeasureRequest, json="Print the scores as JSON.")
def measure(request: MeasureRequest, as_json: bool) -> int:
    """Measure a release, or a released log, against the original (cleaned as a release's manifest says)."""
    from queryveil.workflows.measure import measure as run

    with progress_bar() as progress:
        scores = run(request, progress=progress)
    if as_json:
        print_json([score.__dict__ for score in scores])
    else:
        typer.echo(score_table(scores))
    if request.trec is not None:
        warning = "what is relevant there was said by people's own profiles; it is for the owner."
        typer.echo(f"{request.trec}: {warning}", err=True)
    return 0


@command(AttackRequest, json="Print the results as JSON.")
def attack(request: AttackRequest, as_json: bool) -> int:
    """Attack a release with knowledge drawn from its log: success, control, guess and the same attack on the log."""
    from queryveil.workflows.attack import attack as run

    with progress_bar() as progress:
        done = run(request, progress=progress)
    if as_json:
        print_json(done.record())
        return 0
    headings, rows = done.table()
    typer.echo(table(headings, rows, numbers=range(2, len(headings))))
    for name, reason in done.skipped.items():
        typer.echo(f"not run: {name}: {reason}")
    if done.page is not None:
        typer.echo(f"page: {done.page}")
    typer.echo(f"done in {done.seconds:.1f} s", err=True)
    return 0


@command(WhyRequest, json="Print the reasons as JSON.")
def why(request: WhyRequest, as_json: bool) -> int:
    """Say why terms of a person went: the smallest combination that too few would share. For the owner only."""
    from queryveil.workflows.explain import OWNER_ONLY
    from queryveil.workflows.explain import explain as run

    with progress_bar() as progress:
        found = run(request, progress=progress)
    if as_json:
        print_json(found.record())
        return 0
    typer.echo(OWNER_ONLY, err=True)
    typer.echo(f"{found.guarantee}: every combination of terms needs {found.required:,} people.", err=True)
    headings, rows = found.table()
    typer.echo(table(headings, rows, numbers=[headings.index("queries")]))
    return 0
