"""What guidance asks of a table, as named thresholds with their sources, judged by what the table attains."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from shoal.data.class_counts import Longs
from shoal.errors import NAME_QUASI_IDENTIFIERS, BadInput
from shoal.registry import Registry
from shoal.risk.identifiers import IdentifierFinding


@dataclass(frozen=True)
class PresetFigures:
    """The figures that presets are judged by."""

    sizes: Longs | None
    """Sizes of the classes; None where no quasi-identifiers were named."""
    findings: Sequence[IdentifierFinding]


@dataclass(frozen=True, slots=True)
class Judged:
    """A preset beside what the table attains; `holds` is None where no number decides it."""

    preset: "Preset"
    attained: Mapping[str, Any]
    holds: bool | None
    why: str = ""

    def document(self) -> dict[str, Any]:
        return {
            "preset": self.preset.name,
            "asks": self.preset.asks,
            "source": self.preset.source,
            "asked": dict(self.preset.asked),
            "attained": dict(self.attained),
            "holds": self.holds,
            **({"why": self.why} if self.why else {}),
        }


@dataclass(frozen=True, slots=True)
class Preset:
    """One piece of guidance."""

    name: str
    asks: str
    source: str
    judge: Callable[["Preset", PresetFigures], Judged] = field(repr=False, compare=False)
    asked: Mapping[str, Any] = field(default_factory=dict)
    counted: bool = True
    """Whether it looks at the sizes of classes, so that quasi-identifiers must be named."""


def _max_risk(preset: Preset, seen: PresetFigures) -> Judged:
    """Judge whether the greatest risk is at most the limit; say so where k is the usual rounding of it."""
    assert seen.sizes is not None
    limit, k = Fraction(str(preset.asked["max_risk"])), int(seen.sizes.min())
    holds = Fraction(1, k) <= limit
    rounded = preset.asked["k_rounded"]
    why = f"k = {rounded} has the risk {1 / rounded:.4f}, which is above {float(limit)} and usually rounded to it"
    return Judged(preset, {"k": k, "max_risk": 1 / k}, holds, why if k == rounded else "")


def _cell_size(preset: Preset, seen: PresetFigures) -> Judged:
    assert seen.sizes is not None
    least, k = preset.asked["k"], int(seen.sizes.min())
    small = seen.sizes < least
    attained = {"k": k, "small_cells": int(small.sum()), "rows_in_them": int(seen.sizes[small].sum())}
    return Judged(preset, attained, k >= least)


def _safe_harbor(preset: Preset, seen: PresetFigures) -> Judged:
    columns = sorted({found.column for found in seen.findings})
    why = (
        "these columns look like identifiers of the rule"
        if columns
        else "no identifier was detected; that nobody has actual knowledge who could be identified is yours to say"
    )
    return Judged(preset, {"identifiers": len(seen.findings), "columns": columns}, not columns, why)


def _no_number(preset: Preset, seen: PresetFigures) -> Judged:
    attained = {} if seen.sizes is None else {"max_risk": 1 / int(seen.sizes.min())}
    return Judged(preset, attained, None, "it names no number: a person must judge and document it")


def _cell(name: str, k: int, asks: str, source: str) -> Preset:
    return Preset(name, asks, source, _cell_size, {"k": k})


_RISK = {"max_risk": 0.09, "k": 12, "k_rounded": 11}
_PTAC = "US Department of Education, PTAC: Frequently Asked Questions - Disclosure Avoidance"

PRESETS: Registry[Preset] = Registry(
    "shoal.presets",
    [
        Preset(
            "ema-0070",
            "nobody's risk is above 0.09: at least 12 people in each class (11 is the usual rounding of 1/0.09)",
            "European Medicines Agency, Policy 0070, external guidance EMA/90915/2016",
            _max_risk,
            _RISK,
        ),
        Preset(
            "health-canada",
            "nobody's risk is above 0.09: at least 12 people in each class (11 is the usual rounding of 1/0.09)",
            "Health Canada, Public Release of Clinical Information: guidance document, 2019",
            _max_risk,
            _RISK,
        ),
        _cell(
            "cms",
            11,
            "no cell of 1 to 10 people is shown",
            "Centers for Medicare & Medicaid Services, cell size suppression policy",
        ),
        _cell("ferpa-3", 3, "no cell of fewer than 3 students: the least that guidance names", _PTAC),
        _cell("ferpa-5", 5, "no cell of fewer than 5 students, as many schools choose", _PTAC),
        _cell("ferpa-10", 10, "no cell of fewer than 10 students, as many states choose", _PTAC),
        Preset(
            "hipaa-safe-harbor",
            "none of the 18 kinds of identifiers is left, as far as they can be detected",
            "45 CFR 164.514(b)(2)",
            _safe_harbor,
            counted=False,
        ),
        Preset(
            "hipaa-expert",
            "an expert finds the risk very small and documents it",
            "45 CFR 164.514(b)(1)",
            _no_number,
            counted=False,
        ),
        Preset(
            "wp216",
            "nobody can be singled out, linked, or have something inferred about them; else the risk is analysed",
            "Article 29 Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216)",
            _no_number,
            counted=False,
        ),
    ],
)


def known_preset(name: str) -> Preset:
    """Return the preset of that name.

    >>> known_preset("cms").asked
    {'k': 11}
    """
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=1, cutoff=0.5)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise BadInput(f"there is no preset {name!r}{hint}; there are {', '.join(PRESETS)}")
    return PRESETS[name]


def judged(preset: Preset, seen: PresetFigures) -> Judged:
    """Judge whether a table keeps a preset.

    >>> import numpy as np
    >>> judged(known_preset("ema-0070"), PresetFigures(np.array([11, 20]), ())).holds
    False
    """
    if preset.counted and seen.sizes is None:
        raise BadInput(f"the preset {preset.name!r} looks at classes: {NAME_QUASI_IDENTIFIERS}")
    return preset.judge(preset, seen)
