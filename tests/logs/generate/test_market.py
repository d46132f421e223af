import csv
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from queryveil.api import profiles
from queryveil.core.errors import InputError, OutputError
from queryveil.logs.generate import generate

# Table 3 of Burghardt et al. 2010: sign, and whether it is significant at the 0.01 level (one-tailed)
TABLE_3 = {
    ("frequency", "revenue"): (1, False),
    ("frequency", "impressions"): (1, True),
    ("frequency", "clicks"): (1, True),
    ("frequency", "bid"): (1, False),
    ("frequency", "users"): (1, True),
    ("users", "revenue"): (1, False),
    ("users", "impressions"): (1, True),
    ("users", "clicks"): (1, True),
    ("users", "bid"): (1, False),
    ("bid", "revenue"): (1, True),
    ("bid", "impressions"): (1, False),
    ("bid", "clicks"): (-1, False),
    ("clicks", "revenue"): (1, True),
    ("clicks", "impressions"): (1, True),
    ("impressions", "revenue"): (1, True),
}


class Market(NamedTuple):
    n_terms: int  # of the log, after cleaning
    columns: dict[str, NDArray[np.float64]]  # of the log's terms that stand in the table; nan where not known


def read_both(log: Path, table: Path) -> Market:
    """Join the counts of the log after reading and cleaning with the columns of the table."""
    built = profiles(log)
    frequency = np.bincount(built.ids, weights=built.counts)
    users = np.bincount(built.ids)
    place = {term: at for at, term in enumerate(built.vocabulary)}
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert set(rows[0]) == {"term", "bid", "clicks", "impressions"}
    assert len({row["term"] for row in rows}) == len(rows)
    at = [place[row["term"]] for row in rows]  # every term of the table is one of the log
    columns = {name: np.array([float(row[name] or "nan") for row in rows]) for name in ("bid", "clicks", "impressions")}
    revenue = columns["bid"] * columns["clicks"]
    counts = {"frequency": frequency[at].astype(np.float64), "users": users[at].astype(np.float64)}
    return Market(len(place), {**counts, **columns, "revenue": revenue})


@pytest.fixture(scope="module", params=[("demo", 1_500), ("altavista", 20_000), ("aol", 1_500)], ids=lambda p: p[0])
def market(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Market:
    like, users = request.param
    folder = tmp_path_factory.mktemp(like)
    log, table = folder / "log.tsv", folder / "market.csv"
    generate(log, like=like, users=users, rng=np.random.default_rng(4), market_out=table)
    return read_both(log, table)


def correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the correlation over the pairs that are known, and its one-tailed significance by the normal law."""
    known = ~(np.isnan(x) | np.isnan(y))
    value = float(np.corrcoef(x[known], y[known])[0, 1])
    t = abs(value) * math.sqrt((known.sum() - 2) / (1 - value * value))
    return value, math.erfc(t / math.sqrt(2)) / 2


@pytest.mark.parametrize("cell", TABLE_3, ids="-".join)
def test_every_cell_has_the_sign_and_significance_of_table_3(market: Market, cell: tuple[str, str]) -> None:
    sign, is_significant = TABLE_3[cell]
    value, significance = correlation(*(market.columns[name] for name in cell))
    assert value * sign > 0
    assert (significance < 0.01) == is_significant


def test_the_table_covers_the_share_of_terms_in_the_paper(market: Market) -> None:
    columns = market.columns
    assert len(columns["bid"]) / market.n_terms == pytest.approx(117_916 / 251_115, abs=0.001)
    assert np.isnan(columns["clicks"]).mean() == pytest.approx(1 - 64_694 / 117_916, abs=0.001)
    assert not np.isnan(columns["bid"]).any()
    assert not np.isnan(columns["impressions"]).any()


def test_bids_clicks_and_impressions_are_in_range(market: Market) -> None:
    bid, clicks, impressions = (market.columns[name] for name in ("bid", "clicks", "impressions"))
    known = ~np.isnan(clicks)
    assert 0.01 <= bid.min() <= np.median(bid) < 1 < 20 < bid.max() <= 999
    assert clicks[known].min() >= 0
    assert (clicks[known] <= impressions[known]).all()


def make(out: Path, market_out: Path, users: int = 40, overwrite: bool = False, seed: int = 2) -> None:
    generate(out, users=users, rng=np.random.default_rng(seed), market_out=market_out, overwrite=overwrite)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small log and its market table."""
    folder = tmp_path_factory.mktemp("small")
    make(folder / "log", folder / "market")
    return folder


def test_numbers_are_plain_and_reproducible_from_the_seed(small: Path, tmp_path: Path) -> None:
    make(tmp_path / "log", tmp_path / "market")
    text = (tmp_path / "market").read_text()
    assert text == (small / "market").read_text()
    header, *lines = text.splitlines()
    assert header == "term,bid,clicks,impressions"
    assert all(re.fullmatch(r"[a-z0-9]+,\d+\.\d\d,\d*,\d+", line) for line in lines)


def test_the_log_is_the_same_without_a_market_table(small: Path, tmp_path: Path) -> None:
    generate(tmp_path / "alone", users=40, rng=np.random.default_rng(2))
    assert (small / "log").read_bytes() == (tmp_path / "alone").read_bytes()


def test_no_direct_identifier_is_priced(tmp_path: Path) -> None:
    make(tmp_path / "log", tmp_path / "market", users=1_000)
    assert re.search(r"\d{7}", (tmp_path / "log").read_text().replace("-", ""))
    assert not re.search(r"^\w*\d{7}", (tmp_path / "market").read_text(), re.MULTILINE)


@pytest.mark.parametrize("like", ["demo", "altavista", "aol"])
def test_a_log_of_one_person_has_a_table_too(tmp_path: Path, like: str) -> None:
    rng = np.random.default_rng(1)
    made = generate(tmp_path / "log", like=like, users=1, rng=rng, market_out=tmp_path / "market")
    assert (made.market, made.priced) == (tmp_path / "market", (tmp_path / "market").read_text().count("\n") - 1)
    assert made.priced >= 1


def test_the_log_cannot_be_its_own_market_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the log and its market table cannot both be"):
        make(tmp_path / "log", tmp_path / "folder" / ".." / "log")
    assert list(tmp_path.iterdir()) == []


def test_existing_files_are_only_replaced_with_overwrite(tmp_path: Path) -> None:
    (tmp_path / "market").write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        make(tmp_path / "log", tmp_path / "market")
    assert [path.name for path in tmp_path.iterdir()] == ["market"]
    assert (tmp_path / "market").read_text() == "mine"
    make(tmp_path / "log", tmp_path / "market", overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {"log", "market"}
    assert (tmp_path / "market").read_text() != "mine"
