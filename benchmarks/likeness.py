"""How like people are to their groups: by their features, by the terms that are published, and by what these mean."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queryveil.histories.outcomes import Grouping
from queryveil.histories.profiles import Profiles
from queryveil.semantics.augmentation import FeatureMatrix, augment
from queryveil.semantics.network import wordnet


class _Matrix(NamedTuple):
    """Rows of a sparse matrix, ids ascending within each."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float64]
    n_columns: int


def in_features(features: FeatureMatrix, made: Grouping) -> float:
    """Return the mean cosine of members with the centroid of their group's features at unit length."""
    row = np.repeat(np.arange(len(features.indptr) - 1), np.diff(features.indptr))
    unit = _unit(_Matrix(features.indptr, features.ids, features.values, features.n_dimensions))
    cells, cell = np.unique(
        made.group[row].astype(np.int64) * features.n_dimensions + features.ids, return_inverse=True
    )
    grouped = cells >= 0
    squares = np.bincount(cell, unit)[grouped] ** 2
    lengths = np.sqrt(np.bincount(cells[grouped] // features.n_dimensions, squares, minlength=made.n_groups))
    return float(lengths.sum() / np.count_nonzero(made.group >= 0))


def in_terms(profiles: Profiles, made: Grouping) -> float:
    """Return the mean cosine of members' whole profiles with what their group publishes, over terms."""
    n_entries = len(profiles.vocabulary)
    people = _Matrix(profiles.indptr, profiles.ids, _weights(profiles), n_entries)
    return _mean_cosine(people, _Matrix(made.indptr, made.ids, made.weights, n_entries), made.group)


def in_meaning(profiles: Profiles, made: Grouping) -> float:
    """Return the same over features: what is published is augmented as if it were a profile.

    That takes nothing but what is published. All of it counts as one person more where dimensions are weighed by how
    many people have them.
    """
    n_people = profiles.n_histories
    published = np.full(made.n_groups, n_people, np.int32)
    both = replace(
        profiles,
        indptr=np.concatenate((profiles.indptr, profiles.indptr[-1] + made.indptr[1:])),
        ids=np.concatenate((profiles.ids, made.ids)),
        counts=np.concatenate((profiles.counts, np.ones(len(made.ids), np.int32))),
        owner=np.concatenate((np.arange(n_people, dtype=np.int32), published)),
        persons=(*profiles.persons, ""),
        weights=np.concatenate((_weights(profiles), made.weights)),
    )
    features = augment(both, wordnet(), a=1)
    cut = features.indptr[n_people]
    values, n_dimensions = features.values, features.n_dimensions
    people = _Matrix(features.indptr[: n_people + 1], features.ids[:cut], values[:cut], n_dimensions)
    groups = _Matrix(features.indptr[n_people:] - cut, features.ids[cut:], values[cut:], n_dimensions)
    return _mean_cosine(people, groups, made.group)


def _mean_cosine(people: _Matrix, groups: _Matrix, group: NDArray[np.int32]) -> float:
    """Return the mean over all members of the cosine with the row of their group."""
    # cells: (group, column) as one number, ascending
    cells = np.repeat(np.arange(len(groups.indptr) - 1), np.diff(groups.indptr)) * groups.n_columns + groups.ids
    person = np.repeat(np.arange(len(group)), np.diff(people.indptr))
    wanted = group[person].astype(np.int64) * people.n_columns + people.ids
    place = np.searchsorted(cells, wanted).clip(max=len(cells) - 1)
    found = np.where(cells[place] == wanted, _unit(groups)[place], 0.0)
    cosine = np.bincount(person, found * _unit(people), minlength=len(group))
    return float(cosine[group >= 0].mean())


def unit_weights(profiles: Profiles) -> NDArray[np.float64]:
    """Return the weights of profiles at unit length."""
    return _unit(_Matrix(profiles.indptr, profiles.ids, _weights(profiles), len(profiles.vocabulary)))


def _weights(profiles: Profiles) -> NDArray[np.float64]:
    return np.ones(len(profiles.ids)) if profiles.weights is None else profiles.weights


def _unit(rows: _Matrix) -> NDArray[np.float64]:
    """Return the values of rows at unit length; those of a row of nothing but 0 stay 0."""
    row = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
    length = np.sqrt(np.bincount(row, rows.values**2, minlength=len(rows.indptr) - 1))[row]
    return np.divide(rows.values, length, out=np.zeros(len(row)), where=length > 0)
