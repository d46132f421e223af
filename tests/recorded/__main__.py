"""Compare runs with their recordings, or rewrite the recordings: `python -m tests.recorded [--write] [SCENARIO …]`."""

import sys
import tempfile
import time
from pathlib import Path

from tests.recorded.recording import differences, load, record, save
from tests.recorded.scenarios import SCENARIOS

if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if not word.startswith("--")] or list(SCENARIOS)
    failed = False
    for name in names:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = record(SCENARIOS[name], Path(folder))
        if "--write" in sys.argv:
            save(name, found)
        different = differences(load(name), found)
        failed |= bool(different)
        print(f"{name}: {len(found)} runs in {time.monotonic() - started:.1f} s", *different, sep="\n  ")  # noqa: T201
    sys.exit(failed)
