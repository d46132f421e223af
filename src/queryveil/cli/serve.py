"""`queryveil serve`: the web pages and the REST service, or the search service alone."""

from dataclasses import replace

import typer

from queryveil.cli.command import command
from queryveil.core.extras import needs
from queryveil.serve.settings import Settings, read_token


@command(Settings, example="queryveil serve --port 8000")
def serve(settings: Settings, as_json: bool) -> int:
    """Open the pages and the REST service, or with --search the search service alone."""
    settings = replace(
        settings,
        token=read_token(settings.token_file, "--token-file", "QUERYVEIL_TOKEN"),
        analyst_token=read_token(settings.analyst_token_file, "--analyst-token-file", "QUERYVEIL_ANALYST_TOKEN"),
    )
    if settings.search is None:
        with needs("serve", "queryveil serve"):
            from queryveil.serve.web_server import serve as run
        run(settings, _announce)
    else:
        with needs("serve", "queryveil serve"):
            from queryveil.serve.search_service import serve_search
        serve_search(settings, _announce)
    return 0


def _announce(address: str) -> None:
    typer.echo(f"queryveil is at {address} (stop it with Ctrl-C)")
