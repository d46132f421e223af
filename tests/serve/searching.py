"""Documents with a word of three meanings, and groups of people with one interest each."""

import json
from dataclasses import dataclass
from pathlib import Path

import queryveil

HOSTILE = "<script>alert(1)</script>"
INTERESTS = {
    "coffee": "coffee espresso latte bean roast brew cup",
    "programs": "programming language software compiler code class syntax",
    "travel": "island indonesia beach volcano hotel flight ferry",
}
MEANINGS = (
    "an island of indonesia with a volcano",
    "a programming language, its compiler",
    "coffee by the cup, of roast beans",
)


@dataclass(frozen=True)
class SearchFolders:
    """An index, and a release of groups with its private folder."""

    index: Path
    groups: Path
    private: Path


def make_folders(folder: Path) -> SearchFolders:
    """Index forty documents about java, and make a release of groups of twelve people."""
    documents = [
        {"id": f"d{i}", "title": f"java {i} {HOSTILE}" if i == 1 else f"java {i}", "text": f"{MEANINGS[i % 3]}, {i}"}
        for i in range(40)
    ]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)))
    rows = [
        f"{name}-{i},{term},{1 + (i + j) % 5}\n"
        for name, words in INTERESTS.items()
        for i in range(4)
        for j, term in enumerate(words.split())
        if (i + j) % 4
    ]
    (folder / "profiles.csv").write_text("user,term,weight\n" + "".join(rows))
    made = SearchFolders(folder / "index", folder / "groups", folder / "private")
    queryveil.index(folder / "docs.jsonl", made.index)
    queryveil.anonymize(
        folder / "profiles.csv", "linkability(p=0.9, floor=1)", made.groups, private=made.private, seed=1
    )
    return made
