"""`thin`: delete some terms without need, so that a term which could have stayed may have been there.

Wong, Fu, Wang, Pei: Minimality Attack in Privacy Preserving Data Publishing, 2007. Whoever knows that a method deletes
nothing without need rules out the terms that could have stayed. Only terms go that are shared by more people than they
must be, in every combination: nothing else has to go for them. Those histories come first that lost fewest of the terms
that are published, since a random deletion says most there: of everybody who lost one term it may be this one. Of each
history at most one term goes, and never the last.
"""

import numpy as np
from numpy.typing import NDArray

from queryveil.core.progress import Progress
from queryveil.core.rows import row_numbers
from queryveil.histories.profiles import Profiles
from queryveil.kernels.km.inference import Bound
from queryveil.kernels.km.thinning import delete_spared
from queryveil.methods.coherence import make_visit, terms_of

_TRIED = 2_000  # candidates between two progress reports


def thin_out(
    profiles: Profiles,
    mask: NDArray[np.bool_],
    share: float,
    k: int,
    m: int,
    rng: np.random.Generator,
    progress: Progress,
) -> NDArray[np.bool_]:
    """Return a mask of a (k,m)-anonymous log without at most a share of the kept pairs."""
    kept = profiles.select(mask)
    n_terms, limit = len(profiles.vocabulary), int(share * len(kept.ids))
    log = terms_of(kept, np.zeros(n_terms, np.bool_), np.ones(len(kept.ids), np.bool_))
    bound = Bound(k + 1, m, 1, 1)
    is_published = np.bincount(kept.ids, minlength=n_terms) > 0
    lost = ~mask & is_published[profiles.ids]
    n_lost = np.bincount(row_numbers(profiles.indptr)[lost], minlength=profiles.n_histories)
    order = np.lexsort((rng.random(len(kept.ids)), n_lost[row_numbers(kept.indptr)]))
    visit, is_thinned, n_deleted = make_visit(log, bound), np.zeros(profiles.n_histories, np.bool_), 0
    for first in range(0, len(order), _TRIED):
        progress("thinning", first, len(order))
        if n_deleted == limit:
            break
        end = min(first + _TRIED, len(order))
        n_deleted += delete_spared(log, bound, visit, order, is_thinned, first, end, limit - n_deleted)
    result = np.zeros(len(mask), np.bool_)
    result[mask] = log.kept
    return result
