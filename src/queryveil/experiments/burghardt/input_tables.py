"""Tables 1 to 4: the log and the market before anything is deleted."""

from itertools import zip_longest
from typing import Any

import numpy as np

from queryveil.experiments.burghardt import examples, printed
from queryveil.experiments.burghardt.examples import Step, TermHolders
from queryveil.experiments.paper import NO_VALUE, OURS_AND_THEIRS
from queryveil.histories.profiles import Profiles
from queryveil.market import Market
from queryveil.measures.utility import market as measures
from queryveil.measures.utility.market import FREQUENCY, LEVEL, USERS, Correlation
from queryveil.report.reproduction import PaperTable
from queryveil.semantics.network import wordnet


def section_5_1(profiles: Profiles, n_queries: int) -> tuple[PaperTable, float]:
    """Show how large the log is after cleaning; return also the share (%) of its distinct terms not in WordNet."""
    ours = {
        "users": profiles.n_people,
        "queries": n_queries,
        "distinct terms": len(profiles.vocabulary),
        "occurrences": int(profiles.counts.sum()),
        "terms of the largest history": int(np.diff(profiles.indptr).max()),
    }
    unknown = 100.0 * float((wordnet().find_all(profiles.vocabulary) < 0).mean())
    rows = (
        *((name, f"{printed.LOG[name]:,}", f"{count:,}") for name, count in ours.items()),
        ("distinct terms that WordNet lacks, % (section 2.3)", f"{printed.NOT_IN_WORDNET}", f"{unknown:.1f}"),
    )
    return PaperTable("Section 5.1", "The log after cleaning", ("", "paper", "ours"), rows), unknown


def table_1(holders: TermHolders) -> PaperTable:
    """Show how few people share a combination whose terms many people have."""
    found = examples.find_identified(holders)
    names = dict(zip(("georgia", "arnold", "lilburn"), found or (), strict=False))
    rows = []
    for combination, people in printed.TABLE_1.items():
        ours = [names[word] for word in combination if word in names]
        texts = " & ".join(holders.profiles.vocabulary[term] for term in ours) or NO_VALUE
        support = f"{holders.support(ours):,}" if ours else NO_VALUE
        rows.append((" & ".join(combination), str(len(combination)), f"{people:,}", texts, support))
    notes = () if found else ("No such person was found among the first histories of this log.",)
    return PaperTable(
        "Table 1",
        "Terms that many have single a person out together: user 4417749 of AOL, and somebody in this log",
        ("term, paper", "m", "freq., paper", "term, this log", "freq., this log"),
        tuple(rows),
        words=(0, 3),
        notes=notes,
    )


def table_2(profiles: Profiles, market: Market) -> tuple[PaperTable, list[dict[str, Any]]]:
    """Show the term with the highest value of each criterion; revenue is bid · clicks, without the frequency."""
    figures = measures.figures_of_terms(profiles, profiles.counts, profiles.owner, market)
    columns = (FREQUENCY, USERS, "bid", "impressions", "clicks", "revenue")
    rows: list[tuple[str, ...]] = []
    record: list[dict[str, Any]] = []
    for criterion, (word, theirs) in printed.TABLE_2.items():
        best = int(np.nanargmax(figures[criterion]))
        ours = [float(figures[column][best]) for column in columns]
        rows.append((criterion, "ours", profiles.vocabulary[best], *map(_amount, ours)))
        rows.append(("", "paper", word, *map(_amount, theirs)))
        known = {column: None if np.isnan(value) else value for column, value in zip(columns, ours, strict=True)}
        record.append({"highest": criterion, "term": profiles.vocabulary[best], **known})
    heads = ("highest", "", "term", "frequency", "users", "max bid", "ad impressions", "clicks", "revenue")
    return PaperTable("Table 2", "Illustration of utility criteria", heads, tuple(rows), words=(0, 1, 2)), record


def _amount(value: float) -> str:
    if np.isnan(value):
        return NO_VALUE
    return f"{value:,.0f}" if value == round(value) or value >= 1000 else f"{value:,.2f}"


def table_3(profiles: Profiles, market: Market) -> tuple[PaperTable, list[Correlation], int]:
    """Show how the criteria are correlated over terms; return also in how many cells as in the paper."""
    figures = measures.figures_of_terms(profiles, profiles.counts, profiles.owner, market)
    found = measures.correlations(measures.known_to_market(figures))
    by_pair = {frozenset((each.first, each.second)): each for each in found}
    rows = []
    for row in printed.ROWS_3:
        pairs = [(row, column) for column in printed.COLUMNS_3 if (row, column) in printed.TABLE_3]
        shown = [(by_pair[frozenset(pair)], printed.TABLE_3[pair]) for pair in pairs]
        blank = [""] * (len(printed.COLUMNS_3) - len(shown))
        starred = [(f"{_share(ours.value)}{'*' * ours.is_significant}", theirs) for ours, theirs in shown]
        cells = (f"{mine} | {theirs[0]:.3f}{'*' * (theirs[1] < LEVEL)}" for mine, theirs in starred)
        rows.append((row, "corr.", *cells, *blank))
        rows.append(("", "sig.", *(f"{_share(ours.significance)} | {theirs[1]:.3f}" for ours, theirs in shown), *blank))
        rows.append(("", "N", *(f"{ours.n:,} | {theirs[2]:,}" for ours, theirs in shown), *blank))
    compared = [(by_pair[frozenset(pair)], theirs) for pair, theirs in printed.TABLE_3.items()]
    agree = sum(
        ours.is_significant == (significance < LEVEL) and ours.value is not None and ours.value * correlation > 0
        for ours, (correlation, significance, _) in compared
    )
    notes = ("* significant at the 0.01 level (one-tailed).",)
    heads = ("", "", "revenue", "impressions", "clicks", "max bid", "user frq.")
    caption = f"Pearson correlation analysis of the input data ({OURS_AND_THEIRS})"
    return PaperTable("Table 3", caption, heads, tuple(rows), words=(0, 1), notes=notes), found, agree


def _share(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.3f}"


def table_4(holders: TermHolders) -> list[PaperTable]:
    """Show how `fis` chooses the term to delete, in the paper's example and in this log."""
    example = TermHolders(examples.smith_log())
    number = {term: i for i, term in enumerate(example.profiles.vocabulary)}
    figures = {term: example.fis_figures(number[term], 2, 3) for term in ("eugene", "chicago", "smith")}
    pairs = zip_longest(examples.decide(figures), printed.TABLE_4)
    rows = tuple((*_step(ours), f"{theirs[3]}, {theirs[4]}" if theirs else NO_VALUE) for ours, theirs in pairs if ours)
    heads = ("iteration", "term", "m", "frequency", "state")
    caption = "Deciding for a term to delete, in the paper's example"
    note = "The paper does not print the log behind it: we wrote one that has these frequencies."
    tables = [PaperTable("Table 4", caption, (*heads, "paper"), rows, words=(0, 1, 4, 5), notes=(note,))]
    found = examples.find_undecided(holders, 2, 3)
    if found:
        caption = "Deciding for a term to delete, in this log (k = 2, m = 3)"
        tables.append(PaperTable("Table 4, this log", caption, heads, tuple(map(_step, found)), words=(0, 1, 4)))
    return tables


def _step(step: Step) -> tuple[str, ...]:
    iteration, term, m, frequency, state = step
    return f"{iteration}.", term, str(m), str(frequency), state
