"""Run the benchmarks of ordinary length (`make bench`), or with `full` the long ones (`make bench-full`)."""

import sys

from benchmarks import (
    aol,
    attacks,
    command,
    describe,
    groups,
    kept,
    kernels,
    long_histories,
    optimum,
    pairs,
    patterns,
    personalised,
    reading,
    search,
    serving,
    sizes,
    spark,
    spark_groups,
    spi,
    startup,
    targets,
    verifier,
    vocabularies,
)
from benchmarks.common import SMALL, Figures

LARGE = (
    pairs,
    command,
    describe,
    sizes,
    kept,
    targets,
    groups,
    vocabularies,
    spark,
    spark_groups,
)  # of logs that have two sizes


def show(module: object, figures: Figures) -> None:
    """Print what a module measured under the first line of its description."""
    name = getattr(module, "__name__", "").removeprefix("benchmarks.")
    print(f"\n{name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
    for what, value in figures.items():
        print(f"  {what}: {value}", flush=True)


if sys.argv[1:] == ["full"]:
    for large in (*LARGE, aol):
        show(large, large.measure(None))
    show(optimum, optimum.measure())
else:
    ordinary = (
        kernels,
        verifier,
        reading,
        startup,
        search,
        serving,
        personalised,
        long_histories,
        patterns,
        attacks,
        spi,
    )
    for module in ordinary:
        show(module, module.measure())
    for large in LARGE:
        show(large, large.measure(SMALL))
