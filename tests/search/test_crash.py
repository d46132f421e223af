"""Indexing is killed: a new index does not appear, an existing one survives, and the next run removes leftovers."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from queryveil import index
from queryveil.search.index import open_index
from tests.search.small_index import index_of

DYING = """
import os, signal, sys
from pathlib import Path
from queryveil.search.builder import IndexBuilder
from queryveil.search.engine import SearchEngineWriter
from queryveil import index

def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

where, corpus, out, add = sys.argv[1:]
if where == "adding":
    SearchEngineWriter.add = die
elif where == "finishing":
    IndexBuilder.finish = die
else:
    real, calls = Path.rename, []
    def rename(self, target):
        calls.append(real(self, target))
        if len(calls) == int(where):
            die()
    Path.rename = rename
index(corpus, Path(out), add=add == "add")
"""


def run_until_killed(where: str, corpus: Path, out: Path, *, add: bool) -> None:
    words = [sys.executable, "-c", DYING, where, str(corpus), str(out), "add" if add else ""]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("where", ["adding", "finishing"])
def test_killing_a_new_index_leaves_none(where: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "java"}\n')
    run_until_killed(where, tmp_path / "a.jsonl", tmp_path / "index", add=False)
    assert not (tmp_path / "index").exists()
    index(tmp_path / "a.jsonl", tmp_path / "index")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "index"]


@pytest.mark.parametrize("where", ["adding", "finishing", "1", "2"])
def test_killing_an_addition_leaves_a_usable_index(where: str, tmp_path: Path) -> None:
    index_of(["java island"], tmp_path)
    (tmp_path / "more.jsonl").write_text('{"id": 1, "text": "java coffee"}\n')
    run_until_killed(where, tmp_path / "more.jsonl", tmp_path / "index", add=True)
    done = index(tmp_path / "more.jsonl", tmp_path / "index", add=True)
    assert (done.documents, done.added) == ((2, 0) if where == "2" else (2, 1))
    assert len(open_index(tmp_path / "index").search("java")) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "index.jsonl", "more.jsonl"]
