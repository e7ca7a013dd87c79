"""The classifiers, by name: scikit-learn's, loaded when one is asked for, and our own C4.5."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import BadInput
from shoal.mining.c45 import C45
from shoal.models.spec import suggest_nearest
from shoal.registry import Registry

_TREES = 100


class Classifier(Protocol):
    """The part of a scikit-learn classifier that is used here."""

    def fit(self, features: Any, classes: NDArray[np.int32]) -> Any: ...

    def predict(self, features: Any) -> NDArray[np.int32]: ...


def import_extra(module: str) -> Any:
    """Import a module that the extra `learn` installs; refuse where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        raise BadInput("learning needs scikit-learn, which is not installed: pip install shoal[learn]") from None


def _logistic(seed: int) -> Classifier:
    """Make a logistic regression; features are shares of one, so they need no scaling."""
    made: Classifier = import_extra("sklearn.linear_model").LogisticRegression(max_iter=2000, random_state=seed)
    return made


def _forest(seed: int) -> Classifier:
    """Make a random forest with one job: several would add votes in any order, so that ties fall differently."""
    made: Classifier = import_extra("sklearn.ensemble").RandomForestClassifier(
        n_estimators=_TREES, min_samples_leaf=2, n_jobs=1, random_state=seed
    )
    return made


def _boosting(seed: int) -> Classifier:
    return _Dense(import_extra("sklearn.ensemble").HistGradientBoostingClassifier(random_state=seed))


def _c45(seed: int) -> Classifier:  # noqa: ARG001 - nothing in it is drawn at random
    return _Dense(C45())


class _Dense:
    """Wraps a classifier that takes no sparse features: makes them dense first."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier

    def fit(self, features: Any, classes: NDArray[np.int32]) -> Any:
        return self._classifier.fit(_to_dense(features), classes)

    def predict(self, features: Any) -> NDArray[np.int32]:
        return self._classifier.predict(_to_dense(features))


def _to_dense(features: Any) -> NDArray[np.float64]:
    return np.asarray(features.toarray() if hasattr(features, "toarray") else features)


@dataclass(frozen=True)
class Learner:
    """A classifier by its name."""

    name: str
    sentence: str
    make: Callable[[int], Classifier]
    """Makes the classifier from a seed."""
    source: str = ""


LEARNERS: Registry[Learner] = Registry(
    "shoal.learners",
    [
        Learner("logistic", "logistic regression", _logistic, "scikit-learn"),
        Learner("forest", "a hundred random trees that vote", _forest, "Breiman 2001; scikit-learn"),
        Learner("boosting", "trees that mend each other's mistakes", _boosting, "Friedman 2001; scikit-learn"),
        Learner("c45", "the decision tree of Weka's J48", _c45, "Quinlan 1993"),
    ],
)


def train_and_predict(
    names: Sequence[str], seed: int, features: Any, classes: NDArray[np.int32], asked: Any
) -> list[NDArray[np.int32]]:
    """Train each learner on features and classes, and return the classes it predicts for the rows `asked`."""
    # one thread: sums are the same on every machine, and threads do not wait for each other on busy cores
    with import_extra("threadpoolctl").threadpool_limits(1):
        made = [LEARNERS[name].make(seed) for name in names]
        for classifier in made:
            classifier.fit(features, classes)
        return [classifier.predict(asked) for classifier in made]


def known_learners(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of learners without repetitions; refuse unknown names.

    >>> known_learners(["forest", "logistic", "forest"])
    ('forest', 'logistic')
    """
    known = ", ".join(LEARNERS)
    if not names:
        raise BadInput(f"name at least one learner; known: {known}")
    for name in names:
        if name not in LEARNERS:
            raise BadInput(f"learner {name!r} is not known{suggest_nearest(name, LEARNERS)}; known: {known}")
    return tuple(dict.fromkeys(names))
