"""The port that a server listens on."""

import resource
import socket

from queryveil.core.errors import InputError

BACKLOG = 4_096  # connections that may wait to be taken


def bind(host: str, port: int) -> socket.socket:
    """Take a port, or say why it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}; give another --port.") from None
    listening.set_inheritable(True)
    return listening


def raise_limits() -> None:
    """Let as many connections in as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def address_of(listening: socket.socket) -> str:
    """Return the address of the service as a browser takes it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
