"""Log formats, and guessing which of them a file has."""

from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.core.names import declarations, resolve
from queryveil.logs.files import Sample
from queryveil.logs.formats.fixed import AOL, EXCITE, TRANSACTIONS, UBI
from queryveil.logs.formats.table import TABLE
from queryveil.logs.layout import Format

__all__ = ["DECLARATIONS", "find_format"]

# In the order in which they are tried, the most specific first
DECLARATIONS = (UBI, AOL, EXCITE, TRANSACTIONS, TABLE)


def find_format(sample: Sample, name: str, columns: Mapping[str, str]) -> Format:
    """Return the named format, else the first that recognises the file, else `table` if columns are named."""
    candidates = [resolve("format", name).declaration] if name else declarations("format").values()
    for declared in candidates:
        if not isinstance(declared, Format):
            raise TypeError(f"{declared} is declared as a format but is none")
        if name or declared.recognise(sample):
            return declared
    if columns:
        return TABLE
    raise LogError(
        f"{sample.path}: the format could not be guessed; name it with --format "
        f"({', '.join(declarations('format'))}), and the columns of a table with --columns user=…,query=…."
    )
