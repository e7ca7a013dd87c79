"""What columns hold besides values: marks of missing ones, in nine languages."""

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.explore.column_guess import find_odd_texts, marks_of_missing

MARKS = [
    *(
        "unknown",
        "k. A.",
        "K.A.",
        "keine Angabe",
        "Unbekannt",
        "n. v.",
        "inconnu",
        "non renseigné",
        "s.d.",
        "desconocido",
    ),
    *("sconosciuto", "desconhecido", "onbekend", "brak danych", "bilinmiyor", "-", "--", "–", "?", ".", "NA", "NULL"),
]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_in_every_language(mark):
    for values in (["12.03.1980", "01.01.1990"], ["3", "4.5"], ["north", "south"]):
        assert marks_of_missing(encode("x", pa.array([*values, mark]))) == {mark}


@pytest.mark.parametrize(
    "values", [["+", "-"], ["-", "--", "+"], ["-"], ["m", "w"], ["none", "some"], ["brak", "alergia"]]
)
def test_values_are_no_marks(values):
    assert marks_of_missing(encode("x", pa.array(values))) == set()


def numbers(*more):
    return encode("x", pa.array([*map(str, range(100)), *more]))


def test_texts_that_are_no_marks_among_numbers():
    assert find_odd_texts(numbers("free", "free")).alike
    assert find_odd_texts(numbers("free")) is None  # it does not repeat
    assert find_odd_texts(numbers("100+", "100+")) is None
    assert find_odd_texts(numbers("a", "a", "b", "b", "c", "c")) is None
    assert find_odd_texts(encode("x", pa.array(["1", "2", "x"] * 2 + ["1"] * 50))) is None  # few codes


def test_iso_dates_with_marks():
    dates = [f"19{year}-01-{day:02}" for year in range(50, 70) for day in range(1, 3)]
    found = find_odd_texts(encode("x", pa.array([*dates, "never", "never"])))
    assert (found.kind, found.share, found.texts) == ("dates", "95 %", ("never",))
