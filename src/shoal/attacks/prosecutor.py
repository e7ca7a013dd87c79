"""Somebody who knows all quasi-identifiers of a person whom he knows to be in the table (El Emam and Dankar 2008)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, ClassVar

import numpy as np

from shoal.attacks.attack import Attack, Channel, Finding, ShareLike, option, read_share
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Longs
from shoal.data.codes import Codes
from shoal.data.packed_keys import join_columns
from shoal.errors import BadInput


@dataclass(frozen=True)
class Prosecutor(Attack):
    """Look up everybody by all quasi-identifiers at once: whose class is theirs alone is found.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import Table, encode
    >>> table = Table({"age": encode("age", pa.array(["3*", "3*", "4*"]))}, 3)
    >>> Prosecutor().on(Published.of("the frame", table, ["age"], [])).sentence
    '1 of 3 records are alone in their class; the smallest class has 1'
    """

    name: ClassVar[str] = "prosecutor"
    sentence: ClassVar[str] = "Find people who are alone in their class."
    channel: ClassVar[Channel] = Channel.RECORD
    source: ClassVar[str] = "El Emam and Dankar, JAMIA 15(5), 2008"
    if_exposed: ClassVar[str] = "{exposed:,} are alone in their class"
    if_not: ClassVar[str] = "by its classes: the smallest has {smallest_class:,} records"

    threshold: ShareLike = option(0.2, "The largest risk that is allowed.", share=True)
    """The chance of the right record above which a person is at risk."""

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Count the people at risk, which depends on class sizes only."""
        threshold = read_share("threshold", self.threshold)
        if not 0 < threshold <= 1:
            raise BadInput("the threshold of a risk lies above 0 and is at most 1")
        of_row, sizes = _classes(published)
        shown = np.ones(len(sizes), dtype=bool)
        hidden = of_row[published.hidden]
        if len(np.unique(hidden)) < len(sizes):  # where nothing stands out, all rows were generalised so
            shown[hidden] = False
        total, sizes = int(sizes.sum()), sizes[shown]
        least = int(sizes.min()) if len(sizes) else 0
        alone, rows = int((sizes == 1).sum()), int(sizes.sum())
        enough = ceil(1 / threshold)
        figures = {
            "classes": len(sizes),
            "smallest_class": least,
            "highest_risk": 1 / least if least else 0.0,
            "mean_risk": len(sizes) / rows if rows else 0.0,
            "threshold": float(threshold),
            "people_at_risk": int(sizes[sizes < enough].sum()),
            "suppressed_records": total - rows,
        }
        said = f"{alone:,} of {rows:,} records are alone in their class; the smallest class has {least:,}"
        return Finding("prosecutor", Channel.RECORD, alone, rows, f"{said}{_describe_rest(figures)}", figures)

    @classmethod
    def words(cls, figures: Mapping[str, Any], exposed: int) -> str | None:
        return f"{super().words(figures, exposed)}{_describe_rest(figures)}"


def tell_persons(found: Finding, fewest: int) -> Finding:
    """Return a finding that also tells the fewest persons in a class, where a person may have several records."""
    figures = {**found.figures, "fewest_persons": fewest}
    said = found.sentence.removesuffix(_describe_rest(found.figures))
    return replace(found, sentence=f"{said}{_describe_rest(figures)}", figures=figures)


def _describe_rest(figures: Mapping[str, Any]) -> str:
    """Say how many persons a class has, where that is known, and how many records are in no class of their own."""
    persons, hidden = figures.get("fewest_persons"), figures.get("suppressed_records", 0)
    told = "" if persons is None else f", and each class has at least {persons:,} person{'s' * (persons != 1)}"
    if not hidden:
        return told
    are = "1 more record shows" if hidden == 1 else f"{hidden:,} more records show"
    return f"{told}; {are} * in every quasi-identifier and could be anybody's"


def _classes(published: Published) -> tuple[Codes, Longs]:
    """Return the class of each row and the size of each class, by equal quasi-identifiers.

    Where these are shown as they are (Anatomy), groups hide nobody's row, and do not count.
    """
    if not published.exact:
        return published.class_of_row, published.counts.sizes
    of_row, count, _ = join_columns([(each.codes, len(each.labels)) for each in published.quasi_identifiers.values()])
    return of_row, np.bincount(of_row, minlength=count)
