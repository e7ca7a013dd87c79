"""Minimal sample uniques against their definition on random tables."""

from collections import Counter
from itertools import combinations
from math import factorial

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import BadInput
from shoal.risk.suda import suda, usual_size

TINY = [(2, 0, 0), (1, 3, 6), (1, 0, 0)]


def coded(rows):
    return {f"c{i}": (np.array(column, np.int32), max(column) + 1) for i, column in enumerate(zip(*rows, strict=True))}


def minimal(rows, most):
    """Of each row the sets of columns in which no other row is like it, and of which no part is such a set."""
    found = []
    for row in rows:
        sets = []
        for size in range(1, most + 1):
            for which in combinations(range(len(row)), size):
                alike = sum(all(other[i] == row[i] for i in which) for other in rows)
                if alike == 1 and not any(set(part) <= set(which) for part in sets):
                    sets.append(which)
        found.append(sets)
    return found


def test_the_tiny_example():
    """models.md 1.22: MSUs {a}; {b}, {c}; {a,b}, {a,c}: scores 2, 4, 2."""
    found = suda(coded(TINY))
    assert found.scores.tolist() == [2, 4, 2]
    assert found.counts.tolist() == [[1, 0, 0], [2, 0, 0], [0, 2, 0]]
    # the variant of the IHSN: (2^(M−i) − 1) i! (M−i)! / M!: 3·2/6 for i = 1, 1·2/6 for i = 2
    assert found.ihsn_scores == pytest.approx([1, 2, 2 / 3])
    assert found.contributions == pytest.approx({"c0": 4 / 8, "c1": 3 / 8, "c2": 3 / 8})


tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=14)
)


@naive.examples(300)
@given(tables, st.integers(1, 5))
def test_by_definition(rows, most):
    most = min(most, len(rows[0]))
    sets, many = minimal(rows, most), len(rows[0])
    found = suda(coded(rows), max_size=most)
    expected = [[sum(len(which) == size for which in each) for size in range(1, most + 1)] for each in sets]
    assert found.counts.tolist() == expected
    assert found.scores.tolist() == [sum(factorial(many - len(which)) for which in each) for each in sets]
    total = sum(found.scores)
    for i, share in enumerate(found.contributions.values()):
        part = sum(factorial(many - len(which)) for each in sets for which in each if i in which)
        assert share == pytest.approx(part / total if total else 0)
    assert found.uniques == sum(rows.count(row) == 1 for row in rows)
    assert found.pairs == sum(rows.count(row) == 2 for row in rows)


def test_dis_suda():
    """models.md 1.22: DIS = U d/(U d + P(1−d)); DIS-SUDA_i = 1/(1 + (U/DIS − U)/(S_i^Q Σ S_r^−Q)), Q = 1 + (8−M)/20."""
    rows = [*TINY, (1, 1, 1), (1, 1, 1)]
    found = suda(coded(rows), fraction=0.1)
    dis = 3 * 0.1 / (3 * 0.1 + 2 * 0.9)
    assert found.dis == pytest.approx(dis)
    scores, q = found.scores, 1 + (8 - 3) / 20
    special = scores[scores > 0]
    for score, probability in zip(scores, found.dis_scores, strict=True):
        said = 1 / (1 + (3 / dis - 3) / (score**q * (special**-q).sum())) if score else 0
        assert probability == pytest.approx(said)
    # all scores alike: each match is right with the probability DIS
    alike = suda(coded([(0, 0), (1, 1), (2, 2), (3, 3), (3, 3)]), fraction=0.2)
    assert alike.dis_scores[:3] == pytest.approx([alike.dis] * 3)


def test_nobody_is_special():
    found = suda(coded([(1, 1)] * 4))
    assert found.scores.tolist() == [0] * 4
    assert found.dis is None
    assert found.dis_scores.tolist() == [0] * 4
    assert found.document()["worst"] == []


def test_many_columns():
    """Twenty-eight columns and more: scores as floats, no DIS-SUDA, since its exponent is then 0 or less."""
    rows = [tuple((i * j) % 7 for j in range(1, 31)) for i in range(7)]
    found = suda(coded(rows))
    assert found.max_size == usual_size(30) == 3
    assert found.dis_scores is None
    assert found.scores[0] == pytest.approx(
        sum(factorial(30 - len(which)) for which in minimal(rows, 1)[0])
        + found.counts[0, 1:] @ [factorial(28), factorial(27)]
    )


def test_a_max_size_of_0_is_refused():
    with pytest.raises(BadInput, match="at least 1, not 0"):
        suda(coded(TINY), max_size=0)


def test_suda_of_several_hundred_rows():
    """Each set of columns counted as it is, on a table of more rows than fit in a few bytes of flags."""
    random = np.random.default_rng(3)
    rows = [tuple(row) for row in np.minimum(random.geometric(0.4, (300, 7)), 6).tolist()]
    singled = [[] for _ in rows]
    for size in range(1, 8):
        for which in combinations(range(7), size):
            seen = [tuple(row[i] for i in which) for row in rows]
            often = Counter(seen)
            for sets, key in zip(singled, seen, strict=True):
                if often[key] == 1 and not any(set(part) < set(which) for part in sets):
                    sets.append(which)
    expected = [[sum(len(which) == size for which in sets) for size in range(1, 8)] for sets in singled]
    assert suda(coded(rows)).counts.tolist() == expected
