import gzip
import re
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from queryveil.core.errors import InputError, OutputError, UnknownNameError
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.lexicons.wordnet import load_wordnet
from queryveil.logs.generate import GeneratedLog, generate
from queryveil.logs.generate.topics import TOPICS, topic_phrases

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


def make(path: Path, users: int, seed: int = 7, overwrite: bool = False) -> GeneratedLog:
    return generate(path, users=users, rng=np.random.default_rng(seed), overwrite=overwrite)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    made = make(tmp_path_factory.mktemp("demo") / "demo.tsv", USERS)
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


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second, other = (make(tmp_path / name, 300, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.path.read_bytes() != other.path.read_bytes()


def test_gzip_is_reproducible_and_holds_the_same_log(tmp_path: Path) -> None:
    plain, packed, again = (make(tmp_path / name, 200) for name in ("a.tsv", "b.tsv.gz", "c.tsv.gz"))
    assert gzip.decompress(packed.path.read_bytes()) == plain.path.read_bytes()
    assert packed.path.read_bytes() == again.path.read_bytes()


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


def test_no_query_is_empty_or_untidy(demo: Demo) -> None:
    for query in demo.queries:
        assert query.text == " ".join(query.text.split()) != ""
        assert query.text.isascii()


def test_a_click_has_rank_and_address_and_queries_may_have_several(demo: Demo) -> None:
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


def test_people_come_back_to_their_queries(demo: Demo) -> None:
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


def test_about_half_of_what_is_typed_is_shared_by_ten_people(demo: Demo) -> None:
    shared = np.mean([len(demo.holders[term]) >= 10 for _, term in demo.pairs])
    assert 0.40 < shared < 0.65


def test_some_pairs_of_terms_are_shared_by_ten_people(demo: Demo) -> None:
    popular = sorted(demo.holders.items(), key=lambda item: (-len(item[1]), item[0]))[:40]
    pairs = [len(people & others) for at, (_, people) in enumerate(popular) for _, others in popular[:at]]
    assert np.mean([both >= 10 for both in pairs]) > 0.8


@pytest.mark.parametrize(("known", "least"), [(2, 0.6), (3, 0.85)])
def test_a_few_terms_single_most_people_out(demo: Demo, known: int, least: float) -> None:
    rng = np.random.default_rng(3)
    histories = defaultdict(set)
    for person, term in demo.pairs:
        histories[person].add(term)
    long = [sorted(terms) for terms in histories.values() if len(terms) >= known][:1000]
    samples = [[terms[at] for at in rng.permutation(len(terms))[:known]] for terms in long]
    alone = [len(set.intersection(*(demo.holders[term] for term in sample))) == 1 for sample in samples]
    assert np.mean(alone) > least


def test_direct_identifiers_are_there_and_are_all_fictitious(demo: Demo) -> None:
    texts = [query.text for query in demo.queries]
    emails = [text for text in texts if "@" in text]
    telephones = [found for text in texts for found in re.findall(r"\b\d{3}-\d{3}-\d{4}\b", text)]
    digits = [found for text in texts for found in re.findall(r"\d{9,}", text)]
    numbers = [found for text in texts for found in re.findall(r"\b\d{3}-\d{2}-\d{4}\b", text)]
    assert min(map(len, (emails, telephones, digits, numbers))) > 10
    assert all("@example.com" in text for text in emails)
    assert all("-555-01" in found for found in telephones)
    assert all(found.startswith("000") for found in digits + numbers)


def test_topics_are_filled_and_some_are_sensitive() -> None:
    for topic, phrases in zip(TOPICS, topic_phrases(900), strict=True):
        assert len(phrases) >= 50, topic.name
    assert {topic.name for topic in TOPICS if topic.is_sensitive} == {
        *("disease", "mind", "intimacy", "religion", "drugs", "crime", "money trouble")
    }


def test_one_user_is_enough(tmp_path: Path) -> None:
    assert make(tmp_path / "one", 1).people == 1


@pytest.mark.parametrize("users", [0, -3])
def test_fewer_than_one_user_is_refused(tmp_path: Path, users: int) -> None:
    with pytest.raises(InputError, match=f"users must be a whole number of at least 1, not {users}"):
        make(tmp_path / "log", users)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_shape_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no log like 'dmeo'; did you mean demo"):
        generate(tmp_path / "log", like="dmeo", rng=np.random.default_rng(1))


def test_an_existing_file_stays_unless_it_may_be_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        make(path, 1)
    assert path.read_text() == "mine"
    make(path, 1, overwrite=True)
    assert path.read_text() != "mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        make(tmp_path / "missing" / "log", 1)
    with pytest.raises(OutputError, match="is a folder"):
        make(tmp_path, 1)


def test_nothing_is_left_when_generating_is_interrupted(tmp_path: Path) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "log", users=5, rng=np.random.default_rng(1), progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_only_the_log_is_left_and_progress_reaches_the_end(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    rng = np.random.default_rng(1)
    generate(tmp_path / "log", users=5, rng=rng, progress=lambda _, done, total: reports.append((done, total)))
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert reports[-1] == (5, 5)
