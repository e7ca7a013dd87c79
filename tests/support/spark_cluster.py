"""A real Spark: a standalone master and two workers on loopback, each in a process group of its own."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

DEFAULTS = """
spark.executor.memory {memory}m
spark.executor.cores 1
spark.cores.max {workers}
spark.sql.shuffle.partitions 4
spark.shuffle.io.maxRetries 1
spark.shuffle.io.retryWait 200ms
spark.executor.extraJavaOptions {java}
spark.driver.maxResultSize {most}
"""
"""A core of each worker for an application, so that there is room for a second one. The last of them: a table that was
collected to the driver would not get there."""
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Each JVM lives for a few small tables: optimising its code would take longer than they do."""


class Cluster:
    """A master and its workers."""

    def __init__(self, folder: Path, memory: int) -> None:
        import pyspark

        self.folder, self.memory = folder, memory
        self.home = Path(pyspark.__file__).parent
        self.port = _free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self.log = (folder / "cluster.log").open("wb")
        self.numbers = count()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, workers: int = 2) -> None:
        self._run("master.Master", "--port", self.port)
        wait_for(lambda: _answers(self.port), "the master does not answer")
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        work = self.folder / f"work{next(self.numbers)}"
        room = ["--cores", 2, "--memory", f"{2 * self.memory}m"]
        process = self._run("worker.Worker", *room, "--work-dir", work, "--port", _free_port(), self.master)
        self.workers.append(process)

    def kill_worker(self) -> None:
        """Kill the oldest worker with its executors, without warning: a later one may have nothing to do yet."""
        process = self.workers.pop(0)
        self._end(process)

    def stop(self) -> None:
        for process in self.processes[::-1]:
            self._end(process)
        self.log.close()

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        # until it is waited for, its number is not reused
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.processes.remove(process)

    def _run(self, what: str, *arguments: object) -> "subprocess.Popen[bytes]":
        command = [self.home / "bin" / "spark-class", f"org.apache.spark.deploy.{what}", "--host", "127.0.0.1"]
        # no environment variable may let a daemon leave the group, or listen elsewhere
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        environment |= {"SPARK_HOME": str(self.home), "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_JAVA_OPTS": _JAVA}
        process = subprocess.Popen(
            [str(part) for part in (*command, "--webui-port", 0, *arguments)],
            stdout=self.log,
            stderr=self.log,
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self.processes.append(process)
        return process


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def wait_for(until: Callable[[], bool], otherwise: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise TimeoutError(otherwise)
        time.sleep(0.1)


@contextmanager
def running(folder: Path, workers: int = 2, memory: int = 512, most: str = "4m") -> Iterator[Cluster]:
    """Yield a cluster that is always ended, and set the environment that a driver needs to reach it."""
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(
        DEFAULTS.format(memory=memory, workers=workers, most=most, java=_JAVA), "ascii"
    )
    cluster = Cluster(folder, memory)
    ours = {"SPARK_CONF_DIR": str(folder / "conf"), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    ours["SPARK_SUBMIT_OPTS"] = _JAVA  # of the driver
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def slowed(make: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    """The same work, but each task takes at least `seconds`."""

    def slow(*given: Any) -> Callable[[Any], Iterator[Any]]:
        inner = make(*given)

        def run(batches: Any) -> Iterator[Any]:
            import time as clock  # this function travels

            clock.sleep(seconds)
            yield from inner(batches)

        return run

    return slow


def kill_worker_during(cluster: Cluster, spark: Any, work: Callable[[], Any]) -> Any:
    """Run some work, and kill a worker while some tasks are done and others run; the work must still succeed."""
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(work()))
    status = spark.sparkContext.statusTracker()

    def half_way() -> bool:
        stages = [status.getStageInfo(stage) for stage in status.getActiveStageIds()]
        return (
            any(s and s.numTasks >= 6 and s.numCompletedTasks >= 2 and s.numActiveTasks for s in stages) or not alive()
        )

    def alive() -> bool:
        return thread.is_alive()

    thread.start()
    wait_for(half_way, "the work never got half way")
    assert alive(), "the work was over before a worker could be killed"
    cluster.kill_worker()
    thread.join(300)
    cluster.add_worker()
    assert done, "the work did not end well"
    return done[0]
