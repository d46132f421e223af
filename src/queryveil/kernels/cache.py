"""Where numba stores the machine code of kernels: in a folder named by a digest of the kernels' sources.

Numba's own key has the path of a kernel's file and ignores the helpers that the kernel calls. The digest covers all
kernel files and no path, so a reinstalled or second copy of the same version finds everything compiled.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CacheImpl, _CacheLocator

_KERNELS = Path(__file__).parent


@cache
def _cache_folder() -> Path:
    """Return a folder for compiled kernels that only this user can write: cached code is executed."""
    digest = hashlib.sha256()
    for path in sorted(_KERNELS.rglob("*.py")):
        digest.update(str(path.relative_to(_KERNELS)).encode() + b"\0" + path.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    bases = [home / "queryveil", Path(tempfile.gettempdir()) / f"queryveil-cache-{os.getuid()}"]
    if os.environ.get("NUMBA_CACHE_DIR"):
        bases.insert(0, Path(os.environ["NUMBA_CACHE_DIR"]))
    for base in bases:
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            (base / name).mkdir(mode=0o700, exist_ok=True)
        except OSError:
            continue
        if _is_only_ours(base) and _is_only_ours(base / name):
            return base / name
    return Path(tempfile.mkdtemp(prefix="queryveil-cache-"))


def _is_only_ours(folder: Path) -> bool:
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


class KernelCacheLocator(_CacheLocator):
    """Locates the cached code of a kernel by its file below this folder and its line."""

    def __init__(self, file: Path, line: int) -> None:
        self._file, self._line = file, line

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "KernelCacheLocator | None":
        """Return the locator of a kernel, or None for a function of somebody else's."""
        path = Path(file)
        return cls(path.relative_to(_KERNELS), function.__code__.co_firstlineno) if _KERNELS in path.parents else None

    def get_cache_path(self) -> str:
        """Return the folder of the cached code."""
        folder = _cache_folder() / self._file.parent
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def get_source_stamp(self) -> str:
        """Return the digest of all kernel files."""
        return _cache_folder().name

    def get_disambiguator(self) -> str:
        """Return what tells functions of the same name in a file apart."""
        return str(self._line)


CacheImpl._locator_classes.insert(0, KernelCacheLocator)
