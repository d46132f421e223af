"""The AOL log of 2006: tab-separated with a header, one row per click; quotes are text."""

from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.logs.formats.base import Format, Layout
from queryveil.logs.formats.columns import find_roles
from queryveil.logs.sample import Sample

COLUMNS = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")


def recognise(sample: Sample) -> bool:
    """Look for the header."""
    return bool(sample.lines) and _header(sample) == [name.lower() for name in COLUMNS]


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the fixed layout, if the header is as it must be."""
    if not recognise(sample):
        raise LogError(
            f"{sample.path}, line 1: format aol needs the header {' '.join(COLUMNS)} separated by tabs, which is not "
            "there; mend the header, or leave --format out if it is another format."
        )
    roles = find_roles(f"{sample.path}, line 1", COLUMNS, columns, shown=True)
    return Layout("delimited", roles, COLUMNS, delimiter="\t", header=True, time="iso")


def _header(sample: Sample) -> list[str]:
    return sample.lines[0].lower().split("\t") if sample.lines else []


AOL = Format(
    name="aol",
    purpose="AOL 2006: AnonID, Query, QueryTime, ItemRank, ClickURL separated by tabs, with a header; quotes are text",
    recognise=recognise,
    layout=layout,
)
