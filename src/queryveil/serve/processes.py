"""The lean search service as processes that share one port: one of them can use one processor only."""

import gc
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from queryveil.serve.lean import SearchService, create_search_app
from queryveil.serve.parents import end_with_parent
from queryveil.serve.ports import BACKLOG, address_of, bind, raise_limits
from queryveil.serve.settings import check_address
from queryveil.workflows.search import Searcher


def _open(index: Path, groups: Path, token: str | None, counts: Path) -> SearchService:
    """Make the service of one process, which ends with the one that looks after all."""
    end_with_parent()
    service = create_search_app(index, groups, token=token, counts=counts)
    gc.freeze()  # what stands by now stays: looking through it for rubbish would hold up requests
    return service


def serve_search(
    index: Path,
    groups: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    processes: int | None = None,
    announce: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve searches until told to stop, by as many processes as there are processors unless told otherwise."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    check_address(host, token)
    raise_limits()
    Searcher(index, groups)  # what cannot be opened is refused before anything is started
    with tempfile.TemporaryDirectory(prefix="queryveil-counts-") as counts, bind(host, port) as listening:
        config = uvicorn.Config(
            partial(_open, index, groups, token, Path(counts)),
            factory=True,
            host=host,
            port=listening.getsockname()[1],
            workers=processes or os.cpu_count() or 1,
            backlog=BACKLOG,
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        announce(address_of(listening))
        Multiprocess(config, sockets=[listening]).run()
