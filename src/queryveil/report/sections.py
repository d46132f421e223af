"""What the report says about a release as such: verdict, promise, cleaning, files, and how to check them."""

from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.core.results import Verdict
from queryveil.report.figures import number, plural
from queryveil.report.markup import Markup, facts, join, table, tag

HEADLINES = {
    "holds": "The guarantee holds",
    "violated": "The guarantee is violated",
    "unchecked": "The guarantee was not checked",
}
COUNTED = {
    "people": "people: whoever has several histories is counted once",
    "histories": "histories: that they belong to different people was not checked",
    "nothing": "nothing: the claim is about each query by itself",
}
CHECKED = {
    "groups": "Terms of groups checked",
    "vocabularies": "Different vocabularies checked",
    "queries": "Different queries checked",
}
ONE_EACH = "people: each has one history in the log"


def verdict_section(manifest: Mapping[str, Any], verdict: Verdict) -> Markup:
    """Say first of all whether the claim holds, and what was looked at to find out."""
    before = manifest["counts"]["before"]
    has_one_each = before["people"] == before["histories"] and verdict.counted != "nothing"
    pairs = [
        ("Claim", tag("code", verdict.claim)),
        ("Counted", ONE_EACH if has_one_each else COUNTED[verdict.counted]),
        (CHECKED.get(str(manifest["kind"]), "Combinations checked"), number(verdict.checked)),
        ("Method", tag("code", str(manifest["method"]))),
        ("Kind of release", str(manifest["kind"])),
        ("Columns", join((tag("code", str(name)) for name in manifest["columns"]), ", ")),
    ]
    if manifest["guarantee"] != verdict.claim:
        pairs.insert(1, ("The manifest claims", tag("code", str(manifest["guarantee"]))))
    return tag(
        "section",
        tag("h2", HEADLINES[verdict.state]),
        tag("p", _finding(verdict)),
        facts(pairs),
        class_=f"verdict {verdict.state}",
    )


def _finding(verdict: Verdict) -> str:
    if verdict.state == "holds":
        return "The released rows were checked by a verifier that shares no code with the method that made them."
    if verdict.counterexample is None:
        return f"The reason: {verdict.reason}."
    one = verdict.unit.removesuffix("s") if verdict.unit == "combinations" else "query"
    broken = plural(verdict.violations, f"{one} breaks", f"{verdict.unit} break")
    return f"{broken} it. The worst: {verdict.counterexample}."


def promise_section(manifest: Mapping[str, Any]) -> Markup:
    """Give the promise in plain words, and then its limits."""
    floor, partition, uncovered = manifest["floor"], manifest["partition"], manifest["uncovered_columns"]
    more = []
    if floor > 1:
        entry = "query was issued" if manifest["kind"] == "queries" else "term is held"
        more.append(f"Every published {entry} by at least {number(floor)} people in the whole log.")
    if partition is not None:
        parts = plural(partition["values"], "part", "parts")
        more.append(f"The log was cut into {parts} by its column {partition['column']}; each part keeps the promise.")
    limits = [tag("li", str(limit)) for limit in manifest["limits"]]
    return tag(
        "section",
        tag("h2", "What is promised"),
        tag("p", str(manifest["promise"]), class_="promise"),
        *(tag("p", sentence) for sentence in more),
        tag("h3", "What is not promised"),
        _uncovered(uncovered),
        tag("ul", *limits) if limits else "",
    )


def _uncovered(columns: Sequence[str]) -> Markup:
    """Warn of columns the guarantee does not cover, where there are any."""
    if not columns:
        return Markup()
    names = join((tag("code", str(column)) for column in columns), ", ")
    what = "the column" if len(columns) == 1 else "the columns"
    return tag("p", f"The guarantee does not cover {what} ", names, ".", class_="warning")


def cleaning_section(cleaning: Mapping[str, Any]) -> Markup:
    """List what was done to the log before the method saw it."""
    steps = [
        (str(step["name"]), f"{number(step['count'])} {step['unit']}".rstrip(), str(step["note"] or ""))
        for step in cleaning["steps"]
    ]
    options = [(str(name).replace("_", " "), _option(value)) for name, value in cleaning["options"].items()]
    return tag(
        "section",
        tag("h2", "How the log was cleaned"),
        tag("p", "This was done to the log before it was anonymised; the counts above are those after it."),
        table("Steps of the cleaning", ("Step", "Count", "Note"), steps, numbers=(1,)) if steps else "",
        tag("h3", "Options") if options else "",
        facts(options) if options else "",
    )


def _option(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_option(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_option, value)) or "none"
    return str(value)


def files_section(manifest: Mapping[str, Any]) -> Markup:
    """List the files with what identifies their content."""
    rows = [
        (tag("code", str(file["path"])), number(file["rows"]), tag("code", str(file["sha256"]), class_="digest"))
        for file in manifest["files"]
    ]
    return tag(
        "section",
        tag("h2", "The files"),
        table("Files of the release", ("File", "Rows", "SHA-256"), rows, numbers=(1,)),
        tag("p", "SHA-256 of all rows in sorted order, however they are spread over files:"),
        tag("p", tag("code", str(manifest["content_sha256"]), class_="digest")),
    )


def check_section(kind: str) -> Markup:
    """Tell the reader how to check the release without trusting this page; groups need who is in them."""
    private = " --private DIR" if kind == "groups" else ""
    return tag(
        "section",
        tag("h2", "Check it yourself"),
        tag(
            "p",
            "This page is a summary; it proves nothing. With the folder of the release, this checks the claim anew:",
        ),
        tag("pre", tag("code", f"queryveil verify RELEASE{private}")),
        tag(
            "p",
            "It compares the files with their SHA-256, counts everything again, and ends with exit code 0 if "
            "the guarantee holds, 1 if it is violated, and 2 if it cannot be checked.",
        ),
    )
