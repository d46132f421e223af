from pathlib import Path

import pytest

from queryveil.core.errors import InputError
from queryveil.semantics.augmentation import augment
from queryveil.semantics.network import distance
from queryveil.semantics.taxonomy import read_taxonomy
from tests.builders import profiles_of

GOODS = """
Edibles,Goods
Apparel,Goods
Alcohol,Edibles
Dairy,Edibles
Wine,Alcohol
Vino,Alcohol
Raw-milk,Dairy
Homo-milk,Dairy
Outer,Apparel
Footwear,Apparel
Jackets,Outer
Pants,Outer
Boots,Footwear
Shoes,Footwear
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "goods.csv"


def test_distances_in_liu_and_wangs_tree(path: Path) -> None:
    path.write_text(GOODS)
    network = read_taxonomy(path)
    assert distance(network, "Wine", "Vino") == 2
    assert distance(network, "wines", "jackets") == 6
    assert distance(network, "goods", "shoes") == 3
    assert distance(network, "wine", "wine") == 0


def test_profiles_are_augmented_by_a_taxonomy(path: Path) -> None:
    path.write_text(GOODS)
    features = augment(profiles_of([["wine"], ["vino"]]), read_taxonomy(path), a=1, weighting="paper")
    assert sorted(features.ids.tolist()) == [0, 0, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "child,parent\nwine,goods\nvino,goods\n",
        "\ufeffparent,weight,child\ngoods,3,wine\ngoods,4,vino\n",
        "wine\tgoods\nvino\tgoods\n",
        'goods,\n"wine",goods\n\nvino,goods\nwine,goods\n',
    ],
    ids=["header", "other columns", "tabs", "root named, blank and repeated lines"],
)
def test_headers_delimiters_and_blank_lines(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    network = read_taxonomy(path)
    assert set(network.words) == {"goods", "wine", "vino"}
    assert distance(network, "wine", "vino") == 2


def test_a_name_may_have_several_parents(path: Path) -> None:
    path.write_text("dog,canine\ndog,pet\ncanine,animal\npet,animal\n")
    network = read_taxonomy(path)
    assert [[network.words[node] for node in way] for way in network.paths(0)] == [
        ["dog", "canine", "animal"],
        ["dog", "pet", "animal"],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no line with a child and its parent"),
        ("\n\n", "has no line with a child and its parent"),
        ("child,parent\n", "has no line with a child and its parent"),
        ("wine,goods\nvino\n", "line 2: it has 1 cell, not 2"),
        ("wine,goods,x\n", "line 1: it has 3 cells, not 2"),
        ("child,weight\nwine,3\n", "line 1: the column parent is missing"),
        ("child,parent,child\n", "line 1: the column child stands there twice"),
        ("wine,goods\n,goods\n", "line 2: the child has no name"),
        ("a,b\nb,c\nc,d\nb,a\n", r"line 4: it closes a cycle \(.*a → b.*\)"),
        ("a,r\nb,r\nb,b\n", r"line 3: it closes a cycle \(b → b\)"),
        ("wine,goods\npants,clothes\n", r"has 2 roots \(goods, clothes\)"),
        ("a,1\nb,2\nc,3\nd,4\ne,5\n", r"has 5 roots \(1, 2, 3 and 2 more\)"),
        ('wine,"goods\n', "is not a UTF-8 CSV file"),
    ],
)
def test_a_bad_taxonomy_is_refused_in_one_sentence(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_taxonomy(path)
    assert str(path) in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_taxonomy(path)
    path.write_bytes(b"w\xff,goods\n")
    with pytest.raises(InputError, match="is not a UTF-8 CSV file"):
        read_taxonomy(path)


def test_a_long_chain_is_read(path: Path) -> None:
    path.write_text("".join(f"n{i},n{i + 1}\n" for i in range(5_000)))
    assert distance(read_taxonomy(path), "n0", "n5000") == 5_000
