"""The Spark session, given, running or started quietly by Shoal; and the exchange of Arrow tables with executors."""

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
"""Master of a Spark on the machine of this process."""
_QUIET = Path(__file__).with_name("quiet.properties")
CHANGED = "shoal: a value that was not there before"
"""Error message of an executor that finds an unknown value; it quotes no cell."""

LACKING = (
    "boxes are finished by Shoal on the executors, and there is none, or another version, on some of them: install "
    "the same version there, or choose another engine"
)
_NO_SHOAL = "No module named 'shoal'"


def open_session(master: str | None) -> "SparkSession":
    """Return the session that is already running, else start one at `master`."""
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
        with _use_this_python(near=_is_near(where)):
            return builder.getOrCreate()
    except Exception:  # noqa: BLE001 - Java, py4j and pyspark each have their own tree
        raise BadInput(
            f"Spark could not be reached at {where}; is the master running, and of the same version?"
        ) from None


def _refuse_missing() -> None:
    """Refuse an environment without pyspark, pandas or Java."""
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
    """Return whether a master is on this machine, so that no other machine needs to reach the driver.

    >>> _is_near("local[2]"), _is_near("spark://127.0.0.1:7077"), _is_near("spark://cluster:7077")
    (True, True, False)
    """
    return master.startswith("local") or urlsplit(master).hostname in {"127.0.0.1", "localhost", "::1"}


@contextmanager
def _use_this_python(*, near: bool) -> Iterator[None]:
    """Make executors on this machine use the current Python, unless the environment names another."""
    if not near or "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


@contextmanager
def explain_spark_error(name: str) -> Iterator[None]:
    """Turn errors of Spark into errors of ours, since the messages of Spark may contain cells."""
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


def pickle_by_value() -> None:
    """Have the functions for executors pickled by value, so that executors need not import them from Shoal."""
    from pyspark import cloudpickle

    for module in (executors, cutting):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def collect_table(frame: "DataFrame", empty: pa.Schema | None = None) -> pa.Table:
    """Collect a small table on the driver; `empty` is its schema, for a table that may have no rows."""
    pickle_by_value()
    found = frame.mapInArrow(executors.pack_batches(), "packed binary").collect()
    tables = [pa.ipc.open_stream(row[0]).read_all() for row in found]
    if not tables and empty is not None:
        return empty.empty_table()
    return pa.concat_tables(tables)


def stream_batches(frame: "DataFrame") -> Iterator[pa.RecordBatch]:
    """Yield a large table partition by partition, so that the driver holds at most two of them."""
    pickle_by_value()
    rows = frame.mapInArrow(executors.pack_batches(), "packed binary")
    for row in rows.toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(row[0])


def send_table(session: "SparkSession", table: pa.Table, schema: str) -> "DataFrame":
    """Return a frame with the rows of a table of the driver."""
    pieces = [executors.to_ipc_bytes(batch) for batch in table.combine_chunks().to_batches(_PIECE)]
    given = broadcast(session, pieces)
    return session.range(0, len(pieces), 1, max(len(pieces), 1)).mapInArrow(executors.unpack_batches(given), schema)


def broadcast(session: "SparkSession", value: Any) -> Any:
    """Broadcast a value: it is sent to every executor once."""
    pickle_by_value()
    return session.sparkContext.broadcast(value)


def unpersist_frame(frame: Any) -> None:
    """Unpersist a frame that is no longer used; does nothing if the cluster is gone."""
    from py4j.protocol import Py4JError

    try:
        frame.unpersist()
    except (Py4JError, OSError, AttributeError):
        return
