"""Describing a log: every exact figure equals a slow count, nothing of the log is shown, bad input is one sentence."""

import json
import shlex
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import queryveil
from queryveil.cli import app, run
from queryveil.core.errors import InputError
from queryveil.report.description import LogDescription, render_description
from queryveil.workflows import describe as workflow
from queryveil.workflows.describe import script_of

WORDS = ["a", "b", "the", "cancer", "of", "straße", "99", ""]
QUERY = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
ROWS = st.lists(st.tuples(st.integers(0, 5), QUERY, st.integers(0, 3)), min_size=1, max_size=30)
SECRETS = ("zanzibarowner", "quartzsecret")


def describe(rows: list[tuple[int, str, int]], **options: Any) -> LogDescription:
    table = pa.table(
        {
            "user": [f"u{user}" for user, _, _ in rows],
            "query": [query for _, query, _ in rows],
            "time": [np.datetime64("2026-01-01", "s") + np.timedelta64(day, "D") for _, _, day in rows],
            "part": [f"c{user % 2}" for user, _, _ in rows],
        }
    )
    return queryveil.describe(table, **options)


def slow_tail(owners: dict[str, set[int]], occurrences: Counter[str]) -> dict[int, tuple[int, float]]:
    """Return how many entries fewer people hold, and their share of occurrences, counted one by one."""
    total = sum(occurrences.values())
    rare = {k: [entry for entry, people in owners.items() if len(people) < k] for k in (2, 3, 5, 10)}
    return {k: (len(found), sum(occurrences[entry] for entry in found) / total) for k, found in rare.items()}


def slow_alone(owners: dict[str, set[int]], held: dict[Any, set[str]]) -> float:
    """Return the share of histories that one random entry singles out, averaged over histories."""
    shares = [sum(len(owners[entry]) == 1 for entry in entries) / len(entries) for entries in held.values()]
    return sum(shares) / len(shares)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.sampled_from(["user", "day"]), st.booleans())
def test_exact_figures_equal_slow_counts(rows: list[tuple[int, str, int]], history: str, in_parts: bool) -> None:
    kept = {*rows}  # rows of one query are merged
    if not any(query.split() for _, query, _ in kept):
        with pytest.raises(InputError, match="no query of the log holds a term"):
            describe(rows)
        return
    found = describe(rows, history=history, **({"partition_by": "part"} if in_parts else {}))
    per_person = Counter(user for user, _, _ in kept)
    assert (found.rows, found.unreadable) == (len(rows), 0)
    assert (found.queries, found.merged) == (len(kept), len(rows) - len(kept))
    assert found.without_terms == sum(not query.split() for _, query, _ in kept)
    assert found.people == len(per_person)
    assert found.with_terms == len({user for user, query, _ in kept if query.split()})
    ordered = sorted(per_person.values())
    assert (found.per_person.least, found.per_person.most) == (ordered[0], ordered[-1])
    for share, value in ((0.5, found.per_person.median), (0.9, found.per_person.p90), (0.99, found.per_person.p99)):
        assert value == min(n for n in ordered if sum(m <= n for m in ordered) >= share * len(ordered) - 1e-9)
    for tail in found.tails:
        owners, occurrences, held = defaultdict(set), Counter[str](), defaultdict(set)
        for user, query, day in kept:
            for entry in {*query.split()} if tail.unit == "term" else {" ".join(query.split())} - {""}:
                owners[entry].add(user)
                occurrences[entry] += 1
                held[user, day if history == "day" else 0].add(entry)
        assert (tail.distinct, tail.occurrences) == (len(owners), sum(occurrences.values()))
        for k, (number, share) in slow_tail(owners, occurrences).items():
            assert tail.below(k)[0] == number
            assert tail.below(k)[1] == pytest.approx(share)
        exact = next(each for each in found.singled_out if each.unit == tail.unit and each.known == 1)
        assert exact.rate.value == pytest.approx(slow_alone(owners, held))
        assert exact.asked == len(held)
    top = [query for _, query, _ in kept if query.split()]
    assert found.content.looked_at == len(top)
    assert found.content.stop_words == pytest.approx(
        sum(bool({"a", "the", "of"} & {*q.split()}) for q in top) / len(top)
    )


def test_scripts_are_named() -> None:
    texts = ["hello", "straße", "привет мир a", "東京", "123", "مرحبا"]
    assert [script_of(text) for text in texts] == ["Latin", "Latin", "Cyrillic", "Han", "none", "Arabic"]


def test_a_large_log_is_sampled_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(i % 6, "cancer" if i % 4 == 0 else f"w{i}", i) for i in range(2_000)]
    whole = describe(rows, bots=0)
    monkeypatch.setattr(workflow, "MOST_QUERIES", 1_000)
    sampled = describe(rows, bots=0)
    assert not whole.content.is_sample
    assert (sampled.content.is_sample, sampled.content.looked_at) == (True, 1_000)
    assert sampled.content.sensitive.low <= whole.content.sensitive.value <= sampled.content.sensitive.high
    assert whole.content.topics["health"] == pytest.approx(0.25)
    assert any("a sample of 1,000" in part.lead for part in sampled.sections())
    assert describe(rows, bots=0).content == sampled.content


@pytest.fixture
def secret_log(tmp_path: Path) -> Path:
    lines = [
        f"{SECRETS[0] if i < 3 else f'u{i % 20}'},{SECRETS[1]} mail{i}@x.org the {i % 4},2026-01-0{1 + i % 9}"
        for i in range(60)
    ]
    path = tmp_path / "my log.csv"
    path.write_text("user,query,time\n" + "\n".join(lines) + "\n")
    return path


def test_nothing_of_the_log_is_shown(secret_log: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = queryveil.describe(secret_log, page=page)
    shown = [repr(found), json.dumps(found.record()), page.read_text(), found._repr_html_(), str(found.to_pandas())]
    for arguments in (["describe", str(secret_log)], ["describe", str(secret_log), "--json"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0
        shown.append(result.output)
    assert not [text for text in shown for secret in SECRETS if secret in text]
    assert len(repr(found)) < 200
    assert found.identifiers == {"email": 60}
    assert queryveil.describe(secret_log, scrub=False).identifiers is None


def test_the_page_is_static_and_equals_its_figures(secret_log: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = queryveil.describe(secret_log, page=page)
    html = page.read_text()
    assert "<script" not in html
    assert html == render_description(replace(found, page=None))
    assert all(part.title in html for part in found.sections())
    with pytest.raises(InputError, match=r"page\.html"):
        queryveil.describe(secret_log, page=page)
    (tmp_path / "other.html").write_text("mine")
    with pytest.raises(InputError, match=r"other\.html"):
        queryveil.describe(secret_log, page=tmp_path / "other.html", force=True)


def test_commands_to_try_next_can_be_run(secret_log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = queryveil.describe(secret_log, columns="user=user,query=query")
    commands = [shlex.split(command) for command, _ in found.next_commands()]
    assert all(words[0] == "queryveil" and "user=user,query=query" in " ".join(words) for words in commands)
    made = next(words for words in commands if words[1] == "anonymize")
    assert run(made[1:]) == 0
    assert run(["verify", "RELEASE", "--private", "PRIVATE"]) == 0


def test_figures_choose_the_commands() -> None:
    rows = [(user, f"the of a x{user}", user) for user in range(30)]
    commands = dict(describe(rows).next_commands())
    assert any("--stop-words english" in command for command in commands)
    assert any("--columns user=…" in command for command in commands)
    assert any("k=20" in command for command in commands)
    alone = [(user, f"w{user}", 0) for user in range(3) for _ in range(2)]
    assert not any("anonymize" in command for command, _ in describe(alone).next_commands())


def test_a_log_without_times_or_of_one_person(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query\nu1,a b\nu1,c\n")
    found = queryveil.describe(path)
    assert (found.begin, found.end, found.people) == (None, None, 1)
    assert [each.rate.value for each in found.singled_out] == [1.0] * 6
    assert any("time=…" in command for command, _ in found.next_commands())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("", "log.csv"), ("user,query\n", "has no rows"), ("user,query\n,a\n,b\n", "2 of 2 lines are bad")],
)
def test_logs_that_cannot_be_described(
    tmp_path: Path, content: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(content)
    assert run(["describe", str(path), "--out", str(tmp_path / "page.html")]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "page.html").exists()
