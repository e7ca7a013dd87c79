"""What studies share: people, directions, sheets, and writing them as a page, CSV tables and SVG figures."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets import ADULT_SHA256, adult, census, census_hierarchies
from shoal.errors import BadInput, BadOutput, reason_of
from shoal.publish.folder import write_whole
from shoal.report.plots.display import Display

ROWS = 45_222
"""Rows of Adult without missing values; as many are invented."""


@dataclass(frozen=True)
class People:
    """A table and what studies need to know of it."""

    name: str
    table: pa.Table
    sensitive: str
    real: bool

    @classmethod
    def of(cls, folder: Path | None, *, rows: int = ROWS, seed: int = 0) -> "People":
        """Read UCI's Adult from a folder, complete rows only; without a folder, invent a census.

        >>> People.of(None, rows=10).name
        'an invented census'
        """
        if folder is None:
            return cls("an invented census", census(rows, seed=seed).drop_columns(["disease"]), "income", real=False)
        missing = [name for name in ADULT_SHA256 if not (folder / name).is_file()]
        if missing:
            raise BadInput(f"{folder.name}: there is no {missing[0]} in this folder; it should hold UCI's Adult")
        table = adult(folder)
        known = pc.is_valid(table[0])
        for column in table.columns:
            known = pc.and_(known, pc.is_valid(column))
        return cls("Adult", table.filter(known), "salary-class", real=True)


_SCHOOL = {
    "No diploma": {
        "Elementary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
        "Some high school": ["9th", "10th", "11th", "12th"],
    },
    "Diploma": {
        "High school": ["HS-grad", "Some-college"],
        "Associate": ["Assoc-acdm", "Assoc-voc"],
        "University": ["Bachelors", "Masters", "Prof-school", "Doctorate"],
    },
}
_WORK = {
    "Office": ["Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support"],
    "Hands": ["Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"],
    "Service": ["Armed-Forces", "Other-service", "Priv-house-serv", "Protective-serv"],
}
_WORLD = {
    "America": {
        "North America": ["Canada", "Mexico", "Outlying-US(Guam-USVI-etc)", "Puerto-Rico", "United-States"],
        "Central America": [
            *("Cuba", "Dominican-Republic", "El-Salvador", "Guatemala", "Haiti", "Honduras", "Jamaica", "Nicaragua"),
            "Trinadad&Tobago",
        ],
        "South America": ["Columbia", "Ecuador", "Peru"],
    },
    "Elsewhere": {
        "Europe": [
            *("England", "France", "Germany", "Greece", "Holand-Netherlands", "Hungary", "Ireland", "Italy", "Poland"),
            *("Portugal", "Scotland", "Yugoslavia"),
        ],
        "Asia": [
            *("Cambodia", "China", "Hong", "India", "Iran", "Japan", "Laos", "Philippines", "South", "Taiwan"),
            *("Thailand", "Vietnam"),
        ],
    },
}
_FAMILY = {
    "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
    "Not married": ["Divorced", "Never-married", "Separated", "Widowed"],
}
_ADULT: dict[str, Any] = {
    "education": {"tree": _SCHOOL},
    "occupation": {"tree": _WORK},
    "native-country": {"tree": _WORLD},
    "marital-status": {"tree": _FAMILY},
    "race": {"flat": True},
    "sex": {"flat": True},
    "salary-class": {"flat": True},
    "age": {"intervals": [5, 10, 20]},
}


def quasi_identifier(name: str, *, real: bool) -> dict[str, Any]:
    """Return a column as a policy names it, with its hierarchy.

    >>> quasi_identifier("age", real=True)["hierarchy"]
    {'intervals': [5, 10, 20]}
    """
    if real or name == "age":
        return {"role": "quasi-identifier", "hierarchy": _ADULT[name]}
    known = census_hierarchies()
    if name not in known:
        return {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    return {"role": "quasi-identifier", "hierarchy": {"rows": [list(row) for row in known[name]]}}


Places = Sequence[Any]
"""Where each figure was measured: at which k, or for how many rows."""


@dataclass(frozen=True)
class Direction:
    """What a paper reports, what is measured here, and whether the two agree."""

    paper: str
    measured: str
    holds: bool | None
    """None where it cannot be told, since nothing changes or chance may explain it."""
    why: str = ""

    @property
    def verdict(self) -> str:
        return "cannot be told" if self.holds is None else "holds" if self.holds else "does not hold"

    def document(self) -> dict[str, Any]:
        """Return the direction as a JSON object."""
        return {"paper": self.paper, "measured": self.measured, "holds": self.holds, "why": self.why}


def rises(paper: str, places: Places, values: Sequence[float], why_not: str = "", *, slack: float = 0.0) -> Direction:
    """Check that figures rise from place to place: never a step down, and the last above the first.

    Steps of less than `slack`, a share of the figure, are chance.

    >>> rises("SE rises with the rows", [10, 20, 30], [1.0, 4.0, 4.0]).holds
    True
    >>> found = rises("time rises with k", [2, 5, 9], [3.0, 1.0, 4.0], "noise")
    >>> found.measured, found.verdict, found.why
    ('3 at 2, 4 at 9; falls after 2', 'does not hold', 'noise')
    >>> rises("time rises with k", [2, 5], [1.0, 1.05], slack=0.1).verdict
    'cannot be told'
    """
    return _check_trend(paper, places, values, why_not, 1, slack)


def falls(paper: str, places: Places, values: Sequence[float], why_not: str = "", *, slack: float = 0.0) -> Direction:
    """Check that figures fall from place to place.

    >>> falls("SE falls with k", [2, 3], [1.0, 0.5]).holds
    True
    """
    return _check_trend(paper, places, values, why_not, -1, slack)


def _check_trend(
    paper: str, places: Places, values: Sequence[float], why_not: str, sign: int, slack: float
) -> Direction:
    steps = [sign * (b - a) for a, b in pairwise(values)]
    room = [slack * abs(a) for a in values]
    against = [place for place, step, chance in zip(places, steps, room, strict=False) if step < -chance]
    measured = f"{_short(values[0])} at {_short(places[0])}, {_short(values[-1])} at {_short(places[-1])}"
    if against:
        measured += f"; {'falls' if sign > 0 else 'rises'} after {', '.join(map(_short, against))}"
    moved = sign * (values[-1] - values[0]) > room[0]
    holds = None if not moved and not against else moved and not against
    return Direction(paper, measured, holds, "" if holds else why_not)


def longer(paper: str, places: Places, times: Sequence[float], why_not: str = "") -> Direction:
    """Check that the last time is longer than the first; a difference of less than a third may be chance.

    >>> longer("time rises with k", [2, 5, 9], [10.0, 16.0, 12.0]).verdict
    'cannot be told'
    """
    ends = [0, -1]
    return rises(paper, [places[i] for i in ends], [times[i] for i in ends], why_not, slack=1 / 3)


def below(
    paper: str,
    places: Places,
    one: Sequence[float],
    other: Sequence[float],
    why_not: str = "",
    *,
    slack: float = 0.0,
) -> Direction:
    """Check that one figure is never above another, and somewhere below it.

    >>> below("a beats b", [2, 5], [1.0, 2.0], [3.0, 2.0]).measured
    '1 against 3 at 2, 2 against 2 at 5'
    >>> below("a beats b", [2, 5], [1.0, 3.0], [3.0, 2.0], "b is better there").verdict
    'does not hold'
    """
    room = [slack * abs(b) for b in other]
    against = [place for place, a, b, chance in zip(places, one, other, room, strict=True) if a > b + chance]
    measured = ", ".join(
        f"{_short(one[i])} against {_short(other[i])} at {_short(places[i])}" for i in sorted({0, len(places) - 1})
    )
    if against:
        measured += f"; above it at {', '.join(map(_short, against))}"
    less = any(a < b - chance for a, b, chance in zip(one, other, room, strict=True))
    holds = None if not less and not against else less and not against
    return Direction(paper, measured, holds, "" if holds else why_not)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True)
class Sheet:
    """A table of a study.

    >>> print(Sheet("sizes", "Sizes", ("k", "classes"), [(2, 0.5)]).markdown())
    | k | classes |
    |---|---|
    | 2 | 0.5 |
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    note: str = ""

    def markdown(self) -> str:
        lines = [self.header, ("---",) * len(self.header), *self.rows]
        return "\n".join("|" + "|".join(_cell(cell) for cell in line) + "|" for line in lines).replace("| --- ", "|---")

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]

    def csv(self) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue()


@dataclass(frozen=True)
class Study:
    """What a study found."""

    name: str
    title: str
    about: str
    """The paper, the data, how it was measured."""
    directions: tuple[Direction, ...]
    sheets: tuple[Sheet, ...]
    figures: Mapping[str, Display] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Further remarks."""

    def page(self, folder: str = "", mark: str = "#") -> str:
        """Return the study as Markdown, with its figures in a folder."""
        parts = [f"{mark} {self.title}", self.about, self.directions_sheet.markdown(), *self.notes]
        for sheet in self.sheets:
            parts += [f"{mark}# {sheet.title}", sheet.markdown(), *([sheet.note] if sheet.note else [])]
        parts += [f"![{name.replace('-', ' ')}]({folder}{name}.svg)" for name in self.figures]
        return "\n\n".join(parts) + "\n"

    @property
    def directions_sheet(self) -> Sheet:
        """The directions as a table."""
        rows = [(each.paper, each.measured, each.verdict, each.why) for each in self.directions]
        return Sheet("directions", "What the paper says", ("the paper", "measured here", "verdict", "why"), rows)

    @property
    def verdict_counts(self) -> str:
        """How many directions hold, do not hold, or cannot be told.

        >>> Study("s", "S", "", (Direction("p", "m", None), Direction("p", "m", holds=True)), ()).verdict_counts
        '1 hold, 0 do not hold, 1 cannot be told'
        """
        many = {which: sum(each.holds is which for each in self.directions) for which in (True, False, None)}
        return f"{many[True]} hold, {many[False]} do not hold, {many[None]} cannot be told"

    def document(self) -> dict[str, Any]:
        """Return the study as a JSON object."""
        return {
            "study": self.name,
            "title": self.title,
            "about": self.about,
            "directions": [each.document() for each in self.directions],
            "notes": list(self.notes),
            "tables": {sheet.name: sheet.records() for sheet in self.sheets},
        }

    def write(self, folder: Path) -> list[Path]:
        """Write everything into a folder, over what an earlier study left there."""
        texts = {"study.md": self.page()} | {
            f"{sheet.name}.csv": sheet.csv() for sheet in (self.directions_sheet, *self.sheets)
        }
        pictures = {f"{name}.svg": figure.render("svg") for name, figure in self.figures.items()}
        return _write(folder, {**texts, **pictures})


def write_index(folder: Path, studies: Mapping[str, tuple[Study, float]]) -> list[Path]:
    """Write several studies, with the seconds that each took: a folder for each, and one page that shows all."""
    written = [path for name, (study, _) in studies.items() for path in study.write(folder / name)]
    rows = [
        (f"[{study.title}](#{_anchor(study.title)})", study.verdict_counts, f"{seconds:.0f}")
        for study, seconds in studies.values()
    ]
    parts = ["# The papers' experiments, re-run", Sheet("", "", ("study", "directions", "seconds"), rows).markdown()]
    parts += [study.page(f"{name}/", "##") for name, (study, _) in studies.items()]
    return [*written, *_write(folder, {"index.md": "\n\n".join(parts)})]


def _write(folder: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_whole(folder / name, content)
    except OSError as wrong:
        raise BadOutput(f"{folder.name}: the study could not be written ({reason_of(wrong)})") from None
    return [folder / name for name in files]


def _anchor(title: str) -> str:
    """Return the anchor that renderers of Markdown give a heading.

    >>> _anchor("(alp, dif)-anonymity beside k-anonymity")
    'alp-dif-anonymity-beside-k-anonymity'
    """
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _cell(cell: Any) -> str:
    return f" {cell} " if cell != "---" else "---"
