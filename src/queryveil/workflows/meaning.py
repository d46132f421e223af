"""What runs that look at the meaning of terms share: where they write, and the network they open."""

from dataclasses import dataclass
from pathlib import Path

from queryveil.core.names import declarations
from queryveil.core.progress import Progress
from queryveil.histories.profiles import Profiles
from queryveil.semantics.network import Network
from queryveil.semantics.options import SemanticOptions


@dataclass(frozen=True)
class Place:
    """Where a run writes, and how it begins."""

    out: Path
    private: Path | None
    seed: int | None
    force: bool
    groups: Path | None = None  # an older release of groups to go on from, and its private folder
    groups_private: Path | None = None


def open_network(profiles: Profiles, meaning: SemanticOptions, progress: Progress) -> Network:
    """Return the network of meaning that a run uses."""
    network: Network = declarations("network")[meaning.chosen].load()(profiles, meaning.taxonomy, progress)
    return network


def known_terms(profiles: Profiles, network: Network, meaning: SemanticOptions) -> Profiles:
    """Return the profiles, without the terms that the network does not know where these are to be dropped."""
    if meaning.unknown_terms == "keep":
        return profiles
    known = network.find_all(profiles.vocabulary.entries) >= 0
    return profiles.select(known[profiles.ids])
