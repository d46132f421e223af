"""A killed server leaves nothing raw or private that no page of the next one lists.

`python -m benchmarks.crashes` tries 200 moments.
"""

import random
from pathlib import Path

import pytest

from queryveil.serve.run_files import remove_leftovers
from queryveil.serve.run_specs import AnonymizeSpec
from queryveil.serve.store import LogRow, RunRow, Store
from tests.serve.killing import (
    LONGEST,
    OPERATIONS,
    Template,
    kill_at,
    make_template,
    moments,
    serving_process,
    unlisted,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return make_template(tmp_path_factory.mktemp("crash"))


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_nothing_unlisted_is_left_after_a_kill(template: Template, name: str) -> None:
    for delay in moments(2, LONGEST[name], random.Random(1)):
        assert kill_at(template, OPERATIONS[name], delay) == [], f"killed after {delay} s"


def test_look_finds_what_a_server_without_journal_would_leave(template: Template) -> None:
    template.restore()
    for place in ("logs/0123456789ab/log", "runs/0123456789ab/private/run.json", "runs/0123456789ab/release/a"):
        path = template.home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("left over")
    with serving_process(template.home) as (client, _):  # the start removes what was left
        assert unlisted(client, template.home) == []
        path.parent.mkdir(parents=True)
        path.write_text("left over")
        assert str(path) in unlisted(client, template.home)


def test_leftovers_are_removed_and_the_rest_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    log = store.add(LogRow(name="log", kind="upload", path=str(tmp_path / "log"), filename="log", reading={}))
    spec = AnonymizeSpec(method="km(k=2, m=2)")
    rows = [RunRow.queued(name, spec, log=log.id) for name in ("done", "forgotten", "interrupted", "queued")]
    for row, state in zip(rows, ("done", "done", "interrupted", "queued"), strict=True):
        store.add(row)
        store.execute("UPDATE runs SET state = ? WHERE id = ?", state, row.id)
    store.execute("UPDATE runs SET forgotten = 'now' WHERE id = ?", rows[1].id)
    kept = [f"logs/{log.id}/log", "logs/my own/log", f"runs/{rows[0].id}/private/a", f"runs/{rows[1].id}/release/a"]
    kept.append(f"runs/{rows[3].id}/upload/file")  # which the run will be on
    gone = [
        "logs/0123456789ab/log",
        "tmp/spooled",
        f"logs/{log.id}/.queryveil-file-1/new",
        f"runs/{rows[0].id}/tmp/a",
        f"runs/{rows[0].id}/.queryveil-x/a",
        f"runs/{rows[1].id}/private/a",
        f"runs/{rows[2].id}/release/a",
        f"runs/{rows[3].id}/private/a",
        "runs/0123456789ab/private/a",
    ]
    for place in (*kept, *gone):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("text")
    remove_leftovers(tmp_path, store)
    assert [place for place in (*kept, *gone) if (tmp_path / place).exists()] == kept
    store.close()
