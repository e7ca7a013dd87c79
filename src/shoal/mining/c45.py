"""C4.5: the decision trees that Weka's J48 builds with its defaults, as an estimator in scikit-learn's manner."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.codes import Codes, Column
from shoal.errors import BadInput
from shoal.kernels import c45
from shoal.mining.attributes import Attribute, Cells
from shoal.mining.frames import cells_of, classes_of
from shoal.mining.rules import Rule, rules_of
from shoal.mining.tree import Floats, Tree, first_most


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
    tree_: Tree
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
        """The most probable class of each row, of equal ones the first."""
        best = first_most(self.predict_proba(frame))
        return self.classes_[best]

    def predict_proba(self, frame: Any) -> Floats:
        """The probability of each class, in the order of `classes_`."""
        codes, rows = self._coded(frame)
        return self.tree_.shares(codes, rows)

    def leaf_of(self, columns: Any) -> Codes:
        """The number of the rule, in the order of `rules()`, that each row follows.

        A row without a value takes the heaviest branch; -1 stands for one that no training row took.
        """
        codes, rows = self._coded(columns)
        of_node = np.full(len(self.tree_.attribute) + 1, -1, dtype=np.int32)
        leaves = [leaf.number for leaf in self.tree_.leaves() if leaf.number >= 0]
        of_node[leaves] = np.arange(len(leaves))
        return of_node[self.tree_.ends(codes, rows)]

    def rules(self) -> tuple[Rule, ...]:
        """One rule for each way from the root to a leaf."""
        return rules_of(self._tree())

    def text(self) -> str:
        """The tree as J48 writes it."""
        return self._tree().text()

    def score(self, frame: Any, y: Any) -> float:
        """The share of rows whose class is predicted."""
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
        """What scikit-learn asks of an estimator; only where it is installed."""
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
        numeric = self._checked(cells)
        if not ((target >= 0) & (target < len(classes))).any():
            raise BadInput("there is no row with a class to learn from")
        parts = [Attribute.of(name, each, labels=name in numeric) for name, each in cells.items()]
        arrays = [(codes, len(attribute.shown), attribute.numbers) for attribute, codes in parts]
        normal = NormalDist().inv_cdf(1 - self.confidence)
        try:
            grown = c45(arrays, target, len(classes), self.confidence, normal, self.minimum)
        except OverflowError:
            raise BadInput("the tree grows deeper than 10,000 tests; learn from fewer rows") from None
        self.classes_ = classes
        self.n_features_in_ = len(cells)
        self.tree_ = Tree(tuple(attribute for attribute, _ in parts), tuple(classes.tolist()), *grown)
        self.n_nodes_, self.n_leaves_ = self.tree_.n_nodes, self.tree_.n_leaves
        return self

    def _checked(self, cells: Mapping[str, Cells]) -> frozenset[str]:
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

    def _tree(self) -> Tree:
        if not self.__sklearn_is_fitted__():
            raise BadInput("this C45 has learned nothing yet; call fit first")
        return self.tree_

    def _coded(self, frame: Any) -> tuple[list[Codes], int]:
        """Rows in the codes of training."""
        attributes = self._tree().attributes
        cells, rows = cells_of(frame)
        if len(cells) < len(attributes):
            raise BadInput(f"X has {len(cells)} features, but C45 is expecting {len(attributes)} features as input")
        for attribute in attributes:
            if attribute.name not in cells:
                raise BadInput(f"column {attribute.name!r} of the training rows is not there")
        return [attribute.coded(cells[attribute.name]) for attribute in attributes], rows
