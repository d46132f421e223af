"""Giving freed memory back to the system."""

import ctypes

import pyarrow as pa


def release_freed_memory() -> None:
    """Return memory that is not in use any more, which Arrow and the C library would keep for later, to the system.

    After a method has run on a large log that is half of what the process holds. Only glibc has to be asked for it.
    """
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
