"""The compiled tables that ship beside this file, read by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from queryveil.core.errors import InternalError
from queryveil.core.rows import indptr_of_sorted

FOLDER = Path(__file__).parent / "data"


def read_table(name: str) -> pa.Table:
    """Read one table whole."""
    path = FOLDER / f"{name}.parquet"
    try:
        return pq.read_table(path, memory_map=False)
    except (OSError, pa.ArrowException) as error:
        raise InternalError(
            f"the bundled table {path} cannot be read ({type(error).__name__}); install queryveil anew."
        ) from None


def column(table: pa.Table, name: str) -> NDArray[Any]:
    """Return a column of numbers as a read-only array."""
    values: NDArray[Any] = table[name].to_numpy()
    values.flags.writeable = False
    return values


def offsets(rows: NDArray[np.int32], n_rows: int) -> NDArray[np.int64]:
    """Return where each row of compressed sparse rows begins, from the row number of every entry."""
    starts = indptr_of_sorted(rows, n_rows)
    starts.flags.writeable = False
    return starts
