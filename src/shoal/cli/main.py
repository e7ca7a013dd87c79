"""Runs a command; what goes wrong becomes one sentence and an exit code."""

import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

import typer

from shoal.cli import attack_commands, explore_commands, risk_commands  # noqa: F401 - each adds its commands to `app`
from shoal.cli.commands import app
from shoal.cli.console import clean
from shoal.errors import ShoalError

_INTERRUPTED = 130


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
    """Run the command line; errors are one sentence and an exit code."""
    try:
        code = app(standalone_mode=False)  # what a command raises as its exit code comes back as a number
        if code == _INTERRUPTED:
            raise KeyboardInterrupt  # noqa: TRY301 - typer has caught it and made a number of it
        sys.exit(code)
    except KeyboardInterrupt:
        _fail("interrupted; nothing was written", _INTERRUPTED)
    except ShoalError as wrong:
        _fail(str(wrong), wrong.exit_code)
    except typer.Abort:
        _fail("interrupted; nothing was written", _INTERRUPTED)
    except typer.Exit as done:
        sys.exit(done.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as wrong:  # noqa: BLE001 - a person gets a sentence; the message itself could hold a cell
        if _is_interrupt(wrong):
            _fail("interrupted; nothing was written", _INTERRUPTED)
        if hasattr(wrong, "format_message"):  # the parser's own: a wrong option or argument
            _fail(wrong.format_message(), 2)
        _fail(f"internal error ({type(wrong).__name__} at {_place(wrong)}); please report it", 1)


def _is_interrupt(wrong: Exception) -> bool:
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


def _fail(sentence: str, code: int) -> None:
    print(f"shoal: {clean(sentence)}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
