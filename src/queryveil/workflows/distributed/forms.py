"""What has a Spark form, and a sentence for what has none."""

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName, declarations

_ONLY = {("method", "km"): {"target": "logsize"}}  # the one value of a parameter that has a Spark form


def with_form(kind: str) -> list[str]:
    """Return the names of a kind that have a Spark form."""
    return [name for name, declaration in declarations(kind).items() if "spark" in declaration.functions]


def check_form(kind: str, bound: ResolvedName) -> None:
    """Refuse what can only be done on one machine."""
    if "spark" not in bound.declaration.functions:
        raise InputError(
            f"the {kind} {bound.declaration.name} has no Spark form ({', '.join(with_form(kind))} "
            f"{'has' if len(with_form(kind)) == 1 else 'have'} one); use --engine local."
        )
    for name, value in _ONLY.get((kind, bound.declaration.name), {}).items():
        if bound.word(name) != value:
            raise InputError(f"{bound}: on Spark there is only {name}={value}; leave it out, or use --engine local.")
