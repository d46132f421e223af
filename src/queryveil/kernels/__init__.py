"""Compiled inner loops; nothing else in queryveil imports numba.

A kernel takes typed arrays and returns arrays. `jit` is the one door to numba: it sets the cache folder first
(numba reads it once, at import) and keeps mypy informed of the function's own type.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> Path:
    """Return a writable folder for compiled kernels that is fresh whenever any kernel's source changes.

    Numba notices a change of the file a kernel stands in, not of the helpers it calls; so the folder's name
    carries a digest of all kernel files.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        status = path.stat()
        digest.update(f"{path}:{status.st_size}:{status.st_mtime_ns};".encode())
    name = f"kernels-{digest.hexdigest()[:16]}"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    for base in (home / "queryveil", Path(tempfile.gettempdir()) / f"queryveil-cache-{os.getuid()}"):
        try:
            (base / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(base / name, os.W_OK) and (base / name).stat().st_uid == os.getuid():
            return base / name
    return Path(tempfile.mkdtemp(prefix="queryveil-cache-"))


os.environ.setdefault("NUMBA_CACHE_DIR", str(_cache_folder()))

import numba  # noqa: E402  (the cache folder must be set before)


def jit(function: Function) -> Function:
    """Compile a kernel on first use and keep the machine code between runs."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))
