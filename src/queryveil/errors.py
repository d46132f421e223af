"""Every error queryveil raises on purpose.

    QueryveilError                 one sentence for a person; the base of all
    ├── InputError                 exit 2: something the user gave cannot be used
    │   ├── UnknownNameError       a text name, a parameter or its value
    │   ├── LogError               a log that cannot be read
    │   ├── ReleaseError           a release, manifest or private folder that cannot be read
    │   ├── CorpusError            documents, or the index of them, that cannot be read
    │   └── OutputError            a place that cannot be written
    ├── GuaranteeError             exit 2: the guarantee cannot be met, so nothing is released
    └── InternalError              exit 70: our own bug, e.g. a release that its verifier refuses

A message names the file, line, column or parameter, the rule, and what to do. About a *log* it never
repeats content: queries are private. Values of parameters may be shown.
"""


class QueryveilError(Exception):
    """One clear sentence about what went wrong and what to do next."""

    exit_code = 2


class InputError(QueryveilError):
    """Something the user gave cannot be used."""


class UnknownNameError(InputError):
    """A text name, a parameter or a parameter's value is not one queryveil knows."""


class LogError(InputError):
    """A log cannot be read."""


class ReleaseError(InputError):
    """A release, its manifest or its private folder cannot be read."""


class CorpusError(InputError):
    """Documents, or the index of them, cannot be read."""


class OutputError(InputError):
    """A result cannot be written where it was asked for."""


class GuaranteeError(QueryveilError):
    """A guarantee cannot be met, so nothing is released."""


class InternalError(QueryveilError):
    """A fault of queryveil itself."""

    exit_code = 70
