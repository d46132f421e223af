"""How figures are written: grouped digits, and a share that never rounds to all or nothing."""

UNKNOWN = "unknown"


def number(value: int | None) -> str:
    """Return a count with its digits in groups of three."""
    return UNKNOWN if value is None else f"{value:,}"


def percent(value: float | None) -> str:
    """Return a share with one decimal; what is not quite none or not quite all does not look like it."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.05:
        return "<0.1%"
    if 99.95 <= value < 100:
        return ">99.9%"
    return f"{value:.1f}%"


def amount(value: float | None, unit: str) -> str:
    """Return a figure of any unit."""
    if unit == "%" or value is None:
        return percent(value)
    return f"{value:,.4g} {unit}".rstrip()


def plural(count: int, one: str, many: str) -> str:
    """Return the count with the word that fits it."""
    return f"{number(count)} {one if count == 1 else many}"
