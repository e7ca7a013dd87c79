"""Releases of a small census."""

import pytest
from small_census import policy, table

import shoal as sh


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
