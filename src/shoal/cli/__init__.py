"""One command is one call of the API; people get tables, machines get one JSON document."""

import json
import signal
import sys


def script() -> None:
    """Run the installed command; an interruption gives one sentence, even while modules are still being imported."""
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
    run()
