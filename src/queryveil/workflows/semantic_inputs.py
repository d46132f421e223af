"""Inputs about what terms mean: a semantic network, the weights of terms, and lists of personal words."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from queryveil.core.errors import InputError
from queryveil.core.evidence import Views
from queryveil.core.files import Folder, write_file
from queryveil.core.names import declarations
from queryveil.core.progress import Progress
from queryveil.histories.outcomes import Outcome
from queryveil.histories.profiles import Profiles
from queryveil.kinds.base import ReleaseContent
from queryveil.kinds.private_folder import TAXONOMY, VECTORS
from queryveil.lexicons.word_lists import PersonalWordLists
from queryveil.release.atomic_folder import file_digest
from queryveil.semantics import SemanticOptions
from queryveil.semantics.augmentation import weighted
from queryveil.semantics.network import Network
from queryveil.semantics.taxonomy import check_coverage
from queryveil.workflows.inputs import ListInput, MethodInput


class NetworkInput(MethodInput):
    """The semantic network by which terms are compared."""

    def __post_init__(self) -> None:
        """Record the digests of the user's taxonomy or vectors."""
        self.meaning = replace(self.request.semantics, excluded=self.request.source.excluded)
        self.record = {"taxonomy": file_digest(self.meaning.taxonomy)}
        if self.meaning.vectors is not None:
            self.record["vectors"] = file_digest(self.meaning.vectors)
        self._network: Network | None = None

    def provide(self, profiles: Profiles, views: Views) -> Profiles:
        """Add the network; drop the terms that it does not know if the options say so."""
        network = self._network = open_network(profiles, self.meaning, self.progress)
        self.check_network(profiles, network)
        views.add(Network, lambda: network)
        views.add(SemanticOptions, lambda: self.meaning)
        return known_terms(profiles, network, self.meaning)

    def check_network(self, profiles: Profiles, network: Network) -> None:
        """Refuse a network whose relations would not be used: profiles are compared by hypernyms or neighbours."""
        if network.relations is not None:
            raise InputError(f"{self.method} does not compare terms by all relations; take --network wordnet.")

    def write_private(self, folder: Folder, profiles: Profiles, outcome: Outcome, content: ReleaseContent) -> None:
        """Write a copy of the taxonomy, or of the vectors that placed words, by which verifiers compare terms."""
        if self.meaning.taxonomy is not None:
            write_file(folder / TAXONOMY, self.meaning.taxonomy.read_bytes(), 0o600)
        if self._network is not None and self._network.vectors is not None:
            write_file(folder / VECTORS, self._network.vectors.as_text().encode(), 0o600)


class HierarchyInput(NetworkInput):
    """A semantic network whose knowledge of the log is counted: terms that it does not know are lost."""

    def check_network(self, profiles: Profiles, network: Network) -> None:
        """Count what the network does not know; refuse a taxonomy that is not about this log."""
        is_known = network.find_all(profiles.vocabulary) >= 0
        total = int(profiles.counts.sum(dtype=np.int64))
        known = int(profiles.counts[is_known[profiles.ids]].sum(dtype=np.int64))
        n_known = int(np.count_nonzero(is_known))
        self.summary = check_coverage(self.meaning.taxonomy, n_known, len(is_known), known, total)


def open_network(profiles: Profiles, meaning: SemanticOptions, progress: Progress) -> Network:
    """Return the semantic network that the options name."""
    network: Network = declarations("network")[meaning.network_name].load()(profiles, meaning.network_file, progress)
    return network.hide_names(meaning.excluded) if meaning.excluded else network


def known_terms(profiles: Profiles, network: Network, meaning: SemanticOptions) -> Profiles:
    """Return the profiles, without the terms that the network does not know where these are to be dropped."""
    if meaning.unknown_terms == "keep":
        return profiles
    known = network.find_all(profiles.vocabulary) >= 0
    return profiles.select(known[profiles.ids])


class WeightsInput(MethodInput):
    """How much of a profile each of its terms is."""

    def provide(self, profiles: Profiles, views: Views) -> Profiles:
        """Return the profiles with weights: those of their file, else those that the options name."""
        weights = self.request.semantics.weights
        if profiles.weights is not None:
            if weights != "paper":
                name = next(map(str, self.request.source.paths), "the table")
                raise InputError(f"--weights: {name} is profiles and has weights; leave --weights out.")
            return profiles
        if weights == "paper":
            return replace(profiles, weights=np.ones(len(profiles.ids)))
        return weighted(profiles, "counts" if weights == "counts" else "tfidf")


class WordListsInput(ListInput):
    """The lists of names, places and private words."""

    def __post_init__(self) -> None:
        """Read the lists."""
        from queryveil.sensitivity.lists import load_lists

        self._lists = load_lists(self.request.lists.places)
        self.lists = {"places": file_digest(self.request.lists.places)}

    def provide_for(self, terms: Callable[[], Sequence[str]], views: Views) -> None:
        """Add the lists."""
        views.add(PersonalWordLists, lambda: self._lists)
