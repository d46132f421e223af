"""The options by which a command runs on a cluster."""

from typing import Annotated

import typer

ENGINE = Annotated[str, typer.Option(help="Where it runs: local, or spark (a cluster).")]
SPARK_MASTER = Annotated[
    str | None,
    typer.Option(help="With --engine spark: local[*], spark://HOST:PORT, yarn or k8s://…", show_default="local[*]"),
]
SPARK_CONF = Annotated[
    list[str] | None,
    typer.Option(help="With --engine spark: a setting such as spark.executor.memory=4g.", show_default=False),
]
