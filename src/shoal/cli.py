"""One command is one call of the API; people get tables, machines get one JSON document."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal import __version__
from shoal.errors import BadInput, ShoalError, ShoalWarning

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.search import Watch

app = typer.Typer(
    name="shoal",
    help="Anonymize tables about people: give a table and a policy, get a table that can be published, with proof.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_INTERRUPTED = 130
_COLOURS = {"holds": "green", "FAILS": "bold red", "fails": "bold red"}

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, nothing else.")]
Table = Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet, Arrow or Excel file; - for stdin.")]
Delimiter = Annotated[str | None, typer.Option(help="Of a CSV; sniffed unless given.")]
Encoding = Annotated[str | None, typer.Option(help="Of a CSV, e.g. latin-1; UTF-8 unless given.")]
Missing = Annotated[str, typer.Option(help="Texts that mean: not known; separated by commas. Empty cells always do.")]


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
        if hasattr(wrong, "format_message"):  # the parser's own: a wrong option or argument
            _fail(wrong.format_message(), 2)
        _fail(f"internal error ({type(wrong).__name__} at {_place(wrong)}); please report it", 1)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version or context.invoked_subcommand is None:
        print(f"shoal {__version__}" if version else context.get_help())  # noqa: T201
        raise typer.Exit


@app.command()
def init(
    data: Table,
    out: Annotated[Path, typer.Option(help="The policy file to write.")] = Path("policy.toml"),
    k: Annotated[int, typer.Option(min=1, help="The k to ask for.")] = 5,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Draft a policy for a table, reasons as comments."""
    from shoal import api
    from shoal.report.folder import write_whole

    with _notes():
        text = api.draft(data, k=k, delimiter=delimiter, encoding=encoding)
    if data != "-" and out.exists() and Path(data).exists() and out.samefile(data):
        raise BadInput(f"{out.name}: the policy would be written over the table; name another file with --out")
    if out.exists() and not force:
        raise BadInput(f"{out.name}: there is such a file already; use --force to replace it or --out to name another")
    try:
        write_whole(out, text)
    except OSError as wrong:
        raise BadInput(f"{out.name}: the policy could not be written ({wrong.strerror})") from None
    if as_json:
        _print_json({"policy": out.name, "text": text})
    else:
        _say(f"Wrote {out}. Check the roles, then: shoal anonymize {data} --policy {out} --out out/")


@app.command()
def measure(
    data: Table,
    qi: Annotated[str, typer.Option(help="Quasi-identifiers, separated by commas.")],
    sensitive: Annotated[str, typer.Option(help="Sensitive attributes, separated by commas.")] = "",
    missing: Missing = "",
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    ignore_suppressed: Annotated[
        bool, typer.Option("--ignore-suppressed", help="Leave out rows that are * in every quasi-identifier.")
    ] = False,
    show_values: Annotated[bool, typer.Option("--show-values", help="Name the sensitive values in the table.")] = False,
    as_json: Json = False,
) -> None:
    """Measure every privacy model on a table as it is."""
    from shoal import api
    from shoal.engine import ReadOptions

    options = ReadOptions(
        missing=tuple({"": None, **dict.fromkeys(_list(missing))}), delimiter=delimiter, encoding=encoding
    )
    with _notes():
        found = api.measure(
            data,
            quasi_identifiers=_list(qi),
            sensitive=_list(sensitive),
            ignore_suppressed=ignore_suppressed,
            options=options,
        )
    if as_json:
        _print_json(found)
    else:
        _show_measured(found, show_values=show_values)


@app.command()
def anonymize(
    data: Table,
    policy: Annotated[Path, typer.Option(help="The policy file.")],
    out: Annotated[Path | None, typer.Option(help="The folder to write the release into.")] = None,
    private: Annotated[
        Path | None, typer.Option(help="The folder for what must not be published; OUT.private unless given.")
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="csv or parquet; as the input unless given.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older release.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Search and report, write nothing.")] = False,
    reproducible: Annotated[
        bool, typer.Option("--reproducible", help="Leave times out, so that equal runs give equal bytes.")
    ] = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Let errors name the cells they are about.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make the release of least loss that keeps a policy."""
    from shoal import api
    from shoal.policy import Policy

    if out is None and not dry_run:
        raise BadInput("give a folder for the release with --out, or --dry-run to write nothing")
    rules = Policy.load(policy)
    with _revealing(show_values=show_values), _progress(quiet=as_json) as watch:
        if dry_run or out is None:
            manifest = api.dry_run(data, rules, watch=watch)
        else:
            manifest = api.publish(
                data,
                rules,
                out,
                watch=watch,
                private=private,
                format=file_format,
                force=force,
                reproducible=reproducible,
            )
    if as_json:
        _print_json(manifest.document())
    else:
        _show_manifest(manifest.document(), None if dry_run else out, private)


@app.command()
def verify(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder of a release.")],
    original: Annotated[str | None, typer.Option(help="The table the release was made from.")] = None,
    population: Annotated[str | None, typer.Option(help="The table of everybody.")] = None,
    private: Annotated[Path | None, typer.Option(help="The private folder; OUT.private unless given.")] = None,
    as_json: Json = False,
) -> None:
    """Count a release afresh and judge every promise."""
    from shoal import api

    with _notes():
        verdicts = api.verify(out, original=original, population=population, private=private)
    if as_json:
        # whether rows tell the truth is no promise of the manifest: without the original it is said to be open
        kept = all(v.holds for v in verdicts if v.promise != "truthful" or original is not None)
        _print_json({"verified": kept, "verdicts": [_verdict(v) for v in verdicts]})
    else:
        _show_verdicts(verdicts)
    if any(v.status == "fails" for v in verdicts):
        raise typer.Exit(4)


def _verdict(verdict: Any) -> dict[str, Any]:
    return {
        "promise": verdict.promise,
        "status": str(verdict.status),
        "asked": dict(verdict.asked),
        "attained": dict(verdict.attained),
        **({"why": verdict.why} if verdict.why else {}),
    }


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _clean(text: object) -> str:
    """Text without control characters, so that nothing in a table can steer the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def _console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=stderr)


def _say(text: str) -> None:
    _console(stderr=True).print(_clean(text))


def _print_json(document: Any) -> None:
    json.dump(document, sys.stdout, indent=2, ensure_ascii=not (sys.stdout.encoding or "").lower().startswith("utf"))
    sys.stdout.write("\n")


@contextmanager
def _notes() -> Iterator[None]:
    """Shows the project's warnings as notes on stderr."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ShoalWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, ShoalWarning):  # what others say may hold cells
            _say(f"note: {warning.message}")


@contextmanager
def _revealing(*, show_values: bool) -> Iterator[None]:
    """Adds to an error the cells it is about, for those who asked for them."""
    try:
        yield
    except ShoalError as wrong:
        if not show_values or not wrong.values:
            raise
        raise type(wrong)(f"{wrong} (values: {', '.join(map(repr, wrong.values))})") from None


@contextmanager
def _progress(*, quiet: bool) -> Iterator["Watch"]:
    """Nodes checked, the share of the lattice that is settled and the time left, on stderr when it is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0)

        def watch(ask: Any, tally: Any) -> None:
            bar.update(task, completed=ask.settled, description=f"{tally.checked:,} nodes checked")

        yield watch


def _show_measured(found: dict[str, Any], *, show_values: bool) -> None:
    rows = []
    for entry in found["models"]:
        for key, value in entry["attained"].items():
            if isinstance(value, dict):
                rows += [
                    (entry["model"], f"{entry['attribute']} = {v}", f"{a:.4g}") for v, a in value.items() if show_values
                ]
            else:
                rows.append((entry["model"], entry.get("attribute", ""), f"{key} = {value:.6g}"))
    _table(f"{found['rows']:,} rows in {found['classes']:,} classes", ("model", "attribute", "attained"), rows)
    if "suppressed" in found:
        many, ignored = found["suppressed"]["rows"], found["suppressed"]["ignored"]
        how = "left out" if ignored else "counted as a class"
        _say(f"note: {many:,} row(s) are * in every quasi-identifier and were {how}")


def _show_manifest(document: dict[str, Any], out: Path | None, private: Path | None) -> None:
    rows, method, classes = document["rows"], document["method"], document["classes"]
    promises = [
        (
            m["model"],
            m.get("attribute", ""),
            _pairs(m["asked"]),
            _pairs(m["attained"]),
            "holds" if m["holds"] else "FAILS",
        )
        for m in document["models"]
    ]
    _table(
        "What the release promises, as re-read and counted",
        ("model", "attribute", "asked", "attained", ""),
        promises,
    )
    levels = ", ".join(f"{name} {level}" for name, level in document["recoding"]["levels"].items())
    share = 100 * rows["suppressed"] / rows["read"]
    facts = [
        (
            "rows",
            f"{rows['read']:,} read, {rows['released']:,} released, {rows['suppressed']:,} suppressed ({share:.2f} %)",
        ),
        (
            "classes",
            f"{classes['count']:,} of {classes['min']:,} to {classes['max']:,} rows, {classes['mean']:.1f} on average",
        ),
        ("levels", levels),
        (method["metric"], f"{method['score']:.6g} ({_how_good(method)})"),
        (
            "search",
            f"{method['algorithm']}: {method['checked']:,} of {method['nodes']:,} nodes checked"
            + (f" in {method['seconds']:.2f} s" if "seconds" in method else ""),
        ),
    ]
    if out is not None:
        facts.append(("release", f"{out} (publish this)"))
        facts.append(("private", f"{private or str(out).rstrip('/') + '.private'} (never publish this)"))
    _table("", ("", ""), facts)
    for note in document.get("warnings", []):
        _say(f"note: {note}")


def _how_good(method: dict[str, Any]) -> str:
    if method["proved"]:
        return "proved to be the least"
    return "not minimal" if method["algorithm"] == "datafly" else f"at most {method['gap']:.3g} above the least"


def _show_verdicts(verdicts: list[Any]) -> None:
    rows = [(v.promise, _pairs(v.asked), _pairs(v.attained), f"{v.status} {v.why}".strip()) for v in verdicts]
    _table("Verdict", ("promise", "asked", "found", "verdict"), rows)


def _pairs(values: Any) -> str:
    return ", ".join(f"{key} = {_short(value)}" for key, value in values.items() if not isinstance(value, dict))


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value[:12]}…" if isinstance(value, str) and len(value) == 64 else str(value)


def _table(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(
        title=title or None, title_justify="left", box=box.SIMPLE, show_header=any(header), pad_edge=False
    )
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_clean(cell), style=_COLOURS.get(cell, "")) for cell in row))
    _console().print(table)


def _place(wrong: BaseException) -> str:
    trace = wrong.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "unknown"


def _fail(sentence: str, code: int) -> None:
    print(f"shoal: {_clean(sentence)}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
