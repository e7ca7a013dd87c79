"""One command is one call of the API; people get tables, machines get one JSON document."""

import atexit
import gc
import json
import os
import signal
import sys
import threading
from contextlib import suppress

_OBJECTS = 50_000
"""New objects after which a command looks for garbage: nearly all that it makes, modules above all, live to its end."""


def script() -> None:
    """Run the installed command; an interruption gives one sentence, even while modules are still being imported."""
    gc.set_threshold(_OBJECTS)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # as fast here, and needs less memory
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    former = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    for each, handler in former.items():
        if handler is not signal.SIG_IGN:
            signal.signal(each, stop)
    try:
        from shoal.cli.main import script as run
    except KeyboardInterrupt:
        kind = "Terminated" if signal.SIGTERM in came else "Interrupted"
        code, message = 128 + came[0], f"{kind.lower()}; nothing was written"
        document = {"error": {"kind": kind, "message": message, "exit_code": code}}
        print(json.dumps(document) if "--json" in sys.argv else f"shoal: {message}", file=sys.stderr)  # noqa: T201
        sys.exit(code)
    for each, handler in former.items():
        signal.signal(each, handler)
    try:
        run()
    except SystemExit as end:
        if not end.code:
            _end_process()
        raise


def _end_process() -> None:
    """End a process that succeeded; Python would first take all of its objects apart, which takes a tenth of a second.

    What is to be done at the end is done as ever. If something else is running, or a text cannot be printed, Python
    ends the process itself.
    """
    if threading.active_count() > 1:
        return
    atexit._run_exitfuncs()  # noqa: SLF001 - as Python does before it ends
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
