"""Whether commands that end in an error keep their own exit code on a busy machine.

`python -m benchmarks.exit_codes [RUNS]` (500): four busy loops run beside commands that fail right after reading a
release. A native thread that outlives the interpreter would turn an exit code into 134 (SIGABRT).
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.common import Figures

RUNS = 500
BUSY_LOOPS = 4
BAD_INPUT = 2


def measure(runs: int = RUNS) -> Figures:
    """Run the failing commands in turn and count their exit codes."""
    with tempfile.TemporaryDirectory() as folder:
        commands = _failing_commands(Path(folder))
        with _busy_machine():
            codes = Counter(
                subprocess.run(commands[run % len(commands)], capture_output=True).returncode for run in range(runs)
            )
    return {
        f"runs with exit code {BAD_INPUT} (bar: {runs} of {runs})": codes.pop(BAD_INPUT, 0),
        "other exit codes": str(dict(codes)) if codes else "none",
    }


def _failing_commands(folder: Path) -> list[list[str]]:
    """Make releases of two kinds and return commands that read one and then refuse its use."""
    from queryveil.api import anonymize, generate

    log = folder / "log.tsv"
    generate(log, users=500, seed=1)
    groups, other, terms = folder / "groups", folder / "other", folder / "terms"
    anonymize(log, "linkability(p=0.4)", groups, private=folder / "groups-private")
    anonymize(log, "linkability(p=0.2)", other, private=folder / "other-private")
    anonymize(log, "km(k=5, m=2)", terms)
    out = ("--out", str(folder / "out"), "--private", str(folder / "out-private"))
    commands = (
        ("verify", groups, "--private", folder / "other-private"),
        ("anonymize", log, "--method", "linkability(p=0.4)", "--groups", terms, *out),
        ("verify", terms, "--claim", "linkability(p=0.4)"),
    )
    return [[sys.executable, "-m", "queryveil", *map(str, command)] for command in commands]


@contextmanager
def _busy_machine() -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    for name, value in measure(*map(int, sys.argv[1:])).items():
        print(f"{name}: {value}")
