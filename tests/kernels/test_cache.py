"""Compiled kernels are found again by the content of their sources, wherever the package is."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import queryveil

SCRIPT = """
import json
import numpy as np
from queryveil.kernels.km.supports import postings

indptr, ids = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)
found = [array.tolist() for array in postings(indptr, ids, 2)]
stats = postings.compiled().stats
print(json.dumps([found, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


def run(package: Path, cache: Path) -> tuple[list[list[int]], int, int]:
    """Run a kernel of a copy of the package; return its result and how often the cache had its code or had not."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, check=True)
    result, hits, misses = json.loads(done.stdout)
    return result, hits, misses


def copied(folder: Path) -> Path:
    """Copy the package without its machine code, but with its byte code; files that are being written are left out."""
    source = Path(queryveil.__file__).parent
    return Path(shutil.copytree(source, folder / "queryveil", ignore=shutil.ignore_patterns("*.pyc.*", "data")))


def test_a_copy_elsewhere_finds_its_kernels_compiled(tmp_path: Path) -> None:
    result, hits, misses = run(copied(tmp_path / "first"), tmp_path / "cache")
    assert (hits, misses) == (0, 1)
    assert run(copied(tmp_path / "second"), tmp_path / "cache") == (result, 1, 0)


def test_a_change_of_any_kernel_file_compiles_anew(tmp_path: Path) -> None:
    package = copied(tmp_path / "first")
    result, *_ = run(package, tmp_path / "cache")
    with (package / "kernels" / "patterns.py").open("a") as file:  # a helper of other kernels might have changed
        file.write("# changed\n")
    assert run(package, tmp_path / "cache") == (result, 0, 1)


def test_a_cache_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    """Cached code is executed, so nobody else may be able to put it there."""
    (tmp_path / "cache" / "queryveil").mkdir(parents=True)
    (tmp_path / "cache" / "queryveil").chmod(0o777)
    run(copied(tmp_path / "first"), tmp_path / "cache")
    assert not list((tmp_path / "cache" / "queryveil").rglob("*.nbc"))
