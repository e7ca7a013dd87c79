"""Check digits."""

import pytest

from shoal.risk.identifiers import is_card, is_iban, is_vin


@pytest.mark.parametrize("vin", ["1M8GDM9AXKP042788", "11111111111111111", "5GZCZ43D13S812715"])
def test_vehicles(vin):
    assert is_vin(vin)
    assert not is_vin(vin[:8] + ("5" if vin[8] != "5" else "6") + vin[9:])


@pytest.mark.parametrize("card", ["4111111111111111", "5500 0000 0000 0004", "3782-822463-10005"])
def test_cards(card):
    assert is_card(card)
    assert not is_card(card[:-1] + str((int(card[-1]) + 1) % 10))


def test_a_card_has_at_least_13_digits():
    assert not is_card("0000 0000 0000")


@pytest.mark.parametrize("iban", ["GB82WEST12345698765432", "DE89 3704 0044 0532 0130 00"])
def test_bank_accounts(iban):
    assert is_iban(iban)
    assert not is_iban(iban[:-1] + str((int(iban[-1]) + 1) % 10))
