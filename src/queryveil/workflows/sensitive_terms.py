"""What is sensitive under a claim about inference: what the bundled model scores at a threshold, or a user's list.

The manifest states the threshold (in the claim) and a digest of the model, or a digest of the list. A verifier marks
the released terms by itself: by the model of its version, which must be the same, or by the list, which it is given.
"""

import hashlib
from pathlib import Path

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import Evidence
from queryveil.core.names import ResolvedName
from queryveil.lexicons.sensitive_terms import SensitiveTerms
from queryveil.logs.options import CleaningOptions
from queryveil.logs.user_lists import read_terms
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
