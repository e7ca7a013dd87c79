"""What other packages add: models, metrics, algorithms, attacks and hierarchies, by a call.

An entry point does the same without one: the groups are `shoal.models`, `shoal.metrics`, `shoal.algorithms`,
`shoal.attacks` and `shoal.hierarchies`, and each names the class or the value that is registered here.
"""

from typing import Any

from shoal.attacks import ATTACKS
from shoal.attacks.attack import Attack
from shoal.hierarchy.build import BUILDERS, Form
from shoal.methods import ALGORITHMS, Algorithm
from shoal.metrics.catalogue import METRICS
from shoal.metrics.metric import Metric


def register_model(model: Any) -> Any:
    """Register a class of models; as a decorator, too. It can then be required by its name."""
    from shoal.models import MODELS

    return MODELS.register(model)


def register_metric(metric: Metric) -> Metric:
    """Register a metric that searches may minimise."""
    return METRICS.register(metric)


def register_algorithm(algorithm: Algorithm) -> Algorithm:
    """Register an algorithm: its name, the pairs that it serves, and where its function is."""
    return ALGORITHMS.register(algorithm)


def register_attack(attack: type[Attack]) -> type[Attack]:
    """Register a class of attacks; as a decorator, too. Audits and reports run it, and it gets a command."""
    return ATTACKS.register(attack)


def register_hierarchy(form: Form) -> Form:
    """Register a key of a policy's `hierarchy` table and the builder that it means."""
    return BUILDERS.register(form)
