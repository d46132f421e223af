"""The Excite log of 1997: user, time as yymmddhhmmss, query, separated by tabs, no header."""

import re
from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.logs.files import Sample
from queryveil.logs.layout import Format, Layout, find_roles

COLUMNS = ("user", "time", "query")
_LINE = re.compile(r"[^\t]+\t\d{12}\t[^\t]*")


def recognise(sample: Sample) -> bool:
    """Return whether most lines are a user, twelve digits and a query."""
    return sum(_LINE.fullmatch(line) is not None for line in sample.lines) > len(sample.lines) / 2


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout, or raise an error if the lines have another form."""
    if not recognise(sample):
        raise LogError(
            f"{sample.path}: format excite needs lines of user, time (yymmddhhmmss) and query separated by tabs, and "
            "most lines are not; leave --format out if it is another format."
        )
    roles = find_roles(str(sample.path), COLUMNS, columns, shown=True)
    return Layout("delimited", roles, COLUMNS, delimiter="\t", time="excite")


EXCITE = Format(
    name="excite",
    purpose="Excite 1997: user, time (yymmddhhmmss) and query separated by tabs, no header",
    recognise=recognise,
    layout=layout,
)
