"""Imports point downwards: a minimal table of what each layer may import, and packages that only some may use."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "queryveil"

REFERENCE = re.compile(r"queryveil(\.\w+)+:\w+")  # a function that a declaration names, loaded when it is needed

# layer → the layers it may import (besides itself), and refer to in declarations
MAY_IMPORT = {
    "_version": "",
    "core": "",
    "guarantees": "core",
    "kernels": "",
    "lexicons": "core",
    "logs": "core lexicons",
    "engines": "core logs",
    "histories": "core kernels lexicons logs engines",
    "kinds": "core kernels engines histories",
    "market": "core logs",
    "semantics": "core kernels lexicons logs histories",
    "search": "core _version kernels lexicons logs histories semantics",
    "sensitivity": "core kernels lexicons logs histories semantics",
    "methods": "core guarantees kernels lexicons engines histories market semantics",
    "release": "core _version guarantees logs engines histories kinds",
    "verifiers": "core kernels lexicons engines histories semantics",
    "measures": "core kernels engines histories kinds market semantics search",
    "attacks": "core kernels lexicons kinds",
    "report": "core release",
    "experiments": "core kernels lexicons logs engines histories market semantics sensitivity methods measures "
    "report search",
    "workflows": "core _version guarantees kernels lexicons logs engines histories kinds market semantics sensitivity "
    "methods release measures attacks report experiments search",
    "api": "core logs engines histories release report search sensitivity workflows",
    "serve": "core _version kernels logs engines kinds semantics methods release search report workflows",
    "cli": "core _version kernels logs search sensitivity report workflows serve",
    "__init__": "_version api",
    "__main__": "cli",
}


# layer → the layers above it that its declarations may refer to: what verifies a guarantee, or runs on an engine
MAY_DECLARE = {"guarantees": "verifiers", "engines": "workflows"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[str]:
    """Yield the full names of the modules that a file imports, anywhere in it."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def references(path: Path) -> Iterator[str]:
    """Yield the functions that a file names as "module:function"."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and REFERENCE.fullmatch(node.value):
            yield node.value


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def used_layers(names: Iterable[str]) -> set[str]:
    """Return the layers among the full names of modules."""
    return {name.split(".")[1].partition(":")[0] for name in names if name.startswith("queryveil.")} & set(MAY_IMPORT)


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_layers_below(path: Path) -> None:
    layer = layer_of(path)
    allowed = {layer, *MAY_IMPORT[layer].split()}
    assert used_layers(imports(path)) <= allowed
    assert used_layers(references(path)) <= {*allowed, *MAY_DECLARE.get(layer, "").split()}


def test_every_layer_is_in_the_table() -> None:
    assert {layer_of(path) for path in FILES} == set(MAY_IMPORT)


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_every_permission_is_used(layer: str) -> None:
    files = [path for path in FILES if layer_of(path) == layer]
    imported = set.union(*(used_layers(imports(path)) for path in files))
    declared = set.union(*(used_layers(references(path)) for path in files))
    assert set(MAY_IMPORT[layer].split()) <= imported
    assert set(MAY_DECLARE.get(layer, "").split()) <= declared


def test_only_kernels_import_numba() -> None:
    users = {layer_of(path) for path in FILES if any(name.split(".")[0] == "numba" for name in imports(path))}
    assert users == {"kernels"}


def test_only_the_local_engine_imports_duckdb() -> None:
    users = {path.parent.name for path in FILES if any(name.split(".")[0] == "duckdb" for name in imports(path))}
    assert users == {"local"}


def test_pyspark_is_imported_only_where_a_cluster_is_used() -> None:
    users = [path for path in FILES if any(name.split(".")[0] == "pyspark" for name in imports(path))]
    assert users
    assert all({"spark", "distributed", "distributed.py"} & set(path.parts) or "spark" in path.name for path in users)


def test_verifiers_use_their_own_kernels() -> None:
    used = {
        name
        for path in FILES
        if layer_of(path) == "verifiers"
        for name in imports(path)
        if name.startswith("queryveil.kernels.")
    }
    shared = {name for name in used if not name.startswith("queryveil.kernels.verify")}
    assert shared == {"queryveil.kernels.uncompiled"}  # a switch, no arithmetic
    assert used > shared


def test_verify_kernels_use_no_other_kernel() -> None:
    used = imports(SOURCE / "kernels" / "verify.py")
    assert {name for name in used if name.startswith("queryveil.kernels.")} == {"queryveil.kernels.jit"}


def test_no_randomness_but_from_a_passed_generator() -> None:
    forbidden = {"random", "numpy.random"}
    assert not [path for path in FILES if forbidden & set(imports(path))]


def test_parquet_files_in_memory_are_opened_by_one_function() -> None:
    """See `open_parquet`: memory of Python in the hands of Arrow's threads may abort a process that is ending."""
    users = {str(path.relative_to(SOURCE)) for path in FILES if "BufferReader(" in path.read_text()}
    assert users == {"core/arrow.py"}
