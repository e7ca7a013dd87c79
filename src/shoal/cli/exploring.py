"""The commands that look around and release nothing: lattice, compare."""

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.commands import Json, Reproducible, ShowValues, Table, app
from shoal.cli.drawing import noted, print_json, progress, revealing, say
from shoal.cli.names import listed
from shoal.cli.stopping import within
from shoal.cli.tables import show_comparison, show_lattice

PolicyFile = Annotated[Path, typer.Option("--policy", help="The policy file.")]


@app.command()
def lattice(
    data: Table,
    policy: PolicyFile,
    picture: Annotated[Path | None, typer.Option(help="Draw it into this file, .svg or .png.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all nodes into this file, .csv.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace older files.")] = False,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """List every node of a policy's lattice with what it costs; release nothing."""
    from shoal import api

    with noted(), revealing(show_values=show_values), progress(quiet=as_json) as watch:
        table = api.lattice(data, policy, picture=picture, csv=csv, force=force, watch=watch)
    if as_json:
        print_json(table.document())
        return
    show_lattice(table)
    for path in (picture, csv):
        if path is not None:
            say(f"Wrote {path}. It tells of the original table: do not publish it.")


@app.command()
def compare(
    data: Table,
    policy: PolicyFile,
    algorithms: Annotated[
        list[str] | None, typer.Option(help="Which to run, separated by commas; all unless given.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds that each search may take; instead of the policy's own.")
    ] = None,
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Run several algorithms on one table and policy, side by side; release nothing."""
    from shoal import api
    from shoal.policy import Policy

    named = None if algorithms is None else listed(algorithms)
    rules = within(Policy.load(policy), time_limit)
    with noted(), revealing(show_values=show_values), progress(quiet=as_json) as watch:
        found = api.compare(data, rules, algorithms=named, watch=watch)
    found = found.without_times() if reproducible else found
    if as_json:
        print_json(found.document())
    else:
        show_comparison(found)
