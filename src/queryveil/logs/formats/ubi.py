"""OpenSearch User Behavior Insights: JSON lines with client_id, user_query and timestamp."""

from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.logs.formats.base import Format, Layout
from queryveil.logs.formats.columns import find_roles
from queryveil.logs.formats.json_lines import json_keys, json_records
from queryveil.logs.formats.times import time_style
from queryveil.logs.sample import Sample

PERSON, QUERY = "client_id", "user_query"


def recognise(sample: Sample) -> bool:
    """Look for objects that have a client and a query."""
    return any(PERSON in record and QUERY in record for record in json_records(sample))


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the fixed layout, if the keys are there."""
    if not recognise(sample):
        raise LogError(
            f"{sample.path}: format ubi needs JSON lines with client_id and user_query, and none has both; "
            "leave --format out if it is another format."
        )
    records = json_records(sample)
    keys = json_keys(records)
    roles = find_roles(str(sample.path), keys, {"user": PERSON, "query": QUERY, **columns})
    times = (record.get(roles["time"]) for record in records) if "time" in roles else ()
    return Layout("json", roles, keys, time=time_style(times))


UBI = Format(
    name="ubi",
    purpose="OpenSearch User Behavior Insights: JSON lines with client_id, user_query and timestamp",
    recognise=recognise,
    layout=layout,
)
