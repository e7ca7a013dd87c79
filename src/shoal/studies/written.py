"""What a study found, and how it is written down: a page, its tables as CSV, its figures as SVG."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import BadOutput
from shoal.report.folder import write_whole
from shoal.report.plots.display import Display
from shoal.studies.directions import Direction


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
    """What else is to be said."""

    def page(self, folder: str = "", mark: str = "#") -> str:
        """As Markdown, with its figures in a folder."""
        parts = [f"{mark} {self.title}", self.about, self.said.markdown(), *self.notes]
        for sheet in self.sheets:
            parts += [f"{mark}# {sheet.title}", sheet.markdown(), *([sheet.note] if sheet.note else [])]
        parts += [f"![{name.replace('-', ' ')}]({folder}{name}.svg)" for name in self.figures]
        return "\n\n".join(parts) + "\n"

    @property
    def said(self) -> Sheet:
        """The directions as a table."""
        rows = [(each.paper, each.measured, each.verdict, each.why) for each in self.directions]
        return Sheet("directions", "What the paper says", ("the paper", "measured here", "verdict", "why"), rows)

    @property
    def held(self) -> str:
        """How many directions hold.

        >>> Study("s", "S", "", (Direction("p", "m", None), Direction("p", "m", holds=True)), ()).held
        '1 hold, 0 do not hold, 1 cannot be told'
        """
        many = {which: sum(each.holds is which for each in self.directions) for which in (True, False, None)}
        return f"{many[True]} hold, {many[False]} do not hold, {many[None]} cannot be told"

    def document(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "study": self.name,
            "title": self.title,
            "about": self.about,
            "directions": [each.document() for each in self.directions],
            "notes": list(self.notes),
            "tables": {sheet.name: sheet.records() for sheet in self.sheets},
        }

    def write(self, folder: Path) -> list[Path]:
        """Everything into a folder, over what an earlier study left there."""
        texts = {"study.md": self.page()} | {f"{sheet.name}.csv": sheet.csv() for sheet in (self.said, *self.sheets)}
        pictures = {f"{name}.svg": figure.render("svg") for name, figure in self.figures.items()}
        return _write(folder, {**texts, **pictures})


def write_index(folder: Path, studies: Mapping[str, tuple[Study, float]]) -> list[Path]:
    """Several studies with the seconds that each took: each into a folder of its own, and one page that shows all."""
    written = [path for name, (study, _) in studies.items() for path in study.write(folder / name)]
    rows = [
        (f"[{study.title}](#{_anchor(study.title)})", study.held, f"{seconds:.0f}")
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
        raise BadOutput(f"{folder.name}: the study could not be written ({wrong.strerror})") from None
    return [folder / name for name in files]


def _anchor(title: str) -> str:
    """What renderers of Markdown call a heading.

    >>> _anchor("(alp, dif)-anonymity beside k-anonymity")
    'alp-dif-anonymity-beside-k-anonymity'
    """
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _cell(cell: Any) -> str:
    return f" {cell} " if cell != "---" else "---"
