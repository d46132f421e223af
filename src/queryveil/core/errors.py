"""Every error queryveil raises on purpose.

    QueryveilError                 one sentence for a person; the base of all
    ├── InputError                 exit 2: something the user gave cannot be used
    │   ├── UnknownNameError       a text name, a parameter or its value
    │   ├── LogError               a log that cannot be read
    │   │   └── NoTermsError       a log of which no query contains a term
    │   ├── ReleaseError           a release, manifest or private folder that cannot be read
    │   ├── CorpusError            documents, or the index of them, that cannot be read
    │   └── OutputError            a place that cannot be written
    ├── GuaranteeError             exit 2: the guarantee cannot be met, so nothing is released
    ├── UnverifiedError            exit 1 or 2: a release is violated or cannot be checked, so nothing is made of it
    └── InternalError              exit 70: our own bug, e.g. a release that its verifier refuses

A message names the file, line, column or parameter, the rule, and what to do. About a *log* it never
repeats content: queries are private. Values of parameters may be shown.
"""


class QueryveilError(Exception):
    """One clear sentence about what went wrong and what to do next; a form shows it next to the field it names."""

    exit_code = 2

    def __init__(self, sentence: str = "", *, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


class InputError(QueryveilError):
    """Something the user gave cannot be used."""


class UnknownNameError(InputError):
    """A text name, a parameter or a parameter's value is not one queryveil knows."""


class LogError(InputError):
    """A log cannot be read."""


class NoTermsError(LogError):
    """No query of a log contains a term."""


class ReleaseError(InputError):
    """A release, its manifest or its private folder cannot be read."""


class CorpusError(InputError):
    """Documents, or the index of them, cannot be read."""


class OutputError(InputError):
    """A result cannot be written to the place that the user gave."""


class GuaranteeError(QueryveilError):
    """A guarantee cannot be met, so nothing is released."""


class UnverifiedError(QueryveilError):
    """A release is violated or cannot be checked, so nothing is made of it."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


class InternalError(QueryveilError):
    """A fault of queryveil itself."""

    exit_code = 70


def sentence_of(error: Exception) -> str:
    """Return one sentence about an error.

    For a bug of queryveil it gives the position in the code instead of the message, which may quote the log.
    """
    if isinstance(error, QueryveilError):
        return str(error)
    if isinstance(error, OSError):
        place = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{place}; check the place and try again."
    trace, at = error.__traceback__, "unknown"
    while trace is not None:
        at = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return (
        f"a bug in queryveil ({type(error).__name__} at {at}). "
        "Please report it with this line and the command, not with the log."
    )
