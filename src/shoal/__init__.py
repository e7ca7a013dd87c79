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
    "compare": "api",
    "datasets": "",
    "lattice": "api",
    "learn": "api",
    "measure": "api",
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
    "compare",
    "datasets",
    "lattice",
    "learn",
    "measure",
    "risk",
    "verify",
    "workload",
]

if TYPE_CHECKING:
    from shoal import attacks, datasets
    from shoal.api import Release, anonymize, apply, attack, compare, lattice, learn, measure, risk, verify, workload
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
    from shoal.policy import Policy
    from shoal.schema import Role


class _Package(ModuleType):
    """`lattice`, `risk`, `verify`, `workload` are functions, though modules of these names are bound when imported."""

    @property
    def lattice(self) -> Any:
        return import_module("shoal.api").lattice

    @lattice.setter
    def lattice(self, module: ModuleType) -> None: ...

    @property
    def risk(self) -> Any:
        return import_module("shoal.api").risk

    @risk.setter
    def risk(self, module: ModuleType) -> None: ...

    @property
    def verify(self) -> Any:
        return import_module("shoal.api").verify

    @verify.setter
    def verify(self, module: ModuleType) -> None: ...

    @property
    def workload(self) -> Any:
        return import_module("shoal.api").workload

    @workload.setter
    def workload(self, module: ModuleType) -> None: ...


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    home = _HOME[name]
    return getattr(import_module(f"shoal.{home}"), name) if home else import_module(f"shoal.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
