"""The lean search service as processes that share one port: one of them can use one processor only."""

import os
import socket
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from queryveil.errors import InputError
from queryveil.serve.lean import create_search_app
from queryveil.workflows.searching import Searcher

_BACKLOG = 4_096  # connections that may wait to be taken


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

    n = processes or os.cpu_count() or 1
    Searcher(index, groups)  # what cannot be opened is refused before anything is started
    with tempfile.TemporaryDirectory(prefix="queryveil-counts-") as counts, bind(host, port) as listening:
        config = uvicorn.Config(
            partial(create_search_app, index, groups, token=token, counts=Path(counts) if n > 1 else None),
            factory=True,
            host=host,
            port=listening.getsockname()[1],
            workers=n,
            backlog=_BACKLOG,
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        announce(address_of(listening))
        if n == 1:
            uvicorn.Server(config).run([listening])
        else:
            Multiprocess(config, sockets=[listening]).run()


def bind(host: str, port: int) -> socket.socket:
    """Take a port, or say why it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}; give another --port.") from None
    listening.set_inheritable(True)
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the address of the service as a browser takes it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
