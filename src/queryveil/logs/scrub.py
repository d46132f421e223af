"""Direct identifiers in queries: e-mail addresses, telephone and card numbers, long numbers, URLs with parameters.

Every engine uses `scrub` itself. The `…_CANDIDATE` patterns are cheap filters that match every text that `scrub` would
change, so that an engine calls `scrub` for few texts.
"""

import re
from collections import Counter
from functools import partial

_LONG_RUN = 7  # digits; shorter numbers are mostly years, prices, models and item numbers
# Each pattern can match only at the start of a word, so that the time is linear in the length of the query
_URL = re.compile(r"(?<!\S)[^\s?]+\?\S*")  # a word with a question mark inside; `_is_url_with_parameters` decides
_ADDRESS = re.compile(r"https?://|\bwww\.", re.IGNORECASE)
_DOMAIN = re.compile(r"\w\.[\w-]")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+(?:\s?@|@\s)[\w-]+(?:\.[\w-]+)*|(?<![\w.+-])[\w.+-]+\s@\s[\w-]+(?:\.[\w-]+)+")
_CARD = re.compile(r"(?<!\d)(?:\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,7}|\d{4}[ -]?\d{6}[ -]?\d{5}|\d{13,19})(?!\d)")
_PHONE = re.compile(
    r"(?<!\w)\+\d[\d .()/-]{6,18}\d(?!\d)"  # international
    r"|(?<!\d)(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\d)"  # North American, with area code
    r"|(?<!\d)\d{3}[.-]\d{4}(?!\d)"  # North American, local
    r"|(?<!\d)(?=(?:[ /-]?\d){8})0\d{2,4}[ /-]\d{3,}(?:[ -]?\d{2,})*(?!\d)"  # trunk prefix, as in Europe
)
_DIGITS = re.compile(rf"\d{{{_LONG_RUN},}}|(?<!\d)\d{{3}}-\d{{2}}-\d{{4}}(?!\d)|(?<!\d)\d{{5}}-\d{{4}}(?!\d)")

KINDS = ("url", "email", "card", "phone", "digits")

# In syntax that RE2 and Java have in common. `scrub` knows the digits of every script; a Unicode class is slow to
# search for, so texts that are not ASCII have a filter of their own
ASCII_CANDIDATE = (
    r"@|\?|\+[0-9]|[0-9]{7}|[0-9]{3}[).-]|[0-9]{3} [0-9]{3}[ .-][0-9]{4}|[0-9]{4} [0-9]{4} [0-9]"
    r"|[0-9]{4} [0-9]{6} [0-9]|(^|[^0-9])0[0-9]{2,4}[ /-][0-9]{3}"
)
OTHER_CANDIDATE = r"@|\?|\p{Nd}"


def scrub(text: str) -> tuple[str, Counter[str]]:
    """Return the text with each direct identifier replaced by a space, and the number of identifiers of each kind."""
    found: Counter[str] = Counter()
    for kind, pattern in (("url", _URL), ("email", _EMAIL), ("card", _CARD), ("phone", _PHONE), ("digits", _DIGITS)):
        text = pattern.sub(partial(_replace, kind, found), text)
    return text, found


def _replace(kind: str, found: Counter[str], match: re.Match[str]) -> str:
    text = match.group()
    if (kind == "card" and not _passes_luhn(text)) or (kind == "url" and not _is_url_with_parameters(text)):
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
