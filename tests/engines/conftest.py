"""A cluster, for the tests of the engine that works on one."""

import os
import shutil

import pytest
from spark_cluster import running, wait_for


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none here")
    # else another worker would start one, too: see pytest_xdist_make_scheduler
    assert "spark" in os.environ["PYTEST_CURRENT_TEST"], "the name of a test of the cluster must tell it"
    with running(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark(cluster):
    from shoal.engines.spark.session import open_session

    session = open_session(cluster.master)
    status = session.sparkContext._jsc.sc().statusTracker()
    # the driver counts itself
    wait_for(lambda: len(status.getExecutorInfos()) >= 3, "the workers do not come")
    yield session
    session.stop()
