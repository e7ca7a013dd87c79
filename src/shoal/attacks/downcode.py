"""Downcoding: a label that was not made finer shows that it could not be, and so what its class holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import (
    CONTROL,
    SEED,
    Attack,
    AuditInputs,
    Channel,
    Finding,
    Knowledge,
    Rate,
    lift,
    option,
    refuse_missing,
    refuse_seed,
    refuse_unless_at_least,
)
from shoal.attacks.child_splits import Shares, Splits
from shoal.attacks.label_sets import Meaning, lists_all_numbers, marginal, meaning_of
from shoal.attacks.release_under_attack import OWN_LEAVES, Published, Truth, label_of_class
from shoal.data.class_counts import ClassCounts, Flags, Longs, ValueCounts
from shoal.data.codes import Codes
from shoal.errors import BadInput
from shoal.hierarchy.taxonomy import TOP
from shoal.models.k_anonymity import KAnonymity
from shoal.models.model import Model, asked


def levels_of(meaning: Meaning, label: int) -> list[int]:
    """Return the levels of the hierarchy on which a label occurs; `*` stands for the top, whatever that is called."""
    if meaning.hierarchy is None:
        return []
    if meaning.labels[label] == TOP and meaning.hierarchy.top != TOP:
        return [meaning.hierarchy.height]
    return [height for height, names in enumerate(meaning.hierarchy.labels) if meaning.labels[label] in names]


def common_level(meaning: Meaning, shown: Codes) -> int | None:
    """Return the lowest level on which all shown labels occur (full-domain generalisation); None if there is none.

    A null shows no level: it is itself on all levels but the top.
    """
    labels = [label for label in np.unique(shown).tolist() if meaning.labels[label] is not None]
    if meaning.hierarchy is None:
        return None
    common = set(range(meaning.hierarchy.height + 1)).intersection(*(levels_of(meaning, label) for label in labels))
    return min(common, default=None)


@dataclass(frozen=True)
class Children:
    """The children of one label of a quasi-identifier."""

    names: Sequence[str | None]
    """Label of each child."""
    of_value: Codes
    """Child of each value; -1 for values that the label does not cover."""
    shares: Shares
    """How common each child is."""
    complete: bool
    """Whether the attacker knows all children; else nothing about them is certain."""


def children_of(
    meaning: Meaning, label: int, shares: Shares, level: int | None = None, least: int = 0, *, complete: bool = True
) -> Children:
    """Return the children of a label: one level below the given level, else below the lowest on which it stands.

    A label without children is its own only child, and so is one whose children lie below the `least` level.
    """
    flags = meaning.covered[label]
    child = np.full(len(flags), -1, dtype=np.int32)
    heights = levels_of(meaning, label)
    height = level if level is not None else min(heights, default=0)
    if height <= least or not heights or not flags.any():
        child[flags] = 0
        return Children((meaning.labels[label],), child, np.ones(1), complete)
    assert meaning.hierarchy is not None
    groups, child[flags] = np.unique(meaning.hierarchy.levels[height - 1][flags], return_inverse=True)
    names = [meaning.hierarchy.labels[height - 1][group] for group in groups.tolist()]
    mass = np.bincount(child[flags], weights=shares[flags])
    even = np.full(len(mass), 1 / len(mass))
    return Children(names, child, np.asarray(mass / mass.sum()) if mass.sum() > 0 else even, complete)


@dataclass(frozen=True)
class Promise:
    """The models that the release had to keep, judged class by class.

    >>> Promise((KAnonymity(3),)).judge_sizes(np.array([[0, 3], [1, 2]])).tolist()
    [True, False]
    """

    models: Sequence[Model]

    def __post_init__(self) -> None:
        for model in self.models:
            if model.columns or model.needs or model.table_wide:
                raise BadInput(f"{model.name} cannot be judged class by class from a release alone")

    def __str__(self) -> str:
        return ", ".join(f"{model.name} ({_format_parameters(asked(model))})" for model in self.models)

    @property
    def is_of_sizes(self) -> bool:
        """Whether only class sizes matter, as for k-anonymity."""
        return all(isinstance(part, KAnonymity) for model in self.models for part in model.parts())

    @property
    def k(self) -> int:
        return max(
            (part.k for model in self.models for part in model.parts() if isinstance(part, KAnonymity)), default=1
        )

    def judge_sizes(self, ways: Longs) -> Flags:
        """Flag the splits in which every child has no member or at least k."""
        return np.asarray(((ways == 0) | (ways >= self.k)).all(axis=1))

    def judge_members(self, published: Published, rows: Longs, child: Longs, children: int) -> Flags:
        """Flag the worlds that keep any kind of promise; child[world, row] is the child of each row of a class."""
        worlds = len(child)
        # number of the (world, child) pair of each row; pairs that occur become classes
        part = (np.arange(worlds)[:, None] * children + child).ravel()
        used, number = np.unique(part, return_inverse=True)
        sizes = np.bincount(number).astype(np.int64)
        sensitive = {
            name: self._values(published, name, np.tile(rows, worlds), number.ravel(), len(used))
            for name in published.sensitive
        }
        counts = ClassCounts(sizes, sensitive)
        kept = np.ones(len(used), dtype=bool)
        for model in self.models:
            kept &= model.complies(counts)
        fine = np.ones(worlds, dtype=bool)
        # a world fails if one of its children fails
        fine[used[~kept] // children] = False
        return fine

    @staticmethod
    def _values(published: Published, name: str, rows: Longs, number: Longs, classes: int) -> ValueCounts:
        """Count the values of a sensitive attribute in new classes, given the class `number` of each of some rows."""
        whole = published.counts.sensitive[name]
        column = published.table[name]
        pairs, counts = np.unique(number * column.size + column.codes[rows], return_counts=True)
        of = replace(whole, reference=whole.overall)  # distributions are compared with the table's
        return replace(of, classes=pairs // column.size, values=pairs % column.size, counts=counts, class_count=classes)


def _format_parameters(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())


Minimal = Literal["class", "column"]
"""Where nothing could be made finer: in each class by itself (local recoding), or only in a column as a whole."""
_LARGEST_PART = 500
"""Most cells to look at where judging one takes many worlds."""


_AUDITED = 2_000
"""Most ways to split a class in an audit: enough to find what is certain, in seconds."""


@dataclass(frozen=True)
class Downcode(Attack):
    """For each class and label with children, how the class can be split among them, given that it was not.

    Members have a child by its share among people (a control table, or the release itself). The attack guesses the
    likeliest split among those that minimality allows, and counts a person as guessed where it agrees with the truth;
    without minimality it guesses the likeliest of all. A cell is certain where every allowed split has it: the table
    can then be made finer and stays true, attribute by attribute.

    Cohen: Attacks on deidentification's defenses. USENIX Security 2022.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import Table, encode
    >>> from shoal.hierarchy import Tree
    >>> table = Table({"sex": encode("sex", pa.array(["*"] * 3))}, 3)
    >>> published = Published.of("the frame", table, ["sex"], [], {"sex": Tree({"any": ["f", "m"]})})
    >>> found = Downcode(k=3).on(published)
    >>> found.exposed, found.sentence
    (2, '2 of 3 records have a cell that can be made finer with certainty; 2 cells of 3')
    """

    name: ClassVar[str] = "downcode"
    sentence: ClassVar[str] = "Make labels finer again, from knowing that they are as fine as could be."
    channel: ClassVar[Channel] = Channel.SINGLING_OUT
    slow: ClassVar[bool] = True
    assumes: ClassVar[bool] = True  # the policy is known; and which member of a class has the finer label stays unknown
    source: ClassVar[str] = "Cohen, USENIX Security 2022"
    if_exposed: ClassVar[str] = "{exposed:,} show a label that can be made finer with certainty"
    if_not: ClassVar[str] = "no label can be made finer with certainty"

    reads: ClassVar[tuple[str, ...]] = ("control",)

    models: Sequence[Model] = ()
    """What was promised; k-anonymity unless named."""
    k: int | None = option(None, "Only k-anonymity was promised, with this k.", least=1)
    """Of k-anonymity; the size of the smallest class unless given."""
    minimal: Minimal | None = option(None, "Where nothing could be finer: in each `class` or in each `column`.")
    """Unless given, `column` where every column shows labels of one level, else `class`."""
    control: Any = option(None, CONTROL)
    """A table of people like those in the release."""
    seed: int = option(0, SEED)
    most: int = 20_000
    """Splits that are listed; where there are more, as many are drawn at random."""
    least_levels: Mapping[str, int] = field(default_factory=dict)
    """The lowest level that the policy allows each attribute (`min-level`): a label there may well have been finer."""
    doubt: str = ""
    """Why the release may be coarser than it must be; then no cell is certain."""

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "Downcode":
        return cls(seed=given.seed, most=_AUDITED, control=given.control)

    def prepared(self, known: Knowledge) -> "Downcode":
        how = replace(self, control=known.read(self.control), least_levels={**known.least_levels, **self.least_levels})
        if how.minimal is None:
            where, why = known.minimal_part
            how = replace(how, minimal=where, doubt=self.doubt or why)
        if how.models or how.k is not None:
            return how
        return replace(how, k=known.promised_k) if known.models is None else replace(how, models=tuple(known.models))

    def __post_init__(self) -> None:
        refuse_seed(self.seed)
        refuse_unless_at_least("most", self.most, 1)
        if self.k is not None:
            refuse_unless_at_least("k", self.k, 1)
        if self.minimal not in (None, "class", "column"):
            raise BadInput("minimal must be 'class' or 'column'")

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        tally, promise, where = self._run(published, truth)
        return tally.finding(published, promise, where, known=truth is not None)

    def find_certain_cells(self, published: Published) -> "list[CertainCell]":
        """Return every label that certainly stands behind a coarser one; none where the release need not be minimal.

        >>> import pyarrow as pa
        >>> from shoal.data.codes import Table, encode
        >>> from shoal.hierarchy import Tree
        >>> table = Table({"sex": encode("sex", pa.array(["*"] * 3))}, 3)
        >>> published = Published.of("the frame", table, ["sex"], [], {"sex": Tree({"any": ["f", "m"]})})
        >>> [(cell.label, cell.rows) for cell in Downcode(k=3).find_certain_cells(published)]
        [('f', 1), ('m', 1)]
        """
        return self._run(published, None)[0].found

    def _run(self, published: Published, truth: Truth | None) -> "tuple[_Tally, Promise, str]":
        """Attack every column; return what was found, the promise and where the release is taken as minimal."""
        hidden = np.zeros(len(published.counts.sizes), dtype=bool)
        hidden[published.class_of_row[published.hidden]] = len(published.counts.sizes) > 1
        # promises about columns that are not taken as sensitive cannot be judged; without them more is possible
        judged = [model for model in self.models if model.about in {None, *published.sensitive}]
        promise = Promise(judged or (KAnonymity(self.k or int(published.counts.sizes[~hidden].min())),))
        if not set(published.quasi_identifiers) & set(published.builders):
            raise BadInput(f"{published.name}: downcoding needs to know the hierarchies; give the policy")
        if self.control is not None:
            refuse_missing(published, self.control, "the control table")
        names = [name for name in published.quasi_identifiers if name in published.builders]
        tables = [table for table in (None if truth is None else truth.table, self.control) if table is not None]
        meanings = {name: meaning_of(published, name, *(table[name] for table in tables)) for name in names}
        common = {
            name: common_level(meaning, label_of_class(published, name)[~hidden]) for name, meaning in meanings.items()
        }
        where = self.minimal or ("class" if None in common.values() else "column")
        columns = [
            _Column.of(
                published,
                meanings[name],
                (common[name] if where == "column" else None, self.least_levels.get(name, 0)),
                truth,
                self.control,
            )
            for name in names
            if where == "class" or common[name] is not None
        ]
        random = np.random.default_rng(self.seed)
        attack = _DowncodeRun(published, promise, where == "column", self.most, random)
        tally = _Tally(np.zeros(len(hidden), dtype=np.int64), doubt=self.doubt)
        for column in columns:
            attack.downcode(column, hidden, tally)
        return tally, promise, where


@dataclass(frozen=True)
class CertainCell:
    """A label that at least so many rows of a class certainly have, behind the coarser one that they show."""

    attribute: str
    class_: int
    """The class, as `Published.class_of_row` numbers it."""
    label: str | None
    rows: int


@dataclass(frozen=True)
class _Column:
    """One quasi-identifier: the children of each label, and how common they are."""

    label: Codes
    """Label of each class."""
    name: str
    children: dict[int, Children]
    """Children of the labels that have several."""
    behind: NDArray[np.integer] | None
    """True value of each row."""

    @classmethod
    def of(
        cls,
        published: Published,
        meaning: Meaning,
        levels: tuple[int | None, int],
        truth: Truth | None,
        control: Any,
    ) -> "_Column":
        """Read the children from below one level for all labels or, without a level, from below each label's lowest.

        The second of the `levels` is the lowest that is allowed.
        """
        name = meaning.column.name
        shares = marginal(published, name, meaning, control)
        known = truth is not None or isinstance(published.builders[name], OWN_LEAVES)
        found = {
            label: children_of(meaning, label, shares, *levels, complete=known or lists_all_numbers(text))
            for label, text in enumerate(meaning.labels)
        }
        behind = None
        if truth is not None:
            behind = np.append(meaning.codes_of(truth.table[name]), -1)[truth.behind(name)]
        children = {label: each for label, each in found.items() if len(each.names) > 1}
        return cls(label_of_class(published, name), name, children, behind)


@dataclass
class _Tally:
    """Totals over all cells so far."""

    sure_of_class: Longs
    """Most members of each class whose cell of some one attribute is certain."""
    labels: int = 0
    cells: int = 0
    certain: int = 0
    true: int = 0
    drawn: int = 0
    left_out: int = 0
    not_minimal: int = 0
    right: int = 0
    right_without: int = 0
    by_attribute: dict[str, int] = field(default_factory=dict)
    found: list[CertainCell] = field(default_factory=list)
    doubt: str = ""
    """Why no cell is certain, whatever would be if the release were minimal."""
    doubted: int = 0
    """Cells that would be certain otherwise."""

    def finding(self, published: Published, promise: Promise, where: str, *, known: bool) -> Finding:
        exposed = int(self.sure_of_class.sum())
        figures: dict[str, Any] = {
            "promise": str(promise),
            "minimal": f"nothing: {self.doubt}" if self.doubt else f"each {where}",
            "labels_with_children": self.labels,
            "cells": self.cells,
            "cells_certain": self.certain,
            "cells_certain_at_once": exposed,
            "labels_judged_by_draws": self.drawn,
            "labels_not_looked_at": self.left_out,
            "cells_certain_by_attribute": self.by_attribute,
        }
        sentence = (
            f"{exposed:,} of {published.rows:,} records have a cell that can be made finer with certainty; "
            f"{self.certain:,} cells of {self.cells:,}"
        )
        if self.doubt:
            figures["cells_certain_if_minimal"] = self.doubted
            sentence = (
                f"no cell can be made finer with certainty, since the release need not be minimal: {self.doubt}; "
                f"{self.doubted:,} cells of {self.cells:,} could be if it were"
            )
        if not known:
            return Finding("downcode", Channel.SINGLING_OUT, exposed, published.rows, sentence, figures)
        figures["cells_certain_and_true"] = self.true
        if promise.is_of_sizes and where == "class":
            figures["labels_that_were_not_minimal"] = self.not_minimal
        success, baseline = (Rate(right, self.cells) for right in (self.right, self.right_without))
        figures["lift"], figures["lift_error"] = lift(success, baseline)
        return Finding("downcode", Channel.SINGLING_OUT, exposed, published.rows, sentence, figures, success, baseline)


@dataclass(frozen=True)
class _DowncodeRun:
    """One run of the attack over all columns."""

    published: Published
    promise: Promise
    whole_columns: bool
    most: int
    random: np.random.Generator

    def downcode(self, column: _Column, hidden: NDArray[np.bool_], tally: _Tally) -> None:
        """Attack all classes that show a label with children, and add to the tally."""
        chosen = np.flatnonzero(np.isin(column.label, list(column.children)) & ~hidden)
        if not self.promise.is_of_sizes and len(chosen) > _LARGEST_PART:
            tally.left_out += len(chosen) - _LARGEST_PART
            chosen = np.sort(self.random.choice(chosen, _LARGEST_PART, replace=False))
        members = self._members(chosen)
        known: dict[tuple[int, int], Splits] = {}
        found = []
        for class_ in chosen.tolist():
            key = int(column.label[class_]), int(self.published.counts.sizes[class_])
            if key not in known or not self.promise.is_of_sizes:
                known[key] = self._splits(column, *key, members[class_])
            found.append(known[key])
        failing = sum(splits.may_fail for splits in found)
        for class_, splits, others in zip(chosen.tolist(), found, self._chances_of_other_failures(found), strict=True):
            children = column.children[int(column.label[class_])]
            behind = None if column.behind is None else children.of_value[column.behind[members[class_]]]
            alone = children.complete and (not self.whole_columns or failing == splits.may_fail)
            self._add_to_tally(
                _Cell(
                    column.name,
                    class_,
                    children.names,
                    splits,
                    splits.posterior(others),
                    splits.count_certain_members(alone=alone),
                ),
                behind,
                tally,
            )

    def _chances_of_other_failures(self, found: Sequence[Splits]) -> list[float]:
        """Return, for each class, the probability that no other class made the finer column fail.

        It is 1 where each class was generalised by itself.
        """
        if not self.whole_columns:
            return [1.0] * len(found)
        logs = [np.log(splits.chance_unneeded) if splits.chance_unneeded > 0 else -np.inf for splits in found]
        # the product over all other classes: subtract a class's own log from the total, zero factors counted apart
        never = logs.count(-np.inf)
        total = sum(each for each in logs if each > -np.inf)
        return [
            0.0 if never > (each == -np.inf) else float(np.exp(total - (each if each > -np.inf else 0.0)))
            for each in logs
        ]

    def _splits(self, column: _Column, label: int, size: int, rows: Longs) -> Splits:
        """Return how a class of a size and label can be split; `rows` are its members."""
        shares = column.children[label].shares
        if self.promise.is_of_sizes:
            return Splits.of(size, shares, self.promise.judge_sizes, self.most, self.random)
        return Splits.of_members(
            size,
            shares,
            lambda child: self.promise.judge_members(self.published, rows, child, len(shares)),
            min(self.most, 4_096),
            self.random,
        )

    def _members(self, chosen: Longs) -> dict[int, Longs]:
        """Return the rows of each of the chosen classes."""
        order = np.argsort(self.published.class_of_row, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.published.counts.sizes)])
        return {class_: order[starts[class_] : starts[class_ + 1]] for class_ in chosen.tolist()}

    def _add_to_tally(self, cell: "_Cell", behind: Codes | None, tally: _Tally) -> None:
        """Add what is concluded about one cell to the tally; `behind` is the true child of each member, if known."""
        splits, surely = cell.splits, cell.surely
        if tally.doubt:
            tally.doubted += int(surely.sum())
            surely = np.zeros_like(surely)
        sure = int(surely.sum())
        tally.labels += 1
        tally.cells += int(self.published.counts.sizes[cell.class_])
        tally.drawn += not splits.exact
        tally.certain += sure
        tally.by_attribute[cell.name] = tally.by_attribute.get(cell.name, 0) + sure
        tally.sure_of_class[cell.class_] = max(int(tally.sure_of_class[cell.class_]), sure)
        tally.found += [
            CertainCell(cell.name, cell.class_, name, many)
            for name, many in zip(cell.children, surely.tolist(), strict=True)
            if many
        ]
        if behind is None:
            return
        # true number of members with each child
        true = np.bincount(behind[behind >= 0], minlength=splits.ways.shape[1])
        guess = splits.likeliest(cell.weights if cell.weights.any() else splits.prior)
        tally.right += int(np.minimum(guess, true).sum())
        tally.right_without += int(np.minimum(splits.likeliest(splits.prior), true).sum())
        tally.true += int(np.minimum(surely, true).sum())
        tally.not_minimal += int(self.promise.judge_sizes(true[None])[0])


@dataclass(frozen=True)
class _Cell:
    """What one class shows of one attribute, and what the attack concludes from it."""

    name: str
    class_: int
    children: Sequence[str | None]
    splits: Splits
    weights: Shares
    """Posterior probability of each split, given minimality."""
    surely: Longs
