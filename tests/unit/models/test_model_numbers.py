"""Labels as numbers."""

import pytest

from shoal.models.model import scaled


def test_exactly():
    assert scaled(["0.1", "-0.25", "3", None]) == ((2, -5, 60, 0), 20)
    assert scaled([]) == ((), 1)


@pytest.mark.parametrize("text", ["02138", "1_000", "0x1F", "1e5", "inf", "nan", "", " 5", "١٢", "5."])
def test_what_is_no_plain_number(text):
    """Bad input 21 and 22."""
    assert scaled(["1", text]) is None
