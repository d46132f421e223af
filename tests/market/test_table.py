"""Market tables and value files: CSV and TSV, empty cells, and one sentence for every fault."""

import math
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from queryveil.core.errors import InputError
from queryveil.market import FIGURES, read_market, read_values

HEADER = "term,bid,clicks,impressions\n"


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "market.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_figures_of_terms_with_gaps(tmp_path: Path) -> None:
    market = read_market(write(tmp_path, HEADER + "Cars,2,10,100\nloan,0.5,,40\n\nwig,,,\n"))
    found = {figure: market.of(figure, ["loan", "cars", "unknown", "wig"]) for figure in FIGURES}
    expected = {
        "bid": [0.5, 2, math.nan, math.nan],
        "clicks": [math.nan, 10, math.nan, math.nan],
        "impressions": [40, 100, math.nan, math.nan],
        "revenue": [math.nan, 20, math.nan, math.nan],
    }
    for figure, values in expected.items():
        np.testing.assert_array_equal(found[figure], values)


@pytest.mark.parametrize(
    "text",
    [
        "term\tbid\tclicks\timpressions\ncars\t2\t10\t1e2\n",
        "\ufeffterm,bid,clicks,impressions\r\ncars,2,10,100\r\n",
        'impressions,"Bid",note, Term ,CLICKS\n100,2,"a, b",CARS,10\n',
    ],
)
def test_delimiters_orders_and_other_columns(tmp_path: Path, text: str) -> None:
    market = read_market(write(tmp_path, text))
    assert [market.of(figure, ["cars"]).tolist() for figure in FIGURES] == [[2], [10], [100], [20]]


def test_terms_are_folded_like_those_of_the_log(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "Ø-Å,1,1,1\n")
    assert set(read_market(path).rows) == {"ø å"}
    assert set(read_market(path, "paper").rows) == {"å"}


def test_value_files_are_read_like_market_tables(tmp_path: Path) -> None:
    assert read_values(write(tmp_path, "value\tterm\n3\tCars\n0\tloan\n")) == {"cars": 3.0, "loan": 0.0}


FAULTS = {
    "": "market.csv is empty; give a file with the columns term, bid, clicks, impressions.",
    HEADER: "market.csv has no rows; give at least one term with its bid and clicks and impressions.",
    "term,bid,impressions\na,1,1\n": "market.csv, line 1: the column clicks is missing; the file needs the columns "
    "term, bid, clicks, impressions.",
    "term,bid,clicks,impressions,Bid\na,1,1,1,1\n": "market.csv, line 1: the column bid stands there twice; the file "
    "needs the columns term, bid, clicks, impressions.",
    HEADER + "a,1,2,3\nb,1,many,3\n": "market.csv, line 3: the clicks must be a number from 0 to 1e+15, not 'many'; "
    "correct it or leave it empty.",
    HEADER + "a,-1,2,3\n": "market.csv, line 2: the bid must be a number from 0 to 1e+15, not '-1'; "
    "correct it or leave "
    "it empty.",
    HEADER + "a,1,2,inf\n": "market.csv, line 2: the impressions must be a number from 0 to 1e+15, not 'inf'; "
    "correct it "
    "or leave it empty.",
    HEADER + "a,nan,2,3\n": "market.csv, line 2: the bid must be a number from 0 to 1e+15, not 'nan'; "
    "correct it or leave "
    "it empty.",
    HEADER + "a,1_0,2,3\n": "not '1_0'",
    HEADER + "a,1,2,3\nb,1,2,3\n\nA!,4,5,6\n": "market.csv, line 5: the term 'a' stands in line 2 already; keep one "
    "of them.",
    HEADER + "a,1,234,5,6\n": "market.csv, line 2: it has 5 cells, the first line 4; correct or quote it.",
    HEADER + "a,1\n": "market.csv, line 2: it has 2 cells, the first line 4; correct or quote it.",
    HEADER + "&,1,2,3\n": "market.csv, line 2: the term '&' holds no letter or digit; "
    "correct it or leave the line out.",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_reported_with_its_line_and_a_remedy(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_market(write(tmp_path, text))
    assert FAULTS[text] in str(caught.value)


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(HEADER + "cars,1,2,3\n",))
    writer.start()
    assert read_market(pipe).of("revenue", ["cars"]).tolist() == [2]
    writer.join()


def test_a_value_file_may_have_no_empty_cell(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: the value must be a number from 0 to 1e\+15, not ''; correct it\.$"):
        read_values(write(tmp_path, "term,value\ncars,\n"))


def test_files_that_are_not_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a UTF-8 CSV file; check --market"):
        read_market(write(tmp_path, HEADER.encode() + b"caf\xe9,1,2,3\n"))
    with pytest.raises(InputError, match="cannot be read: No such file or directory; check --market"):
        read_market(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read: Is a directory; check --market"):
        read_market(tmp_path)
