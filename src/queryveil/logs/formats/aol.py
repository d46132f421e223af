"""The AOL log of 2006: separated by tabs, with a header, one row per click; quotes have no meaning."""

from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.logs.files import Sample
from queryveil.logs.layout import Format, Layout, find_roles

COLUMNS = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")


def recognise(sample: Sample) -> bool:
    """Return whether the file has the header of the AOL log."""
    return bool(sample.lines) and sample.lines[0].lower().split("\t") == [name.lower() for name in COLUMNS]


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout, or raise an error if the header is another."""
    if not recognise(sample):
        raise LogError(
            f"{sample.path}, line 1: format aol needs the header {' '.join(COLUMNS)} separated by tabs, which is not "
            "there; mend the header, or leave --format out if it is another format."
        )
    roles = find_roles(f"{sample.path}, line 1", COLUMNS, columns, shown=True)
    return Layout("delimited", roles, COLUMNS, delimiter="\t", header=True, time="iso")


AOL = Format(
    name="aol",
    purpose="AOL 2006: AnonID, Query, QueryTime, ItemRank, ClickURL separated by tabs, with a header; quotes are text",
    recognise=recognise,
    layout=layout,
)
