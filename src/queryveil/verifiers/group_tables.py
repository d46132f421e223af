"""Find what breaks linkability in tables, by SQL that DuckDB and Spark run unchanged; and what a finder returns.

`SqlGroupFinder` and `ArrayGroupFinder` have the same methods, each of which finds what breaks one rule; among equally
bad cases the first in release order.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from queryveil.core.errors import ReleaseError
from queryveil.core.results import Violation
from queryveil.engines.sql import SqlSession, double, floor_division, integer


class Fault(NamedTuple):
    """One way in which a release breaks its claim: how often, and the worst case as a sentence or a counterexample."""

    violations: int
    reason: str = ""
    counterexample: Violation | None = None


class Finding(NamedTuple):
    """How many groups, terms or rows break a rule, and the figures of the worst that the rule is about."""

    violations: int = 0
    group: int = 0
    term: str = ""
    members: int = 0
    terms: int = 0  # published for the group
    held: int = 0  # members who hold the term, or the sum of these over the terms of the group
    most: int = 0  # members who may hold the term
    value: float = 0.0  # a weight, an entropy or a distance


def fault_of(finding: Finding, reason: str) -> Iterator[Fault]:
    """Yield a fault if there are violations; the reason is about the worst one."""
    n = finding.violations
    if n:
        yield Fault(n, reason + (f" (and {n - 1:,} more such)" if n > 1 else ""))


def exact(value: float) -> Fraction:
    """Return the fraction that a decimal number stands for: 0.1 is 1/10, and 0.3333333333333333 is 1/3."""
    simple = Fraction(str(value)).limit_denominator(1_000_000)
    return simple if float(simple) == value else Fraction(str(value))


WEIGHT_TOLERANCE = 2e-9  # absolute and relative: published weights are rounded to nine decimals
_IN_ORDER = "group_id, file, place"  # of the released rows
_INFINITY = double("'Infinity'")
_GROUP = {"group": "group_id"}
_ROW = {"group": "group_id", "term": "term"}


class ProfileTotals(NamedTuple):
    """Counts of everybody's profiles."""

    people: int
    people_with_terms: int  # people who hold a publishable term
    pairs: int  # of these people and such terms


class SqlGroupFinder:
    """Released groups and their members as the tables of a session; see `GroupTables`."""

    def __init__(self, session: SqlSession, floor: int, frozen: tuple[int, ...] = ()) -> None:
        """Refuse a private side that is damaged, and count the rows."""
        self._session, self._floor, self._frozen = session, floor, frozen
        twice = "SELECT history, term FROM {pairs} GROUP BY history, term HAVING COUNT(*) > 1 LIMIT 1"
        if session.query(twice):
            raise ReleaseError("the private folder has a term of a person twice; it is damaged, check --private.")
        before = "LAG(term) OVER (PARTITION BY group_id ORDER BY file, place)"
        # A column, not a filter: Spark skips cached rows by minimum and maximum values that leave out NaN.
        wrong = f"CASE WHEN weight > 0 AND weight < {_INFINITY} THEN 0 ELSE 1 END"  # NaN is greater than infinity
        columns = f"released.*, {before} AS term_before, {wrong} AS has_wrong_weight"
        session.create("ordered", f"SELECT {columns} FROM {{released}} AS released")
        self.n_rows = int(session.query("SELECT COUNT(*) FROM {ordered}")[0][0])

    def impossible_groups(self) -> Iterator[Fault]:
        """Yield faults that only arrays can have: none."""
        yield from ()

    def repeated_terms(self) -> Finding:
        """Find rows with the same term as the row before."""
        return self._worst(_ROW, "{ordered}", "term = term_before", _IN_ORDER)

    def unordered_terms(self) -> Finding:
        """Find rows whose term sorts before that of the row before."""
        return self._worst(_GROUP, "{ordered}", "term < term_before", _IN_ORDER)

    def wrong_weights(self) -> Finding:
        """Find rows whose weight is not a finite number above 0."""
        return self._worst({**_ROW, "value": "weight"}, "{ordered}", "has_wrong_weight = 1", _IN_ORDER)

    def small_groups(self, least: int) -> Finding:
        """Find groups with fewer members than `least`; the worst is the smallest."""
        return self._worst({**_GROUP, "members": "members"}, self._groups, f"members < {least}", "members, group_id")

    def rare_terms(self) -> Finding:
        """Find published terms that fewer people of the log hold than the floor; the worst is the rarest."""
        terms = f"(SELECT DISTINCT term, held_in_log FROM {self._cells}) AS terms"
        return self._worst(
            {"term": "term", "held": "held_in_log"}, terms, f"held_in_log < {self._floor}", "held_in_log, term"
        )

    def invented_terms(self) -> Finding:
        """Find published terms of groups that no member holds."""
        return self._worst(_ROW, self._cells, "held = 0", _IN_ORDER)

    def other_weights(self, pull: float, *, is_union: bool) -> Finding:
        """Find rows whose weight is not the mean over the members, or over the holders, moved towards all people's.

        A group of n members is moved by a share of `pull` / n. Groups that are published as before are left out.
        """
        mean, in_log = ("held", "held_in_log") if is_union else ("members", str(self._totals.people))
        moved = f"{double(repr(pull))} / members * (weight_in_log / {in_log} - total / {mean})"
        cells = f"(SELECT cells.*, total / {mean} + {moved} AS value FROM {self._cells} AS cells) AS weighed"
        frozen = f" AND group_id NOT IN ({', '.join(map(str, self._frozen))})" if self._frozen else ""
        rule = f"ABS(weight - value) > {double(repr(WEIGHT_TOLERANCE))} * (1 + value){frozen}"
        return self._worst(_ROW, cells, rule, _IN_ORDER)

    def mean_profile_size(self) -> Fraction:
        """Return the mean number of publishable terms of everybody who holds any."""
        return Fraction(self._totals.pairs, self._totals.people_with_terms)

    def groups_with_few_terms(self, least: int) -> Finding:
        """Find groups with fewer published terms than `least`; the worst has the fewest."""
        return self._worst({**_GROUP, "terms": "terms"}, self._groups, f"terms < {least}", "terms, group_id")

    def groups_above_mean(self, p: Fraction) -> Finding:
        """Find groups where, averaged over the terms, more than a share of p of the members hold a term."""
        columns = {**_GROUP, "members": "members", "terms": "terms", "held": "held"}
        possible = f"{integer('members')} * {integer('terms')}"
        rule = f"{integer('held')} * {integer(p.denominator)} > {possible} * {integer(p.numerator)}"
        return self._worst(columns, self._groups, rule, "held / (members * terms) DESC, group_id")

    def terms_above_share(self, p: Fraction, *, has_prior: bool) -> Finding:
        """Find terms that more than a share of p of the members hold; with a prior, beyond that of all people."""
        limit, divisor = f"{integer('members')} * {integer(p.numerator)}", p.denominator
        if has_prior:  # held / members - held_in_log / people <= p, times members · people · denominator
            prior = f"{integer('held_in_log')} * {integer('members')} * {integer(p.denominator)}"
            limit = f"{limit} * {integer(self._totals.people)} + {prior}"
            divisor *= self._totals.people
        most = floor_division(f"({limit})", integer(divisor))
        cells = f"(SELECT cells.*, {most} AS most FROM {self._cells} AS cells) AS limited"
        columns = {**_ROW, "members": "members", "held": "held", "most": "most"}
        return self._worst(columns, cells, "held > most", f"held - most DESC, {_IN_ORDER}")

    def worst_share(self) -> float:
        """Return the share of members who hold the term of a group that most of them hold, averaged over groups."""
        shares = f"SELECT MAX(held / members) AS share FROM {self._cells} GROUP BY group_id"
        return float(self._session.query(f"SELECT AVG(share) FROM ({shares}) AS highest")[0][0])

    def groups_below_entropy(self, least: float) -> Finding:
        """Find groups whose terms, weighted by their holders, have an entropy below `least`."""
        share = "(cells.held / totals.held)"
        entropies = self._by_group(f"-SUM({share} * LN{share}) AS entropy")
        # rounded, because a sum depends on the order in which an engine adds
        order = "ROUND(entropy, 9), group_id"
        return self._worst({**_GROUP, "value": "entropy"}, entropies, f"entropy < {double(repr(least))}", order)

    def groups_above_distance(self, most: Fraction) -> Finding:
        """Find groups whose total variation distance to the terms of all people is above `most`."""
        pairs, total = integer(self._totals.pairs), integer("totals.held")
        excess = f"{integer('cells.held')} * {pairs} - {integer('held_in_log')} * {total}"
        distances = self._by_group(
            f"SUM(GREATEST({integer(0)}, {excess})) AS apart, MAX({total} * {pairs}) AS possible"
        )
        distance = f"{double('apart')} / {double('possible')}"
        rule = f"{integer('apart')} * {integer(most.denominator)} > possible * {integer(most.numerator)}"
        return self._worst({**_GROUP, "value": distance}, distances, rule, f"{distance} DESC, group_id")

    def _worst(self, columns: dict[str, str], source: str, rule: str, order: str) -> Finding:
        """Return how many rows of a table break a rule, and the fields of a finding from the first in an order."""
        selected = ", ".join(columns.values())
        n_rows, row = self._session.first(f"SELECT {selected} FROM {source} WHERE {rule}", order)
        return Finding(n_rows, **dict(zip(columns, row, strict=bool(n_rows))))

    def _by_group(self, aggregates: str) -> str:
        """Return a subquery that aggregates the cells of every group, with the group's own figures as `totals`."""
        joined = f"{self._cells} AS cells JOIN {self._groups} AS totals ON cells.group_id = totals.group_id"
        return f"(SELECT cells.group_id, {aggregates} FROM {joined} GROUP BY cells.group_id) AS aggregated"

    # Tables that are created when they are first used; each property returns the placeholder of its table.

    @cached_property
    def _held_in_log(self) -> str:
        """Create one row for every term of the log, with the people who hold it and the sum of its weights."""
        counts = "COUNT(*) AS holders, SUM(weight) AS weight_in_log"
        self._session.create("held_in_log", f"SELECT term, {counts} FROM {{pairs}} GROUP BY term")
        return "{held_in_log}"

    @cached_property
    def _lengths(self) -> str:
        """Create one row for everybody who holds a publishable term, with the number of these."""
        self._session.create(
            "lengths",
            f"SELECT history, COUNT(*) AS n FROM {{pairs}} AS pairs JOIN {self._held_in_log} AS in_log"
            f" ON pairs.term = in_log.term WHERE in_log.holders >= {self._floor} GROUP BY history",
        )
        return "{lengths}"

    @cached_property
    def _cells(self) -> str:
        """Create one row for every published term of a group, with its holders and weights in the group and the log."""
        self._session.create(
            "cells",
            "SELECT ordered.group_id, ordered.term, file, place, weight, COALESCE(in_log.holders, 0) AS held_in_log,"
            " weight_in_log, total, COALESCE(members, 0) AS members, COALESCE(held, 0) AS held"
            " FROM {ordered} AS ordered"
            f" LEFT JOIN {self._held_in_log} AS in_log ON ordered.term = in_log.term"
            " LEFT JOIN (SELECT group_id, COUNT(*) AS members FROM {members} AS members"
            f" JOIN {self._lengths} AS lengths ON members.history = lengths.history GROUP BY group_id) AS crowds"
            " ON ordered.group_id = crowds.group_id"
            " LEFT JOIN (SELECT group_id, term, COUNT(*) AS held, SUM(weight) AS total FROM {pairs} AS pairs"
            " JOIN {members} AS members ON pairs.history = members.history"
            " WHERE group_id IS NOT NULL GROUP BY group_id, term) AS shared"
            " ON ordered.group_id = shared.group_id AND ordered.term = shared.term",
        )
        return "{cells}"

    @cached_property
    def _groups(self) -> str:
        """Create one row for every group: its members, its published terms, and how often members hold these."""
        self._session.create(
            "groups",
            "SELECT group_id, MAX(members) AS members, COUNT(*) AS terms, CAST(SUM(held) AS BIGINT) AS held"
            f" FROM {self._cells} GROUP BY group_id",
        )
        return "{groups}"

    @cached_property
    def _totals(self) -> ProfileTotals:
        """Count everybody's profiles."""
        ((people, people_with_terms, pairs),) = self._session.query(
            "SELECT COUNT(*), COUNT(n), SUM(n) FROM {members} AS members"
            f" LEFT JOIN {self._lengths} AS lengths ON members.history = lengths.history"
        )
        return ProfileTotals(int(people), int(people_with_terms), int(pairs or 0))
