"""How easily people are found in a table: attackers, uniqueness, individual risk, SUDA2, discovery, identifiers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.data.class_counts import Longs
from shoal.risk.attackers import (
    Attacker,
    Uniqueness,
    counted_uniqueness,
    estimated_journalist,
    histogram_document,
    journalist,
    known_threshold,
    marketer,
    prosecutor,
    uniqueness,
    weighted_journalist,
)
from shoal.risk.discovery import Combination, Discovery, discover
from shoal.risk.identifiers import IdentifierFinding, direct_finding, identifiers
from shoal.risk.individual import Individual, individual_risks, read_weights
from shoal.risk.presets import PRESETS, Judged, Preset, PresetFigures, judged, known_preset
from shoal.risk.suda import Suda, Told, coded, suda
from shoal.runtime import html_table, short_number

__all__ = [
    "PRESETS",
    "Assessment",
    "Attacker",
    "Combination",
    "Discovery",
    "Individual",
    "Judged",
    "Preset",
    "PresetFigures",
    "Reidentification",
    "Suda",
    "Told",
    "Uniqueness",
    "coded",
    "counted_uniqueness",
    "direct_finding",
    "discover",
    "estimated_journalist",
    "identifiers",
    "individual_risks",
    "journalist",
    "judged",
    "known_preset",
    "known_threshold",
    "marketer",
    "prosecutor",
    "read_weights",
    "suda",
    "uniqueness",
    "weighted_journalist",
]


@dataclass(frozen=True)
class Reidentification:
    """Risk from attackers who know the quasi-identifiers."""

    quasi_identifiers: tuple[str, ...]
    threshold: Fraction
    sizes: Longs
    """Size of each class: rows, or persons where a unit is given."""
    attackers: tuple[Attacker, ...]
    uniqueness: Uniqueness
    persons: int | None = None
    """Number of persons, where a unit is given."""
    individual: Individual | None = None
    suda: Suda | None = None
    suppressed: int = 0
    """Rows that are `*` in every quasi-identifier; they are in no class."""
    dropped: int | None = None
    """Rows that a release says it left out."""
    people: Longs | None = None
    """Persons of each class, each counted once, in their smallest class; None where rows are counted."""

    @property
    def counted(self) -> Longs:
        """How many are counted in each class: rows, or persons, each of them once."""
        return self.sizes if self.people is None else self.people

    @property
    def rows(self) -> int:
        """How many are counted: rows, or persons."""
        return int(self.counted.sum())

    def document(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "quasi_identifiers": list(self.quasi_identifiers),
            "threshold": float(self.threshold),
            "rows": self.rows,
            "classes": len(self.sizes),
            "suppressed": {
                "shown": self.suppressed,
                **({} if self.dropped is None else {"dropped": self.dropped}),
            },
            **{attacker.name: attacker.document() for attacker in self.attackers},
            "uniqueness": self.uniqueness.document(),
            "histogram": histogram_document(self.sizes),
        }
        if self.persons is not None:
            out["persons"] = self.persons
        if self.individual is not None:
            out["individual"] = self.individual.document()
        if self.suda is not None:
            out["suda"] = self.suda.document()
        return out


def _describe_attacker(attacker: Attacker) -> str:
    """Return the figures of an attacker as a text."""
    figures = {"most": attacker.max, "average": attacker.average, "at risk": attacker.at_risk}
    return ", ".join(f"{what} {short_number(value)}" for what, value in figures.items() if value is not None)


@dataclass(frozen=True, repr=False)
class Assessment:
    """The risk of a table: re-identification, identifiers left in it, telling combinations, presets."""

    name: str
    rows: int
    reidentification: Reidentification | None = None
    """None where no quasi-identifiers were named."""
    identifiers: tuple[IdentifierFinding, ...] | None = None
    discovery: Discovery | None = None
    presets: tuple[Judged, ...] = ()
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"Assessment({self.rows:,} rows; {'; '.join(f'{what}: {said}' for what, said in self._facts)})"

    def _repr_html_(self) -> str:
        return html_table(f"Risk of {self.rows:,} rows", self._facts)

    @property
    def _facts(self) -> list[tuple[str, str]]:
        """The lines of the short form: figures and names of columns, no cells."""
        found = self.reidentification
        told = [] if found is None else [(each.name, _describe_attacker(each)) for each in found.attackers]
        if found is not None:
            told.append(("unique", f"{short_number(found.uniqueness.sample)} rows"))
        if self.identifiers is not None:
            told.append(("identifiers", ", ".join(each.column for each in self.identifiers) or "none"))
        if self.discovery is not None:
            told.append(("telling combinations", short_number(len(self.discovery.minimal))))
        words = {True: "holds", False: "fails", None: "not decided by a number"}
        return [*told, *((each.preset.name, words[each.holds]) for each in self.presets)]

    def document(self) -> dict[str, Any]:
        """Return the assessment as a JSON object."""
        out: dict[str, Any] = {"rows": self.rows}
        if self.reidentification is not None:
            out["reidentification"] = self.reidentification.document()
        if self.identifiers is not None:
            out["identifiers"] = [found.document() for found in self.identifiers]
        if self.discovery is not None:
            out["discovery"] = self.discovery.document()
        if self.presets:
            out["presets"] = [found.document() for found in self.presets]
        return out | ({"notes": list(self.notes)} if self.notes else {})
