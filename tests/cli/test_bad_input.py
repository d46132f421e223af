"""Bad input of every kind: one sentence that says what, where and what to do; exit code 2; nothing written."""

import errno
import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from queryveil.cli import run

SECRET = "xylophonist"
HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
LINES = [f"u{i % 6}\tcheap {SECRET} {i % 3}\t2006-03-01 07:{i:02}:00\t\t\n" for i in range(30)]
METHOD = ["--method", "km(k=2, m=2)"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a working folder with logs good and bad, and a temporary folder of its own."""
    temporary, here = tmp_path / "temporary", tmp_path / "here"
    temporary.mkdir()
    here.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(here)
    good = (HEADER + "".join(LINES)).encode()
    packed = pa.compress(good * 50, codec="zstd", asbytes=True)
    contents = {
        "log.tsv": good,
        "empty": b"",
        "blank": b"\n\n",
        "header only": HEADER.encode(),
        "no user.csv": f"who,query\na,{SECRET}\n".encode(),
        "no header.csv": f"alice,{SECRET}\nbob,{SECRET}\n".encode(),
        "comma.csv": good.replace(b"\t", b","),
        "binary": bytes(range(256)) * 20,
        "utf16.tsv": good.decode().encode("utf-16"),
        "latin1.tsv": good.replace(b"cheap", b"caf\xe9"),
        "cut.tsv.gz": gzip.compress(good)[:-12],
        "cut far.tsv.gz": gzip.compress(os.urandom(200_000).hex().encode() + good)[:-12],
        "cut.tsv.zst": packed[:-7],
        "plain.gz": b"\x1f\x8b" + good,
        "cut.parquet": b"PAR1" + good,
        "words": f"one {SECRET}\nthree four\n".encode(),
        "values.csv": b"term,value\ncheap,3\n",
        "no value.csv": b"term,worth\ncheap,3\n",
        "text value.csv": b"term,value\ncheap,3\ncars,much\n",
        "twice.csv": b"term,value\ncheap,3\ncars,2\nCHEAP,4\n",
        "market.csv": b"term,bid,clicks,impressions\ncheap,3,,7\n",
        "no clicks.csv": b"term,bid,impressions\ncheap,3,7\n",
        "text bid.csv": b"term,bid,clicks,impressions\ncheap,3,1,7\ncars,much,1,7\n",
        "negative.tsv": b"term\tbid\tclicks\timpressions\ncheap\t3\t-1\t7\n",
        "infinite.csv": b"term,bid,clicks,impressions\ncheap,3,1,inf\n",
        "term twice.csv": b"term,bid,clicks,impressions\ncheap,3,1,7\ncars,1,1,7\nCheap!,4,4,4\n",
        "another market.csv": b"term,bid,clicks,impressions\nboats,3,1,7\n",
        "semicolons.csv": b"term;bid;clicks;impressions\ncheap;3;1;7\n",
        "no rows.csv": b"term,bid,clicks,impressions\n",
        "file": b"",
    }
    for name, content in contents.items():
        (here / name).write_bytes(content)
    (here / "logs").mkdir()
    (here / "logs" / "a.tsv").write_bytes(good)
    (here / "old").mkdir()
    (here / "old" / "keep me").write_text("x")
    return here


def anonymize(*arguments: str, log: str = "log.tsv", method: str = "km(k=2, m=2)", out: str = "out") -> list[str]:
    return ["anonymize", log, "--method", method, "--out", out, *arguments]


CASES: dict[str, tuple[list[str], str]] = {
    # the log
    "no such file": (anonymize(log="none.tsv"), "there is no file none.tsv; check the path."),
    "no match": (anonymize(log="none*.tsv"), "no file matches none*.tsv; check the pattern."),
    "empty": (anonymize(log="empty"), "empty is empty; give a log with at least one line."),
    "blank": (anonymize(log="blank"), "blank is empty; give a log with at least one line."),
    "header only": (anonymize(log="header only"), "header only has no rows; give a log with at least one query."),
    "no user column": (
        anonymize("--format", "table", log="no user.csv"),
        "no user.csv, line 1: none of the 2 column names is that of a user, such as user or user_id or userid; name it "
        "with --columns user=COLUMN, or check the header and the delimiter.",
    ),
    "no header": (
        anonymize(log="no header.csv"),
        "no header.csv: the format could not be guessed; name it with --format (ubi, aol, excite, transactions, "
        "table), and the columns of a table with --columns user=…,query=….",
    ),
    "binary": (
        anonymize(log="binary"),
        "binary holds NUL bytes, so it is not UTF-8 text; convert it to UTF-8 text or Parquet.",
    ),
    "utf-16": (
        anonymize(log="utf16.tsv"),
        "utf16.tsv holds NUL bytes, so it is not UTF-8 text; it looks like UTF-16: give --encoding utf-16.",
    ),
    "latin-1": (
        anonymize(log="latin1.tsv"),
        "latin1.tsv: 30 of 30 lines are bad and 1 may be; the first is line 2 (bytes that are not UTF-8, see "
        "--encoding); correct the file, check --format and --columns, or raise --max-bad-lines.",
    ),
    "no such encoding": (
        anonymize("--encoding", "latin-0", log="latin1.tsv"),
        "--encoding: there is no text encoding 'latin-0'; name one such as latin-1, cp1252 or utf-16.",
    ),
    "wrong encoding": (
        anonymize("--encoding", "utf-16", log="latin1.tsv"),
        "latin1.tsv, line 1 has bytes that are not utf-16; check --encoding, or correct the file.",
    ),
    "no such configuration": (
        anonymize("--config", "none.toml"),
        "--config: none.toml cannot be read: No such file or directory; check the path.",
    ),
    "dry run on a cluster": (
        anonymize("--dry-run", "--engine", "spark"),
        "--dry-run tries the method on this machine; leave --engine and its options out.",
    ),
    "truncated gz": (
        anonymize(log="cut.tsv.gz"),
        "cut.tsv.gz is a truncated or damaged compressed file; fetch it again.",
    ),
    "truncated gz, far": (
        anonymize("--format", "transactions", log="cut far.tsv.gz"),
        "cut far.tsv.gz is a truncated or damaged compressed file; fetch it again.",
    ),
    "truncated zst": (
        anonymize(log="cut.tsv.zst"),
        "cut.tsv.zst is a truncated or damaged compressed file; fetch it again.",
    ),
    "not gz at all": (anonymize(log="plain.gz"), "plain.gz cannot be read: it is damaged; check the file."),
    "damaged parquet": (
        anonymize(log="cut.parquet"),
        "cut.parquet is a truncated or damaged Parquet file; write it again.",
    ),
    "wrong delimiter": (
        anonymize("--format", "aol", log="comma.csv"),
        "comma.csv, line 1: format aol needs the header AnonID Query QueryTime ItemRank ClickURL separated by tabs, "
        "which is not there; correct the header, or leave --format out if it is another format.",
    ),
    "wrong format": (
        anonymize("--format", "excite"),
        "log.tsv: format excite needs lines of user, time (yymmddhhmmss) and query separated by tabs, and most lines "
        "are not; leave --format out if it is another format.",
    ),
    "wrong json": (
        anonymize("--format", "ubi"),
        "log.tsv: format ubi needs JSON lines with client_id and user_query, and none has both; leave --format out if "
        "it is another format.",
    ),
    "a folder": (
        anonymize(log="logs"),
        "logs is a folder, not a log file; name the files in it, for example logs/*.",
    ),
    "not guessed": (anonymize(log="words"), "words: the format could not be guessed; name it with --format ("),
    "bad lines": (
        anonymize("--max-bad-lines", "0", "--columns", "user=ItemRank"),
        "log.tsv: 30 of 30 lines are bad and 0 may be; the first is line 2 (no user); correct the file, check --format "
        "and --columns, or raise --max-bad-lines.",
    ),
    "no such column": (
        anonymize("--columns", "user=AnnonID"),
        "log.tsv, line 1: there is no column 'AnnonID' for user; did you mean AnonID?",
    ),
    # the method
    "k too small": (
        anonymize(method="km(k=1, m=2)"),
        "km(k=1, m=2): k must be a whole number of at least 2, not 1; give another value.",
    ),
    "m too small": (
        anonymize(method="km(k=2, m=0)"),
        "km(k=2, m=0): m must be a whole number from 1 to 4, not 0; give another value.",
    ),
    "m too large": (
        anonymize(method="km(k=2, m=5)"),
        "km(k=2, m=5): m must be a whole number from 1 to 4, not 5; give another value.",
    ),
    "k larger than the people": (
        anonymize(method="km(k=7, m=2)"),
        "km(k=7, m=2): k = 7 is larger than the number of people in the log (6); lower k.",
    ),
    "unknown method": (anonymize(method="kn(k=2, m=2)"), "there is no method 'kn'; did you mean km?"),
    "unknown target": (
        anonymize(method="km(k=2, m=2, target=logsiz)"),
        "km(k=2, m=2, target=logsiz): target must be one of ",
    ),
    "unknown parameter": (
        anonymize(method="km(k=2, m=2, targt=users)"),
        "km(k=2, m=2, targt=users): km has no parameter 'targt'; did you mean target?",
    ),
    "missing parameter": (anonymize(method="km(k=2)"), "km(k=2): m is missing; give a whole number from 1 to 4"),
    "text for a number": (
        anonymize(method="km(k=ten, m=2)"),
        "km(k=ten, m=2): k must be a whole number of at least 2, not ten; give another value.",
    ),
    "not a name": (anonymize(method="km(k=2"), "'km(k=2' is not a name; write it like km(k=10, m=2)."),
    "a sweep": (anonymize(method="km(k=2|3, m=2)"), "km(k=2|3, m=2): alternatives (a|b) make a sweep"),
    "no values": (
        anonymize(method="km(k=2, m=2, target=file)"),
        "target=file needs the values of terms; give a file with the columns term, value by --values.",
    ),
    "values not there": (
        anonymize("--values", "none.csv", method="km(k=2, m=2, target=file)"),
        "none.csv cannot be read: No such file or directory; check --values.",
    ),
    "values without column": (
        anonymize("--values", "no value.csv", method="km(k=2, m=2, target=file)"),
        "no value.csv, line 1: the column value is missing; the file needs the columns term, value.",
    ),
    "value is text": (
        anonymize("--values", "text value.csv", method="km(k=2, m=2, target=file)"),
        "text value.csv, line 3: the value must be a number from 0 to 1e+15, not 'much'; correct it.",
    ),
    "term twice": (
        anonymize("--values", "twice.csv", method="km(k=2, m=2, target=file)"),
        "twice.csv, line 4: the term 'cheap' stands in line 2 already; keep one of them.",
    ),
    "ties of another algorithm": (
        anonymize(method="km(k=2, m=2, ties=random)"),
        "km(k=2, m=2, ties=random): ties is only for algorithm=paper; leave it out.",
    ),
    "ranking by the value of terms that have none": (
        anonymize(method="km(k=2, m=2, target=fis, algorithm=paper, ranking=value)"),
        "ranking=value needs a target that gives terms a value (bid, clicks, impressions, revenue, file), not fis.",
    ),
    "no market": (
        anonymize(method="km(k=2, m=2, target=revenue)"),
        "target=revenue needs a market table; give a file with the columns term, bid, clicks, impressions by --market.",
    ),
    "market not there": (
        anonymize("--market", "none.csv"),
        "none.csv cannot be read: No such file or directory; check --market.",
    ),
    "market empty": (
        anonymize("--market", "empty"),
        "empty is empty; give a file with the columns term, bid, clicks, impressions.",
    ),
    "market without rows": (anonymize("--market", "no rows.csv"), "no rows.csv has no rows; give at least one term"),
    "market without column": (
        anonymize("--market", "no clicks.csv"),
        "no clicks.csv, line 1: the column clicks is missing; the file needs the columns term, bid, clicks, "
        "impressions.",
    ),
    "market cut by semicolons": (
        anonymize("--market", "semicolons.csv"),
        "semicolons.csv, line 1: the column term is missing; the file needs the columns term, bid, clicks, "
        "impressions, separated by commas or tabs.",
    ),
    "bid is text": (
        anonymize("--market", "text bid.csv"),
        "text bid.csv, line 3: the bid must be a number from 0 to 1e+15, not 'much'; correct it or leave it empty.",
    ),
    "clicks are negative": (
        anonymize("--market", "negative.tsv"),
        "negative.tsv, line 2: the clicks must be a number from 0 to 1e+15, not '-1'; correct it or leave it empty.",
    ),
    "impressions are infinite": (
        anonymize("--market", "infinite.csv"),
        "infinite.csv, line 2: the impressions must be a number from 0 to 1e+15, not 'inf'; "
        "correct it or leave it empty.",
    ),
    "market term twice": (
        anonymize("--market", "term twice.csv"),
        "term twice.csv, line 4: the term 'cheap' stands in line 2 already; keep one of them.",
    ),
    "market of another log": (
        anonymize("--market", "another market.csv"),
        "another market.csv gives no value for any of the 5 terms of the log; check that it belongs to this log, and "
        "--charset.",
    ),
    "market without what the target needs": (
        anonymize("--market", "market.csv", method="km(k=2, m=2, target=clicks)"),
        "market.csv gives no clicks for any of the 5 terms of the log, so target=clicks has nothing to keep; fill in "
        "the column, or choose another target.",
    ),
    "an empty release": (anonymize(method="km(k=6, m=4)", log="nothing in common.csv"), "nothing would be left"),
    # the places
    "out exists": (
        anonymize(out="old"),
        "old exists already; choose another place, or replace it with --force.",
    ),
    "out is not ours": (
        anonymize("--force", out="old"),
        "old was not made by queryveil, so --force does not replace it; choose another place.",
    ),
    "out under a file": (
        anonymize(out="file/out"),
        "cannot write file/out: file is a file, not a folder; choose another place.",
    ),
    "no parent": (anonymize(out="none/out"), "cannot write none/out: there is no folder none; make it first."),
    "private inside": (anonymize("--private", "out/private"), "the private folder"),
    "private around": (anonymize("--private", ".", out="./out"), "the private folder"),
    "private is out": (anonymize("--private", "out"), "the private folder"),
    # the options
    "keep": (
        anonymize("--keep", "time"),
        "--keep needs single queries, so it goes with --kind log; add that or leave --keep out.",
    ),
    "keep a form": (
        anonymize("--keep", "time:week", "--kind", "log"),
        "--keep time:week: time cannot be coarsened to 'week'; give time or time:minute or time:hour or time:day.",
    ),
    "keep no form": (anonymize("--keep", "url:", "--kind", "log"), "--keep url:: url cannot be coarsened to '';"),
    "keep twice": (
        anonymize("--keep", "time,time:day", "--kind", "log"),
        "--keep names time twice; choose time or time:day.",
    ),
    "keep what is not there": (
        anonymize("--keep", "url:domain", "--kind", "log"),
        "--keep url:domain: the log has no url; leave it out or name its column by --columns.",
    ),
    "floor of nothing": (
        anonymize("--keep-floor", "3"),
        "--keep-floor is about columns that --keep names; add that or leave it out.",
    ),
    "floor of nobody": (
        anonymize("--keep", "time", "--kind", "log", "--keep-floor", "0"),
        "--keep-floor must be a whole number of at least 1",
    ),
    "keep what": (anonymize("--keep", "colour", "--kind", "log"), "--keep: there is no column 'colour' to keep;"),
    "kind": (anonymize("--kind", "logs"), "km(k=2, m=2) makes releases of kind histories or log, not 'logs'"),
    "bots": (anonymize("--bots", "abc"), "'--bots'"),
    "negative bots": (
        anonymize("--bots", "-1"),
        "Invalid value for '--bots': it must be a whole number of at least 0, not '-1'; give another value.",
    ),
    "seed": (anonymize("--seed", "x"), "'--seed'"),
    "gap": (anonymize("--session-gap", "soon"), "must be a duration such as 90s, 30m, 2h or 1d, not soon"),
    "no gap": (anonymize("--session-gap", "0m"), "must be a duration such as 90s, 30m, 2h or 1d, not 0m"),
    "history": (anonymize("--history", "week"), "must be user, session, day or window:DURATION"),
    "no window": (anonymize("--history", "window:0d"), "must be user, session, day or window:DURATION"),
    "memory": (anonymize("--memory-limit", "lots"), "must be a size such as 500MB or 2GB, not lots"),
    "little memory": (anonymize("--memory-limit", "1MB"), "--memory-limit must be at least 30MB"),
    "bad lines option": (anonymize("--max-bad-lines", "few"), "must be a number of lines, or a share such as 0.1%"),
    "columns": (anonymize("--columns", "user"), "must be role=column pairs such as user=uid,query=q,time=ts"),
    "role": (anonymize("--columns", "usr=a"), "--columns: there is no role 'usr'; did you mean user"),
    "role twice": (anonymize("--columns", "user=a,user=b"), "--columns: a role is given twice"),
    "charset": (anonymize("--charset", "ascii"), "--charset must be one of letters, paper, not ascii"),
    "format": (anonymize("--format", "aool"), "there is no format 'aool'; did you mean aol"),
    "partition": (
        anonymize("--partition-by", "land"),
        "log.tsv: there is no single column 'land' to partition by; compare it with the 5 column names",
    ),
    "unknown option": (anonymize("--sead", "1"), "No such option: --sead (Possible options: --seed)"),
    "unknown command": (["anonymise", "log.tsv"], "No such command 'anonymise'"),
    "no method": (["anonymize", "log.tsv", "--out", "out"], "--method"),
    "no log": (["anonymize", *METHOD, "--out", "out"], "Missing argument 'LOG'"),
}


def tree(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def check_sentence(stderr: str, expected: str) -> None:
    """One line, our name first, the words expected, nothing of the log."""
    assert stderr.startswith("queryveil: ")
    assert stderr.count("\n") == 1
    assert expected in stderr
    assert SECRET not in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_reported_in_one_sentence_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    arguments, expected = CASES[case]
    (folder / "nothing in common.csv").write_text("user,query\n" + "".join(f"u{i},w{i}\n" for i in range(6)))
    before = tree(folder)
    code = run(arguments)
    captured = capsys.readouterr()
    check_sentence(captured.err, expected)
    assert (code, captured.out) == (2, "")
    assert tree(folder) == before
    assert list((folder.parent / "temporary").iterdir()) == []


@pytest.mark.parametrize("case", ["no such file", "latin-1", "k too small", "out exists", "unknown option"])
def test_bad_input_in_a_subprocess(folder: Path, case: str) -> None:
    arguments, expected = CASES[case]
    before = tree(folder)
    environment = {**os.environ, "TMPDIR": str(folder.parent / "temporary")}
    done = subprocess.run(
        [sys.executable, "-m", "queryveil", *arguments], capture_output=True, text=True, check=False, env=environment
    )
    check_sentence(done.stderr, expected)
    assert (done.returncode, done.stdout) == (2, "")
    assert tree(folder) == before
    assert list((folder.parent / "temporary").iterdir()) == []


def test_a_pipe_is_refused_and_not_half_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "pipe")
    assert run(anonymize(log="pipe")) == 2
    check_sentence(capsys.readouterr().err, "pipe is not a regular file, and a log is read more than once; save it")


def test_a_file_without_read_permission_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("queryveil.logs.files.open_decompressed", refuse)  # the superuser may read anything
    assert run(anonymize()) == 2
    check_sentence(capsys.readouterr().err, "log.tsv cannot be read: Permission denied; check the file.")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["verify", "none"], "there is no release none; check the path."),
        (["verify", "log.tsv"], "name a guarantee by --claim"),
        (["verify", "old"], "old"),
        (["verify", "log.tsv", "--claim", "kn(k=2)"], "there is no guarantee 'kn'"),
        (["measure", "none", "--against", "log.tsv"], "none"),
        (["measure", "old", "--against", "log.tsv", "--measure", "retntion"], "retention"),
        (["generate", "none/log.tsv"], "none/log.tsv"),
        (["generate", "new.tsv", "--like", "dmo"], "demo"),
        (["generate", "new.tsv", "--like", "altavist"], "there is no log like 'altavist'; did you mean altavista?"),
        (["generate", "new.tsv", "--users", "0"], "users must be a whole number of at least 1, not 0"),
        (["generate", "log.tsv"], "log.tsv exists already"),
        (["generate", "logs", "--force"], "logs is a folder; give the name of a file"),
        (["generate", "new.tsv", "--market-out", "./new.tsv"], "the log and its market table cannot both be new.tsv"),
        (["reproduce", "burghardt", "--like", ""], "there is no log like ''; there are altavista, aol, demo."),
        (["reproduce", "burghardt", "--algorithm", "paper, target=users"], "algorithm must be one of best, paper, not"),
        (["compare", "log.tsv", *METHOD, "--market", "term twice.csv"], "line 4: the term 'cheap' stands in line 2"),
        (["compare", "log.tsv", *METHOD, "--market", "another market.csv"], "gives no value for any of the 5 terms"),
        (["compare", "log.tsv", *METHOD, "--out", "market.csv", "--force"], "market.csv is not a page of a comparison"),
        (["compare", "none.tsv", *METHOD], "there is no file none.tsv; check the path."),
        (["list", "metods"], "methods"),
    ],
)
def test_other_commands_report_bad_input_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    before = tree(folder)
    code = run(arguments)
    captured = capsys.readouterr()
    check_sentence(captured.err, expected)
    assert (code, captured.out) == (2, "")
    assert tree(folder) == before
