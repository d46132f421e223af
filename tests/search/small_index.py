"""Small indexes for tests."""

import json
from collections.abc import Sequence
from pathlib import Path

from queryveil import index
from queryveil.search.index import Index, open_index


def index_of(texts: Sequence[str | tuple[str, str]], folder: Path, name: str = "index") -> Index:
    """Index texts, or titles with texts, as documents with the ids 0, 1, 2 …"""
    pairs = [("", text) if isinstance(text, str) else text for text in texts]
    lines = [json.dumps({"id": i, "title": title, "text": text}) for i, (title, text) in enumerate(pairs)]
    corpus = folder / f"{name}.jsonl"
    corpus.write_text("\n".join(lines))
    index(corpus, folder / name, force=(folder / name).exists())
    return open_index(folder / name)
