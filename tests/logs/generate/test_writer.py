from dataclasses import replace

import numpy as np
import pytest

from queryveil.logs.generate import DEMO
from queryveil.logs.generate.lexicon import NOTHING, QueryLexicon
from queryveil.logs.generate.shape import LONGEST, Slot
from queryveil.logs.generate.word_sources import build_lexicon
from queryveil.logs.generate.writer import draw_results, make_rows


@pytest.fixture(scope="module")
def lexicon() -> QueryLexicon:
    return build_lexicon(DEMO, np.random.default_rng(1))


def test_a_site_that_is_named_is_the_first_result(lexicon: QueryLexicon) -> None:
    site = lexicon.samplers[Slot.SITE].ids[7]
    terms = np.full((2_000, LONGEST), NOTHING, np.int32)
    terms[:, 1] = site
    terms[:, 0] = lexicon.samplers[Slot.COM].ids[0]
    results = draw_results(terms, lexicon, DEMO.queries, np.random.default_rng(3))
    first = results.ranks == 1
    assert (results.sites[first] == site).all()
    assert len({*zip(results.ranks.tolist(), results.sites.tolist(), strict=True)}) == len(set(results.ranks.tolist()))
    assert (results.sites[~first] != site).all()


def test_each_row_is_a_click_or_a_query_without_one(lexicon: QueryLexicon) -> None:
    terms = np.full((20_000, LONGEST), NOTHING, np.int32)
    results = draw_results(terms, lexicon, DEMO.queries, np.random.default_rng(3))
    per_query = np.bincount(results.queries)
    assert len(per_query) == 20_000
    assert (per_query[results.queries[~results.is_clicked]] == 1).all()
    assert per_query.max() == 5
    assert results.is_clicked[np.diff(results.queries, prepend=-1) > 0].mean() == pytest.approx(0.52, abs=0.02)
    within = np.diff(results.queries) == 0
    assert (np.diff(results.ranks)[within] >= 1).all()


def test_addresses_are_written_with_dots_and_fields_separated_by_tabs(lexicon: QueryLexicon) -> None:
    www, com, site = (int(lexicon.samplers[slot].ids[0]) for slot in (Slot.WWW, Slot.COM, Slot.SITE))
    queries = np.full((3, LONGEST), NOTHING, np.int32)
    queries[0, :3], queries[1, :2], queries[2, :2] = (www, site, com), (site, com), (com, site)
    times = np.array(["2006-03-01 10:00:00"] * 3, "datetime64[s]")
    mix = replace(DEMO.queries, clicked=0.0)
    results = draw_results(lexicon.terms_of(queries), lexicon, mix, np.random.default_rng(3))
    name = lexicon.texts[site].as_py()
    rows = make_rows(np.array([5, 5, 9]), queries, times, results, lexicon).to_pybytes().decode()
    assert rows.splitlines() == [
        f"5\twww.{name}.com\t2006-03-01 10:00:00\t\t",
        f"5\t{name}.com\t2006-03-01 10:00:00\t\t",
        f"9\tcom {name}\t2006-03-01 10:00:00\t\t",
    ]
