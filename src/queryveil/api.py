"""The Python API: the commands as functions, on files and on pandas, Polars or Arrow tables.

A function takes the options of its command as keywords; its signature and docstring are generated from them.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from queryveil.core.errors import GuaranteeError, InputError
from queryveil.core.names import Name, Value
from queryveil.core.options import Location, OptionGroup
from queryveil.core.progress import Progress, silent
from queryveil.core.progress import Timings as Timings
from queryveil.core.results import Scores, Verdict
from queryveil.engines import QueryLog, open_log
from queryveil.histories.build import Unit, build
from queryveil.histories.profile_files import is_profile_file, read_profiles
from queryveil.histories.profiles import Profiles
from queryveil.release.reader import Release, load_release
from queryveil.workflows import requests
from queryveil.workflows.search import Searcher as Searcher

if TYPE_CHECKING:
    from queryveil.logs.generate import GeneratedLog
    from queryveil.report.attacks import AttackReport
    from queryveil.report.comparison import MethodComparison
    from queryveil.report.reproduction import Reproduction
    from queryveil.workflows.anonymize import ReleaseResult
    from queryveil.workflows.explain import TermExplanation
    from queryveil.workflows.logs import WrittenProfiles
    from queryveil.workflows.search import Indexed

Log = Location | Sequence[Location] | QueryLog | Any  # or a pandas, Polars or Arrow table
F = TypeVar("F", bound=Callable[..., Any])
_PARAMETER = inspect.Parameter
_PROGRESS = "Called as progress(stage, done, total) while the work goes on."
_ERRORS = (InputError,)


def _with_options(
    request: type[OptionGroup], *, returns: str, raises: Sequence[type[Exception]] = _ERRORS
) -> Callable[[F], F]:
    """Decorate a function that takes `**options`: its signature and docstring list the options of a request."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not _PARAMETER.VAR_KEYWORD]
        named = {each.name for each in own}
        added = [
            _PARAMETER(each.name, _PARAMETER.KEYWORD_ONLY, default=each.default, annotation=each.annotation)
            for each in request.options()
            if each.name not in named
        ]
        parameters = sorted([*own, *added], key=lambda each: (each.kind, each.name == "progress"))
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.request = request  # type: ignore[attr-defined]  # for the reference page
        function.__doc__ = "\n".join(_docstring(function.__doc__ or "", parameters, request, returns, raises))
        return function

    return decorate


def _docstring(
    summary: str,
    parameters: Sequence[inspect.Parameter],
    request: type[OptionGroup],
    returns: str,
    raises: Sequence[type[Exception]],
) -> Iterator[str]:
    """Yield the lines of a docstring: summary, parameters, return value and errors."""
    purposes = {each.name: each.keyword_help for each in request.options()} | {"progress": _PROGRESS}
    yield inspect.cleandoc(summary)
    yield "\nParameters:"
    for each in parameters:
        yield from textwrap.wrap(
            f"{each.name}: {purposes[each.name]}", 110, initial_indent="    ", subsequent_indent="        "
        )
    yield f"\nReturns:\n    {returns}\n\nRaises:"
    yield from (f"    {error.__name__}: {inspect.getdoc(error)}" for error in raises)


def name(word: str, **arguments: Value) -> Name:
    """Return a text name: `name("km", k=10, m=2)` is km(k=10, m=2)."""
    return Name(word, tuple(arguments.items()))


@_with_options(
    requests.OpenRequest, returns="The open log, a context manager; `to_arrow()` gives its queries as a table."
)
def read(log: Log, *, progress: Progress = silent, **options: Any) -> QueryLog:
    """Open and clean a log; use it in a `with` block."""
    return open_log(requests.OpenRequest.from_values({"log": log, **options}).source, progress=progress)


@_with_options(
    requests.BuildRequest, returns="Everybody's terms (or whole queries) with counts, as compressed sparse rows."
)
def profiles(log: Log, *, unit: Unit = "term", progress: Progress = silent, **options: Any) -> Profiles:
    """Return histories × terms (or × whole queries) of a log; a profile file (user, term, weight) is read as it is."""
    source = requests.BuildRequest.from_values({"log": log, "unit": unit, **options}).source
    if isinstance(log, Location) and is_profile_file(Path(log)):
        return read_profiles(Path(log))
    if isinstance(log, QueryLog):
        return build(log, unit=unit, progress=progress)
    with open_log(source, progress=progress) as opened:
        return build(opened, unit=unit, progress=progress)


@_with_options(requests.ProfilesRequest, returns="The file, and how many people, terms and rows it holds.")
def write_profiles(log: Log, out: Location, *, progress: Progress = silent, **options: Any) -> "WrittenProfiles":
    """Write the profiles of a log as a file `user, term, weight`; keep it secret, it names people."""
    from queryveil.workflows.logs import write_profiles as run

    return run(requests.ProfilesRequest.from_values({"log": log, "out": out, **options}), progress=progress)


@_with_options(
    requests.ReleaseRequest,
    returns="The release: its folder, manifest, verdict and scores; it shows itself as a table in a notebook.",
    raises=(InputError, GuaranteeError),
)
def anonymize(
    log: Log, method: str | Name, out: Location, *, progress: Progress = silent, **options: Any
) -> "ReleaseResult":
    """Write a verified release of a log or of profiles.

    With `engine="spark"` the log and the folders are paths that Spark can read and write.
    """
    from queryveil.workflows.anonymize import make_release as run

    request = requests.ReleaseRequest.from_values({"log": log, "method": method, "out": out, **options})
    return run(request, progress=progress)


@_with_options(
    requests.VerifyRequest, returns="The verdict: whether the claim holds, and the smallest counterexample if not."
)
def verify(release: Location | Any, *, progress: Progress = silent, **options: Any) -> Verdict:
    """Return whether a release keeps what it claims; a table or file that is no release needs a claim."""
    from queryveil.workflows.verify import verify as run

    return run(requests.VerifyRequest.from_values({"release": release, **options}), progress=progress)


@_with_options(requests.MeasureRequest, returns="The scores, a list that shows itself as a table in a notebook.")
def measure(
    release: Location, against: Location | Sequence[Location], *, progress: Progress = silent, **options: Any
) -> Scores:
    """Score a release, or a released log, against the original, by all usual measures unless some are named.

    With `engine="spark"` all are paths that Spark can read.
    """
    from queryveil.workflows.measure import measure as run

    values = {"release": release, "against": against, **options}
    return Scores(run(requests.MeasureRequest.from_values(values), progress=progress))


@_with_options(requests.AttackRequest, returns="The result of every attack, and why others were not run.")
def attack(
    release: Location,
    against: Location | Sequence[Location],
    private: Location | None = None,
    *,
    progress: Progress = silent,
    **options: Any,
) -> "AttackReport":
    """Attack a release with knowledge drawn from its log, by all attacks that it can be attacked by or those named."""
    from queryveil.workflows.attack import attack as run

    values = {"release": release, "against": against, "private": private, **options}
    return run(requests.AttackRequest.from_values(values), progress=progress)


@_with_options(
    requests.CompareRequest, returns="Every run with its verdict and scores.", raises=(InputError, GuaranteeError)
)
def compare(
    log: Log, methods: str | Name | Sequence[str | Name], *, progress: Progress = silent, **options: Any
) -> "MethodComparison":
    """Run methods or sweeps on a log, verify and measure each; nothing is released."""
    from queryveil.workflows.compare import compare as run

    values = {"log": log, "methods": methods, **options}
    return run(requests.CompareRequest.from_values(values), progress=progress)


@_with_options(requests.ReproduceRequest, returns="The paper's tables and figures, with the paper's own numbers.")
def reproduce(paper: str, log: Log | None = None, *, progress: Progress = silent, **options: Any) -> "Reproduction":
    """Make a paper's tables and figures again, on a log (burghardt: with its market table) or on a generated one."""
    from queryveil.workflows.reproduce import reproduce as run

    return run(requests.ReproduceRequest.from_values({"paper": paper, "log": log, **options}), progress=progress)


@_with_options(requests.WhyRequest, returns="What became of each term; for the owner of the log only.")
def why(
    release: Location, private: Location, user: str, *, progress: Progress = silent, **options: Any
) -> "TermExplanation":
    """Return what became of a person's terms and why; for the owner, who holds the private folder."""
    from queryveil.workflows.explain import explain as run

    values = {"release": release, "private": private, "user": user, **options}
    return run(requests.WhyRequest.from_values(values), progress=progress)


@_with_options(requests.IndexRequest, returns="The index, and how many documents it holds and were added.")
def index(corpus: Location, out: Location, *, progress: Progress = silent, **options: Any) -> "Indexed":
    """Make an index of documents, or add documents to one; `"wordnet"` is the bundled corpus."""
    from queryveil.workflows.search import index as run

    return run(requests.IndexRequest.from_values({"corpus": corpus, "out": out, **options}), progress=progress)


def load(release: Location) -> Release:
    """Read a release folder: its manifest and its rows, as Arrow, pandas or Polars."""
    return load_release(Path(release))


@_with_options(
    requests.GenerateRequest, returns="The files, how much the log holds, and the figures of the log it resembles."
)
def generate(out: Location, *, progress: Progress = silent, **options: Any) -> "GeneratedLog":
    """Write a synthetic log to try things on, and, where asked for, a market table of its terms."""
    from queryveil.workflows.logs import generate as run

    return run(requests.GenerateRequest.from_values({"out": out, **options}), progress=progress)
