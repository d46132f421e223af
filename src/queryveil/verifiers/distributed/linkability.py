"""Verify p-linkability on a cluster: members, holders and pairs are counted by joins and groups of rows.

Zhu, Xiong: Anonymizing User Profiles for Personalized Web Search, 2010; read as the verifier for one machine reads it
(`verifiers.linkability`), by other means: the verdict is the same, sentence by sentence. Shares are compared as whole
numbers; Spark's decimals hold their products.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import InternalError, ReleaseError
from queryveil.core.evidence import Evidence, Floor
from queryveil.core.names import ResolvedName
from queryveil.core.progress import Progress, silent
from queryveil.core.results import Verdict, Violation
from queryveil.engines.spark.frames import GroupMemberFrames, ReleasedGroupFrame
from queryveil.verifiers.linkability import NO_MEMBERS, NO_ROWS, TOLERANCE, Fault, exact, more, plural

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_IN_ORDER = ("group", "file", "row")  # of the rows of a release


@dataclass(frozen=True)
class _Counts:
    """What is counted of a release and of everybody's profiles."""

    cells: "DataFrame"  # `group, term, file, row, held, known, members`: a row for every published term of a group
    groups: "DataFrame"  # `group, members, terms, held`
    people: int
    holders: int  # people who hold a term that may be published
    pairs: int  # of these people and such terms


def verify(bound: ResolvedName, evidence: Evidence, *, progress: Progress = silent) -> Verdict:
    """Say whether a claim linkability(p, …) holds for the rows `group, term, weight, file, row` of a release.

    Who is in which group tells `members` (`history, group`, empty where in none), and `pairs` (`history, term`) what
    everybody holds. Rows are in the order of their files and of their places in these.
    """
    claim, rows, floor = str(bound), evidence.get(ReleasedGroupFrame).rows, evidence.get(Floor).people
    private = evidence.find(GroupMemberFrames)
    if private is None:
        return Verdict(claim, "unchecked", "people", reason=NO_MEMBERS)
    members, pairs = private.members, private.pairs
    if not pairs.groupBy("history", "term").count().where("count > 1").isEmpty():
        raise ReleaseError("the private folder has a term of a person twice; it is damaged, check --private.")
    progress("verifying", 0, 1)
    damages = _looked_at(rows)
    checked = damages.pop("rows")
    if not checked:
        return Verdict(claim, "unchecked", "people", reason=NO_ROWS)
    fault = next(_faults(bound, rows, damages, members, pairs, floor), None)
    progress("verifying", 1, 1)
    if fault is not None:
        return Verdict(claim, "violated", "people", checked, fault.violations, fault.counterexample, fault.reason)
    return Verdict(claim, "holds", "people", checked)


def _faults(
    bound: ResolvedName,
    rows: "DataFrame",
    damages: Mapping[str, int],
    members: "DataFrame",
    pairs: "DataFrame",
    floor: int,
) -> Iterator[Fault]:
    """Yield the ways in which the claim is broken; each takes for granted that it is not broken in those before."""
    yield from _damages(rows, damages)
    counts = _count(rows, members, pairs, floor)
    try:
        p, principle = exact(bound.real("p")), bound.word("principle")
        yield from _small_groups(p, counts)
        yield from _rare_terms(floor, counts)
        yield from _invented_terms(counts)
        if principle == "mean":
            yield from (_mean if bound.word("average") == "group" else _global_mean)(p, counts)
        elif principle == "diversity":
            yield from _diversity(bound.real("l"), counts)
        elif principle == "closeness":
            yield from _closeness(bound.real("t"), counts)
        elif principle in ("posterior", "belief"):
            yield from _shares(p, principle, counts)
        else:
            raise InternalError(f"there is no check of the principle {principle}; please report this.")
    finally:
        counts.cells.unpersist()


def _first(frame: "DataFrame", *order: Any) -> tuple[int, Any]:
    """Return how many rows there are, and the first of them in an order; None without rows."""
    first = frame.orderBy(*order).first()
    return (0, None) if first is None else (frame.count(), first)


_DAMAGES = {  # what no release has that is whole
    "twice": "before = term",
    "unordered": "term < before",
    "unweighed": "NOT (weight > 0 AND NOT isnan(weight) AND weight < DOUBLE('Infinity'))",
}


def _looked_at(rows: "DataFrame") -> dict[str, int]:
    """Count the rows, and those that are damaged."""
    damages = [f"COUNT_IF({rule}) AS {name}" for name, rule in _DAMAGES.items()]
    return _with_term_before(rows).selectExpr("COUNT(*) AS rows", *damages).collect()[0].asDict()


def _with_term_before(rows: "DataFrame") -> "DataFrame":
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    return rows.withColumn("before", f.lag("term").over(Window.partitionBy("group").orderBy("file", "row")))


def _damages(rows: "DataFrame", found: Mapping[str, int]) -> Iterator[Fault]:
    """Yield what is damaged."""
    for name in (name for name, n in found.items() if n):
        n, row = _first(_with_term_before(rows).where(_DAMAGES[name]), *_IN_ORDER)
        group, term, weight = f"group {row['group']}", repr(row["term"]), row["weight"]
        sentences = {
            "twice": f"{group} has the term {term} twice",
            "unordered": f"the terms of {group} are not in the order of their texts",
            "unweighed": f"the term {term} of {group} has the weight {weight}, which is not a number above 0",
        }
        yield Fault(n, sentences[name] + more(n))


def _count(rows: "DataFrame", members: "DataFrame", pairs: "DataFrame", floor: int) -> _Counts:
    """Count all that the claim is about."""
    from pyspark.sql import functions as f

    known = pairs.groupBy("term").agg(f.count(f.lit(1)).alias("known"))
    usable = pairs.join(known.where(f"known >= {floor}"), "term")
    lengths = usable.groupBy("history").agg(f.count(f.lit(1)).alias("n"))
    everybody = members.select("history").join(lengths, "history", "left")
    n_people, n_holders, n_pairs = everybody.agg(f.count(f.lit(1)), f.count("n"), f.sum("n")).collect()[0]
    inside = members.where("group IS NOT NULL")
    sizes = inside.join(lengths, "history").groupBy("group").agg(f.count(f.lit(1)).alias("members"))
    held = pairs.join(inside, "history").groupBy("group", "term").agg(f.count(f.lit(1)).alias("held"))
    cells = rows.join(held, ["group", "term"], "left").join(known, "term", "left").join(sizes, "group", "left")
    cells = cells.na.fill(0, subset=["held", "known", "members"]).persist()
    groups = cells.groupBy("group").agg(
        f.first("members").alias("members"), f.count(f.lit(1)).alias("terms"), f.sum("held").alias("held")
    )
    return _Counts(cells, groups, int(n_people), int(n_holders), int(n_pairs or 0))


def _whole(number: str | int) -> str:
    """Write a whole number, or a column of them, so that products of three do not overflow."""
    return f"CAST({number} AS DECIMAL(18, 0))"


def _small_groups(p: Fraction, counts: _Counts) -> Iterator[Fault]:
    """Yield groups in which one member is a larger share than p."""
    least = math.ceil(1 / p)
    n, row = _first(counts.groups.where(f"members < {least}"), "members", "group")
    if n:
        size = f"group {row['group']} has {plural(row['members'], 'member')}"
        yield Fault(n, f"{size}, at least {least:,} must be in it{more(n)}")


def _rare_terms(floor: int, counts: _Counts) -> Iterator[Fault]:
    """Yield published terms that too few people hold."""
    rare = counts.cells.where(f"known < {floor}").select("term", "known").distinct()
    n, row = _first(rare, "known", "term")
    if n:
        yield Fault(n, "", Violation((row["term"],), int(row["known"]), floor))


def _invented_terms(counts: _Counts) -> Iterator[Fault]:
    """Yield terms that are published for a group of which no member holds them."""
    n, row = _first(counts.cells.where("held = 0"), *_IN_ORDER)
    if n:
        yield Fault(n, f"{row['term']!r} is published for group {row['group']}, but no member holds it{more(n)}")


def _mean(p: Fraction, counts: _Counts) -> Iterator[Fault]:
    """Yield groups whose terms are held by more than a share of p of the members, averaged over the terms."""
    from pyspark.sql import functions as f

    all_of = f"{_whole('members')} * {_whole('terms')} * {_whole(p.numerator)}"
    above = counts.groups.where(f"{_whole('held')} * {_whole(p.denominator)} > {all_of}")
    n, row = _first(above, f.expr("held / (members * terms)").desc(), "group")
    if n:
        most = p.numerator * row["members"] * row["terms"] // p.denominator
        who = f"the {row['members']:,} members of group {row['group']}"
        times = f"its {row['terms']:,} terms {row['held']:,} times, at most {most:,} times are allowed"
        yield Fault(n, f"{who} hold {times}{more(n)}")


def _global_mean(p: Fraction, counts: _Counts) -> Iterator[Fault]:
    """Yield groups with fewer terms than the mean profile size of all people over p."""
    mean = Fraction(counts.pairs, counts.holders)
    least = math.ceil(mean / p)
    n, row = _first(counts.groups.where(f"terms < {least}"), "terms", "group")
    if n:
        size = f"group {row['group']} has {plural(row['terms'], 'term')}, at least {least:,} must be"
        yield Fault(n, f"{size} published for it, since profiles have {float(mean):.6g} on average{more(n)}")


def _shares(p: Fraction, principle: str, counts: _Counts) -> Iterator[Fault]:
    """Yield published terms that more members hold than may."""
    from pyspark.sql import functions as f

    most = f"({_whole('members')} * {_whole(p.numerator)}) div {_whole(p.denominator)}"
    if principle == "belief":
        # held / members - known / people <= p, times members · people: all but the bound are whole numbers
        share = f"{_whole('members')} * {_whole(counts.people)} * {_whole(p.numerator)}"
        most = f"(({share}) div {_whole(p.denominator)} + known * members) div {counts.people}"
    over = counts.cells.withColumn("most", f.expr(most)).where("held > most")
    n, row = _first(over, f.expr("held - most").desc(), *_IN_ORDER)
    if n:
        who = f"{row['held']:,} of the {row['members']:,} members of group {row['group']} hold"
        yield Fault(n, f"{who} {row['term']!r}, at most {row['most']:,} may{more(n)}")


def _diversity(least: float, counts: _Counts) -> Iterator[Fault]:
    """Yield groups whose terms are less diverse than so many equally frequent ones."""
    from pyspark.sql import functions as f

    # terms in order, so that the sum is the same however the rows are cut
    held = counts.cells.groupBy("group").agg(f.sort_array(f.collect_list(f.struct("term", "held"))).alias("rows"))
    both = held.join(counts.groups.select("group", "held"), "group")
    entropy = "aggregate(rows, 0D, (sum, row) -> sum - row.held / held * ln(row.held / held))"
    below = both.selectExpr("group", f"{entropy} AS entropy").where(f"entropy < {math.log(least) - TOLERANCE!r}D")
    n, row = _first(below, "entropy", "group")
    if n:
        found = f"the terms of group {row['group']} are as diverse as {math.exp(row['entropy']):.6g} equally"
        yield Fault(n, f"{found} frequent ones, not {least:.6g}{more(n)}")


def _closeness(most: float, counts: _Counts) -> Iterator[Fault]:
    """Yield groups whose terms are distributed too differently from those of all people.

    A term that is not published for the group adds nothing where only what the group has too much of is summed.
    """
    from pyspark.sql import functions as f

    total = counts.groups.selectExpr("group", "held AS total")
    beyond = f"greatest(0, held * {counts.pairs} - known * total)"
    apart = counts.cells.join(total, "group").groupBy("group", "total").agg(f.expr(f"SUM({beyond})").alias("apart"))
    share, pairs = exact(most), counts.pairs
    all_of = f"{_whole('total')} * {_whole(pairs)} * {_whole(share.numerator)}"
    above = apart.where(f"{_whole('apart')} * {_whole(share.denominator)} > {all_of}")
    n, row = _first(above.withColumn("distance", f.expr(f"apart / (total * {pairs})")), f.desc("distance"), "group")
    if n:
        found = f"the terms of group {row['group']} are {row['distance']:.6g} from those of all people"
        yield Fault(n, f"{found} by total variation, at most {most:.6g} is allowed{more(n)}")
