"""`queryveil sensitivity`: how sensitive a query is, and a model of one's own."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.cli.options import whole_number
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.core.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sensitivity")(sensitivity)


def sensitivity(
    action: Annotated[
        str, typer.Argument(help="train: a model on labelled queries; explain: a query's words.", show_default=False)
    ],
    subject: Annotated[
        str,
        typer.Argument(help="A CSV file (columns query, label) to train on; or the query.", show_default=False),
    ],
    out: Annotated[Path | None, typer.Option(help="train: the model file to write.", show_default=False)] = None,
    model: Annotated[
        Path | None, typer.Option(help="explain: a model file; the bundled one unless given.", show_default=False)
    ] = None,
    words: Annotated[
        Path | None, typer.Option(help="explain: sensitive words of your own, one on each line.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="train: seed of the folds.", parser=whole_number, metavar="N")] = 0,
    force: Annotated[bool, typer.Option("--force", help="train: replace an older model file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Train a model of sensitive queries on labels of your own, or explain how sensitive a query is."""
    from queryveil.workflows import sensitivity as run

    if action == "explain":
        if out is not None:
            raise InputError("--out goes with train, and explain writes nothing; leave it out.")
        _say_why(run.explain(subject, model=model, words=words), as_json)
    elif action == "train":
        if out is None or model is not None or words is not None:
            raise InputError("train needs --out, the model file to write, and takes neither --model nor --words.")
        with progress_bar() as progress:
            done = run.train(Path(subject), out, seed=seed, force=force, progress=progress)
        _say_how_good(done, as_json)
    else:
        raise InputError(f"there is no {action!r} of sensitivity; there are train and explain.")
    return 0


def _say_why(why: Any, as_json: bool) -> None:
    if as_json:
        print_json(asdict(why))
        return
    rows = [("(no word)", f"{why.base:+.2f}"), *((word, f"{weight:+.2f}") for word, weight in why.words)]
    rows += [(word, "unknown") for word in why.unknown]
    typer.echo(f"sensitive with probability {why.probability:.3f}")
    typer.echo(table(("word", "adds to the log-odds"), rows, numbers=(1,)))


def _say_how_good(done: Any, as_json: bool) -> None:
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
