"""Check digits: numbers that were written by a rule, told from numbers that only look like it."""

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
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return 13 <= len(digits) <= 19 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def is_iban(text: str) -> bool:
    """Whether the remainder of an international bank account number is 1 (ISO 13616).

    >>> is_iban("GB82 WEST 1234 5698 7654 32"), is_iban("GB83 WEST 1234 5698 7654 32")
    (True, False)
    """
    plain = text.replace(" ", "")
    return 15 <= len(plain) <= 34 and int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1
