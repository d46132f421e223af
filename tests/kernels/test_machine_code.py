"""Machine code that came with the package is used where it runs, and nothing is compiled or written then."""

import json
import pickle
import shutil
import zipfile
from pathlib import Path

import llvmlite  # type: ignore[import-untyped]
import numba
import pytest
from hatchling.builders.wheel import WheelBuilder
from numba.core.registry import cpu_target

from tests.kernels.test_cache import copied, run


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package that carries one kernel, made for this processor."""
    folder = tmp_path_factory.mktemp("built")
    package = copied(folder)
    run(package, folder / "made")
    (made,) = (folder / "made" / "queryveil").iterdir()
    shutil.copytree(made, package / "kernels" / "machine_code", dirs_exist_ok=True)
    system, processor, features = cpu_target.target_context.codegen().magic_tuple()
    described = {"system": system, "processor": processor, "features": features}
    described |= {"llvmlite": llvmlite.__version__, "kernels": made.name}
    (package / "kernels" / "machine_code" / "cpu.json").write_text(json.dumps(described))
    return package


@pytest.fixture
def package(built: Path, tmp_path: Path) -> Path:
    """Return a copy of it that a test may change."""
    return Path(shutil.copytree(built, tmp_path / "queryveil"))


def test_shipped_code_is_used_and_nothing_is_written(package: Path, tmp_path: Path) -> None:
    result, hits, misses = run(package, tmp_path / "fresh")
    assert (result, hits, misses) == ([[0, 1, 3], [0, 0, 1]], 1, 0)
    assert not list((tmp_path / "fresh").rglob("*.nbc"))


@pytest.mark.parametrize(
    ("key", "value"),
    [("features", "+not-here"), ("llvmlite", "0.0"), ("kernels", "kernels-other"), ("system", "other")],
)
def test_code_for_something_else_is_compiled_anew(package: Path, tmp_path: Path, key: str, value: str) -> None:
    path = package / "kernels" / "machine_code" / "cpu.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert run(package, tmp_path / "fresh")[1:] == (0, 1)


def test_code_of_another_numba_is_compiled_anew(package: Path, tmp_path: Path) -> None:
    (path,) = (package / "kernels" / "machine_code").rglob("*.nbi")
    with path.open("rb") as file:
        assert pickle.load(file) == numba.__version__
        index = file.read()
    path.write_bytes(pickle.dumps("0.0") + index)
    assert run(package, tmp_path / "fresh")[1:] == (0, 1)


def test_wheel_carries_the_machine_code_that_was_built(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parent.parent.parent
    for name in ("pyproject.toml", "README.md", ".gitignore", "src/queryveil/__init__.py", "src/queryveil/_version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    code = "kernels/machine_code/km/pairs.nbc"
    (tmp_path / "src/queryveil" / code).parent.mkdir(parents=True)
    (tmp_path / "src/queryveil" / code).write_bytes(b"code")
    (wheel,) = WheelBuilder(str(tmp_path)).build(directory=str(tmp_path), versions=["standard"])
    assert zipfile.ZipFile(wheel).read(f"queryveil/{code}") == b"code"
