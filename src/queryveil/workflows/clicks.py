"""The clicks of a log, for measures of search: which result of which query each person clicked."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.arrow import as_array
from queryveil.core.errors import InputError
from queryveil.engines import QueryLog
from queryveil.engines.kept_columns import KeptColumn
from queryveil.kinds.private_folder import PrivateFolder

if TYPE_CHECKING:
    from queryveil.search.evaluation.clicks import ClickLog

CLICK_COLUMNS = (KeptColumn("url"), KeptColumn("rank"))
_NO_CLICKS = (
    "clicks: the log has no address of a clicked result; name its column by --columns url=COLUMN, or measure search, "
    "which needs none."
)


def read_clicks(log: QueryLog, private: PrivateFolder) -> "ClickLog":
    """Return the clicks of the people of a release; `log` was opened with the columns of clicks."""
    from queryveil.search.evaluation.clicks import ClickLog

    url, rank = CLICK_COLUMNS
    if not log.has_values(url):
        raise InputError(_NO_CLICKS)
    logged = f"TRY_CAST({rank.sql} AS DOUBLE)" if rank.name in log.columns else "CAST(NULL AS DOUBLE)"
    table = log.connection.query_table(
        f"SELECT people.person, query, {url.sql} AS url, CASE WHEN {logged} >= 1 THEN {logged} END AS logged"
        f" FROM queries JOIN people ON people.id = queries.person WHERE {url.sql} IS NOT NULL"
    )
    persons = private.histories()["person"].combine_chunks()
    number = pc.index_in(table["person"].cast(persons.type), persons)
    rows = table.set_column(0, "person", number)
    rows = rows.filter(pc.is_valid(rows["person"])).sort_by(
        [(name, "ascending") for name in ("person", "query", "url")]
    )
    return ClickLog(
        as_array(rows["person"]).astype(np.int64),
        tuple(rows["query"].to_pylist()),
        tuple(rows["url"].to_pylist()),
        as_array(pc.fill_null(rows["logged"].cast(pa.float64()), np.nan)),
    )
