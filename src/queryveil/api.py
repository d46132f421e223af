"""The Python API: the commands as functions, on files and on pandas, Polars or Arrow tables.

A function takes the options of its command as keywords; its signature and docstring are generated from them. The
examples run in a folder with `log.tsv`, which the example of `generate` makes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil.core.documentation import with_options
from queryveil.core.errors import (
    CorpusError,
    GuaranteeError,
    InputError,
    InternalError,
    LogError,
    NoTermsError,
    OutputError,
    QueryveilError,
    ReleaseError,
    UnknownNameError,
    UnverifiedError,
)
from queryveil.core.files import MemoryPath, folder_of
from queryveil.core.names import Name, NameTable, Value, list_names, resolve_anywhere
from queryveil.core.options import EnginePath, Location
from queryveil.core.progress import Progress, silent
from queryveil.core.progress import Timings as Timings
from queryveil.core.results import Scores, Verdict
from queryveil.engines import QueryLog, open_log
from queryveil.histories.build import Unit, build
from queryveil.histories.profile_files import profiles_of
from queryveil.histories.profiles import Profiles
from queryveil.release.reader import Release, load_release
from queryveil.workflows import requests
from queryveil.workflows.search import Searcher

if TYPE_CHECKING:
    from queryveil.logs.generate import GeneratedLog
    from queryveil.report.attacks import AttackReport
    from queryveil.report.comparison import MethodComparison
    from queryveil.report.description import LogDescription
    from queryveil.report.reproduction import Reproduction
    from queryveil.search.answers import Answer
    from queryveil.sensitivity.model import Explanation
    from queryveil.workflows.anonymize import ReleaseResult
    from queryveil.workflows.datasheet import Datasheet
    from queryveil.workflows.estimate import ReleaseEstimate
    from queryveil.workflows.explain import TermExplanation
    from queryveil.workflows.export import ExportedRelease
    from queryveil.workflows.logs import WrittenProfiles
    from queryveil.workflows.search import Indexed
    from queryveil.workflows.sensitivity import Trained
    from queryveil.workflows.warm import CompiledKernels

__all__ = [
    "CorpusError",
    "GuaranteeError",
    "InputError",
    "InternalError",
    "LogError",
    "NoTermsError",
    "OutputError",
    "QueryveilError",
    "ReleaseError",
    "Searcher",
    "UnknownNameError",
    "UnverifiedError",
    "anonymize",
    "attack",
    "compare",
    "datasheet",
    "describe",
    "estimate",
    "export",
    "generate",
    "index",
    "load",
    "measure",
    "name",
    "names",
    "profiles",
    "read",
    "reproduce",
    "search_body",
    "search_index",
    "sensitivity_model",
    "verify",
    "warm",
    "why",
    "write_profiles",
]

Log = Location | Sequence[Location] | QueryLog | Any  # or a pandas, Polars or Arrow table
ReleaseLike = Location | Any  # or a release that was read, or the result of a run


def name(word: str, /, **arguments: Value) -> Name:
    """Return a text name: `name("km", k=10, m=2)` is km(k=10, m=2).

    Parameters:
        word: The name of a method, a measure, an attack or anything else that `names` lists.
        arguments: The values of its parameters.

    Returns:
        The name, which stands wherever its text does.

    Raises:
        UnknownNameError: A text name, a parameter or a parameter's value is not one queryveil knows.

    Example:
        >>> queryveil.name("km", k=10, m=2, target="users")
        km(k=10, m=2, target='users')
        >>> queryveil.name("km", k=5, q=2)
        Traceback (most recent call last):
        ...
        queryveil.core.errors.UnknownNameError: ...
    """
    found = Name(word, tuple(arguments.items()))
    resolve_anywhere(found)
    return found


def names(category: str) -> NameTable:
    """Return everything of a category that has a name, as a table.

    Parameters:
        category: methods, guarantees, targets, measures, attacks, kinds, formats, engines, networks or corpora.

    Returns:
        The names, over which one can iterate; `to_pandas()` has their signatures and purposes.

    Raises:
        UnknownNameError: A text name, a parameter or a parameter's value is not one queryveil knows.

    Example:
        >>> queryveil.names("methods")
        NameTable(km, linkability, vocabulary, generalize, suppress, query_k, ppp)
        >>> "retention" in queryveil.names("measures")
        True
    """
    return list_names(category)


@with_options(
    requests.OpenRequest, returns="The open log, a context manager; `to_arrow()` gives its queries as a table."
)
def read(log: Log, *, progress: Progress = silent, **options: Any) -> QueryLog:
    """Open and clean a log; use it in a `with` block.

    Example:
        >>> with queryveil.read("log.tsv") as log:
        ...     log.to_arrow().column_names
        ['person', 'query_id', 'query', 'time']
        >>> frame = pandas.DataFrame({"uid": [7, 8], "text": ["green tea", "tea"]})
        >>> with queryveil.read(frame, columns={"user": "uid", "query": "text"}) as log:
        ...     log.to_pandas()["person"].tolist()
        ['7', '8']
    """
    return open_log(requests.OpenRequest.from_values({"log": log, **options}).source, progress=progress)


@with_options(
    requests.BuildRequest, returns="Everybody's terms (or whole queries) with counts, as compressed sparse rows."
)
def profiles(log: Log, *, unit: Unit = "term", progress: Progress = silent, **options: Any) -> Profiles:
    """Return histories × terms (or × whole queries) of a log; a profile file (user, term, weight) is read as it is.

    Example:
        >>> queryveil.profiles("log.tsv").n_people
        500
        >>> list(queryveil.profiles("log.tsv", unit="query").to_pandas())
        ['history', 'person', 'entry', 'count']
    """
    source = requests.BuildRequest.from_values({"log": log, "unit": unit, **options}).source
    if isinstance(log, QueryLog):
        return build(log, unit=unit, progress=progress)
    found = profiles_of(source)
    if found is not None:
        return found
    with open_log(source, progress=progress) as opened:
        return build(opened, unit=unit, progress=progress)


@with_options(
    requests.DescribeRequest,
    returns="The log in figures; `next_commands()` says what to try, `to_pandas()` lists them.",
)
def describe(log: Log, *, progress: Progress = silent, **options: Any) -> "LogDescription":
    """Return what is in a log in figures, without any of its terms, queries or people.

    Example:
        >>> found = queryveil.describe("log.tsv")
        >>> found.people
        500
    """
    from queryveil.workflows.describe import describe as run

    return run(requests.DescribeRequest.from_values({"log": log, **options}), progress=progress)


@with_options(requests.ProfilesRequest, returns="The file, and how many people, terms and rows it holds.")
def write_profiles(log: Log, out: Location, *, progress: Progress = silent, **options: Any) -> "WrittenProfiles":
    """Write the profiles of a log as a file `user, term, weight`; keep it secret, it names people.

    Example:
        >>> queryveil.write_profiles("log.tsv", "profiles.csv").people
        500
    """
    from queryveil.workflows.logs import write_profiles as run

    return run(requests.ProfilesRequest.from_values({"log": log, "out": out, **options}), progress=progress)


@with_options(
    requests.ReleaseRequest,
    returns="The release: its rows (`to_pandas()`), manifest, verdict and scores, and where it was written.",
    raises=(InputError, GuaranteeError),
)
def anonymize(
    log: Log, method: str | Name, out: Location | None = None, *, progress: Progress = silent, **options: Any
) -> "ReleaseResult":
    r"""Make a verified release of a log or of profiles, and write it into a folder.

    Without `out` the release and who is behind it stay in memory, and nothing is written. With `engine="spark"` the log
    and the folders are paths that Spark can read and write.

    Example:
        >>> done = queryveil.anonymize("log.tsv", "km(k=5, m=2)", "release", private="private", seed=1)
        >>> done.verdict.holds, done.verdict.counted
        (True, 'people')
        >>> frame = pandas.read_csv("log.tsv", sep="\t", keep_default_na=False)
        >>> in_memory = queryveil.anonymize(frame, queryveil.name("km", k=5, m=2), seed=1)
        >>> in_memory.to_pandas().equals(done.to_pandas())
        True
    """
    from queryveil.workflows.anonymize import make_release as run

    values = {"log": log, "method": method, "out": out, **options}
    if out is None:
        if options.get("private") is not None:
            raise InputError("--private goes with a release that is written; name a folder for that by --out.")
        values |= {"out": MemoryPath("the release in memory"), "private": MemoryPath("the private folder in memory")}
    return run(requests.ReleaseRequest.from_values(values), progress=progress)


@with_options(
    requests.VerifyRequest, returns="The verdict: whether the claim holds, and the smallest counterexample if not."
)
def verify(release: ReleaseLike, *, progress: Progress = silent, **options: Any) -> Verdict:
    """Return whether a release keeps what it claims; a table or file that is no release needs a claim.

    The release is a folder, what `load` read of one, or the result of `anonymize`, which knows its private folder.

    Example:
        >>> done = queryveil.anonymize("log.tsv", "km(k=5, m=2)")
        >>> queryveil.verify(done).holds
        True
        >>> queryveil.verify(done, claim="km(k=50, m=3)").state
        'violated'
    """
    from queryveil.workflows.verify import verify as run

    return run(requests.VerifyRequest.from_values({"release": release, **options}), progress=progress)


@with_options(
    requests.ReleaseRequest,
    returns="The estimate: what the method keeps of a sample, and rows, time and memory for the whole log.",
    raises=(InputError, GuaranteeError),
)
def estimate(log: Log, method: str | Name, *, progress: Progress = silent, **options: Any) -> "ReleaseEstimate":
    """Check everything that a release would need and try the method on a sample of the log; nothing is written.

    Example:
        >>> queryveil.estimate("log.tsv", "km(k=5, m=2)", seed=1).sample["people"]
        500
    """
    from queryveil.workflows.estimate import estimate_release as run

    values = {"log": log, "method": method, "out": MemoryPath("the release"), **options}
    return run(requests.ReleaseRequest.from_values(values), progress=progress)


@with_options(
    requests.ExportRequest,
    returns="The export: its folder, the file of the rows, their number and the verdict.",
    raises=(InputError, UnverifiedError),
)
def export(
    release: ReleaseLike, to: str, out: Location | None = None, *, progress: Progress = silent, **options: Any
) -> "ExportedRelease":
    """Write the rows of a release as CSV, TSV, JSON Lines or Parquet; a release that does not verify is refused.

    Example:
        >>> done = queryveil.anonymize("log.tsv", "km(k=5, m=2)", "to-export", seed=1)
        >>> queryveil.export("to-export", "csv", "to-export-csv").verdict.holds
        True
    """
    from queryveil.workflows.export import export as run

    values = {"release": release, "to": to, "out": out, **options}
    return run(requests.ExportRequest.from_values(values), progress=progress)


@with_options(
    requests.DatasheetRequest,
    returns="The datasheet: its text, the file where one was written, and the fields that the owner has not stated.",
    raises=(InputError, UnverifiedError),
)
def datasheet(release: ReleaseLike, *, progress: Progress = silent, **options: Any) -> "Datasheet":
    """Describe a release for those who receive it; a release that does not verify is refused.

    Example:
        >>> done = queryveil.anonymize("log.tsv", "km(k=5, m=2)", "to-describe", seed=1)
        >>> queryveil.datasheet("to-describe").text.splitlines()[0]
        '# Datasheet of a released search log'
    """
    from queryveil.workflows.datasheet import datasheet as run

    return run(requests.DatasheetRequest.from_values({"release": release, **options}), progress=progress)


@with_options(
    requests.MeasureRequest,
    returns="The scores, in order; a notebook shows them as a table, `to_pandas()` returns one.",
)
def measure(release: ReleaseLike, against: Log, *, progress: Progress = silent, **options: Any) -> Scores:
    """Score a release, or a released log, against the original, by all usual measures unless some are named.

    With `engine="spark"` all are paths that Spark can read.

    Example:
        >>> done = queryveil.anonymize("log.tsv", "km(k=5, m=2)")
        >>> scores = queryveil.measure(done, "log.tsv", measures=["retention"])
        >>> scores.to_pandas()["label"].tolist()
        ['distinct terms', 'log size', 'users', 'pairs']
    """
    from queryveil.workflows.measure import measure as run

    values = {"release": release, "against": against, **options}
    return Scores(run(requests.MeasureRequest.from_values(values), progress=progress))


@with_options(requests.AttackRequest, returns="The result of every attack, and why others were not run.")
def attack(
    release: ReleaseLike,
    against: Log,
    private: Location | None = None,
    *,
    progress: Progress = silent,
    **options: Any,
) -> "AttackReport":
    """Attack a release with knowledge drawn from its log, by all attacks that it can be attacked by or those named.

    Example:
        >>> done = queryveil.anonymize("log.tsv", "km(k=5, m=2)")
        >>> report = queryveil.attack(done, "log.tsv", attacks=["known_terms(m=2)"])
        >>> frame = report.to_pandas()
        >>> bool((frame["rate"] < frame["original"]).all())
        True
    """
    from queryveil.workflows.attack import attack as run

    values = {"release": release, "against": against, "private": private, **options}
    return run(requests.AttackRequest.from_values(values), progress=progress)


@with_options(
    requests.CompareRequest,
    returns="Every run with its verdict and scores; `to_pandas()` has a row for each.",
    raises=(InputError, GuaranteeError),
)
def compare(
    log: Log, methods: str | Name | Sequence[str | Name], *, progress: Progress = silent, **options: Any
) -> "MethodComparison":
    """Run methods or sweeps on a log, verify and measure each; nothing is released.

    Example:
        >>> runs = queryveil.compare("log.tsv", "km(k=5|10, m=2)", measures=["retention"])
        >>> runs.to_pandas()["k"].tolist()
        [5, 10]
    """
    from queryveil.workflows.compare import compare as run

    values = {"log": log, "methods": methods, **options}
    return run(requests.CompareRequest.from_values(values), progress=progress)


@with_options(requests.ReproduceRequest, returns="The paper's tables and figures, with the paper's own numbers.")
def reproduce(paper: str, log: Log | None = None, *, progress: Progress = silent, **options: Any) -> "Reproduction":
    """Make a paper's tables and figures again, on a log (burghardt: with its market table) or on a generated one.

    Example:
        >>> made = queryveil.reproduce("carpineto", users=200)
        >>> len(made.tables), len(made.figures)
        (10, 4)
    """
    from queryveil.workflows.reproduce import reproduce as run

    return run(requests.ReproduceRequest.from_values({"paper": paper, "log": log, **options}), progress=progress)


@with_options(requests.WhyRequest, returns="What became of each term; for the owner of the log only.")
def why(
    release: ReleaseLike,
    private: Location | None = None,
    user: Any = None,
    *,
    progress: Progress = silent,
    **options: Any,
) -> "TermExplanation":
    """Return what became of a person's terms and why; for the owner, who holds the private folder.

    Example:
        >>> done = queryveil.anonymize("log.tsv", "km(k=5, m=2)")
        >>> person = queryveil.profiles("log.tsv").persons[0]
        >>> found = queryveil.why(done, user=person)
        >>> list(found.to_pandas())[:4]
        ['history', 'term', 'count', 'kept']
    """
    from queryveil.workflows.explain import explain as run

    values = {"release": release, "private": private, "user": user, **options}
    return run(requests.WhyRequest.from_values(values), progress=progress)


@with_options(requests.IndexRequest, returns="The index, and how many documents it holds and were added.")
def index(corpus: Location, out: Location, *, progress: Progress = silent, **options: Any) -> "Indexed":
    r"""Make an index of documents, or add documents to one; `"wordnet"` is the bundled corpus.

    Example:
        >>> lines = '{"id": "1", "text": "green tea"}\n{"id": "2", "text": "cheap flights"}\n'
        >>> _ = Path("documents.jsonl").write_text(lines)
        >>> queryveil.index("documents.jsonl", "index").documents
        2
    """
    from queryveil.workflows.search import index as run

    return run(requests.IndexRequest.from_values({"corpus": corpus, "out": out, **options}), progress=progress)


@with_options(requests.SearchRequest, returns="The documents that were found, best first (`hits`).")
def search_index(index: Location, query: str, **options: Any) -> "Answer":
    r"""Search an index once: unpersonalised, as a group, or as a person; for many searches, a `Searcher` is faster.

    Example:
        >>> lines = '{"id": "1", "text": "green tea"}\n{"id": "2", "text": "cheap flights"}\n'
        >>> _ = Path("documents.jsonl").write_text(lines)
        >>> made = queryveil.index("documents.jsonl", "index")
        >>> [hit.id for hit in queryveil.search_index("index", "tea").hits]
        ['1']
    """
    from queryveil.workflows.search import search as run

    return run(requests.SearchRequest.from_values({"index": index, "query": query, **options}))


@with_options(requests.SearchBodyRequest, returns="The body, to be sent to the engine's `_search` as JSON.")
def search_body(query: str, group: int, groups: ReleaseLike, engine: str, **options: Any) -> dict[str, Any]:
    """Return the body of a search for OpenSearch, Elasticsearch or another engine, re-ranked by a group.

    Example:
        >>> made = queryveil.anonymize("log.tsv", "linkability(p=0.4)", "groups", private="private", seed=1)
        >>> body = queryveil.search_body("java", 0, made, "opensearch")
        >>> body["ext"]["ubi"]["client_id"]
        'group-0'
    """
    from queryveil.workflows.search import search_body as run

    values = {"query": query, "group": group, "groups": groups, "engine": engine, **options}
    return run(requests.SearchBodyRequest.from_values(values))


@with_options(
    requests.SensitivityRequest,
    returns="explain: the probability and what each word adds; train: the model and its cross-validation.",
)
def sensitivity_model(
    action: str, subject: str | Path, *, progress: Progress = silent, **options: Any
) -> "Explanation | Trained":
    """Explain how sensitive a query is, or train a model of sensitive queries on labels of your own.

    Example:
        >>> found = queryveil.sensitivity_model("explain", "symptoms of diabetes")
        >>> found.probability > 0.5
        True
    """
    from queryveil.workflows.sensitivity import explain, train

    request = requests.SensitivityRequest.from_values({"action": action, "subject": str(subject), **options})
    if request.out is None:
        return explain(request.subject, model=request.model, words=request.words, vectors=request.vectors)
    return train(Path(request.subject), request.out, seed=request.seed, force=request.force, progress=progress)


def load(release: ReleaseLike) -> Release:
    """Read a release: its manifest and its rows, as Arrow, pandas or Polars.

    Parameters:
        release: The folder of a release, or the result of `anonymize`.

    Returns:
        The release; `faults` says where it is not what its manifest says.

    Raises:
        ReleaseError: A release, its manifest or its private folder cannot be read.

    Example:
        >>> done = queryveil.anonymize("log.tsv", "km(k=5, m=2)", "release")
        >>> queryveil.load("release").to_pandas().columns.tolist()
        ['user', 'term']
    """
    return load_release(folder_of(EnginePath().convert(release)))


@with_options(requests.WarmRequest, returns="How many kernels are compiled, where, and how long it took.")
def warm(methods: str | Name | Sequence[str | Name] = (), *, progress: Progress = silent) -> "CompiledKernels":
    """Compile ahead what `anonymize`, `verify` and `measure` need for the methods, all unless some are named.

    Example:
        >>> queryveil.warm("query_k(k=2)").kernels > 0
        True
    """
    from queryveil.workflows.warm import warm as run

    return run(requests.WarmRequest.from_values({"methods": methods}), progress=progress)


@with_options(
    requests.GenerateRequest, returns="The files, how much the log holds, and the figures of the log it resembles."
)
def generate(out: Location, *, progress: Progress = silent, **options: Any) -> "GeneratedLog":
    """Write a synthetic log to try things on, and, where asked for, a market table of its terms.

    Example:
        >>> queryveil.generate("log.tsv", users=500, seed=1, force=True).people
        500
    """
    from queryveil.workflows.logs import generate as run

    return run(requests.GenerateRequest.from_values({"out": out, **options}), progress=progress)
