"""The JSON objects at the beginning of a file of JSON lines."""

import json
from collections.abc import Iterable

from queryveil.logs.sample import Sample


def json_records(sample: Sample) -> list[dict[str, object]]:
    """Return the JSON objects among the sample's lines."""
    records = []
    for line in sample.lines:
        if not line.lstrip().startswith("{"):
            continue
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return records


def json_keys(records: Iterable[dict[str, object]]) -> tuple[str, ...]:
    """Return the keys of all objects in the order in which they are first met."""
    return tuple(dict.fromkeys(key for record in records for key in record))
