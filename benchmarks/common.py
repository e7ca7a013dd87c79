"""What the benchmarks share: where the tables are, how CPU seconds are measured, how the machine is described."""

import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "data"
SHOAL = Path(sys.executable).with_name("shoal")
Row = tuple[str, str, str, str, str]
"""What, CPU seconds, floor, ratio, beside."""
# a small process starts the measured one: the peak of a child begins at the size of what forked it
LAUNCH = """
import resource, subprocess, sys
with open(sys.argv[1], "wb") as said:
    subprocess.run(sys.argv[2:], stdout=said, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def cpu(work: Callable[[], object], times: int = 5) -> float:
    """Median CPU seconds of a call in this process."""
    spent = []
    for _ in range(times):
        before = time.process_time()
        work()
        spent.append(time.process_time() - before)
    return statistics.median(spent)


def process(command: list[object], times: int = 5, heard: Callable[[str], object] = str) -> tuple[float, float]:
    """Median CPU seconds and largest peak memory in MB of a process; `heard` is given what each run prints."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "stdout"
        for _ in range(times):
            launched = [sys.executable, "-S", "-c", LAUNCH, str(said), *map(str, command)]
            measured = subprocess.run(launched, stdout=subprocess.PIPE, check=True).stdout
            runs.append([float(number) for number in measured.split()])
            heard(said.read_text("utf-8"))
    spent, peaks = zip(*runs, strict=True)
    return statistics.median(spent), max(peaks) / (1024 if sys.platform != "darwin" else 1024**2)


def missing(table: str) -> str | None:
    """Why the benchmarks of a table are skipped, or None where it is here."""
    return None if (SHARED / table).is_dir() else f"skipped: the table {table} is not on this machine"


def skipped(what: str, why: str) -> Row:
    return (what, why, "", "", "")


def hierarchies(table: str) -> dict[str, Path]:
    """The hierarchy file of every attribute that has one."""
    files = sorted((SHARED / table / "hierarchies").iterdir())
    return {file.stem.removeprefix(f"{table}_hierarchy_"): file for file in files}


def policy_text(files: Mapping[str, Path], k: int, method: str) -> str:
    """A policy in TOML: k-anonymity, every attribute with a hierarchy file a quasi-identifier."""
    lines = ["[[require]]", 'model = "k-anonymity"', f"k = {k}", "[method]", method]
    for name, file in files.items():
        lines += [f"[attributes.{name}]", 'role = "quasi-identifier"', f'hierarchy = {{ csv = "{file}" }}']
    return "\n".join(lines)


def written_policy(folder: Path, table: str, method: str, k: int = 5) -> Path:
    path = folder / "policy.toml"
    path.write_text(policy_text(hierarchies(table), k, method), "utf-8")
    return path


def measured_on(command: str) -> str:
    """When, how and on what."""
    versions = ", ".join(f"{n} {importlib.metadata.version(n)}" for n in ("shoal", "numpy", "pyarrow", "duckdb"))
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"Measured on {datetime.now(UTC):%Y-%m-%d} by `{command}` on {machine};\n{versions}."
