"""Blocking inference channels by adding rows (Sané, Camara, Ndiaye and Slimani 2012, Algorithm 1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.codes import Codes, Column, Kind
from shoal.mining.c45 import C45
from shoal.mining.channels import Sensitive
from shoal.mining.rules import Rule

Rows = NDArray[np.int64]
Further = Callable[[Rows, Codes], tuple[Rows, Codes]]
"""Rows that something else than rules asks for, given what every row there is by now shows or copies, and its value."""

_UNKNOWN = "\0"
"""No cell of a table that was read is this."""


def _no_rows() -> Rows:
    return np.empty(0, dtype=np.int64)


def _no_values() -> Codes:
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Limits:
    """When to stop, done or not."""

    confidence: Fraction
    """What channels are brought down to."""
    h: Fraction = Fraction(1)
    """The share of rules lost, or of ghost rules, above which no more rows are added."""
    rows: int | None = None
    """The most rows to add."""
    passes: int = 100


@dataclass(frozen=True)
class Blocked:
    """What was done about the channels, and what is left of them."""

    before: tuple[Rule, ...]
    """The channels there were."""
    left: tuple[Rule, ...]
    """Those there still are, or are anew."""
    lost: Fraction
    """LR: the share of the other rules that are gone."""
    ghosts: Fraction
    """GR: the share of the rules there are now that there were not."""
    passes: int
    """How often rows were added, or left out, and rules mined anew."""
    stopped: str = ""
    """Why channels are left: "h", "passes", "limit", or "fractions" of rows with missing values support them."""
    copied: Rows = field(default_factory=_no_rows)
    """Of each added row, the row whose other columns it copies."""
    values: Codes = field(default_factory=_no_values)
    """The sensitive value that it shows instead."""
    silent: int = 0
    """Channels that a miner who drops rows without a value still sees."""


def block(
    columns: Mapping[str, Column],
    target: Column,
    sensitive: Sensitive,
    limits: Limits,
    *,
    unknown: bool = False,
    seed: int = 0,
    further: Further | None = None,
) -> Blocked:
    """Add rows {X, Y'} to the rows of every channel until none is left, mining anew after each pass (S1.3 to S1.5).

    Every added row copies another row of the leaf, so that no new combination of other columns appears. Y' is a value
    that the leaf lacks, these in turn; where it lacks none, the rarest. With `unknown` it is null: a miner who drops
    rows without a class still sees the rule as before.

    >>> from shoal.codes import encode
    >>> ages = encode("age", pa.array(["<30"] * 4 + ["≥40"] * 4 + ["3*"] * 4))
    >>> some = ["heart", "viral"] * 2 + ["cancer", "heart", "viral", "viral"]
    >>> ill = encode("disease", pa.array(some + ["cancer"] * 4))
    >>> done = block({"age": ages}, ill, Sensitive(), Limits(Fraction(1, 2)))
    >>> [str(rule) for rule in done.before], len(done.copied), done.left
    (['age = 3* => cancer (4.0)'], 4, ())
    """
    grown = _Grown(columns, _with_unknown(target) if unknown else target)
    if unknown and not sensitive.values:  # that nothing is known of somebody is no channel
        sensitive = replace(sensitive, values=frozenset(target.texts.to_pylist()))
    mined = grown.mined()
    rules = mined.rules()
    first = left = sensitive.among(rules)
    before, lost, ghosts, passes, stopped = rules, Fraction(0), Fraction(0), 0, ""
    rng = np.random.default_rng(seed)
    while not stopped:
        rows, values = grown.needed(mined, sensitive, limits.confidence, rng, unknown=unknown)
        if further is not None:
            more = further(*grown.with_rows(rows, values).all)
            rows, values = np.concatenate([rows, more[0]]), np.concatenate([values, more[1]])
        if not len(rows):
            stopped = "fractions" if left else ""
            break
        if passes == limits.passes:
            stopped = "passes"
            break
        if limits.rows is not None and len(grown.copied) + len(rows) > limits.rows:
            stopped = "limit"
            room = limits.rows - len(grown.copied)
            rows, values = rows[:room], values[:room]
        grown, passes = grown.with_rows(rows, values), passes + 1
        mined = grown.mined()
        rules = mined.rules()
        left = sensitive.among(rules)
        lost, ghosts = compared(before, first, rules)
        if not stopped and max(lost, ghosts) > limits.h:
            stopped = "h"
    return Blocked(
        first,
        left,
        lost,
        ghosts,
        passes,
        stopped if left else "",
        grown.copied,
        grown.values,
        silent=len(first) if unknown else 0,
    )


def compared(before: Sequence[Rule], channels: Sequence[Rule], now: Sequence[Rule]) -> tuple[Fraction, Fraction]:
    """LR, the share of rules that were no channels and are lost, and GR, the share of ghosts among the rules now."""
    were, are = {rule.same for rule in before}, {rule.same for rule in now}
    others = were - {rule.same for rule in channels}
    return _share(len(others - are), len(others)), _share(len(are - were), len(are))


@dataclass(frozen=True)
class _Grown:
    """A table and the rows that were added to it."""

    columns: Mapping[str, Column]
    target: Column
    copied: Rows = field(default_factory=_no_rows)
    values: Codes = field(default_factory=_no_values)

    @property
    def all(self) -> tuple[Rows, Codes]:
        """Of every row there is by now, the one it shows or copies, and its sensitive value."""
        return np.concatenate([np.arange(len(self.target.codes)), self.copied]), np.concatenate(
            [self.target.codes, self.values]
        )

    def with_rows(self, rows: Rows, values: Codes) -> "_Grown":
        return replace(self, copied=np.concatenate([self.copied, rows]), values=np.concatenate([self.values, values]))

    @property
    def features(self) -> dict[str, Column]:
        rows, _ = self.all
        return {name: replace(column, codes=column.codes[rows]) for name, column in self.columns.items()}

    def mined(self) -> C45:
        return C45().fit_codes(self.features, replace(self.target, codes=self.all[1]))

    def needed(
        self, mined: C45, sensitive: Sensitive, confidence: Fraction, rng: np.random.Generator, *, unknown: bool
    ) -> tuple[Rows, Codes]:
        """The rows that bring every channel down to a confidence, drawn among those of its leaf."""
        shows, told = self.all
        leaves = mined.leaf_of(self.features)
        number = {text: code for code, text in enumerate(self.target.texts.to_pylist())}
        rows, values = [_no_rows()], [_no_values()]
        for leaf, rule in enumerate(mined.rules()):
            inside = np.flatnonzero(leaves == leaf) if sensitive.tells(rule) else _no_rows()
            if not len(inside):
                continue
            counts = np.bincount(told[inside], minlength=len(number))[: len(number)]
            right = number[rule.consequent]
            many = max(ceil(int(counts[right]) / confidence) - len(inside), 1)
            rows.append(np.resize(rng.permutation(shows[inside]), many))
            values.append(np.full(many, len(number) - 1, np.int32) if unknown else _lacking(counts, right, many))
        return np.concatenate(rows), np.concatenate(values)


def _lacking(counts: NDArray[np.int64], right: int, many: int) -> Codes:
    """So many values other than the right one: those that do not occur, in turn, or else the rarest.

    >>> _lacking(np.array([4, 0, 0, 1]), 0, 3).tolist(), _lacking(np.array([9, 2, 1]), 0, 4).tolist()
    ([1, 2, 1], [2, 1, 2, 1])
    """
    others = np.delete(np.arange(len(counts), dtype=np.int32), right)
    absent = others[counts[others] == 0]
    if len(absent):
        return np.resize(absent, many)
    held = counts.copy()
    chosen = np.empty(many, dtype=np.int32)
    for i in range(many):
        chosen[i] = others[np.argmin(held[others])]
        held[chosen[i]] += 1
    return chosen


def _with_unknown(target: Column) -> Column:
    """The column with null as one value more: what a miner sees who does not drop it."""
    texts = pa.concat_arrays([target.texts, pa.array([_UNKNOWN], pa.string())])
    return replace(target, values=texts, texts=texts, kind=Kind.TEXT, has_null=False)


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)
