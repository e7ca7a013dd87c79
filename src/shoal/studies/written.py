"""What a study found, and how it is written down: a page, its tables as CSV, its figures as SVG."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import BadOutput
from shoal.report.folder import write_whole
from shoal.report.plots.charts import Chart


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
    sheets: tuple[Sheet, ...]
    charts: dict[str, Chart] = field(default_factory=dict)
    conclusions: tuple[str, ...] = ()

    def page(self) -> str:
        """As Markdown."""
        parts = [f"# {self.title}", self.about]
        parts += ["\n".join(f"- {one}" for one in self.conclusions)] if self.conclusions else []
        for sheet in self.sheets:
            parts += [f"## {sheet.title}", sheet.markdown(), *([sheet.note] if sheet.note else [])]
        parts += [f"![{chart.title}]({name}.svg)" for name, chart in self.charts.items()]
        return "\n\n".join(parts) + "\n"

    def document(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "study": self.name,
            "title": self.title,
            "about": self.about,
            "conclusions": list(self.conclusions),
            "tables": {sheet.name: sheet.records() for sheet in self.sheets},
        }

    def write(self, folder: Path) -> list[Path]:
        """Everything into a folder, over what an earlier study left there."""
        files = {"study.md": self.page()}
        files |= {f"{sheet.name}.csv": sheet.csv() for sheet in self.sheets}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                write_whole(folder / name, text)
            for name, chart in self.charts.items():
                write_whole(folder / f"{name}.svg", chart.render("svg"))
        except OSError as wrong:
            raise BadOutput(f"{folder.name}: the study could not be written ({wrong.strerror})") from None
        return [folder / name for name in (*files, *(f"{name}.svg" for name in self.charts))]


def _cell(cell: Any) -> str:
    return f" {cell} " if cell != "---" else "---"
