"""Options that select the engine of a command and configure its cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.names import declarations, nearest
from queryveil.core.options import AnyObject, FreeText, OptionGroup, option
from queryveil.engines import EngineDeclaration

if TYPE_CHECKING:
    from queryveil.engines.spark.session import SparkCluster


@dataclass(frozen=True)
class EngineOptions(OptionGroup):
    """Where a command runs: on this machine or on a cluster."""

    engine: str = option("local", FreeText(), "Where it runs: local, or spark (a cluster).")
    spark_master: str | None = option(
        None,
        FreeText(),
        "With --engine spark: local[*], spark://HOST:PORT, yarn or k8s://…",
        default_text="local[*]",
    )
    spark_conf: tuple[str, ...] = option(
        (), FreeText(), "With --engine spark: a setting such as spark.executor.memory=4g.", is_repeatable=True
    )
    spark: Any = option(
        None, AnyObject(), "A Spark session of yours, which is used as it is and left open.", is_python_only=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        known = declarations("engine")
        if self.engine not in known:
            raise UnknownNameError(f"--engine: there is no engine {self.engine!r}; {nearest(self.engine, known)}")
        for each in self.own_options()[1:]:
            if getattr(self, each.name) != each.default and each.name not in _options_of(self.engine):
                engine = next(name for name in known if each.name in _options_of(name))
                if each.is_python_only:
                    raise InputError(f'{each.name}=… goes with engine="{engine}"; add that, or leave it out.')
                raise InputError(f"{each.flag} goes with --engine {engine}; add that, or leave it out.")

    def cluster(self) -> "SparkCluster | None":
        """Return the cluster to run on; None for this machine."""
        if not _options_of(self.engine):
            return None
        from queryveil.engines.spark.session import SparkCluster, parse_conf

        return SparkCluster(self.spark_master or SparkCluster.master, parse_conf(self.spark_conf), self.spark)


def _options_of(engine: str) -> tuple[str, ...]:
    """Return the options that an engine takes."""
    declaration = declarations("engine")[engine]
    return declaration.options if isinstance(declaration, EngineDeclaration) else ()
