"""The commands that look around and release nothing: lattice, compare, metrics, workload, learn."""

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.commands import Json, Private, Reproducible, ShowValues, Table, app
from shoal.cli.drawing import noted, print_json, progress, revealing, say
from shoal.cli.names import listed
from shoal.cli.queried import show_workload
from shoal.cli.stopping import within
from shoal.cli.tables import show_catalogue, show_comparison, show_lattice, show_learned
from shoal.errors import BadInput

PolicyFile = Annotated[Path, typer.Option("--policy", help="The policy file.")]
Learners = Annotated[
    list[str] | None, typer.Option(help="logistic, forest, boosting, c45; separated by commas; all unless given.")
]


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
    target: Annotated[
        str | None, typer.Option("--learn", metavar="TARGET", help="Also learn this column from each release.")
    ] = None,
    learners: Learners = None,
    queries: Annotated[Path | None, typer.Option(help="Also answer the queries of this file, .toml or .csv.")] = None,
    random: Annotated[int | None, typer.Option(help="Also answer so many random COUNT queries.")] = None,
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Run several algorithms on one table and policy, side by side; release nothing."""
    from shoal import api
    from shoal.policy import Policy

    if learners is not None and target is None:
        raise BadInput("--learners says who learns; say what with --learn TARGET")
    rules = within(Policy.load(policy), time_limit)
    with noted(), revealing(show_values=show_values), progress(quiet=as_json) as watch:
        found = api.compare(
            data,
            rules,
            algorithms=_or_all(algorithms),
            target=target,
            learners=_or_all(learners),
            queries=queries,
            random=random,
            watch=watch,
        )
    found = found.without_times() if reproducible else found
    if as_json:
        print_json(found.document())
    else:
        show_comparison(found)


@app.command()
def metrics(as_json: Json = False) -> None:
    """List every figure that is told of a release, and which of them a search can minimise."""
    from shoal.metrics import catalogue

    if as_json:
        print_json({"metrics": [entry.document() for entry in catalogue()]})
    else:
        show_catalogue(catalogue())


@app.command()
def workload(
    data: Table,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder of a release of this table.")],
    queries: Annotated[Path | None, typer.Option(help="The file of queries, .toml or .csv.")] = None,
    random: Annotated[int | None, typer.Option(help="Draw so many COUNT queries instead.")] = None,
    attributes: Annotated[int, typer.Option(help="How many quasi-identifiers a random query looks at.")] = 2,
    selectivity: Annotated[float, typer.Option(help="The share of the rows that a random query aims at.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Of the random queries.")] = 0,
    sanity: Annotated[
        float, typer.Option(help="Share of the rows below which an answer is not divided by itself.")
    ] = 0.001,
    save: Annotated[Path | None, typer.Option(help="Write the queries into this file, .toml.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older file.")] = False,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """Answer aggregate queries from a release and compare with the original."""
    from shoal import api

    with noted():
        found = api.workload(
            data,
            out,
            queries=queries,
            random=random,
            attributes=attributes,
            selectivity=selectivity,
            seed=seed,
            sanity=sanity,
            save=save,
            force=force,
            private=private,
        )
    if as_json:
        print_json(found.document())
        return
    show_workload(found)
    if save is not None:
        say(f"Wrote {save}. It names values of the original table: do not publish it.")


@app.command()
def learn(
    data: Table,
    policy: PolicyFile,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    learners: Learners = None,
    features: Annotated[
        list[str] | None,
        typer.Option(help="What to predict it from, separated by commas; the quasi-identifiers unless given."),
    ] = None,
    folds: Annotated[int, typer.Option(help="How often to hold rows out.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds and of the learners.")] = 0,
    rows: Annotated[int | None, typer.Option(help="Train on at most so many rows.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds that each search may take; instead of the policy's own.")
    ] = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Learn a column from the table and from its release, and compare; release nothing."""
    from shoal import api
    from shoal.policy import Policy

    rules = within(Policy.load(policy), time_limit)
    with noted(), revealing(show_values=show_values), progress(quiet=as_json, doing="learning") as watch:
        found = api.learn(
            data,
            rules,
            target=target,
            learners=_or_all(learners),
            features=_or_all(features),
            folds=folds,
            seed=seed,
            rows=rows,
            watch=watch,
        )
    if as_json:
        print_json(found.document())
    else:
        show_learned(found)


def _or_all(options: list[str] | None) -> list[str] | None:
    return None if options is None else listed(options)
