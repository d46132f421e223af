"""What a kind of release, guarantee, method or engine needs is declared: no other code asks which one it deals with."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from queryveil.core.names import CATEGORIES, declarations, resolve
from queryveil.guarantees import Guarantee, guarantee_of
from queryveil.kinds.base import Kind
from queryveil.measures import Measure
from queryveil.methods.base import Method

SOURCE = Path(__file__).resolve().parent.parent / "src" / "queryveil"
DECLARED = ("kind", "guarantee", "method", "engine")
SUBJECT = re.compile(r"kind|guarantee|method|engine|claim|name")
# where these things are declared, and what imitates or evaluates single methods by design
DECLARING = ("kinds/", "guarantees.py", "methods/__init__.py", "engines/__init__.py", "experiments/", "logs/generate/")
FILES = sorted(SOURCE.rglob("*.py"))


def name_comparisons(path: Path) -> Iterator[str]:
    """Yield comparisons with the name of something that is declared elsewhere."""
    names = {name for category in DECLARED for name in declarations(category)}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            values = {c.value for side in sides for c in ast.walk(side) if isinstance(c, ast.Constant)}
            text = ast.unparse(node)
            if values & names and SUBJECT.search(text):
                yield f"{path.relative_to(SOURCE)}:{node.lineno} {text}"
        if isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant) and node.value.value in names:
            yield f"{path.relative_to(SOURCE)}:{node.value.lineno} case {node.value.value!r}"


def test_no_code_compares_names_of_what_is_declared() -> None:
    files = [path for path in FILES if not str(path.relative_to(SOURCE)).startswith(DECLARING)]
    assert [found for path in files for found in name_comparisons(path)] == []


def test_the_check_finds_a_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_declarations.SOURCE", tmp_path)
    (tmp_path / "a.py").write_text('if kind in ("groups", "log"):\n    pass\n')
    assert len(list(name_comparisons(tmp_path / "a.py"))) == 1


@pytest.mark.parametrize("category", CATEGORIES)
def test_declarations_have_a_purpose(category: str) -> None:
    assert all(declaration.purpose for declaration in declarations(category).values())


def test_methods_name_kinds_and_guarantees_that_exist() -> None:
    for method in declarations("method").values():
        assert isinstance(method, Method)
        guarantee = declarations("guarantee")[method.guarantee]
        assert isinstance(guarantee, Guarantee)
        assert set(method.kinds) <= set(declarations("kind"))
        assert set(method.kinds) <= set(guarantee.kinds)


def test_guarantees_state_directions_of_parameters_they_have() -> None:
    for guarantee in declarations("guarantee").values():
        assert isinstance(guarantee, Guarantee)
        assert set(guarantee.stronger_when) <= {parameter.name for parameter in guarantee.parameters}


def test_kinds_can_be_claimed_and_measured() -> None:
    for kind in declarations("kind").values():
        assert isinstance(kind, Kind)
        claims = [each for each in declarations("guarantee").values() if kind.name in getattr(each, "kinds", ())]
        assert claims
        measures = [each for each in declarations("measure").values() if isinstance(each, Measure)]
        assert any(kind.name in each.kinds for each in measures)


@pytest.mark.parametrize(("m", "known"), [(1, "1 term"), (2, "2 terms")])
def test_promises_count_in_singular_and_plural(m: int, known: str) -> None:
    claim = resolve("guarantee", f"km(k=5, m={m})")
    promise, limits = guarantee_of(claim).sentences(claim)
    assert promise.startswith(f"Whoever knows up to {known} of a released history")
    assert limits[0] == f"An attacker who knows more than {known} of a person may single that person out."


def test_a_guarantee_is_known_to_few_modules_besides_its_own() -> None:
    """The bound on inference: its own modules, and the declarations of guarantee, method and list; reasons name it."""
    own = re.compile(r"(^|/|_)(coherence|inference|sensitive_terms(_input)?|explain_inference|verify_inference)\.py$")
    names = re.compile(r"coherence|COHERENCE|sensitive_terms|SensitiveTerms|bound_inference|explain_inference")
    found = {str(path.relative_to(SOURCE)) for path in FILES if names.search(path.read_text())}
    others = {path for path in found if not own.search(path)}
    # thinning counts combinations by the same kernel
    assert others - {"methods/km.py"} == {"guarantees.py", "methods/__init__.py", "workflows/owner_lists.py"}
