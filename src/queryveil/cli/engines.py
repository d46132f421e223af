"""The options by which a command runs on a cluster."""

from typing import TYPE_CHECKING, Annotated

import typer

from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.names import declarations, nearest

if TYPE_CHECKING:
    from queryveil.engines.spark.session import Cluster

ENGINE = Annotated[str, typer.Option(help="Where it runs: local, or spark (a cluster).")]
SPARK_MASTER = Annotated[
    str | None,
    typer.Option(help="With --engine spark: local[*], spark://HOST:PORT, yarn or k8s://…", show_default="local[*]"),
]
SPARK_CONF = Annotated[
    list[str] | None,
    typer.Option(help="With --engine spark: a setting such as spark.executor.memory=4g.", show_default=False),
]


def cluster_of(engine: str, master: str | None, conf: list[str] | None) -> "Cluster | None":
    """Return the cluster that a command is to run on; None for one machine."""
    if engine not in declarations("engine"):
        raise UnknownNameError(f"--engine: there is no engine {engine!r}; {nearest(engine, declarations('engine'))}")
    if engine == "local":
        if master is not None or conf:
            option = "--spark-conf" if master is None else "--spark-master"
            raise InputError(f"{option} goes with --engine spark; add that, or leave it out.")
        return None
    from queryveil.engines.spark.session import Cluster, read_conf

    return Cluster(master or "local[*]", read_conf(conf or ()))
