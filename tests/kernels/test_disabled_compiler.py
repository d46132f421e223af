"""With NUMBA_DISABLE_JIT=1 every kernel runs as plain Python, so that one can step through it in a debugger."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import queryveil

METHODS = (
    "km(k=2, m=1)",
    "km(k=2, m=2)",
    "km(k=2, m=3, algorithm=paper)",
    "km(k=2, m=3, target=users)",
    "linkability(p=1, principle=belief)",
    "vocabulary(k=2, eps=4)",
    "generalize(k=2)",
    "suppress(k=2)",
    "query_k(k=1)",
)
SCRIPT = """
import json, sys, queryveil
folder = sys.argv[1]
found = {}
for n, method in enumerate(json.loads(sys.argv[2])):
    out, private = f"{folder}/r{n}", f"{folder}/p{n}"
    done = queryveil.anonymize(f"{folder}/log.tsv", method, out, private=private, seed=1)
    queryveil.verify(out, private=private)
    found[method] = done.manifest.content_sha256
assert "numba" not in sys.modules
print(json.dumps(found))
"""


def test_releases_are_the_same_without_the_compiler(tmp_path: Path) -> None:
    words, draw = [f"w{i}" for i in range(8)], random.Random(1)
    rows = [f"p{n}\t{' '.join(draw.sample(words, 3))}\n" for n in range(12) for _ in range(2)]
    (tmp_path / "log.tsv").write_text("user\tquery\n" + "".join(rows))
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path), json.dumps(METHODS)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for method, digest in json.loads(done.stdout).items():
        out, private = tmp_path / "r", tmp_path / "p"
        compiled = queryveil.anonymize(tmp_path / "log.tsv", method, out, private=private, seed=1, force=True)
        assert compiled.manifest.content_sha256 == digest, method
