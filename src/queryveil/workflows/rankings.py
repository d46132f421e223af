"""What measures of groups need to search: an index, the rule of the release, and a place for the rankings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName, resolve
from queryveil.measures import NEEDS_INDEX, Measure
from queryveil.release.folder import write_folder
from queryveil.release.reader import Release
from queryveil.release.writer import check_place

if TYPE_CHECKING:  # an index is opened only where something is searched
    from queryveil.measures.utility.search import Searched
    from queryveil.search.evaluation.variants import Evaluation

QRELS = "qrels.txt"  # by which a folder of rankings is known


@dataclass(frozen=True)
class SearchPlaces:
    """Where an index is, and where rankings are to be written."""

    index: Path | None = None
    trec: Path | None = None

    def check(self, measures: Sequence[ResolvedName]) -> None:
        """Refuse places without a measure that needs them, and the other way round, before anything is read."""
        searching = [bound for bound in measures if _needs_index(bound)]
        if searching and self.index is None:
            raise InputError(NEEDS_INDEX.format(searching[0]))
        if self.index is not None and not searching:
            raise InputError("--index is for the measure search, of releases of groups; name it by --measure.")
        if self.trec is not None:
            if len(searching) != 1:
                raise InputError("--trec writes the rankings of the measure search; name that once by --measure.")
            check_place(self.trec, QRELS, force=False)


def _needs_index(bound: ResolvedName) -> bool:
    return isinstance(bound.declaration, Measure) and bound.declaration.needs_index


class Rankings:
    """Keeps what a measure ranked until it is written."""

    def __init__(self, places: SearchPlaces, release: Release) -> None:
        self._places, self._release = places, release
        self._kept: list[Evaluation] = []
        self._searched: Searched | None = None

    def context(self, bound: ResolvedName) -> dict[str, "Searched"]:
        """Return what the function of a measure takes besides what all take; the index is opened once."""
        if not _needs_index(bound) or self._places.index is None:
            return {}
        if self._searched is None:
            from queryveil.measures.utility.search import Searched
            from queryveil.search.evaluation.publication import Rule
            from queryveil.search.index import open_index

            rule = Rule.of(resolve("method", self._release.manifest["method"]))
            self._searched = Searched(open_index(self._places.index), rule, self._kept.append)
        return {"searched": self._searched}

    def write(self, rng: np.random.Generator) -> None:
        """Write run and qrels files, where they were asked for; they are made from people's own profiles."""
        if self._places.trec is None or self._searched is None:
            return
        from queryveil.search.evaluation.trec import trec_files

        files = trec_files(self._kept[0], self._searched.index.documents.ids, rng)
        write_folder(self._places.trec, files, force=False, secret=True)
