"""Synthetic search logs: nobody typed them, and they contain everything that makes real logs private.

A log is in the AOL format: one row per click and one per query without a click, ordered by person and time. The same
seed, number of people and version of numpy give the same bytes. A log is generated on arrays of term ids, a block of
people at a time; presets.toml declares the shapes of log that exist.
"""

import gzip
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, cast

import numpy as np

from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.files import check_new_file, scratch, write_errors_as_sentences
from queryveil.core.names import nearest
from queryveil.core.progress import Progress, silent
from queryveil.logs.generate.market import market_table
from queryveil.logs.generate.shape import Activity, LexiconSizes, LogShape, PatternTable, QueryMix, Slot, Zipf
from queryveil.logs.generate.writer import STAGE, GeneratedLog, write_log

_DECLARED = tomllib.loads(Path(__file__).with_name("presets.toml").read_text("utf-8"))
_WEB = _DECLARED["web"]
_WEB_PATTERNS = {pattern: weight for patterns in _WEB["patterns"].values() for pattern, weight in patterns.items()}


def _shape(name: str, laws: Mapping[str, tuple[float, float]], patterns: PatternTable) -> LogShape:
    """Return the shape that presets.toml declares under a name, with its laws of popularity and its patterns."""
    declared = _DECLARED[name]
    return LogShape(
        name=name,
        sizes=LexiconSizes(**declared["sizes"]),
        laws={Slot[slot.upper()]: Zipf(*law) for slot, law in laws.items()},
        activity=Activity(**declared["activity"]),
        patterns=patterns,
        queries=QueryMix(**declared["queries"]),
        **declared["log"],
    )


def _combined(sorts: Mapping[str, tuple[float, Mapping[str, float]]]) -> dict[str, float]:
    """Return the probability of every pattern of all sorts."""
    return {
        pattern: share * weight / sum(patterns.values())
        for share, patterns in sorts.values()
        for pattern, weight in patterns.items()
    }


DEMO = _shape("demo", _DECLARED["demo"]["laws"], PatternTable(_combined(_DECLARED["demo"]["sorts"])))
ALTAVISTA, AOL = (
    _shape(name, _WEB["laws"], PatternTable(_WEB_PATTERNS, _DECLARED[name]["lengths"])) for name in ("altavista", "aol")
)


__all__ = ["SHAPES", "GeneratedLog", "generate"]

SHAPES: Mapping[str, LogShape] = MappingProxyType({shape.name: shape for shape in (DEMO, ALTAVISTA, AOL)})
_COMPRESSION = 6


def generate(
    out: Path,
    *,
    like: str = "demo",
    users: int | None = None,
    rng: np.random.Generator,
    market_out: Path | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> GeneratedLog:
    """Write a synthetic log of a shape; without `users`, with as many people as the shape has."""
    if like not in SHAPES:
        raise UnknownNameError(f"there is no log like {like!r}; {nearest(like, SHAPES)}")
    shape = SHAPES[like]
    n_people = shape.users if users is None else users
    if n_people < 1:
        raise InputError(f"users must be a whole number of at least 1, not {n_people}; change it.")
    if market_out is not None and market_out.resolve() == out.resolve():
        raise InputError(f"the log and its market table cannot both be {out}; give two names.")
    with nullcontext() if market_out is None else _new_file(market_out, overwrite) as market:
        with _new_file(out, overwrite) as stream:
            log, usage = write_log(out, stream, shape, n_people, rng, progress)
            table = b"" if market is None else market_table(usage, rng, progress)
        if market is not None:
            market.write(table)
    progress(STAGE, n_people, n_people)
    return replace(log, market=market_out, priced=max(table.count(b"\n") - 1, 0))


@contextmanager
def _new_file(out: Path, overwrite: bool) -> Iterator[IO[bytes]]:
    """Open a stream whose content becomes the file `out` once it is complete; .gz is compressed on the way."""
    check_new_file(out, overwrite=overwrite)
    with write_errors_as_sentences(out, "choose another place"), scratch("log", out.parent) as folder:
        temporary = folder / "new"
        with temporary.open("xb") as stream:
            if out.suffix == ".gz":  # without name and time, so that the same log is the same bytes
                with gzip.GzipFile("", "wb", _COMPRESSION, stream, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(out)
