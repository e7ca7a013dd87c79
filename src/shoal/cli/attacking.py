"""`shoal attack NAME RELEASE`: the commands that attack a release; each file `attack_*.py` adds some."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.commands import app
from shoal.cli.drawing import noted, print_json, say_out, show_table
from shoal.cli.names import listed

if TYPE_CHECKING:
    from shoal.attacks import Attack, Finding

attack_app = typer.Typer(
    name="attack",
    help="Attack a release: what can still be learned from it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(attack_app)

Release = Annotated[str, typer.Argument(metavar="RELEASE", help="The folder of a release, or any table.")]
Qi = Annotated[list[str] | None, typer.Option(help="Quasi-identifiers, separated by commas; a release names its own.")]
Sensitive = Annotated[
    list[str] | None, typer.Option(help="Sensitive attributes, separated by commas; a release names its own.")
]
PolicyFile = Annotated[Path | None, typer.Option("--policy", help="The policy whose hierarchies explain the labels.")]
Private = Annotated[Path | None, typer.Option(help="The private folder; RELEASE.private unless given.")]
Original = Annotated[str | None, typer.Option(help="The original table, to tell whether guesses are right.")]


def run_attack(
    release: str,
    how: "Attack",
    *,
    as_json: bool,
    qi: list[str] | None = None,
    sensitive: list[str] | None = None,
    **known: Any,
) -> None:
    """Run one attack and show what it found."""
    from shoal import api

    with noted():
        found = api.attack(release, how, quasi_identifiers=listed(qi), sensitive=listed(sensitive), **known)
    if as_json:
        print_json(found.document())
    else:
        show_finding(found)


def show_finding(found: "Finding") -> None:
    """The sentence, then the figures that are single numbers."""
    rows = [(name.replace("_", " "), _told(value)) for name, value in found.figures.items() if _single(value)]
    if found.success is not None:
        rows.append(("right guesses", _rate(found.success)))
    if found.baseline is not None:
        rows.append(("without the weakness", _rate(found.baseline)))
    say_out(f"{found.attack}: {found.sentence}")
    show_table("", ("", ""), rows)


def _single(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _told(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _rate(rate: Any) -> str:
    low, high = rate.interval
    return f"{rate.right:,} of {rate.guesses:,} = {rate.share:.1%} (95 %: {low:.1%} to {high:.1%})"
