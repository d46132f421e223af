"""Direct identifiers as people type them into a search box, none of which can belong to anybody.

Addresses are at example.com, telephone numbers in the range 555-0100 to 555-0199 that is kept for fiction, and long
numbers begin with 000, which neither social security nor card numbers do.
"""

import numpy as np


def make(names: list[str], rng: np.random.Generator) -> list[str]:
    """Make one identifier for each person's name."""
    sorts = rng.integers(4, size=len(names)).tolist()
    numbers = rng.integers(10**13, size=len(names)).tolist()
    return [_FORMS[sort](name, number) for sort, name, number in zip(sorts, names, numbers, strict=True)]


def _email(name: str, number: int) -> str:
    first, _, last = name.partition(" ")
    return f"{first}.{last}{number % 100}@example.com"


def _telephone(name: str, number: int) -> str:
    return f"{200 + number % 700}-555-01{number // 1000 % 100:02}"


def _social_security(name: str, number: int) -> str:
    return f"{name} 000-{number % 100:02}-{number // 100 % 10_000:04}"


def _card(name: str, number: int) -> str:
    return f"000{number:013}"


_FORMS = (_email, _telephone, _social_security, _card)
