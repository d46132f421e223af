"""Running the server: its port, its limits, and an end at which nothing is lost."""

import shutil
import tempfile
from collections.abc import Callable
from types import FrameType

import uvicorn

from queryveil.serve.app import close, create_app
from queryveil.serve.jobs import Jobs
from queryveil.serve.ports import address_of, bind, raise_limits
from queryveil.serve.settings import Settings

_GRACE = 5  # seconds for answers that are under way


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve pages and programs until told to stop; `announce` is told the address."""
    settings.check()
    with bind(settings.host, settings.port) as listening:
        app = create_app(settings)
        raise_limits()
        _keep_uploads_private(settings)
        config = uvicorn.Config(
            app,
            ws="none",
            log_level="warning",
            access_log=False,  # it would write down addresses that people looked at
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
        )
        announce(address_of(listening))
        try:
            _Server(config, app.state.jobs).run([listening])
        except KeyboardInterrupt:  # the usual way to stop a server
            pass
        finally:
            close(app)


class _Server(uvicorn.Server):
    """A server that tells whoever follows a run that it stops; else it would wait for them."""

    def __init__(self, config: uvicorn.Config, jobs: Jobs) -> None:
        super().__init__(config)
        self._jobs = jobs

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        self._jobs.closing.set()
        super().handle_exit(sig, frame)


def _keep_uploads_private(settings: Settings) -> None:
    """Keep what is being sent in the private folder, not among everybody's temporary files."""
    temporary = settings.home / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(mode=0o700)
    tempfile.tempdir = str(temporary)
