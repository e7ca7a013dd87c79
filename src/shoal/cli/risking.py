"""The command that tells how easily people are found in a table."""

from typing import Annotated

import typer

from shoal.cli.commands import NAMES, Delimiter, Encoding, Json, Missing, app
from shoal.cli.drawing import noted, print_json, progress, revealing
from shoal.cli.names import listed
from shoal.cli.risks import show_assessment, show_presets
from shoal.errors import BadInput


@app.command()
def risk(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A table, - for stdin, or the folder of a release.")] = "",
    qi: Annotated[
        list[str] | None, typer.Option(help=f"Quasi-identifiers; without them it looks what they could be; {NAMES}")
    ] = None,
    sensitive: Annotated[list[str] | None, typer.Option(help=f"Columns that outsiders do not know, {NAMES}")] = None,
    weight: Annotated[str | None, typer.Option(help="The column of sampling weights.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that tells persons apart: count them instead of rows.")
    ] = None,
    population: Annotated[str | None, typer.Option(help="The table of everybody.")] = None,
    population_size: Annotated[int | None, typer.Option(help="How many people the table is a sample of.")] = None,
    threshold: Annotated[float, typer.Option(help="The risk above which a person counts as at risk.")] = 0.2,
    preset: Annotated[
        list[str] | None, typer.Option(help="Judge by guidance: ema-0070, hipaa-safe-harbor …; `list` lists them.")
    ] = None,
    discover: Annotated[bool, typer.Option("--discover", help="Look for columns that point at people.")] = False,
    discover_threshold: Annotated[
        float, typer.Option(help="List combinations that reach this share of distinct rows.")
    ] = 0.5,
    separation: Annotated[
        bool, typer.Option("--separation", help="Take the share of pairs of rows told apart instead.")
    ] = False,
    discover_size: Annotated[int | None, typer.Option(help="Combinations of at most so many columns.")] = None,
    suda: Annotated[bool, typer.Option("--suda", help="Find the smallest combinations that point at one row.")] = False,
    suda_size: Annotated[int | None, typer.Option(help="Of at most so many columns.")] = None,
    identifiers: Annotated[
        bool, typer.Option("--identifiers", help="Look for the identifiers that HIPAA Safe Harbor names.")
    ] = False,
    missing: Missing = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Let errors name the cells they are about.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Tell how easily people are found in a table or a release."""
    from shoal import api
    from shoal.engine import ReadOptions

    presets = listed(preset)
    if presets == ["list"]:
        show_presets(as_json=as_json)
        return
    if not data:
        raise BadInput("name a table or the folder of a release, e.g. shoal risk people.csv --qi age,sex")
    # without a word of what to look at, the table decides; else only what was named
    unsaid = False if identifiers or discover or discover_size or presets else None
    options = ReadOptions(missing=("", *listed(missing)), delimiter=delimiter, encoding=encoding)
    with noted(), revealing(show_values=show_values), progress(quiet=as_json, doing="counting") as watch:
        found = api.risk(
            data,
            quasi_identifiers=listed(qi),
            sensitive=listed(sensitive),
            weight=weight,
            unit=unit,
            population=population,
            population_size=population_size,
            threshold=threshold,
            preset=presets,
            options=options,
            watch=watch,
            suda=suda or suda_size is not None,
            suda_size=suda_size,
            discover=discover or discover_size is not None or unsaid,
            discover_measure="separation" if separation else "distinction",
            discover_threshold=discover_threshold,
            discover_size=discover_size,
            identifiers=identifiers or unsaid,
        )
    if as_json:
        print_json(found.document())
    else:
        show_assessment(found)
