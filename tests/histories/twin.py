"""Raw rows to histories × terms, slowly and obviously: the twin of the engine, the tokeniser and the kernels."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.logs.options import CleaningOptions, seconds
from queryveil.logs.scrub import scrub

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Row:
    """One row of a raw log."""

    user: str
    query: str
    time: datetime | None = None
    part: str = ""


@dataclass
class Twin:
    """What the twin found: each history's person, part and terms, and what the steps counted."""

    histories: list[tuple[str, str, Counter[str]]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    taken: dict[str, tuple[int, int]] = field(default_factory=dict)  # rows and people that a step took away


def take(twin: Twin, step: str, before: Sequence[Row], after: Sequence[Row]) -> Sequence[Row]:
    """Note which rows a step took away, and which people with them; return the rows that are left."""
    people = {row.user for row in before if row.user} - {row.user for row in after}
    twin.taken[step] = len(before) - len(after), len(people)
    return after


def terms_of(text: str, options: CleaningOptions) -> set[str]:
    """Return the distinct terms of a query."""
    kept = []
    for character in unicodedata.normalize("NFC", text):
        if options.charset == "paper":
            inside = any(a <= character <= b for a, b in ("AZ", "az", "09", "ÀÖ", "ÛÝ", "ßö", "üž"))
        else:
            inside = unicodedata.category(character)[0] in "LM" or unicodedata.category(character) == "Nd"
        kept.append(character.lower()[0] if inside else " ")
    return set("".join(kept).split())


def run(rows: Sequence[Row], options: CleaningOptions, *, cut: bool = False) -> Twin:
    """Clean the rows and collect the histories, a person's in the order of part and bucket."""
    twin = Twin()
    rows = take(twin, "bad lines", rows, [row for row in rows if row.user])
    has_times = any(row.time is not None for row in rows)
    rows = _scrubbed(rows, options, twin)
    people = list(dict.fromkeys(row.user for row in rows))
    if options.duplicates == "merge" and has_times:
        first: dict[tuple[str, str, datetime | None, str], Row] = {}
        for row in rows:
            first.setdefault((row.user, row.query, row.time, row.part if cut else ""), row)
        merged = list(first.values())
        twin.counts["duplicates"] = len(rows) - len(merged)
        rows = take(twin, "duplicates", rows, merged)
    by_person: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_person[row.user].append(row)
    bots = {p for p in people if has_times and _is_bot(by_person[p], options)}
    twin.counts["bots"] = len(bots)
    rows = take(twin, "bots", rows, [row for row in rows if row.user not in bots])
    rows = take(twin, "no term", rows, [row for row in rows if terms_of(row.query, options)])
    stop_words = STOP_WORDS if options.stop_words == "english" else set()
    take(twin, "stop words", rows, [row for row in rows if terms_of(row.query, options) - stop_words])
    n_terms = n_stopped = 0
    for person in people:
        if person in bots:
            continue
        for (part, _), members in sorted(_histories(by_person[person], options.history, options, cut).items()):
            found: Counter[str] = Counter()
            for row in members:
                terms = terms_of(row.query, options)
                stopped = terms & stop_words
                n_terms, n_stopped = n_terms + len(terms), n_stopped + len(stopped)
                found.update(terms - stopped)
            if found:
                twin.histories.append((person, part, found))
    twin.counts |= {"histories": len(twin.histories), "terms": n_terms, "stop words": n_stopped}
    return twin


def _scrubbed(rows: Sequence[Row], options: CleaningOptions, twin: Twin) -> list[Row]:
    if not options.scrub:
        twin.counts["scrub"] = 0
        return list(rows)
    results = [scrub(row.query) for row in rows]
    twin.counts["scrub"] = sum(found.total() for _, found in results)
    return [Row(row.user, text, row.time, row.part) for row, (text, _) in zip(rows, results, strict=True)]


def _is_bot(rows: list[Row], options: CleaningOptions) -> bool:
    unit = "day" if options.bot_session == "day" else "session"
    sessions = _histories(rows, unit, options, False)
    return options.bots > 0 and max(map(len, sessions.values())) > options.bots


def _histories(
    rows: list[Row], unit: str, options: CleaningOptions, cut: bool
) -> dict[tuple[str, tuple[bool, int]], list[Row]]:
    """Group a person's rows; rows without a time come last, as a group of their own."""
    found: dict[tuple[str, tuple[bool, int]], list[Row]] = defaultdict(list)
    before: datetime | None = None
    session = 0
    for row in sorted(rows, key=lambda row: (row.time is None, row.time or EPOCH)):
        number = 0
        if row.time is not None and unit == "session":
            if before is not None and row.time - before > timedelta(seconds=seconds(options.session_gap)):
                session += 1
            before, number = row.time, session
        elif row.time is not None and unit != "user":
            length = timedelta(seconds=seconds("1d" if unit == "day" else unit.removeprefix("window:")))
            number = (row.time - EPOCH) // length
        is_undated = unit != "user" and row.time is None
        found[row.part if cut else "", (is_undated, number)].append(row)
    return found


def as_twin(profiles: Profiles) -> list[tuple[str, str, dict[str, int]]]:
    """Return the profiles as the twin states them: person, part and terms with counts of every history."""
    values = profiles.partition_values
    result = []
    for h in range(profiles.n_histories):
        pairs = slice(profiles.indptr[h], profiles.indptr[h + 1])
        terms = {
            profiles.vocabulary[i]: int(n) for i, n in zip(profiles.ids[pairs], profiles.counts[pairs], strict=True)
        }
        part = "" if profiles.partition is None else values[profiles.partition[h]]
        result.append((profiles.persons[profiles.owner[h]], part, terms))
    return result
