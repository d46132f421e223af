import gzip
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queryveil.lexicons import FOLDER

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_lexicons.py"
WORDNET = Path("/usr/share/wordnet")
WORDNET_TABLES = [
    "wordnet-lemmas",
    "wordnet-senses",
    "wordnet-synsets",
    "wordnet-hypernyms",
    "wordnet-relations",
    "wordnet-exceptions",
    "wordnet-glosses",
    "places",
]
NAME_FILES = {
    "dist.all.last.gz": [("SMITH", "1.006", "1.006", "1"), ("ADAMSKI", "0.000", "1.006", "2")],
    "dist.female.first.gz": [("MARY", "2.629", "2.629", "1")],
    "dist.male.first.gz": [("JAMES", "3.318", "3.318", "1"), ("JOHN", "3.271", "6.589", "2")],
}


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (WORDNET / "data.noun").exists():
        reason = f"WordNet's files are not in {WORDNET}; install Debian's package wordnet-base"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    names, out = tmp_path_factory.mktemp("names"), tmp_path_factory.mktemp("tables")
    for file, rows in NAME_FILES.items():
        lines = [f"{name:<14} {share} {total} {rank:>6}\n" for name, share, total, rank in rows]
        (names / file).write_bytes(gzip.compress("".join(lines).encode()))
    command = [sys.executable, SCRIPT, "--wordnet", WORDNET, "--names", names, "--out", out]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return out


@pytest.mark.parametrize("table", WORDNET_TABLES)
def test_shipped_tables_are_what_the_script_makes(rebuilt: Path, table: str) -> None:
    shipped, made = FOLDER / f"{table}.parquet", rebuilt / f"{table}.parquet"
    assert pq.read_table(shipped).equals(pq.read_table(made))
    # Parquet's bytes may change with pyarrow's version, the content never
    if pq.read_metadata(shipped).created_by == pq.read_metadata(made).created_by:
        assert shipped.read_bytes() == made.read_bytes()


def test_names_are_folded_and_sorted(rebuilt: Path) -> None:
    assert pq.read_table(rebuilt / "names.parquet").to_pylist() == [
        {"list": "female", "name": "mary", "share": 2629},
        {"list": "last", "name": "adamski", "share": 0},
        {"list": "last", "name": "smith", "share": 1006},
        {"list": "male", "name": "james", "share": 3318},
        {"list": "male", "name": "john", "share": 3271},
    ]


def test_nothing_but_tables_is_left(rebuilt: Path) -> None:
    assert sorted(path.name for path in rebuilt.iterdir()) == sorted(
        f"{table}.parquet" for table in [*WORDNET_TABLES, "names"]
    )


def test_shipped_tables_stay_small() -> None:
    sizes = {path.stem: path.stat().st_size for path in FOLDER.iterdir()}
    apart = (
        "wordnet-glosses",
        "wordnet-relations",
        "names",
        "sensitivity",
        "sensitive-topics",
        "query-sensitivity",
        "word-vectors",
    )
    assert sum(size for name, size in sizes.items() if name not in apart) < 1_500_000
    assert sizes["wordnet-glosses"] < 2_800_000
    assert sizes["wordnet-relations"] < 200_000
    assert sizes["sensitivity"] < 400_000
    assert sizes["sensitive-topics"] < 500_000
    assert sizes["names"] < 500_000
    assert sizes["query-sensitivity"] < 1_500_000
    assert sum(sizes.values()) < 25_000_000


def test_tables_hold_only_plain_columns() -> None:
    plain = {pa.string(), pa.int32(), pa.bool_(), pa.float64(), pa.binary(100)}  # the last: 100 bytes, a word's vector
    for path in FOLDER.iterdir():
        assert {field.type for field in pq.read_schema(path)} <= plain
