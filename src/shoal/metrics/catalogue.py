"""Every figure that describes a release: one list for `shoal metrics`, the manifest and the reports."""

from dataclasses import dataclass
from typing import Any

from shoal.metrics.additive import GeometricLoss, Height, Loss, PrecisionLoss
from shoal.metrics.alpha import AlphaMax, AlphaSpread
from shoal.metrics.cell_measures import (
    gcp,
    granularity,
    leaf_loss,
    leaf_loss_mean,
    loss,
    missing_cells,
    ncp,
    non_uniform_entropy,
    non_uniform_entropy_share,
    prec,
    prec_full_domain,
)
from shoal.metrics.class_size import (
    AverageClass,
    Discernibility,
    average_class,
    c_avg,
    class_sizes,
    discernibility,
    discernibility_star,
)
from shoal.metrics.comparison import Comparison, Measure, Measurement
from shoal.metrics.distribution_measures import (
    ambiguity,
    ambiguity_log2,
    contingency_change,
    correlation_change,
    kl_divergence,
    sse,
    sse_share,
)
from shoal.metrics.metric import Metric, Scorer
from shoal.recoding.outcome import Before, RecodedCells
from shoal.registry import Registry

__all__ = [
    "ambiguity",
    "ambiguity_log2",
    "average_class",
    "c_avg",
    "class_sizes",
    "contingency_change",
    "correlation_change",
    "discernibility",
    "discernibility_star",
    "gcp",
    "granularity",
    "kl_divergence",
    "leaf_loss",
    "leaf_loss_mean",
    "loss",
    "missing_cells",
    "ncp",
    "non_uniform_entropy",
    "non_uniform_entropy_share",
    "prec",
    "prec_full_domain",
    "sse",
    "sse_share",
]
METRICS: Registry[Metric] = Registry(
    "shoal.metrics",
    [
        Loss(),
        GeometricLoss(),
        PrecisionLoss(),
        Discernibility(),
        AverageClass(),
        Height(),
        AlphaMax(),
        AlphaSpread(),
    ],
)


def scorers(before: Before) -> dict[str, Scorer]:
    """Return a scorer for every metric that fits this table; those of sensitive values need their counts."""
    return {metric.name: metric.on(before) for metric in _fitting(before)}


def lost_in_cells(before: Before, after: RecodedCells) -> dict[str, float]:
    """Return every metric of a recoding of cells, except height and precision, which count levels."""
    values = {metric.name: metric.of_cells(before, after) for metric in _fitting(before)}
    return {name: value for name, value in values.items() if value is not None}


def _fitting(before: Before) -> list[Metric]:
    """Return the metrics that this table has all counts for."""
    return [metric for metric in METRICS.values() if before.sensitive is not None or not metric.of_sensitive]


@dataclass(frozen=True)
class Entry:
    """A figure: what it tells, its range, its source, and how it is measured."""

    name: str
    tells: str
    range: str
    source: str
    measure: Measure | None = None
    """None where the search's own score is the figure."""

    @property
    def minimised(self) -> bool:
        """Whether a search can minimise it."""
        return self.name in METRICS

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "tells": self.tells,
            "range": self.range,
            "minimised": self.minimised,
            "source": self.source,
        }


def _entry_of_metric(name: str, measure: Measure | None = None) -> Entry:
    """Return the entry of a metric that searches minimise, with the metric's own words."""
    metric = METRICS[name]
    return Entry(name, metric.tells, metric.range, metric.source, measure)


_ENTRIES: tuple[Entry, ...] = (
    _entry_of_metric("loss", loss),
    _entry_of_metric("loss-geometric"),
    Entry(
        "ncp",
        "Normalised certainty penalty: the sum of a record's losses, on average.",
        "0 = intact … number of attributes",
        "Xu et al., KDD 2006",
        ncp,
    ),
    Entry(
        "gcp",
        "Global certainty penalty: the mean loss of all cells, whatever their importance.",
        "0 = intact … 1",
        "Ghinita et al., VLDB 2007",
        gcp,
    ),
    Entry("granularity", "1 - loss of each attribute; their mean.", "0 … 1 = intact", "ARX", granularity),
    Entry(
        "leaf-loss",
        "(Leaves under the label - 1) / leaves of the domain, summed over the rows; attributes by importance.",
        "0 = intact … below the number of rows",
        "Wang, Xu, Qu, Journal of Software 2011",
        leaf_loss,
    ),
    Entry(
        "leaf-loss-mean",
        "The same for a cell on average.",
        "0 = intact … below 1",
        "Wang, Xu, Qu, Journal of Software 2011",
        leaf_loss_mean,
    ),
    Entry(
        "prec",
        "1 - the mean share of its hierarchy that a cell was lifted; attributes by importance.",
        "0 … 1 = intact",
        "Sweeney 2002",
        prec,
    ),
    Entry(
        "prec-full-domain",
        "1 - the mean of level / height; rows that were left out do not count.",
        "0 … 1 = intact",
        "Sweeney 2002",
        prec_full_domain,
    ),
    _entry_of_metric("precision-loss"),
    _entry_of_metric("height"),
    _entry_of_metric("discernibility", discernibility),
    Entry(
        "discernibility-star",
        "C_DM*: the squares of all classes, as if none was suppressed.",
        "rows = all unique … rows²",
        "El Emam et al., JAMIA 2009; ARX",
        discernibility_star,
    ),
    _entry_of_metric("average-class", average_class),
    Entry(
        "c-avg",
        "C_AVG: released rows per released class, over the largest k that was asked.",
        "1 = as small as k allows …",
        "LeFevre et al., ICDE 2006",
        c_avg,
    ),
    Entry("class-sizes", "How many released classes are how large.", "a histogram", "ours", class_sizes),
    Entry(
        "missing-cells",
        "Share of cells that are * or of suppressed rows.",
        "0 = none … 1",
        "ARX",
        missing_cells,
    ),
    Entry(
        "non-uniform-entropy",
        "Bits that are missing to know each cell's value behind its label, by the original's frequencies.",
        "0 = intact …",
        "de Waal, Willenborg 1999; Gionis, Tassa, TKDE 2009",
        non_uniform_entropy,
    ),
    Entry(
        "non-uniform-entropy-share",
        "The same as a share of what a table of * alone misses.",
        "0 = intact … 1",
        "de Waal, Willenborg 1999; Gionis, Tassa, TKDE 2009",
        non_uniform_entropy_share,
    ),
    Entry(
        "kl-divergence",
        "Bits between the joint distribution of the quasi-identifiers and what the release says of it.",
        "0 = intact …",
        "Kifer, Gehrke, SIGMOD 2006",
        kl_divergence,
    ),
    Entry(
        "ambiguity",
        "How many combinations of values a row may be, on average.",
        "1 = intact …",
        "Goldberger, Tassa, TDP 2010",
        ambiguity,
    ),
    Entry(
        "ambiguity-log2",
        "log2 of the same as a geometric mean.",
        "0 = intact …",
        "Goldberger, Tassa, TDP 2010",
        ambiguity_log2,
    ),
    Entry(
        "sse",
        "Sum of squared distances between the numbers before and those shown, attribute by attribute.",
        "0 = intact …",
        "Domingo-Ferrer, Mateo-Sanz, TKDE 2002",
        sse,
    ),
    Entry(
        "sse-share",
        "SSE as a share of each attribute's own sum of squares; their mean.",
        "0 = intact …",
        "Domingo-Ferrer, Mateo-Sanz, TKDE 2002",
        sse_share,
    ),
    Entry(
        "correlation-change",
        "Mean change of Pearson's r between two numeric attributes.",
        "0 = kept … 2",
        "Pearson 1895",
        correlation_change,
    ),
    Entry(
        "contingency-change",
        "Mean change of Cramér's V between two quasi-identifiers, and of each with every sensitive attribute.",
        "0 = kept … 1",
        "Cramér 1946",
        contingency_change,
    ),
    _entry_of_metric("alpha-max"),
    _entry_of_metric("alpha-spread"),
)


def catalogue() -> tuple[Entry, ...]:
    """Return every figure, with the metrics that other packages registered last."""
    known = {entry.name for entry in _ENTRIES}
    return (*_ENTRIES, *(_entry_of_metric(name) for name in METRICS if name not in known))


def measured(seen: Comparison) -> dict[str, Measurement]:
    """Measure everything that can be measured of a release."""
    return {entry.name: entry.measure(seen) for entry in _ENTRIES if entry.measure is not None}
