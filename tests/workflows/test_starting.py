"""Starting from a weaker result: which runs may, in what order a sweep goes, and what is refused."""

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError
from queryveil.core.names import Name, resolve
from queryveil.kinds.histories import HISTORIES
from queryveil.logs.generate import generate
from queryveil.logs.options import CleaningOptions
from queryveil.methods.base import MethodTask
from queryveil.workflows.anonymize import plan_release
from queryveil.workflows.compare import sweep_chains
from queryveil.workflows.earlier_releases import may_start_from, open_weaker_release
from queryveil.workflows.local_run import run_method
from queryveil.workflows.requests import ReleaseRequest
from tests.workflows.small_log import write_log


def km(**arguments: Any) -> Any:
    return resolve("method", Name("km", tuple(arguments.items())))


@pytest.mark.parametrize(
    ("weaker", "stronger", "expected"),
    [
        ({"k": 2, "m": 2}, {"k": 2, "m": 3}, True),
        ({"k": 2, "m": 2}, {"k": 5, "m": 2}, True),
        ({"k": 2, "m": 2}, {"k": 2, "m": 2}, True),
        ({"k": 2, "m": 3}, {"k": 2, "m": 2}, False),
        ({"k": 5, "m": 2}, {"k": 2, "m": 3}, False),
        ({"k": 2, "m": 2, "target": "users"}, {"k": 2, "m": 3}, False),
        ({"k": 2, "m": 2, "target": "users"}, {"k": 2, "m": 3, "target": "users"}, True),
    ],
)
def test_a_start_is_the_same_method_under_no_stronger_guarantee(
    weaker: dict[str, Any], stronger: dict[str, Any], expected: bool
) -> None:
    assert may_start_from(km(**weaker), km(**stronger)) is expected


def test_a_sweep_goes_in_chains_along_m() -> None:
    methods = [
        km(k=10, m=3),
        km(k=2, m=2, target="users"),
        km(k=10, m=1),
        km(k=2, m=3),
        km(k=2, m=4, target="users"),
        km(k=10, m=2),
    ]
    plans = [plan_release(ReleaseRequest(log=(), method=str(method), out=Path())) for method in methods]
    found = [[str(plan.method) for plan in chain] for chain in sweep_chains(plans)]
    assert found == [
        ["km(k=10, m=1)", "km(k=10, m=2)", "km(k=10, m=3)"],
        ["km(k=2, m=2, target=users)", "km(k=2, m=4, target=users)"],
        ["km(k=2, m=3)"],
    ]
    for chain in sweep_chains(plans):
        assert all(may_start_from(a.method, b.method) for a, b in pairwise(chain))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log, releases of it under weaker and stronger guarantees, and another log."""
    place = tmp_path_factory.mktemp("starting")
    for name, seed in (("log.tsv", 5), ("other.tsv", 6)):
        generate(place / name, like="demo", users=200, rng=np.random.default_rng(seed))
    for name, method in (("weak", "km(k=3, m=2)"), ("strong", "km(k=4, m=3)"), ("users", "km(k=3, m=2, target=users)")):
        queryveil.anonymize(place / "log.tsv", method, place / name, private=place / f"{name}-private", seed=1)
    return place


def begin(folder: Path, out: Path, **options: Any) -> Any:
    values = {"log": "log.tsv", "start": "weak", "private": "weak-private", "method": "km(k=3, m=3)", **options}
    log, start, private, method = (values.pop(key) for key in ("log", "start", "private", "method"))
    private = None if private is None else folder / private
    return queryveil.anonymize(
        folder / log, method, out, start_from=folder / start, start_from_private=private, seed=1, **values
    )


@pytest.mark.parametrize("options", [{}, {"history": "day"}, {"partition_by": "country"}])
def test_a_release_starts_from_another(tmp_path: Path, options: dict[str, Any]) -> None:
    log = write_log(tmp_path, 7)
    weak, private, out = tmp_path / "weak", tmp_path / "private", tmp_path / "out"
    queryveil.anonymize(log, "km(k=3, m=2)", weak, private=private, seed=1, **options)
    done = queryveil.anonymize(
        log,
        "km(k=3, m=3)",
        out,
        private=tmp_path / "out-private",
        seed=1,
        start_from=weak,
        start_from_private=private,
        **options,
    )
    assert done.verdict.holds
    assert pairs_behind(out, tmp_path / "out-private") < pairs_behind(weak, private)
    record = json.loads((tmp_path / "out-private" / "run.json").read_text())
    digest = json.loads((weak / "manifest.json").read_text())["content_sha256"]
    assert record["start_from"] == {"method": "km(k=3, m=2)", "content_sha256": digest}
    assert "start_from" not in (out / "manifest.json").read_text()


def pairs_behind(out: Path, private: Path) -> set[tuple[int, str]]:
    members = pq.ParquetFile(private / "membership.parquet").read().to_pylist()
    history = {member["release_id"]: member["history"] for member in members}
    return {(history[row["user"]], row["term"]) for row in queryveil.load(out).to_arrow().to_pylist()}


def test_the_mask_is_what_the_weaker_run_kept(folder: Path) -> None:
    profiles = queryveil.profiles(folder / "log.tsv")
    weaker = resolve("method", "km(k=3, m=2)")
    stronger = resolve("method", "km(k=3, m=3)")
    start = open_weaker_release(folder / "weak", folder / "weak-private", stronger, HISTORIES, CleaningOptions())
    kept: Any = run_method(MethodTask(profiles, weaker, np.random.default_rng(1)))
    assert np.array_equal(start.mask(profiles), kept.mask)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"private": None}, "start_from needs that release's private folder; give it by start_from_private"),
        ({"start": "strong", "private": "strong-private"}, "its guarantee is stronger than that of km"),
        ({"start": "users", "private": "users-private"}, "can start only from a release made in the same way"),
        ({"private": "users-private"}, "users-private does not belong to this release"),
        ({"log": "other.tsv"}, "is a release of another log: its private folder holds other histories"),
        ({"bots": 0, "charset": "paper"}, "its log was cleaned in another way"),
        ({"kind": "log"}, "is of kind histories, not log; start from a release of the same kind"),
        ({"start": "nowhere"}, "is not a finished release"),
        ({"method": "km(k=2, m=3)"}, "start from a release with k of at most 2 and m of at most 3"),
    ],
)
def test_what_cannot_be_started_from(folder: Path, tmp_path: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        begin(folder, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


def change_rows(out: Path) -> None:
    part = out / "data" / "part-00000.parquet"
    pq.write_table(pq.ParquetFile(part).read().slice(1), part)


def change_counts(out: Path) -> None:
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["counts"]["after"]["pairs"] += 1
    (out / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("tamper", [change_rows, change_counts])
def test_a_tampered_release_is_not_relied_on(folder: Path, tmp_path: Path, tamper: Callable[[Path], None]) -> None:
    shutil.copytree(folder / "weak", tmp_path / "weak")
    tamper(tmp_path / "weak")
    with pytest.raises(InputError, match=r"cannot be relied on: The release is not as it was made"):
        begin(folder, tmp_path / "out", start=tmp_path / "weak")
    assert [path.name for path in tmp_path.iterdir()] == ["weak"]


def test_the_command_says_one_sentence(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "out")]
    log = ["anonymize", str(folder / "log.tsv"), "--method", "km(k=3, m=3)", *out]
    assert run([*log, "--start-from-private", str(folder / "weak-private")]) == 2
    assert "--start-from-private goes with --start-from; give that too" in capsys.readouterr().err
    assert run([*log, "--start-from", str(folder / "strong"), "--start-from-private", str(folder)]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    start = ["--start-from", str(folder / "weak"), "--start-from-private", str(folder / "weak-private")]
    assert run([*log, *start]) == 0
    assert "km(k=3, m=3) holds" in capsys.readouterr().out


@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_part_of_which_nothing_was_left_stays_empty(tmp_path: Path, m: int) -> None:
    log = tmp_path / "log.csv"
    shared = "".join(f"a{i},tea milk,de\n" for i in range(4))
    apart = "".join(f"b{i},word{i},fr\n" for i in range(4))  # enough people, but nothing in common
    log.write_text(f"user,query,country\n{shared}{apart}")
    private = tmp_path / "private"
    queryveil.anonymize(log, "km(k=2, m=1)", tmp_path / "weak", private=private, partition_by="country")
    done = queryveil.anonymize(
        log,
        f"km(k=3, m={m})",
        tmp_path / "out",
        start_from=tmp_path / "weak",
        start_from_private=private,
        partition_by="country",
    )
    assert done.verdict.holds
    assert set(done.to_pandas()["partition"]) == {"de"}
