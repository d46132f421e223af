"""What sensitive queries are about: a topic for every word that makes a query sensitive."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from queryveil.lexicons.word_lists import sensitive_topics
from queryveil.sensitivity.model import SensitivityModel

SENSITIVE = 0.5  # a query is taken as sensitive from this probability on
OTHER = "other"


def topic_of(words: Sequence[tuple[str, float]]) -> str:
    """Return the topic of the phrase, or else of the word, that makes a query sensitive most.

    `words` say what each word and phrase adds. "breast cancer" is about health, whatever "breast" alone is about.
    """
    topics = sensitive_topics()
    heaviest = sorted(words, key=lambda word: (" " not in word[0], -word[1]))
    return next((topics[word] for word, added in heaviest if added > 0 and word in topics), OTHER)


def count_topics(model: SensitivityModel, queries: Sequence[str]) -> Counter[str]:
    """Count the sensitive queries by topic."""
    sensitive = np.flatnonzero(model.sensitivities(queries) >= SENSITIVE).tolist()
    return Counter(topic_of(model.split(queries[i])[0]) for i in sensitive)
