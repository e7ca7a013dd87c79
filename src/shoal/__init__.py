"""Shoal anonymizes tables about people: k-anonymity and its descendants, proved, verified and measured.

>>> import shoal as sh
>>> sorted(sh.__all__)[:3]
['BadData', 'BadHierarchy', 'BadInput']
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "BadData": "errors",
    "BadHierarchy": "errors",
    "BadInput": "errors",
    "BadOutput": "errors",
    "BadPolicy": "errors",
    "Infeasible": "errors",
    "NotVerified": "errors",
    "Policy": "policy",
    "Postgres": "engines",
    "Release": "api",
    "Role": "schema",
    "ShoalError": "errors",
    "ShoalWarning": "errors",
    "anonymize": "api",
    "apply": "api",
    "attack": "api",
    "attacks": "",
    "audit": "api",
    "compare": "api",
    "datasets": "",
    "lattice": "api",
    "learn": "api",
    "measure": "api",
    "plot": "",
    "register_algorithm": "extend",
    "register_attack": "extend",
    "register_hierarchy": "extend",
    "register_metric": "extend",
    "register_model": "extend",
    "remove": "api",
    "republish": "api",
    "risk": "api",
    "verify": "api",
    "workload": "api",
}
"""Where each public name lives; loaded on first use, so that importing the package stays light."""

__all__ = [
    "BadData",
    "BadHierarchy",
    "BadInput",
    "BadOutput",
    "BadPolicy",
    "Infeasible",
    "NotVerified",
    "Policy",
    "Postgres",
    "Release",
    "Role",
    "ShoalError",
    "ShoalWarning",
    "anonymize",
    "apply",
    "attack",
    "attacks",
    "audit",
    "compare",
    "datasets",
    "lattice",
    "learn",
    "measure",
    "plot",
    "register_algorithm",
    "register_attack",
    "register_hierarchy",
    "register_metric",
    "register_model",
    "remove",
    "republish",
    "risk",
    "verify",
    "workload",
]

if TYPE_CHECKING:
    from shoal import attacks, datasets, plot
    from shoal.api import (
        Release,
        anonymize,
        apply,
        attack,
        audit,
        compare,
        lattice,
        learn,
        measure,
        remove,
        republish,
        risk,
        verify,
        workload,
    )
    from shoal.engines import Postgres
    from shoal.errors import (
        BadData,
        BadHierarchy,
        BadInput,
        BadOutput,
        BadPolicy,
        Infeasible,
        NotVerified,
        ShoalError,
        ShoalWarning,
    )
    from shoal.extend import (
        register_algorithm,
        register_attack,
        register_hierarchy,
        register_metric,
        register_model,
    )
    from shoal.policy import Policy
    from shoal.schema import Role


def _function(name: str) -> Any:
    """A function of the api, though a module of this name is bound when it is imported."""
    return property(lambda _: getattr(import_module("shoal.api"), name), lambda *_: None)


class _Package(ModuleType):
    """Where functions and modules share a name, the function is what callers see."""

    audit = _function("audit")
    lattice = _function("lattice")
    republish = _function("republish")
    risk = _function("risk")
    verify = _function("verify")
    workload = _function("workload")


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    home = _HOME[name]
    return getattr(import_module(f"shoal.{home}"), name) if home else import_module(f"shoal.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
