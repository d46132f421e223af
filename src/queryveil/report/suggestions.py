"""Which commands to try next on a log, chosen by its figures."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from queryveil.core.display import counted
from queryveil.report.log_figures import LongTail
from queryveil.report.rendering import percent

if TYPE_CHECKING:
    from queryveil.report.description import LogDescription

MANY_STOP_WORDS = 3  # of the ten terms that most people hold
_KEPT_ENOUGH = 0.5  # share of the occurrences that terms of k people should make up
_SHARED_QUERIES = 0.1  # share of queries that 5 people must share for whole queries to be worth releasing
_LONG_HISTORIES = 100  # terms that a tenth of the histories have


def suggest_commands(log: "LogDescription") -> Iterator[tuple[str, str]]:
    """Yield commands and their reasons, what to check about the input first."""
    yield from _check_input(log)
    terms, queries = log.tails
    k = _largest_k(terms)
    if k is None:
        return
    options = ""
    if log.top_stop_words >= MANY_STOP_WORDS:
        options = " --stop-words english"
        reason = f"{log.top_stop_words} of the 10 terms that most people hold are stop words"
        yield f"queryveil describe {log.log}{options}", f"{reason}; leave them out"
    yield (
        f'queryveil compare {log.log}{options} --method "km(k=2|5|{max(10, k)}, m=1|2)" --out comparison.html',
        "shows what each guarantee costs before anything is released",
    )
    kept = percent(100 * (1 - terms.below(k)[1]))
    base = "of all occurrences, stop words included," if options else "of all occurrences,"
    yield (
        f'queryveil anonymize {log.log}{options} --method "km(k={k}, m=2)" --out RELEASE --private PRIVATE',
        f"terms that at least {k} people hold make up {kept} {base} the most that can be kept",
    )
    shared = 1 - queries.below(5)[1]
    if shared >= _SHARED_QUERIES:
        yield (
            f'queryveil anonymize {log.log} --method "query_k(k=5)" --out QUERIES --private QUERIES-PRIVATE',
            f"at least 5 people hold the same query for {percent(100 * shared)} of queries; these can be kept whole",
        )
    long = sum(each.number for each in log.histories_by_terms if each.low >= _LONG_HISTORIES)
    if log.begin is not None and 10 * long >= log.histories == log.people:
        yield (
            f'queryveil anonymize {log.log}{options} --history day --method "km(k={k}, m=2)" --out DAYS --private '
            "DAYS-PRIVATE",
            f"{counted(long, 'histories')} have {_LONG_HISTORIES} terms or more; shorter histories keep more of them",
        )
    yield (
        f"queryveil attack RELEASE --against {log.files} --private PRIVATE",
        "tries on the release what somebody who knows a person could do",
    )


def _check_input(log: "LogDescription") -> Iterator[tuple[str, str]]:
    """Yield what to check about the columns of the log."""
    if log.is_one_query_each:
        yield (
            f"queryveil describe {log.log} --columns user=…",
            "everybody has one query only; check which column holds the user",
        )
    if log.begin is None:
        yield (
            f"queryveil describe {log.log} --columns time=…",
            "no times were found, so bots and repeated clicks were not looked for; name the column if there is one",
        )


def _largest_k(terms: LongTail) -> int | None:
    """Return the largest usual k whose terms make up enough of the log; a smaller one or None if little is shared."""
    kept = {k: 1 - terms.below(k)[1] for k in (50, 20, 10, 5, 2)}
    enough = next((k for k, share in kept.items() if k >= 5 and share >= _KEPT_ENOUGH), None)
    return enough or next((k for k, share in kept.items() if k <= 5 and terms.below(k)[0] < terms.distinct), None)
