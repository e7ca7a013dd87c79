"""`shoal attack NAME RELEASE`: the commands that attack a release; each file `attack_*.py` adds some."""

from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from shoal.cli.commands import Json, app
from shoal.cli.drawing import noted, print_json, say_out, show_table
from shoal.cli.names import listed

if TYPE_CHECKING:
    from dataclasses import Field

    from shoal.attacks import Attack, Finding


class AttackGroup(TyperGroup):
    """The commands of our own attacks, and one for each attack that another package registered."""

    def list_commands(self, ctx: Any) -> list[str]:
        from shoal.attacks.registry import ATTACKS, OWN

        own = {kind.name for kind in OWN}
        return [*super().list_commands(ctx), *(name for name in ATTACKS if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        if known is not None:
            return known
        from shoal.attacks.registry import ATTACKS

        return command_of(ATTACKS[cmd_name]) if cmd_name in ATTACKS else None


attack_app = typer.Typer(
    cls=AttackGroup,
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


def command_of(kind: "type[Attack]") -> Any:
    """The command of an attack, its options made from the fields of its class."""
    own = {field.name: _option(field, get_type_hints(kind)[field.name]) for field in fields(kind)}  # type: ignore[arg-type]

    def run(release: str, *, qi: Any, sensitive: Any, as_json: bool, **given: Any) -> None:
        known = {name: given.pop(name) for name in ("policy", "private", "original")}
        run_attack(release, kind(**given), as_json=as_json, qi=qi, sensitive=sensitive, **known)

    usual = {"qi": Qi, "sensitive": Sensitive, "policy": PolicyFile, "private": Private, "original": Original}
    options = [
        *(
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=of)
            for name, (of, default) in own.items()
        ),
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=of) for name, of in usual.items()),
        Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=Json),
    ]
    release = Parameter("release", Parameter.POSITIONAL_OR_KEYWORD, annotation=Release)
    run.__signature__ = Signature([release, *options])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in [release, *options]}
    run.__doc__ = kind.sentence
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(kind.name)(run)
    return typer.main.get_command(alone)


def _keyword(name: str, of: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=of)


def _option(field: "Field[Any]", of: Any) -> tuple[Any, Any]:
    """The type of an option, with its help, and its default; one without is required."""
    default = ... if field.default is MISSING else field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    return Annotated[of, typer.Option(help=field.metadata.get("help"))], default


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
