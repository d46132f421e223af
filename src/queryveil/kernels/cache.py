"""Where numba stores the machine code of kernels: in a folder named by a digest of the kernels' sources.

Numba's own key has the path of a kernel's file and ignores the helpers that the kernel calls. The digest covers all
kernel files and no path, so a reinstalled or second copy of the same version finds everything compiled.

A wheel may carry machine code (`scripts/build_kernels.py`), made for a processor that `cpu.json` describes. It is used,
and never written, if this processor has all that one has, and if numba and the sources are those it was made with.
"""
# mypy: disable-error-code="no-untyped-call"

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

_KERNELS = Path(__file__).parent
SHIPPED = _KERNELS / "machine_code"


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(_KERNELS.rglob("*.py")):
        digest.update(str(path.relative_to(_KERNELS)).encode() + b"\0" + path.read_bytes())
    return f"kernels-{digest.hexdigest()[:16]}"


@cache
def cache_folder() -> Path:
    """Return a folder for compiled kernels that only this user can write: cached code is executed."""
    name = _digest()
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
        folder = cache_folder() / self._file.parent
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def get_source_stamp(self) -> str:
        """Return the digest of all kernel files."""
        return _digest()

    def shipped_path(self) -> str:
        """Return the folder of the code that came with the package."""
        return str(SHIPPED / self._file.parent)

    def get_disambiguator(self) -> str:
        """Return what tells functions of the same name in a file apart."""
        return str(self._line)


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes = [KernelCacheLocator]  # noqa: RUF012


class KernelCache(FunctionCache):
    """The compiled code of a kernel: what came with the package, if it fits this machine, else what was made here."""

    _impl_class = _KernelCacheImpl

    def _load_overload(self, signature: Any, context: Any) -> Any:
        target = _shipped_target(context.codegen().magic_tuple())
        if target is not None:
            key = (signature, target, self._index_key(signature, context.codegen())[2])
            locator = self._impl.locator
            file = IndexDataCacheFile(locator.shipped_path(), self._impl.filename_base, locator.get_source_stamp())
            if (data := file.load(key)) is not None:
                return self._impl.rebuild(context, data)
        return super()._load_overload(signature, context)


@cache
def _shipped_target(here: tuple[str, str, str]) -> tuple[str, str, str] | None:
    """Return what the machine code of the package was made for, if it runs here: system, processor and its features."""
    try:
        made = json.loads((SHIPPED / "cpu.json").read_text())
    except OSError:
        return None
    target = (made["system"], made["processor"], made["features"])
    fits = made["llvmlite"] == llvmlite.__version__ and made["kernels"] == _digest() and target[0] == here[0]
    needed = {feature for feature in target[2].split(",") if feature.startswith("+")}
    return target if fits and needed <= set(here[2].split(",")) else None
