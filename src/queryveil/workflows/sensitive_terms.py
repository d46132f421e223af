"""What is sensitive under a claim about inference, and why a term that enough people share is not released under it.

Sensitive is what the bundled model scores at a threshold, or a user's list. The manifest states the threshold (in the
claim) and a digest of the model, or a digest of the list. A verifier marks the released terms by itself: by the model
of its version, which must be the same, or by the list, which it is given.

Putting a term back into a history changes what follows from the combinations of this history with the term, and, if the
term is sensitive, how surely it follows from the others. The bound is on people and on histories.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.core.rows import BoolArray, Int32Array, IntArray
from queryveil.lexicons.sensitive_terms import SensitiveTerms
from queryveil.logs.options import CleaningOptions
from queryveil.logs.terms import read_terms
from queryveil.release.atomic_folder import file_digest
from queryveil.release.manifest import Manifest

INPUT = "sensitive_terms"  # of methods and of guarantees, and in the lists of a manifest
FLAG = "--sensitive"
THRESHOLD = 0.5  # more likely sensitive than not
NO_LIST = "which terms are sensitive stands in a list that is not part of the release; give it by --sensitive"


def by_model(threshold: float) -> SensitiveTerms:
    """Return what the bundled naive Bayes, which learnt from single words, scores at a threshold or above."""
    from queryveil.sensitivity.model import BAYES, load_model  # reads a file that few commands need

    model = load_model(BAYES)
    return SensitiveTerms(lambda terms: model.sensitivities(terms) >= threshold, str(file_digest(BAYES)), threshold)


def by_list(path: Path, charset: str) -> SensitiveTerms:
    """Return the terms of a list."""
    listed = read_terms(path, charset, FLAG)
    digest = hashlib.sha256("\n".join(sorted(listed)).encode()).hexdigest()
    return SensitiveTerms(lambda terms: np.array([term in listed for term in terms], np.bool_), digest)


def add_sensitive_terms(evidence: Evidence, claim: ResolvedName, path: Path | None, manifest: Manifest | None) -> str:
    """Let the verifier of a claim know which terms are sensitive; return why it cannot be known, else ""."""
    threshold = claim.values.get("threshold")
    if path is not None and threshold is not None:
        raise InputError(f"--sensitive goes with a claim about a list of sensitive terms, not {claim}; leave it out.")
    if threshold is None and path is None:
        return NO_LIST
    cleaning = CleaningOptions() if manifest is None else manifest.cleaning.cleaning()
    terms = by_model(float(threshold or 0)) if path is None else by_list(path, cleaning.charset)
    is_own = manifest is not None and ("threshold" in manifest.claim.values) == (threshold is not None)
    if manifest is not None and is_own and (manifest.lists or {}).get(INPUT, terms.digest) != terms.digest:
        if path is not None:
            raise InputError(f"--sensitive: {path} is not the list that the release was made with; give that one.")
        return (
            "it was made with another sensitivity model than this version has; verify it with the version that made it"
        )
    evidence.add(SensitiveTerms, lambda: terms)
    return ""


def reasons(
    claim: ResolvedName, recorded: Mapping[str, Any]
) -> Callable[..., tuple[tuple[int, ...], int, int, int] | None]:
    """Return `find_inference` for a release, of whose run the private record has the list of sensitive terms, if any.

    Its last argument are the texts of the terms.
    """
    listed = recorded.get(INPUT)
    if not isinstance(listed, list):
        return partial(find_inference, claim, by_model(float(claim.values.get("threshold", THRESHOLD))).mark)
    return partial(find_inference, claim, lambda terms: np.array([term in listed for term in terms], np.bool_))


def find_inference(
    claim: ResolvedName,
    mark: Callable[[Sequence[str]], BoolArray],
    histories_of: Callable[[int], IntArray],
    owner: Int32Array,
    history: int,
    kept: Sequence[int],
    removed: int,
    texts: Sequence[str],
) -> tuple[tuple[int, ...], int, int, int] | None:
    """Return what would follow too surely with a removed term put back: a combination, a term, who has it, of how many.

    The combination is a smallest one, of these the one from which the term follows most surely.
    """
    sensitive = mark(texts)
    share, terms = Fraction(str(claim.real("h"))), sorted((*kept, removed))
    here = np.array([history])
    holders = {term: np.union1d(histories_of(term), here) for term in terms}
    views = (owner, np.arange(len(owner)))  # people are counted, and histories
    for size in range(1, claim.integer("m") + 1):
        found = []
        for known in combinations(terms, size):
            holding = reduce(np.intersect1d, (holders[term] for term in known))
            for term in terms:
                if not sensitive[term] or term in known or removed not in (term, *known):
                    continue
                having = np.intersect1d(holding, holders[term])
                for who in views:
                    counts = len(np.unique(who[having])), len(np.unique(who[holding]))
                    found.append((Fraction(*counts), (known, term, *counts)))
        worst = max(found, key=lambda each: each[0], default=(Fraction(0), None))
        if worst[0] > share:
            return worst[1]
    return None
