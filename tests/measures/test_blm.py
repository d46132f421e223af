from pathlib import Path

import numpy as np
import pytest

from queryveil.core.evidence import Evidence, ReleasedVocabularies
from queryveil.core.names import resolve
from queryveil.measures.utility.blm import measure_blm, measure_lm
from queryveil.measures.vocabularies import Vocabularies
from queryveil.semantics.network import wordnet
from tests.builders import profiles_of
from tests.goods import VOCABULARIES, goods

Bag = dict[tuple[str, int], int]  # (term, level) → count


def released_of(bags: list[Bag]) -> ReleasedVocabularies:
    terms = sorted({term for bag in bags for term, _ in bag})
    rows = [sorted((terms.index(term), level, count) for (term, level), count in bag.items()) for bag in bags]
    ids, levels, counts = (
        np.array(column, np.int32) for column in zip(*(cell for row in rows for cell in row), strict=True)
    )
    indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum([len(row) for row in rows])))
    return ReleasedVocabularies(np.arange(len(bags)), indptr, ids, counts, levels, tuple(terms))


def typed(*terms: str) -> Bag:
    return {(term, 0): terms.count(term) for term in terms}


FIRST, SECOND = typed("wine", "vino", "jackets", "shoes"), typed("rawmilk", "rawmilk", "homomilk")
SSC = [FIRST, FIRST, FIRST, SECOND, SECOND]
GOODS, REST = {("goods", 3): 4}, {("edibles", 2): 2, ("apparel", 2): 2}
LG = [GOODS, REST, REST, GOODS, REST]


def example(folder: Path, bags: list[Bag], eps: int) -> Vocabularies:
    return Vocabularies(profiles_of(VOCABULARIES), released_of(bags), np.arange(5), goods(folder), eps)


def blm(comparison: Vocabularies, name: str = "blm") -> tuple[float | None, float | None]:
    loss, kept = measure_blm(Evidence(comparison), resolve("measure", name), rng=np.random.default_rng(0))
    return loss.value, kept.value


def lm(comparison: Vocabularies) -> float | None:
    (loss,) = measure_lm(Evidence(comparison), resolve("measure", "lm"), rng=np.random.default_rng(0))
    return loss.value


def test_ssc_of_the_running_example(tmp_path: Path) -> None:
    """Wine and Vino stand for either, Shoes for Boots; Jackets for itself; Raw-milk for one Homo-milk."""
    loss, kept = blm(example(tmp_path, SSC, 4))
    # 12 of 13 occurrences behind the first vocabulary, 6 of 9 behind the second; 22 in all
    assert kept == pytest.approx(100 * 18 / 22)
    # alcohol: 6 occurrences · 1/7, footwear: 3 · 1/7, jackets 0; dairy: raw-milk 4 · 1/7, homo-milk 0
    assert loss == pytest.approx((6 / 7 + 3 / 7 + 4 / 7 + 4) / 22)


def test_lg_of_the_running_example(tmp_path: Path) -> None:
    """Goods stands for all eight occurrences of the first and the fourth, as section V-A counts them."""
    loss, kept = blm(example(tmp_path, LG, 0))
    assert kept == pytest.approx(100 * 20 / 22)
    # goods: 8 · 1; edibles: 6 · 3/7, apparel: 6 · 3/7; two suppressed
    assert loss == pytest.approx((8 + 12 * 3 / 7 + 2) / 22)


def test_suppressed_occurrences_count_the_penalty(tmp_path: Path) -> None:
    once, twice = (blm(example(tmp_path, LG, 0), name)[0] for name in ("blm", "blm(penalty=2)"))
    assert once is not None
    assert twice == pytest.approx(once + 2 / 22)


def test_lm_ignores_lost_counts(tmp_path: Path) -> None:
    sets = [dict.fromkeys(bag, 1) for bag in LG]
    loss, _ = blm(example(tmp_path, sets, 0))
    flattered = lm(example(tmp_path, sets, 0))
    assert flattered is not None
    assert loss is not None
    assert flattered < loss
    # 6 of 18 terms are behind goods, the others behind edibles or apparel; nothing counts as suppressed
    assert flattered == pytest.approx((6 + 12 * 3 / 7) / 18)


def test_without_the_private_folder_there_is_no_value(tmp_path: Path) -> None:
    known = example(tmp_path, SSC, 4)
    unknown = Vocabularies(known.original, known.released, None, known.network, 4)
    assert blm(unknown) == (None, None)
    assert lm(unknown) is None


def test_an_unpublished_history_is_lost(tmp_path: Path) -> None:
    original = profiles_of([("wine",), ("wine",), ("boots", "boots")])
    comparison = Vocabularies(original, released_of([typed("wine")] * 2), np.arange(2), goods(tmp_path), 4)
    assert blm(comparison) == (0.5, 50.0)


def test_unknown_terms_stand_for_themselves() -> None:
    original = profiles_of([("qzx", "dog"), ("qzx", "dog")])
    comparison = Vocabularies(original, released_of([typed("qzx", "dog")] * 2), np.arange(2), wordnet(), 8)
    assert blm(comparison) == (0.0, 100.0)
    bucket: Bag = {("(other)", 1): 1, ("dog", 0): 1}
    original = profiles_of([("qzx", "dog"), ("vbq", "dog")])
    comparison = Vocabularies(original, released_of([bucket] * 2), np.arange(2), wordnet(), 0)
    assert blm(comparison) == (0.5, 100.0)  # nothing is known of two of four occurrences
