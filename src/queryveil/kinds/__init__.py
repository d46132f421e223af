"""Kinds of release: one object each that knows its columns, how rows are made and read back, and what can be asked.

Third parties register theirs by an entry point of the group `queryveil.kind`.
"""

from queryveil.kinds.base import FOREIGN_LOG, Kind
from queryveil.kinds.groups import GROUPS
from queryveil.kinds.histories import HISTORIES
from queryveil.kinds.log import LOG
from queryveil.kinds.queries import QUERIES
from queryveil.kinds.vocabularies import VOCABULARIES

__all__ = ["FOREIGN_LOG", "Kind"]

DECLARATIONS = (HISTORIES, LOG, QUERIES, GROUPS, VOCABULARIES)
