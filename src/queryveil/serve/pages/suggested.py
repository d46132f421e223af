"""What stands in a field that must be filled in, before anybody has."""

from queryveil.core.names import Declaration, Name, Parameter, Value

VALUES: dict[str, Value] = {"k": 5, "m": 2, "p": 0.4, "eps": 8}


def suggested(parameter: Parameter) -> str:
    """Return what a field begins with: its default, or what is usual where one must be given."""
    value = parameter.default
    if value is None and not parameter.is_optional:
        value = VALUES.get(parameter.name)
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def suggested_name(declaration: Declaration) -> str:
    """Return a text name with what must be given filled in."""
    needed = (p for p in declaration.parameters if p.default is None and not p.is_optional)
    return str(Name(declaration.name, tuple((p.name, VALUES[p.name]) for p in needed if p.name in VALUES)))
