"""Run the benchmarks of ordinary length (`make bench`), or with `full` the long ones (`make bench-full`).

`check` compares a new run with the repository's and exits with 1 if a ratio became worse; `table` writes figures.md.
"""

import sys
from functools import partial

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
    results,
    search,
    sensitive_queries,
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
from benchmarks.common import SMALL

ORDINARY = (
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
    sensitive_queries,
)
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
OF_ORDINARY_LENGTH = [
    *((module, module.measure) for module in ORDINARY),
    *((module, partial(module.measure, SMALL)) for module in LARGE),
]


def main(arguments: list[str]) -> int:
    """Run what is asked for and return the exit code."""
    action, *names = arguments or ["write"]
    chosen = [run for run in OF_ORDINARY_LENGTH if not names or results.name_of(run[0]) in names]
    if action == "table":
        results.write_page()
    elif action == "full":
        runs = [(module, partial(module.measure, None)) for module in (*LARGE, aol)]
        results.measure_all([*runs, (optimum, optimum.measure)])
    elif action == "write":
        results.save(results.ORDINARY, results.measure_all(chosen))
        results.write_page()
    else:
        before = results.load(results.ORDINARY)["figures"]
        wanted = {name: figures for name, figures in before.items() if not names or name in names}
        if not wanted:
            print(f"{results.ORDINARY} has no figures to compare with; run make bench on an idle machine first.")
            return 1
        worse = results.regressions(wanted, results.measure_all(chosen)["figures"])
        print("\n".join(["", *(worse or ["no ratio became worse by more than 15 %"])]))
        return 1 if worse else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
