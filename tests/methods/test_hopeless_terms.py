from queryveil.methods.vocabulary import without_hopeless
from queryveil.semantics.network import wordnet
from tests.builders import profiles_of, rows


def test_rare_terms_in_no_network_take_no_part() -> None:
    log = profiles_of([("dog", "qzx", "vbq"), ("cat", "qzx", "brx"), ("brx",)], [0, 1, 1])
    kept = without_hopeless(log, wordnet(), 2)
    names = [[log.vocabulary[entry] for entry in row] for row in rows(kept)]
    assert [sorted(row) for row in names] == [["dog", "qzx"], ["cat", "qzx"], []]


def test_terms_that_a_network_knows_stay_however_rare() -> None:
    log = profiles_of([("dog",), ("cat",), ("wolf",)])
    assert rows(without_hopeless(log, wordnet(), 3)) == rows(log)
