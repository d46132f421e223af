"""What the measure `search` needs: an index, the publication rule of the release, and a folder for the rankings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName, resolve
from queryveil.measures import NEEDS_INDEX, measure_of
from queryveil.release.folder import write_folder
from queryveil.release.reader import Release
from queryveil.release.writer import check_place
from queryveil.workflows.requests import MeasureRequest

if TYPE_CHECKING:  # an index is opened only where something is searched
    from queryveil.search.evaluation.variants import SearchEvaluation

QRELS = "qrels.txt"  # by which a folder of rankings is recognised


class SearchEvidence:
    """Lets the measure `search` open an index once, and keeps what it ranked until that is written."""

    def __init__(self, request: MeasureRequest, release: Release, evidence: Evidence) -> None:
        """Add the index to what measures may look at, where one was given."""
        self._trec, self._evidence = request.trec, evidence
        self._rankings: list[SearchEvaluation] = []
        if request.index is None:
            return
        from queryveil.measures.utility.search import Searched
        from queryveil.search.evaluation.group_profiles import PublicationRule
        from queryveil.search.index import open_index

        index = request.index
        rule = PublicationRule.of(resolve("method", release.manifest.method))
        evidence.add(Searched, lambda: Searched(open_index(index), rule, self._rankings.append))

    @staticmethod
    def check(request: MeasureRequest, measures: Sequence[ResolvedName]) -> None:
        """Refuse an index without a measure that needs it, and the other way round, before anything is read."""
        searching = [each for each in measures if measure_of(each).needs_index]
        if searching and request.index is None:
            raise InputError(NEEDS_INDEX.format(searching[0]))
        if request.index is not None and not searching:
            raise InputError("--index is for the measure search, of releases of groups; name it by --measure.")
        if request.trec is not None:
            if len(searching) != 1:
                raise InputError("--trec writes the rankings of the measure search; name that once by --measure.")
            check_place(request.trec, QRELS, force=False)

    def write(self, rng: np.random.Generator) -> None:
        """Write run and qrels files, where they were asked for; they are made from people's own profiles."""
        if self._trec is None or not self._rankings:
            return
        from queryveil.measures.utility.search import Searched
        from queryveil.search.evaluation.variants import trec_files

        index = self._evidence.get(Searched).index
        files = trec_files(self._rankings[0], index.documents.ids, rng)
        write_folder(self._trec, files, force=False, secret=True)
