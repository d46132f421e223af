"""The part of a release's report that depends on the kind of release: its template, and its words in other parts."""

from collections.abc import Mapping
from typing import Any

_HISTORIES = "kinds/histories.html.j2"
_SECTIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "queries": (_HISTORIES, {"unit": "query", "checked": "Different queries checked"}),
    "groups": ("kinds/groups.html.j2", {"checked": "Terms of groups checked", "needs_private": True}),
    "vocabularies": ("kinds/vocabularies.html.j2", {"checked": "Different vocabularies checked"}),
}


def report_section(kind: str) -> tuple[str, Mapping[str, Any]]:
    """Return the template and the context of a kind of release."""
    return _SECTIONS.get(kind, (_HISTORIES, {}))
