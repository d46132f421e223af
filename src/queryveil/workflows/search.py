"""Indexing documents, and searching them: unpersonalised, as a group of a release, or as a person."""

import difflib
import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from queryveil.core.display import Brief
from queryveil.core.errors import CorpusError, InputError, OutputError, ReleaseError, UnknownNameError
from queryveil.core.evidence import GroupMembers, ReleasedGroups
from queryveil.core.files import folder_of, write_errors_as_sentences, write_file
from queryveil.core.options import EnginePath, Place
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import IntArray
from queryveil.histories.profile_files import is_profile_file, read_profiles
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.atomic_folder import NEW, move_into_place, open_workspace, prepare_target, recover_all
from queryveil.release.reader import load_release
from queryveil.search.answers import Answer, SearchOptions, answer, answer_uncompiled
from queryveil.search.builder import IndexBuilder, batches
from queryveil.search.corpora.base import Document, find_corpus, read_documents
from queryveil.search.index import RECORD_FILE, Index, open_index
from queryveil.search.ranking import ProfileVector, RankingProfile
from queryveil.search.ranking_settings import BLENDED, RankingSettings, ranking_settings
from queryveil.search.rescoring import DIALECTS, EngineDialect, OpenVocabulary, bulk_lines, heaviest_terms, rescore_part
from queryveil.search.rescoring import search_body as build_body
from queryveil.workflows.inspect import UNKNOWN_PERSON
from queryveil.workflows.requests import IndexRequest, SearchBodyRequest, SearchRequest

BULK_FILE, MAPPING_FILE = "bulk.ndjson", "mapping.json"
NO_GROUPS = "a group is one of a release; give the release as groups."


@dataclass(frozen=True, repr=False)
class Indexed(Brief):
    """An index, and how many documents of the corpus were added to it."""

    _shown = ("path", "documents", "terms", "added")
    path: Path
    corpus: str  # format of the documents
    documents: int  # in the index
    terms: int
    added: int
    known: int  # unchanged, because the index had them already
    without_text: int  # skipped
    first_without_text: str  # location of the first of them
    files_passed_over: int  # in another format


def index(request: IndexRequest, *, progress: Progress = silent) -> Indexed:
    """Write an index of a corpus, or add the corpus to an index; an existing index stays until the new one is ready."""
    corpus, out, add, force = request.corpus, request.out, request.add, request.force
    if add and force:
        raise InputError("--add keeps the index there is and --force replaces it; give one of them.")
    if add and request.engine is not None:
        raise InputError("--add is for an index of our own, and --for writes anew; leave one of them out.")
    decider = RECORD_FILE if request.engine is None else MAPPING_FILE
    target = prepare_target(out, decider, force=add or force)
    if Path(corpus).is_dir() and target.resolve().is_relative_to(Path(corpus).resolve()):
        raise OutputError(f"{out} would lie among the documents of {corpus}; choose another place.")
    old = open_index(target) if add else None
    found = find_corpus(corpus, request.form)
    built = NEW if request.engine is None else "index"
    with (
        write_errors_as_sentences(out, "nothing was written"),
        open_workspace(target) as workspace,
        closing(_IndexRun(workspace / built, old)) as run,
    ):
        for batch in batches(read_documents(found, progress)):
            run.add(batch)
        if not run.builder.n_documents:
            raise CorpusError(f"{corpus} has no document with text; give documents that have some.")
        if run.n_added:
            progress("writing", 0, 0)
            run.builder.finish()
            if request.engine is not None:
                _write_for_engine(workspace / NEW, open_index(workspace / built), DIALECTS[request.engine])
            move_into_place(workspace, target, force=add or force)
        return run.result(target, found.corpus.name, found.n_skipped)


def _write_for_engine(folder: Path, index: Index, dialect: EngineDialect) -> None:
    """Write documents as the `_bulk` API takes them, and the mapping last."""
    folder.mkdir()
    with (folder / BULK_FILE).open("wb") as stream:
        stream.writelines(bulk_lines(index, dialect))
    write_file(folder / MAPPING_FILE, json.dumps(dialect.mapping(), indent=2).encode() + b"\n")


class _IndexRun:
    """Adds documents to an index and counts the added, known and skipped ones."""

    def __init__(self, folder: Path, old: Index | None) -> None:
        folder.mkdir()
        self.builder = IndexBuilder(folder, old)
        self.n_added = self._n_known = self._n_without_text = 0
        self._first_without_text = ""
        self._old = old
        self._seen_ids: set[str] = set()

    def close(self) -> None:
        """Close the files."""
        self.builder.close()

    def add(self, documents: list[Document]) -> None:
        """Add the documents of a batch that the index does not have yet."""
        new = [document for document in documents if not self._is_known(document)]
        skipped = self.builder.add(new)
        if skipped and not self._n_without_text:
            self._first_without_text = skipped[0].location
        self.n_added += len(new) - len(skipped)
        self._n_known += len(documents) - len(new)
        self._n_without_text += len(skipped)

    def result(self, path: Path, corpus: str, n_skipped_files: int) -> Indexed:
        """Return the counts."""
        return Indexed(
            path,
            corpus,
            self.builder.n_documents,
            self.builder.n_terms,
            self.n_added,
            self._n_known,
            self._n_without_text,
            self._first_without_text,
            n_skipped_files,
        )

    def _is_known(self, document: Document) -> bool:
        """Return whether the index has the document; raise if its id is used twice or for another text."""
        if document.id in self._seen_ids:
            raise CorpusError(
                f"{document.location}: the id {document.id} occurs a second time; give every document its own."
            )
        self._seen_ids.add(document.id)
        if self._old is None or document.id not in self._old.documents.number_of:
            return False
        if self._old.documents.get(self._old.documents.number_of[document.id])[1:] != (document.title, document.text):
            raise CorpusError(
                f"{document.location}: the index has another text under the id {document.id}; "
                "make the index anew from all documents with --force."
            )
        return True


class Searcher(Brief):
    """An index and the groups of a release, held in memory; any number of threads may search at once.

    It takes a group, never a person: whoever serves searches needs to know only which group somebody is in.

    Parameters:
        index: The folder of an index.
        groups: A release of groups, or the result that made it; without one, searches are not personalised.

    Returns:
        A searcher, whose `search` answers queries.

    Raises:
        InputError: Something the user gave cannot be used.

    Example:
        >>> _ = Path("documents.jsonl").write_text('{"id": "1", "text": "green tea"}')
        >>> made = queryveil.index("documents.jsonl", "index")
        >>> queryveil.Searcher("index")
        Searcher(documents=1, groups=0)
    """

    _shown = ("n_documents", "groups")

    def __init__(self, index: str | Path, groups: Any = None) -> None:
        """Open an index, and the groups where they are given."""
        self.index = _open_index(Path(index))
        self._groups = None if groups is None else GroupProfiles(EnginePath().convert(groups), self.index)

    @property
    def n_documents(self) -> int:
        """Count the documents of the index."""
        return len(self.index.documents)

    @property
    def groups(self) -> tuple[int, ...]:
        """Return the groups that can be searched as."""
        return () if self._groups is None else self._groups.numbers

    def has_group(self, group: int) -> bool:
        """Return whether the release has the group."""
        return self._groups is not None and self._groups.has(group)

    def rescore(
        self, group: int, engine: str, settings: RankingSettings, *, query: str = "", depth: int, spread: float
    ) -> dict[str, Any]:
        """Return the `rescore` part of a search body for another engine; terms that our index lacks are left out."""
        if self._groups is None:
            raise InputError(NO_GROUPS)
        dialect, profile = DIALECTS[engine], self._groups.profile(group)
        heaviest = heaviest_terms(profile, self.index.vector((query,), (1.0,)), settings, dialect.most_terms)
        terms = [(self.index.terms[term], weight) for term, weight in heaviest]
        return rescore_part(terms, settings, dialect, depth=depth, spread=spread)

    def search(
        self,
        query: str,
        group: int | None = None,
        *,
        n: int = 10,
        depth: int = 100,
        ranking: str = BLENDED,
        blend: float | None = None,
        shrink: float | None = None,
        query_weight: float | None = None,
        everybody: bool = False,
        explain: bool = False,
    ) -> Answer:
        """Return the best documents for a query: in the engine's own order, or in that of a group's profile.

        Parameters:
            query: What to search for.
            group: As a group of the release; without one, the order is the engine's own.
            n: How many documents.
            depth: How many of the engine's documents are re-ranked.
            ranking: `blended`, or `paper` to rank by the profile alone.
            blend: The weight of the engine's own score against the profile, from 0 to 1.
            shrink: The weight of everybody's profile against the group's, from 0 to 1.
            query_weight: The weight of the query's own terms next to the profile, from 0 to 1.
            everybody: As everybody, the mean of all groups: for people who are in none.
            explain: Whether to add which terms moved a document.

        Returns:
            The documents that were found, best first (`hits`).

        Raises:
            InputError: Something the user gave cannot be used.

        Example:
            >>> _ = Path("documents.jsonl").write_text('{"id": "1", "text": "green tea"}')
            >>> made = queryveil.index("documents.jsonl", "index")
            >>> [hit.id for hit in queryveil.Searcher("index").search("tea").hits]
            ['1']
        """
        profile = None
        if group is not None and everybody:
            raise InputError("a search is as a group or as everybody; leave one of them out.", field="everybody")
        if group is not None or everybody:
            if self._groups is None:
                raise InputError(NO_GROUPS)
            profile = self._groups.everybody() if group is None else self._groups.profile(group)
        settings = ranking_settings(ranking, blend=blend, shrink=shrink, query_weight=query_weight)
        return answer(self.index, query, profile, SearchOptions(n, depth, settings, explain))


class GroupProfiles:
    """The groups of a release and everybody, the mean of all groups, as vectors, computed on first use and cached."""

    def __init__(self, path: Place, index: Index | OpenVocabulary) -> None:
        release = load_release(folder_of(path))
        groups = release.kind.read_evidence(release.rows, None, 1).find(ReleasedGroups)
        if groups is None:
            kind = release.manifest.kind
            raise ReleaseError(f"{path} is a release of {kind}, not of groups; make one with linkability.")
        if release.faults:
            raise ReleaseError(f"{path} is not as it was released: {release.faults[0]}; get it anew.")
        self._path, self._index, self._released = path, index, groups
        self.numbers: tuple[int, ...] = tuple(groups.groups.tolist())
        self._profiles: dict[int, RankingProfile] = {}

    def has(self, group: int) -> bool:
        """Return whether the release has the group."""
        return group in self._profiles or self._row(group) is not None

    def profile(self, group: int) -> RankingProfile:
        """Return the profile of a group; the error for an unknown group names the nearest ones."""
        found = self._profiles.get(group)
        if found is None:  # threads may race here, but they compute the same vector
            found = self._profiles[group] = RankingProfile(self._vector(group), self._everybody)
        return found

    def everybody(self) -> RankingProfile:
        """Return the profile of people who are in no group: that of everybody."""
        return RankingProfile(self._everybody)

    @cached_property
    def _everybody(self) -> ProfileVector:
        released = self._released
        totals = np.bincount(released.ids, released.weights, minlength=len(released.terms))
        return self._index.vector(released.terms, totals.tolist())

    def _vector(self, group: int) -> ProfileVector:
        released, row = self._released, self._row(group)
        if row is None:
            raise UnknownNameError(f"{self._path} has no group {group}; {nearest_numbers(group, self.numbers)}")
        entries = slice(released.indptr[row], released.indptr[row + 1])
        terms = [released.terms[number] for number in released.ids[entries].tolist()]
        return self._index.vector(terms, released.weights[entries].tolist())

    def _row(self, group: int) -> int | None:
        groups = self._released.groups
        row = int(np.searchsorted(groups, group))
        return row if row < len(groups) and groups[row] == group else None


def search_body(request: SearchBodyRequest) -> dict[str, Any]:
    """Return the body of a search for another engine, re-ranked by a group of a release."""
    dialect, settings, vocabulary = DIALECTS[request.engine], request.reranking.settings(), OpenVocabulary()
    profile = GroupProfiles(request.groups, vocabulary).profile(request.group)
    query = vocabulary.vector((request.query,), (1.0,))
    heaviest = heaviest_terms(profile, query, settings, dialect.most_terms)
    terms = [(vocabulary.terms[term], weight) for term, weight in heaviest]
    rescore = rescore_part(terms, settings, dialect, depth=request.depth, spread=request.spread)
    return build_body(request.query, request.group, rescore, dialect, n=request.n)


def search(request: SearchRequest) -> Answer:
    """Answer one query; for many, a `Searcher` is faster."""
    options = SearchOptions(request.n, request.depth, request.reranking.settings(), request.explain)
    index, profile = _open_index(request.index), None
    if request.group is not None and request.groups is not None:
        profile = GroupProfiles(request.groups, index).profile(request.group)
    elif request.everybody and request.groups is not None:
        profile = GroupProfiles(request.groups, index).everybody()
    elif request.person is not None and request.profiles is not None:
        profile = RankingProfile(_load_profile(index, request.person, request.profiles))
    return answer_uncompiled(index, request.query, profile, options)


def _load_profile(index: Index, person: str, path: Path) -> ProfileVector:
    """Return a person's profile from a profile file."""
    if not path.exists():
        raise InputError(f"there is no file {path}; check --profiles.")
    if not is_profile_file(path):
        raise InputError(f"{path} is no profile file (user, term, weight); queryveil profiles writes one.")
    people = read_profiles(path)
    if person not in people.persons:
        near = difflib.get_close_matches(person, people.persons, n=3, cutoff=0.0)
        raise UnknownNameError(f"{path} has no user {person!r}; the nearest are {', '.join(near)}.")
    history = people.persons.index(person)
    row = slice(people.indptr[history], people.indptr[history + 1])
    terms = [people.vocabulary[entry] for entry in people.ids[row].tolist()]
    weights = np.ones(len(terms)) if people.weights is None else people.weights[row]
    return index.vector(terms, weights.tolist())


def _open_index(path: Path) -> Index:
    """Open an index, recovering it first if a killed run had moved it aside."""
    if not path.exists() and path.parent.is_dir():
        recover_all(path.parent)
    return open_index(path)


def nearest_numbers(wanted: int, known: Iterable[int]) -> str:
    """Return a clause that names the three numbers nearest to an unknown one."""
    near = sorted(known, key=lambda number: (abs(number - wanted), number))[:3]
    return f"the nearest are {', '.join(map(str, sorted(near)))}."


class People:
    """Who was grouped, by numbers from 0 in the order of the private folder, which alone says who they are."""

    def __init__(self, release: Path, private: Path) -> None:
        """Read a release and the private folder that belongs to it."""
        loaded, folder = load_release(release), PrivateFolder(private)
        folder.check_belongs(loaded.manifest.content_sha256)
        evidence = loaded.kind.read_evidence(loaded.rows, folder, loaded.manifest.floor)
        self._released, self._members = evidence.get(ReleasedGroups), evidence.get(GroupMembers)
        self._folder = folder

    def number(self, user: str) -> int:
        """Return the number of a user, as the log calls them; of one with several histories, that of the first."""
        found = int(pc.index(self._folder.histories()["person"], user).as_py())
        if found < 0:
            raise InputError(UNKNOWN_PERSON, field="user")
        return found

    def __len__(self) -> int:
        return len(self._members.group)

    @property
    def n_terms(self) -> IntArray:
        """Return how many terms everybody's profile has."""
        return np.diff(self._members.indptr)

    def group(self, person: int) -> int | None:
        """Return the group of a person; None of one who is in no published group."""
        self._check(person)
        place = int(self._members.group[person])
        return None if place < 0 else int(self._released.groups[place])

    def profile(self, person: int, index: Index) -> RankingProfile:
        """Return a person's own profile over the terms of an index."""
        self._check(person)
        members = self._members
        row = slice(members.indptr[person], members.indptr[person + 1])
        terms = [members.terms[i] for i in members.ids[row].tolist()]
        return RankingProfile(index.vector(terms, members.weights[row].tolist()))

    def longest(self, n: int) -> list[int]:
        """Return the people with the longest profiles, of every group one; ties by number."""
        found: dict[int, int] = {}
        for person in np.argsort(-self.n_terms, kind="stable").tolist():
            group = int(self._members.group[person])
            if group >= 0:
                found.setdefault(group, person)
            if len(found) == n:
                break
        return list(found.values())

    def _check(self, person: int) -> None:
        if not 0 <= person < len(self):
            raise UnknownNameError(f"there are {len(self):,} people, numbered from 1; choose one of them.")
