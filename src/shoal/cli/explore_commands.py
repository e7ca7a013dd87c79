"""Commands that look around and release nothing: lattice, compare, sweep, explain, metrics, workload, learn, study."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.commands import CHECK, EXPLORE, Json, Node, Private, Reproducible, ShowValues, Table, app
from shoal.cli.console import print_json, print_warnings, progress, reveal_values, say, show_table
from shoal.cli.options import (
    at_node,
    load_policy,
    node_option,
    reads_table,
    share_as_number,
    split_names,
    with_time_limit,
)
from shoal.cli.result_tables import (
    show_catalogue,
    show_comparison,
    show_lattice,
    show_learned,
    show_meanings,
    show_sweep,
    show_terms,
    show_workload,
)
from shoal.errors import BadInput, BadOutput

if TYPE_CHECKING:
    from shoal.studies.study import People, Study

PolicyFile = Annotated[Path, typer.Option("--policy", help="The policy file.")]
Learners = Annotated[
    list[str] | None, typer.Option(help="logistic, forest, boosting, c45; separated by commas; all unless given.")
]


@app.command(
    rich_help_panel=EXPLORE,
    short_help="List the nodes of a policy's lattice.",
    epilog="Example: shoal lattice people.csv --policy policy.toml --csv nodes.csv",
)
@reads_table
def lattice(
    data: Table,
    policy: PolicyFile,
    node: Node = None,
    picture: Annotated[Path | None, typer.Option(help="Draw it into this file, .svg or .png.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all nodes into this file, .csv.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace older files.")] = False,
    show_values: ShowValues = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """List every node of a policy's lattice, or one, with what it costs; release nothing."""
    from shoal import api

    rules = at_node(load_policy(policy).read_as(reading), node)
    with print_warnings(), reveal_values(show_values=show_values), progress(quiet=as_json) as watch:
        table = api.lattice(data, rules, picture=picture, csv=csv, force=force, watch=watch)
    if as_json:
        print_json(table.document())
        return
    show_lattice(table)
    if table.best is not None:
        taken = node_option(table.levels_of(table.best))
        where = f"{shlex.quote(str(data))} --policy {shlex.quote(str(policy))}"
        say(f"To release a node that complies: shoal anonymize {where} --node {taken} --out out/")
    for path in (picture, csv):
        if path is not None:
            say(f"Wrote {path}. It tells of the original table: do not publish it.")


@app.command(
    rich_help_panel=EXPLORE,
    short_help="Compare kinds of algorithms on one table.",
    epilog="Example: shoal compare people.csv --policy policy.toml --random 200",
)
@reads_table
def compare(
    data: Table,
    policy: PolicyFile,
    algorithms: Annotated[
        list[str] | None, typer.Option(help="Which to run, separated by commas; every kind unless given.")
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
    rows: Annotated[
        int | None,
        typer.Option(min=0, help="Show so many rows as each would release them, and the chief figures alone."),
    ] = None,
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Run every kind of algorithm, or those named, on one table and policy, side by side; release nothing."""
    from shoal import api

    if learners is not None and target is None:
        raise BadInput("--learners says who learns; say what with --learn TARGET")
    rules = with_time_limit(load_policy(policy).read_as(reading), time_limit)
    with print_warnings(), reveal_values(show_values=show_values), progress(quiet=as_json, doing="comparing") as watch:
        found = api.compare(
            data,
            rules,
            algorithms=_split_optional_names(algorithms),
            target=target,
            learners=_split_optional_names(learners),
            queries=queries,
            random=random,
            rows=rows or 0,
            watch=watch,
        )
    found = found.without_times() if reproducible else found
    if as_json:
        print_json(found.document())
    else:
        show_comparison(found, brief=rows is not None)


@app.command(
    rich_help_panel=EXPLORE,
    short_help="Run a policy at several values of a parameter.",
    epilog="Example: shoal sweep people.csv --policy policy.toml --k 2..20",
)
@reads_table
def sweep(
    data: Table,
    policy: PolicyFile,
    k: Annotated[str | None, typer.Option(metavar="VALUES", help="Values of k, e.g. 2..50, 2..50:4 or 2,5,10.")] = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Any other parameter: suppression=0..0.2:0.05, l=1..5, algorithm=optimal,local, "
            "attributes.age.max-level=0..3.",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the metric against the parameter: .svg or .png.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a line for each value into this file, .csv.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace older files.")] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds that each search may take; instead of the policy's own.")
    ] = None,
    reproducible: Reproducible = False,
    show_values: ShowValues = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Run a policy at several values of one parameter and tell what each costs; release nothing."""
    from shoal import api
    from shoal.explore.sweep import values_of

    rules = with_time_limit(load_policy(policy).read_as(reading), time_limit)
    named: dict[str, Any] = {} if k is None else {"k": values_of(k)}
    with print_warnings(), reveal_values(show_values=show_values), progress(quiet=as_json) as watch:
        found = api.sweep(data, rules, over=over, picture=plot, csv=csv, force=force, watch=watch, **named)
    shown = found.without_times() if reproducible else found
    if as_json:
        print_json(shown.to_dict())
        return
    show_sweep(shown)
    for path in (plot, csv):
        if path is not None:
            say(f"Wrote {path}. It tells of the original table: do not publish it.")


@app.command(
    rich_help_panel=EXPLORE,
    short_help="Say what a term means and where it is used.",
    epilog="Example: shoal explain distance vector",
)
def explain(
    term: Annotated[
        list[str] | None, typer.Argument(metavar="[TERM]", help="A word of a paper, a model, a policy key, …")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a term means here and where it is used; without one, list all."""
    from shoal.explore.glossary import explain as meanings_of
    from shoal.explore.glossary import terms

    if not term:
        names = terms()
        if as_json:
            print_json({"terms": list(names)})
        else:
            show_terms(names)
        return
    found = meanings_of(" ".join(term))
    if as_json:
        print_json({"term": " ".join(term), "meanings": [each.document() for each in found]})
    else:
        show_meanings(found)


@app.command(
    rich_help_panel=EXPLORE,
    short_help="List every figure that is told of a release.",
    epilog="Example: shoal metrics --json",
)
def metrics(as_json: Json = False) -> None:
    """List every figure that is told of a release, and which of them a search can minimise."""
    from shoal.metrics.catalogue import catalogue

    if as_json:
        print_json({"metrics": [entry.document() for entry in catalogue()]})
    else:
        show_catalogue(catalogue())


@app.command(
    rich_help_panel=CHECK,
    short_help="Compare answers to queries with the original.",
    epilog="Example: shoal workload people.csv out/ --random 1000",
)
@reads_table
def workload(
    data: Table,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder of a release of this table.")],
    queries: Annotated[Path | None, typer.Option(help="The file of queries, .toml or .csv.")] = None,
    random: Annotated[int | None, typer.Option(help="Draw so many COUNT queries instead.")] = None,
    attributes: Annotated[int, typer.Option(help="How many quasi-identifiers a random query looks at.")] = 2,
    selectivity: Annotated[
        str, typer.Option(metavar="SHARE", help="The share of the rows that a random query aims at.")
    ] = "0.1",
    seed: Annotated[int, typer.Option(help="Of the random queries.")] = 0,
    sanity: Annotated[
        str, typer.Option(metavar="SHARE", help="Share of the rows below which an answer is not divided by itself.")
    ] = "0.001",
    save: Annotated[Path | None, typer.Option(help="Write the queries into this file, .toml.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older file.")] = False,
    private: Private = None,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Answer aggregate queries from a release and compare with the original."""
    from shoal import api

    with print_warnings(), progress(quiet=as_json):
        found = api.workload(
            data,
            out,
            queries=queries,
            random=random,
            attributes=attributes,
            selectivity=share_as_number("selectivity", selectivity),
            seed=seed,
            sanity=share_as_number("sanity", sanity),
            save=save,
            force=force,
            private=private,
            reading=reading,
        )
    if as_json:
        print_json(found.document())
        return
    show_workload(found)
    if save is not None:
        say(f"Wrote {save}. It names values of the original table: do not publish it.")


@app.command(
    rich_help_panel=EXPLORE,
    short_help="Learn a column from the table and its release.",
    epilog="Example: shoal learn people.csv --policy policy.toml --target disease",
)
@reads_table
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
    *,
    reading: Mapping[str, Any],
) -> None:
    """Learn a column from the table and from its release, and compare; release nothing."""
    from shoal import api

    rules = with_time_limit(load_policy(policy).read_as(reading), time_limit)
    with print_warnings(), reveal_values(show_values=show_values), progress(quiet=as_json, doing="learning") as watch:
        found = api.learn(
            data,
            rules,
            target=target,
            learners=_split_optional_names(learners),
            features=_split_optional_names(features),
            folds=folds,
            seed=seed,
            rows=rows,
            watch=watch,
        )
    if as_json:
        print_json(found.document())
    else:
        show_learned(found)


def _split_optional_names(options: list[str] | None) -> list[str] | None:
    return None if options is None else split_names(options)


SAID = {
    "homogeneity": "how many classes are homogeneous, against the rows and k (Mohapatra and Patra)",
    "inference": "blocking inference channels: accuracy of C4.5, and what attacks find (Sané et al.)",
    "searches": "Datafly, Samarati and Incognito: nodes, heights, time (the survey)",
    "leakage": "(alp, dif)-anonymity beside k-anonymity: attacked records, time, precision (Wang et al.)",
    "partitions": "Mondrian against single-dimensional and full-domain recoding (LeFevre et al.)",
    "batches": "a table published again after each of ten batches, in three ways and afresh (Xiao and Tao; Wu et al.)",
}
"""The studies in the order of the papers."""
EVERY = "all"
_LISTED = "\n\n".join(f"{name}: {about}." for name, about in SAID.items())


@app.command(
    rich_help_panel=EXPLORE,
    short_help="Re-run an experiment of a paper.",
    epilog="Example: shoal study searches --rows 2000",
    help="Re-run an experiment of a paper: what it reported beside what is measured here.\n\n"
    f"{_LISTED}\n\nall: every one of them, each into a folder of its own, with a page that shows all.\n\n"
    "Each takes a minute at most.",
)
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which study; `list` lists them, `all` runs them all.")],
    adult: Annotated[
        Path | None, typer.Option(help="The folder of UCI's Adult; without it, an invented census is studied.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write the tables and figures into.")] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=2, help="How often rows are split or drawn; as the paper does, or more, unless given."),
    ] = None,
    rows: Annotated[int | None, typer.Option(min=100, help="Of the invented census; as many as Adult has.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    as_json: Json = False,
) -> None:
    from shoal.models.spec import suggest_nearest
    from shoal.report.plots.display import refuse_without_matplotlib
    from shoal.studies.study import People, write_index

    if name == "list":
        _list_studies(as_json=as_json)
        return
    if name not in {*SAID, EVERY}:
        raise BadInput(
            f"study {name!r} is not known{suggest_nearest(name, [*SAID, EVERY])}; known: {', '.join(SAID)}, all"
        )
    if adult is not None and rows is not None:
        raise BadInput("--rows is for the invented census; leave it out with --adult")
    if out is not None:  # before minutes of work
        refuse_without_matplotlib()
        if out.exists() and not out.is_dir():
            raise BadOutput(f"{out.name}: this is a file; give a folder to write the tables and figures into")
    people = People.of(adult, seed=seed) if rows is None else People.of(None, rows=rows, seed=seed)
    names = list(SAID) if name == EVERY else [name]
    found = {each: _run(each, people, repeats, seed, quiet=as_json) for each in names}
    written = []
    if out is not None:
        written = write_index(out, found) if name == EVERY else found[name][0].write(out)
    if as_json:
        documents = [one.document() for one, _ in found.values()]
        print_json({"studies": documents} if name == EVERY else documents[0])
        return
    for one, seconds in found.values():
        _show(one, seconds)
    for path in written:
        say(f"Wrote {path}")


def _list_studies(*, as_json: bool) -> None:
    if as_json:
        print_json({"studies": [{"study": name, "about": about} for name, about in SAID.items()]})
    else:
        show_table("Studies", ("name", "about"), list(SAID.items()))


def _run(name: str, people: "People", repeats: int | None, seed: int, *, quiet: bool) -> tuple["Study", float]:
    """Run a study; return what it found and how many seconds it took."""
    from shoal.search.driver import Ask
    from shoal.search.oracle import Tally
    from shoal.studies import STUDIES

    began = perf_counter()
    with print_warnings(), progress(quiet=quiet, doing=f"studying {name}") as watch:
        found = STUDIES[name](people, repeats, seed, lambda share: watch(Ask((), share), Tally()))
    return found, perf_counter() - began


def _show(found: "Study", seconds: float) -> None:
    for sheet in found.sheets:
        show_table(sheet.title, sheet.header, [tuple(map(str, row)) for row in sheet.rows])
    said = [
        (each.verdict, f"{each.paper}: {each.measured}{f' ({each.why})' * bool(each.why)}") for each in found.directions
    ]
    show_table("What the paper says, and what is measured here", ("", ""), said)
    say(f"{found.title}: {found.verdict_counts}; {seconds:.0f} s")
    for sentence in found.notes:
        say(sentence)
