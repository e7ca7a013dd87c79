"""`shoal audit RELEASE`: every attack that fits, and a verdict."""

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.attacking import Original, PolicyFile, Private, Qi, Release, Sensitive
from shoal.cli.commands import Json, app
from shoal.cli.drawing import noted, print_json, progress, show_table
from shoal.cli.names import listed

if TYPE_CHECKING:
    from shoal.audit import Audit


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
    from shoal.search import Ask, Tally

    with noted(), progress(quiet=as_json, doing="attacking") as watch:
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
