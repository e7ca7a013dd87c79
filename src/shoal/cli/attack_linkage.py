"""The attacks that link people with records, or records with values: join, homogeneity, background, skewness …"""

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.attacking import Original, PolicyFile, Private, Qi, Release, Sensitive, attack_app, run_attack
from shoal.cli.commands import Json
from shoal.cli.drawing import say
from shoal.cli.names import listed
from shoal.errors import BadInput


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
    from shoal.attacks import Join

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
    from shoal.attacks import Homogeneity

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
    from shoal.attacks import Background

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
    from shoal.attacks import Skewness

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
    from shoal.attacks import Similarity

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
