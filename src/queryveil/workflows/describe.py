"""Describing a log: what an owner wants to know of it before choosing a method; only figures leave this module."""

import shlex
import time
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil._version import __version__
from queryveil.core.arrow import as_array
from queryveil.core.files import check_replaceable, write_new_file
from queryveil.core.options import OptionGroup
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Rate, wilson
from queryveil.core.rows import IntArray
from queryveil.engines import QueryLog, open_log
from queryveil.histories.build import Unit, build
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.measures.privacy.unique import count_in_original
from queryveil.report.description import (
    NO_SCRIPT,
    TITLE,
    ContentEstimate,
    LogDescription,
    LongTail,
    Quantiles,
    SingledOut,
    SizeClass,
    render_description,
)
from queryveil.sensitivity.model import load_model
from queryveil.sensitivity.topics import OTHER, count_topics
from queryveil.workflows.anonymize import TOP_TERMS
from queryveil.workflows.requests import DescribeRequest

KNOWN = (1, 2, 3)  # terms or queries of a person
MOST_QUERIES = 10_000  # whose content is looked at: a share is off by at most one percentage point (95 %)
_BEGINNINGS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000)  # of classes of sizes


def describe(request: DescribeRequest, progress: Progress = silent) -> LogDescription:
    """Read and clean a log and return what is in it in figures; with `page`, write them as a document too."""
    started = time.monotonic()
    if request.page is not None:
        check_replaceable(request.page, "a description of a log", f"<title>{TITLE}</title>", overwrite=request.force)
    source = request.source
    with open_log(source, progress=progress) as log:
        names = [shlex.quote(uri) for uri in source.uris] or ["LOG"]  # the latter for a table in memory
        files = " ".join((*names, *_flags(request.reading)))
        description = _describe(log, files, " ".join((files, *_flags(request.cleaning))), progress)
    description = replace(description, seconds=time.monotonic() - started)
    if request.page is not None:
        write_new_file(request.page, render_description(description).encode(), overwrite=request.force)
        description = replace(description, page=request.page)
    return description


def _flags(group: OptionGroup) -> list[str]:
    """Return the options of a group that were given, as a shell would take them."""
    found = []
    for each in group.own_options():
        value = getattr(group, each.name)
        if value != each.default:
            found += [f"--no-{each.flag[2:]}"] if value is False else [each.flag, shlex.quote(str(value))]
    return found


def _describe(log: QueryLog, files: str, words: str, progress: Progress) -> LogDescription:
    """Return the figures of an open log."""
    # whole queries first: the steps of cleaning that remain are those of terms
    queries_tail, queries_alone, profiles = _look_at("query", log, progress)
    content = _estimate_content(profiles)
    terms_tail, terms_alone, profiles = _look_at("term", log, progress)
    lengths = np.diff(profiles.indptr)
    numbers, people = _queries_per_person(log)
    steps, (begin, end) = log.steps, _time_span(log)
    return LogDescription(
        log=words.strip(),
        files=files,
        format=log.format,
        rows=steps["rows"].count,
        unreadable=steps["bad lines"].count,
        merged=steps["duplicates"].count,
        bots=steps["bots"].count,
        people=int(people.sum()),
        with_terms=profiles.n_people,
        histories=profiles.n_histories,
        queries=log.n_queries,
        without_terms=steps["no term"].count,
        begin=begin,
        end=end,
        per_person=_quantiles(numbers, people),
        people_by_queries=_classes(np.repeat(numbers, people), np.repeat(numbers, people)),
        histories_by_terms=_classes(lengths, lengths),
        tails=(terms_tail, queries_tail),
        singled_out=(*terms_alone, *queries_alone),
        content=content,
        identifiers=steps["scrub"].counts_by_kind() if log.source.cleaning.scrub else None,
        top_stop_words=sum(term in STOP_WORDS for term in profiles.vocabulary[:TOP_TERMS]),
        is_one_query_each=len(numbers) == 1 and int(numbers[0]) == 1 < int(people.sum()),
        steps=tuple(map(str, steps.values())),
        queryveil=__version__,
        seconds=0.0,
    )


def _look_at(unit: Unit, log: QueryLog, progress: Progress) -> tuple[LongTail, tuple[SingledOut, ...], Profiles]:
    """Return by how many people terms or queries are held, whom they single out, and the profiles."""
    profiles = build(log, unit=unit, progress=progress)
    occurrences = np.asarray(np.bincount(profiles.ids, profiles.counts, len(profiles.vocabulary)), np.float64)
    tail = LongTail(
        unit,
        len(profiles.vocabulary),
        int(profiles.counts.sum(dtype=np.int64)),
        _classes(profiles.holder_counts(), occurrences),
    )
    return tail, tuple(_singled_out(profiles, unit, m, progress) for m in KNOWN), profiles


def _singled_out(profiles: Profiles, unit: str, m: int, progress: Progress) -> SingledOut:
    hits, asked = count_in_original(profiles, m, progress)
    share = hits / asked
    return SingledOut(unit, m, Rate(share, *((share, share) if m == 1 else wilson(hits, asked))), asked)


def _classes(sizes: NDArray[Any], weights: NDArray[Any]) -> tuple[SizeClass, ...]:
    """Sort sizes into classes, up to the largest that is met."""
    ends: Sequence[int | None] = (*(low - 1 for low in _BEGINNINGS[1:]), None)
    place = np.searchsorted(_BEGINNINGS, sizes, side="right") - 1
    numbers = np.bincount(place[place >= 0], minlength=len(_BEGINNINGS))
    shares = np.bincount(place[place >= 0], weights[place >= 0], len(_BEGINNINGS)) / max(1.0, float(weights.sum()))
    n_met = int(np.flatnonzero(numbers).max(initial=-1)) + 1
    rows = zip(_BEGINNINGS[:n_met], ends[:n_met], numbers[:n_met].tolist(), shares[:n_met].tolist(), strict=True)
    return tuple(SizeClass(*row) for row in rows)


def _queries_per_person(log: QueryLog) -> tuple[IntArray, IntArray]:
    """Return the numbers of queries that people have, ascending, and how many people have each."""
    counts = "SELECT count(*) AS number FROM queries GROUP BY person"
    table = log.connection.query_table(f"SELECT number, count(*) AS people FROM ({counts}) GROUP BY 1 ORDER BY 1")
    return as_array(table["number"]), as_array(table["people"])


def _quantiles(numbers: IntArray, people: IntArray) -> Quantiles:
    """Return the quantiles of a distribution: the smallest number that enough people do not exceed."""
    total, reached = int(people.sum()), np.cumsum(people)
    median, p90, p99 = (int(numbers[np.searchsorted(reached, share * total / 100)]) for share in (50, 90, 99))
    return Quantiles(int(numbers[0]), median, p90, p99, int(numbers[-1]), float(numbers @ people) / total)


def _time_span(log: QueryLog) -> tuple[str | None, str | None]:
    """Return the first and the last time of the queries, to the second."""
    if not log.has_times:
        return None, None
    forms = ", ".join(f"strftime({bound}(time), '%Y-%m-%d %H:%M:%S') AS {bound}" for bound in ("min", "max"))
    row = log.connection.query_table(f"SELECT {forms} FROM queries").to_pylist()[0]
    return row["min"], row["max"]


def _estimate_content(profiles: Profiles) -> ContentEstimate:
    """Estimate what queries are about and how they are written, from all of them or a random sample."""
    model, queries, is_sample = load_model(), *_sample(profiles)
    n = len(queries)
    topics = count_topics(model, queries)
    found, known = topics.total(), frozenset(model.words)
    terms = [query.split() for query in queries]
    n_terms = sum(map(len, terms))
    bounds = wilson(found, n) if is_sample else (found / n, found / n)
    return ContentEstimate(
        n,
        is_sample,
        Rate(found / n, *bounds),
        {topic: number / n for topic, number in _ranked(topics)},
        {script: number / n for script, number in _ranked(Counter(map(script_of, queries)))},
        sum(not STOP_WORDS.isdisjoint(words) for words in terms) / n,
        sum(word in known for words in terms for word in words) / n_terms,
    )


def _sample(profiles: Profiles) -> tuple[list[str], bool]:
    """Return the queries, each as often as it was issued, or a sample of them, always the same of a log."""
    ends = np.cumsum(profiles.counts, dtype=np.int64)
    total = int(ends[-1])
    places = np.arange(total)
    if total > MOST_QUERIES:
        places = np.sort(np.random.default_rng(0).choice(total, MOST_QUERIES, replace=False, shuffle=False))
    ids = profiles.ids[np.searchsorted(ends, places, side="right")]
    return [profiles.vocabulary[i] for i in ids.tolist()], total > MOST_QUERIES


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return counts, the largest first and what has no name of its own last."""
    return sorted(counts.items(), key=lambda item: (item[0] in (OTHER, NO_SCRIPT), -item[1], item[0]))


def script_of(query: str) -> str:
    """Return the script of most letters of a query by their names in Unicode; of one without letters NO_SCRIPT."""
    if query.isascii():
        return "Latin" if any(map(str.isalpha, query)) else NO_SCRIPT
    scripts = Counter(_script(character) for character in query if character.isalpha())
    return max(sorted(scripts), key=scripts.__getitem__, default=NO_SCRIPT)


@cache
def _script(letter: str) -> str:
    """Return the first word of a letter's name, which names its script; ideographs are called Han."""
    word = unicodedata.name(letter, "OTHER").split()[0].split("-")[0]
    return {"CJK": "Han"}.get(word, word.capitalize())
