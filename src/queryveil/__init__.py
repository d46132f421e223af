"""queryveil: turn a search log into something its owner may keep, share or personalise with.

The functions here do what the commands of the same names do, in the same words. They are imported when they are
first used, so that `import queryveil` costs nothing.
"""

from typing import TYPE_CHECKING, Any

from queryveil._version import __version__

if TYPE_CHECKING:
    from queryveil.api import *  # noqa: F403

__all__ = [  # noqa: F405
    "CorpusError",
    "GuaranteeError",
    "InputError",
    "InternalError",
    "LogError",
    "NoTermsError",
    "OutputError",
    "QueryveilError",
    "ReleaseError",
    "Searcher",
    "Timings",
    "UnknownNameError",
    "UnverifiedError",
    "__version__",
    "anonymize",
    "attack",
    "compare",
    "datasheet",
    "describe",
    "estimate",
    "export",
    "generate",
    "index",
    "load",
    "measure",
    "name",
    "names",
    "profiles",
    "read",
    "reproduce",
    "search_body",
    "search_index",
    "sensitivity_model",
    "verify",
    "warm",
    "why",
    "write_profiles",
]


def __getattr__(attribute: str) -> Any:
    """Import the API on first use."""
    if attribute not in __all__:
        raise AttributeError(f"module 'queryveil' has no attribute {attribute!r}")
    from queryveil import api

    value = getattr(api, attribute)
    globals()[attribute] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
