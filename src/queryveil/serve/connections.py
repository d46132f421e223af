"""Connections to the server of pages: one on which the headers of a request do not arrive in time is closed."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_TIMEOUT = 30.0  # seconds; whoever may connect could else use up all connections without a token


class ImpatientProtocol(HttpToolsProtocol):
    """HTTP with a limit on the time until the headers of a request are there, which uvicorn lacks."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_headers()

    def on_message_begin(self) -> None:
        """Begin to wait for the headers of a request whose first byte has come."""
        super().on_message_begin()
        self._await_headers()

    def on_headers_complete(self) -> None:
        """Stop waiting: what follows has limits of its own."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(HEADER_TIMEOUT, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
