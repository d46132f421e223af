"""Grouping many rows: cut into blocks of similar ones, each grouped by itself.

The greedy's time grows with the square of the rows, so rows are cut by k-means, repeatedly, until blocks have a few
thousand. Members change places between the groups of a block where that makes them more similar, and the members of the
loosest groups are regrouped. Blocks without a legal group are combined and cut into larger blocks; rows that then fit
nowhere join the existing groups.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress, silent
from queryveil.core.rows import Int32Array, IntArray
from queryveil.kernels.grouping.exchange import exchange_members
from queryveil.kernels.grouping.greedy import FREE, LEFT_OVER, FeatureRows, collect_members, empty_tally
from queryveil.kernels.grouping.kmeans import nearest_centres, number_dimensions, sum_parts
from queryveil.methods.linkability.greedy import (
    GroupingTask,
    group_rows,
    part_of,
    place_leftovers,
    take_out_dissimilar,
    without_gaps,
    without_illegal,
)

BLOCK = 6_000  # rows, about
EXACT_UP_TO = 2 * BLOCK
GROWTH = 4  # factor by which blocks grow if some were too small for a legal group
MAX_PARTS = 16  # of one cut
SAMPLE = 1024  # rows per part from which the centres are computed
SMALLEST = 4  # a part is at least a block divided by this
_ROUNDS = 8
_LOOSEST = 0.5  # share of the rows, those of the loosest groups, that are regrouped
_PASSES = 1  # in which members change places between the groups of a block
_WORKERS = 2
_STAGE = "grouping"


def group_all(
    task: GroupingTask, rows: IntArray, rng: np.random.Generator, exact_up_to: int, progress: Progress
) -> tuple[Int32Array, list[int]]:
    """Return the group of every row and the sizes of the blocks.

    The group is −1 if the row is not among the given ones or fits nowhere; all groups are legal.
    """
    group = np.full(task.n_rows, FREE, np.int32)
    group[rows] = LEFT_OVER
    if len(rows) <= exact_up_to:
        if len(rows):
            _group_blocks(task, [rows], rng, group, progress)
        return _finished(task, group), [len(rows)]
    n_passes = _PASSES if task.is_open and task.prefers_similar else 0
    pending, block, sizes = rows, BLOCK, list[int]()
    while len(pending):
        blocks = cut_into_blocks(task, pending, block, rng, progress)
        sizes += map(len, blocks)
        pending = _group_blocks(task, blocks, rng, group, progress, n_passes)
        if len(blocks) == 1:
            break
        block *= GROWTH
    if 0 < len(pending) < len(rows) and task.is_open:
        place_leftovers(task, group, lambda done: progress(_STAGE, done, task.n_rows))
    if n_passes:
        group = _regroup_loosest(task, without_gaps(group), rng, progress)
    return _finished(task, group), sizes


def _finished(task: GroupingTask, group: Int32Array) -> Int32Array:
    """Return the groups numbered without gaps; if there is a least similarity, everybody has it to the final group."""
    if task.is_open:
        return without_gaps(group)
    return without_illegal(task, take_out_dissimilar(task, group))


def _regroup_loosest(task: GroupingTask, group: Int32Array, rng: np.random.Generator, progress: Progress) -> Int32Array:
    """Regroup the members of the loosest groups, so that leftovers of one block meet similar ones of others."""
    n_groups = int(group.max(initial=-1)) + 1
    members = np.bincount(group[group >= 0], minlength=n_groups)
    # the mean cosine of members of unit length with their sum is the length of the sum over their number
    similarity = np.sqrt(collect_members(task.rows, group, n_groups).length) / members
    order = np.argsort(similarity, kind="stable")
    is_loose = np.zeros(n_groups + 1, np.bool_)  # the last one is for rows without a group
    is_loose[order[np.cumsum(members[order]) <= _LOOSEST * task.n_rows]] = True
    rows = np.flatnonzero(is_loose[group])
    if not len(rows):
        return group
    regrouped = np.where(is_loose[group], LEFT_OVER, group).astype(np.int32)
    blocks = cut_into_blocks(task, rows, BLOCK, rng, progress)
    failed = _group_blocks(task, blocks, rng, regrouped, progress, _PASSES)
    return group if len(failed) else regrouped


def _group_blocks(
    task: GroupingTask,
    blocks: Sequence[IntArray],
    rng: np.random.Generator,
    group: Int32Array,
    progress: Progress,
    n_passes: int = 0,
) -> IntArray:
    """Group each block, set the groups, and return the rows of blocks that have no legal group."""
    seeds = [int(rng.integers(len(rows))) for rows in blocks]
    n_groups, n_done = int(group.max(initial=-1)) + 1, task.n_rows - sum(map(len, blocks))
    failed = [np.empty(0, np.int64)]

    def group_block(number: int) -> Int32Array:
        # one of several blocks takes less than a second, and progress is reported by one thread only
        report = silent if len(blocks) > 1 else progress
        part = part_of(task, blocks[number])
        found = group_rows(part, seeds[number], lambda done: report(_STAGE, n_done + done, task.n_rows))
        for _ in range(n_passes):
            exchange_members(part.rows, part.rule, empty_tally(part.n_entries), found, int(found.max(initial=-1)) + 1)
        return found

    for rows, found in zip(blocks, _map_in_threads(group_block, len(blocks)), strict=True):
        group[rows] = np.where(found >= 0, found + n_groups, LEFT_OVER)
        n_found = int(found.max(initial=-1)) + 1
        if not n_found:
            failed.append(rows)
        n_groups += n_found
        n_done += len(rows)
        progress(_STAGE, n_done, task.n_rows)
    return np.sort(np.concatenate(failed))


def _map_in_threads(work: Callable[[int], Int32Array], n_blocks: int) -> Iterator[Int32Array]:
    """Yield the result for each block, in order, several at a time."""
    if n_blocks == 1:
        yield work(0)
        return
    pool = ThreadPoolExecutor(_WORKERS)
    try:
        yield from pool.map(work, range(n_blocks))
    finally:
        pool.shutdown(cancel_futures=True)


def cut_into_blocks(
    task: GroupingTask, rows: IntArray, block: int, rng: np.random.Generator, progress: Progress
) -> list[IntArray]:
    """Cut rows into blocks of about the given size, of at most twice as many."""
    if not task.prefers_similar:
        return [np.sort(part) for part in np.array_split(rng.permutation(rows), -(-len(rows) // block))]
    done: list[IntArray] = []
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        if len(part) > 2 * block:
            waiting.extend(_split(task, part, block, rng))
        else:
            done.append(part)
        progress("cutting into blocks", sum(map(len, done)), len(rows))
    return sorted(done, key=len, reverse=True)  # so that all workers end at about the same time


def _split(task: GroupingTask, rows: IntArray, block: int, rng: np.random.Generator) -> list[IntArray]:
    """Cut rows into parts of similar ones, none of them small, or into equal parts if nothing tells rows apart."""
    n_parts = min(MAX_PARTS, len(rows) // block)
    sample = np.sort(rng.choice(rows, min(len(rows), n_parts * SAMPLE), replace=False))
    number, centres = find_centres(task.rows, sample, n_parts, rng)
    part: NDArray[Any] = assign_to_centres(task.rows, rows, number, centres)
    sizes, least = dict(enumerate(np.bincount(part, minlength=n_parts).tolist())), block // SMALLEST
    target = merge_small(sizes, least)
    part = np.array([target.get(each, each) for each in range(n_parts)])[part]
    kept = sorted(sizes.keys() - target.keys(), key=lambda each: (sizes[each] < least, each))
    return [rows[part == each] for each in kept] if len(kept) > 1 else np.array_split(rows, n_parts)


def find_centres(
    rows: FeatureRows, sample: IntArray, n_parts: int, rng: np.random.Generator
) -> tuple[Int32Array, NDArray[np.float32]]:
    """Return the position of each dimension in the centres, −1 for none, and the centres of parts of similar rows."""
    number, n_known = number_dimensions(rows, sample)
    centres = np.empty((n_known, n_parts), np.float32)
    first = rng.choice(sample, n_parts, replace=False)
    sum_parts(rows, first, number, np.arange(n_parts, dtype=np.int32), centres)
    for _ in range(_ROUNDS):
        sum_parts(rows, sample, number, assign_to_centres(rows, sample, number, centres), centres)
    return number, centres


def assign_to_centres(
    rows: FeatureRows, which: IntArray, number: Int32Array, centres: NDArray[np.float32]
) -> Int32Array:
    """Return the nearest centre of each row."""
    part = np.empty(len(which), np.int32)
    shares = zip(np.array_split(which, _WORKERS), np.array_split(part, _WORKERS), strict=True)  # views of both
    with ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(lambda share: nearest_centres(rows, share[0], number, centres, share[1]), shares))
    return part


def merge_small(sizes: Mapping[int, int], least: int) -> dict[int, int]:
    """Return the part into which each small part is merged: the first small one, or the last large one."""
    small = [part for part, n in sorted(sizes.items()) if n < least]
    large = [part for part, n in sorted(sizes.items()) if n >= least]
    if not small:
        return {}
    target = small[0] if sum(sizes[part] for part in small) >= least or not large else large[-1]
    return {part: target for part in small if part != target}
