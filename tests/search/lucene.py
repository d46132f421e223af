"""Real Lucene, from the system's jars: runs a Java program next to this file, compiled on the fly by the JDK."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_JARS = Path("/usr/share/java")
_MISSING = "no JDK or no Lucene: install openjdk-17-jdk-headless and liblucene8-java (scripts/system_packages)"


def class_path() -> str:
    """Return the class path of Lucene; without it or a JDK the test is skipped, under CI=true it fails."""
    jars = [max(_JARS.glob(f"lucene-{name}-*.jar"), default=None) for name in ("core", "analyzers-common")]
    if None in jars or shutil.which("javac") is None:
        if os.environ.get("CI") == "true":
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return ":".join(map(str, jars))


def run_java(program: str, lines: list[str]) -> list[str]:
    """Run a program in one file on lines of input; return its lines of output."""
    command = ["java", "-cp", class_path(), str(Path(__file__).parent / program)]
    done = subprocess.run(command, input="\n".join(lines), text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
