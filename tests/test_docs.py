"""The docs are run, not trusted: every command and every Python block, in the order in which they stand."""

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import queryveil.cli
from queryveil.core.names import declarations
from queryveil.kinds.base import COLUMNS, kind_of
from scripts.build_docs import REFERENCE, pages

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = ROOT / "README.md"
DEMO = re.compile(r"`make demo` prints[^`]*```text\n(.*?)```", re.DOTALL)
EXIT_CODE = re.compile(r"\s*# exits with (\d+)$")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and text of every fenced block."""
    return re.findall(r"```(\w+)\n(.*?)```", page.read_text(), re.DOTALL)


RUN_PAGES = [page for page in PAGES if any(kind in ("console", "python") for kind, _ in blocks(page))]


@pytest.mark.parametrize("page", RUN_PAGES, ids=[page.stem for page in RUN_PAGES])
def test_commands_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran, printed, demo = 0, "", DEMO.search(page.read_text())
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), {"__name__": "__main__"})
            ran += 1
        elif kind == "console":
            for line in text.splitlines():
                assert line.startswith("$ "), f"{page}: {line}"
                found = EXIT_CODE.search(line)
                run_line(EXIT_CODE.sub("", line[2:]), int(found.group(1)) if found else 0)
                ran += 1
        elif kind == "text" and page == README and (demo is None or text != demo.group(1)):
            printed += capsys.readouterr().out
            assert text in printed
    assert ran


def run_line(line: str, code: int) -> None:
    """Run a command of queryveil in this process, which saves starting Python, and others by the shell."""
    unquoted = re.sub(r"\"[^\"$`]*\"|'[^']*'", "", line)
    if line.startswith("queryveil ") and not set(unquoted) & set("|<>&;$*`"):
        assert queryveil.cli.run(shlex.split(line)[1:]) == code, line
    else:
        command = line.replace("queryveil ", f"{sys.executable} -m queryveil ", 1)
        run(["bash", "-c", command], Path.cwd(), code)


def run(command: list[str], folder: Path, code: int) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_design_page_names_files_and_functions_that_exist() -> None:
    page = (ROOT / "docs" / "explanation" / "design.md").read_text()
    named = re.findall(r"`((?:\w+/)+\w+\.py)(?:: (\w+))?`", page)
    assert len(named) > 30
    for file, name in named:
        source = ROOT / ("" if file.startswith("tests/") else "src/queryveil") / file
        assert not name or re.search(rf"^(def|class) {name}\b", source.read_text(), re.MULTILINE), (file, name)


def test_the_readme_is_short() -> None:
    assert len(README.read_text().split()) <= 900


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    shown = DEMO.search(README.read_text())
    assert shown is not None
    assert shown.group(1) in run([sys.executable, str(ROOT / "scripts" / "demo.py")], tmp_path, 0)


@pytest.mark.parametrize("name", ["commands.md", "names.md", "options.md", "python.md", "release.md"])
def test_generated_pages_are_fresh(name: str) -> None:
    assert (REFERENCE / name).read_text() == pages()[name], "run `make docs`"


def test_every_command_is_documented() -> None:
    headings = re.findall(r"^## queryveil ([\w-]+)$", pages()["commands.md"], re.MULTILINE)
    assert headings == [command.name for command in queryveil.cli.app.registered_commands]


def test_every_public_function_is_documented() -> None:
    headings = re.findall(r"^## `(\w+)", pages()["python.md"], re.MULTILINE)
    assert set(headings) == set(queryveil.__all__) - {"__version__"}


def test_every_column_of_a_release_is_documented() -> None:
    declared = {name for kind in declarations("kind") for name in kind_of(kind).columns}
    keepable = {name for kind in declarations("kind") for name in kind_of(kind).keepable}
    assert declared | keepable | {"partition"} == set(COLUMNS)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_paths_and_benchmarks_named_in_the_docs_exist() -> None:
    for page in PAGES:
        text = page.read_text()
        for path in re.findall(r"`((?:src|tests|benchmarks|scripts|docs)/[\w./-]+)`", text):
            assert (ROOT / path).exists(), f"{page}: {path}"
        for name in re.findall(r"python -m (benchmarks\.\w+)", text):
            assert (ROOT / f"{name.replace('.', '/')}.py").exists(), f"{page}: {name}"


DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


@pytest.mark.parametrize("page", DECISIONS, ids=[page.stem for page in DECISIONS])
def test_decisions_are_short_and_say_status_and_date(page: Path) -> None:
    text = page.read_text()
    assert re.match(rf"# {int(page.stem[:4])}\. .+\n\nStatus: .+\. Date: \d{{4}}-\d\d-\d\d\.\n\n", text)
    parts = re.findall(r"^\*\*(Problem\.|Decision\.|Evidence\.|Revisit when)\*\*", text, re.MULTILINE)
    assert parts == ["Problem.", "Decision.", "Evidence.", "Revisit when"]
    assert len(text.split()) <= 250


def test_every_decision_is_listed() -> None:
    listed = re.findall(r"\]\((\d[^)]+)\)", (ROOT / "docs" / "decisions" / "README.md").read_text())
    assert listed == [page.name for page in DECISIONS]


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()


def test_the_glossary_is_in_alphabetical_order() -> None:
    words = [word.lower() for word in re.findall(r"^\*\*(.+?)\.\*\*", GLOSSARY, re.MULTILINE)]
    assert len(words) > 60
    assert words == sorted(words)


@pytest.mark.parametrize("place", sorted(set(re.findall(r"`(queryveil\.[\w.]+(?::\w+)?)`[,\]]", GLOSSARY))))
def test_the_glossary_names_code_that_exists(place: str) -> None:
    module, _, name = place.partition(":")
    found = importlib.import_module(module)
    assert not name or hasattr(found, name)


def test_make_targets_of_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        word
        for page in [*PAGES, ROOT / "CONTRIBUTING.md"]
        for word in re.findall(r"(?:`|^|\$ )make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    assert named
    assert named <= targets


def test_continuous_integration_runs_the_readme_command() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    commands = [line for line in script.splitlines() if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["export CI=true  # what is missing for a test is a failure here", "make test"]
    assert "make test" in (ROOT / "README.md").read_text()
