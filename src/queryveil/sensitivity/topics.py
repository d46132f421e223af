"""What sensitive queries are about: a topic for every word that makes a query sensitive."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from queryveil.lexicons.word_lists import sensitive_topics
from queryveil.sensitivity.model import SensitivityModel

SENSITIVE = 0.5  # a query is taken as sensitive from this probability on
OTHER = "other"


def count_topics(model: SensitivityModel, queries: Sequence[str]) -> Counter[str]:
    """Count the sensitive queries by topic: that of the word of a query that makes it sensitive most."""
    topics, found = sensitive_topics(), Counter[str]()
    for i in np.flatnonzero(model.sensitivities(queries) >= SENSITIVE).tolist():
        words = sorted(model.split(queries[i])[0], key=lambda word: -word[1])
        found[next((topics[word] for word, _ in words if word in topics), OTHER)] += 1
    return found
