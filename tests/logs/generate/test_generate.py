import gzip
from pathlib import Path

import numpy as np
import pytest

from queryveil.core.errors import InputError, OutputError, UnknownNameError
from queryveil.logs.generate import GeneratedLog, generate


def make(path: Path, users: int, seed: int = 7, overwrite: bool = False) -> GeneratedLog:
    return generate(path, users=users, rng=np.random.default_rng(seed), overwrite=overwrite)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second, other = (make(tmp_path / name, 300, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.path.read_bytes() != other.path.read_bytes()


def test_gzip_is_reproducible_and_holds_the_same_log(tmp_path: Path) -> None:
    plain, packed, again = (make(tmp_path / name, 200) for name in ("a.tsv", "b.tsv.gz", "c.tsv.gz"))
    assert gzip.decompress(packed.path.read_bytes()) == plain.path.read_bytes()
    assert packed.path.read_bytes() == again.path.read_bytes()


def test_one_user_is_enough(tmp_path: Path) -> None:
    assert make(tmp_path / "one", 1).people == 1


@pytest.mark.parametrize("users", [0, -3])
def test_fewer_than_one_user_is_refused(tmp_path: Path, users: int) -> None:
    with pytest.raises(InputError, match=f"users must be a whole number of at least 1, not {users}"):
        make(tmp_path / "log", users)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_shape_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no log like 'dmeo'; did you mean demo"):
        generate(tmp_path / "log", like="dmeo", rng=np.random.default_rng(1))


def test_an_existing_file_is_only_replaced_with_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        make(path, 1)
    assert path.read_text() == "mine"
    make(path, 1, overwrite=True)
    assert path.read_text() != "mine"


def test_an_unwritable_path_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        make(tmp_path / "missing" / "log", 1)
    with pytest.raises(OutputError, match="is a folder"):
        make(tmp_path, 1)


def test_an_interrupt_leaves_no_files(tmp_path: Path) -> None:
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
