"""Missing packages of extras become one sentence; other import errors stay what they are."""

import sys

import pyarrow as pa
import pytest

from queryveil.core.display import Tabular
from queryveil.core.errors import InputError
from queryveil.core.extras import needs


class Rows(Tabular):
    def to_arrow(self) -> pa.Table:
        return pa.table({"term": ["flu"]})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_libraries_that_are_missing(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError) as caught:
        getattr(Rows(), f"to_{library}")()
    assert str(caught.value) == f"to_{library}() needs the package {library}; run pip install 'queryveil[{library}]'."


def test_other_missing_modules_are_not_blamed_on_the_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere"), needs("search", "a search"):
        import nowhere  # type: ignore[import-not-found]  # noqa: F401
