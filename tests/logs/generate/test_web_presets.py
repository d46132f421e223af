import io
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from queryveil.api import profiles, read
from queryveil.core.progress import silent
from queryveil.histories.build import assemble
from queryveil.histories.profiles import Profiles
from queryveil.logs.generate import ALTAVISTA, AOL, GeneratedLog, generate
from queryveil.logs.generate.writer import write_log
from tests.builders import run_method

USERS = 20_000


class Sample(NamedTuple):
    made: GeneratedLog
    rows: list[list[str]]
    profiles: Profiles
    n_queries: int

    def uses(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the queries and the people of every term."""
        terms = self.profiles.vocabulary
        frequency = np.bincount(self.profiles.ids, weights=self.profiles.counts).astype(int).tolist()
        users = np.bincount(self.profiles.ids).tolist()
        return dict(zip(terms, frequency, strict=True)), dict(zip(terms, users, strict=True))


def make(path: Path, like: str, users: int, seed: int = 3) -> GeneratedLog:
    return generate(path, like=like, users=users, rng=np.random.default_rng(seed))


def sample(path: Path, like: str, users: int) -> Sample:
    made = make(path, like, users)
    header, *lines = path.read_text().splitlines()
    assert header == "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
    with read(path) as log:
        built = profiles(log)
        n_queries = sum(len(batch) for batch in log.batches())
    return Sample(made, [line.split("\t") for line in lines], built, n_queries)


@pytest.fixture(scope="module")
def altavista(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(tmp_path_factory.mktemp("altavista") / "log.tsv", "altavista", USERS)


@pytest.fixture(scope="module")
def aol(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(tmp_path_factory.mktemp("aol") / "log.tsv", "aol", 2_000)


@pytest.mark.parametrize("like", ["altavista", "aol"])
def test_reported_counts_equal_those_of_reading_and_cleaning(like: str, request: pytest.FixtureRequest) -> None:
    made, rows, built, n_queries = request.getfixturevalue(like)
    assert built.n_people == made.people
    assert n_queries == made.queries
    assert len(rows) == made.rows
    assert len(built.vocabulary) == made.terms
    assert built.counts.sum() == made.occurrences
    assert len(built.ids) == made.pairs
    assert np.diff(built.indptr).max() == made.largest
    assert made.original == {}  # known only of the full size


def test_at_full_size_the_figures_are_those_of_the_paper() -> None:
    rng = np.random.default_rng(8)
    log, usage = write_log(Path("log"), io.BytesIO(), ALTAVISTA, ALTAVISTA.users, rng, silent)
    for figure, known in ALTAVISTA.original.items():
        assert getattr(log, figure) == pytest.approx(known, rel=0.01), figure
    users = dict(zip(usage.texts, usage.users.tolist(), strict=True))
    frequency = dict(zip(usage.texts, usage.frequency.tolist(), strict=True))
    # Table 2: the term of the most people, and the term of the most queries
    assert max(users, key=users.__getitem__) == "com"
    assert users["com"] == pytest.approx(31_974, rel=0.1)
    assert max(frequency, key=frequency.__getitem__) == "or"
    assert (frequency["or"], users["or"]) == (pytest.approx(142_041, rel=0.02), pytest.approx(2_170, rel=0.02))
    assert np.corrcoef(usage.frequency, usage.users)[0, 1] == pytest.approx(0.761, abs=0.03)  # Table 3


def test_a_smaller_log_has_the_same_measures_per_person(altavista: Sample) -> None:
    assert altavista.made.queries / USERS == pytest.approx(1_846_134 / 367_803, rel=0.01)
    assert altavista.made.occurrences / altavista.made.queries == pytest.approx(5_501_825 / 1_846_134, rel=0.01)
    assert altavista.made.terms < 251_115 / 4


def test_aol_has_as_many_pairs_per_person_as_the_original(aol: Sample) -> None:
    assert aol.made.pairs / aol.made.people == pytest.approx(AOL.original["pairs"] / AOL.users, rel=0.05)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second, other = (make(tmp_path / name, "aol", 300, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.path.read_bytes() != other.path.read_bytes()


@pytest.mark.parametrize(
    ("like", "first", "last"), [("altavista", (2002, 9, 8), (2002, 9, 9)), ("aol", (2006, 3, 1), (2006, 5, 31))]
)
def test_rows_are_by_person_and_time_within_the_days(
    like: str, first: tuple[int, int, int], last: tuple[int, int, int], request: pytest.FixtureRequest
) -> None:
    rows = request.getfixturevalue(like).rows
    assert {len(row) for row in rows} == {5}
    order = [(int(row[0]), row[2]) for row in rows]
    assert order == sorted(order)
    assert len(set(order)) == len(order)  # nobody types two queries in a second, so none are merged
    times = [datetime.fromisoformat(row[2]) for row in rows]
    assert datetime(*first) <= min(times)
    assert max(times) < datetime(*last)


def test_queries_have_single_spaces_and_addresses_have_dots(altavista: Sample) -> None:
    texts = [row[1] for row in altavista.rows]
    assert all(re.fullmatch(r"[a-z0-9]+(?:[ .][a-z0-9]+)*", text) for text in texts)
    assert any(re.fullmatch(r"www\.[a-z]+\.com", text) for text in texts)


def test_altavista_has_no_clicks_and_aol_has_some(altavista: Sample, aol: Sample) -> None:
    assert not any(row[3] or row[4] for row in altavista.rows)
    clicked = [row for row in aol.rows if row[3]]
    assert 0.45 < len(clicked) / len(aol.rows) < 0.55
    found: dict[tuple[str, str], str] = {}
    for _, text, _, rank, address in clicked:
        assert int(rank) >= 1
        assert re.fullmatch(r"http://www\.[a-z]+\.com", address)
        assert found.setdefault((text, rank), address) == address


def test_many_terms_belong_to_one_person(altavista: Sample) -> None:
    frequency, users = altavista.uses()
    alone = [term for term, n in users.items() if n == 1]
    assert 0.4 < len(alone) / len(users) < 0.75
    assert sum(frequency[term] for term in alone) < 0.2 * altavista.made.occurrences


def test_activity_is_heavy_tailed(altavista: Sample) -> None:
    per_person = np.array(sorted(Counter(row[0] for row in altavista.rows).values()))
    assert 0.3 < np.mean(per_person == 1) < 0.5
    assert per_person.max() <= 100  # nobody is taken for a bot
    assert per_person[-USERS // 10 :].sum() > 0.35 * per_person.sum()


def test_a_few_programs_combine_terms_by_or(altavista: Sample) -> None:
    frequency, users = altavista.uses()
    assert users["or"] == pytest.approx(USERS * 2_170 / 367_803, abs=2)
    assert frequency["or"] / users["or"] == pytest.approx(65, rel=0.01)


def keep(built: Profiles, k: int) -> tuple[float, int]:
    """Return the share of the log, and the distinct terms, that Algorithm 1 keeps at m = 2."""
    mask = run_method(built, f"km(k={k}, m=2, algorithm=paper)", seed=1).mask
    return float(built.counts[mask].sum() / built.counts.sum()), len(np.unique(built.ids[mask]))


def test_terms_of_a_history_are_correlated(altavista: Sample) -> None:
    built = altavista.profiles
    history = np.repeat(np.arange(built.n_histories, dtype=np.int32), np.diff(built.indptr))
    shuffled = np.random.default_rng(2).permutation(built.ids)
    apart = assemble(history, shuffled, pa.array(built.vocabulary), built.owner, built.persons)
    assert keep(built, 2)[1] > 1.3 * keep(apart, 2)[1]


def test_km_keeps_less_for_a_larger_k(altavista: Sample) -> None:
    at_2, at_10, at_100 = (keep(altavista.profiles, k)[0] for k in (2, 10, 100))
    assert 0.2 < at_2 < 0.35  # 44 % at full size, 45 % in the paper
    assert at_2 > at_10 + 0.03
    assert at_10 > at_100 + 0.03


@pytest.mark.parametrize("like", ["altavista", "aol"])
def test_one_user_is_enough(tmp_path: Path, like: str) -> None:
    made = make(tmp_path / "one", like, 1)
    assert made.people == 1
    assert len(made.path.read_text().splitlines()) == made.rows + 1


def test_an_interrupt_leaves_no_files(tmp_path: Path) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(
            tmp_path / "log",
            like="altavista",
            users=ALTAVISTA.block + 1,
            rng=np.random.default_rng(1),
            market_out=tmp_path / "market",
            progress=interrupt,
        )
    assert list(tmp_path.iterdir()) == []
