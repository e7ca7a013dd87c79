"""A table with a bit of everything, and releases of it."""

import numpy as np
import pyarrow as pa
import pytest

import shoal as sh

ROLES = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "$town": {"role": "quasi-identifier", "hierarchy": {"tree": {"north": ["a$", "b"], "south": ["c", "d"]}}},
    "ill": {"role": "sensitive"},
}


def table(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    ages, towns, ills = (
        rng.normal(40, 8, rows).astype(int),
        rng.choice(["a$", "b", "c", "d"], rows),
        rng.choice(["x", "y", "z"], rows),
    )
    return pa.table({"age": ages, "$town": towns, "ill": ills})


def policy(k=3, **method):
    return {"attributes": ROLES, "require": [{"model": "k-anonymity", "k": k}], "method": method}


@pytest.fixture(scope="package")
def people():
    return table()


@pytest.fixture(scope="package")
def release(people):
    """Full-domain, some rows left out."""
    return sh.anonymize(people, policy(12, suppression=0.3))


@pytest.fixture(scope="package")
def boxed(people):
    return sh.anonymize(people, policy(algorithm="mondrian"))


@pytest.fixture(scope="package")
def nodes(people):
    return sh.lattice(people, policy(12, suppression=0.3))
