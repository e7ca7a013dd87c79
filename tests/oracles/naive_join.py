"""The joining attack by its definition: every person against every row, every label a function of a value."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

TREE = {
    "any": {"south": {"it": ["rome", "bari"], "gr": ["athens"]}, "north": {"se": ["lund"], "dk": ["ribe", "aarhus"]}}
}
CITIES = {"rome": ("it", "south"), "bari": ("it", "south"), "athens": ("gr", "south")} | {
    "lund": ("se", "north"),
    "ribe": ("dk", "north"),
    "aarhus": ("dk", "north"),
}
ZIPS = [a + b + c for a in "AB" for b in "012" for c in "03"]


def everything(value):
    return True


def null_or(label, holds):
    """Make a condition that null also meets: a null on either side is compatible with everything."""
    return label, lambda value: value is None or holds(value)


@st.composite
def number_labels(draw):
    low, high = sorted(draw(st.tuples(st.integers(0, 40), st.integers(0, 40))))
    kind = draw(st.sampled_from(["value", "open", "closed", "below", "from", "set", "mask", "star", "null"]))
    some = draw(st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True))
    return {
        "value": null_or(str(low), lambda x: x == low),
        "open": null_or(f"[{low}, {high + 1})", lambda x: low <= x < high + 1),
        "closed": null_or(f"[{low}, {high}]", lambda x: low <= x <= high),
        "below": null_or(f"<{high}", lambda x: x < high),
        "from": null_or(f"≥{low}", lambda x: x >= low),
        "set": null_or("{" + " | ".join(map(str, some)) + "}", lambda x: x in some),
        "mask": null_or(f"{low % 5}*", lambda x: len(str(x)) == 2 and str(x)[0] == str(low % 5)),
        "star": ("*", everything),
        "null": (None, everything),
    }[kind]


@st.composite
def zip_labels(draw):
    text = draw(st.sampled_from(ZIPS))
    cut = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["value", "right", "left", "inside", "set", "star", "null"]))
    some = draw(st.lists(st.sampled_from(ZIPS), min_size=1, max_size=4, unique=True))
    return {
        "value": null_or(text, lambda x: x == text),
        "right": null_or(text[:cut] + "*" * (3 - cut), lambda x: x.startswith(text[:cut])),
        "left": null_or("*" * (3 - cut) + text[-cut:], lambda x: x.endswith(text[-cut:])),
        "inside": null_or(f"{text[0]}*{text[2]}", lambda x: (x[0], x[2]) == (text[0], text[2])),
        "set": null_or("{" + " | ".join(some) + "}", lambda x: x in some),
        "star": ("*", everything),
        "null": (None, everything),
    }[kind]


@st.composite
def city_labels(draw):
    city = draw(st.sampled_from(sorted(CITIES)))
    country, region = CITIES[city]
    some = draw(st.lists(st.sampled_from(sorted(CITIES)), min_size=1, max_size=3, unique=True))
    return draw(
        st.sampled_from(
            [
                null_or(city, lambda x: x == city),
                null_or(country, lambda x: CITIES[x][0] == country),
                null_or(region, lambda x: CITIES[x][1] == region),
                null_or("{" + " | ".join(some) + "}", lambda x: x in some),
                ("*", everything),
                (None, everything),
            ]
        )
    )


ATTRIBUTES = {
    "age": (number_labels(), st.none() | st.integers(0, 40)),
    "zip": (zip_labels(), st.none() | st.sampled_from(ZIPS)),
    "city": (city_labels(), st.none() | st.sampled_from(sorted(CITIES))),
}


@dataclass(frozen=True)
class Case:
    names: list[str]
    rows: list[list[tuple]]
    """For each released row and attribute, the label and its meaning."""
    ill: list[str | None]
    people: list[list]

    def candidates(self, person):
        return [
            i
            for i, row in enumerate(self.rows)
            if any(label != "*" for label, _ in row)
            and all(holds(x) for (_, holds), x in zip(row, person, strict=True))
        ]

    def classes(self, person):
        return len({tuple(label for label, _ in self.rows[i]) for i in self.candidates(person)})

    def shares(self, person):
        known = [self.ill[i] for i in self.candidates(person) if self.ill[i] is not None]
        return {value: Fraction(many, len(known)) for value, many in Counter(known).items()}


@st.composite
def cases(draw):
    names = draw(st.lists(st.sampled_from(sorted(ATTRIBUTES)), min_size=1, max_size=3, unique=True))
    row = st.tuples(*(ATTRIBUTES[name][0] for name in names)).map(list)
    # a row that shows something, so that not all are suppressed
    rows = draw(
        st.lists(row, min_size=1, max_size=25).filter(lambda all_: any(one != "*" for r in all_ for one, _ in r))
    )
    ill = draw(st.lists(st.sampled_from(["flu", "hiv", "cold", None]), min_size=len(rows), max_size=len(rows)))
    person = st.tuples(*(ATTRIBUTES[name][1] for name in names)).map(list)
    return Case(names, rows, ill, draw(st.lists(person, min_size=1, max_size=25)))
