"""Groups on Spark compared to those of one machine: how similar people are to their groups, and whether claims hold.

`python -m benchmarks.spark_groups`: 20,000 people of the demo log on `local[2]`, in blocks of 20,000 (the usual size,
one block here) and of 2,500 (so that people are cut by k-means into blocks, as at scale).
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.common import SEED, SMALL, Figures, main, make_log
from benchmarks.groups import run_timed
from benchmarks.likeness import in_features, in_terms
from queryveil.api import profiles as read_profiles
from queryveil.core.names import ResolvedName, resolve
from queryveil.engines import LogSource
from queryveil.engines.spark.scratch import ScratchTables
from queryveil.engines.spark.session import SparkCluster, open_session
from queryveil.histories.distributed import clean_histories
from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.methods.distributed.linkability import group_profiles
from queryveil.methods.distributed.outcomes import GroupedOnCluster
from queryveil.methods.linkability.principles import without_rare
from queryveil.semantics import SemanticOptions
from queryveil.semantics.augmentation import augment
from queryveil.semantics.network import wordnet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BLOCKS = (20_000, 2_500)


def measure(users: int | None) -> Figures:
    """Group the same people on one machine and on Spark, and compare."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder), SMALL, "demo")
        profiles = read_profiles(log)
        with open_session(SparkCluster("local[2]")) as spark:
            cleaned = clean_histories(spark, LogSource(uris=(str(log),)))
            for p in (0.4, 0.1):
                name = f"linkability(p={p})"
                method = resolve("method", name)
                features = augment(without_rare(profiles, method), wordnet(), a=1)
                here, _ = run_timed(profiles, features, name, exact_up_to=0)
                likeness = np.array([in_features(features, here), in_terms(profiles, here)])
                for n in BLOCKS:
                    work = ScratchTables(spark, f"file://{folder}/work-{p}-{n}")
                    there = _as_grouping(profiles, _grouped(cleaned.frame, method, work, n))
                    alike = np.array([in_features(features, there), in_terms(profiles, there)])
                    what = f"demo, {SMALL:,}, p={p}, blocks of {n:,}: of one machine's"
                    for label, share in zip(("features", "what is published"), 100 * alike / likeness, strict=True):
                        figures[f"{what} likeness to {label}, % (bar: ≥ 97)"] = round(float(share), 2)
                    figures[f"{what} groups, illegal ones (bar: 0)"] = (
                        f"{there.n_groups:,}, {_illegal(profiles, there, method)}"
                    )
    return figures


def _grouped(histories: "DataFrame", method: ResolvedName, work: ScratchTables, n: int) -> GroupedOnCluster:
    return group_profiles(histories, method, work=work, meaning=SemanticOptions(), seed=SEED, people_per_block=n)


def _as_grouping(profiles: Profiles, made: GroupedOnCluster) -> Grouping:
    """Return the groups of a cluster over the people and terms of profiles."""
    person = {name: number for number, name in enumerate(profiles.persons)}
    entry = {term: number for number, term in enumerate(profiles.vocabulary)}
    groups = sorted((row["block"], row["group"], row["entries"], row["weights"]) for row in made.frame.collect())
    number = {group[:2]: place for place, group in enumerate(groups)}
    group = np.full(profiles.n_histories, -1, np.int32)
    for row in made.group_members.collect():
        group[person[row["person"]]] = number[row["block"], row["group"]]
    indptr, ids, weights = [0], [], []
    for _, _, terms, values in groups:
        pairs = sorted(zip((entry[term] for term in terms), values, strict=True))
        ids += [pair[0] for pair in pairs]
        weights += [pair[1] for pair in pairs]
        indptr.append(len(ids))
    return Grouping(group, np.array(indptr), np.array(ids, np.int32), np.array(weights))


def _illegal(profiles: Profiles, made: Grouping, method: ResolvedName) -> int:
    """Count groups that break the mean principle, or are too small."""
    p, lengths = method.real("p"), np.diff(without_rare(profiles, method).indptr)
    members = np.bincount(made.group[made.group >= 0], minlength=made.n_groups)
    pairs = np.bincount(made.group[made.group >= 0], lengths[made.group >= 0], minlength=made.n_groups)
    is_legal = (np.diff(made.indptr) >= pairs / members / p * (1 - 1e-9)) & (members >= 1 / p * (1 - 1e-9))
    return int(np.count_nonzero(~is_legal))


if __name__ == "__main__":
    main(measure)
