"""`shoal study NAME`: the experiments of the papers, re-run."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.commands import Json, app
from shoal.cli.drawing import noted, print_json, progress, say, show_table
from shoal.errors import BadInput

if TYPE_CHECKING:
    from shoal.studies import People, Study

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
    help="Re-run an experiment of a paper: what it reported beside what is measured here.\n\n"
    f"{_LISTED}\n\nall: every one of them, each into a folder of its own, with a page that shows all.\n\n"
    "Each takes a minute at most."
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
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
    as_json: Json = False,
) -> None:
    from shoal.models.spec import nearest
    from shoal.studies import People, write_index

    if name == "list":
        show_table("Studies", ("name", "about"), list(SAID.items()))
        return
    if name not in {*SAID, EVERY}:
        raise BadInput(f"study {name!r} is not known{nearest(name, [*SAID, EVERY])}; known: {', '.join(SAID)}, all")
    if adult is not None and rows is not None:
        raise BadInput("--rows is for the invented census; leave it out with --adult")
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


def _run(name: str, people: "People", repeats: int | None, seed: int, *, quiet: bool) -> tuple["Study", float]:
    """What a study found, and how many seconds it took."""
    from shoal.search import Ask, Tally
    from shoal.studies import STUDIES

    began = perf_counter()
    with noted(), progress(quiet=quiet, doing=f"studying {name}") as watch:
        found = STUDIES[name](people, repeats, seed, lambda share: watch(Ask((), share), Tally()))
    return found, perf_counter() - began


def _show(found: "Study", seconds: float) -> None:
    for sheet in found.sheets:
        show_table(sheet.title, sheet.header, [tuple(map(str, row)) for row in sheet.rows])
    said = [
        (each.verdict, f"{each.paper}: {each.measured}{f' ({each.why})' * bool(each.why)}") for each in found.directions
    ]
    show_table("What the paper says, and what is measured here", ("", ""), said)
    say(f"{found.title}: {found.held}; {seconds:.0f} s")
    for sentence in found.notes:
        say(sentence)
