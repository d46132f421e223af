"""The input that tells a method which terms are sensitive; apart from what verifiers use, which load no method."""

from collections.abc import Callable, Sequence

import numpy as np

from queryveil.core.display import counted
from queryveil.core.errors import InputError
from queryveil.core.evidence import Views
from queryveil.lexicons.sensitive_terms import SensitiveTerms
from queryveil.logs.terms import read_terms
from queryveil.methods.base import method_of
from queryveil.workflows.inputs import ListInput
from queryveil.workflows.sensitive_terms import FLAG, INPUT, THRESHOLD, by_list, by_model


class SensitiveTermsInput(ListInput):
    """Which terms are sensitive, where a run claims something about them."""

    parameters = ("h", "threshold")
    terms: SensitiveTerms | None = None

    def __post_init__(self) -> None:
        """Open the model or read the list; refuse what belongs to a claim that is not made."""
        given, threshold = self.request.lists.sensitive, self.method.values.get("threshold")
        if INPUT not in method_of(self.method).guarantee_given(self.method).inputs:
            for name, value in (("--sensitive", given), ("threshold", threshold)):
                if value is not None:
                    raise InputError(f"{self.method}: {name} is for km with h; give h, or leave {name} out.")
            return
        if given is not None and threshold is not None:
            raise InputError(
                f"{self.method}: threshold is of the sensitivity model, which --sensitive replaces; leave one out.",
                field="threshold",
            )
        charset = self.request.source.cleaning.charset
        self.terms = by_model(float(threshold or THRESHOLD)) if given is None else by_list(given, charset)
        self.record = {} if given is None else {INPUT: sorted(read_terms(given, charset, FLAG))}
        self.lists = {INPUT: self.terms.digest}

    def provide_for(self, terms: Callable[[], Sequence[str]], views: Views) -> None:
        """Add the sensitive terms, of which the log must have some."""
        sensitive = self.terms
        if sensitive is not None:
            self._refuse_none(sensitive, terms())
            views.add(SensitiveTerms, lambda: sensitive)

    def _refuse_none(self, terms: SensitiveTerms, vocabulary: Sequence[str]) -> None:
        """Refuse sensitive terms of which the log has none: nothing would be bounded."""
        n_terms = len(vocabulary)
        if not np.any(terms.mark(vocabulary)):
            which = "is in the list --sensitive"
            remedy = "list terms as they are searched for"
            if terms.threshold is not None:
                which = f"is sensitive by the model at threshold={terms.threshold}"
                remedy = "lower the threshold, or list sensitive terms by --sensitive"
            raise InputError(
                f"{self.method}: none of the {counted(n_terms, 'terms')} of the log {which}, so h would bound nothing; "
                f"{remedy}, or leave h out."
            )
