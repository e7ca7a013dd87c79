"""The two generalisations that the HIPAA Safe Harbor rule spells out (45 CFR 164.514(b)(2))."""

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow.compute as pc

from shoal.data.codes import Column
from shoal.errors import BadHierarchy
from shoal.hierarchy.taxonomy import Taxonomy
from shoal.hierarchy.top_bottom import TopBottom
from shoal.hierarchy.value_columns import built, first_row

RESTRICTED_ZIP3 = frozenset(
    "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split()  # noqa: SIM905 - as the guidance prints them
)
"""Three-digit areas of at most 20,000 people in the Census of 2000, as the guidance of HHS lists them."""

_ZIP = r"\A[0-9]{5}(-?[0-9]{4})?\z"


@dataclass(frozen=True, slots=True)
class Hipaa:
    """`zip3`: three digits, `000**` for small areas; `age`: `≥90`; then `*` (45 CFR 164.514(b)(2)).

    Level 0 is still the value itself: a release under Safe Harbor also needs `min-level = 1`.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> Hipaa("zip3").taxonomy(encode("zip", pa.array(["02138", "03601"]))).levels
    [['021**', '000**'], ['*', '*']]
    """

    form: Literal["zip3", "age"]

    def __post_init__(self) -> None:
        if self.form not in ("zip3", "age"):
            raise BadHierarchy(f"hipaa = {self.form!r} is no form of it; write 'zip3' or 'age'")

    def taxonomy(self, column: Column) -> Taxonomy:
        return TopBottom(top=90).taxonomy(column) if self.form == "age" else _zip3(column)

    def spec(self) -> dict[str, Any]:
        return {"hipaa": self.form}


def _zip3(column: Column) -> Taxonomy:
    """Return the taxonomy of ZIP codes by their first three digits; refuse other texts."""
    row = first_row(column, pc.invert(pc.match_substring_regex(column.texts, _ZIP)))
    if row is not None:
        raise BadHierarchy(
            f"column {column.name!r}: row {row} is not a ZIP code of 5 digits (or ZIP+4); restore lost "
            "leading zeros, or list it in [data] missing"
        )
    areas = [text[:3] for text in column.texts.to_pylist()]
    return built(column, [["000**" if area in RESTRICTED_ZIP3 else f"{area}**" for area in areas]])
