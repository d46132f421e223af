"""Columns of a log that are released besides its queries, and the coarser forms in which they can be.

The forms are SQL that DuckDB and Spark run unchanged. A coarse value is its own coarse form: a verifier relies on it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.core.errors import InputError

_HOST = "^([a-z][a-z0-9+.-]*://)?([^/?#]*@)?(www[.])*([^/?#:@]+)"  # no backslash, which engines read differently
_RANK = "TRY_CAST(rank AS INT)"
FORMS: Mapping[str, Mapping[str, str]] = {  # column → form → SQL of it; the coarsest form last
    "time": {"raw": "time"}
    | {unit: f"CAST(date_trunc('{unit}', time) AS TIMESTAMP)" for unit in ("minute", "hour", "day")},
    "rank": {
        "raw": "NULLIF(rank, '')",
        "bucket": f"CASE WHEN rank IN ('1', '2-3', '4-10', '11+') THEN rank WHEN {_RANK} < 1 THEN NULL "
        f"WHEN {_RANK} = 1 THEN '1' WHEN {_RANK} <= 3 THEN '2-3' WHEN {_RANK} <= 10 THEN '4-10' "
        f"WHEN {_RANK} > 10 THEN '11+' END",
    },
    "url": {"raw": "NULLIF(url, '')", "domain": f"NULLIF(regexp_extract(LOWER(url), '{_HOST}', 4), '')"},
}


@dataclass(frozen=True)
class KeptColumn:
    """A column that is released as it is in the log, or in a coarser form; its text is `time` or `time:day`."""

    name: str
    form: str = "raw"

    def __str__(self) -> str:
        return self.name if self.form == "raw" else f"{self.name}:{self.form}"

    @property
    def sql(self) -> str:
        """Return SQL for the value to release."""
        return FORMS[self.name][self.form]

    @property
    def coarsest(self) -> "KeptColumn":
        """Return the column in its coarsest form."""
        return KeptColumn(self.name, list(FORMS[self.name])[-1])


@dataclass(frozen=True)
class KeptColumns:
    """The columns that are released besides the queries, and how many people must share each of their values."""

    columns: tuple[KeptColumn, ...] = ()
    floor: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def record(self) -> dict[str, Any]:
        """Return the columns as texts, and the floor, for JSON."""
        return {"columns": list(map(str, self.columns)), "floor": self.floor}

    @classmethod
    def from_record(cls, record: Any) -> "KeptColumns":
        """Return the columns of a record; raise InputError, ValueError, KeyError or TypeError if it is not valid."""
        kept = cls(parse_kept_columns(record["columns"]), record["floor"])
        if kept.record() != record or type(kept.floor) is not int or kept.floor < 1:
            raise ValueError("this is no record of kept columns")
        return kept


NOTHING_KEPT = KeptColumns()


def parse_kept_columns(texts: Iterable[str]) -> tuple[KeptColumn, ...]:
    """Return the columns that `--keep` names, each with its form; refuse unknown ones and duplicates."""
    found: dict[str, KeptColumn] = {}
    for text in texts:
        name, separator, form = text.partition(":")
        if name not in FORMS:
            raise InputError(
                f"--keep: there is no column {name!r} to keep; there are {', '.join(FORMS)}.", field="keep"
            )
        if name in found:
            raise InputError(f"--keep names {name} twice; choose {found[name]} or {text}.", field="keep")
        found[name] = KeptColumn(name, form if separator else "raw")
        if found[name].form not in FORMS[name]:
            known = " or ".join(str(KeptColumn(name, each)) for each in FORMS[name])
            raise InputError(f"--keep {text}: {name} cannot be coarsened to {form!r}; give {known}.", field="keep")
    return tuple(found.values())
