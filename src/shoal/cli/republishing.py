"""The commands for tables that were published before: republish, remove."""

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.commands import (
    Force,
    Format,
    Json,
    Out,
    Private,
    Reproducible,
    ShowValues,
    Tables,
    app,
    refuse_nowhere,
    release,
    show,
)
from shoal.cli.drawing import revealing
from shoal.cli.names import listed

Earlier = Annotated[Path, typer.Argument(metavar="PRIVATE", help="The private folder of the release before.")]
PolicyFile = Annotated[Path | None, typer.Option("--policy", help="The policy file; as before unless given.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Plan and judge, write nothing.")]


@app.command()
def republish(
    earlier: Earlier,
    data: Tables,
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
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Publish a table again after it has grown or changed, without giving away what earlier releases hid."""
    from shoal import api
    from shoal.policy import Policy

    refuse_nowhere(out, dry_run=dry_run)
    rules = None if policy is None else Policy.load(policy)
    how = {"private": private, "format": file_format, "force": force, "reproducible": reproducible}
    with revealing(show_values=show_values):
        following = api.again(earlier, rules, original=original, increment=increment)
        document = release(data, following, out, dry_run=dry_run, quiet=as_json, **how)
    show(document, None if dry_run else out, private, as_json=as_json)


@app.command()
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
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Erase people from a published table, so that their absence does not betray them."""
    from shoal import api
    from shoal.api.given import is_file
    from shoal.policy import Policy

    refuse_nowhere(out, dry_run=dry_run)
    rules = None if policy is None else Policy.load(policy)
    how = {"private": private, "format": file_format, "force": force, "reproducible": reproducible}
    with revealing(show_values=show_values):
        following, left = api.removing(rows if is_file(rows) else listed([rows]), earlier, original, rules)
        document = release(left, following, out, dry_run=dry_run, quiet=as_json, **how)
    show(document, None if dry_run else out, private, as_json=as_json)
