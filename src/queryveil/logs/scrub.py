"""Direct identifiers in queries: e-mail, network and street addresses, URLs with parameters, handles and numbers.

Every engine uses `scrub` itself. The `…_CANDIDATE` patterns are cheap filters that match every text that `scrub` would
change, so that an engine calls `scrub` for few texts. Licence plates are not looked for: too many models and products
are named by a few letters and digits.
"""

import re
from collections import Counter
from functools import partial
from ipaddress import AddressValueError, IPv6Address

_LONG_RUN = 7  # digits; shorter numbers are mostly years, prices, models and item numbers
_ADDRESS = re.compile(r"https?://|\bwww\.", re.IGNORECASE)
_DOMAIN = re.compile(r"\w\.[\w-]")
_GAP, _NAME = r"[ \t]{1,3}", r"(?<![\w.+-])[\w.+-]+"
_AT, _DOT = (rf"(?:{_GAP}{word}{_GAP}|[ \t]?[(\[]{word}[)\]][ \t]?)" for word in ("at", "dot"))
_BYTE, _HEX = r"(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])", "[0-9A-Fa-f]"

# Each pattern can match only at the start of a word, so that the time is linear in the length of the query
_PATTERNS = {
    "url": re.compile(r"(?<!\S)[^\s?]+\?\S*"),  # a word with a question mark inside
    "home page": re.compile(r"(?<!\S)(?:[^\s~]*/)?~\w\S*"),  # of a user: example.edu/~joe
    "email": re.compile(
        rf"{_NAME}@\s?[\w-]+(?:\.[\w-]+)*|{_NAME}\s@\s?[\w-]+(?:\.[\w-]+)+"
        rf"|{_NAME}(?:{_DOT}[\w-]+)?{_AT}[\w-]+(?:{_DOT}[\w-]+){{0,2}}{_DOT}"  # spelled out
        r"(?:com|net|org|edu|gov|mil|info|biz|co|us|uk|ca|au|de|fr|it|nl)\b",
        re.IGNORECASE,
    ),
    "network address": re.compile(
        rf"(?<![\w.]){_BYTE}(?:\.{_BYTE}){{3}}(?!\w|\.\w)"  # IPv4
        rf"|(?<![\w:-]){_HEX}{{2}}([:-]){_HEX}{{2}}(?:\1{_HEX}{{2}}){{4}}(?![\w:-])"  # MAC
        rf"|(?<![\w.:])(?:{_HEX}{{1,4}}:|:(?=:))(?:{_HEX}{{0,4}}:){{1,7}}(?:{_HEX}{{1,4}})?(?![\w:])"  # perhaps IPv6
    ),
    "handle": re.compile(r"(?<![\w@])@\w{2,}"),
    "card": re.compile(r"(?<!\d)(?:\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,7}|\d{4}[ -]?\d{6}[ -]?\d{5}|\d{13,19})(?!\d)"),
    "phone": re.compile(
        r"(?<!\w)\+\d[\d .()/-]{6,18}\d(?!\d)"  # international
        r"|(?<!\d)(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\d)"  # North American, with area code
        r"|(?<!\d)\d{3}[.-]\d{4}(?!\d)"  # North American, local
        r"|(?<!\d)(?=(?:[ /-]?\d){8})0\d{2,4}[ /-]\d{3,}(?:[ -]?\d{2,})*(?!\d)"  # trunk prefix, as in Europe
    ),
    "digits": re.compile(rf"\d{{{_LONG_RUN},}}|(?<!\d)\d{{3}}-\d{{2}}-\d{{4}}(?!\d)|(?<!\d)\d{{5}}-\d{{4}}(?!\d)"),
    "street address": re.compile(
        r"(?<![\w.-])\d{1,5}(?:[ \t][^\W\d]+\.?){1,3}?[ \t]"
        r"(?:(?:street|avenue|boulevard|blvd)\b|(?:ave|road|rd|lane|ln)\.?(?=[ \t]*(?:,|\d|$)))",
        re.IGNORECASE,
    ),
}
KINDS = tuple(_PATTERNS)

# In syntax that RE2 and Java have in common. `scrub` knows the digits of every script; a Unicode class is slow to
# search for, so texts that are not ASCII have a filter of their own
ASCII_CANDIDATE = (
    r"@|\?|~|\+[0-9]|[0-9]{7}|[0-9]{3}[).-]|[0-9]{3} [0-9]{3}[ .-][0-9]{4}|[0-9]{4} [0-9]{4} [0-9]"
    r"|[0-9]{4} [0-9]{6} [0-9]|(^|[^0-9])0[0-9]{2,4}[ /-][0-9]{3}"
    r"|[0-9]\.[0-9]{1,3}\.[0-9]|:[0-9A-Fa-f]*:|-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-|\b[dD][oO][tT]\b"
    r"|[0-9][ \t][A-Za-z](?s:.*)[ \t](?i:street|ave|boul|blvd|road|rd|lane|ln)"
)
OTHER_CANDIDATE = r"@|\?|~|:|\p{Nd}|\b[dD][oO][tT]\b"


def scrub(text: str) -> tuple[str, Counter[str]]:
    """Return the text with each direct identifier replaced by a space, and the number of identifiers of each kind."""
    found: Counter[str] = Counter()
    for kind, pattern in _PATTERNS.items():
        text = pattern.sub(partial(_replace, kind, found), text)
    return text, found


def _replace(kind: str, found: Counter[str], match: re.Match[str]) -> str:
    text = match.group()
    if kind in _CHECKS and not _CHECKS[kind](text):
        return text
    found[kind] += 1
    return " "


def _is_url_with_parameters(text: str) -> bool:
    """Return whether a word with a question mark inside is the address of a page with query parameters."""
    address, _, parameters = text.partition("?")
    is_address = _ADDRESS.search(address) is not None
    return is_address or (_DOMAIN.search(address) is not None and "=" in parameters)


def _passes_luhn(text: str) -> bool:
    """Return whether the 13 to 19 digits of a text have the check sum of payment cards (Luhn)."""
    digits = [int(character) for character in text if character.isdigit()]
    if not 13 <= len(digits) <= 19:
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _is_network_address(text: str) -> bool:
    """Return whether a text in the form of a network address is one: an IPv6 address is valid, a MAC has a letter."""
    if "." in text:
        return True
    if re.fullmatch(r"..(?:[:-]..){5}", text):
        return ":" in text or re.search("[A-Fa-f]", text) is not None  # six numbers are a draw of the lottery
    try:
        return bool(IPv6Address(text)) and re.search("[0-9]", text) is not None
    except AddressValueError:
        return False


_CHECKS = {"url": _is_url_with_parameters, "card": _passes_luhn, "network address": _is_network_address}
