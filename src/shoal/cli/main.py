"""Run a command; a failure becomes one sentence, or one JSON object with `--json`, and an exit code."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from errno import EDQUOT, EFBIG, EIO, EMFILE, ENAMETOOLONG, ENFILE, ENOMEM, ENOSPC, EROFS, ESTALE
from functools import cache
from importlib.abc import MetaPathFinder
from pathlib import Path

import typer

from shoal.cli import attack_commands, explore_commands, risk_commands  # noqa: F401 - each adds its commands to `app`
from shoal.cli.commands import app
from shoal.cli.console import clean, explain_print_error
from shoal.errors import KINDS, ShoalError, kind_of_failure, reason_of
from shoal.runtime.events import PUBLISHED, describe_published

_INTERRUPTED = KINDS["Interrupted"]
_FAILURES = {EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS, ESTALE}
"""Errors of disks and of the system that no program can prevent, wherever they are raised."""


_CAME: list[str] = []
"""Kinds of the interruptions received: the errors that DuckDB, ADBC or typer make of them no longer tell."""


def script() -> None:
    """Run `main` as a process of its own, with handlers for SIGINT and SIGTERM."""
    signal.signal(signal.SIGTERM, _interrupt)  # everything is cleaned up as after Ctrl-C
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)
    if not any(word.endswith("spark") for word in sys.argv):  # pyspark does not work without pandas
        sys.meta_path.insert(0, _PandasBlocker())
    main()


class _PandasBlocker(MetaPathFinder):
    """Keeps pyarrow from importing pandas for its first array, which takes a third of a second for nothing."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(f"{fullname} is not used by the command line", name=fullname)


def main() -> None:
    """Run the command line; a failure is one sentence, or one JSON object with `--json`, and an exit code."""
    _CAME.clear()
    PUBLISHED.clear()
    try:
        code = _run()
        if code == _INTERRUPTED:
            raise KeyboardInterrupt  # noqa: TRY301 - typer has caught it and made a number of it
        with explain_print_error():
            sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except (Exception, KeyboardInterrupt) as wrong:  # noqa: BLE001 - a person gets a sentence, a program an object
        _fail(*_describe_failure(wrong))
    sys.exit(code)


def _run() -> int | None:
    """Run the command, help included, and return its exit code."""
    try:
        code: int | None = _command()(standalone_mode=False)  # what a command raises comes back as a number
    except typer.Exit as done:
        return done.exit_code
    return code


@cache
def _command() -> Callable[..., int | None]:
    """Return the command that all commands are part of, built once."""
    return typer.main.get_command(app)


def _describe_failure(wrong: BaseException) -> tuple[str, str]:
    """Return the kind of a failure and a sentence about it, which never holds a cell."""
    if _CAME or isinstance(wrong, KeyboardInterrupt | typer.Abort) or _is_interrupt(wrong):
        kind = _CAME[0] if _CAME else "Interrupted"
        return kind, f"{kind.lower()}; {describe_published('its report may be missing or unfinished')}"
    if isinstance(wrong, ShoalError):
        return kind_of_failure(wrong), str(wrong)
    if isinstance(wrong, OSError) and (sentence := _describe_system_error(wrong)):
        return sentence
    if isinstance(wrong, MemoryError):  # before a command could say more
        return "BadInput", f"there is not enough memory to run the command; allow more of it; {describe_published()}"
    if hasattr(wrong, "format_message"):  # the parser's own: a wrong option or argument
        return "BadUsage", f"{wrong.format_message()}{_hint_at_init(wrong)}"
    return "InternalError", f"internal error ({type(wrong).__name__} at {_place(wrong)}); please report it"


def _hint_at_init(wrong: BaseException) -> str:
    """Return how to get a policy where a command lacks one, else an empty text."""
    lacking = getattr(wrong, "param", None) if type(wrong).__name__ == "MissingParameter" else None
    named = getattr(lacking, "name", None) == "policy"
    return " Run `shoal init DATA` first: it drafts policy.toml." if named else ""


def _describe_system_error(wrong: OSError) -> tuple[str, str] | None:
    """Return the kind of an error of the system and a sentence; None if a fault of the program is more likely."""
    if _last_frame(wrong).name == "echo":  # the parser prints a help text
        return "BadOutput", f"the help could not be printed ({reason_of(wrong)})"
    if wrong.errno == ENAMETOOLONG:
        name = max(Path(os.fsdecode(wrong.filename or "")).parts, key=len, default="")
        return "BadInput", f"{name[:20]}…: this name, or the path to it, is too long for a file or a folder"
    if wrong.errno in _FAILURES:
        return "BadInput", f"the system could not do what was asked of it ({reason_of(wrong)}); {describe_published()}"
    return None


def _interrupt(number: int, _: object) -> None:
    _CAME.append("Terminated" if number == signal.SIGTERM else "Interrupted")
    raise KeyboardInterrupt


def _is_interrupt(wrong: BaseException) -> bool:
    """Return whether an error stands for Ctrl-C: DuckDB raises one of its own when it is pressed during a query."""
    duckdb = sys.modules.get("duckdb")  # not imported: then it raised nothing
    return (type(wrong) is RuntimeError and str(wrong) == "Query interrupted") or (
        duckdb is not None and isinstance(wrong, duckdb.InterruptException)
    )


def _place(wrong: BaseException) -> str:
    frame = _last_frame(wrong)
    return f"{Path(frame.filename).name}:{frame.lineno}" if frame.filename else "unknown"


def _last_frame(wrong: BaseException) -> traceback.FrameSummary:
    """Return the frame in which an error was raised."""
    frames = traceback.extract_tb(wrong.__traceback__)
    return frames[-1] if frames else traceback.FrameSummary("", 0, "")


def _fail(kind: str, sentence: str) -> None:
    """Print a failure on stderr and end with the exit code of its kind."""
    message, code = clean(sentence), KINDS[kind]
    document = {"error": {"kind": kind, "message": message, "exit_code": code}}
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python would try once more at its end
    with suppress(OSError):  # where stderr cannot be written, the exit code must do
        print(json.dumps(document) if _asked_for_json() else f"shoal: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(code)


def _asked_for_json() -> bool:
    """Return whether `--json` is on the command line: what the parser refuses must be reported as JSON, too."""
    words = sys.argv[1:]
    return "--json" in (words[: words.index("--")] if "--" in words else words)
