"""km with `split`: what does not fit into a person's history is published as further, unlinked histories.

If every combination of at most m terms of a piece is in pieces of at least k people, the pieces are (k,m)-anonymous, as
supports only add. Three steps follow from this. What is left of the log is anonymised again as a log of its own, which
gives a new piece of each history. A term may also join any piece of its history, whoever else does, where all
combinations of up to m terms that this makes are in the pieces of k people already (`kernels.km.pieces`). And a term
that k people hold may be a piece of its own, so everything that k people hold can be published. With `split=pairs` this
is done once from the history that km alone keeps and once from regrouped terms (`methods.regrouping`), and the result
with more pairs of terms together is taken.

Terrovitis, Liagouris, Mamoulis, Skiadopoulos: Privacy Preservation by Disassociation, 2012, cut records too, but
publish the pieces of a cluster of records together.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from queryveil.core.errors import GuaranteeError
from queryveil.core.evidence import Views
from queryveil.core.progress import Progress
from queryveil.core.rows import BoolArray, Int32Array, IntArray, row_numbers, row_sums, select_entries
from queryveil.histories.outcomes import KeptPairs
from queryveil.histories.pieces import PersonRows, count_person_pairs, cut_into_pieces
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.pieces import fill_pieces, make_piece_scratch
from queryveil.kernels.km.supports import Tree
from queryveil.methods.base import MethodTask
from queryveil.methods.deletion import count_combinations
from queryveil.methods.regrouping import regroup_terms

_BUDGET = 2_000_000  # steps of kernel work between two progress reports: well under a second
POINTLESS = "pieces are of no use for m = 1, which deletes only terms that fewer than k people hold"


@dataclass(eq=False)
class _Assignment:
    """The piece of every pair so far, and the number of pieces of every history."""

    profiles: Profiles
    piece: Int32Array  # (pairs,): -1 for pairs that are in none
    n_pieces: Int32Array  # (histories,)
    is_counted: BoolArray  # (pairs,): it was in a piece when the pieces were filled before
    pairs: IntArray  # of terms that k people had in pieces then, each as one number, ascending

    @classmethod
    def of(cls, profiles: Profiles, piece: Int32Array) -> "_Assignment":
        """Return the assignment in which pairs are in these pieces, which are numbered from 0 in each history."""
        n_pieces = np.zeros(profiles.n_histories, np.int32)
        np.maximum.at(n_pieces, row_numbers(profiles.indptr), piece + 1)
        return cls(profiles, piece, n_pieces, np.zeros(len(piece), np.bool_), np.empty(0, np.int64))

    def count_pairs(self, progress: Progress) -> int:
        """Count the pairs of terms that each person has in one piece, over all people."""
        pieces = cut_into_pieces(self.profiles, self.piece).profiles
        return count_person_pairs(PersonRows.of_profiles(pieces), len(pieces.vocabulary), progress)

    def add(self, kept: BoolArray) -> None:
        """Add a new piece to every history that has kept pairs."""
        sizes = np.diff(select_entries(self.profiles.indptr, kept))
        self.piece[kept] = np.repeat(self.n_pieces, sizes)
        self.n_pieces += sizes > 0

    def add_single_terms(self, kept: BoolArray) -> None:
        """Add a piece of its own for every kept pair."""
        pairs = np.flatnonzero(kept)
        history = row_numbers(self.profiles.indptr)[pairs]
        first = np.searchsorted(history, history)  # of the kept pairs of each history
        self.piece[pairs] = self.n_pieces[history] + np.arange(len(pairs)) - first
        self.n_pieces += np.bincount(history, minlength=len(self.n_pieces)).astype(np.int32)

    def fill(self, task: MethodTask, is_left: BoolArray, n_frequent: int) -> None:
        """Let terms that are left join pieces, and form new ones, of combinations that k people have in pieces."""
        m, progress = task.method.integer("m"), task.progress
        if not self.n_pieces.any():
            return
        tree, may_change = self._count_frequent(task, n_frequent)
        is_left = is_left & np.repeat(may_change, np.diff(self.profiles.indptr))
        scratch = make_piece_scratch(int(np.diff(self.profiles.indptr).max(initial=0)), n_frequent)
        history, rows = 0, (self.profiles.indptr, self.profiles.ids)
        while history < self.profiles.n_histories:
            progress("filling pieces", history, self.profiles.n_histories)
            history = fill_pieces(*rows, self.piece, self.n_pieces, is_left, tree, m, history, _BUDGET, scratch)

    def _count_frequent(self, task: MethodTask, n_frequent: int) -> tuple[Tree, BoolArray]:
        """Return the combinations that k people have in pieces, and which histories must be filled again.

        Every pair of a piece is one. So where only pairs count, those of pieces that were not there before are added to
        the others, and where pieces are full already, another term can join only by a pair that nobody had before.
        """
        k, m = task.method.integer("k"), task.method.integer("m")
        counted = np.where(self.is_counted, np.int32(-1), self.piece) if m == 2 else self.piece
        pieces = cut_into_pieces(self.profiles, counted).profiles
        tree = count_combinations(pieces, n_frequent, k, m, task.progress)
        if m > 2:
            return tree, self.n_pieces >= 0
        pairs = row_numbers(tree.start2) * n_frequent + tree.term2
        new, self.pairs = np.setdiff1d(pairs, self.pairs, assume_unique=True), np.union1d(pairs, self.pairs)
        start = np.searchsorted(self.pairs, np.arange(n_frequent + 1) * n_frequent)
        is_new = np.zeros(len(self.profiles.vocabulary), np.bool_)
        is_new[new // n_frequent] = is_new[new % n_frequent] = True
        self.is_counted = self.piece >= 0
        has_new = row_sums(is_new[self.profiles.ids], self.profiles.indptr) > 1
        return tree._replace(start2=start, term2=(self.pairs % n_frequent).astype(np.int32)), has_new


def split_histories(task: MethodTask, make_layer: Callable[[MethodTask], KeptPairs], split: str) -> KeptPairs:
    """Return pieces of histories; `make_layer` anonymises what its task starts from in one piece."""
    profiles, start = task.profiles, task.inputs.find(KeptPairs)
    first = make_layer(task)
    if task.method.integer("m") == 1:
        return replace(first, summary={**first.summary, "split": POINTLESS})
    source = profiles if start is None else profiles.select(start.mask)
    may_stay = source.holder_counts() >= task.method.integer("k")
    is_common = may_stay[profiles.ids] if start is None else may_stay[profiles.ids] & start.mask
    n_frequent = int(np.flatnonzero(may_stay).max(initial=-1)) + 1
    assignment = _Assignment.of(profiles, np.where(first.mask, np.int32(0), np.int32(-1)))
    n_layers = 1 + _publish_rest(task, make_layer, assignment, is_common, n_frequent)
    summary = {**first.summary, "layers": n_layers}
    if split == "pairs":
        regrouped = _Assignment.of(profiles, regroup_terms(task, is_common, n_frequent))
        _publish_rest(task, make_layer, regrouped, is_common, n_frequent)
        by_layers, by_regrouping = (each.count_pairs(task.progress) for each in (assignment, regrouped))
        summary |= {"pairs together by layers": by_layers, "pairs together by regrouping": by_regrouping}
        if by_regrouping > by_layers:  # layers have all pairs that there are without splitting
            assignment = regrouped
    if split != "layers":
        assignment.add_single_terms(is_common & (assignment.piece < 0))
    mask = assignment.piece >= 0
    summary |= {"pairs deleted": int(np.count_nonzero(~mask)), **_describe(assignment)}
    return KeptPairs(mask, assignment.piece, summary=summary)


def _publish_rest(
    task: MethodTask,
    make_layer: Callable[[MethodTask], KeptPairs],
    assignment: _Assignment,
    is_common: BoolArray,
    n_frequent: int,
) -> int:
    """Publish what is left in further pieces of two terms or more, as far as possible; return the number of layers."""
    n_layers = 0
    while True:
        assignment.fill(task, is_common & (assignment.piece < 0), n_frequent)
        kept = _next_layer(task, make_layer, is_common & (assignment.piece < 0))
        if kept is None:
            return n_layers
        assignment.add(kept)
        n_layers += 1


def _next_layer(task: MethodTask, make_layer: Callable[[MethodTask], KeptPairs], left: BoolArray) -> BoolArray | None:
    """Return what anonymising the pairs that are left keeps; None where that is single terms at most."""
    if not left.any():
        return None
    inputs = Views(*(view for view in task.inputs.build_all() if not isinstance(view, KeptPairs)), KeptPairs(left))
    try:
        kept = make_layer(replace(task, inputs=inputs)).mask
    except GuaranteeError:  # too few people have something left
        return None
    sizes = np.diff(select_entries(task.profiles.indptr, kept))
    return kept if sizes.max(initial=0) > 1 else None


def _describe(assignment: _Assignment) -> dict[str, object]:
    """Return for the summary how many histories there are."""
    per_person = np.bincount(assignment.profiles.owner, assignment.n_pieces).astype(np.int64)
    return {
        "histories": int(per_person.sum()),
        "histories per person, at most": int(per_person.max(initial=0)),
    }
