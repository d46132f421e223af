"""Optional features: which packages each extra adds, and what is said when one of them is missing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from queryveil.core.errors import InputError

EXTRAS: Mapping[str, tuple[str, ...]] = {  # the modules that queryveil imports of each; pyproject.toml has the packages
    "pandas": ("pandas",),
    "polars": ("polars",),
    "search": ("tantivy",),
    "serve": ("fastapi", "pydantic", "starlette", "uvicorn"),
    "sign": ("cryptography",),
    "spark": ("pyspark",),
}


@contextmanager
def needs(extra: str, feature: str) -> Iterator[None]:
    """Import packages of an extra inside the block: a missing one becomes a sentence that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS[extra]:
            raise
        raise InputError(f"{feature} needs the package {missing}; run pip install 'queryveil[{extra}]'.") from None
