"""What all tests of the Spark engine share."""

import gc

import pytest


@pytest.fixture(autouse=True)
def collected():
    """Collect what earlier tests left: py4j breaks where Java objects of a traceback die while it reads an answer."""
    gc.collect()
