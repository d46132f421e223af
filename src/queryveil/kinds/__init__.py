"""Kinds of release: one object each that knows its columns, how rows are made and read back, and what can be measured.

Third parties register theirs by an entry point of the group `queryveil.kind`.
"""

import pkgutil
from typing import Any

OWN_KINDS = ("histories", "log", "queries", "groups", "vocabularies")  # each is declared in a module of its name


def __getattr__(name: str) -> Any:
    """Import and return all kinds as DECLARATIONS; `kind_of` imports a single one."""
    if name != "DECLARATIONS":
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return tuple(pkgutil.resolve_name(f"{__name__}.{kind}:{kind.upper()}") for kind in OWN_KINDS)
