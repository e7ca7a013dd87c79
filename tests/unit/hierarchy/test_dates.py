"""Calendar units; S2.2."""

from datetime import date, datetime

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import build
from shoal.hierarchy.dates import Dates

ALL = ["month", "quarter", "year", "decade", "century"]


def column(values):
    return encode("born", pa.array(values))


def test_every_unit():  # S2.2
    levels = Dates(ALL).taxonomy(column(["1987-12-31", "2000-01-01"])).levels
    assert levels == [
        ["1987-12", "2000-01"],
        ["1987-Q4", "2000-Q1"],
        ["1987", "2000"],
        ["1980s", "2000s"],
        ["1900-1999", "2000-2099"],
        ["*", "*"],
    ]


def test_spans_of_years_nest():
    units = ["year", "5 years", "decade", "20 years", "century"]
    found = build(column(["1959-12-31", "1960-01-01", "1984-06-30"]), Dates(units)).labels[2:]
    assert found == (
        ("1955-1959", "1960-1964", "1980-1984"),
        ("1950s", "1960s", "1980s"),
        ("1940-1959", "1960-1979", "1980-1999"),
        ("1900-1999",),
        ("*",),
    )


def test_a_decade_and_its_century_have_different_labels():  # design 9
    hierarchy = build(column(["1905-01-01", "1955-01-01"]), Dates(["decade", "century"]))
    assert hierarchy.labels[1:] == (("1900s", "1950s"), ("1900-1999",), ("*",))


def test_texts_in_a_given_format():
    assert Dates(["month"], "%d/%m/%Y").taxonomy(column(["01/02/1903", None])).levels[0] == ["1903-02"]


def test_dates_as_the_survey_prints_them():  # S2.1
    """2/12/80 is a day of February 1980."""
    hierarchy = build(column(["1/21/76", "4/13/86", "2/28/76", "2/12/80"]), Dates(["month", "year"], "%m/%d/%y"))
    assert [sorted(each) for each in hierarchy.labels[1:]] == [
        ["1976-01", "1976-02", "1980-02", "1986-04"],
        ["1976", "1980", "1986"],
        ["*"],
    ]


def test_real_dates_and_times_need_no_format():
    assert Dates(["year"], "%d/%m/%Y").taxonomy(column([date(1987, 3, 31)])).levels[0] == ["1987"]
    times = column([datetime(1987, 3, 31, 9, 30), datetime(1987, 3, 31, 10, 0)])  # noqa: DTZ001
    assert build(times, Dates(["day", "year"])).labels[1:] == (("1987-03-31",), ("1987",), ("*",))


@pytest.mark.parametrize("text", ["01/02/03", "0000-00-00", "9999-12-31", "20240331", "2024-W13-7", "2024-02-30"])
def test_ambiguous_texts_are_refused_with_their_row(text):  # bad input 23
    with pytest.raises(BadHierarchy, match=r"column 'born': row 3 .* give format") as refusal:
        Dates(["year"]).taxonomy(column(["2024-03-31", None, text, text]))
    assert text not in str(refusal.value)


@pytest.mark.parametrize("text", ["31.12.2020", "00/00/0000", "31/12/9999", "31/02/2020", ""])
def test_texts_that_do_not_fit_the_format_are_refused_with_their_row(text):  # bad input 23
    with pytest.raises(BadHierarchy, match=r"column 'born': row 2 .* '%d/%m/%Y'; .*\[data\] missing") as refusal:
        Dates(["year"], "%d/%m/%Y").taxonomy(column(["31/12/2020", text]))
    assert not text or text not in str(refusal.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), r"not a list of units; choose from day, month"),
        (("month",), r"not a list of units"),
        ((["week"],), r"not a list of units"),
        ((["year", "month"],), r"units must grow"),
        ((["year", "year"],), r"units must grow"),
        ((["month"], "%Y"), r"does not tell the month"),
        ((["decade"], "%d %B"), r"does not tell the decade"),
        ((["year"], "%Q"), r"does not tell the year"),
        ((["year"], 5), r"does not tell the year"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(BadHierarchy, match=message):
        Dates(*arguments)
