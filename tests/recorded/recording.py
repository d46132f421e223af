"""Run recorded steps through the command line, and describe their results so that they can be compared."""

import hashlib
import io
import json
import math
import re
import shlex
import shutil
import signal
from collections.abc import Iterable
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.cli import main
from tests.recorded.inputs import write_inputs
from tests.releases import reseal

PRIVATE_TABLES = ("membership", "profiles", "counted")
CHANGING = ("queryveil", "seconds", "made")  # the version, the duration and the day of a run are not its result
DURATION = re.compile(r"(^| +)\d[\d,.]* (s|min)\b")
TIMINGS = ("Run times", "Seconds of the method alone")  # captions of tables
TIMED_SECTION = "Section 5.2"  # of the paper whose findings depend on times
RECORDINGS = Path(__file__).parent


@dataclass(frozen=True)
class Step:
    """One command of a scenario, or a change of a release between two commands (`tamper …`)."""

    name: str
    command: str


def record(steps: Iterable[Step], folder: Path) -> dict[str, Any]:
    """Run the steps of a scenario in an empty folder and return their recordings by name."""
    write_inputs(folder)
    return {step.name: run_step(step, folder) for step in steps}


def load(name: str) -> dict[str, Any]:
    """Return the stored recordings of a scenario."""
    recordings: dict[str, Any] = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
    return recordings


def save(name: str, recordings: dict[str, Any]) -> None:
    """Store the recordings of a scenario."""
    text = json.dumps(recordings, indent=1, ensure_ascii=False) + "\n"
    (RECORDINGS / f"{name}.json").write_text(text, encoding="utf-8")


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return a line for every field in which recordings differ."""
    lines = [f"{name}: only in one of the two" for name in sorted(expected.keys() ^ found.keys())]
    for name in expected.keys() & found.keys():
        one, other = expected[name], found[name]
        fields = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
        lines += [f"{name}, {key}: was {one.get(key)!r}, is {other.get(key)!r}" for key in fields]
    return lines


def run_step(step: Step, folder: Path) -> dict[str, Any]:
    """Run one step in a folder and return its recording."""
    words = shlex.split(step.command)
    with chdir(folder):
        if words[0] == "tamper":
            tamper(Path(words[1]), Path(words[2]), words[3])
            return {"command": step.command}
        code, printed, complaint = run_command(words)
        record: dict[str, Any] = {"command": step.command, "code": code}
        if complaint:
            record["stderr"] = [line for line in complaint.splitlines() if not line.startswith("done in ")]
        if "--json" in words and printed:
            record |= describe(words[0], json.loads(printed))
        elif printed:
            record["stdout"] = DURATION.sub(" … s", printed).splitlines()
        for option in ("--private", "--out"):
            if code == 0 and option in words and words[0] in ("anonymize", "profiles"):
                record |= describe_output(Path(words[words.index(option) + 1]))
    return record


def run_command(words: list[str]) -> tuple[int, str, str]:
    """Run `queryveil` in this process; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main(words)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), err.getvalue()
    finally:
        signal.signal(signal.SIGTERM, handler)
    raise AssertionError("the command did not exit")


def describe(command: str, result: Any) -> dict[str, Any]:
    """Return the recording of a JSON result: the main figures readable, and everything else as a digest."""
    result = cleaned(result)
    if command == "anonymize":
        return {
            **describe_manifest(result["manifest"]),
            "verdict": describe_verdict(result["verdict"]),
            "scores": [describe_score(score) for score in result["scores"]],
            "summary": digest(result["summary"]),
        }
    if command == "verify":
        return {"verdict": describe_verdict(result)}
    if command == "measure":
        return {"scores": [describe_score(score) for score in result], "details": digest(result)}
    if command == "reproduce":
        tables = result["tables"][1:]  # the first one repeats the findings
        result["tables"] = [table for table in tables if table["caption"] not in TIMINGS]
        result["findings"] = [each for each in result["findings"] if each["where"] != TIMED_SECTION]
    return {"details": digest(result), "excerpt": json.dumps(result, ensure_ascii=False)[:400]}


def describe_manifest(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the digests of a manifest, without those of its files.

    The digest of the report covers its layout, and that of a Parquet file the version of pyarrow.
    """
    files = [entry["path"] for entry in manifest["files"]]
    said = {key: value for key, value in manifest.items() if key != "fields_sha256"} | {"files": files}
    return {"content_sha256": manifest["content_sha256"], "manifest": digest(said)}


def describe_verdict(verdict: dict[str, Any]) -> str:
    """Return a verdict on one line, with everything that it says."""
    others = {key: value for key, value in verdict.items() if key not in ("claim", "state") and value}
    return f"{verdict['claim']} {verdict['state']}: {json.dumps(others, ensure_ascii=False)}"


def describe_score(score: dict[str, Any]) -> str:
    """Return a score on one line."""
    return f"{score['measure']}, {score['label']}: {score['value']} (original {score['original']})"


def describe_output(path: Path) -> dict[str, Any]:
    """Return the digests of a private folder, or of a file of profiles; nothing for a release."""
    if path.is_file():
        return {"file": hashlib.sha256(path.read_bytes()).hexdigest()}
    if not (path / "run.json").exists():
        return {}
    run = cleaned(json.loads((path / "run.json").read_text()))
    run["inputs"] = [{**entry, "path": Path(entry["path"]).name} for entry in run["inputs"]]
    for name in ("manifest_sha256", "parameters"):  # the first covers the report's digest, both what is recorded above
        del run[name]
    tables = {name: path / f"{name}.parquet" for name in PRIVATE_TABLES}
    return {"run": digest(run)} | {name: table_digest(file) for name, file in tables.items() if file.exists()}


def table_digest(path: Path) -> str:
    """Return a digest of the names and values of a Parquet table, whatever the encoding of its file."""
    table = pq.read_table(path)
    return digest({name: table[name].to_pylist() for name in table.column_names if name != "is_frozen"})


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value, its keys in order."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def cleaned(value: Any) -> Any:
    """Return a JSON value without what changes from run to run, its floats with ten significant digits."""
    if isinstance(value, dict):
        return {key: cleaned(part) for key, part in value.items() if key not in CHANGING}
    if isinstance(value, list):
        return [cleaned(part) for part in value]
    if isinstance(value, str):
        return DURATION.sub(" … s", value)
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.10g}")
    return value


def tamper(release: Path, copy: Path, change: str) -> None:
    """Copy a release and change the copy.

    `drop` and `invent` change rows only; `drop-forged` and `invent-forged` also forge digests and counts;
    `count` changes a count of the manifest, `floor` and `claim` what it promises, `lose` deletes a data file.
    """
    shutil.copytree(release, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    data = sorted((copy / "data").iterdir())[0]
    kind, _, forged = change.partition("-")
    if kind == "lose":
        data.unlink()
    elif kind == "count":
        manifest["counts"]["after"]["terms"] += 1
    elif kind == "claim":
        manifest["guarantee"] = manifest["guarantee"].replace("k=3", "k=9").replace("p=0.4", "p=0.1")
    else:
        rows = _changed(pq.read_table(data), kind)
        pq.write_table(rows, data)
        if forged:
            _forge(manifest, rows, data, copy)
    (copy / "manifest.json").write_text(json.dumps(manifest))
    if forged:
        reseal(copy)


def _changed(rows: pa.Table, change: str) -> pa.Table:
    """Return rows without the second, or with the first one's text replaced by a word that nobody searched for."""
    if change == "drop":
        return rows.filter(pa.array([i != 1 for i in range(len(rows))]))
    place = next(i for i, name in enumerate(rows.column_names) if name in ("term", "query"))
    words = rows.column(place).to_pylist()
    return rows.set_column(
        place, rows.schema.field(place), pa.array(["aaaaa", *words[1:]], rows.schema.field(place).type)
    )


def _forge(manifest: dict[str, Any], rows: pa.Table, data: Path, folder: Path) -> None:
    """Make the digests and counts of a manifest those of changed rows."""
    columns = [pc.cast(rows[name], pa.string()).to_pylist() for name in rows.column_names]
    lines = [rows.column_names, *zip(*columns, strict=True)]
    text = "".join("\t".join("\\N" if value is None else value for value in line) + "\n" for line in lines)
    manifest["content_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    for entry in manifest["files"]:
        if folder / entry["path"] == data:
            entry |= {"sha256": hashlib.sha256(data.read_bytes()).hexdigest(), "rows": len(rows)}
    after, names = manifest["counts"]["after"], rows.column_names
    unit = "query" if "query" in names else "term"
    after["terms"] = len(rows[unit].unique())
    owner = "group" if "group" in names else "user"
    after["pairs"] = len({*zip(rows[owner].to_pylist(), rows[unit].to_pylist(), strict=True)})
