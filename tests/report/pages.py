"""Helpers that read a document: as XML, as text, and as the cells of a table."""

from xml.etree import ElementTree

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'text'"
ACTIVE = r"<script|https?://|@import|url\(|\ssrc=|\shref=|\son\w+=|javascript:"  # what would run or load something


def parse(page: str) -> ElementTree.Element:
    """Parse the document as XML, which rejects elements that are not closed or not nested properly."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))


def text(element: ElementTree.Element) -> str:
    """Return the text of an element with single spaces."""
    return " ".join(" ".join(element.itertext()).split())


def headings(page: str) -> list[str]:
    """Return the texts of the headings of sections."""
    return [text(heading) for heading in parse(page).iter("h2")]


def chart_labels(page: str) -> list[str]:
    """Return what is read out for every chart; a chart that is drawn for two widths of the screen is shown once."""
    tree = parse(page)
    hidden = [svg for part in tree.iter("div") if part.get("class") == "broad" for svg in part.iter("svg")]
    return [svg.get("aria-label", "") for svg in tree.iter("svg") if svg not in hidden]


def cells(page: str, caption: str) -> list[list[str]]:
    """Return the texts of the rows of the table with this caption."""
    (table,) = (t for t in parse(page).iter("table") if text(t.find("caption") or t[0]) == caption)
    return [[text(cell) for cell in row] for row in table.iter("tr")]
