"""Query k-anonymity: a query stays if at least k people issued it.

Adar: User 4XXXXX9: Anonymizing Query Logs, 2007; as Carpineto and Romano use it in Sensitive-aware Privacy Index for
Sanitized Text Data, 2018, section 4. All issues of such a query stay, of everybody. People are counted, also where a
history is a session. The share, as in their Figure 2, is that of issued queries. Hardly any k meets it exactly: the
smallest k that releases no more is used. k = 2 instead of 1 alone often removes half of a log.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from queryveil.core.errors import GuaranteeError
from queryveil.histories.outcomes import KeptPairs
from queryveil.methods.base import MethodTask


def run(task: MethodTask) -> KeptPairs:
    """Return which (history, query) pairs stay so that each query was issued by k people."""
    profiles, method = task.profiles, task.method
    people = profiles.holder_counts()
    if "k" in method.values:
        k, remedy = method.integer("k"), "lower k."
        if k > profiles.n_people:
            raise GuaranteeError(
                f"{method}: k = {k:,} is larger than the number of people in the log ({profiles.n_people:,}); lower k."
            )
    else:
        k = smallest_k(people[profiles.ids], profiles.counts, method.real("share"))
        remedy = "its commonest queries alone are a larger share; take a larger one."
    if k > people.max():
        raise GuaranteeError(f"{method}: nothing would be left of the log; {remedy}")
    task.progress("deleting", 1, 1)
    mask = people[profiles.ids] >= k
    summary = {
        "different queries left out": int(np.count_nonzero(people < k)),
        "issued queries left out": int(profiles.counts[~mask].sum(dtype=np.int64)),
        "people must have issued a query (k)": k,
    }
    return KeptPairs(mask, summary=summary, found={"k": k})


def smallest_k(people: NDArray[np.integer[Any]], counts: NDArray[np.integer[Any]], share: float) -> int:
    """Return the smallest k for which queries that k people issued make up at most a share of all issues."""
    issues = np.bincount(people, counts)  # by number of people, from 0
    released = np.cumsum(issues[::-1])[::-1]  # with k = that number
    fits = np.append(released, 0) <= share * released[0]
    fits[0] = False  # every query was issued by somebody
    return int(np.argmax(fits))
