"""risk: how easily people are found in a table."""

from collections.abc import Sequence
from typing import Any

from shoal.api.given import Source_, several
from shoal.engine import ReadOptions
from shoal.engines import ArrowEngine
from shoal.report.risking import RiskAsked, assess, read_for_risk
from shoal.risk import Assessment
from shoal.search import Watch


def risk(
    source: Source_,
    *,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    weight: str | None = None,
    unit: str | None = None,
    population: Source_ = None,
    population_size: int | None = None,
    threshold: float = 0.2,
    preset: str | Sequence[str] = (),
    missing: str | Sequence[str] = ("",),
    options: ReadOptions | None = None,
    watch: Watch = lambda *_: None,
    **further: Any,
) -> Assessment:
    """How easily people are found in a table or in the folder of a release, which names its quasi-identifiers itself.

    Without quasi-identifiers it looks for identifiers and for combinations of columns that tell rows apart. Further
    keywords are the other fields of `RiskAsked`: `suda`, `suda_size`, `discover`, `identifiers` …

    >>> import pyarrow as pa
    >>> found = risk(pa.table({"age": [31, 31, 31, 52, 52, 60]}), quasi_identifiers="age", threshold=0.34)
    >>> found.document()["reidentification"]["prosecutor"]
    {'basis': 'the table', 'max': 1.0, 'average': 0.5, 'at_risk': 3, 'certain': 1}
    """
    quasi, secret, presets = (tuple(several(given)) for given in (quasi_identifiers, sensitive, preset))
    about = RiskAsked(quasi, secret, weight, unit, population, population_size, threshold, presets, **further)
    how, engine = options or ReadOptions(missing=tuple(several(missing))), ArrowEngine()
    read, about, dropped = read_for_risk(source, how, about, engine)
    everybody = None if about.population is None else engine.read(about.population, how)
    return assess(read, about, everybody, watch, dropped)
