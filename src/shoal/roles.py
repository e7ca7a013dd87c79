"""The roles that the columns of a table about people can play."""

from enum import StrEnum


class Role(StrEnum):
    """What an attribute means for privacy; every column of a table has exactly one.

    >>> Role("quasi-identifier") is Role.QUASI_IDENTIFIER
    True
    """

    IDENTIFIER = "identifier"
    """Names a person by itself (name, account number); dropped."""
    QUASI_IDENTIFIER = "quasi-identifier"
    """Points at a person together with others (age, sex, postcode); generalised."""
    SENSITIVE = "sensitive"
    """What an attacker wants to learn (disease, salary); released as it is."""
    INSENSITIVE = "insensitive"
    """Neither; released as it is."""
    SAMPLING_WEIGHT = "sampling-weight"
    """How many people of the population a row stands for; dropped."""
    UNIT = "unit"
    """Which person a row belongs to, when a person may have several; dropped."""

    @property
    def released(self) -> bool:
        return self in {Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE}
