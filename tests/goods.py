"""The running example of Liu and Wang 2010: Figure 1(b)'s vocabularies and Figure 2(a)'s taxonomy."""

from pathlib import Path

from queryveil.semantics.network import Network
from queryveil.semantics.taxonomy import read_taxonomy

EDGES = (
    ("edibles", "goods"),
    ("apparel", "goods"),
    ("alcohol", "edibles"),
    ("dairy", "edibles"),
    ("outer", "apparel"),
    ("footwear", "apparel"),
    ("wine", "alcohol"),
    ("vino", "alcohol"),
    ("rawmilk", "dairy"),
    ("homomilk", "dairy"),
    ("jackets", "outer"),
    ("pants", "outer"),
    ("boots", "footwear"),
    ("shoes", "footwear"),
)
VOCABULARIES = (
    ("wine", "wine", "jackets", "boots"),
    ("vino", "vino", "jackets", "shoes"),
    ("wine", "vino", "rawmilk", "jackets", "shoes"),
    ("vino", "rawmilk", "rawmilk", "homomilk"),
    ("rawmilk", "homomilk", "homomilk", "jackets", "pants"),
)


def goods(folder: Path) -> Network:
    path = folder / "goods.csv"
    path.write_text("".join(f"{child},{parent}\n" for child, parent in EDGES))
    return read_taxonomy(path)
