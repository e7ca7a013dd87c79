"""The Spark that is used: given, running, or a quiet one of our own; and tables carried to it as Arrow."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from shoal.engines.spark import executor_cuts as cutting
from shoal.engines.spark import executors
from shoal.errors import BadData, BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOCAL = "local[*]"
"""Spark on the machine of this process."""
_QUIET = Path(__file__).with_name("quiet.properties")
CHANGED = "shoal: a value that was not there before"
"""What an executor says that finds a new value; it names no cell."""

LACKING = (
    "boxes are finished by Shoal on the executors, and there is none, or another version, on some of them: install "
    "the same version there, or choose another engine"
)
_NO_SHOAL = "No module named 'shoal'"


def open_session(master: str | None) -> "SparkSession":
    """The session that runs already, else one of our own at `master`."""
    _refuse_missing()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        if master is not None and running.sparkContext.master != master:
            raise BadInput(
                f"a Spark session runs already, at another master than {master}; stop it or leave out the master"
            )
        return running
    where = master or LOCAL
    builder = SparkSession.builder.master(where).appName("shoal")
    for key, value in _settings(where).items():
        builder = builder.config(key, value)
    try:
        with _this_python(near=_is_near(where)):
            return builder.getOrCreate()
    except Exception:  # noqa: BLE001 - Java, py4j and pyspark each have their own tree
        raise BadInput(
            f"Spark could not be reached at {where}; is the master running, and of the same version?"
        ) from None


def _refuse_missing() -> None:
    try:
        import pandas as pd  # noqa: F401 - pyspark asks for it where Arrow batches are mapped
        import pyspark  # noqa: F401
    except ImportError:
        raise BadInput("the spark engine needs pyspark and pandas: pip install 'shoal[spark]'") from None
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise BadInput("the spark engine needs Java 17: install it, or set JAVA_HOME to where it is")


def _settings(master: str) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_QUIET.as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    if _is_near(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _is_near(master: str) -> bool:
    """Whether a master is on this machine, so that nobody else needs to reach the driver.

    >>> _is_near("local[2]"), _is_near("spark://127.0.0.1:7077"), _is_near("spark://cluster:7077")
    (True, True, False)
    """
    return master.startswith("local") or urlsplit(master).hostname in {"127.0.0.1", "localhost", "::1"}


@contextmanager
def _this_python(*, near: bool) -> Iterator[None]:
    """Let executors on this machine run the Python that runs now, unless the environment names another."""
    if not near or "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


@contextmanager
def told(name: str) -> Iterator[None]:
    """Turn what goes wrong in Spark into one sentence, since what Spark says may hold cells."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if CHANGED in str(error):
            raise BadData(f"{name}: the table changed while it was read; make a copy and use that") from None
        if _NO_SHOAL in str(error):
            raise BadInput(LACKING) from None
        raise BadData(f"{name}: Spark could not finish its work on the table; its own logs say why") from None


_PIECE = 1 << 20


def by_value() -> None:
    """Let these functions travel whole, so that executors need no Shoal, or not this part of it."""
    from pyspark import cloudpickle

    for module in (executors, cutting):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def collected(frame: "DataFrame", empty: pa.Schema | None = None) -> pa.Table:
    """Bring a small table to the driver; `empty` is its schema, for one that may have no rows."""
    by_value()
    found = frame.mapInArrow(executors.packed(), "packed binary").collect()
    tables = [pa.ipc.open_stream(row[0]).read_all() for row in found]
    if not tables and empty is not None:
        return empty.empty_table()
    return pa.concat_tables(tables)


def streamed(frame: "DataFrame") -> Iterator[pa.RecordBatch]:
    """Yield a large table partition by partition: the driver holds no more than two of these."""
    by_value()
    rows = frame.mapInArrow(executors.packed(), "packed binary")
    for row in rows.toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(row[0])


def spread(session: "SparkSession", table: pa.Table, schema: str) -> "DataFrame":
    """Send a table of the driver to the executors."""
    pieces = [executors.as_bytes(batch) for batch in table.combine_chunks().to_batches(_PIECE)]
    given = broadcast(session, pieces)
    return session.range(0, len(pieces), 1, max(len(pieces), 1)).mapInArrow(executors.unpacked(given), schema)


def broadcast(session: "SparkSession", value: Any) -> Any:
    """Send something to every executor once."""
    by_value()
    return session.sparkContext.broadcast(value)


def let_go(frame: Any) -> None:
    """Let executors forget a frame that nobody uses any more; a cluster that is gone has none."""
    from py4j.protocol import Py4JError

    try:
        frame.unpersist()
    except (Py4JError, OSError, AttributeError):
        return
