"""The commands: each is one call of the API."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shoal import __version__
from shoal.cli.console import (
    as_document,
    print_json,
    print_toml,
    print_warnings,
    progress,
    reveal_values,
    say,
    say_on_stdout,
    show_blocked,
    show_draft,
    show_manifest,
    show_measurement,
    show_verdicts,
)
from shoal.cli.options import (
    at_node,
    load_policy,
    log_events,
    number_or_text,
    reads_table,
    split_names,
    watch_for_interrupt,
    with_time_limit,
)
from shoal.errors import BadInput, NotAdvised, NotVerified

TASKS = START, PUBLISH, CHECK, EXPLORE, ATTACK = ("Start", "Publish", "Check", "Explore", "Attack")
"""The headings of `shoal --help`; a command names its own as `rich_help_panel`."""


class TaskGroup(TyperGroup):
    """Lists the commands by task; typer itself would need rich for that, and start more slowly."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        known = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        width = formatter.width - 6 - max(map(len, known))
        for task in TASKS:
            named = {name: each for name, each in known.items() if getattr(each, "rich_help_panel", None) == task}
            with formatter.section(task):
                formatter.write_dl([(name, each.get_short_help_str(width)) for name, each in named.items() if each])


app = typer.Typer(
    name="shoal",
    cls=TaskGroup,
    help="Anonymize tables about people: give a table and a policy, get a table that can be published, with proof.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, nothing else.")]
Table = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV (also .gz, .zst), Parquet, Arrow, Excel, Stata, SPSS or SAS file; - for stdin; a folder or 'pattern' "
        "of CSV or Parquet files; file.duckdb::table; postgres:schema.table; s3://… and others through fsspec.",
    ),
]
To = Annotated[str | None, typer.Option(help="Store the release in a table too: postgres:schema.table.")]
LogJson = Annotated[
    str | None, typer.Option(metavar="FILE", help="Append events as lines of JSON, without values; - for stderr.")
]
Engine = Annotated[
    str, typer.Option(help="auto, arrow (in memory), duckdb (bigger than memory) or spark (on a cluster).")
]
Master = Annotated[str | None, typer.Option(help="Of the spark engine, e.g. spark://host:7077; local[*] unless given.")]
Memory = Annotated[str | None, typer.Option(help="What may be used, e.g. 2GB; the rest is spilled beside the output.")]
Out = Annotated[Path | None, typer.Option(help="The folder to write the release into.")]
Private = Annotated[
    Path | None, typer.Option(help="The folder for what must not be published; OUT.private unless given.")
]
Format = Annotated[
    str | None, typer.Option("--format", help="csv or parquet; parquet if the input is, else csv, unless given.")
]
PartitionBy = Annotated[
    list[str] | None,
    typer.Option(help="Write Parquet in folders named after these columns, separated by commas: region=north/…"),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an older release.")]
Reproducible = Annotated[
    bool, typer.Option("--reproducible", help="Leave times out, so that equal runs give equal bytes.")
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help='End with exit code 5 unless the verdict is a plain "publish"; the release is still written.'
    ),
]
ShowValues = Annotated[bool, typer.Option("--show-values", help="Let errors name the cells they are about.")]
Node = Annotated[
    str | None,
    typer.Option(metavar="LEVELS", help="Take this node and search for no other: age=2,sex=0, or [2,0] as listed."),
]
NAMES = 'separated by commas, "a,b" in quotes; may be repeated.'


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version or context.invoked_subcommand is None:
        print(f"shoal {__version__}" if version else context.get_help())  # noqa: T201
        raise typer.Exit


@app.command(rich_help_panel=START, epilog="Example: shoal init people.csv --k 5")
@reads_table
def init(
    data: Table,
    out: Annotated[Path, typer.Option(help="The policy file to write; - for stdout.")] = Path("policy.toml"),
    k: Annotated[int, typer.Option(min=1, help="The k to ask for.")] = 5,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Draft a policy for a table, reasons as comments."""
    from shoal import api
    from shoal.engines.choice import read_options
    from shoal.explore.draft_policy import refuse_policy_file
    from shoal.inputs import path_of

    printed = str(out) == "-"
    if printed and as_json:
        raise BadInput("--json prints the draft on stdout already, as its text; leave out --out - or --json")
    if not printed:  # before the work, not after it
        refuse_policy_file(out, path_of(data), force=force)
    with print_warnings(), progress(quiet=as_json):
        drafted = api.draft(data, k, options=read_options(None, reading))
    if printed:
        print_toml(drafted.text)
        return
    drafted.save(out, force=force)
    if as_json:
        print_json({"policy": out.name, **drafted.document()})
    else:
        show_draft(drafted, data, out)


@app.command(rich_help_panel=START, epilog="Example: shoal measure people.csv --qi age,sex --sensitive disease")
@reads_table
def measure(
    data: Table,
    qi: Annotated[list[str], typer.Option(help=f"Quasi-identifiers, {NAMES}")],
    sensitive: Annotated[list[str] | None, typer.Option(help=f"Sensitive attributes, {NAMES}")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that tells persons apart: count them instead of rows.")
    ] = None,
    ignore_suppressed: Annotated[
        bool, typer.Option("--ignore-suppressed", help="Leave out rows that are * in every quasi-identifier.")
    ] = False,
    graph: Annotated[
        Path | None, typer.Option(help="Write the graph of sensitive values and classes: .graphml, .svg or .png.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing graph.")] = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Name sensitive values, and what the worst classes share.")
    ] = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Measure every privacy model on a table as it is."""
    from shoal import api
    from shoal.engines.choice import read_options

    with print_warnings(), progress(quiet=as_json):
        found = api.measure(
            data,
            quasi_identifiers=split_names(qi),
            sensitive=split_names(sensitive),
            unit=unit,
            ignore_suppressed=ignore_suppressed,
            options=read_options(None, reading),
            graph=graph,
            force=force,
            show_values=show_values,
        )
    if as_json:
        print_json(found.to_dict())
    else:
        show_measurement(found.to_dict(), show_values=show_values)


@app.command(rich_help_panel=PUBLISH, epilog="Example: shoal anonymize people.csv --policy policy.toml --out out/")
@reads_table
def anonymize(
    data: Table,
    policy: Annotated[Path, typer.Option(help="The policy file.")],
    out: Out = None,
    private: Private = None,
    file_format: Format = None,
    partition_by: PartitionBy = None,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Search and report, write nothing.")] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds that the search may take; instead of the policy's own.")
    ] = None,
    node: Node = None,
    keep_best: Annotated[
        bool, typer.Option("--keep-best", help="On Ctrl-C, release the best node so far instead of nothing.")
    ] = False,
    accept_guesses: Annotated[
        bool,
        typer.Option(
            "--accept-guesses", help='Take roles marked confirm = "?" as they are; drop columns that nothing protects.'
        ),
    ] = False,
    advise: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Look so long for changes of the policy that would help, instead of trying a few; 0 tries none.",
        ),
    ] = None,
    engine: Engine = "auto",
    memory: Memory = None,
    to: To = None,
    log_json: LogJson = None,
    master: Master = None,
    strict: Strict = False,
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Make the release of least loss that keeps a policy."""
    from shoal.explore.advice import advice_time_budget

    refuse_missing_out(out, dry_run=dry_run)
    refuse_out(data, out, private, None, to, force=force)
    asked = load_policy(policy)
    asked = asked.accepting_guesses() if accept_guesses else asked
    rules = at_node(with_time_limit(asked.read_as(reading), time_limit), node)
    how: dict[str, Any] = {"private": private, "format": file_format, "force": force, "reproducible": reproducible}
    how |= {
        "partition_by": split_names(partition_by),
        "engine": engine,
        "memory": memory,
        "master": master,
        "to": to,
    }
    stop_or_go = watch_for_interrupt(on_interrupt=keep_best)
    with reveal_values(show_values=show_values), stop_or_go as stop, log_events(log_json), advice_time_budget(advise):
        document = publish_or_dry_run(data, rules, out, dry_run=dry_run, quiet=as_json, stop=stop, **how)
    show_result(document, None if dry_run else out, private, as_json=as_json, strict=strict)


@app.command(rich_help_panel=PUBLISH, epilog="Example: shoal apply out.private/ later.csv --out later/")
@reads_table
def apply(
    earlier: Annotated[Path, typer.Argument(metavar="PRIVATE", help="The private folder of an earlier release.")],
    data: Table,
    out: Out = None,
    private: Private = None,
    suppression: Annotated[
        str | None,
        typer.Option(
            help="Rows that may be suppressed: a share such as 0.05 or 1/20, a number such as rows=2, or k (default: "
            "as before; all of boxes and cells)."
        ),
    ] = None,
    outside: Annotated[
        str | None,
        typer.Option(
            help="Boxes and cells: what becomes of a row that no class covers; suppress (the default), or nearest, "
            "which widens the nearest class."
        ),
    ] = None,
    file_format: Format = None,
    partition_by: PartitionBy = None,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Recode and report, write nothing.")] = False,
    engine: Engine = "auto",
    memory: Memory = None,
    to: To = None,
    log_json: LogJson = None,
    master: Master = None,
    strict: Strict = False,
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Apply the recoding of an earlier release to new rows."""
    from shoal.policy.sections import suppression_of_text
    from shoal.publish.fixed_recoding import FixedRecoding

    refuse_missing_out(out, dry_run=dry_run)
    refuse_out(data, out, private, earlier, to, force=force)
    share = None if suppression is None else suppression_of_text(suppression)
    rules = FixedRecoding.load(earlier, suppression=share, outside=outside, reading=reading)
    how: dict[str, Any] = {"private": private, "format": file_format, "force": force, "reproducible": reproducible}
    how |= {
        "partition_by": split_names(partition_by),
        "engine": engine,
        "memory": memory,
        "master": master,
        "to": to,
    }
    with reveal_values(show_values=show_values), log_events(log_json):
        document = publish_or_dry_run(data, rules, out, dry_run=dry_run, quiet=as_json, **how)
    show_result(document, None if dry_run else out, private, as_json=as_json, strict=strict)


def refuse_missing_out(out: Path | None, *, dry_run: bool) -> None:
    if out is None and not dry_run:
        raise BadInput("give a folder for the release with --out, or --dry-run to write nothing")


def refuse_out(
    data: Any, out: Path | None, private: Path | None, earlier: Path | None, to: str | None = None, *, force: bool
) -> None:
    """Refuse folders that cannot or must not be written, before anything is read."""
    from shoal.engines.postgres.tables import ask_of
    from shoal.inputs import path_of, target_of
    from shoal.publish.folder import Places

    if out is not None:
        Places.choose(out, private, path_of(data), force=force, earlier=earlier, ask=ask_of(target_of(to)))


def publish_or_dry_run(
    data: Any, rules: Any, out: Path | None, *, dry_run: bool, quiet: bool, **how: Any
) -> dict[str, Any]:
    """Publish, or only try to with `dry_run`, and return the manifest as a JSON object."""
    from shoal import api

    with progress(quiet=quiet) as watch:
        if dry_run or out is None:
            return api.dry_run(data, rules, out=out, watch=watch, **how).document()
        return api.publish(data, rules, out, watch=watch, **how).document()


def show_result(
    document: dict[str, Any], out: Path | None, private: Path | None, *, as_json: bool, strict: bool
) -> None:
    """Print what came of it; if `strict`, refuse a verdict that is no plain "publish", though the release stays."""
    from shoal.publish.manifest import Recommendation

    if as_json:
        print_json(document)
        for note in document.get("warnings", []):
            say(f"note: {note}")
    else:
        show_manifest(document, out, private)
    said = Recommendation(**document["recommendation"])
    if strict and (said.advice != "publish" or said.condition):
        done = "nothing was written (--dry-run)" if out is None else f"{out.name} was written all the same"
        kept = 'not "publish"' if said.advice != "publish" else 'no plain "publish"'
        raise NotAdvised(f"the verdict is {kept}: {said.brief}; {done}")


@app.command(
    rich_help_panel=PUBLISH,
    short_help="Block inference channels of an anonymous table.",
    epilog="Example: shoal block table.csv --sensitive Disease --confidence 0.5 --out blocked.csv",
)
@reads_table
def block(
    data: Table,
    sensitive: Annotated[str, typer.Option(help="The sensitive attribute that rules must not tell.")],
    out: Annotated[
        Path | None, typer.Option(help="The CSV file to write; only told what would be done unless given.")
    ] = None,
    qi: Annotated[list[str] | None, typer.Option(help=f"Quasi-identifiers, {NAMES} All others unless given.")] = None,
    confidence: Annotated[str, typer.Option(help="What rules are brought down to, e.g. 0.8 or 1/2.")] = "0.8",
    at: Annotated[str, typer.Option(help="Rules of at least this confidence are channels.")] = "1",
    h: Annotated[
        str, typer.Option("--h", help="Share of rules lost (LR), or of ghost rules (GR), above which it stops.")
    ] = "1",
    over: Annotated[str, typer.Option(help="take-back or keep: the rows with which h is passed.")] = "take-back",
    by: Annotated[str, typer.Option(help="absent: a value that the rule's rows lack; unknown: none.")] = "absent",
    limit: Annotated[str, typer.Option(help="The share of the rows that may be added.")] = "1",
    seed: Annotated[int, typer.Option(help="Random seed (default 0).")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    show_values: Annotated[bool, typer.Option("--show-values", help="Name the rules, which hold values.")] = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Block the inference channels of a table that is anonymous already."""
    from shoal import api
    from shoal.engines.choice import read_options

    shares = {"confidence": confidence, "at": at, "h": h, "limit": limit}
    with print_warnings(), progress(quiet=as_json):
        done = api.block(
            data,
            sensitive,
            split_names(qi),
            out=out,
            force=force,
            seed=seed,
            options=read_options(None, reading),
            by=by,
            over=over,
            **{name: number_or_text(share) for name, share in shares.items()},
        )
    told = done.to_dict(show_values=show_values)
    if as_json:
        print_json(told)
    else:
        show_blocked(told, out)


@app.command(rich_help_panel=CHECK, epilog="Example: shoal verify out/ --original people.csv")
@reads_table
def verify(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder of a release.")],
    original: Annotated[str | None, typer.Option(help="The table the release was made from.")] = None,
    population: Annotated[str | None, typer.Option(help="The table of everybody.")] = None,
    private: Annotated[Path | None, typer.Option(help="The private folder; OUT.private unless given.")] = None,
    memory: Annotated[str | None, typer.Option(help="What may be used, e.g. 2GB; the rest is spilled.")] = None,
    log_json: LogJson = None,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Count a release afresh and judge every promise."""
    from shoal import api

    with print_warnings(), progress(quiet=as_json), log_events(log_json):
        how: dict[str, Any] = {"private": private, "memory": memory, "reading": reading}
        verdicts = api.verify(out, original=original, population=population, **how)
        said = api.find_verdict(out, private)
    if as_json:
        # promises that need the original are not in the manifest: without the original they stay open
        kept = all(v.holds for v in verdicts if v.promise not in api.NEED_ORIGINAL or original is not None)
        verdict = {} if said is None else {"verdict_at_release": said.document()}
        print_json({"verified": kept, "verdicts": [as_document(v) for v in verdicts], **verdict})
    else:
        show_verdicts(verdicts)
        if said is not None:
            say_on_stdout(said.sentence, whole=True)
    failed = [verdict.promise for verdict in verdicts if verdict.status == "fails"]
    if failed:
        raise NotVerified(f"{out.name}: {len(failed)} of {len(verdicts)} promises fail: {', '.join(failed)}")


Earlier = Annotated[Path, typer.Argument(metavar="PRIVATE", help="The private folder of the release before.")]
PolicyFile = Annotated[Path | None, typer.Option("--policy", help="The policy file; as before unless given.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Plan and judge, write nothing.")]


@app.command(
    rich_help_panel=PUBLISH,
    short_help="Publish a table again after it has changed.",
    epilog="Example: shoal republish out.private/ later.csv --out later/",
)
@reads_table
def republish(
    earlier: Earlier,
    data: Table,
    policy: PolicyFile = None,
    out: Out = None,
    original: Annotated[
        str | None,
        typer.Option(help="The table of the release before, once, if its policy had no [republish]."),
    ] = None,
    increment: Annotated[
        bool, typer.Option("--increment", help="DATA has new rows only: publish them as a table of their own.")
    ] = False,
    private: Private = None,
    file_format: Format = None,
    force: Force = False,
    dry_run: DryRun = False,
    strict: Strict = False,
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Publish a table again after it has grown or changed, without giving away what earlier releases hid."""
    from shoal import api

    refuse_missing_out(out, dry_run=dry_run)
    refuse_out(data, out, private, earlier, force=force)
    rules = None if policy is None else load_policy(policy)
    how = {"private": private, "format": file_format, "force": force, "reproducible": reproducible}
    with reveal_values(show_values=show_values):
        following = api.prepare_next_release(earlier, rules, original=original, increment=increment, reading=reading)
        document = publish_or_dry_run(data, following, out, dry_run=dry_run, quiet=as_json, **how)
    show_result(document, None if dry_run else out, private, as_json=as_json, strict=strict)


@app.command(
    rich_help_panel=PUBLISH,
    short_help="Erase people from a published table.",
    epilog="Example: shoal remove leavers.csv out.private/ --out later/",
)
@reads_table
def remove(
    rows: Annotated[str, typer.Argument(metavar="ROWS", help="A table with the keys of those to remove, or the keys.")],
    earlier: Earlier,
    original: Annotated[
        str | None,
        typer.Option(help="The table that was released; else its file is looked for by name, beside PRIVATE and here."),
    ] = None,
    policy: PolicyFile = None,
    out: Out = None,
    private: Private = None,
    file_format: Format = None,
    force: Force = False,
    dry_run: DryRun = False,
    strict: Strict = False,
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Erase people from a published table, so that their absence does not betray them."""
    from shoal import api
    from shoal.inputs import is_file

    refuse_missing_out(out, dry_run=dry_run)
    refuse_out(None, out, private, earlier, force=force)
    rules = None if policy is None else load_policy(policy)
    how = {"private": private, "format": file_format, "force": force, "reproducible": reproducible}
    with reveal_values(show_values=show_values):
        named = rows if is_file(rows) else split_names([rows])
        following, left = api.prepare_removal(named, earlier, original, rules, reading=reading)
        document = publish_or_dry_run(left, following, out, dry_run=dry_run, quiet=as_json, **how)
    show_result(document, None if dry_run else out, private, as_json=as_json, strict=strict)
