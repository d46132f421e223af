"""The memory limit, and the private temporary folder that is gone afterwards."""

import stat
import tempfile
from pathlib import Path

import duckdb
import pytest

import queryveil
from queryveil.core.errors import InputError, LogError
from queryveil.engines.local.connection import duckdb_errors_as_sentences

SECRET = "xylophonist"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 45 MB of queries, all different, so that nothing gets small by compression."""
    path = tmp_path_factory.mktemp("large") / "log.tsv"
    with path.open("w") as stream:
        stream.write("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n")
        for i in range(300_000):
            query = f"{i * 2654435761 % 999983:06x} {i * 40503 % 65521:05x} {i:07x} " + f"{i:x}-" * 15
            stream.write(f"u{i % 5000}\t{query}\t2006-03-01 {i % 24:02}:{i % 60:02}:00\t\t\n")
    return path


def test_a_log_larger_than_the_limit_is_spilled_and_read(large: Path, temporary: Path) -> None:
    assert large.stat().st_size > 30_000_000
    with queryveil.read(large, memory_limit="40MB", scrub=False) as log:
        spilled = [path for path in temporary.rglob("*") if path.is_file() and path.name != "lock"]
        assert sum(path.stat().st_size for path in spilled) > 1_000_000
        assert log.n_queries == 300_000
    assert list(temporary.iterdir()) == []


def test_running_out_of_memory_gives_one_clear_sentence(large: Path, temporary: Path) -> None:
    try:
        with queryveil.read(large, memory_limit="30MB", scrub=False, history="session") as log:
            assert log.steps["rows"].count == 300_000
    except InputError as error:
        assert str(error) == "the log does not fit into the memory limit; raise memory_limit."
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (duckdb.OutOfMemoryException(SECRET), "the log does not fit into the memory limit; raise --memory-limit."),
        (
            duckdb.OutOfMemoryException(f"{SECRET}: adjust max_temp_directory_size"),
            "the log: the disk of the temporary folder is full; free space or set TMPDIR.",
        ),
        (
            duckdb.IOException(f"{SECRET}: No space left on device"),
            "the log: the disk of the temporary folder is full; free space or set TMPDIR.",
        ),
        (
            duckdb.IOException(f"{SECRET}: Unexpected end of GZIP stream"),
            "the log is a truncated or damaged compressed file; fetch it again.",
        ),
        (
            duckdb.ConversionException(SECRET),
            "the log cannot be read (conversion error); check that it is an undamaged file of its format.",
        ),
    ],
)
def test_database_errors_become_sentences_that_quote_nothing(error: duckdb.Error, sentence: str) -> None:
    with pytest.raises(InputError) as caught, duckdb_errors_as_sentences("the log"):
        raise error
    assert str(caught.value) == sentence


@pytest.mark.parametrize("limit", ["1MB", "0GB", "29.9MB"])
def test_a_memory_limit_that_is_too_small_is_refused(tmp_path: Path, limit: str) -> None:
    (tmp_path / "log.csv").write_text("user,query\nu,q\n")
    with pytest.raises(InputError, match="memory_limit must be at least 30MB to read a log; raise it"):
        queryveil.read(tmp_path / "log.csv", memory_limit=limit)


def test_the_temporary_folder_is_private_and_gone_afterwards(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query\nu,q\n")
    with queryveil.read(path):
        (folder,) = temporary.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(temporary.iterdir()) == []
    with pytest.raises(RuntimeError), queryveil.read(path):
        raise RuntimeError
    assert list(temporary.iterdir()) == []
    for content, options in (("user,query\n,q\n", {}), ("user,query\nu,q\n", {"history": "day"})):
        path.write_text(content)
        with pytest.raises(LogError):
            queryveil.read(path, **options)  # type: ignore[arg-type]
        assert list(temporary.iterdir()) == []


def test_nothing_is_written_next_to_the_log_or_in_the_working_folder(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (tmp_path / "log.csv").write_text("user,query\nu,q\n")
    before = sorted(tmp_path.rglob("*"))
    with queryveil.read(tmp_path / "log.csv") as log:
        log.to_arrow()
    assert sorted(tmp_path.rglob("*")) == before
    assert list(temporary.iterdir()) == []
