"""How long small commands take to start, beyond `python -c "import numpy, pyarrow"`.

`python -m benchmarks.startup`: medians of seven runs each, in turn, kernels compiled beforehand.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 7
BAR = 0.5


def measure() -> dict[str, float | str | bool]:
    """Time the commands and the imports alone in turn."""
    with tempfile.TemporaryDirectory() as folder:
        release = _small_release(Path(folder))
        module = [sys.executable, "-m", "queryveil"]
        commands = {
            "imports": [sys.executable, "-c", "import numpy, pyarrow"],
            "--help": [*module, "--help"],
            "list": [*module, "list"],
            "verify": [*module, "verify", str(release)],
        }
        for command in commands.values():
            _seconds(command)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, command in commands.items():
                times[name].append(_seconds(command))
    middle = {name: sorted(values)[RUNS // 2] for name, values in times.items()}
    imports = middle.pop("imports")
    results: dict[str, float | str | bool] = {"imports alone, seconds": round(imports, 3)}
    for name, seconds in middle.items():
        results[f"{name}, seconds beyond (bar: ≤ {BAR})"] = round(seconds - imports, 3)
    return results


def _small_release(folder: Path) -> Path:
    log = folder / "log.csv"
    log.write_text("user,query\n" + "".join(f"{user},red shoes\n" for user in range(20)))
    from queryveil.api import anonymize

    return anonymize(log, "km(k=5, m=2)", folder / "release").release


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value}")
