"""Attacks on 5,000 people: the seconds of each, and whether the success of known terms stays within its bound.

`python -m benchmarks.attacks`. The release is one of single queries with their times, so that every attack can be run.
Seconds are those of the attack alone, with everything read and laid out, on the release, for the control and on the
log. The obvious side intersects, target by target, the sets of holders of the known terms, in plain Python.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import SEED, Figures, make_log
from queryveil.api import anonymize
from queryveil.attacks.base import AttackedView, AttackInputs, Scenario, build_scenario
from queryveil.attacks.finding import BEYOND, match_crowds
from queryveil.core.evidence import Evidence
from queryveil.core.names import resolve
from queryveil.core.progress import silent
from queryveil.core.results import AttackResult
from queryveil.engines import LogSource
from queryveil.kinds.private_folder import PrivateFolder
from queryveil.release.reader import load_release
from queryveil.workflows.attack import build_inputs, read_log_data

PEOPLE, K, M = 5_000, 10, 2
ATTACKS = (
    f"known_terms(m={M})",
    f"known_terms(m={M}, of=release)",
    f"infer(m={M})",
    "multiplicity",
    "time",
    "vanity",
    "minimality",
)


def measure() -> Figures:
    """Time every attack, the first run of each apart, and note what known terms reach."""
    setting = _setting()
    figures: Figures = {}
    for name in ATTACKS:
        _run(setting, name)
        results, seconds = _run(setting, name)
        figures[f"{name}, s (bar: seconds)"] = round(seconds, 3)
        if name.startswith("known_terms"):
            figures |= _bounds(name, results)
    return {**figures, **_against_sets(build_scenario(setting, setting.terms))}


def _setting() -> AttackInputs:
    """Make a log and a release, and lay them out."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log = make_log(place, PEOPLE, "demo")
        done = anonymize(
            log,
            f"km(k={K}, m={M})",
            place / "out",
            private=place / "p",
            kind="log",
            keep=["time"],
            keep_floor=1,
            seed=SEED,
        )
        release = load_release(done.release)
        side = read_log_data(LogSource((log,)), release.manifest, frozenset({"time", "names"}), silent)
        return build_inputs(release, PrivateFolder(place / "p"), side, None, PEOPLE)


def _run(setting: AttackInputs, name: str) -> tuple[list[AttackResult], float]:
    attack = resolve("attack", name)
    started = time.perf_counter()
    results: list[AttackResult] = attack.declaration.load()(Evidence(setting), attack, rng=np.random.default_rng(SEED))
    return results, time.perf_counter() - started


def _bounds(name: str, results: list[AttackResult]) -> Figures:
    """Return the highest rate within the claim, and the lowest on the log."""
    within = [result for result in results if result.note != BEYOND]
    figures: Figures = {
        f"{name}: highest success within the claim (bar: ≤ {1 / K})": round(max(r.rate.value for r in within), 4),
        f"{name}: smallest crowd within the claim (bar: ≥ {K})": min(r.smallest or K for r in within),
    }
    if "of=release" not in name:  # else what is known was chosen for the release: of the log it is common
        lowest = round(min(r.original.value for r in within), 4)
        figures[f"{name}: lowest success on the log (bar: ≥ {5 / K})"] = lowest
    return figures


def _against_sets(scenario: Scenario) -> Figures:
    """Count the same crowds by intersecting sets."""
    rows = scenario.people.draw_rows(M, PEOPLE, np.random.default_rng(SEED))
    known = scenario.people.draw_knowledge(rows, M, np.random.default_rng(SEED))
    started = time.perf_counter()
    found = match_crowds(scenario.original, known, exact=True)
    ours = time.perf_counter() - started
    holders = _holders(scenario.original)
    started = time.perf_counter()
    sizes = [len(set.intersection(*(holders[item] for item in items))) for items in known.items.tolist()]
    obvious = time.perf_counter() - started
    if sizes != found.people.tolist():
        raise RuntimeError("the two sides count other crowds")
    return {f"crowds of {len(rows):,} people in the log: sets / ours, time": round(obvious / ours, 1)}


def _holders(view: AttackedView) -> list[set[int]]:
    published = view.published
    bounds = zip(published.post_start[:-1].tolist(), published.post_start[1:].tolist(), strict=True)
    return [set(published.owner[published.post_unit[a:b]].tolist()) for a, b in bounds]


if __name__ == "__main__":
    for what, value in measure().items():
        print(f"{what}: {value}")
