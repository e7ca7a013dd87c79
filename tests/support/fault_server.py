"""Runs commands of Shoal as processes forked from one that has imported everything: each starts within a moment.

Requests are lines of JSON on stdin, answers lines of JSON on stdout. A process waits before its command until it is
told to go, so that strace can be attached to it.
"""

import atexit
import importlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SETTLED = 0.02
"""Seconds between "go" and the command, so that whoever attached to the process is ready."""


def serve() -> None:
    """Answer requests until stdin ends; a forked process leaves this function with its command's exit."""
    waiting: dict[int, int] = {}
    answer: dict[str, int]
    for line in iter(sys.stdin.readline, ""):
        asked = json.loads(line)
        doing = asked.pop("do")
        if doing == "import":
            import_all(asked["modules"])
            answer = {"threads": len(list(Path("/proc/self/task").iterdir()))}
        elif doing == "start":
            ends = os.pipe()
            pid = os.fork()
            if not pid:
                run(*ends, **asked)
                return
            os.close(ends[0])
            waiting[pid] = ends[1]
            answer = {"pid": pid}
        elif doing == "go":
            os.write(waiting[asked["pid"]], b".")
            answer = {}
        else:
            os.close(waiting.pop(asked["pid"]))
            answer = {"code": os.waitstatus_to_exitcode(os.waitpid(asked["pid"], 0)[1])}
        print(json.dumps(answer), flush=True)  # noqa: T201 - stdout is the answer


def import_all(modules: Iterable[str]) -> None:
    """Import modules that a run has needed; some exist only inside others and cannot be imported by name."""
    for name in modules:
        with suppress(ImportError, AttributeError):
            importlib.import_module(name)


def run(
    ready: int,
    told: int,
    *,
    words: Sequence[str],
    folder: str,
    printed: str,
    env: Mapping[str, str],
    memory: int | None = None,
    user: int | None = None,
    file_size: int | None = None,
    modules: str | None = None,
    impatient: bool = False,
) -> None:
    """Run a command in a folder; what it prints goes into two files whose names begin with `printed`."""
    os.close(told)
    for handle, name in enumerate(("/dev/null", f"{printed}.out", f"{printed}.err")):
        flags = os.O_RDONLY if not handle else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(name, flags, 0o666), handle)
    os.chdir(folder)
    os.environ.update(env)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have ignored it
    if impatient:
        vars(importlib.import_module("shoal.runtime.tempdir"))["_PAUSE"] = 0.001
    if memory is not None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    sys.argv = ["shoal", *words]
    os.read(ready, 1)
    os.close(ready)
    time.sleep(SETTLED)
    from shoal.cli import script

    if modules is not None:
        atexit.register(lambda: Path(modules).write_text(json.dumps(sorted(sys.modules))))
    script()


if __name__ == "__main__":
    sys.modules["polars"] = None  # type: ignore[assignment]  # ADBC imports it where it is installed, and it starts threads
    serve()
