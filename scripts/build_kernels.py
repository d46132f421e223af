"""Fill `src/queryveil/kernels/machine_code` for a wheel: `python -m scripts.build_kernels`.

The code is made for x86-64-v3, which is every server and desktop processor since about 2015; other machines, and other
versions of Python or numba than those here, compile on first use as a source install does.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROCESSOR = "x86-64-v3"
FEATURES = (
    "64bit avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 "
    "ssse3 xsave"
)
TARGET = Path(__file__).parent.parent / "src" / "queryveil" / "kernels" / "machine_code"


def main() -> None:
    """Compile everything in a fresh folder and copy it into the package, with a description of the processor."""
    import llvmlite  # type: ignore[import-untyped]
    from llvmlite.binding import get_process_triple  # type: ignore[import-untyped]

    features = ",".join(f"+{feature}" for feature in FEATURES.split())
    shutil.rmtree(TARGET, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        compiler = {"NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-m", "queryveil", "warm"]
        subprocess.run(command, env={**os.environ, **compiler}, check=True)
        (made,) = Path(folder).iterdir()
        shutil.copytree(made, TARGET)
        described = {"system": get_process_triple(), "processor": PROCESSOR, "features": features}
        described |= {"llvmlite": llvmlite.__version__, "kernels": made.name}
        (TARGET / "cpu.json").write_text(json.dumps(described, indent=1) + "\n")
    size = sum(path.stat().st_size for path in TARGET.rglob("*.nbc"))
    print(f"{TARGET}: {size / 1e6:.1f} MB for {PROCESSOR}; wheels built now carry it.")


if __name__ == "__main__":
    main()
