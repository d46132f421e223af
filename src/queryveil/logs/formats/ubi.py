"""OpenSearch User Behavior Insights: JSON lines with client_id, user_query and timestamp."""

import json
from collections.abc import Mapping

from queryveil.errors import LogError
from queryveil.logs.formats.base import Format, Layout
from queryveil.logs.formats.times import time_style
from queryveil.logs.sample import Sample

ROLES = {"person": "client_id", "query": "user_query", "time": "timestamp"}


def json_records(sample: Sample) -> list[dict[str, object]]:
    """Return the JSON objects among the sample's lines."""
    records = []
    for line in sample.lines:
        if not line.lstrip().startswith("{"):
            continue
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


def recognise(sample: Sample) -> bool:
    """Look for objects that have a client and a query."""
    return any(ROLES["person"] in record and ROLES["query"] in record for record in json_records(sample))


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the fixed layout, if the keys are there."""
    if not recognise(sample):
        raise LogError(
            f"{sample.path}: format ubi needs JSON lines with client_id and user_query, and none has both; "
            "is it --format table?"
        )
    times = [record.get(ROLES["time"]) for record in json_records(sample)]
    return Layout("json", ROLES, time=time_style(times))


UBI = Format(
    name="ubi",
    purpose="OpenSearch User Behavior Insights: JSON lines with client_id, user_query and timestamp",
    recognise=recognise,
    layout=layout,
)
