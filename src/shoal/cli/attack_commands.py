"""`shoal attack NAME RELEASE` and `shoal audit RELEASE`: the commands that attack a release."""

from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from shoal.cli.commands import Json, app
from shoal.cli.console import print_json, print_warnings, progress, say, say_out, show_table
from shoal.cli.options import listed
from shoal.errors import BadInput

if TYPE_CHECKING:
    from dataclasses import Field

    from shoal.attacks.attack import Attack, Finding
    from shoal.attacks.audit import Audit


class AttackGroup(TyperGroup):
    """The commands of our own attacks, and one for each attack that another package registered."""

    def list_commands(self, ctx: Any) -> list[str]:
        from shoal.attacks import ATTACKS, OWN

        own = {kind.name for kind in OWN}
        return [*super().list_commands(ctx), *(name for name in ATTACKS if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        if known is not None:
            return known
        from shoal.attacks import ATTACKS

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

    with print_warnings():
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


@attack_app.command()
def join(
    release: Release,
    register: Annotated[str, typer.Option(metavar="PEOPLE", help="The table of people whom the attacker knows.")],
    on: Annotated[
        list[str] | None,
        typer.Option(help="Quasi-identifiers to join on, separated by commas; all that both have unless given."),
    ] = None,
    exact: Annotated[
        list[str] | None, typer.Option(help="Columns of the release that show values as they are, separated by commas.")
    ] = None,
    suppressed: Annotated[
        bool, typer.Option("--suppressed", help="Count rows that are all * as candidates of everybody.")
    ] = False,
    people: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what was learned of each person, .csv; private.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older file.")] = False,
    key: Annotated[
        str | None, typer.Option(help="With --original: the column that tells who is who in it and in the register.")
    ] = None,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    original: Original = None,
    as_json: Json = False,
) -> None:
    """Join a release with a register of people: who matches few records, and what these tell of them."""
    from shoal.attacks.join import Join

    how = Join(register, attributes=listed(on), exact=listed(exact), suppressed=suppressed, key=key)
    known = {"policy": policy, "private": private, "original": original, "people": people, "force": force}
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, **known)
    if people is not None and not as_json:
        say(f"Wrote {people}. It tells of people: do not publish it.")


@attack_app.command()
def homogeneity(
    release: Release,
    protected: Annotated[
        list[str] | None,
        typer.Option(help="Sensitive values that matter, separated by commas; all unless given."),
    ] = None,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """Find classes that show one sensitive value only, beside how many chance would make."""
    from shoal.attacks.homogeneity import Homogeneity

    how = Homogeneity(None if protected is None else listed(protected))
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, policy=policy, private=private)


@attack_app.command()
def background(
    release: Release,
    excluded: Annotated[int, typer.Option(help="How many values of a victim the attacker can rule out.")] = 1,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """Find records that fall to who can rule out some sensitive values."""
    from shoal.attacks.background import Background

    how = Background(excluded)
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, policy=policy, private=private)


@attack_app.command()
def skewness(
    release: Release,
    factor: Annotated[float, typer.Option(help="The least gain over the whole release that counts.")] = 2.0,
    threshold: Annotated[float, typer.Option(help="The least share of a value in a class that counts.")] = 0.5,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """Find classes in which a sensitive value is much likelier than in the whole release."""
    from shoal.attacks.skewness import Skewness

    how = Skewness(factor, threshold)
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, policy=policy, private=private)


@attack_app.command()
def similarity(
    release: Release,
    width: Annotated[
        str | None, typer.Option(help="Of a band of numbers that counts as one value: 10, or 5% of their range.")
    ] = None,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """Find classes whose sensitive values differ and mean nearly the same: one node of a hierarchy, one band."""
    from shoal.attacks.similarity import Similarity

    how = Similarity(**_band(width))
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, policy=policy, private=private)


def _band(width: str | None) -> dict[str, float]:
    """An absolute width, or a share of the range.

    >>> _band("10"), _band("5%")
    ({'width': 10.0}, {'share': 0.05})
    """
    if width is None:
        return {}
    try:
        return {"share": float(width[:-1]) / 100} if width.endswith("%") else {"width": float(width)}
    except ValueError:
        raise BadInput(f"--width {width!r} is neither a number nor a share such as 5%") from None


Seed = Annotated[int, typer.Option(help="Of everything that is drawn at random.")]
Attribute = Annotated[str | None, typer.Option(help="The sensitive attribute; the first unless named.")]
Register = Annotated[str | None, typer.Option(help="A table of people with their quasi-identifiers.")]
Key = Annotated[str | None, typer.Option(help="The column that tells persons apart.")]
Control = Annotated[str | None, typer.Option(help="A table of people like those in the release.")]


@attack_app.command()
def compose(
    release: Release,
    others: Annotated[list[str], typer.Argument(metavar="OTHER...", help="Other releases about the same people.")],
    register: Register = None,
    key: Key = None,
    attribute: Attribute = None,
    original: Annotated[
        list[str] | None, typer.Option(help="The original; several, one for each release, need --key.")
    ] = None,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """What several releases about the same people tell together."""
    from shoal.attacks.composition import Compose

    originals = original or []
    how = Compose(others, register, attribute, originals[1:], key)
    known = {"policy": policy, "private": private, "original": originals[0] if originals else None}
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, **known)


@attack_app.command()
def minimality(
    release: Release,
    register: Register = None,
    attribute: Attribute = None,
    value: Annotated[list[str] | None, typer.Option(help="Only this sensitive value; may be repeated.")] = None,
    m: Annotated[int | None, typer.Option("--m", min=1, help="Credibility must not be above 1/m.")] = None,
    worlds: Annotated[int, typer.Option(min=1, help="Worlds that are tried at most.")] = 1_000,
    key: Key = None,
    original: Original = None,
    seed: Seed = 0,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """What it tells that the algorithm generalised so far and no further."""
    from shoal.attacks.minimality import Minimality

    how = Minimality(
        register=register, attribute=attribute, values=tuple(value or ()), m=m, worlds=worlds, seed=seed, key=key
    )
    known = {"policy": policy, "private": private, "original": original}
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, **known)


@attack_app.command()
def definetti(
    release: Release,
    attribute: Attribute = None,
    rounds: Annotated[int, typer.Option(min=1, help="Of learning, at most.")] = 30,
    original: Original = None,
    seed: Seed = 0,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """What all groups together teach about who in a group has which value."""
    from shoal.attacks.definetti import DeFinetti

    known = {"policy": policy, "private": private, "original": original}
    run_attack(release, DeFinetti(attribute, rounds, seed), as_json=as_json, qi=qi, sensitive=sensitive, **known)


@attack_app.command()
def downcode(
    release: Release,
    k: Annotated[int | None, typer.Option("--k", min=1, help="Only k-anonymity was promised, with this k.")] = None,
    minimal: Annotated[
        str | None, typer.Option(help="Where nothing could be finer: in each `class` or in each `column`.")
    ] = None,
    control: Control = None,
    original: Original = None,
    seed: Seed = 0,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """Make labels finer again, from knowing that they are as fine as could be."""
    from shoal.attacks.downcode import Downcode

    how = Downcode(k=k, minimal=minimal, control=control, seed=seed)  # type: ignore[arg-type]
    known = {"policy": policy, "private": private, "original": original}
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, **known)


@attack_app.command("singling-out")
def singling_out(
    release: Release,
    control: Control = None,
    below: Annotated[float, typer.Option(help="A class breaches where it is rarer than this part of 1/n.")] = 0.1,
    original: Original = None,
    seed: Seed = 0,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """Isolate one person of a class by a predicate that hardly anyone satisfies."""
    from shoal.attacks.singling_out import SinglingOut

    known = {"policy": policy, "private": private, "original": original}
    how = SinglingOut(control, below, seed)
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, **known)


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
    from shoal.attacks.rule_inference import Rules
    from shoal.publish.folder import kind_of, refuse_file, write_file
    from shoal.report.plots.tree_plot import DecisionTree

    file = None if tree is None else Path(tree)
    if file is not None:
        refuse_file(file, (".svg", ".png"), None, force=force)
    how = Rules(at, support, tuple(listed(values)), control, held_out, seed)
    with print_warnings():
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


@app.command()
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
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 0,
    qi: Qi = None,
    sensitive: Sensitive = None,
    policy: PolicyFile = None,
    private: Private = None,
    original: Original = None,
    as_json: Json = False,
) -> None:
    """Run every attack that fits a release, and say what it is protected against."""
    from shoal import api
    from shoal.search.driver import Ask
    from shoal.search.oracle import Tally

    with print_warnings(), progress(quiet=as_json, doing="attacking") as watch:
        found = api.audit(
            release,
            register=register,
            others=other or [],
            original=original,
            quasi_identifiers=listed(qi),
            sensitive=listed(sensitive),
            policy=policy,
            private=private,
            control=control,
            width=width,
            seed=seed,
            tell=lambda _, share: watch(Ask((), share), Tally()),
        )
    if as_json:
        print_json(found.document())
    else:
        show_audit(found)


def show_audit(found: "Audit") -> None:
    """What was run, what was not and why, and at the end the verdict."""
    show_table(
        "What was run",
        ("attack", "people", "found"),
        [(each.attack, f"{each.exposed:,}", each.sentence) for each in found.findings],
    )
    if found.skipped:
        show_table("What was not run", ("attack", "why"), list(found.skipped.items()))
    lines = [(str(line.channel), line.said, line.why) for line in found.lines]
    show_table("Verdict", ("an attacker who tries", "finds this release", "because"), lines)
