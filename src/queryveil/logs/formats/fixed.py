"""Formats whose columns are fixed: AOL 2006, Excite 1997, OpenSearch User Behavior Insights, and baskets."""

import re
from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.logs.files import Sample
from queryveil.logs.formats.table import json_layout
from queryveil.logs.layout import Format, Layout, find_roles

_AOL_COLUMNS = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
_EXCITE_LINE = re.compile(r"[^\t]+\t\d{12}\t[^\t]*")
_UBI_PERSON, _UBI_QUERY = "client_id", "user_query"
_BASKET = re.compile(r"\s*\d+(\s+\d+)*\s*")


def _is_aol(sample: Sample) -> bool:
    """Return whether the file has the header of the AOL log."""
    return bool(sample.lines) and sample.lines[0].lower().split("\t") == [name.lower() for name in _AOL_COLUMNS]


def _aol_layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout, or raise an error if the header is another."""
    if not _is_aol(sample):
        raise LogError(
            f"{sample.path}, line 1: format aol needs the header {' '.join(_AOL_COLUMNS)} separated by tabs, which is "
            "not there; correct the header, or leave --format out if it is another format."
        )
    roles = find_roles(f"{sample.path}, line 1", _AOL_COLUMNS, columns, shown=True)
    return Layout("delimited", roles, _AOL_COLUMNS, delimiter="\t", header=True, time="iso")


def _is_excite(sample: Sample) -> bool:
    """Return whether most lines are a user, twelve digits and a query."""
    return sum(_EXCITE_LINE.fullmatch(line) is not None for line in sample.lines) > len(sample.lines) / 2


def _excite_layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout, or raise an error if the lines have another form."""
    if not _is_excite(sample):
        raise LogError(
            f"{sample.path}: format excite needs lines of user, time (yymmddhhmmss) and query separated by tabs, and "
            "most lines are not; leave --format out if it is another format."
        )
    names = ("user", "time", "query")
    roles = find_roles(str(sample.path), names, columns, shown=True)
    return Layout("delimited", roles, names, delimiter="\t", time="excite")


def _is_ubi(sample: Sample) -> bool:
    """Return whether there are JSON objects with a client and a query."""
    return any(_UBI_PERSON in record and _UBI_QUERY in record for record in sample.json_objects)


def _ubi_layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout, or raise an error if the keys are missing."""
    if not _is_ubi(sample):
        raise LogError(
            f"{sample.path}: format ubi needs JSON lines with client_id and user_query, and none has both; "
            "leave --format out if it is another format."
        )
    return json_layout(sample, {"user": _UBI_PERSON, "query": _UBI_QUERY, **columns})


def _are_baskets(sample: Sample) -> bool:
    """Return whether all lines consist of numbers; baskets of words look like any text, so they must be named."""
    return bool(sample.lines) and all(_BASKET.fullmatch(line) for line in sample.lines)


def _basket_layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout: each line is the only query of a person."""
    if columns:
        raise LogError(f"{sample.path}: baskets have no columns; leave --columns out, or name another --format.")
    return Layout("lines", {"query": "line"})


AOL = Format(
    name="aol",
    purpose="AOL 2006: AnonID, Query, QueryTime, ItemRank, ClickURL separated by tabs, with a header; quotes are text",
    recognise=_is_aol,
    layout=_aol_layout,
)
EXCITE = Format(
    name="excite",
    purpose="Excite 1997: user, time (yymmddhhmmss) and query separated by tabs, no header",
    recognise=_is_excite,
    layout=_excite_layout,
)
UBI = Format(
    name="ubi",
    purpose="OpenSearch User Behavior Insights: JSON lines with client_id, user_query and timestamp",
    recognise=_is_ubi,
    layout=_ubi_layout,
)
TRANSACTIONS = Format(
    name="transactions",
    purpose="one basket per line, items separated by white space; each line is a person",
    recognise=_are_baskets,
    layout=_basket_layout,
    holds_baskets=True,
)
