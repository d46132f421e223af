"""The people of the experiment: as many terms each, all in WordNet, none a stop word, all of weight 1."""

import numpy as np

from queryveil.core.errors import InputError
from queryveil.experiments.zhu import printed
from queryveil.histories.profiles import Profiles, Vocabulary
from queryveil.lexicons.word_lists import STOP_WORDS
from queryveil.semantics.network import wordnet

FEWEST = 100  # people; fewer may make no legal group at p = 0.1, where only what ten people hold is published


def equal_profiles(profiles: Profiles, most: int, rng: np.random.Generator) -> Profiles:
    """Return the first people with enough terms that WordNet knows, each with as many of them, drawn at random."""
    entries = profiles.vocabulary.entries
    known = (wordnet().find_all(entries) >= 0) & np.array([entry not in STOP_WORDS for entry in entries])
    usable = profiles.select(known[profiles.ids])
    people = np.flatnonzero(np.diff(usable.indptr) >= printed.TERMS)[:most]
    if len(people) < FEWEST:
        raise InputError(
            f"{len(people):,} people of the log have {printed.TERMS} terms that WordNet knows, and the paper's "
            f"evaluation takes {FEWEST} at least; give a larger log."
        )
    rows = [rng.permutation(usable.ids[usable.indptr[h] : usable.indptr[h + 1]])[: printed.TERMS] for h in people]
    found, ids = np.unique(np.concatenate(rows), return_inverse=True)
    ids = np.sort(ids.reshape(len(people), printed.TERMS), axis=1).ravel()
    return Profiles(
        Vocabulary(tuple(entries[entry] for entry in found.tolist())),
        np.arange(len(people) + 1) * printed.TERMS,
        ids.astype(np.int32),
        np.ones(len(ids), np.int32),
        np.arange(len(people), dtype=np.int32),
        ("",) * len(people),
    )
