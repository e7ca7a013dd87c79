"""Classes of an earlier release that new rows are put into: those that cover a row, and labels that enclose it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.data.class_counts import Longs, sum_counts
from shoal.data.codes import Codes, Column, Kind, encode, encode_together
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import join_columns
from shoal.hierarchy.build import Builder, build
from shoal.hierarchy.exact_numbers import show
from shoal.hierarchy.taxonomy import TOP, Hierarchy
from shoal.hierarchy.value_columns import Labels
from shoal.labels.grammar import Interval, Members, parse_label
from shoal.labels.scale import read_moment
from shoal.models.model import Flags
from shoal.partition.axes import Floats, ordered_axis
from shoal.partition.box_labels import in_quotes, set_label
from shoal.partition.condition import Condition, rows_as_items
from shoal.problem import Problem
from shoal.recoding.outcome import Covers

_CELLS_AT_ONCE = 16_000_000

Texts = list[str | None]


@dataclass(frozen=True)
class KnownClasses:
    """The classes of an earlier release, from the least loss upwards.

    >>> lines = {"original.age": ["20", "30"], "shown.age": ["<30", "[30, 40)"], "rows": [2, 3], "loss": [0.5, 0.1]}
    >>> KnownClasses.of(pa.table(lines), ["age"]).texts
    {'age': ['[30, 40)', '<30']}
    """

    lines: pa.Table
    """A line for each combination of values in a class: the values, what they show, how many rows, the loss."""
    of_line: Codes
    """Class of each line."""
    texts: Mapping[str, Texts]
    """What each class shows of each quasi-identifier."""

    @classmethod
    def of(cls, lines: pa.Table, quasi: Sequence[str]) -> "KnownClasses":
        """Number the classes: by their loss and, where that is equal, by what they show."""
        shown = {name: _encode_texts(lines[f"shown.{name}"]) for name in quasi}
        # [line] its class, numbered in any order; `behind` are the codes of the texts that each class shows
        number, count, behind = join_columns([(codes, len(texts)) for codes, texts in shown.values()])
        loss = np.zeros(count)
        loss[number] = lines["loss"].to_numpy()
        labels = {
            name: [texts[code] for code in codes.tolist()]
            for (name, (_, texts)), codes in zip(shown.items(), behind, strict=True)
        }
        said = [tuple(text or "" for text in row) for row in zip(*labels.values(), strict=True)]
        order = sorted(range(count), key=lambda each: (loss[each], said[each]))
        # [class] its number in the order of loss and texts
        place = np.empty(count, dtype=np.int32)
        place[order] = np.arange(count, dtype=np.int32)
        return cls(lines, place[number], {name: [texts[each] for each in order] for name, texts in labels.items()})

    def __len__(self) -> int:
        return len(next(iter(self.texts.values())))

    def assign(self, problem: Problem, hierarchies: Mapping[str, Hierarchy]) -> tuple[FrequencySet, Codes, Codes]:
        """Return the items of a table, the item of each row, and the class of each item; -1 where none covers it.

        Values that the earlier table had get the class that they had. Where equal rows had several classes, items of
        these values take turns in the same proportions, in the order of their other columns. Any other item gets the
        first class that covers it.
        """
        at, codes = self._lines_in(problem)
        items, of_row = problem.classes, problem.classes.classes
        sizes = {name: problem.table[name].size for name in problem.quasi}
        if len(at) and join_columns([(codes[name], size) for name, size in sizes.items()])[1] < len(at):
            items, of_row = rows_as_items(problem)
        assert of_row is not None
        part = self._find_earlier_classes(items, at, codes, sizes)
        unknown = np.flatnonzero(part < 0)
        labels = {name: Labels(problem.table[name], hierarchies.get(name)) for name in problem.quasi}
        part[unknown] = self._find_covering_classes(
            labels, {name: items.codes(name)[unknown] for name in problem.quasi}
        )
        return items, of_row, part

    def _lines_in(self, problem: Problem) -> tuple[Longs, dict[str, Codes]]:
        """Return the lines each of whose values occurs in the table, and the codes of these values."""
        codes = {name: _codes_in(problem.table[name], self.lines[f"original.{name}"]) for name in problem.quasi}
        at = np.flatnonzero(np.all([each >= 0 for each in codes.values()], axis=0))
        return at, {name: each[at] for name, each in codes.items()}

    def _find_earlier_classes(
        self, items: FrequencySet, at: Longs, codes: Mapping[str, Codes], sizes: Mapping[str, int]
    ) -> Codes:
        """Return the class that the values of each item had earlier; -1 where the earlier table did not have them."""
        both = [(np.concatenate([codes[name], items.codes(name)]), size) for name, size in sizes.items()]
        point, points, _ = join_columns(both)
        # [line] and [item] the point that its values are; lines sorted by their point
        known, mine = point[: len(at)], point[len(at) :]
        order = np.argsort(known, kind="stable")
        many = self.lines["rows"].to_numpy()[at][order]
        # [line] rows up to its end; [point] rows of all its lines, and those before them
        ends = np.cumsum(many)
        total = sum_counts(known[order], many, points)
        begin = np.cumsum(total) - total
        # [item] its turn among the items of its point, which follow each other
        first = np.full(points, len(items), dtype=np.int64)
        np.minimum.at(first, mine, np.arange(len(items)))
        turn = (np.arange(len(items)) - first[mine]) % np.maximum(total[mine], 1)
        # [item] the line whose rows its turn falls into, and the class of that line
        line = np.append(order, -1)[np.searchsorted(ends, begin[mine] + turn, side="right")]
        part = np.append(self.of_line[at], np.int32(-1))[line]
        return np.where(total[mine] > 0, part, -1).astype(np.int32)

    def _find_covering_classes(self, labels: Mapping[str, Labels], codes: Mapping[str, Codes]) -> Codes:
        """Return the first class that covers each combination of codes; -1 where none does."""
        many = len(next(iter(codes.values())))
        found = np.full(many, -1, dtype=np.int32)
        if not many:
            return found
        covered = {}
        for name, own in labels.items():
            of_class, texts = _number_texts(self.texts[name])
            # [code, label] whether the label covers it
            covered[name] = of_class, np.stack([own.covered(text) for text in texts], axis=1)
        step = max(_CELLS_AT_ONCE // len(self), 1)
        for rows in (slice(at, at + step) for at in range(0, many, step)):
            fits = np.full((1, 1), 255, dtype=np.uint8)
            for name, (of_class, flags) in covered.items():
                used, which = np.unique(codes[name][rows], return_inverse=True)
                # [code, class] in bits, so that the first set bit of a row is the class that comes first
                bits = np.packbits(flags[used][:, of_class], axis=1)[which.ravel()]
                fits = fits & bits
            # [row] the first byte with a class that covers it, and the first set bit in that byte
            byte = (fits != 0).argmax(axis=1)
            held = fits[np.arange(len(fits)), byte]
            bit = np.unpackbits(held[:, None], axis=1).argmax(axis=1)
            found[rows] = np.where(held > 0, byte * 8 + bit, -1)
        return found

    def widen_to_cover(
        self, problem: Problem, builders: Mapping[str, Builder], condition: Condition, part: Codes
    ) -> tuple[Codes, Mapping[str, Texts]]:
        """Assign items that no class covers to the nearest complying class, and widen its labels to enclose them.

        The nearest class is the one whose labels have to be widened least. Return the class of each item, and what
        each class shows; nothing changes where no class complies.
        """
        outside, inside = np.flatnonzero(part < 0), np.flatnonzero(part >= 0)
        used, at = np.unique(part[inside], return_inverse=True)
        if not len(outside) or not len(used):
            return part, self.texts
        # [item] its class, numbered among those in use; -1 for items that no class covers
        among = np.full(len(part), -1, dtype=np.int32)
        among[inside] = at
        fit = used[condition.complies(among, len(used))]
        if not len(fit):
            return part, self.texts
        stretches, codes, gaps = {}, {}, []
        for name, weight in zip(problem.quasi, problem.before.weights.tolist(), strict=True):
            stretch, own = self._widener_of(problem, builders.get(name), name)
            stretches[name], codes[name] = stretch, own[condition.items.codes(name)[outside]]
            used_codes, of_item = np.unique(codes[name], return_inverse=True)
            # [class that complies, value] how far its label is from the value
            away = weight * stretch.gaps(used_codes)[_number_texts(self.texts[name])[0][fit]]
            gaps.append((away, of_item.ravel()))
        chosen = _nearest_classes(gaps, len(outside))
        part = part.copy()
        part[outside] = fit[chosen]
        labels = {name: list(texts) for name, texts in self.texts.items()}
        for each in np.unique(chosen).tolist():
            for name, stretch in stretches.items():
                held = np.unique(codes[name][chosen == each])
                labels[name][fit[each]] = stretch.widen_label(self.texts[name][fit[each]], held)
        return part, labels

    def _widener_of(self, problem: Problem, builder: Builder | None, name: str) -> tuple["LabelWidener", Codes]:
        """Return how to widen the labels of an attribute, and the code there of each code of the table."""
        mine, texts = problem.table[name], self.lines[f"original.{name}"]
        every = np.arange(mine.size, dtype=np.int32)
        now, then = encode_together(
            Column(name, every, mine.values, mine.texts, mine.kind, mine.has_null, mine.decimal),
            encode(name, texts, decimal=mine.decimal),
        )
        of_class, labels = _number_texts(self.texts[name])
        # [label] some value that it was shown for
        member = np.zeros(len(labels), dtype=np.int32)
        member[of_class[self.of_line]] = then.codes
        hierarchy = None if builder is None else build(now, builder)
        order = problem.policy.attributes[name].order
        return LabelWidener(now, hierarchy, tuple(labels), member, order), now.codes


def _nearest_classes(gaps: Sequence[tuple[Floats, Longs]], items: int) -> Longs:
    """Return the class with the least sum of gaps for each item; at a tie the first.

    Each entry of `gaps` is for one attribute: gap[class, value], and the value of each item.

    >>> _nearest_classes([(np.array([[0.0, 0.5], [0.2, 0.2]]), np.array([0, 1, 1]))], 3).tolist()
    [0, 1, 1]
    """
    chosen = np.zeros(items, dtype=np.int64)
    step = max(_CELLS_AT_ONCE // len(gaps[0][0]) // 8, 1)
    for some in (slice(at, at + step) for at in range(0, items, step)):
        chosen[some] = np.add.reduce([away[:, of_item[some]] for away, of_item in gaps]).argmin(axis=0)
    return chosen


def _encode_texts(texts: pa.ChunkedArray) -> tuple[Codes, Texts]:
    """Number the texts of a column; null is one of them."""
    column = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    return column.indices.to_numpy().astype(np.int32), column.dictionary.to_pylist()


def _number_texts(texts: Texts) -> tuple[Codes, Texts]:
    """Return the number of each text, and the different ones."""
    different = list(dict.fromkeys(texts))
    number = {text: code for code, text in enumerate(different)}
    return np.array([number[text] for text in texts], dtype=np.int32), different


def _codes_in(column: Column, texts: pa.ChunkedArray) -> Codes:
    """Return the code of each text in a column; -1 where no row holds it."""
    found = pc.index_in(texts, value_set=column.texts).fill_null(-1).to_numpy().astype(np.int32)
    null = -1 if column.null_code is None else column.null_code
    return np.where(texts.is_null().to_numpy(), np.int32(null), found).astype(np.int32)


@dataclass(frozen=True)
class LabelWidener:
    """How far the labels of an attribute are from other values, and the labels that enclose both."""

    column: Column
    """The values of the new table and of the earlier one."""
    hierarchy: Hierarchy | None
    texts: tuple[str | None, ...]
    """The labels of the earlier release."""
    member: Codes
    """A value under each label."""
    order: Sequence[str] | None = None
    """The order of the values that the policy gives."""

    @property
    def _is_categorical(self) -> bool:
        """Whether values are listed in labels, and have no distance."""
        return self.column.kind is Kind.TEXT or self.order is not None

    @cached_property
    def _labels(self) -> Labels:
        return Labels(self.column, self.hierarchy)

    def gaps(self, codes: Codes) -> Floats:
        """Return gaps[label, code]: the share of the attribute's values by which the label has to be widened."""
        if self.hierarchy is not None:
            # [label] its level; [label, code] the level at which both have one label, never below that of the label
            level = np.array([self.level(at) for at in range(len(self.texts))])
            meet = np.maximum(self._common_level(self.member[:, None], codes[None, :]), level[:, None])
            losses = self._losses
            return np.asarray(losses[self.member[:, None], meet] - losses[self.member, level][:, None])
        # [label, code] whether the label covers it; `some` are the labels that cover any value but null
        covered = np.stack([self._labels.covered(text) for text in self.texts])
        known = len(self.column.values)
        gaps = np.where(covered, 0.0, 1.0)
        some = np.flatnonzero(covered[:, :known].any(axis=1))
        if self._is_categorical:
            gaps[some, :known] *= 1 / max(known - 1, 1)
        elif known:
            axis = ordered_axis(self.column)
            values = axis.ends[axis.positions][:known]
            # first and last value that each label covers, and the distance from the nearer one
            first = covered[some, :known].argmax(axis=1)
            last = known - 1 - covered[some, :known][:, ::-1].argmax(axis=1)
            far = np.maximum(values[first][:, None] - values, values - values[last][:, None]).clip(0)
            gaps[some, :known] = np.where(covered[some, :known], 0.0, far / axis.span)
        return np.asarray(gaps[:, codes])

    def widen_label(self, text: str | None, codes: Codes) -> str | None:
        """Return a label that covers all that a label covers and some further values; `*` if no other label does."""
        wanted = self._labels.covered(text)
        if wanted[codes].all():
            return text
        if self.hierarchy is not None:
            at = self.texts.index(text)
            level = max(int(self._common_level(self.member[at], codes).max()), self.level(at))
            if level > self.hierarchy.height:
                return TOP
            return self.hierarchy.labels[level][int(self.hierarchy.levels[level][self.member[at]])]
        wanted[codes] = True
        null = self.column.null_code
        if text is None or (null is not None and wanted[null]):
            return TOP
        values = [str(each) for each in self.column.texts.take(pa.array(codes)).to_pylist()]
        made = self._extend_set(text, values) if self._is_categorical else self._extend_interval(text, values)
        return made if made is not None and self._labels.covered(made)[wanted].all() else TOP

    # --- along a hierarchy -----------------------------------------------------------------------------------------

    @cached_property
    def _groups(self) -> Codes:
        """Group of each code at each level: [code, level]."""
        assert self.hierarchy is not None
        return np.stack(self.hierarchy.levels, axis=1)

    @cached_property
    def _losses(self) -> Floats:
        """Loss of the label of each code at each level: [code, level]; at the level above the top it is 1."""
        assert self.hierarchy is not None
        lost = [loss[group] for loss, group in zip(self.hierarchy.losses, self.hierarchy.levels, strict=True)]
        return np.stack([*lost, np.ones(len(lost[0]))], axis=1)

    def _common_level(self, one: Codes, others: Codes) -> Codes:
        """Return the lowest level at which codes share a label: as levels are nested, the number that differ."""
        return np.asarray((self._groups[one] != self._groups[others]).sum(axis=-1))

    def level(self, at: int) -> int:
        """Return the lowest level at which the member of a label has that label; one above the top if it never has."""
        assert self.hierarchy is not None
        code = int(self.member[at])
        levels = zip(self.hierarchy.labels, self.hierarchy.levels, strict=True)
        shown = (labels[group[code]] for labels, group in levels)
        return next((level for level, text in enumerate(shown) if text == self.texts[at]), self.hierarchy.left_out)

    # --- along an order --------------------------------------------------------------------------------------------

    def _extend_set(self, text: str, values: Sequence[str]) -> str | None:
        """Return the set, or the range of texts in quotes, extended by values; None for any other range."""
        meaning = None if self._labels.scale.is_value(text) else parse_label(text)
        if isinstance(meaning, Interval):
            every = [*meaning.ends, *values]
            return f"[{in_quotes(min(every))}, {in_quotes(max(every))}]" if meaning.quoted else None
        every = [*(meaning.values if isinstance(meaning, Members) else [text]), *values]
        place = {value: at for at, value in enumerate(self.order or ())}
        return set_label(sorted(dict.fromkeys(every), key=lambda value: (place.get(value, len(place)), value)))

    @cached_property
    def _edges(self) -> dict[Fraction | int, str]:
        """The ends of all labels, and how each is written."""
        found = {}
        for text in self.texts:
            meaning = None if text is None else parse_label(text)
            for end in meaning.ends if isinstance(meaning, Interval) else [] if text in {None, TOP} else [str(text)]:
                if (key := self._key(end)) is not None:
                    found[key] = show(key) if isinstance(key, Fraction) else end
        return found

    def _key(self, text: str) -> Fraction | int | None:
        """Return the number or the moment by which an end is compared; None where it is neither."""
        if self.column.kind is Kind.NUMBER:
            return self._labels.scale.number(text)
        moment = read_moment(text)
        return None if moment is None else moment.at

    def _extend_interval(self, text: str, values: Sequence[str]) -> str | None:
        """Return an interval that covers a label and these values; None where they cannot be compared.

        Its ends are ends of known labels, or open.
        """
        meaning = parse_label(text)
        ends = meaning if isinstance(meaning, Interval) else Interval(text, text, closed=True)
        keys = [self._key(each) for each in (*ends.ends, *values)]
        if any(key is None for key in keys):
            return None
        known = [key for key in keys if key is not None][len(ends.ends) :]
        low = None if ends.low is None else self._key(ends.low)
        high = None if ends.high is None else self._key(ends.high)
        below = low is not None and min(known) < low
        above = high is not None and (max(known) > high or (max(known) == high and not ends.closed))
        if below:
            low = max((edge for edge in self._edges if edge <= min(known)), default=None)
        # an end that is a value of somebody is kept only where the label shows it as an end already
        closed = ends.closed and not above and low is not None and meaning is not None
        if high is not None and ends.closed and not closed:
            known, above = [*known, high], True
        if above:
            high = min((edge for edge in self._edges if edge > max(known)), default=None)
        written = [None if end is None else self._edges[end] for end in (low, high)]
        if written[0] is None:
            return TOP if written[1] is None else f"<{written[1]}"
        return f"≥{written[0]}" if written[1] is None else f"[{written[0]}, {written[1]}{']' if closed else ')'}"


def covers_of(column: Column, hierarchy: Hierarchy | None, texts: Texts, rows: Longs) -> Covers:
    """Describe what labels stand for in a table, each by a value that it covers; `rows` is per code."""
    of, different = _number_texts(texts)
    labels = Labels(column, hierarchy)
    covered = np.stack([labels.covered(text) for text in different]) if different else np.zeros((0, column.size), bool)
    if hierarchy is not None:
        member = covered.argmax(axis=1).astype(np.int32)
        stretch = LabelWidener(column, hierarchy, tuple(different), member)
        level = np.array([stretch.level(at) for at in range(len(different))], dtype=np.int64)
        return Covers.along(hierarchy, member, level, rows).take(of)
    return _covers_in_order(column, covered, rows).take(of)


def _covers_in_order(column: Column, covered: Flags, rows: Longs) -> Covers:
    """Describe what labels stand for on an ordered column: covered[label, code], rows[code]."""
    axis = ordered_axis(column)
    known = len(axis.values)
    # [label, position] whether it is covered: spellings of one number are one position
    flags = np.zeros((len(covered), axis.size), dtype=bool)
    np.logical_or.at(flags.T, axis.positions, covered.T)
    some, null = flags[:, :known].any(axis=1), flags[:, known:].any(axis=1)
    # [label] whether it covers both values and null; how many positions of values, the first and the last
    mixed, leaves = np.asarray(some & null), flags[:, :known].sum(axis=1)
    first, last = flags.argmax(axis=1), known - 1 - flags[:, :known][:, ::-1].argmax(axis=1) if known else 0
    size = max(known, 1)
    if column.kind is Kind.TEXT:
        losses = np.maximum(leaves - 1, 0) / max(size - 1, 1)
    else:
        losses = np.where(some, (axis.ends[last] - axis.ends[first]) / axis.span, 0.0)
    at_each = sum_counts(axis.positions, rows, axis.size)
    return Covers(
        np.where(mixed, 1.0, np.minimum(losses, 1.0)),
        np.where(mixed, size, np.maximum(leaves, 1)).astype(np.int64),
        np.where(mixed, rows.sum(), flags @ at_each).astype(np.int64),
        mixed,
        np.full(len(covered), np.nan),
        size,
    )
