"""What a label covers: read afresh from the grammar, the hierarchy and the column, whoever wrote it (design 9)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.codes import Codes, Column
from shoal.counts import Flags
from shoal.hierarchy import TOP, Hierarchy
from shoal.verify.grammar import Interval, Members, parsed
from shoal.verify.scale import Scale


@dataclass(frozen=True)
class Labels:
    """The labels that the cells of one column may show.

    >>> import pyarrow as pa
    >>> from shoal.codes import encode
    >>> ages = Labels(encode("age", pa.array(["9", "30", "41", None])))
    >>> [ages.covered(label).tolist() for label in ("[9, 41)", "≥30")]
    [[True, True, False, False], [False, True, True, False]]
    >>> [ages.covered(label).tolist() for label in ("30", "*", None)]
    [[False, True, False, False], [True, True, True, True], [False, False, False, True]]
    """

    column: Column
    hierarchy: Hierarchy | None = None

    def covered(self, label: str | None) -> Flags:
        """Which codes of the column a label covers; what it does not understand covers nothing."""
        flags = np.zeros(self.column.size, dtype=bool)
        if label is None:
            flags[len(self.column.values) :] = True
        elif label == TOP:
            flags[:] = True
        elif (raw := self._codes.get(label)) is not None:  # before all else: a value may look like a label
            flags[raw] = True
        elif label in self._groups:
            for level, group in self._groups[label]:
                flags |= level == group
        else:
            self._read(label, flags)
        return flags

    @cached_property
    def scale(self) -> Scale:
        return Scale(self.column)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.column.texts.to_pylist())}

    @cached_property
    def _groups(self) -> dict[str, list[tuple[Codes, int]]]:
        """Where in the hierarchy each label stands: one meaning, though on top null may join it."""
        found: dict[str, list[tuple[Codes, int]]] = {}
        for level, labels in zip(self.hierarchy.levels, self.hierarchy.labels, strict=True) if self.hierarchy else ():
            for group, label in enumerate(labels):
                if label is not None:
                    found.setdefault(label, []).append((level, group))
        return found

    def _read(self, label: str, flags: Flags) -> None:
        match parsed(label):
            case Interval(low, high, closed):
                start = 0 if low is None else self.scale.below(low)
                reach = self.scale.up_to if closed else self.scale.below
                stop = len(self.column.values) if high is None else reach(high)
                if start is not None and stop is not None:
                    flags[start : max(start, stop)] = True
            case Members(values):
                flags[[code for code in map(self._codes.get, values) if code is not None]] = True
            case None:
                pass
