"""A scikit-learn transformer that anonymizes tables, its recoding learned from the training rows (`shoal[learn]`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from shoal.api import Release, anonymize
from shoal.data.class_counts import Flags
from shoal.data.codes import Table
from shoal.engine_port import Source
from shoal.engines.arrow import ArrowEngine
from shoal.engines.choice import read_options
from shoal.engines.frame_output import to_native
from shoal.engines.table_writer import to_table
from shoal.errors import BadData, BadInput
from shoal.hierarchy.build import Builder, build, pinned
from shoal.inputs import PathLike, policy_of, unique_names
from shoal.mining.held_out_rows import assign_to_boxes
from shoal.policy.document import Policy
from shoal.policy.sections import SuppressionLike
from shoal.recoding.columns import ReleasedColumn, star_rows, unchanged_column
from shoal.recoding.kinds import NodeRecoding, PartRecoding, Recoding


@dataclass(frozen=True)
class LearnedRecoding:
    """How a release shows rows, without the rows themselves: hierarchies, levels, labels of classes."""

    builders: Mapping[str, Builder]
    levels: Mapping[str, int] | None
    """The level of each quasi-identifier; None where the classes are boxes."""
    classes: Mapping[str, Sequence[str | None]]
    """Of each quasi-identifier, the label of every released class."""

    @classmethod
    def of(cls, release: Release) -> "LearnedRecoding":
        plan, kept = release.plan, np.flatnonzero(~release.plan.recoding.suppressed)
        levels = plan.recoding.by_kind(
            node=_levels, parts=_refuse_unless_boxes, stored=_refuse_recoding, groups=_refuse_recoding
        )
        if plan.statistics or plan.added is not None or plan.grown is not None:
            raise _unsupported_error()
        labels = {name: release.columns[name] for name in plan.quasi_identifiers}
        shown = pa.table({name: each.texts.take(pa.array(each.codes[kept])) for name, each in labels.items()})
        builders = {name: pinned(builder, release.source.table[name]) for name, builder in plan.builders.items()}
        return cls(builders, levels, shown.group_by(shown.column_names).aggregate([]).to_pydict())

    def show(self, table: Table) -> dict[str, ReleasedColumn]:
        """Return the quasi-identifiers of rows as released: the labels of a released class, or `*` in all of them."""
        shown, hidden = self._show_in_boxes(table) if self.levels is None else self._show_at_levels(table, self.levels)
        return {name: star_rows(column, hidden) if hidden.any() else column for name, column in shown.items()}

    def _show_at_levels(self, table: Table, levels: Mapping[str, int]) -> tuple[dict[str, ReleasedColumn], Flags]:
        hierarchies = {name: build(table[name], builder) for name, builder in self.builders.items()}
        node = NodeRecoding(levels, np.zeros(table.rows, dtype=bool))
        shown = {name: node.show(table[name], hierarchies)[name] for name in self.classes}
        # codes[combination, attribute], and which combination each row has
        codes, at = np.unique(np.stack([each.codes for each in shown.values()], axis=1), axis=0, return_inverse=True)
        labels = [each.texts.to_pylist() for each in shown.values()]
        known = set(zip(*self.classes.values(), strict=True))
        strange = [tuple(text[code] for text, code in zip(labels, row, strict=True)) not in known for row in codes]
        return shown, np.array(strange, dtype=bool)[at.ravel()]

    def _show_in_boxes(self, table: Table) -> tuple[dict[str, ReleasedColumn], Flags]:
        hierarchies = {name: build(table[name], builder) for name, builder in self.builders.items()}
        # number of each released class, which is one box
        every = np.arange(len(next(iter(self.classes.values()))), dtype=np.int32)
        boxes = {name: {name: ReleasedColumn.of(every, labels)} for name, labels in self.classes.items()}
        part, outside = assign_to_boxes(PartRecoding("boxes", every, boxes), list(boxes), table, table, hierarchies)
        placed = PartRecoding("boxes", part, boxes)
        return {name: placed.show(table[name], hierarchies)[name] for name in boxes}, outside


def _levels(recoding: NodeRecoding) -> Mapping[str, int]:
    return dict(recoding.levels)


def _refuse_unless_boxes(recoding: PartRecoding) -> None:
    if recoding.kind != "boxes":
        raise _unsupported_error()


def _refuse_recoding(recoding: Recoding) -> None:
    del recoding
    raise _unsupported_error()


def _unsupported_error() -> BadInput:
    return BadInput(
        "a transformer shows new rows as the training rows were shown: choose an algorithm that finds levels or boxes, "
        "such as optimal or mondrian, without statistics, added rows or earlier releases"
    )


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Shows the rows of a table as a k-anonymous release of the training rows shows them.

    `fit` anonymizes the training rows and keeps how: hierarchies, levels or boxes, and the labels of the classes that
    were released, no row. `transform` shows new rows by these labels. A row that belongs to none of those classes shows
    `*` in every quasi-identifier, since a transformer may leave none out, and so do suppressed training rows. No
    combination of labels is ever shown that the release of the training rows did not show. `fit_transform` gives that
    release. Labels are text: encode them, e.g. by OneHotEncoder, before numbers are needed. A value that the hierarchy
    of its column does not know is an error.

    The output is a frame of the kind that came in, with its index, or an array of objects. Identifiers are left out.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [21, 24, 29, 41, 43, 48], "town": ["x", "x", "x", "y", "y", "y"]})
    >>> shown = Anonymizer(k=3, hierarchies={"age": [10]}).fit(people)
    >>> shown.transform(pa.table({"age": [25, 44, 25, 90], "town": ["x", "y", "y", "x"]})).to_pydict()
    {'age': ['[20, 30)', '[40, 50)', '*', '*'], 'town': ['x', 'y', '*', '*']}
    """

    policy_: Policy
    """The policy that the training rows were released by."""
    recoding_: LearnedRecoding
    n_features_in_: int

    def __init__(
        self,
        quasi_identifiers: str | Sequence[str] | None = None,
        sensitive: str | Sequence[str] = (),
        insensitive: str | Sequence[str] = (),
        *,
        k: int = 5,
        suppression: SuppressionLike | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        algorithm: str = "optimal",
        policy: Policy | PathLike | Mapping[str, Any] | None = None,
    ) -> None:
        """Take, without `quasi_identifiers`, all columns not named otherwise; a `policy` decides about everything."""
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.insensitive = insensitive
        self.k = k
        self.suppression = suppression
        self.hierarchies = hierarchies
        self.algorithm = algorithm
        self.policy = policy

    def fit(self, X: Any, y: Any = None) -> "Anonymizer":  # noqa: N803 - scikit-learn's name
        """Learn from the training rows how rows are shown; `y` is not looked at."""
        del y
        self._fit_release(X)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Show rows by the labels that were learned."""
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        read = ArrowEngine().read(frame, read_options(self.policy_))
        shown = self.recoding_.show(read.table)
        columns = {
            n: shown[n] if n in shown else unchanged_column(read.table[n]) for n in self._names if n in self._kept
        }
        return self._to_input_type(X, read, columns)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """Learn from the training rows, and return their release."""
        del y
        release = self._fit_release(X)
        return self._to_input_type(X, release.source, release.columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns that are shown."""
        check_is_fitted(self)
        given = list(self._names) if input_features is None else [str(name) for name in input_features]
        if len(given) != len(self._names):
            raise BadInput(f"input_features should have length equal to number of features ({len(self._names)})")
        if hasattr(self, "feature_names_in_") and given != list(self._names):
            raise BadInput("input_features is not equal to feature_names_in_")
        return np.array([name for name, own in zip(given, self._names, strict=True) if own in self._kept], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _fit_release(self, given: Any) -> Release:
        """Anonymize the training rows, and keep the recoding and the policy for `transform`."""
        frame = self._frame(given, reset=True)
        policy = self._policy()
        _refuse_too_few_rows(len(frame), policy.largest_k)
        release = anonymize(frame, policy, engine="arrow")
        self.recoding_, self.policy_ = LearnedRecoding.of(release), policy
        self._kept = frozenset(release.columns)
        return release

    def _policy(self) -> Policy:
        """Return the given policy, or one made from the parameters; suppressed rows stay, as `*`."""
        if self.policy is not None:
            policy = policy_of(self.policy)
            return policy.model_copy(update={"release": policy.release.model_copy(update={"suppressed": "show"})})
        sensitive, insensitive = unique_names(self.sensitive), unique_names(self.insensitive)
        others = [name for name in self._names if name not in {*sensitive, *insensitive}]
        quasi = others if self.quasi_identifiers is None else unique_names(self.quasi_identifiers)
        forms = self.hierarchies or {}
        attributes = {name: {"role": "quasi-identifier"} | _hierarchy_entry(forms, name) for name in quasi}
        attributes |= {name: {"role": "sensitive"} | _hierarchy_entry(forms, name) for name in sensitive}
        attributes |= {name: {"role": "insensitive"} for name in insensitive}
        return Policy(
            attributes=attributes,
            require=[{"model": "k-anonymity", "k": self.k}],
            method={"algorithm": self.algorithm}
            | ({} if self.suppression is None else {"suppression": self.suppression}),
            release={"suppressed": "show"},
        )

    def _frame(self, given: Any, *, reset: bool) -> Any:
        """Return the rows as a frame, checked by scikit-learn; with `reset`, remember the names of its columns."""
        if _is_frame(given):
            validate_data(self, given, reset=reset, skip_check_array=True)
            frame = given.reset_index(drop=True) if hasattr(given, "reset_index") else given
        else:
            cells = validate_data(
                self, given, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_features=1
            )
            frame = pa.table({f"x{i}": pa.array(cells[:, i], from_pandas=True) for i in range(cells.shape[1])})
        if reset:
            self._names = tuple(map(str, getattr(frame, "column_names", None) or frame.columns))
        return frame

    def _to_input_type(self, given: Any, read: Source, columns: Mapping[str, ReleasedColumn]) -> Any:
        """Return the released columns as the type that was given: a frame of its kind with its index, or an array."""
        table = to_table(dict(columns))
        if not _is_frame(given):
            return np.array([column.to_pylist() for column in table.columns], dtype=object).T
        frame = to_native(read, table, np.arange(read.table.rows), set(self.recoding_.classes))
        if hasattr(frame, "reset_index"):
            frame.index = given.index
        return frame


def _hierarchy_entry(forms: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {"hierarchy": forms[name]} if name in forms else {}


def _is_frame(given: Any) -> bool:
    return isinstance(given, pa.Table) or hasattr(given, "columns")


def _refuse_too_few_rows(rows: int, k: int) -> None:
    if rows < k:
        raise BadData(f"n_samples = {rows}, and k = {k} needs at least {k} rows")
