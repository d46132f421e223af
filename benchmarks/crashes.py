"""`kill -9` at 200 moments of uploading, running and deleting: what the next server keeps that no page lists.

`python -m benchmarks.crashes [N]` prints, for each operation, at how many moments a server was killed, and after how
many of them anything raw or private was left that no page lists. The moments are drawn anew every time; the seed is
printed.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from tests.serve.killing import LONGEST, OPERATIONS, kill_at, make_template, moments

MOMENTS = 200


def main(n_moments: int) -> int:
    """Kill servers and print what was left; return 1 if anything was."""
    seed = time.time_ns()
    rng, faulty = random.Random(seed), 0
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        template = make_template(Path(folder))
        for name, operation in OPERATIONS.items():
            delays = moments(-(-n_moments // len(OPERATIONS)), LONGEST[name], rng)
            found = [(delay, kill_at(template, operation, delay)) for delay in delays]
            left = [(delay, faults) for delay, faults in found if faults]
            print(f"{name}: {len(found)} moments, {len(left)} with anything left", flush=True)
            for delay, faults in left:
                print(f"  after {delay:.3f} s: {faults[:5]}")
            faulty += len(left)
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else MOMENTS))
