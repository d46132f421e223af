import pytest

from queryveil.core.errors import LogError
from queryveil.logs.layout import Layout, TimeStyle, find_roles, time_style, with_partition


def test_roles_are_found_by_usual_names_and_names_given_win() -> None:
    names = ["AnonID", "Query", "q2", "QueryTime"]
    assert find_roles("log", names, {}) == {"person": "AnonID", "query": "Query", "time": "QueryTime"}
    assert find_roles("log", names, {"query": "q2"})["query"] == "q2"


def test_missing_and_repeated_columns_are_refused_without_showing_content() -> None:
    with pytest.raises(LogError, match="none of the 2 column names is that of a user, such as") as error:
        find_roles("log, line 1", ["my secret", "query"], {})
    assert "secret" not in str(error.value)
    with pytest.raises(LogError, match=r"names \(colour, query\) is that of a user"):
        find_roles("log", ["colour", "query"], {}, shown=True)
    with pytest.raises(LogError, match="no column 'usr' for user; compare it with the 2 column names"):
        find_roles("log", ["user", "query"], {"user": "usr"})
    with pytest.raises(LogError, match="no column 'usr' for user; did you mean user"):
        find_roles("log", ["user", "query"], {"user": "usr"}, shown=True)
    with pytest.raises(LogError, match="two columns have the name of the query"):
        find_roles("log", ["user", "query", "query"], {})


@pytest.mark.parametrize("names", [["user", "query"], ["country", "country"]])
def test_a_column_to_partition_by_must_exist_exactly_once(names: list[str]) -> None:
    with pytest.raises(LogError, match="there is no single column 'country' to partition by"):
        with_partition(Layout("delimited", {}, tuple(names)), "country", "log")
    layout = with_partition(Layout("delimited", {}, ("user", "country")), "country", "log")
    assert layout.roles == {"part": "country"}


@pytest.mark.parametrize(
    ("values", "style"),
    [
        ([], "iso"),
        ([None, "", "2006-03-01 10:00:00"], "iso"),
        (["2006-03-01T10:00:00", "2006-03-01T10:00:00+02:00"], "offset"),
        ([None, 1141200000], "seconds"),
        (["1141200000.25"], "seconds"),
        (["1141200000000"], "milliseconds"),
        (["1141200000000000"], "microseconds"),
        (["1141200000000000000"], "nanoseconds"),
        (["20060301"], "iso"),
        (["970916105432", 970916235959], "excite"),
        (["970916105432", "970990105432"], "milliseconds"),
    ],
)
def test_the_style_of_times_is_recognised(values: list[object], style: TimeStyle) -> None:
    assert time_style(values) == style
