"""Runs a command; what goes wrong becomes one sentence, or one JSON object with `--json`, and an exit code."""

import json
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

import typer

from shoal.cli import attack_commands, explore_commands, risk_commands  # noqa: F401 - each adds its commands to `app`
from shoal.cli.commands import app
from shoal.cli.console import clean
from shoal.errors import KINDS, ShoalError, kind_of_failure

_INTERRUPTED = KINDS["Interrupted"]


def script() -> None:
    """The installed command: `main` in a process of its own."""
    if not any(word.endswith("spark") for word in sys.argv):  # pyspark does not work without pandas
        sys.meta_path.insert(0, _WithoutPandas())
    main()


class _WithoutPandas(MetaPathFinder):
    """pyarrow imports pandas, where there is one, for its first array: a third of a second that no command needs."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(f"{fullname} is not used by the command line", name=fullname)


def main() -> None:
    """Run the command line; a failure is one sentence, or one JSON object with `--json`, and an exit code."""
    try:
        code = app(standalone_mode=False)  # what a command raises as its exit code comes back as a number
        if code == _INTERRUPTED:
            raise KeyboardInterrupt  # noqa: TRY301 - typer has caught it and made a number of it
        sys.exit(code)
    except typer.Exit as done:
        sys.exit(done.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except (Exception, KeyboardInterrupt) as wrong:  # noqa: BLE001 - a person gets a sentence, a program an object
        _fail(*_told(wrong))


def _told(wrong: BaseException) -> tuple[str, str]:
    """Return the kind of a failure and a sentence about it, which never holds a cell."""
    if isinstance(wrong, ShoalError):
        return kind_of_failure(wrong), str(wrong)
    if isinstance(wrong, KeyboardInterrupt | typer.Abort) or _is_interrupt(wrong):
        return "Interrupted", "interrupted; nothing was written"
    if hasattr(wrong, "format_message"):  # the parser's own: a wrong option or argument
        return "BadUsage", wrong.format_message()
    return "InternalError", f"internal error ({type(wrong).__name__} at {_place(wrong)}); please report it"


def _is_interrupt(wrong: BaseException) -> bool:
    """DuckDB makes an error of its own of a Ctrl-C that comes in the middle of a query."""
    duckdb = sys.modules.get("duckdb")  # who has not imported it has raised nothing
    return (type(wrong) is RuntimeError and str(wrong) == "Query interrupted") or (
        duckdb is not None and isinstance(wrong, duckdb.InterruptException)
    )


def _place(wrong: BaseException) -> str:
    trace = wrong.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "unknown"


def _fail(kind: str, sentence: str) -> None:
    """Print a failure on stderr and end with the exit code of its kind."""
    message, code = clean(sentence), KINDS[kind]
    document = {"error": {"kind": kind, "message": message, "exit_code": code}}
    print(json.dumps(document) if _asked_for_json() else f"shoal: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(code)


def _asked_for_json() -> bool:
    """Return whether `--json` is on the command line: what the parser refuses must be told in JSON, too."""
    words = sys.argv[1:]
    return "--json" in (words[: words.index("--")] if "--" in words else words)
