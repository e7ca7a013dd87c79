"""The labels of an encoded column, read by the common grammar."""

from dataclasses import dataclass
from functools import cached_property

from shoal.codes import Column
from shoal.counts import Flags
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.labels import Coverage, Run, Scale


@dataclass(frozen=True)
class Labels:
    """The labels that the cells of one column may show, and which of its codes each covers.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> Labels(encode("age", pa.array([9, 30, 41, None]))).covered("[9, 41)").tolist()
    [True, True, False, False]
    """

    column: Column
    hierarchy: Hierarchy | None = None

    def covered(self, label: str | None) -> Flags:
        """Which codes of the column a label covers; what it does not understand covers nothing."""
        return self._coverage.of(label)

    def runs(self, label: str | None) -> list[Run]:
        """The same as runs of codes."""
        return self._coverage.runs(label)

    @property
    def scale(self) -> Scale:
        return self._coverage.scale

    @cached_property
    def _coverage(self) -> Coverage:
        scale = Scale(self.column.values, self.column.decimal)
        return Coverage(scale, self.column.has_null, self.hierarchy)
