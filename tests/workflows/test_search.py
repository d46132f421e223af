"""The commands index and search: what they print, and the one sentence of every error."""

import json
import threading
from pathlib import Path

import pytest

import queryveil
from queryveil.cli import run
from queryveil.core.errors import InputError, UnknownNameError
from queryveil.search.index import RECORD_FILE

DOCUMENTS = [
    {"id": "island", "title": "Java", "text": "an island of Indonesia"},
    {"id": "language", "title": "Java", "text": "a programming language"},
    {"id": "coffee", "title": "Java beans", "text": "coffee by the cup"},
]
PROFILES = "user,term,weight\n" + "".join(
    f"{user},{term},1\n"
    for user, terms in (
        ("ann", "coffee tea cup"),
        ("bob", "coffee milk spoon"),
        ("cyd", "coffee sugar roast"),
        ("dan", "zzz yyy xxx"),
    )
    for term in terms.split()
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    Path("profiles.csv").write_text(PROFILES)
    return tmp_path


@pytest.fixture
def indexed(folder: Path) -> Path:
    queryveil.index("docs.jsonl", "index")
    return folder


@pytest.fixture
def released(indexed: Path) -> Path:
    queryveil.anonymize("profiles.csv", "linkability(p=0.5, floor=1)", "groups", private="private", seed=1)
    return indexed


def assert_refused(words: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"queryveil: {sentence}\n"


def test_a_corpus_is_indexed_and_searched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("docs.jsonl").write_text(Path("docs.jsonl").read_text() + '\n{"id": 4}\n{"id": 5, "text": "?!"}\n')
    assert run(["index", "docs.jsonl", "--out", "index"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "index: documents 3, terms 8, added 3 (form jsonl)\n"
    assert printed.err == "documents without text, left out: 2, the first at docs.jsonl, line 4\n"
    assert run(["search", "index", "java", "-n", "2"]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()[1:]] == ["island", "language"]
    assert run(["search", "index", "java", "--plain", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [hit["id"] for hit in found["hits"]] == ["island", "language", "coffee"]
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3]


def test_documents_are_added_to_an_index(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (indexed / "notes").mkdir()
    (indexed / "notes" / "javanese.txt").write_text("a language of Java")
    (indexed / "notes" / "image.png").write_bytes(b"\x89PNG\0")
    assert run(["index", "notes", "--out", "index", "--add", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["corpus"], done["documents"], done["added"], done["files_passed_over"]) == ("text", 4, 1, 1)
    assert run(["index", "docs.jsonl", "--out", "index", "--add"]) == 0
    printed = capsys.readouterr()
    assert ", added 0 (" in printed.out
    assert printed.err == "in the index already: 3\n"
    Path("docs.jsonl").write_text('{"id": "island", "text": "another text"}')
    assert_refused(
        "index docs.jsonl --out index --add",
        "docs.jsonl, line 1: the index has another text under the id island; make the index anew from all documents "
        "with --force.",
        capsys,
    )
    assert run(["index", "docs.jsonl", "--out", "index", "--force"]) == 0
    assert capsys.readouterr().out == "index: documents 1, terms 2, added 1 (form jsonl)\n"
    assert sorted(path.name for path in indexed.iterdir()) == ["docs.jsonl", "index", "notes", "profiles.csv"]


def test_a_bad_corpus_is_refused_and_leaves_no_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.jsonl").write_text("")
    Path("blank.jsonl").write_text('{"id": 1, "text": " "}\n')
    Path("twice.jsonl").write_text('{"id": 1, "text": "a b"}\n{"id": 1, "text": "c d"}\n')
    Path("bad.jsonl").write_text('{"id": 1, "text": "a b"}\n{"id"\n')
    before = sorted(folder.iterdir())
    for name in ("empty", "blank"):
        sentence = f"{name}.jsonl has no document with text; give documents that have some."
        assert_refused(f"index {name}.jsonl --out index", sentence, capsys)
    sentence = "twice.jsonl, line 2: the id 1 occurs a second time; give every document its own."
    assert_refused("index twice.jsonl --out index", sentence, capsys)
    sentence = "bad.jsonl, line 2 is no JSON object; give one document per line."
    assert_refused("index bad.jsonl --out index", sentence, capsys)
    assert sorted(folder.iterdir()) == before


def test_bad_paths_are_refused(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "index exists already; choose another place, or replace it with --force."
    assert_refused("index docs.jsonl --out index", sentence, capsys)
    sentence = "--add keeps the index there is and --force replaces it; give one of them."
    assert_refused("index docs.jsonl --out index --add --force", sentence, capsys)
    sentence = "new is no index: it has no index.json; make one with queryveil index."
    assert_refused("index docs.jsonl --out new --add", sentence, capsys)
    assert_refused("search new java", sentence, capsys)
    (indexed / "mine").mkdir()
    (indexed / "mine" / "thesis.txt").write_text("precious")
    sentence = "mine was not made by queryveil, so --force does not replace it; choose another place."
    assert_refused("index docs.jsonl --out mine --force", sentence, capsys)
    sentence = "mine/index would lie among the documents of mine; choose another place."
    assert_refused("index mine --out mine/index", sentence, capsys)
    (indexed / "index" / "ids.npy").write_bytes(b"")
    sentence = "index is damaged: ids.npy has been changed; make it anew with queryveil index --force."
    assert_refused("search index java", sentence, capsys)
    assert_refused("index docs.jsonl --out index --add", sentence, capsys)


def test_a_query_without_words_or_results_is_not_an_error(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for query, note in (("?!", "the query has no word to search for.\n"), ("zebra", "nothing was found.\n")):
        assert run(["search", "index", query]) == 0
        printed = capsys.readouterr()
        assert (printed.out, printed.err) == ("", note)
    assert run(["search", "index", "?!", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"] == []


def test_a_profile_without_known_terms_keeps_the_engines_order(
    indexed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", "index", "java", "--as-user", "dan", "--profiles", "profiles.csv"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "no term of the profile is in the index, so the order is the engine's own.\n"
    assert [line.split()[3] for line in printed.out.splitlines()[1:]] == ["island", "language", "coffee"]


def test_bad_groups_users_and_options_are_refused(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = (
        "--as-group names a group of the release that --groups gives, and --as-everybody means all of them; "
        "give one of them with --groups, or none."
    )
    assert_refused("search index java --as-group 0", sentence, capsys)
    assert_refused("search index java --groups groups", sentence, capsys)
    sentence = "--as-user names a person of the file that --profiles gives; give both or none."
    assert_refused("search index java --as-user ann", sentence, capsys)
    sentence = (
        "a search is plain, as a group, as everybody or as a user; give one of --plain, --as-group, "
        "--as-everybody and --as-user."
    )
    assert_refused("search index java --plain --as-user ann --profiles profiles.csv", sentence, capsys)
    assert_refused(
        "search index java --as-group 99 --groups groups", "groups has no group 99; the nearest are 0.", capsys
    )
    sentence = "profiles.csv has no user 'anne'; the nearest are ann, dan, cyd."
    assert_refused("search index java --as-user anne --profiles profiles.csv", sentence, capsys)
    sentence = "there is no file nowhere.csv; check --profiles."
    assert_refused("search index java --as-user ann --profiles nowhere.csv", sentence, capsys)
    sentence = "docs.jsonl is no profile file (user, term, weight); queryveil profiles writes one."
    assert_refused("search index java --as-user ann --profiles docs.jsonl", sentence, capsys)
    assert_refused(
        "search index java --blend 2", "--blend must be a number from 0 to 1, not 2; give another value.", capsys
    )
    assert_refused("search index java -n 0", "n must be a whole number of at least 1, not 0; change it.", capsys)
    part = next((released / "groups" / "data").iterdir())
    part.write_bytes(part.read_bytes() + b" ")
    sentence = (
        f"groups is not as it was released: data/{part.name} has been changed since it was released; get it anew."
    )
    assert_refused("search index java --as-group 0 --groups groups", sentence, capsys)


def test_a_release_of_another_kind_is_refused(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.csv").write_text("user,query\n1,tea\n2,tea\n")
    queryveil.anonymize("log.csv", "km(k=2, m=1)", "histories")
    sentence = "histories is a release of histories, not of groups; make one with linkability."
    assert_refused("search index java --as-group 0 --groups histories", sentence, capsys)


def test_a_searcher_serves_groups_from_several_threads(released: Path) -> None:
    searcher = queryveil.Searcher("index", groups="groups")
    assert searcher.groups == (0,)
    assert [hit.id for hit in searcher.search("java").hits] == ["island", "language", "coffee"]
    assert searcher.search("java", 0, n=1, explain=True).hits[0].terms[0][0] == "coffee"
    with pytest.raises(UnknownNameError, match="groups has no group 7; the nearest are 0"):
        searcher.search("java", 7)
    with pytest.raises(InputError, match="a group is one of a release; give the release as groups"):
        queryveil.Searcher("index").search("java", 0)
    fresh = queryveil.Searcher("index", groups="groups")
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(fresh.search("java", 0).hits[0].id)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["coffee"] * 8


def test_an_index_moved_aside_by_a_killed_run_is_recovered(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from queryveil.release import atomic_folder

    with atomic_folder.open_workspace(Path("index")) as workspace:
        name = workspace.name
    left = indexed / name
    (left / atomic_folder.ASIDE).mkdir(parents=True, mode=0o700)
    (indexed / "index").rename(left / atomic_folder.ASIDE / "index")
    assert run(["search", "index", "java"]) == 0
    assert "island" in capsys.readouterr().out
    assert (indexed / "index" / RECORD_FILE).is_file()
    assert not left.exists()
