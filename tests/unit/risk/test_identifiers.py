"""Identifiers found by name and by content, and what must not be taken for one."""

import pyarrow as pa
import pytest

from shoal.data.codes import Table, encode
from shoal.risk.identifiers import direct_finding, identifiers, named_kind, plain_header

ROWS = 60


def column(name, values):
    return encode(name, pa.array(values))


def found(name, values):
    """The clause and how it was found; None where the column is innocent."""
    findings = identifiers(Table({name: column(name, values)}, len(values)))
    return (findings[0].kind.clause, findings[0].by) if findings else None


def cycled(*values):
    return [values[i % len(values)] for i in range(ROWS)]


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        ("Name", "A"),
        ("last_name", "A"),
        ("patientName", "A"),
        ("Street", "B"),
        ("home address", "B"),
        ("City", "B"),
        ("Phone Number", "D"),
        ("homePhone", "D"),
        ("fax", "E"),
        ("E-Mail", "F"),
        ("email address", "F"),
        ("SSN", "G"),
        ("MRN", "H"),
        ("patient_id", "H"),
        ("member-id", "I"),
        ("account_no", "J"),
        ("Passport Number", "K"),
        ("licence", "K"),
        ("license-plate", "L"),
        ("plate", "L"),
        ("Device ID", "M"),
        ("mac_address", "M"),
        ("url", "N"),
        ("ip_address", "O"),
        ("fingerprint", "P"),
        ("photo", "Q"),
        ("id", "R"),
        ("visit.id", "R"),
    ],
)
def test_by_name(name, clause):
    assert named_kind(name).clause == clause
    assert found(name, cycled("a", "b")) == (clause, "name")


@pytest.mark.parametrize(
    ("clause", "values"),
    [
        ("F", ("a@b.org", "c.d+e@f-g.co.uk")),
        ("D", ("(617) 555-0123", "617-555-0123", "617.555.0123", "+49 30 901820", "+1 617 555 0123")),
        ("G", ("123-45-6789", "001-01-0001")),
        ("N", ("https://example.org/a?b=c", "www.example.org")),
        ("O", ("192.168.0.1", "255.255.255.255", "2001:db8:0:0:0:0:2:1", "2001:db8::1", "::1")),
        ("M", ("00:1A:2B:3C:4D:5E", "00-1a-2b-3c-4d-5e")),
        ("L", ("1M8GDM9AXKP042788", "5GZCZ43D13S812715")),
        ("J", ("GB82WEST12345698765432", "DE89 3704 0044 0532 0130 00")),
        ("J", ("4111 1111 1111 1111", "5500000000000004")),
        ("R", ("123e4567-e89b-12d3-a456-426614174000",)),
        ("B", ("02138-1234", "53715")),
        ("C", ("2020-01-31", "2020-02-01")),
        ("C", ("31/01/2020", "1.2.2020")),
        ("C", ("2020-01-31T10:00:00", "2020-02-01 9:30")),
        ("C", ("Jan 5, 2020", "12 March 2021")),
        ("C", ("2020-01", "2020-12")),
        ("C", ("[2020-01-01, 2020-03-01)", "[2020-03-01, 2020-04-05]")),
    ],
)
def test_by_content(clause, values):
    assert found("x", cycled(*values)) == (clause, "content")


@pytest.mark.parametrize(
    "values",
    [
        ("000-45-6789", "666-12-1234", "900-12-1234", "123-00-1234"),  # no social security numbers
        ("1.5", "2.5"),
        ("53715", "1200"),  # numbers
        ("10:30:00", "11:45:00"),  # times of day
        ("256.1.1.1", "1.2.3"),
        ("12345678", "87654321"),
        ("1M8GDM9A1KP042788", "5GZCZ43D93S812715"),  # check digits are wrong
        ("4111111111111112", "5500000000000005"),
        ("2019", "2020"),  # years
        ("[20, 30)", "[30, 40)", "*"),
        ("Never-married", "Married-civ-spouse"),
        ("a@b", "@home"),
        ("021**", "000**"),
    ],
)
def test_harmless_values_are_no_identifiers(values):
    assert found("x", cycled(*values)) is None


def test_shares_are_of_cells_that_are_not_null():
    """At least four fifths look like it: 8 of 10 are, 7 of 10 are not."""
    mail, other = ["a@b.org"] * 8, ["x"] * 2
    assert found("x", [*mail, *other, None, None]) == ("F", "content")
    (finding,) = identifiers(Table({"x": column("x", [*mail, *other, None])}, 11))
    assert (finding.rows, finding.filled, float(finding.share)) == (8, 10, 0.8)
    assert found("x", ["a@b.org"] * 7 + ["x"] * 3) is None


@pytest.mark.parametrize(
    ("values", "clause"),
    [
        (("02138", "53715"), "B"),
        (("2138", "53715"), "B"),
        (("5371*", "0213*"), "B"),
        (("{02138 | 02139}", "[53710, 53720)"), "B"),
        (("021", "537"), None),
        (("021**", "000**"), None),
        (("021", "036"), "B"),  # 036 has at most 20,000 people
    ],
)
def test_zip_codes(values, clause):
    """45 CFR 164.514(b)(2)(i)(B): three digits, and those only of more than 20,000 people."""
    assert found("zip_code", cycled(*values)) == (clause and (clause, "content"))


@pytest.mark.parametrize(
    ("values", "clause"),
    [
        ((34, 89), None),
        ((34, 90), "C"),
        (("[80, 90)", "≥90"), None),
        (("[85, 95)", "[20, 30)"), "C"),
        (("[80, 90]",), "C"),
        (("≥95",), "C"),
    ],
)
def test_ages(values, clause):
    """45 CFR 164.514(b)(2)(i)(C): ages over 89 only as 90 or older."""
    assert found("Age", cycled(*values)) == (clause and (clause, "content"))


@pytest.mark.parametrize(
    ("name", "values", "clause"),
    [
        ("date of birth", ("1980", "1990"), None),
        ("dob", ("1980", "1990-05-01"), "C"),
        ("birthMonth", ("January", "May"), "C"),
        ("admission_date", ("[1990, 2000)", "1980s", "*"), None),
        ("Admission.Date", ("spring 2020", "2021"), "C"),
    ],
)
def test_parts_of_dates(name, values, clause):
    """45 CFR 164.514(b)(2)(i)(C): of a date only the year may be left."""
    assert found(name, cycled(*values)) == (clause and (clause, "content"))


def test_free_text_and_values_of_their_own():
    notes = [f"the patient came on day {i} and felt well" for i in range(ROWS)]
    assert found("remarks", notes) == ("R", "content")
    assert found("code", [f"x{i}" for i in range(ROWS)]) == ("R", "content")
    assert found("code", [f"x{i}" for i in range(10)]) is None  # too few rows to tell


def test_no_cell_is_told():
    findings = identifiers(Table({"x": column("x", ["CANARY-7f3@b.org"] * 9)}, 9))
    assert "CANARY" not in str(findings) + str([one.document() for one in findings])


def test_nothing_but_nulls():
    assert found("name", [None, None]) is None


def test_headers():
    assert [plain_header(name) for name in ("  ZIP_Code", "dateOfBirth", "IP.addr")] == [
        "zip-code",
        "date-of-birth",
        "ip-addr",
    ]
    assert named_kind("age") is None
    assert named_kind("state") is None


def test_what_names_a_person_by_itself():
    assert direct_finding(column("contact", cycled("a@b.org"))).kind.clause == "F"
    assert direct_finding(column("zip", cycled("02138"))) is None
    assert direct_finding(column("code", [f"x{i}" for i in range(ROWS)])) is None
