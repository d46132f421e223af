"""The command line: commands made from declared options, and one printer for every error."""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Sequence

import typer

from queryveil.cli import logs, program, releases, search
from queryveil.cli.command import add_command
from queryveil.core.errors import QueryveilError, sentence_of

INTERRUPTED, BROKEN_PIPE, BAD_INPUT, OWN_BUG = 130, 141, 2, 70

app = typer.Typer(
    name="queryveil",
    help="Turn a search log into something its owner may keep, share or personalise with.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Show the version and exit.")
) -> None:
    """Turn a search log into something its owner may keep, share or personalise with."""
    if version:
        from queryveil._version import __version__

        typer.echo(f"queryveil {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


COMMANDS = {
    "describe": logs.describe,
    "anonymize": releases.anonymize,
    "verify": releases.verify,
    "export": releases.export,
    "datasheet": releases.datasheet,
    "measure": releases.measure,
    "attack": releases.attack,
    "sensitivity": search.sensitivity,
    "compare": releases.compare,
    "why": releases.why,
    "profiles": logs.profiles,
    "index": search.index,
    "search": search.search,
    "search-body": search.search_body,
    "serve": program.serve,
    "reproduce": releases.reproduce,
    "generate": logs.generate,
    "warm": program.warm,
    "list": program.list_names,
}
for name, function in COMMANDS.items():
    add_command(app, name, function)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code."""
    gc.set_threshold(100_000, 20, 50)  # logs become lists of many texts, and looking through these finds no garbage
    tempfile.gettempdir()  # found once by writing a file: an interrupt meanwhile would leave that behind
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that SIGTERM leaves nothing behind either
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every error becomes one sentence on stderr."""
    try:
        given = None if arguments is None else list(arguments)
        code = app(args=given, prog_name="queryveil", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _fail(_completed(error.format_message()), BAD_INPUT)
    except QueryveilError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit):  # the option parser makes SystemExit(1) of the former
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at exit
        return BROKEN_PIPE
    except OSError as error:
        return _fail(sentence_of(error), BAD_INPUT)
    except Exception as error:
        return _fail(sentence_of(error), OWN_BUG)
    if code == INTERRUPTED:
        return _fail("interrupted.", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _completed(message: str) -> str:
    """Return the option parser's message as a sentence that says what to do."""
    message = message.strip()
    if message.endswith(("?", "value.")):
        return message
    return f"{message.rstrip('.')}; queryveil --help, or --help after a command, shows what there is."


def _fail(sentence: str, code: int) -> int:
    typer.echo(f"queryveil: {' '.join(sentence.split())}", err=True)
    return code
