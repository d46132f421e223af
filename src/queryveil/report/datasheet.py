"""The datasheet of a release, in the form of Gebru et al., Datasheets for Datasets, 2021; as Markdown or as HTML.

One template has the content; two sets of macros have the forms. It shows what the release itself says, what its owner
states, and the results of attacks where they are given.
"""

import re
from collections.abc import Mapping
from typing import Any

from queryveil.core.results import Verdict
from queryveil.release.manifest import Manifest
from queryveil.report.attacks import COLUMNS, AttackReport
from queryveil.report.rendering import render

TITLE = "Datasheet of a released search log"
MARK = "Datasheet by queryveil"  # by which a file is recognised as one of ours
FORMS = {".md": "datasheet/markdown.j2", ".html": "datasheet/html.j2"}  # by the end of the file's name
OWNER_FIELDS = {  # field of the owner's file → heading and what to state
    "owner": ("Owner", "who publishes the release and answers for it"),
    "contact": ("Contact", "where to ask, and to report somebody who can be recognised"),
    "purpose": ("Purpose", "for what the release was made"),
    "legal_basis": ("Legal basis", "on what the processing of the log and its publication are based"),
    "collection": ("How the log was collected", "where, when, and whether people were told or asked"),
    "uses": ("Uses", "for what the release may be used, and for what not"),
    "recipients": ("Recipients", "who gets the release, and how"),
    "licence": ("Licence", "under which terms"),
    "retention": ("Retention", "how long the log, the private folder and the release are kept"),
}


def owner_template() -> str:
    """Return an empty file of the owner's fields, as TOML."""
    lines = ["# What only the owner knows; a field that stays empty is listed as missing.\n"]
    return "".join(lines + [f'\n# {heading}: {what}\n{name} = ""\n' for name, (heading, what) in OWNER_FIELDS.items()])


def render_datasheet(
    suffix: str,
    manifest: Manifest,
    verdict: Verdict,
    owner: Mapping[str, str],
    attacks: AttackReport | None,
    context: Mapping[str, Any],
) -> str:
    """Return the datasheet as a document; `context` holds what the kind says, the digest of the manifest and more."""
    text = render(
        FORMS[suffix],
        title=manifest.title or TITLE,
        version=manifest.queryveil,
        mark=MARK,
        manifest=manifest,
        verdict=verdict,
        owner=owner,
        fields=OWNER_FIELDS,
        attacks=attacks,
        attack_columns=COLUMNS,
        **context,
    )
    return re.sub(r"\n{3,}", "\n\n", text)
