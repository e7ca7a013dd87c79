"""`shoal attack compose | minimality | definetti | downcode | singling-out`: attacks on what a release is made by."""

from typing import Annotated

import typer

from shoal.cli.attacking import Original, PolicyFile, Private, Qi, Release, Sensitive, attack_app, run_attack
from shoal.cli.commands import Json

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
    from shoal.attacks import Compose

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
    from shoal.attacks import Minimality

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
    from shoal.attacks import DeFinetti

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
    from shoal.attacks import Downcode

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
    from shoal.attacks import SinglingOut

    known = {"policy": policy, "private": private, "original": original}
    how = SinglingOut(control, below, seed)
    run_attack(release, how, as_json=as_json, qi=qi, sensitive=sensitive, **known)
