"""The running example (Figures 1 to 3), and Table I: what became of one person's vocabulary."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from queryveil.core.progress import Progress, silent
from queryveil.experiments.liu import printed
from queryveil.experiments.liu.grid import LG_BAG, LG_SET, SUPPRESSION, Task, publish
from queryveil.histories.assembly import assemble
from queryveil.histories.outcomes import PublishedVocabularies
from queryveil.histories.profiles import Profiles
from queryveil.kernels.clustering.matching import assign, make_sides
from queryveil.report.reproduction import PaperTable
from queryveil.semantics.distances import distance
from queryveil.semantics.network import Network
from queryveil.semantics.taxonomy import taxonomy_of

SHOWN = 9  # terms of a vocabulary in Table I, as many as in the paper
_FAR = 1 << 40


def example(rng: np.random.Generator) -> Task:
    """Return the running example as a log of five people with its taxonomy."""
    words = sorted({term for bag in printed.VOCABULARIES for term in bag})
    number = {word: i for i, word in enumerate(words)}
    pairs = np.array([(h, number[t]) for h, bag in enumerate(printed.VOCABULARIES) for t in bag], np.int32)
    owner = np.arange(len(printed.VOCABULARIES), dtype=np.int32)
    persons = tuple(f"t{person + 1}" for person in owner)
    log = assemble(pairs[:, 0], pairs[:, 1], pa.array(words, pa.large_string()), owner, persons)
    return Task(log, taxonomy_of(printed.TAXONOMY), 1_000, rng)


def figures_1_and_2(task: Task) -> PaperTable:
    """Show the five vocabularies and what LG, LG(bag) and SSC publish of them."""
    k, eps = printed.EXAMPLE_K, printed.EXAMPLE_EPS
    methods = (f"generalize(k={k}, bags=false)", f"generalize(k={k})", f"vocabulary(k={k}, eps={eps}, floor=1)")
    columns = [texts_of(publish(task, name)[1]) for name in methods]
    rows = [
        (person, _bag(bag), *ours, theirs)
        for person, bag, *ours, theirs in zip(
            task.profiles.persons, printed.VOCABULARIES, *columns, printed.TYPICAL, strict=True
        )
    ]
    same = columns[-1] == list(printed.TYPICAL)
    note = (
        "SSC gives the paper's clusters and typical vocabularies."
        if same
        else "SSC does not give the paper's typical vocabularies here."
    )
    return PaperTable(
        "Figures 1 and 2",
        f"The running example, k = {k}, ε = {eps}",
        ("", "vocabulary", LG_SET, LG_BAG, "SSC", "SSC in the paper"),
        tuple(rows),
        words=(0, 1, 2, 3, 4, 5),
        notes=(
            note,
            "It needs the second model and the farthest vocabulary as the next seed: by the letter of the paper's "
            "pseudo-code (the first in T) other clusters come out.",
            "The paper's picture of LG is not in its text; that Goods stands for the terms of t1 and t4 is.",
        ),
    )


def figure_3(task: Task) -> PaperTable:
    """Show the distances of the example beside the paper's."""
    rows = [
        (f"{one}, {other}", str(theirs), f"{distance(task.network, one, other):.0f}")
        for (one, other), theirs in printed.DISTANCES.items()
    ]
    eps = printed.EXAMPLE_EPS
    first, second = printed.VOCABULARIES[:2]
    by_first, by_second = _models(task.network, first, second, eps)
    rows.append((f"t1, t2 by the first model, ε = {eps}", str(printed.FIRST_TWO), str(by_first)))
    rows.append((f"t1, t2 by the second model, ω = {eps + 1}", "–", str(by_second)))
    by_first, by_second = _models(task.network, first, printed.VOCABULARIES[2], eps)
    rows.append((f"t1, t3 by the first model, ε = {eps}", "–", str(by_first)))
    rows.append((f"t1, t3 by the second model, ω = {eps + 1}", "–", str(by_second)))
    return PaperTable(
        "Figure 3", "Distances between terms and between vocabularies", ("", "paper", "ours"), tuple(rows)
    )


def _models(network: Network, one: tuple[str, ...], other: tuple[str, ...], eps: int) -> tuple[int, int]:
    """Return the distance of two vocabularies by either model."""
    steps = np.array([[distance(network, a, b) for b in other] for a in one])
    near = steps <= eps
    ones, others = np.ones(len(one), np.int64), np.ones(len(other), np.int64)
    many = np.where(near, steps - 10_000, 0).astype(np.int64)  # as many as can be matched, then the nearest
    fewest, _ = assign(make_sides(many, ones, others), -_FAR, _FAR)
    omega = eps + 1
    saving = np.where(near, np.minimum(steps - 2 * omega, 0), 0).astype(np.int64)
    saved, _ = assign(make_sides(saving, ones, others), -_FAR, _FAR)
    return int(fewest % 10_000), int(omega * (len(one) + len(other)) + saved)


def table_1(task: Task, progress: Progress = silent) -> PaperTable:
    """Show what every method makes of the vocabulary of one person.

    It is the person with most terms of those for whom LG publishes more than the root, as it did in the paper.
    """
    k, profiles = printed.TABLE_K, task.profiles
    methods = {
        f"{LG_SET}, k = {k}": f"generalize(k={k}, bags=false)",
        f"{LG_BAG}, k = {k}": f"generalize(k={k})",
        f"{SUPPRESSION}, k = {k}": f"suppress(k={k})",
        f"SSC, k = {k}, ε = 8": f"vocabulary(k={k}, eps=8)",
    }
    made = {label: publish(task, name, progress)[1] for label, name in methods.items()}
    person, n_root = _person(profiles, made[f"{LG_SET}, k = {k}"])
    begin, end = profiles.indptr[person], profiles.indptr[person + 1]
    original = _shown(
        {
            profiles.vocabulary[i]: int(n)
            for i, n in zip(profiles.ids[begin:end], profiles.counts[begin:end], strict=True)
        }
    )
    rows = [("original", f"{end - begin:,}", original)]
    for label, published in made.items():
        bag = {} if published is None else _bag_of(published, person)
        rows.append((label, f"{len(bag):,}", _shown(bag) or "nothing"))
    return PaperTable(
        "Table I",
        "One person's vocabulary: that of most terms for which LG publishes more than one name",
        ("", "terms", "the most frequent of them"),
        tuple(rows),
        words=(0, 2),
        notes=(
            f"The paper's person had {printed.USER_TERMS} terms; LG left {printed.GENERALIZED_TERMS} general ones, "
            f"such as activity, artifact, attribute; suppression took {printed.SUPPRESSED} of them.",
            f"For {n_root:,} of {profiles.n_histories:,} vocabularies LG publishes one name alone.",
            "Names in brackets stand above a part of speech, or above the terms that no dictionary has.",
        ),
    )


def _person(profiles: Profiles, generalized: PublishedVocabularies | None) -> tuple[int, int]:
    """Return the person to be shown, and for how many LG publishes one name at most."""
    n_terms = np.diff(profiles.indptr)
    names = np.zeros_like(n_terms) if generalized is None else np.diff(generalized.indptr)
    is_shown = names > 1
    person = int(np.argmax(np.where(is_shown, n_terms, 0) if is_shown.any() else n_terms))
    return person, int(np.count_nonzero(~is_shown))


def texts_of(published: PublishedVocabularies | None) -> list[str]:
    """Return the bag of every history as the paper writes it."""
    if published is None:
        return []
    return [_bag_text(_bag_of(published, history)) for history in range(len(published.indptr) - 1)]


def _bag_of(published: PublishedVocabularies, history: int) -> dict[str, int]:
    rows = range(*published.indptr[history : history + 2].tolist())
    bag: dict[str, int] = {}
    for i in rows:
        name = published.terms[published.ids[i]]
        bag[name] = bag.get(name, 0) + int(published.counts[i])
    return bag


def _bag(terms: tuple[str, ...]) -> str:
    return _bag_text({term: terms.count(term) for term in terms})


def _bag_text(bag: Mapping[str, int]) -> str:
    return ", ".join(f"{term}:{count}" for term, count in sorted(bag.items()))


def _shown(bag: Mapping[str, int]) -> str:
    """Write the most frequent terms of a bag."""
    most = sorted(bag.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    return ", ".join(f"{term}:{count}" for term, count in most) + (", …" if len(bag) > SHOWN else "")
