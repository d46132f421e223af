"""Compare runs with their recordings, or rewrite the recordings: `python -m tests.recorded [--write] [SCENARIO …]`."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.recorded.recording import differences, load, record, save
from tests.recorded.scenarios import SCENARIOS

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.recorded", description="Compare runs with their recordings.")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"{', '.join(SCENARIOS)}; all if left out")
    parser.add_argument("--write", action="store_true", help="rewrite the recordings")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.scenarios if name not in SCENARIOS]
    if unknown:
        parser.error(f"there is no scenario {unknown[0]!r}; there are {', '.join(SCENARIOS)}.")
    failed = False
    for name in arguments.scenarios or SCENARIOS:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = record(SCENARIOS[name], Path(folder))
        if arguments.write:
            save(name, found)
        different = differences(load(name), found)
        failed |= bool(different)
        print(f"{name}: {len(found)} runs in {time.monotonic() - started:.1f} s", *different, sep="\n  ")  # noqa: T201
    sys.exit(failed)
