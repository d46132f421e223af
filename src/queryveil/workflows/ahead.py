"""What a run on a large log needs later, loaded in a thread while the log is read."""

from threading import Thread

import pyarrow as pa

from queryveil.engines import LogSource
from queryveil.engines.local import expand_paths
from queryveil.histories.tokens import Tokenizer
from queryveil.report import warm_up

_LARGE = 20_000_000  # bytes: what is smaller is read before anything could be loaded


def load_ahead(source: LogSource) -> None:
    """Begin to load the compiler and the drawing of charts, if reading the log gives time for it."""
    if (
        source.table is None
        and sum(path.stat().st_size for path in expand_paths(source.paths) if path.is_file()) > _LARGE
    ):
        Thread(target=_load).start()


def _load() -> None:
    Tokenizer().add(pa.array(["a"]))
    warm_up()
