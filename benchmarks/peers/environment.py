"""The environment of the peers: made once beside the benchmarks, since peers pin their dependencies exactly."""

import fcntl
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / ".cache" / "peers"
NEEDED = HERE.parents[1] / "requirements" / "peers.txt"


def peer_python() -> Path | None:
    """The Python that has the peers of requirements/peers.txt; None where they cannot be installed."""
    FOLDER.parent.mkdir(exist_ok=True)
    with (FOLDER.parent / "peers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        python = FOLDER / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "-r", NEEDED]
        failed = subprocess.run(install, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
        return None if failed else python
