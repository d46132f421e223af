"""Direct identifiers: what is taken out, what must stay, and that no engine overlooks a query that holds one."""

import time
import unicodedata

import duckdb
import pytest

from queryveil.logs.scrub import ASCII_CANDIDATE, KINDS, OTHER_CANDIDATE, scrub


@pytest.mark.parametrize(
    ("text", "kind", "left"),
    [
        ("mail joe.x+y@aol.com now", "email", ["mail", "now"]),
        ("joe@mail.example.co.uk", "email", []),
        ("joe @ aol.com", "email", []),
        ("joe@ yahoo", "email", []),
        ("joe@localhost", "email", []),
        ("visa 4111 1111 1111 1111 balance", "card", ["visa", "balance"]),
        ("4111-1111-1111-1111", "card", []),
        ("4111111111111111", "card", []),
        ("amex 3782 822463 10005", "card", ["amex"]),
        ("call 212 555 1234", "phone", ["call"]),
        ("(212) 555-1234", "phone", []),
        ("1-212-555-1234 reverse", "phone", ["reverse"]),
        ("555-1234", "phone", []),
        ("212.555.1234", "phone", []),
        ("+49 (30) 123 456", "phone", []),
        ("020 7946 0958 london", "phone", ["london"]),
        ("0171/1234567 handy", "phone", ["handy"]),
        ("order 1234567", "digits", ["order"]),
        ("x1234567y", "digits", ["x", "y"]),
        ("٠١٢٣٤٥٦٧٨", "digits", []),
        ("ssn 123-45-6789", "digits", ["ssn"]),
        ("http://example.com/a?id=7 x", "url", ["x"]),
        ("www.example.com?id", "url", []),
        ("HTTPS://EXAMPLE.COM/?q", "url", []),
        ("example.com/search?q=me&p=1", "url", []),
        ("ping 10.0.0.1", "network address", ["ping"]),
        ("192.168.1.254.", "network address", ["."]),
        ("fe80::1ff:fe23:4567:890a route", "network address", ["route"]),
        ("2001:db8:0:0:0:0:0:1", "network address", []),
        ("::1", "network address", []),
        ("00:1A:2b:3c:4d:5e", "network address", []),
        ("mac 00-1A-2b-3c-4d-5e", "network address", ["mac"]),
        ("@joe_smith", "handle", []),
        ("follow @joe please", "handle", ["follow", "please"]),
        ("www.cs.example.edu/~joe/pubs.html papers", "home page", ["papers"]),
        ("~joe", "home page", []),
        ("joe at example dot com", "email", []),
        ("mail joe dot smith at mail dot example dot co dot uk now", "email", ["mail", "now"]),
        ("joe (at) example (dot) com", "email", []),
        ("JOE [AT] EXAMPLE [DOT] ORG", "email", []),
        ("12 Main Street apt 3", "street address", ["apt", "3"]),
        ("1600 pennsylvania avenue washington", "street address", ["washington"]),
        ("45 old mill rd., springfield", "street address", [",", "springfield"]),
        ("9 elm lane", "street address", []),
    ],
)
def test_direct_identifiers_are_removed(text: str, kind: str, left: list[str]) -> None:
    without, found = scrub(text)
    assert (without.split(), dict(found)) == (left, {kind: 1})
    assert kind in KINDS
    candidate = ASCII_CANDIDATE if text.isascii() else OTHER_CANDIDATE
    assert duckdb.execute("SELECT regexp_matches($1, $2)", [text, candidate]).fetchall() == [(True,)]


@pytest.mark.parametrize(
    "text",
    [
        "olympics 2006",
        "world war 1939 1945",
        "born 1998-2004",
        "laptop $1,299.99",
        "price 1299.95",
        "iphone 4s",
        "f 150",
        "windows 98",
        "boeing 747 400",
        "item 123456",
        "zip 90210",
        "2006-03-01",
        "1/12/2006",
        "james bond 007 1999",
        "www.ebay.com",
        "http://www.ebay.com/path",
        "example.com",
        "what is 2.5? a number",
        "who? what=why",
        "lunch @ noon",
        "1-800-flowers",
        "winamp 2.5.1",
        "1.2.3.4.5",
        "256.1.1.1",
        "std::vector",
        "dead::beef",
        "12:30:45",
        "lotto 05-12-23-34-41-07",
        "a ~ b",
        "look at red dot sight",
        "jobs at ibm.com",
        "40 gb hard drive",
        "2000 trek road bike",
        "100 best country road songs",
        "42nd street musical",
        "top 10 street racing games",
        "24 hour ave maria",
        "4111 1111 1111 1112",  # no card: the check sum is wrong
        "c++ +java -sun",
        "",
    ],
)
def test_other_numbers_and_words_are_kept(text: str) -> None:
    assert scrub(text) == (text, {})


def test_several_identifiers_are_counted_by_kind() -> None:
    without, found = scrub("joe@a.com ann@b.com 212-555-1234 4111111111111111 www.x.com?y=1")
    assert without.split() == []
    assert dict(found) == {"email": 2, "phone": 1, "card": 1, "url": 1}


@pytest.mark.parametrize(
    "text",
    [
        *("a" * 50_000 + " @", "a." * 50_000 + "?", "a.b?" * 50_000, "1-" * 50_000, "+1 " * 50_000),
        *("0123 123 " * 20_000, "a at " * 20_000, "a dot " * 20_000, "1 a " * 20_000 + "street", "a:" * 50_000),
        *("/" * 50_000 + "~", "~/" * 50_000),
    ],
)
def test_the_time_is_linear_in_the_length_of_a_query(text: str) -> None:
    started = time.process_time()
    assert len(scrub(text)[0]) <= len(text)
    assert time.process_time() - started < 2


def test_the_engine_recognises_every_decimal_digit_that_scrub_does() -> None:
    digits = [chr(code) for code in range(0x80, 0x110000) if unicodedata.category(chr(code)) == "Nd"]
    assert all(scrub(digit * 7)[1] for digit in digits)
    assert len(digits) > 500
    missed = duckdb.execute(
        "SELECT count(*) FROM (SELECT unnest($1) AS c) WHERE NOT regexp_matches(c, $2)", [digits, OTHER_CANDIDATE]
    ).fetchall()
    assert missed == [(0,)]
    assert duckdb.execute("SELECT regexp_matches('1234567', $1)", [ASCII_CANDIDATE]).fetchall() == [(True,)]
