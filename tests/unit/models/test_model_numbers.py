"""Labels as numbers."""

import pytest

from shoal.models.model import scale_to_integers


def test_numbers_are_scaled_exactly():
    assert scale_to_integers(["0.1", "-0.25", "3", None]) == ((2, -5, 60, 0), 20)
    assert scale_to_integers([]) == ((), 1)


@pytest.mark.parametrize("text", ["02138", "1_000", "0x1F", "1e5", "inf", "nan", "", " 5", "١٢", "5."])
def test_texts_that_are_no_plain_number_are_not_scaled(text):
    """Bad input 21 and 22."""
    assert scale_to_integers(["1", text]) is None
