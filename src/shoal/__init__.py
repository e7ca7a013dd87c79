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
    "Policy": "policy.document",
    "Postgres": "engines.postgres.connection",
    "Release": "api",
    "Role": "roles",
    "ShoalError": "errors",
    "ShoalWarning": "errors",
    "anonymize": "api",
    "apply": "api",
    "attack": "api",
    "audit": "api",
    "block": "api",
    "compare": "api",
    "draft": "api",
    "lattice": "api",
    "learn": "api",
    "measure": "api",
    "register_algorithm": "extend",
    "register_attack": "extend",
    "register_hierarchy": "extend",
    "register_metric": "extend",
    "register_model": "extend",
    "remove": "api",
    "republish": "api",
    "risk": "api",
    "sweep": "api",
    "verify": "api",
    "workload": "api",
}
"""Where each public name lives; loaded on first use, so that importing the package stays light."""
_MODULES = {"attacks": "shoal.attacks", "datasets": "shoal.datasets", "plot": "shoal.report.plots"}
"""Modules that are public as a whole."""

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
    "block",
    "compare",
    "datasets",
    "draft",
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
    "sweep",
    "verify",
    "workload",
]

if TYPE_CHECKING:
    from shoal import attacks, datasets
    from shoal.api.analysis import compare, draft, lattice, learn, measure, risk, sweep, workload
    from shoal.api.attack_and_audit import attack, audit
    from shoal.api.next_releases import remove, republish
    from shoal.api.releases import anonymize, apply, block, verify
    from shoal.engines.postgres.connection import Postgres
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
    from shoal.extend import register_algorithm, register_attack, register_hierarchy, register_metric, register_model
    from shoal.pipeline import Release
    from shoal.policy.document import Policy
    from shoal.report import plots as plot
    from shoal.roles import Role


def _function(name: str) -> Any:
    """A function of the api, though a module of this name is bound when it is imported."""
    return property(lambda _: getattr(import_module("shoal.api"), name), lambda *_: None)


class _Package(ModuleType):
    """Where functions and modules share a name, the function is what callers see."""

    republish = _function("republish")
    risk = _function("risk")
    verify = _function("verify")
    workload = _function("workload")


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOME:
        return getattr(import_module(f"shoal.{_HOME[name]}"), name)
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
