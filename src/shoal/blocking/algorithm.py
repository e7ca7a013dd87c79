"""Blocking inference channels by adding rows (Sané, Camara, Ndiaye and Slimani 2012, Algorithm 1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.class_counts import ClassCounts, Flags, Longs, ValueCounts
from shoal.data.codes import Codes, Column, Kind
from shoal.mining.c45 import C45
from shoal.mining.decision_tree import ChannelCriterion, Rule
from shoal.models.model import Model
from shoal.models.reference_models import ReferenceModel

Rows = NDArray[np.int64]
Addition = tuple[Rows, Codes]
"""Rows that are added at once: the rows that they copy, and the values that they show instead."""
Further = Callable[[Rows, Codes], Addition]
"""Asks for rows beyond those that rules need: the rows to copy, and the values to show.

It is given, for every row so far, the row of the table that it shows or copies, and its value.
"""

_UNKNOWN = "\0"
"""Stands for an unknown value; no cell of a table that was read is this."""


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
    keep: bool = False
    """Whether the rows with which h was exceeded stay, as in the paper's algorithm; else they are taken back."""


@dataclass(frozen=True)
class Blocked:
    """What was done about the channels, and what is left of them."""

    before: tuple[Rule, ...]
    """The channels there were."""
    left: tuple[Rule, ...]
    """The channels that remain, or that are new."""
    lost: Fraction
    """LR: the share of the other rules that are gone."""
    ghosts: Fraction
    """GR: the share of the present rules that there were not before."""
    passes: int
    """How often rows were added, or left out, and rules mined anew."""
    stopped: str = ""
    """Why channels are left: "h", "passes", "limit", or "fractions" of rows with missing values support them."""
    copied: Rows = field(default_factory=_no_rows)
    """Row whose other columns each added row copies."""
    values: Codes = field(default_factory=_no_values)
    """Sensitive value that each added row shows instead."""
    silent: int = 0
    """How many channels a miner who drops rows without a value still sees."""
    exceeded: tuple[Fraction, Fraction] | None = None
    """LR and GR at the moment when one of them passed h, if it did."""
    taken_back: int = 0
    """How many rows, added or left out last, were taken back since h was exceeded with them."""


def block(
    columns: Mapping[str, Column],
    target: Column,
    sensitive: ChannelCriterion,
    limits: Limits,
    *,
    unknown: bool = False,
    seed: int = 0,
    further: Further | None = None,
) -> Blocked:
    """Add rows {X, Y'} to the rows of every channel until none is left, mining anew after each pass (S1.3 to S1.5).

    LR and GR are compared with h whenever the rows of one rule were added. The rows with which one of them passes h are
    taken back, unless the limits say to keep them, and nothing more is added.

    Every added row copies another row of the leaf, so that no new combination of other columns appears. Y' is a value
    that the leaf lacks, these in turn; where it lacks none, the rarest. With `unknown` it is null: a miner who drops
    rows without a class still sees the rule as before.

    >>> from shoal.data.codes import encode
    >>> ages = encode("age", pa.array(["<30"] * 4 + ["≥40"] * 4 + ["3*"] * 4))
    >>> some = ["heart", "viral"] * 2 + ["cancer", "heart", "viral", "viral"]
    >>> ill = encode("disease", pa.array(some + ["cancer"] * 4))
    >>> done = block({"age": ages}, ill, ChannelCriterion(), Limits(Fraction(1, 2)))
    >>> [str(rule) for rule in done.before], len(done.copied), done.left
    (['age = 3* => cancer (4.0)'], 4, ())
    """
    grown = _GrownTable(columns, _with_unknown(target) if unknown else target)
    if unknown and not sensitive.values:  # that nothing is known of somebody is no channel
        sensitive = replace(sensitive, values=frozenset(target.texts.to_pylist()))
    mined = grown.mine()
    rules = mined.rules()
    first = left = sensitive.select_channels(rules)
    before, lost, ghosts, passes, stopped = rules, Fraction(0), Fraction(0), 0, ""
    exceeded, taken_back = None, 0
    rng = np.random.default_rng(seed)
    while not stopped:
        additions = grown.find_needed_rows(mined, sensitive, limits.confidence, rng, unknown=unknown)
        if further is not None:
            more = further(*grown.with_rows(*_join(additions)).all_rows)
            additions += [more] if len(more[0]) else []
        if not additions:
            stopped = "fractions" if left else ""
            break
        if passes == limits.passes:
            stopped = "passes"
            break
        room = None if limits.rows is None else limits.rows - len(grown.copied)
        if room is not None and sum(len(rows) for rows, _ in additions) > room:
            stopped = "limit"
            additions = _cut_to(additions, room)
        begun = grown
        grown, exceeded, taken_back = grown.add_within(additions, before, first, limits)
        passes += len(grown.copied) > len(begun.copied)
        mined = grown.mine()
        rules = mined.rules()
        left = sensitive.select_channels(rules)
        lost, ghosts = compare_rules(before, first, rules)
        if exceeded is not None:
            stopped = "h"
    return Blocked(
        first,
        left,
        lost,
        ghosts,
        passes,
        stopped if left or exceeded is not None else "",
        grown.copied,
        grown.values,
        silent=len(first) if unknown else 0,
        exceeded=exceeded,
        taken_back=taken_back,
    )


def _join(additions: Sequence[Addition]) -> Addition:
    """Return several additions as one."""
    return (
        np.concatenate([_no_rows(), *(rows for rows, _ in additions)]),
        np.concatenate([_no_values(), *(values for _, values in additions)]),
    )


def _cut_to(additions: Sequence[Addition], room: int) -> list[Addition]:
    """Return the first additions, `room` rows in all; the last one may be cut."""
    cut = []
    for rows, values in additions:
        if room > 0:
            cut.append((rows[:room], values[:room]))
        room -= len(rows)
    return cut


def compare_rules(before: Sequence[Rule], channels: Sequence[Rule], now: Sequence[Rule]) -> tuple[Fraction, Fraction]:
    """Return LR, the share of rules lost among those that were no channels, and GR, the share of new rules now."""
    were, are = {rule.comparison_key for rule in before}, {rule.comparison_key for rule in now}
    others = were - {rule.comparison_key for rule in channels}
    return _share(len(others - are), len(others)), _share(len(are - were), len(are))


@dataclass(frozen=True)
class _GrownTable:
    """A table and the rows that were added to it."""

    columns: Mapping[str, Column]
    target: Column
    copied: Rows = field(default_factory=_no_rows)
    values: Codes = field(default_factory=_no_values)

    @property
    def all_rows(self) -> tuple[Rows, Codes]:
        """Row of the table that each row so far shows or copies, and its sensitive value."""
        return np.concatenate([np.arange(len(self.target.codes)), self.copied]), np.concatenate(
            [self.target.codes, self.values]
        )

    def with_rows(self, rows: Rows, values: Codes) -> "_GrownTable":
        """Return the table with more rows added."""
        return replace(self, copied=np.concatenate([self.copied, rows]), values=np.concatenate([self.values, values]))

    @property
    def features(self) -> dict[str, Column]:
        rows, _ = self.all_rows
        return {name: replace(column, codes=column.codes[rows]) for name, column in self.columns.items()}

    def mine(self) -> C45:
        """Mine a decision tree from all rows."""
        return C45().fit_codes(self.features, replace(self.target, codes=self.all_rows[1]))

    def add_within(
        self, additions: Sequence[Addition], before: Sequence[Rule], channels: Sequence[Rule], limits: Limits
    ) -> tuple["_GrownTable", tuple[Fraction, Fraction] | None, int]:
        """Add one rule's rows after the other, until LR or GR passes h; also return both at that moment.

        The third figure is how many rows were taken back then.
        """
        if limits.h >= 1:  # no share is greater
            return self.with_rows(*_join(additions)), None, 0
        grown = self
        for rows, values in additions:
            larger = grown.with_rows(rows, values)
            shares = compare_rules(before, channels, larger.mine().rules())
            if max(shares) > limits.h:
                return (larger, shares, 0) if limits.keep else (grown, shares, len(rows))
            grown = larger
        return grown, None, 0

    def find_needed_rows(
        self, mined: C45, sensitive: ChannelCriterion, confidence: Fraction, rng: np.random.Generator, *, unknown: bool
    ) -> list[Addition]:
        """Return, rule by rule, rows to copy, drawn from the leaf of the channel, and values to show instead.

        With them the confidence of each channel falls as far as asked.
        """
        shows, told = self.all_rows
        leaves = mined.leaf_of(self.features)
        number = {text: code for code, text in enumerate(self.target.texts.to_pylist())}
        additions = []
        for leaf, rule in enumerate(mined.rules()):
            inside = np.flatnonzero(leaves == leaf) if sensitive.is_channel(rule) else _no_rows()
            if not len(inside):
                continue
            # [value] rows of the leaf that have it; `many` more make the share of the predicted one small enough
            counts = np.bincount(told[inside], minlength=len(number))[: len(number)]
            right = number[rule.consequent]
            many = max(ceil(int(counts[right]) / confidence) - len(inside), 1)
            rows = np.resize(rng.permutation(shows[inside]), many)
            values = np.full(many, len(number) - 1, np.int32) if unknown else _choose_values(counts, right, many)
            additions.append((rows, values))
        return additions


def _choose_values(counts: NDArray[np.int64], right: int, many: int) -> Codes:
    """Return `many` values other than the right one: those that do not occur, in turn, or else the rarest.

    >>> _choose_values(np.array([4, 0, 0, 1]), 0, 3).tolist(), _choose_values(np.array([9, 2, 1]), 0, 4).tolist()
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
    """Return the column with null as a value of its own, as seen by a miner who keeps rows without a value."""
    texts = pa.concat_arrays([target.texts, pa.array([_UNKNOWN], pa.string())])
    return replace(target, values=texts, texts=texts, kind=Kind.TEXT, has_null=False)


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)


_STEP = 20
"""A class that fails grows by one row in so many, at least by one, before it is judged again."""
_MOST = 50
"""A class that grew so many times over is given up: growing does not make it diverse."""


@dataclass(frozen=True)
class Diversifier:
    """What models ask of the classes of a table, and the rows that make them keep it.

    Values are added that a class has least of, compared with the whole table; where the whole table does not keep the
    models either, compared with all values alike.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> from shoal.models import MODELS
    >>> ill = encode("ill", pa.array(["flu", "flu", "hiv", "flu"]))
    >>> two = MODELS["distinct-l-diversity"](l=2, attribute="ill")
    >>> asked = Diversifier((two,), np.array([0, 0, 1, 1]), ill)
    >>> rows, values = asked.find_further_rows(np.arange(4), ill.codes, np.random.default_rng(0))
    >>> rows.tolist() in ([0], [1]), values.tolist()
    (True, [1])
    """

    models: Sequence[Model]
    of_row: Codes
    """The class of every row of the table."""
    target: Column

    def find_further_rows(self, rows: Rows, values: Codes, rng: np.random.Generator) -> tuple[Rows, Codes]:
        """Return rows to copy and values to show instead, so that every class keeps the models.

        Given are, for every row so far, the row of the table that it shows or copies, and its value.
        """
        classes, size = int(self.of_row.max()) + 1, len(self.target.values)
        held = values < size  # null protects nobody
        # [class, value] rows so far
        counts = np.zeros((classes, size), dtype=np.int64)
        np.add.at(counts, (self.of_row[rows[held]], values[held]), 1)
        # [class] rows without a value; the most rows that a class may grow to
        without = np.bincount(self.of_row[rows[~held]], minlength=classes)
        most = _MOST * counts.sum(axis=1)
        aim = self._aim(counts.sum(axis=0))
        # [class, value] counts with the rows to add
        added = counts.copy()
        while True:
            failing = np.flatnonzero(self._flag_failing(added, without) & (added.sum(axis=1) <= most))
            if not len(failing):
                break
            for one in failing.tolist():
                for _ in range(-(-int(added[one].sum()) // _STEP) or 1):
                    # one more of the value that is farthest below its aim; of several, of the most frequent
                    added[one, np.lexsort((-aim, added[one] / aim))[0]] += 1
        return self._draw_rows(added - counts, rng)

    def list_failed_models(self, rows: Rows, values: Codes) -> list[str]:
        """Return the names of the models that some class still fails."""
        size, classes = len(self.target.values), int(self.of_row.max()) + 1
        held = values < size
        counts = np.zeros((classes, size), dtype=np.int64)
        np.add.at(counts, (self.of_row[rows[held]], values[held]), 1)
        told = self._to_class_counts(counts, np.bincount(self.of_row[rows[~held]], minlength=classes))
        return [model.name for model in self.models if not model.holds(told)]

    def _aim(self, overall: Longs) -> NDArray[np.float64]:
        """Return the share of each value to grow towards: the table's, or equal ones where the table fails too."""
        whole = self._to_class_counts(overall[None, :], np.zeros(1, dtype=np.int64))
        kept = all(model.holds(whole) for model in self.models) and overall.all()
        return overall / overall.sum() if kept else np.full(len(overall), 1 / len(overall))

    def _flag_failing(self, counts: Longs, without: Longs) -> Flags:
        """Flag the classes that fail some model."""
        told = self._to_class_counts(counts, without)
        flags = [~_by_class(model).complies(told) for model in self.models]
        return np.asarray(np.logical_or.reduce(flags), dtype=bool)

    def _to_class_counts(self, counts: Longs, without: Longs) -> ClassCounts:
        """Return counts as models read them; rows without a value have null, the last value."""
        table = np.column_stack([counts, without])
        at, value = np.nonzero(table)
        labels = [*self.target.texts.to_pylist(), None]
        values = ValueCounts(at, value, table[at, value], labels, len(table))
        return ClassCounts(table.sum(axis=1), {self.target.name: values})

    def _draw_rows(self, more: Longs, rng: np.random.Generator) -> tuple[Rows, Codes]:
        """Draw the rows to copy from each class, and the values to show, given more[class, value]."""
        at, value = np.nonzero(more)
        # [added row] its class and its value
        classes, values = np.repeat(at, more[at, value]), np.repeat(value, more[at, value])
        # rows sorted by class, and where each class begins among them
        order = np.argsort(self.of_row, kind="stable")
        ends = np.searchsorted(self.of_row[order], np.arange(len(more) + 1))
        # [added row] size of its class, and a random row within it
        size = np.diff(ends)[classes]
        drawn = np.floor(rng.random(len(classes)) * size).astype(np.int64)
        return order[ends[classes] + drawn], values.astype(np.int32)


def _by_class(model: Model) -> Model:
    """Return the model as it judges single classes, with the reference that the counts carry."""
    return replace(model, reference="original") if isinstance(model, ReferenceModel) else model  # type: ignore[type-var]
