"""Franconi and Polettini's individual risk: the worked numbers, sdcMicro's own test, and the series itself."""

import naive
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import encode
from shoal.errors import BadInput
from shoal.risk.individual import approximate_inverse, expected_inverse, individual_risks, read_weights


@pytest.mark.parametrize(
    ("f", "people", "approximate", "exact"),
    [
        (1, 10, 0.255843, 0.255843),
        (1, 100, 0.046517, 0.046517),
        (2, 20, 0.082684, 0.082684),
        (3, 30, 0.047619, 0.046368),
        (5, 50, 0.02439, 0.024235),
        (4, 4, 0.25, 0.25),
        (1, 1, 1.0, 1.0),
        (2, 2, 0.5, 0.5),
    ],
)
def test_the_worked_table(f, people, approximate, exact):
    """models.md 1.21."""
    p = np.array([f / people])
    assert approximate_inverse(np.array([f]), p)[0] == pytest.approx(approximate, abs=6e-7)
    assert expected_inverse(np.array([f]), p)[0] == pytest.approx(exact, abs=6e-7)


def test_the_eight_rows_of_sdcmicro():
    """models.md 1.21: its own expected values, short and exact."""
    a, b, c = (2, 3, 2, 2, 3, 3, 1, 2), (3, 3, 3, 3, 3, 3, 4, 3), (1, 3, 1, 2, 1, 1, 1, 1)
    weights = np.array([18, 45.5, 39, 17, 92, 8, 123.5, 51])
    keys = list(zip(a, b, c, strict=True))
    ids = np.array([sorted(set(keys)).index(key) for key in keys], np.int32)
    found = individual_risks("w", ids, weights)
    short = [0.01369863, 0.08579129, 0.01369863, 0.17707583, 0.01877883, 0.01877883, 0.03931625, 0.01369863]
    assert found.approximate == pytest.approx(short, abs=6e-9)
    exact = [0.01355297 if risk == 0.01369863 else risk for risk in short]
    assert found.exact == pytest.approx(exact, abs=6e-9)
    assert found.expected == pytest.approx(sum(exact))  # expected re-identifications = Σ r


@naive.examples(200)
@given(st.integers(1, 60), st.floats(0.02, 1))
def test_the_expected_inverse_is_its_series(f, p):
    """models.md 1.21: E[1/F] = Σ_j≥f (1/j) C(j−1, f−1) p^f (1−p)^(j−f), summed as it stands."""
    term, total = p**f, 0.0
    for j in range(f, f + 12_000):
        total += term / j
        term *= (1 - p) * j / (j - f + 1)
    assert expected_inverse(np.array([f]), np.array([p]))[0] == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("f", [1, 2, 3, 29, 30, 1000, 100_000])
def test_the_expected_inverse_is_monotone_and_within_its_bounds(f):
    """Between 1/F and 1/f, and falling with p, for any size and any weight."""
    p = np.array([1e-9, 1e-3, 0.4999999, 0.5, 0.5000001, 0.999999, 1 - 1e-15, 1.0])
    found = expected_inverse(np.full(len(p), f), p)
    assert (np.diff(found) > 0).all()
    assert ((p / f <= found * (1 + 1e-12)) & (found <= 1 / f * (1 + 1e-12))).all()


def weights(*values):
    return read_weights(encode("w", pa.array(values)))


@pytest.mark.parametrize(
    ("values", "row", "what"),
    [
        (("1", None, "2"), 2, "missing"),
        (("1", "2", "-3"), 3, "negative"),
        (("0", "2"), 1, "zero"),
        (("1", "CANARY-7f3"), 2, "not a number"),
        (("1", "inf"), 2, "not a number"),
        (("1", "1/2"), 2, "not a number"),
        (("1", "x", "-1"), 2, "not a number"),
    ],
)
def test_bad_weights_are_refused_with_their_row(values, row, what):
    with pytest.raises(BadInput, match=f"column 'w': the weight of row {row} is {what}") as wrong:
        weights(*values)
    assert "CANARY" not in str(wrong.value)


def test_weights_are_read():
    assert weights("5", "5.0", " 2.5", "1e2").tolist() == [5, 5, 2.5, 100]
    assert weights(1.5, 2.0).tolist() == [1.5, 2]
    comma = encode("w", pa.array(["1,5", "2"]), decimal=",")
    assert read_weights(comma).tolist() == [1.5, 2]


def test_weights_that_sum_to_less_than_the_rows_are_counted():
    found = individual_risks("w", np.array([0, 0, 1], np.int32), np.array([0.5, 0.5, 3.0]))
    assert found.exact[:2].tolist() == [0.5, 0.5]
    assert found.light == 2
