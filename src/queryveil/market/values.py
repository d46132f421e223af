"""A file of term values (`term, value`), for target=file."""

from collections.abc import Mapping
from pathlib import Path

from queryveil.market.reading import read_terms


def read_values(path: Path, charset: str = "letters") -> Mapping[str, float]:
    """Read a file with the columns term and value; terms are folded as the log's are."""
    rows, numbers = read_terms(path, "--values", ("value",), charset, gaps=False)
    return dict(zip(rows, numbers[:, 0].tolist(), strict=True))
