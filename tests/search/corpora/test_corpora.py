"""Document formats: what each reader yields, how a format is detected, and where errors of bad files are located."""

import gzip
from pathlib import Path

import pytest

from queryveil.core.errors import CorpusError, UnknownNameError
from queryveil.core.names import declarations
from queryveil.search.corpora.base import Document, find_corpus, read_documents

REUTERS = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987</DATE>
<TEXT>&#2;
<TITLE>BAHIA COCOA REVIEW</TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers &lt;continued>
throughout the week.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" OLDID="5545" NEWID="2">
<TEXT TYPE="BRIEF">&#2;
<TITLE>BANK OF JAPAN</TITLE>
</TEXT>
</REUTERS>
<REUTERS TOPICS="NO" OLDID="5546" NEWID="3">
<TEXT TYPE="UNPROC">&#2;
caf\xe9 prices
</TEXT>
</REUTERS>
""".encode("latin-1")

TREC = b"""<DOC>
<DOCNO> FT911-1 </DOCNO>
<HEADLINE>FT  14 MAY 91 / Java</HEADLINE>
<TEXT>
<P>An island &amp; a language.</P>
</TEXT>
<TEXT>And coffee.</TEXT>
</DOC>
<doc><docno>2</docno> everything is text </doc>
"""

SMART = b""".I 1
.T
experimental investigation
of a wing
.A
brenckman,m.
.W
the wing in a
slipstream .
.I 2
.W
.I 3
.T
only a title
.X
1 5 3
"""

JSONL = b"""{"id": "a", "title": "Java", "text": "an island"}

{"_id": 7, "contents": "a\\n language"}
"""

FORMATS = {
    "reuters": (
        "reut2-000.sgm",
        REUTERS,
        [
            ("1", "BAHIA COCOA REVIEW", "Showers <continued> throughout the week. Reuter", 2),
            ("2", "BANK OF JAPAN", "", 11),
            ("3", "", "café prices", 16),
        ],
    ),
    "trec": (
        "ft911",
        TREC,
        [
            ("FT911-1", "FT 14 MAY 91 / Java", "An island & a language. And coffee.", 1),
            ("2", "", "everything is text", 9),
        ],
    ),
    "smart": (
        "cran.all",
        SMART,
        [
            ("1", "experimental investigation of a wing", "the wing in a slipstream .", 1),
            ("2", "", "", 10),
            ("3", "only a title", "", 12),
        ],
    ),
    "jsonl": ("docs.jsonl", JSONL, [("a", "Java", "an island", 1), ("7", "", "a language", 3)]),
    "text": ("java.txt", b"An island\nof Indonesia.\n", [("java.txt", "java", "An island of Indonesia.", 0)]),
}


def documents(path: Path, form: str = "") -> list[Document]:
    return list(read_documents(find_corpus(path, form)))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("compressed", [False, True])
def test_the_format_of_a_file_is_detected(form: str, compressed: bool, tmp_path: Path) -> None:
    name, data, expected = FORMATS[form]
    path = tmp_path / (f"{name}.gz" if compressed else name)
    path.write_bytes(gzip.compress(data) if compressed else data)
    assert find_corpus(path).corpus.name == form
    found = documents(path)
    assert [(d.title, d.text) for d in found] == [(title, text) for _, title, text, _ in expected]
    if form != "text":
        assert [d.id for d in found] == [number for number, *_ in expected]
        assert [d.location for d in found] == [f"{path}, line {line}" for *_, line in expected]
    assert documents(path, form) == found


@pytest.mark.parametrize("form", FORMATS)
def test_a_folder_is_read_file_by_file(form: str, tmp_path: Path) -> None:
    name, data, expected = FORMATS[form]
    (tmp_path / "b").mkdir()
    for path in (tmp_path / "b" / name, tmp_path / f"a-{name}"):
        path.write_bytes(data)
    (tmp_path / ".hidden").write_bytes(b"\0\0")
    (tmp_path / "README").write_bytes(b"\0 of another form")
    found = find_corpus(tmp_path)
    assert (found.corpus.name, found.n_skipped) == (form, 1)
    assert [file.name for file in found.files] == [f"a-{name}", f"b/{name}"]
    assert len(list(read_documents(found))) == 2 * len(expected)


def test_reading_reports_progress(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("some text")
    seen: list[tuple[str, int, int]] = []
    list(read_documents(find_corpus(tmp_path), lambda *report: seen.append(report)))
    assert seen[-1] == ("indexing", 27, 27)
    assert all(0 <= done <= total for _, done, total in seen)


def test_wordnet_is_found_by_name_with_first_senses_first() -> None:
    found = {d.id: (number, d) for number, d in enumerate(read_documents(find_corpus("wordnet")))}
    assert len(found) == 117_659
    island, language, coffee = found["n08908248"], found["n06901053"], found["n07929519"]
    assert island[0] < language[0]
    assert (island[1].title, language[1].title, coffee[1].title) == ("java", "java", "coffee, java")
    assert island[1].text.startswith("an island in Indonesia")


def test_a_folder_named_wordnet_hides_the_bundled_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wordnet").mkdir()
    (tmp_path / "wordnet" / "a.txt").write_text("an island")
    assert find_corpus("wordnet").corpus.name == "text"


BAD = [
    (
        "a.jsonl",
        b'{"id": 1, "text": "a"}\n{"id": 2,\n',
        "a.jsonl, line 2 is no JSON object; give one document per line.",
    ),
    ("a.jsonl", b'{"text": "a"}\n', "a.jsonl, line 1 has no id; give every document one"),
    ("a.jsonl", b'{"id": 1, "text": 5}\n', "a.jsonl, line 1: text is not a text; give one."),
    ("a.sgm", b"<REUTERS OLDID='1'>\n</REUTERS>\n", "a.sgm, line 1: the story has no NEWID"),
    ("a.sgm", b'\n<REUTERS NEWID="1">\n<TEXT>\n', "a.sgm, line 2 begins a document that does not end"),
    ("a", b"<DOC>\n<DOCNO>1</DOCNO></DOC>\n<DOC>\n</DOC>", "a, line 3: the document has no <DOCNO>"),
    ("a.gz", gzip.compress(JSONL * 500)[:-20], "a.gz is damaged: it cannot be decompressed; get it anew."),
]


@pytest.mark.parametrize(("name", "data", "message"), BAD)
def test_errors_of_bad_files_name_file_and_line(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CorpusError) as caught:
        documents(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / message))


def test_bad_paths_and_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="there is no file or folder"):
        find_corpus(tmp_path / "nowhere")
    with pytest.raises(UnknownNameError, match="there is no corpus 'reuter'; did you mean reuters"):
        find_corpus(tmp_path, "reuter")
    with pytest.raises(CorpusError, match="wordnet is bundled and is in no file; write queryveil index wordnet"):
        find_corpus(tmp_path, "wordnet")
    with pytest.raises(CorpusError, match="wordnet is bundled and not trec; leave --format out"):
        find_corpus("wordnet", "trec")
    with pytest.raises(CorpusError, match="is an empty folder; give documents"):
        find_corpus(tmp_path)
    (tmp_path / "image").write_bytes(b"\0")
    with pytest.raises(CorpusError, match="has no documents in a form that can be guessed"):
        find_corpus(tmp_path)
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.txt").write_text("text")
    with pytest.raises(CorpusError, match="has no documents in the form trec"):
        find_corpus(tmp_path, "trec")
    (tmp_path / "c.bin").write_bytes(b"\0\1")
    with pytest.raises(CorpusError, match=r"c\.bin is no text; take it away"):
        documents(tmp_path, "text")


def test_every_format_is_declared() -> None:
    assert set(declarations("corpus")) == {*FORMATS, "wordnet"}
    assert all(callable(declaration.load()) for declaration in declarations("corpus").values())
