"""Templates, scripts and styles are part of the package."""

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[2]


def test_what_pages_are_made_of_ships() -> None:
    shipped = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    serve = ROOT / "src" / "queryveil" / "serve"
    made_of = [*serve.glob("templates/*"), *serve.glob("static/*")]
    assert {path.suffix for path in made_of} >= {".html", ".css", ".js"}
    assert {str(path.relative_to(ROOT / "src")) for path in made_of} <= shipped
