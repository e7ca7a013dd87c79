"""`shoal attack rules`: what a decision tree learns from a release."""

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.attacking import PolicyFile, Private, Qi, Release, Sensitive, attack_app, show_finding
from shoal.cli.commands import Json
from shoal.cli.drawing import noted, print_json, say, show_table
from shoal.cli.names import listed

_SHOWN = 25


@attack_app.command()
def rules(
    release: Release,
    sensitive: Sensitive = None,
    qi: Qi = None,
    at: Annotated[float, typer.Option(help="The least confidence of a rule that is a channel.")] = 1.0,
    support: Annotated[int, typer.Option(help="The fewest rows that a channel is about.")] = 1,
    values: Annotated[
        list[str] | None, typer.Option(help="Sensitive values that must not be told, separated by commas; or all.")
    ] = None,
    control: Annotated[
        str | None, typer.Option(help="A table of people who are not in the release, to try the rules on.")
    ] = None,
    held_out: Annotated[float, typer.Option(help="Share of the released rows to try the rules on instead.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of which rows are held out.")] = 0,
    tree: Annotated[Path | None, typer.Option(help="Draw the tree into this file, .svg or .png.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older file.")] = False,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """List the rules that tell a sensitive value, and how many people each exposes."""
    from shoal import api
    from shoal.attacks import Rules
    from shoal.report.lattice_files import kind_of, refuse_file, write_file
    from shoal.report.plots.decision_tree import DecisionTree

    file = None if tree is None else Path(tree)
    if file is not None:
        refuse_file(file, (".svg", ".png"), None, force=force)
    how = Rules(at, support, tuple(listed(values)), control, held_out, seed)
    with noted():
        known = {"quasi_identifiers": listed(qi), "sensitive": listed(sensitive), "policy": policy, "private": private}
        found = api.attack(release, how, **known)  # type: ignore[arg-type]
        if file is not None:
            drawn = DecisionTree(api.rule_tree(release, **known).tree_)  # type: ignore[arg-type]
            write_file(file, drawn.render(kind_of(file)))
    if as_json:
        print_json(found.document())
        return
    show_finding(found)
    entries = sorted(found.figures["rules"], key=lambda entry: -entry["people"])
    tried = any("outside" in entry for entry in entries)
    header = ("if", "then", "people", "confidence", "lift", *(("of others",) if tried else ()))
    lines = [
        (
            " and ".join(entry["antecedent"]) or "always",
            f"{entry['attribute']} = {entry['consequent']}",
            f"{entry['people']:,}",
            f"{entry['confidence']:.3f}",
            f"{entry['lift']:.2f}",
            *((_outside(entry),) if tried else ()),
        )
        for entry in entries[:_SHOWN]
    ]
    if lines:
        show_table("Rules that tell", header, lines)
    if len(entries) > _SHOWN:
        say(f"and {len(entries) - _SHOWN:,} more: use --json for all of them")
    if tree is not None:
        say(f"Wrote {tree}.")


def _outside(entry: dict[str, dict[str, int]]) -> str:
    tried = entry["outside"]
    return f"{tried['right']:,} of {tried['guesses']:,}"
