"""The eighteen kinds of identifiers of HIPAA Safe Harbor: what such columns are called and what their cells look like.

45 CFR 164.514(b)(2)(i)(A)–(R). Patterns of names are matched with a header in lower case, words joined by `-`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.risk.checks import is_card, is_iban, is_vin

Flags = NDArray[np.bool_]
Look = Callable[[pa.StringArray], Flags]
"""Which texts look like it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: its letter in the rule, what it is called, usual headers, and how its cells look if that tells."""

    clause: str
    title: str
    headers: str = ""
    """Patterns separated by spaces."""
    look: Look | None = None
    direct: bool = True
    """Whether it names a person by itself; what does not may be generalised."""


def matching(pattern: str) -> Look:
    """Texts that are the pattern from end to end."""

    def look(texts: pa.StringArray) -> Flags:
        found: Flags = pc.match_substring_regex(texts, rf"\A(?:{pattern})\z").to_numpy(zero_copy_only=False)
        return found

    return look


def passing(pattern: str, check: Callable[[str], bool]) -> Look:
    """The same where a check digit is right as well."""
    outer = matching(pattern)

    def look(texts: pa.StringArray) -> Flags:
        found = outer(texts)
        candidates = texts.filter(pa.array(found)).to_pylist()
        found[found] = [check(text) for text in candidates]
        return found

    return look


_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_HEX = "[0-9A-Fa-f]"
IP = rf"{_OCTET}(\.{_OCTET}){{3}}|({_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}|({_HEX}{{1,4}}:){{0,6}}:(:?{_HEX}{{1,4}}){{0,6}}"
PHONE = r"\+[0-9][0-9 ()./-]{6,18}[0-9]|(\+?1[ .-]?)?(\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}"
SSN = r"([1-578][0-9]{2}|0[1-9][0-9]|00[1-9]|6[0-57-9][0-9]|66[0-57-9])-([1-9][0-9]|0[1-9])-[0-9]{4}"
ZIP = r"[0-9]{5}(-[0-9]{4})?"
_TWO = "[0-9]{1,2}"
_DAY = rf"[0-9]{{4}}-{_TWO}(-{_TWO})?|[0-9]{{4}}/{_TWO}/{_TWO}|{_TWO}[/.-]{_TWO}[/.-]([0-9]{{4}}|[0-9]{{2}})"
_MONTH = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_SPELLED = rf"{_MONTH}\.? {_TWO},? [0-9]{{4}}|{_TWO}\.? {_MONTH}\.? [0-9]{{4}}"
DATE = rf"({_DAY})([ T]{_TWO}:[0-9]{{2}}.*)?|{_SPELLED}|\[({_DAY}), ({_DAY})[)\]]"

GEOGRAPHY = Kind(
    "B",
    "a place smaller than a state",
    "address .*-address street.* city town village county municipality district parish precinct .*-city .*-county "
    "geo-?code lat latitude lon lng longitude census-?tract block-?group",
    direct=False,
)
DATES = Kind("C", "a date finer than a year", "", matching(DATE), direct=False)
ZIPS = Kind("B", "a ZIP code of more than three digits", "", None, direct=False)
SMALL_ZIP3 = Kind("B", "a three-digit ZIP code of at most 20,000 people", "", None, direct=False)
AGES = Kind("C", "an age over 89", "", None, direct=False)
FREE_TEXT = Kind("R", "free text, which may hold any of the others")
NEAR_UNIQUE = Kind("R", "a value of their own for nearly all rows")

KINDS: tuple[Kind, ...] = (
    Kind(
        "A",
        "a name",
        "names? full-?name first-?names? last-?name middle-?name maiden-?name given-?names? family-?name surname "
        "forename initials patient-name .*-surname nickname user-?name mother-.*-name",
    ),
    DATES,
    Kind("E", "a fax number", "fax.* .*-fax"),
    Kind("D", "a telephone number", "phone.* tele?phone.* .*-phone mobile.* cell-?phone.* tel", matching(PHONE)),
    Kind("F", "an e-mail address", "e-?mail.* .*-e-?mail", matching(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}")),
    Kind("G", "a social security number", "ssn social-?security.* .*-ssn national-?id.* nino", matching(SSN)),
    Kind("H", "a medical record number", "mrn medical-?record.* patient-(id|no|number|nr) chart-?(no|number)"),
    Kind(
        "I",
        "a health plan number",
        "health-?plan.* beneficiary.* member-?(id|no|number) insurance-?(id|no|number) hicn mbi",
    ),
    Kind("J", "an account number", "account.* iban .*-iban bank-?account.* card-?(no|number) credit-?card.*"),
    Kind("J", "a bank account (IBAN)", "", passing(r"[A-Z]{2}[0-9]{2}[A-Z0-9 ]{10,38}", is_iban)),
    Kind("J", "a card number", "", passing(r"[0-9]{4}[ -]?[0-9]{4,6}[ -]?[0-9]{4,5}([ -]?[0-9]{1,7})?", is_card)),
    Kind("L", "a vehicle", "vin vehicle-?id.* (licen[cs]e|number)-?plate.* plate plate-?(no|number)"),
    Kind("L", "a vehicle number (VIN)", "", passing("[A-HJ-NPR-Z0-9]{17}", is_vin)),
    Kind("K", "a certificate or licence number", "licen[cs]e.* .*-licen[cs]e certificate.* passport.* npi"),
    Kind("M", "a device", "device-?(id|no|number|serial).* serial.* imei udid mac mac-address"),
    Kind("M", "a device address (MAC)", "", matching(rf"({_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}")),
    Kind("N", "a web address", "url .*-url website homepage web-?page", matching(r"(?i:https?://|ftp://|www\.)\S+")),
    Kind("O", "an IP address", "ip ip-?addr.* .*-ip", matching(IP)),
    Kind(
        "P",
        "a biometric identifier",
        "finger-?print.* iris-?(scan|code).* retina-?scan.* voice-?print.* biometric.* face-?id dna",
    ),
    Kind("Q", "a photograph", "photo.* image.* picture.* portrait.* full-?face.* avatar"),
    Kind(
        "R",
        "a universal identifier (UUID)",
        "uuid guid",
        matching(rf"\{{?{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}\}}?"),
    ),
    GEOGRAPHY,  # after mail-address, ip-address …
    Kind("R", "an identifying number", "id .*-id identifier key record-?(no|number)"),
)
