"""A user's taxonomy as a semantic network: a file of `child,parent` lines with a single root.

A name may have several parents; a line without a parent only names its child. A file has either a header with the
columns `child` and `parent`, in any order and among others, or just two columns.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np

from queryveil.core.display import counted
from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.core.rows import indptr_of_sorted
from queryveil.histories.profiles import Profiles
from queryveil.lexicons.wordnet import NOUN
from queryveil.semantics.lemmas import LemmaIndex, fold_lemma
from queryveil.semantics.network import Network

_COLUMNS = ("child", "parent")
_SHOWN_ROOTS = 3  # in an error message
_LEAST_KNOWN = 0.01  # share of a log's occurrences that a taxonomy must know, else it is the wrong one


@dataclass
class _Edges:
    """The edges that were read: names by number, and the line of every edge from a child to its parent."""

    numbers: dict[str, int] = field(default_factory=dict)
    lines: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, child: str, parent: str, line: int) -> None:
        numbers = [self.numbers.setdefault(name, len(self.numbers)) for name in (child, parent) if name]
        if len(numbers) == len(_COLUMNS):
            self.lines.setdefault((numbers[0], numbers[1]), line)


def check_coverage(taxonomy: Path | None, n_known: int, n_terms: int, known: int, total: int) -> dict[str, int]:
    """Return what a network knows of a log's terms and occurrences; refuse a taxonomy that is not about this log."""
    if taxonomy is not None and known < _LEAST_KNOWN * total:
        raise InputError(
            f"{taxonomy} knows {n_known:,} of the {n_terms:,} terms of the log, {known / max(1, total):.1%} of their "
            f"occurrences; at least {_LEAST_KNOWN:.0%} are needed, so give a taxonomy of the log's own terms."
        )
    return {
        "terms that the network does not know": n_terms - n_known,
        "occurrences of these": total - known,
        "occurrences of terms that it knows": known,
    }


def read_taxonomy(path: Path) -> Network:
    """Read a taxonomy; refuse a file that is empty, has a cycle, several roots or lines that are not edges."""
    edges = _Edges()
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            for child, parent, line in _read_rows(path, stream):
                edges.add(child, parent, line)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check --taxonomy.") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is not a UTF-8 CSV file; check --taxonomy.") from None
    if not edges.lines:
        raise InputError(f"{path} has no line with a child and its parent; give a taxonomy as child,parent lines.")
    if cycle := _find_cycle(edges):
        names = list(edges.numbers)
        line = max(edges.lines[step] for step in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        shown = " → ".join(names[node] for node in (*cycle, cycle[0]))
        raise InputError(f"{path}, line {line}: it closes a cycle ({shown}); a taxonomy has none, take the line out.")
    _refuse_several_roots(path, edges)
    return _network(edges)


def open_taxonomy(profiles: Profiles, taxonomy: Path | None = None, progress: Progress = silent) -> Network:
    """Read a user's taxonomy, which must be given."""
    if taxonomy is None:
        raise InputError("the network taxonomy needs a file of child,parent lines; give it by --taxonomy.")
    return read_taxonomy(taxonomy)


def taxonomy_of(pairs: Iterable[tuple[str, str]]) -> Network:
    """Return the taxonomy of (child, parent) pairs, which are not checked."""
    edges = _Edges()
    for line, (child, parent) in enumerate(pairs, 1):
        edges.add(fold_lemma(child), fold_lemma(parent), line)
    return _network(edges)


def _read_rows(path: Path, stream: TextIO) -> Iterator[tuple[str, str, int]]:
    """Yield child, parent and line number; names are folded like lemmas."""
    first = stream.readline()
    rows = csv.reader(chain((first,), stream), delimiter="\t" if "\t" in first else ",", strict=True)
    positions, width = (0, 1), len(_COLUMNS)
    for row in filter(None, rows):
        if rows.line_num == 1 and (header := _find_columns(path, row)):
            positions, width = header, len(row)
            continue
        where = f"{path}, line {rows.line_num}"
        if len(row) != width:
            raise InputError(f"{where}: it has {counted(len(row), 'cells')}, not {width}; a line is child,parent.")
        child, parent = (fold_lemma(row[position]) for position in positions)
        if not child:
            raise InputError(f"{where}: the child has no name; name it or take the line out.")
        yield child, parent, rows.line_num


def _find_columns(path: Path, row: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the columns if a row is a header, otherwise None."""
    names = [name.strip().lower() for name in row]
    if not set(_COLUMNS) & set(names):
        return None
    for name in _COLUMNS:
        if names.count(name) != 1:
            fault = "stands there twice" if name in names else "is missing"
            raise InputError(f"{path}, line 1: the column {name} {fault}; a taxonomy has the columns child and parent.")
    return names.index("child"), names.index("parent")


def _find_cycle(edges: _Edges) -> list[int]:
    """Return the nodes of a cycle in order, or an empty list; a depth-first search that follows every edge once."""
    unvisited: dict[int, list[int]] = {}  # child → parents
    for child, parent in edges.lines:
        unvisited.setdefault(child, []).append(parent)
    for start in tuple(unvisited):
        path, position = [start], {start: 0}
        while path:
            parents = unvisited.get(path[-1], [])
            if not parents:
                position.pop(path.pop())
                continue
            parent = parents.pop()
            if parent in position:
                return path[position[parent] :]
            position[parent] = len(path)
            path.append(parent)
    return []


def _refuse_several_roots(path: Path, edges: _Edges) -> None:
    children = {child for child, _ in edges.lines}
    roots = [name for name, number in edges.numbers.items() if number not in children]
    if len(roots) > 1:
        more = f" and {len(roots) - _SHOWN_ROOTS:,} more" if len(roots) > _SHOWN_ROOTS else ""
        raise InputError(
            f"{path} has {len(roots):,} roots ({', '.join(roots[:_SHOWN_ROOTS])}{more}); "
            "a taxonomy has one, put a common parent above them."
        )


def _network(edges: _Edges) -> Network:
    """Return the network of names and edges; every name is a noun with one meaning."""
    n_nodes = len(edges.numbers)
    pairs = np.array(sorted(edges.lines, key=lambda pair: (pair[0], edges.lines[pair])), np.int32)
    each, nodes = np.arange(n_nodes + 1), np.arange(n_nodes, dtype=np.int32)
    return Network(
        name="taxonomy",
        words=tuple(edges.numbers),
        lemmas=LemmaIndex(edges.numbers, np.full(n_nodes, 1 << NOUN, np.int8)),
        sense_indptr=each,
        senses=nodes,
        word_indptr=each,
        node_words=nodes,
        edge_indptr=indptr_of_sorted(pairs[:, 0], n_nodes),
        edges=pairs[:, 1].copy(),
        parts=np.full(n_nodes, NOUN, np.int32),
    )
