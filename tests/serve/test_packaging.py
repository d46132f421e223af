"""Templates, scripts and styles are part of the package."""

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[2]


def test_wheel_contains_templates_and_static_files() -> None:
    shipped = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    serve = ROOT / "src" / "queryveil" / "serve"
    assets = [*serve.glob("templates/*"), *serve.glob("static/*")]
    assert {path.suffix for path in assets} >= {".html", ".css", ".js"}
    assert {str(path.relative_to(ROOT / "src")) for path in assets} <= shipped
