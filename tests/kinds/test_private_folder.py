"""The private folder is written a group of rows at a time, and read back as the profiles it was written from."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from queryveil.core import arrow
from queryveil.core.files import MemoryPath
from queryveil.kinds.private_folder import PrivateFolder, RunRecord, write_contributors, write_private
from tests.builders import profiles_of


@pytest.mark.parametrize("n_rows", [1, 2, 3, 100])
def test_profiles_come_back_from_groups_of_any_size(n_rows: int) -> None:
    built = profiles_of([["a", "b", "b"], ["c"], ["a"], ["b", "c", "a"], ["d"]], owners=[0, 1, 1, 2, 3])
    profiles = replace(built, partition=np.array([0, 1, 1, 0, 1], np.int32), partition_values=("x", "y"))
    profiles = replace(profiles, weights=np.arange(1.0, 1 + len(built.ids)))
    histories = np.array([0, 1, 1, 2, 3, 4])  # the second one is in two pieces
    release_ids = np.array([3, 0, 1, -1, 2, -1])
    folder = PrivateFolder(MemoryPath("private"))
    with patch.object(arrow, "_GROUP_ROWS", n_rows):
        write_private(folder.path, profiles, release_ids, RunRecord(1, "km", "histories", "0"), histories)
        write_contributors(folder.path, ["u0", "u1", "u3"], np.array([4, 5, 4]), frozen=[5])
    found = folder.log_profiles
    assert (found.vocabulary, found.persons) == (profiles.vocabulary, profiles.persons)
    for name in ("indptr", "ids", "counts", "owner", "weights"):
        assert getattr(found, name).tolist() == getattr(profiles, name).tolist()
    membership = folder.membership().to_pydict()
    assert membership["person"] == ["u0", "u1", "u1", "u1", "u2", "u3"]
    assert membership["history"] == histories.tolist()
    assert membership["release_id"] == [3, 0, 1, None, 2, None]
    assert membership["partition"] == list("xyyyxy")
    assert (folder.contributors(), folder.frozen_groups()) == ({"u0": 4, "u1": 5, "u3": 4}, (5,))
