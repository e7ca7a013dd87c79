"""C4.5: the decision trees that Weka's J48 builds with its defaults, as an estimator in scikit-learn's manner."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.data.codes import Codes, Column, Table, encode
from shoal.errors import BadData, BadInput
from shoal.kernels._core import c45
from shoal.mining.attributes import Cells, TreeAttribute
from shoal.mining.decision_tree import FittedTree, Floats, Rule, argmax_of_rows, rules_of

_TWICE = "two columns have the same name; rename one"


def cells_of(frame: Any) -> tuple[dict[str, Cells], int]:
    """Return the columns of a frame (one narwhals reads eagerly, coded columns, or a matrix) and the number of rows.

    >>> cells, rows = cells_of(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> list(cells), rows
    (['x0', 'x1'], 3)
    """
    if isinstance(frame, Table):
        return dict(frame.columns), frame.rows
    if isinstance(frame, Mapping):
        return {str(name): column for name, column in frame.items()}, len(next(iter(frame.values())).codes)
    if isinstance(frame, np.ndarray | list | tuple):
        return _columns_of_matrix(frame)
    import narwhals as nw

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    try:
        eager = nw.from_native(frame, eager_only=True)
        series = list(eager.iter_columns())  # not by name: a frame of pandas may have numbers for names
    except TypeError:
        raise BadData(
            "cannot learn from this; give a pandas, polars or pyarrow frame, or a matrix of numbers"
        ) from None
    except nw.exceptions.DuplicateError:
        raise BadData(_TWICE) from None
    names = [str(name) for name in eager.columns]
    if len(set(names)) < len(names):  # 1 and "1"
        raise BadData(_TWICE)
    return {name: _encode_column(name, each) for name, each in zip(names, series, strict=True)}, len(eager)


def classes_of(target: Any) -> tuple[NDArray[Any], Codes]:
    """Return the classes in ascending order and the code of each row; -1 where it is missing.

    >>> classes, codes = classes_of(["no", None, "yes", "no"])
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0, -1, 1, 0])
    """
    try:
        given = target.to_arrow() if hasattr(target, "to_arrow") else target
        if not isinstance(given, pa.Array | pa.ChunkedArray):
            values = np.asarray(given) if hasattr(given, "__array__") else given
            given = pa.array(values.ravel() if isinstance(values, np.ndarray) else values, from_pandas=True)
        if isinstance(given, pa.ChunkedArray):
            given = given.combine_chunks()
        known = given if pa.types.is_dictionary(given.type) else given.dictionary_encode()
        distinct = known.dictionary.to_numpy(zero_copy_only=False)
        classes, ranks = np.unique(distinct, return_inverse=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise BadData("the target holds values that are not plain; give one number or text per row") from None
    codes = known.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return classes, np.append(ranks, -1).astype(np.int32)[codes]


def _encode_column(name: str, series: Any) -> Column:
    try:
        return encode(name, series.to_arrow())
    except (pa.ArrowException, TypeError, ValueError):  # what they say may hold cells
        raise BadData(f"column {name!r} holds values that are not plain; turn it into text") from None


def _columns_of_matrix(given: Any) -> tuple[dict[str, Cells], int]:
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadData("a matrix must hold numbers only; give a frame where columns are text") from None
    if matrix.ndim != 2:
        raise BadData("a matrix must have rows and columns: reshape it to two dimensions")
    if np.isinf(matrix).any():
        raise BadData("the matrix holds infinity, which is no number to learn from")
    return {f"x{at}": np.ascontiguousarray(matrix[:, at]) for at in range(matrix.shape[1])}, len(matrix)


class C45:
    """C4.5 with gain ratio, fractional rows for missing values, error-based pruning and subtree raising.

    Quinlan, C4.5: Programs for Machine Learning (1993), with the corrections of Release 8 (JAIR 4, 1996).
    Text is nominal, and so are generalised values; numbers and dates are cut in two. Labels of columns in `numeric`
    are read as their midpoints. A row without a class is not learned from.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [25, 29, 31, 38, 45, 52], "sex": ["f", "m", "f", "m", "f", "m"]})
    >>> learner = C45().fit(people, ["well", "well", "well", "ill", "ill", "ill"])
    >>> print(learner.text())
    age <= 31: well (3.0)
    age > 31: ill (3.0)
    >>> [str(rule) for rule in learner.rules()]
    ['age <= 31 => well (3.0)', 'age > 31 => ill (3.0)']
    >>> learner.predict(pa.table({"age": [30, None], "sex": ["m", "f"]})).tolist()
    ['well', 'ill']
    """

    _estimator_type = "classifier"
    tree_: FittedTree
    classes_: NDArray[Any]
    n_features_in_: int
    n_nodes_: int
    n_leaves_: int

    def __init__(self, confidence: float = 0.25, minimum: int = 2, numeric: Iterable[str] = ()) -> None:
        self.confidence = confidence
        self.minimum = minimum
        self.numeric = numeric

    def fit(self, frame: Any, y: Any) -> "C45":
        """Learn from the rows of a frame, or of a matrix of numbers."""
        cells, rows = cells_of(frame)
        if y is None:
            raise BadInput("learning needs a class for every row: requires y to be passed")
        classes, codes = classes_of(y)
        if len(codes) != rows:
            raise BadInput(f"there are {rows} rows and {len(codes)} classes: give one for each row")
        return self._learn(cells, codes, classes)

    def fit_codes(self, columns: Mapping[str, Column], target: Column) -> "C45":
        """Learn from columns that are coded already; classes and values keep the order of their codes."""
        return self._learn(dict(columns), target.codes, target.values.to_numpy(zero_copy_only=False))

    def predict(self, frame: Any) -> NDArray[Any]:
        """Return the most probable class of each row; the first of equally probable ones."""
        best = argmax_of_rows(self.predict_proba(frame))
        return self.classes_[best]

    def predict_proba(self, frame: Any) -> Floats:
        """Return the probability of each class, in the order of `classes_`."""
        codes, rows = self._encode_rows(frame)
        return self.tree_.shares(codes, rows)

    def leaf_of(self, columns: Any) -> Codes:
        """Return the number of the rule that each row follows, in the order of `rules()`.

        A row without a value takes the heaviest branch; -1 stands for one that no training row took.
        """
        codes, rows = self._encode_rows(columns)
        # number of the rule of each node; the last entry, which index -1 reads, stays -1
        of_node = np.full(len(self.tree_.attribute) + 1, -1, dtype=np.int32)
        leaves = [leaf.number for leaf in self.tree_.leaves() if leaf.number >= 0]
        of_node[leaves] = np.arange(len(leaves))
        return of_node[self.tree_.find_leaves(codes, rows)]

    def rules(self) -> tuple[Rule, ...]:
        """Return one rule for each path from the root to a leaf."""
        return rules_of(self._require_tree())

    def text(self) -> str:
        """Return the tree as J48 writes it."""
        return self._require_tree().text()

    def score(self, frame: Any, y: Any) -> float:
        """Return the share of rows whose class is predicted."""
        return float((self.predict(frame) == np.asarray(y)).mean())

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn calls it so
        return {"confidence": self.confidence, "minimum": self.minimum, "numeric": self.numeric}

    def set_params(self, **params: Any) -> "C45":
        for name, value in params.items():
            if name not in self.get_params():
                raise BadInput(f"C45 has no parameter {name!r}; it has confidence, minimum, numeric")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"C45(confidence={self.confidence}, minimum={self.minimum}, numeric={self.numeric!r})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn asks of an estimator; only where it is installed."""
        tags = import_module("sklearn.utils")
        return tags.Tags(
            estimator_type="classifier",
            target_tags=tags.TargetTags(required=True),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=tags.ClassifierTags(),
            input_tags=tags.InputTags(allow_nan=True, categorical=True, string=True),
        )

    def _learn(self, cells: Mapping[str, Cells], target: Codes, classes: NDArray[Any]) -> "C45":
        numeric = self._check_parameters(cells)
        if not ((target >= 0) & (target < len(classes))).any():
            raise BadInput("there is no row with a class to learn from")
        parts = [TreeAttribute.of(name, each, labels=name in numeric) for name, each in cells.items()]
        arrays = [(codes, len(attribute.shown), attribute.numbers) for attribute, codes in parts]
        normal = NormalDist().inv_cdf(1 - self.confidence)
        try:
            grown = c45(arrays, target, len(classes), self.confidence, normal, self.minimum)
        except OverflowError:
            raise BadInput("the tree grows deeper than 10,000 tests; learn from fewer rows") from None
        self.classes_ = classes
        self.n_features_in_ = len(cells)
        self.tree_ = FittedTree(tuple(attribute for attribute, _ in parts), tuple(classes.tolist()), *grown)
        self.n_nodes_, self.n_leaves_ = self.tree_.n_nodes, self.tree_.n_leaves
        return self

    def _check_parameters(self, cells: Mapping[str, Cells]) -> frozenset[str]:
        if not 0 < self.confidence <= 0.5:
            raise BadInput("confidence must be above 0 and at most 0.5")
        if self.minimum < 1:
            raise BadInput("minimum must be at least 1: how many rows two branches of a test must have")
        if not cells:
            raise BadInput("there is no column to learn from")
        numeric = frozenset([self.numeric] if isinstance(self.numeric, str) else self.numeric)
        if unknown := sorted(numeric - set(cells)):
            raise BadInput(f"numeric names a column that is not there: {', '.join(map(repr, unknown))}")
        return numeric

    def _require_tree(self) -> FittedTree:
        if not self.__sklearn_is_fitted__():
            raise BadInput("this C45 has learned nothing yet; call fit first")
        return self.tree_

    def _encode_rows(self, frame: Any) -> tuple[list[Codes], int]:
        """Encode rows with the codes of the training rows."""
        attributes = self._require_tree().attributes
        cells, rows = cells_of(frame)
        if len(cells) < len(attributes):
            raise BadInput(f"X has {len(cells)} features, but C45 is expecting {len(attributes)} features as input")
        for attribute in attributes:
            if attribute.name not in cells:
                raise BadInput(f"column {attribute.name!r} of the training rows is not there")
        return [attribute.encode_cells(cells[attribute.name]) for attribute in attributes], rows
