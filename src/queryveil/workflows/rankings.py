"""What measures of groups need to search: an index, the rule of the release, and a place for the rankings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.names import ResolvedName, resolve
from queryveil.measures import NEEDS_INDEX, Measure
from queryveil.release.folder import write_folder
from queryveil.release.reader import Release
from queryveil.release.writer import check_place
from queryveil.workflows.requests import MeasureRequest

if TYPE_CHECKING:  # an index is opened only where something is searched
    from queryveil.measures.utility.search import Searched
    from queryveil.search.evaluation.variants import SearchEvaluation

QRELS = "qrels.txt"  # by which a folder of rankings is known


def check_search(request: MeasureRequest, measures: Sequence[ResolvedName]) -> None:
    """Refuse an index without a measure that needs one, and the other way round, before anything is read."""
    searching = [bound for bound in measures if _needs_index(bound)]
    if searching and request.index is None:
        raise InputError(NEEDS_INDEX.format(searching[0]))
    if request.index is not None and not searching:
        raise InputError("--index is for the measure search, of releases of groups; name it by --measure.")
    if request.trec is not None:
        if len(searching) != 1:
            raise InputError("--trec writes the rankings of the measure search; name that once by --measure.")
        check_place(request.trec, QRELS, force=False)


def _needs_index(bound: ResolvedName) -> bool:
    return isinstance(bound.declaration, Measure) and bound.declaration.needs_index


class Rankings:
    """Keeps what a measure ranked until it is written."""

    def __init__(self, request: MeasureRequest, release: Release) -> None:
        self._request, self._release = request, release
        self._kept: list[SearchEvaluation] = []
        self._searched: Searched | None = None

    def context(self, bound: ResolvedName) -> dict[str, "Searched"]:
        """Return what the function of a measure takes besides what all take; the index is opened once."""
        if not _needs_index(bound) or self._request.index is None:
            return {}
        if self._searched is None:
            from queryveil.measures.utility.search import Searched
            from queryveil.search.evaluation.group_profiles import PublicationRule
            from queryveil.search.index import open_index

            rule = PublicationRule.of(resolve("method", self._release.manifest["method"]))
            self._searched = Searched(open_index(self._request.index), rule, self._kept.append)
        return {"searched": self._searched}

    def write(self, rng: np.random.Generator) -> None:
        """Write run and qrels files, where they were asked for; they are made from people's own profiles."""
        if self._request.trec is None or self._searched is None:
            return
        from queryveil.search.evaluation.variants import trec_files

        files = trec_files(self._kept[0], self._searched.index.documents.ids, rng)
        write_folder(self._request.trec, files, force=False, secret=True)
