"""Lists that pages show of what the code has: figures told of a release, commands, and all that is registered."""

import os
from collections.abc import Callable, Iterable
from typing import Any


def _figures() -> str:
    from shoal.metrics.catalogue import catalogue

    lines = [f"| `{each.name}` | {each.tells} | {each.range} | {each.source} |" for each in catalogue()]
    return "\n".join(["| name | tells | range | source |", "|---|---|---|---|", *lines])


def _commands() -> str:
    """What `--help` prints of each command."""
    import typer

    from shoal.cli.commands import app

    os.environ["COLUMNS"] = "96"
    root = typer.main.get_command(app)
    return "\n".join(_helped("shoal", root, None))


def _helped(name: str, command: Any, above: Any) -> Iterable[str]:
    context = command.make_context(name.rsplit(" ", 1)[-1], [], parent=above, resilient_parsing=True)
    inner = getattr(command, "commands", {})
    if not inner:
        yield f"## {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    for each, its in inner.items():
        yield from _helped(f"{name} {each}", its, context)


def _implemented() -> str:
    """Everything that is registered: what it does, and its source."""
    from facts import registered, said_of

    lines = ["| | what | in a sentence | source |", "|---|---|---|---|"]
    for kind, names in registered().items():
        for number, name in enumerate(names):
            _, sentence, source = said_of(kind, name)
            lines.append(f"| {f'{kind}s' if not number else ''} | `{name}` | {sentence} | {source} |")
    return "\n".join(lines)


LISTS: dict[str, Callable[[], str]] = {"figures": _figures, "commands": _commands, "implemented": _implemented}
