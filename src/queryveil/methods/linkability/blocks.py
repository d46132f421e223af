"""Grouping many rows: cut into blocks of alike ones, each grouped by itself.

The greedy's time grows with the square of the rows, so rows are cut by k-means, again and again, until blocks have a
few thousand; the members of the loosest groups are then grouped anew. A block without a legal group is put together
with others like it, in larger blocks; what then fits nowhere joins the groups there are.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress, silent
from queryveil.kernels.grouping.blocks import nearest_centres, number_dimensions, sum_parts
from queryveil.kernels.grouping.greedy import CLOSENESS, FREE, LEFT_OVER, Rows, make_tally
from queryveil.kernels.grouping.leftovers import gather
from queryveil.methods.linkability.greedy import GroupingTask, group_rows, numbered, part_of, place_left

BLOCK = 3_000  # rows, about
EXACT_UP_TO = 2 * BLOCK
GROWTH = 4  # of blocks, where some were too small for a legal group
PARTS = 16  # of one cut, at most
SAMPLE = 1024  # rows for each part, of which the centres are found
SMALLEST = 4  # a part is at least a block divided by this
_ROUNDS = 8
_LOOSEST = 0.25  # share of the rows, those of the loosest groups, that are grouped anew
_WORKERS = 2
_STAGE = "grouping"

Indices = NDArray[np.int64]


def group_all(
    task: GroupingTask, rows: Indices, rng: np.random.Generator, exact_up_to: int, progress: Progress
) -> NDArray[np.int32]:
    """Return the group of every row, −1 where it is not among the given ones or fits nowhere; all groups are legal."""
    group = np.full(task.n_rows, FREE, np.int32)
    group[rows] = LEFT_OVER
    if not len(rows):
        return group
    if len(rows) <= exact_up_to:
        _group_blocks(task, [rows], rng, group, progress)
        return numbered(group)
    pending, block = rows, BLOCK
    while len(pending):
        blocks = cut(task, pending, block, rng, progress)
        pending = _group_blocks(task, blocks, rng, group, progress)
        if len(blocks) == 1:
            break
        block *= GROWTH
    if 0 < len(pending) < len(rows) and task.is_open:
        place_left(task, group, make_tally(task.n_entries), lambda done: progress(_STAGE, done, task.n_rows))
    if task.is_open and not is_any_block_as_good(task):
        group = _with_loosest_anew(task, numbered(group), rng, progress)
    return numbered(group)


def is_any_block_as_good(task: GroupingTask) -> bool:
    """Say whether blocks of alike rows are no better than random ones.

    By closeness groups must be like all rows; where published entries have a highest share, alike rows share too many.
    """
    return task.rule.kind == CLOSENESS or task.weighed is not None


def _with_loosest_anew(
    task: GroupingTask, group: NDArray[np.int32], rng: np.random.Generator, progress: Progress
) -> NDArray[np.int32]:
    """Group the members of the loosest groups anew: what was left in one block finds its like from others."""
    n_groups = int(group.max(initial=-1)) + 1
    members = np.bincount(group[group >= 0], minlength=n_groups)
    # the mean cosine of members of unit length with their sum is the length of the sum over their number
    likeness = np.sqrt(gather(task.rows, group, n_groups).length) / members
    order = np.argsort(likeness, kind="stable")
    is_loose = np.zeros(n_groups + 1, np.bool_)  # the last one is for rows without a group
    is_loose[order[np.cumsum(members[order]) <= _LOOSEST * task.n_rows]] = True
    rows = np.flatnonzero(is_loose[group])
    anew = np.where(is_loose[group], LEFT_OVER, group).astype(np.int32)
    failed = _group_blocks(task, cut(task, rows, BLOCK, rng, progress), rng, anew, progress) if len(rows) else rows
    return group if len(failed) else anew


def _group_blocks(
    task: GroupingTask,
    blocks: Sequence[Indices],
    rng: np.random.Generator,
    group: NDArray[np.int32],
    progress: Progress,
) -> Indices:
    """Group each block, set the groups, and return the rows of blocks that have no legal group."""
    seeds = [int(rng.integers(len(rows))) for rows in blocks]
    n_groups, n_done = int(group.max(initial=-1)) + 1, task.n_rows - sum(map(len, blocks))
    failed: list[Indices] = []

    def work(number: int) -> NDArray[np.int32]:
        # a block among others is done within a second, and reports come from one thread only
        report = silent if len(blocks) > 1 else progress
        part = part_of(task, blocks[number])
        return group_rows(part, seeds[number], lambda done: report(_STAGE, n_done + done, task.n_rows))

    for rows, found in zip(blocks, _in_turn(work, len(blocks)), strict=True):
        group[rows] = np.where(found >= 0, found + n_groups, LEFT_OVER)
        n_found = int(found.max(initial=-1)) + 1
        if not n_found:
            failed.append(rows)
        n_groups += n_found
        n_done += len(rows)
        progress(_STAGE, n_done, task.n_rows)
    return np.sort(np.concatenate(failed)) if failed else np.empty(0, np.int64)


def _in_turn(work: Callable[[int], NDArray[np.int32]], n_blocks: int) -> Iterator[NDArray[np.int32]]:
    """Yield what the work makes of each block, in order, several at a time."""
    if n_blocks == 1:
        yield work(0)
        return
    pool = ThreadPoolExecutor(_WORKERS)
    try:
        yield from pool.map(work, range(n_blocks))
    finally:
        pool.shutdown(cancel_futures=True)


def cut(task: GroupingTask, rows: Indices, block: int, rng: np.random.Generator, progress: Progress) -> list[Indices]:
    """Cut rows into blocks of about the given size, of at most twice as many."""
    if is_any_block_as_good(task):
        return [np.sort(part) for part in np.array_split(rng.permutation(rows), -(-len(rows) // block))]
    done: list[Indices] = []
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        if len(part) > 2 * block:
            waiting.extend(_split(task, part, block, rng))
        else:
            done.append(part)
        progress("cutting into blocks", sum(map(len, done)), len(rows))
    return sorted(done, key=len, reverse=True)  # so that all workers end at about the same time


def _split(task: GroupingTask, rows: Indices, block: int, rng: np.random.Generator) -> list[Indices]:
    """Cut rows into parts of alike ones, none of them small."""
    n_parts = min(PARTS, len(rows) // block)
    sample = np.sort(rng.choice(rows, min(len(rows), n_parts * SAMPLE), replace=False))
    number, centres = find_centres(task.rows, sample, n_parts, rng)
    part = nearest(task.rows, rows, number, centres)
    parts = _without_small([rows[part == each] for each in range(n_parts)], block // SMALLEST)
    return parts if len(parts) > 1 else np.array_split(rows, n_parts)  # nothing tells them apart


def find_centres(
    rows: Rows, sample: Indices, n_parts: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the centres of so many parts of alike rows, and where each dimension stands in them, −1: nowhere."""
    number, n_known = number_dimensions(rows, sample)
    centres = np.empty((n_known, n_parts), np.float32)
    first = rng.choice(sample, n_parts, replace=False)
    sum_parts(rows, first, number, np.arange(n_parts, dtype=np.int32), centres)
    for _ in range(_ROUNDS):
        sum_parts(rows, sample, number, nearest(rows, sample, number, centres), centres)
    return number, centres


def nearest(rows: Rows, which: Indices, number: NDArray[np.int32], centres: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the centre that each row is nearest to."""
    part = np.empty(len(which), np.int32)
    shares = zip(np.array_split(which, _WORKERS), np.array_split(part, _WORKERS), strict=True)  # views of both
    with ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(lambda share: nearest_centres(rows, share[0], number, centres, share[1]), shares))
    return part


def _without_small(parts: Sequence[Indices], least: int) -> list[Indices]:
    """Put parts that are too small together, until they are not, or to the last one that is not."""
    small = [part for part in parts if len(part) < least]
    large = [part for part in parts if len(part) >= least]
    together = np.sort(np.concatenate(small)) if small else np.empty(0, np.int64)
    if len(together) >= least or not large:
        return [*large, together]
    return [*large[:-1], np.sort(np.concatenate((large[-1], together)))]
