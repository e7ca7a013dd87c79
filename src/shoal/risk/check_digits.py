"""Check digits of the numbers that states, banks and manufacturers give to people and things."""

import re
from itertools import cycle

_VIN_VALUES = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True))
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def is_vin(text: str) -> bool:
    """Whether the ninth character of a vehicle identification number is right (49 CFR 565.15).

    >>> is_vin("1M8GDM9AXKP042788"), is_vin("1M8GDM9A1KP042788")
    (True, False)
    """
    values = (int(c) if c.isdigit() else _VIN_VALUES[c] for c in text)
    rest = sum(weight * value for weight, value in zip(_VIN_WEIGHTS, values, strict=True)) % 11
    return text[8] == "0123456789X"[rest]


def is_card(text: str) -> bool:
    """Whether the last digit of a payment card is right (Luhn; ISO/IEC 7812-1).

    >>> is_card("4111 1111 1111 1111"), is_card("4111 1111 1111 1112")
    (True, False)
    """
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    return 13 <= len(digits) <= 19 and _luhn(digits) == 0


def _luhn(from_the_right: list[int]) -> int:
    """Return the remainder of Luhn's sum by 10, which is 0 for a right number."""
    doubled = (sum(divmod(2 * digit, 10)) for digit in from_the_right[1::2])
    return (sum(from_the_right[::2]) + sum(doubled)) % 10


def is_iban(text: str) -> bool:
    """Whether the remainder of an international bank account number is 1 (ISO 13616).

    >>> is_iban("GB82 WEST 1234 5698 7654 32"), is_iban("GB83 WEST 1234 5698 7654 32")
    (True, False)
    """
    plain = text.replace(" ", "")
    return 15 <= len(plain) <= 34 and int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def _digits(text: str) -> list[int]:
    return [int(c) for c in text if c.isdigit()]


def _weighted(digits: list[int], weights: tuple[int, ...]) -> int:
    """Return the sum of digits times weights, which repeat."""
    return sum(digit * weight for digit, weight in zip(digits, cycle(weights), strict=False))


def is_pesel(text: str) -> bool:
    """Whether a Polish PESEL of 11 digits has the right last digit and a possible month.

    >>> is_pesel("44051401359"), is_pesel("44051401358")
    (True, False)
    """
    digits = _digits(text)
    return (10 - _weighted(digits[:10], (1, 3, 7, 9))) % 10 == digits[10] and 1 <= int(text[2:4]) % 20 <= 12


def is_tckn(text: str) -> bool:
    """Whether the last two digits of a Turkish identity number are right.

    >>> is_tckn("10000000146"), is_tckn("10000000147")
    (True, False)
    """
    digits = _digits(text)
    tenth = (7 * sum(digits[0:9:2]) - sum(digits[1:8:2])) % 10
    return digits[0] != 0 and digits[9] == tenth and digits[10] == sum(digits[:10]) % 10


def is_steuer_id(text: str) -> bool:
    """Whether the last digit of a German tax identification number is right (ISO 7064, MOD 11,10).

    >>> is_steuer_id("86095742719"), is_steuer_id("86095742718")
    (True, False)
    """
    digits, product = _digits(text), 10
    for digit in digits[:10]:
        product = ((digit + product) % 10 or 10) * 2 % 11
    return digits[0] != 0 and (11 - product) % 10 == digits[10]


def is_bsn(text: str) -> bool:
    """Whether a Dutch citizen service number of 9 digits passes the eleven test.

    >>> is_bsn("111222333"), is_bsn("111222334")
    (True, False)
    """
    digits = _digits(text)
    return any(digits) and (_weighted(digits[:8], (9, 8, 7, 6, 5, 4, 3, 2)) - digits[8]) % 11 == 0


def is_nif(text: str) -> bool:
    """Whether the last digit of a Portuguese tax number of 9 digits is right.

    >>> is_nif("123456789"), is_nif("123456780")
    (True, False)
    """
    digits = _digits(text)
    rest = _weighted(digits[:8], (9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return digits[8] == (0 if rest < 2 else 11 - rest)


def is_dni(text: str) -> bool:
    """Whether the letter of a Spanish DNI or NIE is right.

    >>> is_dni("12345678Z"), is_dni("X1234567L"), is_dni("12345678A")
    (True, True, False)
    """
    plain = text.replace("-", "")
    number = str("XYZ".find(plain[0])) + plain[1:-1] if plain[0] in "XYZ" else plain[:-1]
    return plain[-1] == "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23]


def is_nir(text: str) -> bool:
    """Whether the key of a French social security number is right.

    >>> is_nir("2 55 08 14 168 025 38"), is_nir("2 55 08 14 168 025 37")
    (True, False)
    """
    plain = text.replace(" ", "").replace("2A", "19").replace("2B", "18")
    return 97 - int(plain[:13]) % 97 == int(plain[13:])


_ODD_DIGITS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_ODD_LETTERS = (*_ODD_DIGITS, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (*_ODD_DIGITS, *_ODD_LETTERS), strict=True))


def is_codice_fiscale(text: str) -> bool:
    """Whether the last letter of an Italian codice fiscale is right.

    >>> is_codice_fiscale("RSSMRA85T10A562S"), is_codice_fiscale("RSSMRA85T10A562T")
    (True, False)
    """
    plain = text.upper()
    odd = sum(_ODD[c] for c in plain[0:15:2])
    even = sum(int(c) if c.isdigit() else ord(c) - ord("A") for c in plain[1:15:2])
    return ord(plain[15]) - ord("A") == (odd + even) % 26


def is_nhs_number(text: str) -> bool:
    """Whether the last digit of a British NHS number is right.

    >>> is_nhs_number("943 476 5919"), is_nhs_number("943 476 5918")
    (True, False)
    """
    digits = _digits(text)
    return (11 - _weighted(digits[:9], (10, 9, 8, 7, 6, 5, 4, 3, 2))) % 11 == digits[9]


def is_loinc(text: str) -> bool:
    """Whether the digit after the hyphen of a LOINC code is right (Luhn).

    >>> is_loinc("4544-3"), is_loinc("4544-4")
    (True, False)
    """
    return _luhn([int(c) for c in reversed(text.replace("-", ""))]) == 0


NATIONAL_NUMBERS = (
    (r"[0-9]{11}", is_pesel),
    (r"[1-9][0-9]{10}", is_tckn),
    (r"[1-9][0-9]{10}|[0-9]{2} [0-9]{3} [0-9]{3} [0-9]{3}", is_steuer_id),
    (r"[0-9]{9}|[0-9]{4}\.[0-9]{2}\.[0-9]{3}", is_bsn),
    (r"[1-35689][0-9]{8}|[1-35689][0-9]{2} [0-9]{3} [0-9]{3}", is_nif),
    (r"[0-9]{8}-?[A-HJ-NP-TV-Z]|[XYZ]-?[0-9]{7}-?[A-HJ-NP-TV-Z]", is_dni),
    (r"[12] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}", is_nir),
    (r"(?i:[A-Z]{6}[0-9LMNP-V]{2}[A-EHLMPRST][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z])", is_codice_fiscale),
    (r"[0-9]{3}[ -][0-9]{3}[ -][0-9]{4}|[0-9]{10}", is_nhs_number),
)
"""Patterns of the numbers by which states know their people, each with the check that its digits pass."""


def is_national_number(text: str) -> bool:
    """Whether a text is a number by which a state knows a person, check digit included."""
    return any(re.fullmatch(pattern, text) and check(text) for pattern, check in NATIONAL_NUMBERS)
