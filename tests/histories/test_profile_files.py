"""Profile files: read as they stand, written, and refused by line."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.core.errors import InputError, LogError, OutputError
from queryveil.histories.profile_files import is_profile_file, read_profiles
from queryveil.histories.profiles import Profiles

ROWS = "user,term,weight\nann,tea,2\nann,java,0.5\nbob,tea,1\nbob,milk,0\n"


def written(tmp_path: Path, text: str, name: str = "profiles.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def held(profiles: Profiles) -> dict[tuple[str, str], float]:
    assert profiles.weights is not None
    rows = profiles.to_arrow()
    keys = zip(rows["person"].to_pylist(), rows["entry"].to_pylist(), strict=True)
    return dict(zip(keys, profiles.weights.tolist(), strict=True))


EXPECTED = {("ann", "tea"): 2.0, ("ann", "java"): 0.5, ("bob", "tea"): 1.0}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (ROWS, "profiles.csv"),
        (ROWS.replace(",", "\t"), "profiles.tsv"),
        ("term,WEIGHT,User\ntea,2,ann\njava,0.5,ann\ntea,1,bob\n", "profiles.txt"),
    ],
)
def test_text_files_may_have_any_column_order(tmp_path: Path, text: str, name: str) -> None:
    path = written(tmp_path, text, name)
    assert is_profile_file(path)
    assert held(read_profiles(path)) == EXPECTED


def test_parquet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "profiles.parquet"
    pq.write_table(pa.table({"user": [1, 1], "term": ["tea", "java"], "weight": [2, 1]}), path)
    assert held(read_profiles(path)) == {("1", "tea"): 2.0, ("1", "java"): 1.0}


def test_entries_are_in_the_reference_order(tmp_path: Path) -> None:
    profiles = read_profiles(written(tmp_path, ROWS))
    assert profiles.vocabulary == ("tea", "java")
    assert profiles.persons == ("ann", "bob")
    assert profiles.indptr.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("bob,coffee,-1", "line 6 has a negative weight"),
        ("bob,coffee,", "line 6 has a weight that is missing or no number"),
        ("bob,coffee,much", "line 6 has a weight that is missing or no number"),
        ("bob,coffee,inf", "line 6 has an infinite weight"),
        (",coffee,1", "line 6 has no user"),
        ("bob, ,1", "line 6 has no term"),
        ("ann,tea,1", "line 6 repeats a user and a term"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, row: str, fault: str) -> None:
    with pytest.raises(LogError, match=fault):
        read_profiles(written(tmp_path, ROWS + row + "\n"))


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="has no rows"):
        read_profiles(written(tmp_path, "user,term,weight\n"))


@pytest.mark.parametrize("text", ["user,query\n1,a\n", "", "user,term\n1,a\n"])
def test_other_files_are_not_profile_files(tmp_path: Path, text: str) -> None:
    assert not is_profile_file(written(tmp_path, text))


LOG = "user,query,time\n1,tea tea milk,2026-01-01\n1,tea,2026-01-02\n2,java,2026-01-01\n"


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet"])
def test_a_written_file_reads_back(tmp_path: Path, name: str) -> None:
    log = written(tmp_path, LOG, "log.csv")
    done = queryveil.write_profiles(log, tmp_path / name, weights="counts")
    assert (done.people, done.terms, done.rows) == (2, 3, 3)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert held(queryveil.profiles(tmp_path / name)) == {("1", "tea"): 2.0, ("1", "milk"): 1.0, ("2", "java"): 1.0}


def test_weights_of_the_paper_are_ones(tmp_path: Path) -> None:
    queryveil.write_profiles(written(tmp_path, LOG, "log.csv"), tmp_path / "out.csv")
    assert np.all(queryveil.profiles(tmp_path / "out.csv").weights == 1)


def test_a_log_is_never_overwritten(tmp_path: Path) -> None:
    log = written(tmp_path, LOG, "log.csv")
    with pytest.raises(OutputError, match="is not a profile file"):
        queryveil.write_profiles(log, log, force=True)
    assert log.read_text() == LOG


def test_another_ending_or_history_is_refused(tmp_path: Path) -> None:
    log = written(tmp_path, LOG, "log.csv")
    with pytest.raises(InputError, match="ends in"):
        queryveil.write_profiles(log, tmp_path / "out.xlsx")
    with pytest.raises(InputError, match="history user"):
        queryveil.write_profiles(log, tmp_path / "out.csv", history="day")
    assert list(tmp_path.iterdir()) == [log]
