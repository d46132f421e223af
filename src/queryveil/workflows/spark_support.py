"""What a cluster supports, and a sentence for what it does not."""

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName, declarations
from queryveil.methods.base import Method

ENGINE = "spark"


def supported_names(category: str) -> list[str]:
    """Return the names of a category that have an implementation on Spark."""
    return [name for name, declaration in declarations(category).items() if ENGINE in declaration.functions]


def require_spark_support(category: str, name: ResolvedName) -> None:
    """Refuse what can only be done on one machine."""
    declared = name.declaration
    if ENGINE not in declared.functions:
        known = supported_names(category)
        raise InputError(
            f"the {category} {declared.name} has no Spark form ({', '.join(known)} "
            f"{'has' if len(known) == 1 else 'have'} one); use --engine local."
        )
    for parameter, value in declared.spark_only.items() if isinstance(declared, Method) else ():
        if name[parameter] != value:
            raise InputError(
                f"{name}: on Spark there is only {parameter}={value}; leave it out, or use --engine local."
            )
