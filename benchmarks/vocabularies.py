"""Clusters of vocabularies: how fast, against SciPy's assignment, and how time grows with the number of vocabularies.

`python -m benchmarks.vocabularies` (300 vocabularies of about 150 occurrences against the twin of the tests, whose
distances are SciPy's assignments on the padded problem; some minutes), `python -m benchmarks.vocabularies full`
(besides, 1,000 and 20,000 vocabularies as a log like AOL's has them, all at once and in the method's blocks, each in a
process of its own, and how much is matched of 10,000 in blocks).

Of the twin only the seconds inside SciPy count; what it does besides, and how it gets its distances, costs it nothing.
SciPy is quicker if it may return any of the best matchings; what it then takes is measured on some of the problems.
"""

import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from benchmarks.common import SMALL, Figures, main, make_log, own_process
from queryveil.api import profiles as read_profiles
from queryveil.core.names import resolve
from queryveil.core.progress import silent
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.centres import Cluster
from queryveil.methods.vocabulary import cluster_blocks, cut_by_length
from queryveil.methods.vocabulary.clustering import rule_of
from queryveil.semantics.network import ancestry, wordnet
from tests.twins import vocabulary as twins

K, EPS = 5, 8
METHOD = f"vocabulary(k={K}, eps={EPS}, omega={EPS + 1})"  # as in earlier measurements
FEW, OCCURRENCES = 300, range(130, 171)
SIZES = (1_000, 20_000)
MATCHED = 10_000  # vocabularies of which what is matched in blocks is compared with what is matched at once
RUNS = 3
SAMPLED = 20  # one in so many problems is solved without ties too


def measure(users: int | None) -> Figures:
    """Measure against SciPy; in the full form how time and memory grow, too."""
    with tempfile.TemporaryDirectory() as folder:
        profiles = read_profiles(make_log(Path(folder), SMALL, "aol"))
        place = Path(folder) / "arrays.npz"
        save(place, profiles)
        grown = {} if users is not None else _growth(place)
    occurrences = np.add.reduceat(profiles.counts, profiles.indptr[:-1])
    few = some(profiles, np.flatnonzero(np.isin(occurrences, OCCURRENCES))[:FEW])
    return {**_against_scipy(few), **grown}


def some(profiles: Profiles, histories: NDArray[np.int64]) -> Profiles:
    """Return profiles of some histories, each somebody's, over the terms that they hold."""
    lengths = np.diff(profiles.indptr)[histories]
    pairs = np.concatenate([np.arange(profiles.indptr[h], profiles.indptr[h + 1]) for h in histories])
    terms, ids = np.unique(profiles.ids[pairs], return_inverse=True)
    return Profiles(
        tuple(profiles.vocabulary[term] for term in terms),
        np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
        ids.astype(np.int32),
        profiles.counts[pairs],
        np.arange(len(histories), dtype=np.int32),
        tuple(map(str, histories)),
    )


def _clusters(profiles: Profiles, method: str = f"{METHOD[:-1]}, block=0)") -> tuple[list[Cluster], float]:
    """Return the clusters and the processor's seconds they take, distances between words included."""
    name = resolve("method", method)
    rule = rule_of(name)
    started = time.process_time()
    blocks = cut_by_length(profiles, rule.k, name.integer("block"))
    found = cluster_blocks(profiles, wordnet(), rule, blocks, silent)
    return found, time.process_time() - started


def _against_scipy(few: Profiles) -> Figures:
    _clusters(some(few, np.arange(20)))  # compiles
    runs = [_clusters(few) for _ in range(RUNS)]
    ours = sorted(seconds for _, seconds in runs)[RUNS // 2]
    wanted, calls, scipy, plain = _by_twin(few)
    is_same = [c.members.tolist() for c in runs[0][0]] == [members for members, _ in wanted]
    is_same &= all(
        _bags(c) == sorted(map(tuple, map(sorted, bags))) for c, (_, bags) in zip(runs[0][0], wanted, strict=True)
    )
    what = f"{FEW} vocabularies of {few.counts.sum() / FEW:.0f} occurrences, k={K}, eps={EPS}"
    return {
        f"{what}: the same clusters and bags as by SciPy (bar: True)": is_same,
        f"{what}: ours, s": round(ours, 3),
        f"{what}: {calls:,} padded assignments by SciPy, s": round(scipy, 1),
        f"{what}: times faster than SciPy's assignments by the same tie rule (bar: ≥ 200, ★ ≥ 300)": round(
            scipy / ours
        ),
        f"{what}: times faster than SciPy's assignments without it": round(plain / ours),
    }


def _bags(cluster: Cluster) -> list[tuple[int, ...]]:
    """Return the bags of a cluster as the tie rule sees them: whose term is whose makes no difference."""
    return sorted(tuple(sorted(bag)) for bag in np.repeat(cluster.terms, cluster.units, axis=0).tolist())


def _by_twin(few: Profiles) -> tuple[list[tuple[list[int], list[twins.Bag]]], int, float, float]:
    """Return the twin's clusters, the number of its assignments, and the seconds inside SciPy with and without ties."""
    spent: list[float] = []
    plain: list[float] = []

    def timed(cost: NDArray[np.float64]) -> Any:
        if len(spent) % SAMPLED == 0:
            _, seconds = _solved(np.floor(cost / 2 ** (24 + len(cost).bit_length())))  # ties are the last bits
            plain.append(seconds)
        solved, seconds = _solved(cost)
        spent.append(seconds)
        return solved

    ends = np.cumsum(np.add.reduceat(few.counts, few.indptr[:-1]))
    vocabularies = [part.tolist() for part in np.split(np.repeat(few.ids, few.counts), ends[:-1])]
    twin = twins.Twin(K, EPS, EPS + 1, solve=timed)
    found = twins.clusters(vocabularies, few.owner.tolist(), _away(few), twin)
    return found, len(spent), sum(spent), sum(plain) / len(plain) * len(spent)


def _solved(cost: NDArray[np.float64]) -> tuple[Any, float]:
    started = time.process_time()
    return linear_sum_assignment(cost), time.process_time() - started


def _away(few: Profiles) -> NDArray[np.float16]:
    """Return the distances between all terms; a half suffices for whole numbers as small as these."""
    found, n_terms = ancestry(wordnet(), few.vocabulary, limit=EPS), len(few.vocabulary)
    each = np.arange(n_terms, dtype=np.int32)
    away = np.array([found.distances(np.full(n_terms, i, np.int32), each).astype(np.float16) for i in each])
    np.fill_diagonal(away, 0)
    return away


def _growth(place: Path) -> Figures:
    """Cluster vocabularies of a log of several sizes, all at once and in blocks, each in a process of its own."""
    figures: Figures = {}
    ways = {"at once": f"{METHOD[:-1]}, block=0)", "in blocks": METHOD}
    matched: list[float] = []
    for way, method in ways.items():
        done = [own_process("benchmarks.vocabularies", "side", str(place), str(n), method) for n in (*SIZES, MATCHED)]
        for n, each in zip(SIZES, done, strict=False):
            figures[f"{n:,} vocabularies {way}, s"] = round(each["seconds"], 2)
            figures[f"{n:,} vocabularies {way}, peak of the process, MB (bar: ≤ 2,000)"] = round(each["peak_mb"])
        exponent = math.log(done[1]["seconds"] / done[0]["seconds"]) / math.log(SIZES[1] / SIZES[0])
        figures[f"{way}: time grows with exponent (bar: ≤ 1.45, ★ ≤ 1.3)"] = round(exponent, 3)
        matched.append(done[2]["matched"])
    what = f"{MATCHED:,} vocabularies in blocks: matched occurrences, of those at once (bar: ≥ 0.97, ★ ≥ 0.99)"
    return {**figures, what: round(matched[1] / matched[0], 4)}


def save(place: Path, profiles: Profiles) -> None:
    """Write what a process of its own needs."""
    terms = np.array(profiles.vocabulary)
    np.savez(place, indptr=profiles.indptr, ids=profiles.ids, counts=profiles.counts, terms=terms)


def side(place: Path, n: int, method: str) -> dict[str, float]:
    """Cluster the first vocabularies of the file, once the kernels are compiled; count what is matched."""
    arrays = np.load(place)
    owner = np.arange(len(arrays["indptr"]) - 1, dtype=np.int32)
    terms = tuple(arrays["terms"].tolist())
    whole = Profiles(terms, arrays["indptr"], arrays["ids"], arrays["counts"], owner, ("",) * len(owner))
    _clusters(some(whole, np.arange(20)))
    found, seconds = _clusters(some(whole, np.arange(n)), method)
    matched = sum(int(cluster.units.sum()) * len(cluster.members) for cluster in found)
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1e3
    return {"seconds": seconds, "peak_mb": peak, "matched": matched}


if __name__ == "__main__":
    if sys.argv[1:2] == ["side"]:
        import json

        print(json.dumps(side(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
    else:
        main(measure)
