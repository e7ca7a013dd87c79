"""A PostgreSQL server of our own, from Debian's packages: on a socket in a private folder only, with a password."""

import ctypes
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import pytest

SECRET = "CANARY-" + secrets.token_hex(8)


def programs() -> Path | None:
    """The programs of the newest version that Debian's packages have installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else None


def owner() -> pwd.struct_passwd | None:
    """The user who runs the server, which refuses to run as root."""
    if os.geteuid():
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


def as_user(who: pwd.struct_passwd | None) -> dict[str, Any]:
    """Arguments of `subprocess` that run a program as a user."""
    return {} if who is None else {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}


def end_with_parent() -> None:
    """End the server with the tests, however they end: it gets SIGQUIT, its immediate shutdown, without its parent."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


PR_SET_PDEATHSIG = 1


@contextmanager
def running_server() -> Iterator[str]:
    """Start a server and yield how to connect to it; skip the test where none is installed."""
    at, who = programs(), owner()
    if at is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    if who is None and not os.geteuid():
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-", dir="/tmp"))  # a socket needs a short path
    password, data = folder / "password", folder / "data"
    password.write_text(SECRET)
    if who is not None:
        os.chown(folder, who.pw_uid, who.pw_gid)
        os.chown(password, who.pw_uid, who.pw_gid)
    made = ("-U", "shoal", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--locale=C", "--no-sync")
    quiet: dict[str, Any] = {"cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([at / "initdb", "-D", data, *made], check=True, **quiet, **as_user(who))
    settings = ("listen_addresses=", f"unix_socket_directories={folder}", "fsync=off")
    command = [str(at / "postgres"), "-D", str(data), *(part for setting in settings for part in ("-c", setting))]
    with subprocess.Popen(command, preexec_fn=end_with_parent, **quiet, **as_user(who)) as running:  # noqa: PLW1509
        try:
            waiting = [str(at / "pg_isready"), "-q", "-h", str(folder), "-t", "60"]
            while subprocess.run(waiting, check=False).returncode:
                assert running.poll() is None, "the server ended"
                sleep(0.1)
            yield f"postgresql://shoal:{SECRET}@/postgres?host={folder}"
        finally:
            running.send_signal(signal.SIGQUIT)
    shutil.rmtree(folder)
