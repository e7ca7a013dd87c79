"""Which values of a register a released label may stand for: by containment, never by equal text (S2.1)."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.attacks.label_sets import LabelRuns
from shoal.data.class_counts import Indices, Longs
from shoal.data.codes import Column, Kind
from shoal.errors import BadHierarchy, BadInput
from shoal.hierarchy.arx_csv import Csv
from shoal.hierarchy.build import Builder, Functions, Rows
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.mask import Mask
from shoal.hierarchy.taxonomy import TOP, Taxonomy
from shoal.hierarchy.top_bottom import ValueOnly
from shoal.labels.grammar import Interval, Members, parse_label
from shoal.labels.scale import Run, Scale, read_moment, runs_of

_LAST = "\U0010ffff"


@dataclass(frozen=True)
class Masks:
    """Finds the texts that fit a label in which a sign stands for a hidden character.

    Without a hierarchy each sign is exactly one character. Of a mask of Shoal's own, where `short` texts keep all they
    have, it is at most one: `021**` is also what becomes of `021` beside `02138`.

    >>> masks = Masks(["3", "30", "34", "130"]), Masks(["3", "30", "130"], short=True)
    >>> tuple(mask.find_texts("3*").tolist() for mask in masks)
    ([1, 2], [0, 1])
    >>> Masks(["3", "30", "34", "130"]).find_texts("*30").tolist()
    [3]
    """

    texts: Sequence[str]
    sign: str = "*"
    short: bool = False

    def find_texts(self, label: str) -> Longs:
        """Return the positions of the texts that fit a label, in order."""
        start, end = label.rstrip(self.sign), label.lstrip(self.sign)
        if self.sign not in start:
            hits = self._between(self._forward, start)
        elif self.sign not in end:
            hits = self._between(self._backward, end[::-1])
        else:  # signs within, or on both sides
            each = f"[\\s\\S]{'?' if self.short else ''}"
            pattern = re.compile("".join(each if char == self.sign else re.escape(char) for char in label))
            return np.array([at for at, text in enumerate(self.texts) if pattern.fullmatch(text)], dtype=np.int64)
        length = self._lengths[hits]
        return np.sort(hits[(length <= len(label)) & (self.short | (length == len(label)))])

    @staticmethod
    def _between(ordered: tuple[list[str], Longs], start: str) -> Longs:
        """Return the positions of the texts that begin with a prefix, given sorted texts and their positions."""
        texts, places = ordered
        return places[bisect_left(texts, start) : bisect_left(texts, start + _LAST)]

    @cached_property
    def _lengths(self) -> Longs:
        return np.array([len(text) for text in self.texts], dtype=np.int64)

    @cached_property
    def _forward(self) -> tuple[list[str], Longs]:
        return _sorted(self.texts)

    @cached_property
    def _backward(self) -> tuple[list[str], Longs]:
        return _sorted([text[::-1] for text in self.texts])


def _sorted(texts: Sequence[str]) -> tuple[list[str], Longs]:
    """Return the texts sorted, and the position of each before."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    return [texts[at] for at in order], np.array(order, dtype=np.int64)


_AROUND = re.compile(r"(<=|>=|≤|>) ?(\S.*)")
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?[-\u2013] ?([0-9]+(?:\.[0-9]+)?)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_LEADING_ZEROS = re.compile(r"\A(-?)0+(?=[0-9])")
_CLOSED = (Csv, Rows, Tree)
"""Hierarchies that list all their leaves."""
_OPEN = (Dates, Functions)
"""Hierarchies whose labels can be found only by labelling the values."""


@dataclass(frozen=True)
class Matching:
    """Reads the labels of a released column as sets of the values of a register's column.

    A value is covered by itself (numbers and dates by what they denote), by a label of the hierarchy above it, by an
    interval, a set, a mask whose stars are one character each, and by `*`; a null on either side is compatible with
    everything. Ranges as other tools write them, `>40`, `<=40`, `20-29`, are read too.

    >>> from shoal.data.codes import encode
    >>> ages = Matching(encode("age", pa.array([3, 30, 34, 41])))
    >>> [ages.runs([label]).members(0) for label in ("3*", "[30, 41)", ">34", "{3 | 41}", "*")]
    [[1, 2], [1, 2], [3], [0, 3], [0, 1, 2, 3]]
    """

    column: Column
    """The register's column; its codes are ranks."""
    builder: Builder | None = None
    """Builder of the hierarchy along which the release was generalised, where it is known."""
    exact: bool = False
    """Whether the release shows values as they are: a label that nobody in the register has is then another's value."""

    def runs(self, labels: Sequence[str | None], rows: Indices | None = None) -> LabelRuns:
        """Return the runs of codes that each label covers; refuse a label that cannot be read.

        `rows` is the first row that shows each label, from 0, for the message.
        """
        # labels that are values: the code of the value, and all codes of the same number
        plain = self._codes_of_values(labels)
        raw = np.flatnonzero(plain >= 0)
        first, past = (ends[plain[raw]].tolist() for ends in self._equal_codes)
        found = list(zip(raw.tolist(), first, past, strict=True))
        strange, explained = [], False
        further = np.flatnonzero([code < 0 or label in self._groups for code, label in zip(plain, labels, strict=True)])
        for at in further.tolist():
            label = labels[at]
            explained |= label in self._groups
            covered = self._runs_of_label(label)
            if covered is None:
                strange += [at]
            found += [(at, *one) for one in covered or ()]
        self._refuse_unexplained(
            [at for at in strange if not self._is_absent_value(labels[at] or "", explained=explained)], rows
        )
        of, start, stop = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return LabelRuns.of(of, start, stop, len(labels), len(self.column.values))

    @cached_property
    def unknown(self) -> Longs:
        """Codes of values that the hierarchy does not know: only they themselves, ranges and `*` cover them."""
        return np.flatnonzero(self._leaf < 0)

    def _codes_of_values(self, labels: Sequence[str | None]) -> Longs:
        """Return the code of each label that is a value, else -1."""
        found = pc.index_in(pa.array(labels, pa.string()), value_set=self.column.texts, skip_nulls=True)
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def _runs_of_label(self, label: str | None) -> Sequence[Run] | None:
        """Return the runs of codes that a label covers; None if nothing explains it."""
        if label is None or label == TOP:
            return [(0, len(self.column.values))]
        if label in self._groups:
            return runs_of(self._groups[label])
        match parse_label(label):
            case Interval() as meant:
                return self._between(meant)
            case Members(values):
                return runs_of(np.concatenate([self._scale.codes_of_text(value) for value in values]))
        return self._runs_outside_grammar(label)

    def _runs_outside_grammar(self, label: str) -> Sequence[Run] | None:
        """Return the runs of a label outside the grammar of labels; None if nothing explains it."""
        if (found := self._runs_of_foreign_range(label)) is not None:
            return found
        if self._masks.sign in label:
            self._refuse_lost_zeros(label)
            return runs_of(self._masks.find_texts(label))
        if self.column.kind is Kind.NUMBER:
            label = _LEADING_ZEROS.sub(r"\1", label)
        return runs_of(self._scale.codes_of_text(label)) or None  # 30, 30.0 and 030 are one number

    @cached_property
    def _scale(self) -> Scale:
        return Scale(self.column.values, self.column.decimal)

    @cached_property
    def _equal_codes(self) -> tuple[Longs, Longs]:
        """For each code, the first and one past the last of the codes that are the same number: `30`, `30.0`."""
        codes = np.arange(len(self.column.values), dtype=np.int64)
        if self.column.kind is not Kind.NUMBER or not self.column.look_alikes:
            return codes, codes + 1
        ranks = self._scale.ranks  # codes are in the order of the numbers, and so are ranks
        return np.searchsorted(ranks, ranks), np.searchsorted(ranks, ranks, side="right")

    # --- ranges ----------------------------------------------------------------------------------------------------

    def _between(self, meant: Interval) -> Sequence[Run] | None:
        """Return the runs of an interval; one of plain numbers over texts compares digits as texts."""
        if self.column.kind is Kind.TEXT and not meant.quoted and all(map(_NUMBER.fullmatch, meant.ends)):
            self._refuse_mixture()
            meant = replace(meant, quoted=True)  # codes of digits are compared as texts
        return self._scale.runs(meant)

    def _runs_of_foreign_range(self, label: str) -> Sequence[Run] | None:
        """Return the runs of a range as other tools write it; None for other labels."""
        if self.column.kind is Kind.TEXT:
            return None
        if found := _AROUND.fullmatch(label):
            sign, end = found.groups()
            below = self._scale.runs(Interval(None, end, closed=sign != ">="))
            if below is None:
                return None
            last = below[0][1] if below else 0
            return [(last, len(self.column.values)) if ">" in sign else (0, last)]
        if self.column.kind is Kind.NUMBER and (found := _SPAN.fullmatch(label)):
            return self._between(Interval(found[1], found[2], closed=True))
        return None

    def _refuse_mixture(self) -> None:
        """Refuse ranges of numbers over a column of texts, where code points would give a meaningless answer."""
        digits = pc.match_substring_regex(self.column.texts, r"\A[0-9]+\z").to_numpy(zero_copy_only=False)
        if not digits.all():
            row = int(self.column.first_rows[np.flatnonzero(~digits.astype(bool))].min())
            raise BadInput(
                f"the register: column {self.column.name!r}: row {row} is not a plain number, while the release shows "
                "ranges of numbers; correct it, or leave the cell empty"
            )

    # --- masks -----------------------------------------------------------------------------------------------------

    @cached_property
    def _masks(self) -> Masks:
        texts: list[str] = self.column.texts.to_pylist()
        return Masks(texts, self.builder.char, short=True) if isinstance(self.builder, Mask) else Masks(texts)

    def _refuse_lost_zeros(self, label: str) -> None:
        if self.column.kind is Kind.NUMBER and re.match(r"0[0-9]", label):
            raise BadInput(
                f"the register: column {self.column.name!r}: it holds numbers, while the release shows codes that "
                "begin with 0; restore the zeros that the register has lost"
            )

    # --- hierarchies -----------------------------------------------------------------------------------------------

    @cached_property
    def _taxonomy(self) -> Taxonomy | None:
        if self.builder is None or isinstance(self.builder, Mask | ValueOnly):
            return None  # a mask depends on what else there is: its labels are read as they are
        try:
            return self.builder.taxonomy(self.column)
        except BadHierarchy as wrong:
            raise BadInput(f"the register: {wrong}") from None

    @cached_property
    def _leaf(self) -> Longs:
        """Leaf of each code in the hierarchy; -1 where there is none."""
        if self._taxonomy is None:
            return np.zeros(len(self.column.values), dtype=np.int64)
        found = pc.index_in(self.column.texts, value_set=pa.array(self._taxonomy.leaves, pa.string()))
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)

    @cached_property
    def _groups(self) -> dict[str | None, Longs]:
        """Codes under each label of the hierarchy, leaves included; some labels have none."""
        if self._taxonomy is None:
            return {}
        known = np.flatnonzero(self._leaf >= 0)
        groups: dict[str | None, Longs] = {}
        for labels in (self._taxonomy.leaves, *self._taxonomy.levels):
            for label, codes in _group_by_label(labels, self._leaf[known], known):
                groups[label] = np.union1d(groups[label], codes) if label in groups else codes
        groups.pop(TOP, None)
        return groups

    # --- what nothing explains -------------------------------------------------------------------------------------

    def _is_absent_value(self, label: str, *, explained: bool) -> bool:
        """Whether a label that covers nobody is a value absent from the register, rather than a foreign label."""
        if self.exact or isinstance(self.builder, ValueOnly | Mask):
            return True
        if isinstance(self.builder, _CLOSED):
            return False  # it would be a leaf
        if isinstance(self.builder, _OPEN) and explained:
            return True
        if self.column.kind is not Kind.TEXT:
            read = self._scale.number if self.column.kind is Kind.NUMBER else read_moment
            return read(_LEADING_ZEROS.sub(r"\1", label) if self.column.kind is Kind.NUMBER else label) is not None
        return bool(re.search("[0-9]", label)) and _shape(label) in self._shapes

    @cached_property
    def _shapes(self) -> frozenset[str]:
        return frozenset(map(_shape, self.column.texts.to_pylist()))

    def _refuse_unexplained(self, strange: Sequence[int], rows: Indices | None) -> None:
        """Refuse labels that nothing explains, given by their positions."""
        if not strange or not len(self.column.values):
            return
        where = "" if rows is None else f"row {int(min(rows[at] for at in strange)) + 1}: "
        raise BadInput(
            f"the release: column {self.column.name!r}: {where}neither a hierarchy nor the grammar of labels explains "
            "what it shows, and nobody in the register has such a value; give the hierarchies by their policy, or name "
            "the column as exact if it shows values as they are"
        )


def _group_by_label(labels: Sequence[str], leaf: Longs, codes: Longs) -> Iterator[tuple[str, Longs]]:
    """Yield each label with the codes whose leaf has it."""
    encoded = pa.array(labels, pa.string()).dictionary_encode()
    # [code] label of its leaf; then codes in the order of labels, and where each label begins among them
    of = encoded.indices.to_numpy()[leaf]
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(len(encoded.dictionary) + 1))
    for label, start, stop in zip(encoded.dictionary.to_pylist(), ends[:-1], ends[1:], strict=True):
        yield label, codes[order[start:stop]]


def _shape(text: str) -> str:
    """Return the shape of a text: a letter for words, 0 for one or two digits, more zeros for more.

    >>> [_shape(text) for text in ("4/13/86", "10/1/44", "53715", "AB 12")]
    ['0/0/0', '0/0/0', '00000', 'a 0']
    """
    words = re.sub(r"[^\W\d_]+", "a", text)
    return re.sub(r"[0-9]+", lambda found: "0" * len(found[0]) if len(found[0]) > 2 else "0", words)
