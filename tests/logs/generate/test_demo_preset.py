import re
from collections import Counter, defaultdict
from datetime import datetime
from typing import NamedTuple

import numpy as np
import pytest

from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.generate import GeneratedLog, generate
from queryveil.logs.generate.word_sources import TOPICS, topic_phrases

USERS = 5_000
GAP = 30 * 60


class Query(NamedTuple):
    person: int
    text: str
    time: datetime


class Demo(NamedTuple):
    made: GeneratedLog
    rows: list[list[str]]
    queries: list[Query]  # in the order of the file
    pairs: list[tuple[int, str]]  # (person, term): a term once per query, without stop words
    holders: dict[str, set[int]]  # term → people


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    path = tmp_path_factory.mktemp("demo") / "demo.tsv"
    made = generate(path, users=USERS, rng=np.random.default_rng(7))
    header, *lines = made.path.read_text().splitlines()
    assert header == "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
    rows = [line.split("\t") for line in lines]
    seen = dict.fromkeys((person, text, time) for person, text, time, _, _ in rows)
    queries = [Query(int(person), text, datetime.fromisoformat(time)) for person, text, time in seen]
    pairs = [
        (q.person, term) for q in queries for term in set(re.findall("[a-z0-9]+", q.text)) if term not in STOP_WORDS
    ]
    holders = defaultdict(set)
    for person, term in pairs:
        holders[term].add(person)
    return Demo(made, rows, queries, pairs, holders)


def test_every_row_has_five_fields_and_counts_are_reported(demo: Demo) -> None:
    assert {len(row) for row in demo.rows} == {5}
    assert demo.made.people == len({row[0] for row in demo.rows}) == USERS
    assert demo.made.rows == len(demo.rows)
    assert demo.made.queries == len(demo.queries)
    everything = [set(re.findall("[a-z0-9]+", query.text)) for query in demo.queries]
    assert demo.made.terms == len(set().union(*everything))
    assert demo.made.occurrences == sum(map(len, everything))


def test_rows_are_by_person_and_time_over_three_months(demo: Demo) -> None:
    order = [(int(row[0]), row[2]) for row in demo.rows]
    assert order == sorted(order)
    assert all(re.fullmatch(r"2006-\d\d-\d\d \d\d:\d\d:\d\d", row[2]) for row in demo.rows)
    times = [query.time for query in demo.queries]
    assert datetime(2006, 3, 1) <= min(times)
    assert max(times) < datetime(2006, 6, 1)


def test_no_query_is_empty_or_has_extra_spaces(demo: Demo) -> None:
    for query in demo.queries:
        assert query.text == " ".join(query.text.split()) != ""
        assert query.text.isascii()


def test_a_click_has_rank_and_address_and_a_query_may_have_several_clicks(demo: Demo) -> None:
    clicks = Counter((row[0], row[1], row[2]) for row in demo.rows if row[3])
    for row in demo.rows:
        assert bool(row[3]) == bool(row[4])
        assert not row[3] or (int(row[3]) >= 1 and row[4].startswith("http://www."))
    assert 0.4 < len(clicks) / len(demo.queries) < 0.6
    assert sum(count > 1 for count in clicks.values()) > 0.1 * len(clicks)


def test_the_same_query_finds_the_same_site_at_the_same_rank(demo: Demo) -> None:
    found: dict[tuple[str, str], str] = {}
    for _, text, _, rank, address in demo.rows:
        assert found.setdefault((text, rank), address) == address


def test_activity_is_heavy_tailed(demo: Demo) -> None:
    per_person = np.array(sorted(Counter(query.person for query in demo.queries).values()))
    assert 15 <= per_person.mean() <= 20
    assert np.median(per_person) < 0.75 * per_person.mean()
    assert per_person[-len(per_person) // 10 :].sum() > 0.35 * per_person.sum()


def test_bots_put_more_than_a_hundred_queries_into_one_session(demo: Demo) -> None:
    longest: Counter[int] = Counter()
    length = 0
    for before, query in zip([None, *demo.queries], demo.queries, strict=False):
        follows = before and before.person == query.person and (query.time - before.time).total_seconds() <= GAP
        length = length + 1 if follows else 1
        longest[query.person] = max(longest[query.person], length)
    assert 2 <= sum(length > 100 for length in longest.values()) <= 3
    assert sorted(longest.values())[-4] < 60  # nobody else is near the limit


def test_people_have_several_sessions_of_several_queries(demo: Demo) -> None:
    gaps = np.array(
        [
            (after.time - before.time).total_seconds()
            for before, after in zip(demo.queries, demo.queries[1:], strict=False)
            if before.person == after.person
        ]
    )
    assert gaps.min() >= 1  # else two queries could be taken for one
    assert 0.55 < np.mean(gaps <= GAP) < 0.8
    assert np.median(gaps[gaps <= GAP]) < 120


def test_queries_have_two_to_three_words(demo: Demo) -> None:
    assert 1.9 <= np.mean([len(query.text.split()) for query in demo.queries]) <= 3


def test_people_repeat_their_queries(demo: Demo) -> None:
    distinct = len({(query.person, query.text) for query in demo.queries})
    assert 0.15 < 1 - distinct / len(demo.queries) < 0.4
    assert 0.3 < len(set(demo.pairs)) / len(demo.pairs) < 0.65


def test_most_distinct_terms_are_in_no_dictionary(demo: Demo) -> None:
    wordnet = load_wordnet()

    def is_known(term: str) -> bool:
        singulars = (term, term.removesuffix("s"), term.removesuffix("es"), f"{term.removesuffix('ies')}y")
        return any(form in wordnet.lemma_ids for form in singulars) or term in wordnet.exceptions

    assert 0.78 < np.mean([term not in wordnet.lemma_ids for term in demo.holders]) < 0.90
    assert np.mean([is_known(term) for term in demo.holders]) < 0.28


def test_about_half_of_the_term_occurrences_are_shared_by_ten_people(demo: Demo) -> None:
    shared = np.mean([len(demo.holders[term]) >= 10 for _, term in demo.pairs])
    assert 0.40 < shared < 0.65


def test_some_pairs_of_terms_are_shared_by_ten_people(demo: Demo) -> None:
    popular = sorted(demo.holders.items(), key=lambda item: (-len(item[1]), item[0]))[:40]
    pairs = [len(people & others) for at, (_, people) in enumerate(popular) for _, others in popular[:at]]
    assert np.mean([both >= 10 for both in pairs]) > 0.8


@pytest.mark.parametrize(("known", "least"), [(2, 0.6), (3, 0.85)])
def test_a_few_known_terms_identify_most_people(demo: Demo, known: int, least: float) -> None:
    rng = np.random.default_rng(3)
    histories = defaultdict(set)
    for person, term in demo.pairs:
        histories[person].add(term)
    long = [sorted(terms) for terms in histories.values() if len(terms) >= known][:1000]
    samples = [[terms[at] for at in rng.permutation(len(terms))[:known]] for terms in long]
    alone = [len(set.intersection(*(demo.holders[term] for term in sample))) == 1 for sample in samples]
    assert np.mean(alone) > least


def test_direct_identifiers_occur_and_are_all_fictitious(demo: Demo) -> None:
    texts = [query.text for query in demo.queries]
    emails = [text for text in texts if "@" in text]
    telephones = [found for text in texts for found in re.findall(r"\b\d{3}-\d{3}-\d{4}\b", text)]
    digits = [found for text in texts for found in re.findall(r"\d{9,}", text)]
    numbers = [found for text in texts for found in re.findall(r"\b\d{3}-\d{2}-\d{4}\b", text)]
    assert min(map(len, (emails, telephones, digits, numbers))) > 10
    assert all("@example.com" in text for text in emails)
    assert all("-555-01" in found for found in telephones)
    assert all(found.startswith("000") for found in digits + numbers)


def test_every_topic_has_phrases_and_some_are_sensitive() -> None:
    for topic in TOPICS:
        assert len(topic_phrases(topic)) >= 50, topic.name
    assert {topic.name for topic in TOPICS if topic.is_sensitive} == {
        *("disease", "mind", "intimacy", "religion", "drugs", "crime", "money trouble")
    }
