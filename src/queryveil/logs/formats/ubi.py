"""OpenSearch User Behavior Insights: JSON lines with client_id, user_query and timestamp."""

from collections.abc import Mapping

from queryveil.core.errors import LogError
from queryveil.logs.files import Sample
from queryveil.logs.formats.table import json_layout
from queryveil.logs.layout import Format, Layout

PERSON, QUERY = "client_id", "user_query"


def recognise(sample: Sample) -> bool:
    """Return whether there are JSON objects with a client and a query."""
    return any(PERSON in record and QUERY in record for record in sample.json_objects)


def layout(sample: Sample, columns: Mapping[str, str]) -> Layout:
    """Return the layout, or raise an error if the keys are missing."""
    if not recognise(sample):
        raise LogError(
            f"{sample.path}: format ubi needs JSON lines with client_id and user_query, and none has both; "
            "leave --format out if it is another format."
        )
    return json_layout(sample, {"user": PERSON, "query": QUERY, **columns})


UBI = Format(
    name="ubi",
    purpose="OpenSearch User Behavior Insights: JSON lines with client_id, user_query and timestamp",
    recognise=recognise,
    layout=layout,
)
