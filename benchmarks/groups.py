"""Groups for p-linkability: time and likeness at the paper's size and at scale.

`python -m benchmarks.groups` (720 people of 150 terms, 20,000 people), `python -m benchmarks.groups full` (besides,
100,000 and 650,000 people, each in a process of its own). Likeness is the mean cosine of people with the centroid of
their group's features, and of their profile with what their group publishes. `benchmarks.strict_groups` is about the
strict principles.
"""

import math
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.common import SEED, SMALL, Figures, bar, main, make_log, own_process
from benchmarks.likeness import in_features, in_terms
from queryveil.api import profiles as read_profiles
from queryveil.core.names import resolve
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.methods.linkability import group_profiles as run
from queryveil.methods.linkability.principles import without_rare
from queryveil.semantics.augmentation import FeatureMatrix, augment
from queryveil.semantics.network import wordnet

PEOPLE, TERMS = 720, 150  # of the paper
LARGE = (100_000, 650_000)
SHARES = (0.1, 0.2, 0.3, 0.4)


def measure(users: int | None) -> Figures:
    """Measure at the paper's size and at 20,000 people; in the full form at the large sizes too."""
    with tempfile.TemporaryDirectory() as folder:
        demo = read_profiles(make_log(Path(folder), SMALL, "demo"))
    with tempfile.TemporaryDirectory() as folder:
        paper = of_equal_length(read_profiles(make_log(Path(folder), 3 * SMALL, "aol")))
    figures = {**_paper_size(paper), **_scale(demo)}
    return figures if users is not None else {**figures, **_large()}


def of_equal_length(profiles: Profiles) -> Profiles:
    """Return the first people with enough terms that WordNet knows, each with as many of them, drawn at random."""
    known = wordnet().find_all(profiles.vocabulary) >= 0
    known &= np.array([entry not in STOP_WORDS for entry in profiles.vocabulary])
    usable = profiles.select(known[profiles.ids])
    people = np.flatnonzero(np.diff(usable.indptr) >= TERMS)[:PEOPLE]
    rng = np.random.default_rng(SEED)
    rows = [rng.permutation(usable.ids[usable.indptr[h] : usable.indptr[h + 1]])[:TERMS] for h in people]
    found, ids = np.unique(np.concatenate(rows), return_inverse=True)
    ids = np.sort(ids.reshape(len(people), TERMS), axis=1).ravel()
    return Profiles(
        tuple(profiles.vocabulary[entry] for entry in found),
        np.arange(len(people) + 1) * TERMS,
        ids.astype(np.int32),
        np.ones(len(ids), np.int32),
        np.arange(len(people), dtype=np.int32),
        tuple(map(str, range(len(people)))),
    )


def run_timed(
    profiles: Profiles, features: FeatureMatrix, name: str, exact_up_to: int = 10**9
) -> tuple[Grouping, float]:
    """Return the groups of a run and its seconds; kernels are warm."""
    method = resolve("method", name)
    started = time.perf_counter()
    made = run(profiles, features, method, rng=np.random.default_rng(SEED), exact_up_to=exact_up_to)
    return made, time.perf_counter() - started


def _paper_size(paper: Profiles) -> Figures:
    seconds: list[float] = []
    for p, a in [(0.4, 0), *product(SHARES, range(4))]:
        started = time.perf_counter()
        features = augment(paper, wordnet(), a=a)
        run_timed(paper, features, f"linkability(p={p}, a={a})")
        seconds.append(time.perf_counter() - started)
    slowest = round(max(seconds[1:]), 3)  # the first warmed up
    return {f"{PEOPLE} × {TERMS}, 16 combinations of p and a, slowest, features included, s (bar: ≤ 1)": slowest}


def _scale(demo: Profiles) -> Figures:
    features = augment(demo, wordnet(), a=1)
    figures: Figures = {}
    for p in (0.4, 0.1):
        sides = {side: _best_of(demo, features, p, limit) for side, limit in (("exact", 10**9), ("blocks", 0))}
        (exact, slow), (blocks, fast) = sides["exact"], sides["blocks"]
        alike = [(in_features(features, made), in_terms(demo, made)) for made in (exact, blocks)]
        shares = [round(100 * of_blocks / of_exact, 2) for of_exact, of_blocks in zip(*alike, strict=True)]
        what = f"demo, {SMALL:,}, p={p}: blocks of the exact greedy's"
        figures[f"{what} time, % (bar: ≤ 40)"] = round(100 * fast / slow, 1)
        figures[f"{what} likeness in features, % (bar: ≥ 98)"] = shares[0]
        figures[f"{what} likeness to what is published, % (bar: ≥ 98)"] = shares[1]
        figures[f"demo, {SMALL:,}, p={p}: exact / blocks, s"] = f"{slow:.2f} / {fast:.2f}"
    return figures


def _best_of(profiles: Profiles, features: FeatureMatrix, p: float, exact_up_to: int) -> tuple[Grouping, float]:
    """Return groups and the least of four times, the first of which may compile."""
    runs = [run_timed(profiles, features, f"linkability(p={p})", exact_up_to) for _ in range(4)]
    return runs[0][0], min(seconds for _, seconds in runs)


def _large() -> Figures:
    """Group logs of two sizes, each in a process of its own that loads ready-made arrays."""
    figures: Figures = {}
    seconds: list[float] = []
    for people in LARGE:
        with tempfile.TemporaryDirectory() as folder:
            profiles = read_profiles(make_log(Path(folder), people, "aol"))
            features = augment(profiles, wordnet(), a=1)
            place = Path(folder) / "arrays.npz"
            save(place, profiles, features)
            side = own_process("benchmarks.groups", "side", str(place))
        seconds.append(side["seconds"])
        figures[f"{people:,} people, s"] = round(side["seconds"], 1)
        figures[f"{people:,} people, peak of the process, MB {bar('≤ 6,000', None)}"] = round(side["peak_mb"])
        figures[f"{people:,} people, illegal groups {bar('0', None)}"] = side["illegal"]
    exponent = math.log(seconds[1] / seconds[0]) / math.log(LARGE[1] / LARGE[0])
    return {**figures, f"time grows with exponent {bar('★ ≤ 1.2', None)}": round(exponent, 3)}


def save(place: Path, profiles: Profiles, features: FeatureMatrix) -> None:
    """Write what a process of its own needs to group the people."""
    np.savez(
        place,
        indptr=profiles.indptr,
        ids=profiles.ids,
        features=features.indptr,
        dimensions=features.ids,
        values=features.values,
        n=np.array(features.n_dimensions),
    )


def side(place: Path) -> dict[str, float]:
    """Group what the file holds and count groups that break the mean principle at p = 0.4."""
    arrays = np.load(place)
    n_people, n_entries = len(arrays["indptr"]) - 1, int(arrays["ids"].max()) + 1
    profiles = Profiles(
        ("",) * n_entries,
        arrays["indptr"],
        arrays["ids"],
        np.ones(len(arrays["ids"]), np.int32),
        np.arange(n_people, dtype=np.int32),
        ("",) * n_people,
    )
    features = FeatureMatrix(arrays["features"], arrays["dimensions"], arrays["values"], int(arrays["n"]))
    _warm_up(profiles, features)
    made, seconds = run_timed(profiles, features, "linkability(p=0.4)", exact_up_to=0)
    common = without_rare(profiles, resolve("method", "linkability(p=0.4)"))
    members = np.bincount(made.group[made.group >= 0])
    pairs = np.bincount(made.group[made.group >= 0], np.diff(common.indptr)[made.group >= 0])
    illegal = np.count_nonzero(np.diff(made.indptr) < pairs / members / 0.4 * (1 - 1e-9))
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1e3
    return {"seconds": seconds, "peak_mb": peak, "illegal": float(illegal)}


def _warm_up(profiles: Profiles, features: FeatureMatrix) -> None:
    """Compile all kernels on the first people."""
    few = 10_000
    cut = profiles.indptr[few], features.indptr[few]
    some = Profiles(
        profiles.vocabulary,
        profiles.indptr[: few + 1],
        profiles.ids[: cut[0]],
        profiles.counts[: cut[0]],
        profiles.owner[:few],
        profiles.persons[:few],
    )
    few_features = FeatureMatrix(
        features.indptr[: few + 1], features.ids[: cut[1]], features.values[: cut[1]], features.n_dimensions
    )
    run_timed(some, few_features, "linkability(p=0.4)", exact_up_to=0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["side"]:
        import json

        print(json.dumps(side(Path(sys.argv[2]))))
    else:
        main(measure)
