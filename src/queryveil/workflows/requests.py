"""Requests: the inputs, outputs and options of each workflow, one class per command.

The command line, the Python API and the REST service build requests with `from_values`. This module imports nothing
that is slow to import, so that `--help` is fast.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from queryveil.core.errors import InputError
from queryveil.core.names import Flag, Integer, Name, Real, Word
from queryveil.core.options import (
    AnyObject,
    CommaSeparated,
    EnginePath,
    FreeText,
    Identifier,
    Line,
    LocalPath,
    Location,
    OptionGroup,
    Place,
    TextName,
    option,
    optional_file,
    optional_place,
    required,
)
from queryveil.engines import EngineOptions, LogSource, QueryLog, log_source
from queryveil.engines.kept_columns import KeptColumn, parse_kept_columns
from queryveil.logs.options import CleaningOptions, ColumnRoles, ReadingOptions
from queryveil.search.ranking_settings import ENGINES, SPREAD, RankingOptions
from queryveil.semantics import SemanticOptions, WeightOptions
from queryveil.workflows.owner_lists import OwnerLists

COUNT = Integer(minimum=0)
_INPUTS, _OUTPUT = "Inputs of methods and measures", "Output"  # headings of help
_MARKET = "A market table (columns term, bid, clicks, impressions)."
_TAXONOMY = "The taxonomy by which vocabularies were made, if by one."
_EXCLUDED = "Terms that are never published, one on each line; a query that would be released whole goes with its term."
_MEASURES = "What to measure (queryveil list measures); may be repeated."


@dataclass(frozen=True)
class ReleaseOrLog(AnyObject):
    """A release, or somebody else's released log: anything that can be a log."""

    def convert(self, value: Any) -> Any:
        """Return where a release or the result of a run is."""
        return EnginePath().convert(value)


@dataclass(frozen=True, kw_only=True)
class LogRequest(OptionGroup):
    """Base of requests about one log: its files, and how to read and clean them."""

    log: Any = required(AnyObject(), "Files or patterns of one log.", is_argument=True, is_repeatable=True)
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    cleaning: CleaningOptions = field(default_factory=CleaningOptions)

    @property
    def source(self) -> LogSource:
        """Return the log, which is given as files, as a table or as an open log, and how to open it."""
        given = self.reading, self.cleaning, parse_kept_columns(getattr(self, "keep", ()))
        if isinstance(self.log, QueryLog) and given != (ReadingOptions(), CleaningOptions(), ()):
            raise InputError("an opened log has its options already; give them to read().")
        opened = self.log.source if isinstance(self.log, QueryLog) else self.log
        source = opened if isinstance(opened, LogSource) else log_source(opened, *given)
        exclude_terms: Path | None = getattr(self, "exclude_terms", None)
        if exclude_terms is None:
            return source
        from queryveil.logs.terms import read_terms

        return replace(source, excluded=read_terms(exclude_terms, source.cleaning.charset))


@dataclass(frozen=True, kw_only=True)
class OpenRequest(LogRequest):
    """Open and clean a log."""

    keep: tuple[str, ...] = option((), CommaSeparated(), "Columns to keep besides the queries: time, rank, url.")


@dataclass(frozen=True, kw_only=True)
class BuildRequest(LogRequest):
    """Build the profiles of a log in memory."""

    unit: str = option("term", Word(("term", "query")), "what the profiles count: terms, or whole queries")


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest(OpenRequest):
    """Make a release of a log."""

    log: Any = required(
        AnyObject(),
        "Files or patterns of one log; or profiles (columns user, term, weight).",
        is_argument=True,
        is_repeatable=True,
    )
    method: str | Name = required(
        TextName("method"), "The method, such as 'km(k=10, m=2)', 'linkability(p=0.4)' or 'vocabulary(k=5, eps=8)'."
    )
    out: Place = required(EnginePath(), "The folder of the release.", panel=_OUTPUT)
    private: Place | None = optional_place("A folder for who is behind the release; keep it secret.", panel=_OUTPUT)
    kind: str | None = option(
        None,
        FreeText(),
        "What is released: histories or log (terms by query); other methods have one kind only.",
        panel=_OUTPUT,
    )
    keep: tuple[str, ...] = option(
        (),
        CommaSeparated(),
        "Columns to release uncovered: time,rank,url; coarser: time:day (hour, minute), rank:bucket, url:domain.",
        panel=_OUTPUT,
    )
    keep_floor: int | None = option(
        None,
        Integer(1),
        "How many people must share a value of --keep, else it is left out; by default k of the guarantee.",
        panel=_OUTPUT,
    )
    values: Path | None = optional_file("Term values (columns term, value) for target=file.", panel=_INPUTS)
    market: Path | None = optional_file(_MARKET, panel=_INPUTS)
    seed: int | None = option(None, COUNT, "Seed of the random generator, to repeat a run; by default a random one.")
    start_from: Place | None = optional_place(
        "A release of this log with smaller k or m; only what it kept is considered.",
        brings="start_from_private",
        panel=_INPUTS,
    )
    start_from_private: Place | None = optional_place("The private folder of the --start-from release.", panel=_INPUTS)
    groups: Place | None = optional_place(
        "An earlier release whose groups are extended: new people join, others move only if the guarantee requires it.",
        brings="groups_private",
        panel=_INPUTS,
    )
    groups_private: Place | None = optional_place("The private folder of the --groups release.", panel=_INPUTS)
    exclude_terms: Path | None = optional_file(_EXCLUDED, panel=_INPUTS)
    attacks: tuple[str | Name, ...] = option(
        (),
        TextName("attack"),
        "An attack to run on the new release, for its report (queryveil list attacks); may be repeated.",
        flag="--attack",
        is_repeatable=True,
        panel=_OUTPUT,
    )
    title: str = option("", Line(), "A title for the report, which is published with it.", panel=_OUTPUT)
    dataset: str = option("", Line(), "What the log is, in a few words for the report and the manifest.", panel=_OUTPUT)
    sign_key: Path | None = optional_file(
        "An Ed25519 private key (PEM) by which the manifest is signed.", panel=_OUTPUT
    )
    force: bool = option(False, Flag(), "Replace an existing release and its private folder.", panel=_OUTPUT)
    lists: OwnerLists = field(default_factory=OwnerLists)
    engine_options: EngineOptions = field(default_factory=EngineOptions)
    semantics: SemanticOptions = field(default_factory=SemanticOptions)


@dataclass(frozen=True, kw_only=True)
class VerifyRequest(OptionGroup):
    """Verify a release, or a claim about any file or table."""

    release: Any = required(
        ReleaseOrLog(), "A release folder, or any file that is a log.", is_argument=True, brings="private"
    )
    claim: str | Name | None = option(
        None, TextName("guarantee"), "The guarantee to check, such as 'km(k=10, m=2)'; a release states its own."
    )
    private: Place | None = optional_place("The private folder: people are counted instead of histories.")
    exclude_terms: Path | None = optional_file(
        "The list of excluded terms that the release was made with: none of them may be published."
    )
    key: Path | None = optional_file("The Ed25519 public key (PEM) of who must have signed the manifest.")
    lists: OwnerLists = field(default_factory=OwnerLists)
    engine_options: EngineOptions = field(default_factory=EngineOptions)
    reading: ReadingOptions = field(default_factory=ReadingOptions)


@dataclass(frozen=True, kw_only=True)
class HandOverRequest(OptionGroup):
    """Base of requests that make something of a release for others, after verifying it."""

    release: Path = required(LocalPath(), "A release folder, or an export of one.", is_argument=True)
    private: Path | None = optional_file("The private folder: people are counted instead of histories.")
    key: Path | None = optional_file("The Ed25519 public key (PEM) of who must have signed the manifest.")
    lists: OwnerLists = field(default_factory=OwnerLists)


@dataclass(frozen=True, kw_only=True)
class ExportRequest(HandOverRequest):
    """Write the rows of a verified release in a form that other programs read."""

    to: str = required(Word(("csv", "tsv", "jsonl", "parquet")), "the form of the rows")
    out: Path | None = optional_file("The folder of the export; RELEASE-csv next to it unless given.")
    force: bool = option(False, Flag(), "Replace an existing export.")


@dataclass(frozen=True, kw_only=True)
class DatasheetRequest(HandOverRequest):
    """Describe a verified release for those who receive it."""

    owner: Path | None = optional_file("What only the owner knows (TOML); --template shows the fields.")
    attacks: Path | None = optional_file("The results of attacks on this release (attack --json).")
    out: Path | None = optional_file("The file: .md or .html; printed as Markdown unless given.")
    template: bool = option(False, Flag(), "Give an empty file for --owner in place of the datasheet.")
    force: bool = option(False, Flag(), "Replace an existing file.")


@dataclass(frozen=True)
class PairingOptions(OptionGroup):
    """How the queries of a released log are matched with the original, and how their sensitivity is estimated."""

    panel = "Pairs of queries"
    map: Path | None = optional_file("Who is who where ids differ: CSV with the columns original, released.")
    match: str | None = option(
        None,
        FreeText(),
        "When a released query stands for an original one: exact, words, partial or terms; exact unless given, for "
        "releases of terms what they allow.",
    )
    model: Path | None = optional_file(
        "A sensitivity model; `bayes` for the bundled naive Bayes, the bundled model of queries unless given."
    )
    words: Path | None = optional_file("Sensitive words of your own, one on each line.")
    release_format: str = option("", FreeText(), "The format of a released log; guessed unless given.")
    release_columns: str = option("", ColumnRoles(), "The columns of a released log, as in --columns.")


@dataclass(frozen=True, kw_only=True)
class MeasureRequest(OptionGroup):
    """Score a release, or another released log, against the original log."""

    release: Any = required(
        ReleaseOrLog(), "A release folder, or any released log.", is_argument=True, brings="private"
    )
    against: Any = required(AnyObject(), "Files of the log it was made from.", is_repeatable=True)
    private: Place | None = optional_place("The release's private folder.")
    measures: tuple[str | Name, ...] = option((), TextName("measure"), _MEASURES, flag="--measure", is_repeatable=True)
    market: Path | None = optional_file(_MARKET, panel=_INPUTS)
    taxonomy: Path | None = optional_file(_TAXONOMY, panel=_INPUTS)
    index: Path | None = optional_file(
        "An index (queryveil index) in which the measures search and clicks search.", panel=_INPUTS
    )
    trec: Path | None = optional_file(
        "A new folder for the rankings of search or clicks, as run and qrels files.", panel=_OUTPUT
    )
    people: Path | None = optional_file("A CSV file for the figures of every person; it names people.", panel=_OUTPUT)
    seed: int = option(0, COUNT, "Seed of the random draws.")
    force: bool = option(False, Flag(), "Replace an existing file of --people.", panel=_OUTPUT)
    pairing: PairingOptions = field(default_factory=PairingOptions)
    engine_options: EngineOptions = field(default_factory=EngineOptions)
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def original(
        self, cleaning: CleaningOptions, keep: tuple[KeptColumn, ...] = (), excluded: frozenset[str] = frozenset()
    ) -> LogSource:
        """Return the original log, cleaned in a given way and without excluded terms."""
        return log_source(self.against, self.reading, cleaning, keep, excluded)


@dataclass(frozen=True, kw_only=True)
class AttackRequest(OptionGroup):
    """Attack a release with background knowledge drawn from its log."""

    release: Place = required(EnginePath(), "A release folder.", is_argument=True, brings="private")
    against: Any = required(AnyObject(), "Files of the log it was made from.", is_repeatable=True)
    private: Place | None = optional_place(
        "The release's private folder, which says who is behind it; every attack needs it."
    )
    attacks: tuple[str | Name, ...] = option(
        (),
        TextName("attack"),
        "An attack (queryveil list attacks); may be repeated; by default all.",
        flag="--attack",
        is_repeatable=True,
    )
    control: Any = option(
        None,
        AnyObject(),
        "Files of a log of other people, for the control; by default people are taken out of the release.",
        is_repeatable=True,
    )
    taxonomy: Path | None = optional_file(_TAXONOMY)
    targets: int = option(5_000, Integer(minimum=1), "The maximum number of people to attack.")
    seed: int = option(0, COUNT, "Seed of the random draws.")
    page: Path | None = optional_file("An HTML page to write.", flag="--out", panel=_OUTPUT)
    force: bool = option(False, Flag(), "Replace an existing page.", panel=_OUTPUT)
    reading: ReadingOptions = field(default_factory=ReadingOptions)


@dataclass(frozen=True, kw_only=True)
class CompareRequest(LogRequest):
    """Compare several methods, or parameter sweeps, on one log."""

    methods: tuple[str | Name, ...] = required(
        TextName("method"),
        "A method or a sweep, such as 'km(k=2|10, m=2|3)'; may be repeated.",
        flag="--method",
        is_repeatable=True,
    )
    page: Path | None = optional_file("An HTML page with charts to write.", flag="--out", panel=_OUTPUT)
    measures: tuple[str | Name, ...] = option((), TextName("measure"), _MEASURES, flag="--measure", is_repeatable=True)
    values: Path | None = optional_file("Term values (columns term, value) for target=file.", panel=_INPUTS)
    market: Path | None = optional_file(
        "A market table (columns term, bid, clicks, impressions) for targets and measures.", panel=_INPUTS
    )
    exclude_terms: Path | None = optional_file(_EXCLUDED, panel=_INPUTS)
    reuse: bool = option(True, Flag(), "Start a run from the result of the same run with a smaller m.")
    seed: int = option(0, COUNT, "Seed of every run.")
    force: bool = option(False, Flag(), "Replace an existing page.", panel=_OUTPUT)
    lists: OwnerLists = field(default_factory=OwnerLists)
    semantics: SemanticOptions = field(default_factory=SemanticOptions)


@dataclass(frozen=True, kw_only=True)
class WarmRequest(OptionGroup):
    """Compile ahead what methods need."""

    methods: tuple[str | Name, ...] = option(
        (), TextName("method"), "A method; may be repeated. All unless given.", flag="--method", is_repeatable=True
    )


@dataclass(frozen=True, kw_only=True)
class ReproduceRequest(LogRequest):
    """Reproduce the evaluation of a paper on a given or generated log."""

    paper: str = required(FreeText(), "The paper: burghardt, zhu, liu or carpineto.", is_argument=True)
    log: Any = option(
        (), AnyObject(), "Files of a log of your own; may be repeated (burghardt: with --market).", is_repeatable=True
    )
    market: Path | None = optional_file("The log's market table (columns term, bid, clicks, impressions).")
    like: str | None = option(None, FreeText(), "What a generated log resembles; as the paper unless given.")
    users: int | None = option(None, COUNT, "People of a generated log; zhu: people who take part, 720 unless given.")
    index: Path | None = optional_file("The index in which zhu's people search; else the bundled corpus.")
    seed: int = option(1, COUNT, "Seed of a generated log and of random runs.")
    algorithm: str = option("paper", FreeText(), "The algorithm of km.")
    out: Path | None = optional_file("A folder for a page with charts and all numbers as JSON.")
    force: bool = option(False, Flag(), "Replace an existing folder.")


@dataclass(frozen=True, kw_only=True)
class ProfilesRequest(LogRequest):
    """Write the profiles of a log to a file."""

    out: Path = required(LocalPath(), "The file: .csv, .tsv or .parquet.")
    force: bool = option(False, Flag(), "Replace an existing file.")
    weighting: WeightOptions = field(default_factory=WeightOptions)


@dataclass(frozen=True, kw_only=True)
class DescribeRequest(LogRequest):
    """Describe a log in figures."""

    page: Path | None = optional_file("An HTML page with charts to write.", flag="--out")
    force: bool = option(False, Flag(), "Replace an existing page.")


@dataclass(frozen=True, kw_only=True)
class GenerateRequest(OptionGroup):
    """Generate a synthetic log."""

    out: Path = required(LocalPath(), "The file to write; .gz is compressed.", is_argument=True)
    like: str = option("demo", FreeText(), "Which log it resembles: demo, altavista or aol.")
    users: int | None = option(None, COUNT, "How many people search.")
    market_out: Path | None = optional_file(
        "Also write a market table of the log's terms (CSV: term, bid, clicks, impressions).", metavar="FILE"
    )
    seed: int = option(1, COUNT, "The same seed gives the same log.")
    force: bool = option(False, Flag(), "Replace existing files.")


@dataclass(frozen=True, kw_only=True)
class WhyRequest(OptionGroup):
    """Explain which terms of a person are missing in a release."""

    release: Place = required(EnginePath(), "A release folder.", is_argument=True, brings="private")
    private: Place = required(EnginePath(), "The release's private folder.")
    user: str = required(Identifier(), "The person, as in the log.")
    history: int | None = option(
        None, COUNT, "One history, by its number in the private folder; else all of the person."
    )
    term: str | None = option(None, FreeText(), "One term; else all of them.")


@dataclass(frozen=True, kw_only=True)
class IndexRequest(OptionGroup):
    """Build a search index of documents."""

    corpus: Location = required(
        EnginePath(), "A file or folder of documents, or wordnet, the bundled corpus.", is_argument=True
    )
    out: Path = required(LocalPath(), "The folder of the index.")
    form: str = option(
        "", FreeText(), "The form of the documents (queryveil list corpora); else it is guessed.", flag="--format"
    )
    engine: str | None = option(
        None,
        Word(ENGINES),
        "Write the documents for a search engine instead: mapping.json and bulk.ndjson, for its _bulk API.",
        flag="--for",
    )
    add: bool = option(False, Flag(), "Add the documents to the index there is.")
    force: bool = option(False, Flag(), "Replace an existing index.")


@dataclass(frozen=True, kw_only=True)
class SearchRequest(OptionGroup):
    """Search an index: unpersonalised, as a group of a release, or, for the owner of the profiles, as a person."""

    index: Path = required(LocalPath(), "An index (queryveil index).", is_argument=True)
    query: str = required(FreeText(), "What to search for.", is_argument=True)
    plain: bool = option(False, Flag(), "Search without a profile: the engine's own order.")
    group: int | None = option(None, COUNT, "As a group of --groups.", flag="--as-group")
    groups: Place | None = optional_place("A release of groups.")
    everybody: bool = option(
        False,
        Flag(),
        "As everybody, the mean of all groups of --groups: for people who are in none.",
        flag="--as-everybody",
    )
    person: str | None = option(None, Identifier(), "As a person of --profiles.", flag="--as-user")
    profiles: Path | None = optional_file("A file of profiles (user, term, weight).")
    n: int = option(10, COUNT, "How many documents.", flag="--number", short="-n")
    depth: int = option(100, COUNT, "How many of the engine's documents are re-ranked.")
    reranking: RankingOptions = field(default_factory=RankingOptions)
    explain: bool = option(False, Flag(), "Show which terms moved a document.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plain + (self.group is not None) + self.everybody + (self.person is not None) > 1:
            raise InputError(
                "a search is plain, as a group, as everybody or as a user; give one of --plain, --as-group, "
                "--as-everybody and --as-user."
            )
        if (self.group is not None or self.everybody) != (self.groups is not None):
            raise InputError(
                "--as-group names a group of the release that --groups gives, and --as-everybody means all of them; "
                "give one of them with --groups, or none."
            )
        if (self.person is None) != (self.profiles is None):
            raise InputError("--as-user names a person of the file that --profiles gives; give both or none.")


@dataclass(frozen=True, kw_only=True)
class SearchBodyRequest(OptionGroup):
    """The body of a search for an engine that people run, re-ranked by a group of a release."""

    query: str = required(FreeText(), "What to search for.", is_argument=True)
    group: int = required(COUNT, "A group of --groups.", flag="--as-group")
    groups: Place = required(EnginePath(), "A release of groups.")
    engine: str = required(Word(ENGINES), "The engine: terms is for any of Lucene's family.", flag="--for")
    n: int = option(10, COUNT, "How many documents.", flag="--number", short="-n")
    depth: int = option(100, Integer(minimum=1), "How many of the engine's documents are re-ranked.")
    spread: float = option(
        SPREAD,
        Real(0, excludes_minimum=True),
        "How many times wider the engine's scores spread than similarities, which are from 0 to 1.",
    )
    reranking: RankingOptions = field(default_factory=RankingOptions)


@dataclass(frozen=True, kw_only=True)
class SensitivityRequest(OptionGroup):
    """Train a sensitivity model on labelled queries, or explain a model's score of a query."""

    action: str = required(
        FreeText(), "train: a model on labelled queries; explain: a query's words.", is_argument=True
    )
    subject: str = required(
        FreeText(), "A CSV file (columns query, label) to train on; or the query.", is_argument=True
    )
    out: Path | None = optional_file("train: the model file to write.")
    model: Path | None = optional_file(
        "explain: a model file; `bayes` for the bundled naive Bayes, the bundled model of queries unless given."
    )
    words: Path | None = optional_file("explain: sensitive words of your own, one on each line.")
    vectors: Path | None = optional_file(
        "explain: word vectors of your own, by which words that the model lacks count like known ones."
    )
    seed: int = option(0, COUNT, "train: seed of the folds.")
    force: bool = option(False, Flag(), "train: replace an existing model file.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action not in ("train", "explain"):
            raise InputError(f"there is no {self.action!r} of sensitivity; there are train and explain.")
        if self.action == "explain" and self.out is not None:
            raise InputError("--out goes with train, and explain writes nothing; leave it out.")
        of_explain = (self.model, self.words, self.vectors)
        if self.action == "train" and (self.out is None or any(file is not None for file in of_explain)):
            raise InputError("train needs --out, the model file to write, and takes no --model, --words or --vectors.")
