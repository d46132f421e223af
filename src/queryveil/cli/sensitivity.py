"""`queryveil sensitivity`: how sensitive a query is, and a model of one's own."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from queryveil.cli.command import command
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.workflows.requests import SensitivityRequest

if TYPE_CHECKING:
    from queryveil.sensitivity.model import Explanation
    from queryveil.workflows.sensitivity import Trained


@command(SensitivityRequest, json="Print the result as JSON.")
def sensitivity(request: SensitivityRequest, as_json: bool) -> int:
    """Train a model of sensitive queries on labels of your own, or explain how sensitive a query is."""
    from queryveil.workflows.sensitivity import explain, train

    if request.out is None:
        _print_explanation(explain(request.subject, model=request.model, words=request.words), as_json)
        return 0
    with progress_bar() as progress:
        done = train(Path(request.subject), request.out, seed=request.seed, force=request.force, progress=progress)
    _print_evaluation(done, as_json)
    return 0


def _print_explanation(explanation: "Explanation", as_json: bool) -> None:
    if as_json:
        print_json(asdict(explanation))
        return
    rows = [("(no word)", f"{explanation.base:+.2f}")]
    rows += [(word, f"{weight:+.2f}") for word, weight in explanation.words]
    rows += [(word, "unknown") for word in explanation.unknown]
    typer.echo(f"sensitive with probability {explanation.probability:.3f}")
    typer.echo(table(("word", "adds to the log-odds"), rows, numbers=(1,)))


def _print_evaluation(done: "Trained", as_json: bool) -> None:
    found = done.judgement
    if as_json:
        print_json({"model": str(done.path), "words": len(done.model.words), **asdict(found)})
        return
    typer.echo(f"{found.texts:,} queries, {found.sensitive:,} of them sensitive; 10-fold cross-validation:")
    names = ("accuracy", "balanced_accuracy", "precision", "recall", "calibration_error")
    rows = [(name.replace("_", " "), f"{getattr(found, name):.3f}") for name in names]
    typer.echo(table(("", ""), rows, numbers=(1,)))
    bins = [(f"{b.predicted:.2f}", f"{b.observed:.2f}", f"{b.texts:,}") for b in found.bins]
    typer.echo(table(("predicted", "observed", "queries"), bins, numbers=(0, 1, 2)))
    typer.echo(f"model: {done.path}")
