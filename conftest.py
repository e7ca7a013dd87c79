"""What the examples of the measures are about, as `shoal.metrics.catalogue` says in words; and figures are closed."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    """What pyplot keeps open would warn of itself in time."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def _example(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """`seen`, for the examples of measures."""
    if request.node.name.startswith("shoal.metrics."):
        import pyarrow as pa

        from shoal.pipeline import make_release
        from shoal.policy.document import Policy
        from shoal.publish.summary import compare_with_original

        age = {"role": "quasi-identifier", "hierarchy": {"intervals": [2]}, "min-level": 1, "max-level": 1}
        sex = {"role": "quasi-identifier", "hierarchy": {"flat": True}, "max-level": 0}
        require = [{"model": "k-anonymity", "k": 2}]
        policy = Policy(attributes={"age": age, "sex": sex}, require=require, method={"suppression": 0.2})
        release = make_release(pa.table({"age": [1, 2, 3, 2, 3], "sex": list("fffmm")}), policy)
        doctest_namespace["seen"] = compare_with_original(release.plan, policy, release.source)
