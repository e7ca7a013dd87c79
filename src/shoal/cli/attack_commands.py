"""`shoal attack NAME RELEASE` and `shoal audit RELEASE`: the commands that attack a release."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from shoal.cli.commands import ATTACK, Json, app
from shoal.cli.console import print_json, print_warnings, progress, say, say_on_stdout, show_table
from shoal.cli.options import number_or_text, reads_table, split_names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from dataclasses import Field

    from shoal.attacks.attack import Attack, Finding
    from shoal.attacks.audit import Audit


class AttackGroup(TyperGroup):
    """A command for each attack of the registry."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        from shoal.attacks import ATTACKS

        return list(ATTACKS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        from shoal.attacks import ATTACKS

        return command_of(ATTACKS[cmd_name]) if cmd_name in ATTACKS else None


attack_app = typer.Typer(
    cls=AttackGroup,
    name="attack",
    help="Attack a release: what can still be learned from it.",
    invoke_without_command=True,
    epilog="Example: shoal attack homogeneity out/",
    rich_markup_mode=None,
)
app.add_typer(attack_app, rich_help_panel=ATTACK)


@attack_app.callback()
def list_attacks(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())  # noqa: T201
        raise typer.Exit


Release = Annotated[str, typer.Argument(metavar="RELEASE", help="The folder of a release, or any table.")]
Qi = Annotated[list[str] | None, typer.Option(help="Quasi-identifiers, separated by commas; a release names its own.")]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        help="Sensitive attributes, separated by commas, in place of those that a release names; its quasi-identifiers "
        "too, which are then not taken as known."
    ),
]
PolicyFile = Annotated[Path | None, typer.Option("--policy", help="The policy whose hierarchies explain the labels.")]
Private = Annotated[Path | None, typer.Option(help="The private folder; RELEASE.private unless given.")]
Original = Annotated[str | None, typer.Option(help="The original table, to tell whether guesses are right.")]
Originals = Annotated[
    list[str] | None, typer.Option("--original", help="The original; several, one for each release, need --key.")
]
People = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write what was learned of each person, .csv; private.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace an older file.")]
_SHOWN = 25
"""Lines of a listing that people see."""


def command_of(kind: "type[Attack]") -> Any:
    """Build the command of an attack, with options made from the fields of its class."""
    own = {field.name: field for field in fields(kind) if "help" in field.metadata}  # type: ignore[arg-type]
    hints = get_type_hints(kind)

    def run(release: Any, *, qi: Any, sensitive: Any, as_json: bool, **given: Any) -> None:
        known = {name: given.pop(name, None) for name in ("policy", "private", "original", "people", "reading")}
        force, picture = given.pop("force", False), given.pop(kind.draws, None)
        asked = {name: _value(field, given[name]) for name, field in own.items()}
        if kind.originals:
            known["original"], *asked["truths"] = known["original"] or [None]
        asked = {name: value for name, value in asked.items() if value is not None}
        run_attack(
            release, kind(**asked), as_json=as_json, qi=qi, sensitive=sensitive, force=force, picture=picture, **known
        )

    further: dict[str, Any] = {"qi": Qi, "sensitive": Sensitive, "policy": PolicyFile, "private": Private}
    if kind.checked:
        further["original"] = Originals if kind.originals else Original
    if kind.tells_people:
        further["people"] = People
    if kind.draws:
        further[kind.draws] = Annotated[
            Path | None, typer.Option(help=f"Draw the {kind.draws} into this file, .svg or .png.")
        ]
    options = [_parameter(field, hints[name]) for name, field in own.items()]
    options += [_keyword(name, of, None) for name, of in further.items()]
    options += [_keyword("force", Force, False)] if kind.tells_people or kind.draws else []
    options += [_keyword("as_json", Json, False)]
    release = Parameter("release", Parameter.POSITIONAL_OR_KEYWORD, annotation=Release)
    run.__signature__ = Signature([release, *options])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in [release, *options]}
    run.__doc__ = kind.sentence
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(kind.name, epilog=f"Example: {_example(kind.name, own.values())}")(reads_table(run))
    return typer.main.get_command(alone)


def _example(name: str, options: "Iterable[Field[Any]]") -> str:
    """Return a call of an attack with all that it needs."""
    needed = [field for field in options if field.default is MISSING and field.default_factory is MISSING]
    given = ["later/" if field.metadata["name"] else f"--{field.name} {field.name}.csv" for field in needed]
    return " ".join([f"shoal attack {name} out/", *given])


def _keyword(name: str, of: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=of)


def _parameter(field: "Field[Any]", of: Any) -> Parameter:
    """Return a field as an option, or as an argument if its name is in capitals; without a default it is required."""
    told = field.metadata
    name, metavar = told.get("name") or "", told.get("metavar") or ("SHARE" if told.get("share") else None)
    default = Parameter.empty if field.default is MISSING else field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    if name.isupper() or name.endswith("..."):
        return _keyword(field.name, Annotated[list[str], typer.Argument(metavar=name, help=told["help"])], default)
    several = told.get("listed") or get_origin(of) is tuple
    kind = _typer_type_of(of)
    declared = [f"--{name or field.name.replace('_', '-')}"] if name or kind is bool or len(field.name) == 1 else []
    option = typer.Option(*declared, help=told["help"], metavar=metavar, min=told.get("least"))
    if several:
        return _keyword(field.name, Annotated[list[str] | None, option], None)
    return _keyword(field.name, Annotated[kind if default not in (None, ...) else kind | None, option], default)


def _typer_type_of(of: Any) -> Any:
    """Return the type that typer parses: int, float or bool where the hint has one, else str, e.g. for tables."""
    kinds = {int, float, bool, str}
    named = [each for each in (of, *get_args(of)) if each in kinds]
    return str if not named or str in named else named[0]


def _value(field: "Field[Any]", given: Any) -> Any:
    """Return the value of an option as its field takes it: lists as tuples, shares as numbers or ratios."""
    if field.metadata.get("share"):
        return number_or_text(given)
    if field.metadata.get("listed"):
        return None if given is None else tuple(split_names(given))
    return tuple(given) if isinstance(given, list) else given


def run_attack(
    release: Any,
    how: "Attack",
    *,
    as_json: bool,
    qi: list[str] | None = None,
    sensitive: list[str] | None = None,
    force: bool = False,
    picture: Path | None = None,
    **known: Any,
) -> None:
    """Run one attack and show what it found."""
    from shoal import api

    if picture is not None:
        _refuse_picture(picture, force=force)
    columns: dict[str, Any] = {"quasi_identifiers": split_names(qi), "sensitive": split_names(sensitive)}
    with print_warnings(), progress(quiet=as_json):
        found = api.attack(release, how, **columns, force=force, **known)
        if picture is not None:
            how_read = {name: known[name] for name in ("policy", "private", "reading")}
            _draw_tree(picture, api.rule_tree(release, **columns, **how_read))
    if as_json:
        print_json(found.document())
        return
    show_finding(found)
    _show_listing(how.listing(found.figures))
    _show_people(found)
    if picture is not None:
        say(f"Wrote {picture}.")
    if known.get("people") is not None:
        say(f"Wrote {known['people']}. It tells of people: do not publish it.")


def _refuse_picture(file: Path, *, force: bool) -> None:
    from shoal.publish.folder import refuse_file
    from shoal.report.plots.display import refuse_without_matplotlib

    refuse_file(file, (".svg", ".png"), None, force=force)
    refuse_without_matplotlib()


def _draw_tree(file: Path, tree: Any) -> None:
    from shoal.publish.folder import kind_of, write_file
    from shoal.report.plots.tree_plot import DecisionTree

    write_file(file, DecisionTree(tree.tree_).render(kind_of(file)))


def _show_listing(found: "tuple[str, tuple[str, ...], list[tuple[str, ...]]] | None") -> None:
    """Print the first lines of what an attack lists."""
    if found is None:
        return
    title, header, lines = found
    if lines:
        show_table(title, header, lines[:_SHOWN])
    if len(lines) > _SHOWN:
        say(f"and {len(lines) - _SHOWN:,} more: use --json for all of them")


def _show_people(found: "Finding") -> None:
    """Print the people whom an attack was asked to name, with what it is certain of."""
    if not found.named:
        return
    columns = list(dict.fromkeys(key for person in found.named for key in person["learned"]))
    lines = [
        (str(person["name"] or ""), f"{person['candidates']:,}", *(person["learned"].get(key) or "" for key in columns))
        for person in found.named
    ]
    _show_listing(("Who is exposed", ("name", "candidates", *columns), lines))
    say("These are people's names: do not publish them.")


def show_finding(found: "Finding") -> None:
    """Print the sentence of a finding, then those figures that are single values."""
    rows = [
        (name.replace("_", " "), _format_figure(value)) for name, value in found.figures.items() if _is_single(value)
    ]
    if found.success is not None:
        rows.append(("right guesses", _rate(found.success)))
    if found.baseline is not None:
        rows.append(("without the weakness", _rate(found.baseline)))
    say_on_stdout(f"{found.attack}: {found.sentence}")
    show_table("", ("", ""), rows)


def _is_single(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _format_figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _rate(rate: Any) -> str:
    low, high = rate.interval
    return f"{rate.right:,} of {rate.guesses:,} = {rate.share:.1%} (95 %: {low:.1%} to {high:.1%})"


@app.command(
    rich_help_panel=ATTACK,
    short_help="Run every attack that fits a release.",
    epilog="Example: shoal audit out/ --original people.csv",
)
@reads_table
def audit(
    release: Release,
    register: Annotated[str | None, typer.Option(help="A table of people whom an attacker knows.")] = None,
    other: Annotated[
        list[str] | None, typer.Option(help="Another release about the same people; may be repeated.")
    ] = None,
    control: Annotated[str | None, typer.Option(help="A table of people who are not in the release.")] = None,
    width: Annotated[
        float | None, typer.Option(help="Sensitive numbers within this width of each other are alike.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    original: Original = None,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Run every attack that fits a release, and say what it is protected against."""
    from shoal import api
    from shoal.inputs import collect_warnings
    from shoal.search.driver import Ask
    from shoal.search.oracle import Tally

    with collect_warnings() as notes, progress(quiet=as_json, doing="auditing") as watch:
        found = api.audit(
            release,
            register=register,
            others=other or [],
            original=original,
            quasi_identifiers=split_names(qi),
            sensitive=split_names(sensitive),
            policy=policy,
            private=private,
            control=control,
            width=width,
            seed=seed,
            tell=lambda _, share: watch(Ask((), share), Tally()),
            reading=reading,
        )
    for note in notes:
        say(f"note: {note}")
    if as_json:
        print_json({**found.document(), "warnings": notes})
    else:
        show_audit(found)


def show_audit(found: "Audit") -> None:
    """Print which attacks were run, which were not and why, and the verdict."""
    show_table(
        "What was run",
        ("attack", "records", "found"),
        [(each.attack, f"{each.exposed:,}", each.sentence) for each in found.findings],
    )
    if found.skipped:
        show_table("What was not run", ("attack", "why"), list(found.skipped.items()))
    lines = [(str(line.channel), line.verdict_text, line.why) for line in found.lines]
    show_table("Verdict", ("an attacker who tries", "finds this release", "because"), lines)
    if found.taken_as_sensitive:
        *others, last = found.taken_as_sensitive
        named, them = (f"{', '.join(others)} and {last} are quasi-identifiers", "them") if others else ("", "it")
        named = named or f"{last} is a quasi-identifier"
        say_on_stdout(
            f"{named} of this release; this audit takes {them} as sensitive, and not as known to anybody.", whole=True
        )
    if found.agreement:
        say_on_stdout(found.agreement, whole=True)
