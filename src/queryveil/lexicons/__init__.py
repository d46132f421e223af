"""Lexicons that ship with queryveil: WordNet, names, places, private words and stop words, as compiled tables.

Importing a module reads no table; each table is read on first use. `scripts/build_lexicons.py` compiles them.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from queryveil.core.errors import InternalError

FOLDER = Path(__file__).parent / "data"


def read_table(name: str) -> pa.Table:
    """Return a bundled table by name."""
    import pyarrow.parquet as pq  # slow to import, and commands that list names read no tables

    path = FOLDER / f"{name}.parquet"
    try:
        return pq.read_table(path, memory_map=False)
    except (OSError, pa.ArrowException) as error:
        raise InternalError(
            f"the bundled table {path} cannot be read ({type(error).__name__}); install queryveil anew."
        ) from None


def read_column(table: pa.Table, name: str) -> NDArray[Any]:
    """Return a numeric column as a read-only array."""
    values: NDArray[Any] = table[name].to_numpy()
    values.flags.writeable = False
    return values
