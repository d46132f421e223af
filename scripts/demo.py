"""`make demo`: the main job on bundled data, from a raw log to a verified release, and what a tampered one meets."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import queryveil
from queryveil.cli.output import table

FOLDER = Path("build/demo")
METHOD = "km(k=10, m=2)"
SPLIT = "km(k=10, m=2, split=all)"
SHOWN = {("retention", "log size"), ("retention", "users"), ("together", "pairs of terms still together")}


def main() -> None:
    """Show every step with what it gives."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    log, release, private = FOLDER / "log.tsv", FOLDER / "release", FOLDER / "private"

    print("1. A search log of 5,000 people, generated with a fixed seed")
    made = queryveil.generate(log, users=5_000, seed=1)
    print(f"   {made.queries:,} queries, {made.terms:,} distinct terms in {log}\n")

    print(f"2. {METHOD}: read, clean, anonymise, verify (the first run compiles the kernels, which takes a while)")
    done = queryveil.anonymize(log, METHOD, release, private=private, seed=1)
    for sentence in done.manifest.cleaning.sentences():
        print(f"   {sentence}")
    print(f"   {done.verdict.sentence()}  ({done.seconds:.1f} s)\n")

    print("3. How many people are singled out by a few random terms of theirs, before and after")
    unique = [score for score in done.scores if score.measure.startswith("unique")]
    print(
        _indented(table(("", "log", "release"), [(s.label, s.figure(s.original), s.figure(s.value)) for s in unique]))
    )

    print("4. What was kept")
    kept = [score for score in done.scores if score.measure == "retention"]
    print(_indented(table(("", "of", "kept"), [(s.label, f"{s.units_counted:,}", s.figure(s.value)) for s in kept])))
    tried = done.summary["logsize kept, in %"]
    best, paper = tried[done.summary["chosen"]], tried["paper"]
    more = 100 * (best / paper - 1)
    print(
        f"   under the same guarantee the published algorithm keeps {paper:.1f} % of the log size, "
        f"algorithm=best {more:.0f} % more\n"
    )

    print("5. The same guarantee with split=all: what does not fit is published as further histories, unlinked")
    cut = queryveil.anonymize(log, SPLIT, FOLDER / "split", private=FOLDER / "split-private", seed=1)
    print(f"   {cut.verdict.sentence()}")
    shown = [score for score in done.scores if (score.measure, score.label) in SHOWN]
    beside = {(score.measure, score.label): score for score in cut.scores}
    lines = [(s.label, s.figure(s.value), (b := beside[s.measure, s.label]).figure(b.value)) for s in shown]
    counts = cut.manifest.counts["after"]
    print(_indented(table(("kept", "split=none", "split=all"), lines)))
    print(
        f"   {counts['histories']:,} histories of {counts['people']:,} people: more terms, hardly more of what they "
        "tell together\n"
    )

    print("6. A copy in which one person's rare word is put back")
    tampered = FOLDER / "tampered"
    shutil.copytree(release, tampered)
    part = tampered / "data" / "part-00000.parquet"
    rows = pq.read_table(part)
    pq.write_table(pa.concat_tables([rows, pa.table({"user": [0], "term": ["arnold"]}, schema=rows.schema)]), part)
    print(f"   {queryveil.verify(tampered).sentence()}\n")

    print(f"release:  {release}\nprivate:  {private} (keep it secret)\nreport:   {done.report.resolve()}")
    print(
        "to look at a log first: .venv/bin/queryveil describe LOG; to hand a release over: queryveil export, datasheet"
    )
    print("to try methods, see one history, attack a release and search, in a browser: .venv/bin/queryveil serve")


def _indented(text: str) -> str:
    return "".join(f"   {line}\n" for line in text.splitlines())


if __name__ == "__main__":
    main()
