"""Commands about documents and queries: `index`, `search` and `sensitivity`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from queryveil.cli.command import command, workflow_command
from queryveil.cli.output import print_json, progress_bar, table
from queryveil.core.display import printable
from queryveil.workflows.requests import IndexRequest, SearchBodyRequest, SearchRequest, SensitivityRequest

if TYPE_CHECKING:
    from queryveil.search.answers import Hit
    from queryveil.sensitivity.model import Explanation
    from queryveil.workflows.search import Indexed
    from queryveil.workflows.sensitivity import Trained

_TITLE, _TEXT = 40, 70  # characters that are shown


@workflow_command(
    IndexRequest,
    "queryveil.workflows.search:index",
    json="Print the counts as JSON.",
    record=asdict,
    example="queryveil index wordnet --out definitions",
)
def index(done: "Indexed", request: IndexRequest) -> None:
    """Make an index of documents, to be searched with queryveil search."""
    if request.engine is not None:
        typer.echo(f"{done.path}: {done.documents:,} documents for {request.engine}: mapping.json, bulk.ndjson")
        return
    typer.echo(
        f"{done.path}: documents {done.documents:,}, terms {done.terms:,}, added {done.added:,} (form {done.corpus})"
    )
    if done.known:
        typer.echo(f"in the index already: {done.known:,}", err=True)
    if done.without_text:
        first = done.first_without_text
        typer.echo(f"documents without text, left out: {done.without_text:,}, the first at {first}", err=True)
    if done.files_passed_over:
        typer.echo(f"files in another format, skipped: {done.files_passed_over:,}", err=True)


@command(
    SearchRequest,
    json="Print the documents as JSON.",
    example="queryveil search definitions java --as-group 1 --groups groups",
)
def search(request: SearchRequest, as_json: bool) -> int:
    """Search an index: as nobody, in the order of a group's profile, or in that of a person's."""
    from queryveil.workflows.search import search as run

    found = run(request)
    if as_json:
        print_json(asdict(found))
        return 0
    if found.note or not found.hits:
        typer.echo(f"{found.note or 'nothing was found'}.", err=True)
    if found.hits:
        has_profile = (
            request.group is not None or request.everybody or request.person is not None
        )  # it moves documents from their ranks
        last = "why" if request.explain else "text"
        headings = ["", *(["was"] if has_profile else []), "score", "id", "title", last]
        rows = [_hit_row(hit, has_profile=has_profile, explain=request.explain) for hit in found.hits]
        typer.echo(table(headings, rows, numbers=(0, 1, 2) if has_profile else (0, 1)))
    return 0


@command(
    SearchBodyRequest,
    example="queryveil search-body java --as-group 1 --groups groups --for opensearch",
)
def search_body(request: SearchBodyRequest, _: bool) -> int:
    """Print the body of a search for OpenSearch, Elasticsearch or another engine, re-ranked by a group."""
    from queryveil.workflows.search import search_body as run

    print_json(run(request))
    return 0


def _hit_row(hit: "Hit", *, has_profile: bool, explain: bool) -> list[str]:
    last = " + ".join(f"{term} {added:.3f}" for term, added in hit.terms) if explain else _short(hit.text, _TEXT)
    texts = [printable(text) for text in (hit.id, _short(hit.title, _TITLE), last)]
    return [str(hit.rank), *([str(hit.engine_rank)] if has_profile else []), f"{hit.score:.3f}", *texts]


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


@command(
    SensitivityRequest,
    json="Print the result as JSON.",
    example="queryveil sensitivity explain 'divorce lawyer for alcoholics'",
)
def sensitivity(request: SensitivityRequest, as_json: bool) -> int:
    """Train a model of sensitive queries on labels of your own, or explain how sensitive a query is."""
    from queryveil.workflows.sensitivity import explain, train

    if request.out is None:
        found = explain(request.subject, model=request.model, words=request.words, vectors=request.vectors)
        _print_explanation(found, as_json)
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
    topic = f", topic: {explanation.topic}" if explanation.topic else ""
    typer.echo(f"sensitive with probability {explanation.probability:.3f}{topic}")
    if not explanation.words:
        typer.echo("no word of it is known to the model: measures count it as not sensitive")
    typer.echo(table(("word", "adds to the log-odds"), rows, numbers=(1,)))


def _print_evaluation(done: "Trained", as_json: bool) -> None:
    found = done.scores
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
