"""What the log and the runs say about the paper's statements, which printed.toml lists."""

from collections.abc import Mapping, Sequence

from queryveil.experiments.burghardt import printed
from queryveil.experiments.burghardt.grid import LOG_SIZE, OWN_TARGET, KmRun
from queryveil.experiments.burghardt.result_tables import (
    RANDOM,
    Cell,
    Grid,
    best_run,
    differences,
    quality,
    slowest_target,
    targets_beaten,
)
from queryveil.experiments.paper import BY_CONSTRUCTION, Found


def check_inputs(unknown: float, is_nobody_found: bool, agree: int, *, is_generated: bool) -> Found:
    """Check what is said about the log and the market before anything is deleted; a generated log is made to fit."""
    n_cells = len(printed.TABLE_3)
    return {
        "wordnet": (f"{unknown:.0f} %", BY_CONSTRUCTION if is_generated else unknown > 50),
        "table_1": ("no such person found" if is_nobody_found else "somebody found", not is_nobody_found),
        "table_3": (f"as in {agree} of {n_cells} cells", BY_CONSTRUCTION if is_generated else agree == n_cells),
        "table_4": ("smith, in a log that we wrote for it", BY_CONSTRUCTION),
    }


def check_times(complete: Mapping[Cell, KmRun], started: KmRun, runs: Sequence[KmRun]) -> Found:
    """Check what section 5.2 says about times; `complete` is by k and m."""
    share = 100.0 * started.seconds / complete[2, 3].seconds
    larger_k = 100.0 * complete[5, 2].seconds / complete[2, 2].seconds
    target, seconds = slowest_target(runs)
    return {
        "first_pass": (f"whole run: in {larger_k:.0f} % of the time", larger_k < 50),
        "started": (f"{share:.0f} % of the time", share <= 10),
        "slowest": (f"{target}, {seconds:.2f} s on average", target == "fis"),
    }


def check_targets(grid: Grid) -> Found:
    """Check what sections 5.3 and 5.4 say about the targets."""
    behind = {(at, name): differences(cell, name) for at, cell in grid.items() for name in printed.COLUMNS_5}
    generic = max((behind[at, name][1], name) for at in grid for name in printed.GENERIC)
    random, worst = (max(behind[at, LOG_SIZE][which] for at in grid) for which in (0, 1))
    click, at = max((behind[at, "clicks"][1], at) for at in grid)
    last = min((run for run in grid[at].values() if run.target != RANDOM), key=lambda run: run.kept["clicks"])
    better = (sum(run.kept[LOG_SIZE] > cell["users"].kept[LOG_SIZE] for run in cell.values()) for cell in grid.values())
    second = sum(n_better == 1 for n_better in better)
    most = sum(best_run(cell, "distinct terms").target == RANDOM for cell in grid.values())
    beaten, n_cells = len(targets_beaten(grid)), len(grid)
    return {
        "own_target": (f"not in {beaten} of {n_cells * len(OWN_TARGET)} cases", beaten == 0),
        "generic": (f"up to {generic[0]:.1f} points, in {generic[1]}", generic[0] < 4.2),
        "random": (f"random up to {random:.1f} points behind, others up to {worst:.1f}", random > worst),
        "users": (f"at {second} of {n_cells} k and m", second == n_cells),
        "clicks": (f"{last.target} is {click:.1f} points behind", click > 40 and last.target == "bid"),
        "distinct": (f"at {most} of {n_cells} k and m", most == n_cells),
    }


def check_sizes(grid: Grid) -> Found:
    """Check what section 5.5 says about m: by how much the outcome of each target differs, in what it aims at."""
    cost = {
        (k, name): abs(quality(grid[2, k], name) - quality(grid[3, k], name))
        for k in printed.KS
        for name in printed.COLUMNS_5
    }

    def most(ks: Sequence[int], names: Sequence[str]) -> tuple[float, str]:
        points, k, name = max((cost[k, name], k, name) for k in ks for name in names)
        return points, f"up to {points:.1f} points ({name}, k = {k})"

    everything, all_ks = printed.COLUMNS_5, printed.KS
    asked = {
        "m_large_k": (all_ks[1:], everything, 4.0),
        "m_largest_k": (all_ks[-1:], everything, 3.0),
        "m_generic": (all_ks, printed.GENERIC, 1.0),
        "m_specific": (all_ks, everything, 7.0),
    }
    return {claim: (most(ks, names)[1], most(ks, names)[0] <= limit) for claim, (ks, names, limit) in asked.items()}
