"""`shoal study NAME`: the experiments of the papers, re-run."""

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.commands import Json, app
from shoal.cli.drawing import noted, print_json, progress, say, show_table
from shoal.errors import BadInput


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which study; `list` lists them.")],
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
    """Re-run an experiment of a paper: what it reported beside what is measured here."""
    from shoal.models.spec import nearest
    from shoal.search import Ask, Tally
    from shoal.studies import STUDIES, People

    if name == "list":
        show_table("Studies", ("name", "about"), [(each, of.__doc__ or "") for each, of in STUDIES.items()])
        return
    if name not in STUDIES:
        raise BadInput(f"study {name!r} is not known{nearest(name, STUDIES)}; known: {', '.join(STUDIES)}")
    if adult is not None and rows is not None:
        raise BadInput("--rows is for the invented census; leave it out with --adult")
    people = People.of(adult, seed=seed) if rows is None else People.of(None, rows=rows, seed=seed)
    with noted(), progress(quiet=as_json, doing=f"studying {name}") as watch:
        found = STUDIES[name](people, repeats, seed, lambda share: watch(Ask((), share), Tally()))
    written = [] if out is None else found.write(out)
    if as_json:
        print_json(found.document())
        return
    for sheet in found.sheets:
        show_table(sheet.title, sheet.header, [tuple(map(str, row)) for row in sheet.rows])
    for sentence in found.conclusions:
        say(sentence)
    for path in written:
        say(f"Wrote {path}")
