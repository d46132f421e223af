"""Opening a network by its declaration: all are called alike, whatever they are made from."""

from pathlib import Path

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress, silent
from queryveil.histories.profiles import Profiles
from queryveil.semantics.cooccurrence import learn
from queryveil.semantics.network import Network
from queryveil.semantics.taxonomy import read_taxonomy
from queryveil.semantics.wordnet import wordnet


def open_wordnet(profiles: Profiles, taxonomy: Path | None = None, progress: Progress = silent) -> Network:
    """Return WordNet."""
    return wordnet()


def open_taxonomy(profiles: Profiles, taxonomy: Path | None = None, progress: Progress = silent) -> Network:
    """Read the taxonomy of a user."""
    if taxonomy is None:
        raise InputError("the network taxonomy needs a file of child,parent lines; give it by --taxonomy.")
    return read_taxonomy(taxonomy)


def open_cooccurrence(profiles: Profiles, taxonomy: Path | None = None, progress: Progress = silent) -> Network:
    """Learn which terms of the profiles go together."""
    return learn(profiles, progress=progress)
