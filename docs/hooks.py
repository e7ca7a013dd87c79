"""What pages say of models, algorithms, attacks, metrics and engines comes from the code: a table at their head.

A page names its subject in its front matter, `model: k-anonymity`; the table stands before its first section. Where a
page has the line `<!-- list: models -->`, all pages about models are listed; `figures` are all that a release is told by, `commands`
what the command line can do.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import tomllib

DOCS = Path(__file__).parent
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_LIST = re.compile(r"^<!-- list: (\w+) -->$", re.MULTILINE)
_TOML = re.compile(r"^```toml[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
Facts = list[tuple[str, str]]

MERGING = {
    "NOT": "nothing is promised when classes merge, so no search may prune on it",
    "UNION": "complying classes that merge comply: pruned where no row may be suppressed",
    "SUPERSET": "a complying class that merges with any other complies: always pruned",
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs for every page."""
    markdown = _LIST.sub(lambda found: listing(found.group(1), Path(page.file.src_uri).parent), markdown)
    subject = subject_of(page.meta)
    if subject is None:
        return markdown
    head, section, rest = markdown.partition("\n## ")
    return f"{head}\n{table(facts(*subject, markdown))}{section}{rest}"


def on_post_page(output: str, **_: Any) -> str:
    """Called by MkDocs for every page: the theme gives its search no name that a screen reader could say."""
    return output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')


def subject_of(meta: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a page is about: a kind and a name."""
    named = [(kind, str(meta[kind])) for kind in SUBJECTS if kind in meta]
    return named[0] if named else None


def front(text: str) -> dict[str, str]:
    """The front matter of a page.

    >>> front("---\\nmodel: k-map\\n---\\n# k-map")
    {'model': 'k-map'}
    """
    found = _FRONT.match(text)
    return dict(line.split(": ", 1) for line in found.group(1).splitlines()) if found else {}


@cache
def pages() -> dict[tuple[str, str], list[Path]]:
    """The pages about each subject."""
    found: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(DOCS.rglob("*.md")):
        subject = subject_of(front(path.read_text("utf-8")))
        if subject is not None:
            found.setdefault(subject, []).append(path)
    return found


def registered() -> dict[str, list[str]]:
    """The names of everything that needs a page, by its kind."""
    from shoal.engines.choosing import NAMES
    from shoal.metrics import METRICS
    from shoal.models import MODELS
    from shoal.policy.method import PAIRS

    return {
        "model": list(MODELS),
        "algorithm": sorted({name for every in PAIRS.values() for name in every}),
        "attack": sorted(_attacks()),
        "metric": list(METRICS),
        "engine": [name for name in NAMES if name != "auto"],
    }


def facts(kind: str, name: str, markdown: str) -> Facts:
    """What the code says of a subject."""
    return SUBJECTS[kind](name, markdown)


def table(rows: Facts) -> str:
    """As Markdown."""
    lines = [f"| {what} | {said} |" for what, said in rows]
    return "\n".join(['\n<div class="facts"></div>\n', "| In short | |", "|---|---|", *lines, ""])


def listing(kind: str, where: Path) -> str:
    """The pages of a kind, `models` for those about a model, with the first sentence of each."""
    if kind in LISTS:
        return LISTS[kind]()
    lines = []
    for (of, name), paths in pages().items():
        if f"{of}s" != kind:
            continue
        text = _FRONT.sub("", paths[0].read_text("utf-8"))
        title, sentence = (part.strip() for part in text.split("\n\n", 2)[:2])
        link = paths[0].relative_to(DOCS / where)
        lines.append(f"| [{title.removeprefix('# ')}]({link}) | `{name}` | {' '.join(sentence.split())} |")
    return "\n".join(["| page | name | in a sentence |", "|---|---|---|", *lines])


def _figures() -> str:
    from shoal.metrics import CATALOGUE

    lines = [f"| `{each.name}` | {each.tells} | {each.range} | {each.source} |" for each in CATALOGUE]
    return "\n".join(["| name | tells | range | source |", "|---|---|---|---|", *lines])


def _commands() -> str:
    """What `--help` prints of each command."""
    import os

    import typer

    from shoal.cli import run

    os.environ["COLUMNS"] = "96"
    root = typer.main.get_command(run.app)
    return "\n".join(_helped("shoal", root, None))


def _helped(name: str, command: Any, above: Any) -> Iterable[str]:
    context = command.make_context(name.rsplit(" ", 1)[-1], [], parent=above, resilient_parsing=True)
    inner = getattr(command, "commands", {})
    if not inner:
        yield f"## {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    for each, its in inner.items():
        yield from _helped(f"{name} {each}", its, context)


LISTS: dict[str, Callable[[], str]] = {"figures": _figures, "commands": _commands}


def _model(name: str, markdown: str) -> Facts:
    from shoal.models import MODELS
    from shoal.models.spec import kebab, model_of

    kind = MODELS[name]
    rows = [
        ("In a policy", f'`[[require]]` with `model = "{name}"`'),
        ("Parameters", _joined(_parameter(kebab(each.name), each) for each in fields(kind))),
        ("Closure declared", f"`{kind.closure.name}`: {MERGING[kind.closure.name]}"),
    ]
    example = next((each for each in _required(markdown) if each["model"] == name), None)
    if example is None:
        raise ValueError(f"the page about {name} has no example of it in a policy")
    model = model_of(example)
    if model.merging != kind.closure:
        rows.append(("As in the example", f"`{model.merging.name}`: {MERGING[model.merging.name]}"))
    judged = "the release as a whole, after suppression" if model.table_wide else "each class by itself"
    needs = " and the ".join(sorted(model.needs))
    rows.append(("Judged on", judged + (f"; verifying needs the {needs}" if needs else "")))
    return [*rows, ("Class", f"[`{kind.__name__}`][{kind.__module__}.{kind.__qualname__}]")]


def _algorithm(name: str, _: str) -> Facts:
    from shoal.policy.method import ALGORITHM_OPTIONS, PAIRS, SEARCHES, Method
    from shoal.search.algorithms import WALKS

    pairs = [f"{one} × {other}" for (one, other), names in PAIRS.items() if name in names]
    rows = [("In a policy", f'`[method]` with `algorithm = "{name}"`'), ("generalise × suppress", ", ".join(pairs))]
    own = [option for option, names in ALGORITHM_OPTIONS.items() if name in names]
    if own:
        rows.append(("Its own options", _joined(f"`{option}`" for option in own)))
    if name in SEARCHES:
        rows.append(("Shows", "one level of its hierarchy per attribute"))
        metrics = ", ".join(f"`{each}`" for each in get_args(Method.model_fields["metric"].annotation))
        rows.append(("Metrics", f"{'minimises' if name == 'optimal' else 'chooses among equals by'} {metrics}"))
    if name in WALKS and WALKS[name].closed:
        needed = "`UNION` where no row may be suppressed, else `SUPERSET`; refused otherwise"
        rows.append(("Closure needed", needed))
    elif name in SEARCHES:
        rows.append(("Closure needed", "none; closed models only make it faster"))
    return rows


def _attack(name: str, _: str) -> Facts:
    from shoal.cli.attacking import attack_app

    kind = _attacks()[name]
    known = {(command.name or command.callback.__name__) for command in attack_app.registered_commands}  # type: ignore[union-attr]
    how = f"`shoal attack {name} RELEASE`" if name in known else "part of `shoal audit RELEASE`"
    return [
        ("Command", how),
        ("In Python", f"`shoal.attack(release, shoal.attacks.{kind.__name__}(…))`"),
        ("Options", _joined(_parameter(each.name, each) for each in fields(kind)) or "none"),
        ("Class", f"[`{kind.__name__}`][{kind.__module__}.{kind.__qualname__}]"),
    ]


def _metric(name: str, _: str) -> Facts:
    from shoal.metrics import CATALOGUE

    entry = next(entry for entry in CATALOGUE if entry.name == name)
    return [
        ("In a policy", f'`[method]` with `metric = "{name}"`'),
        ("Tells", entry.tells),
        ("Range", entry.range),
        ("Source", entry.source),
    ]


def _engine(name: str, _: str) -> Facts:
    from shoal.engine import Ability
    from shoal.engines.arrow import ArrowEngine
    from shoal.engines.duckdb import DuckDBEngine
    from shoal.engines.spark import SparkEngine

    kind = next(each for each in (ArrowEngine, DuckDBEngine, SparkEngine) if each.name == name)
    can = [ability for ability in Ability if ability in kind.abilities]
    return [
        ("Chosen by", f"`--engine {name}`, in Python `engine=\"{name}\"`"),
        ("Abilities", _joined(f"{ability}" for ability in can) or "none beyond one level per column"),
        ("Lacks", _joined(f"{ability}" for ability in Ability if ability not in can) or "nothing"),
    ]


SUBJECTS: dict[str, Callable[[str, str], Facts]] = {
    "model": _model,
    "algorithm": _algorithm,
    "attack": _attack,
    "metric": _metric,
    "engine": _engine,
}


def _attacks() -> dict[str, Any]:
    """The classes of attacks by the name that an audit gives them."""
    from shoal import attacks

    every = (getattr(attacks, name) for name in attacks.__all__)
    found = [each for each in every if isinstance(each, type) and hasattr(each, "on") and each is not attacks.Attack]
    return {_called(each.__name__): each for each in found}


def _called(name: str) -> str:
    """How the command line calls a class.

    >>> _called("SinglingOut"), _called("DeFinetti")
    ('singling-out', 'definetti')
    """
    return "definetti" if name == "DeFinetti" else re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _required(markdown: str) -> Iterable[dict[str, Any]]:
    """The models that the policies of a page ask for."""
    for block in _TOML.findall(markdown):
        yield from tomllib.loads(block).get("require", [])


def _parameter(name: str, field: Any) -> str:
    shown = f"`{name}`: {_kind(field.type)}"
    if field.default is MISSING:
        return shown
    return shown if field.default in (None, ()) else f"{shown}, `{_written(field.default)}` unless given"


def _written(value: object) -> str:
    """As a policy writes it."""
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _kind(kind: Any) -> str:
    """What may be given for a parameter, in words.

    >>> _kind(int), _kind(float | None), _kind(Literal["basic", "enhanced"])
    ('whole number', 'number, optional', '"basic" or "enhanced"')
    """
    if get_origin(kind) in {Union, UnionType}:
        parts = [_kind(each) for each in get_args(kind) if each is not type(None)]
        return " or ".join(dict.fromkeys(parts)) + (", optional" if type(None) in get_args(kind) else "")
    if get_origin(kind) is Literal:
        return " or ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in get_args(kind))
    if hasattr(kind, "__metadata__"):
        limits = [limit for each in kind.__metadata__ if (limit := _limit(each))]
        return f"{_kind(kind.__origin__)} {' and '.join(limits)}".strip()
    plain = {int: "whole number", float: "number", str: "text", bool: "true or false", Any: "table"}
    return plain.get(kind) or {"tuple": "list", "Mapping": "table", "dict": "table"}.get(
        getattr(get_origin(kind), "__name__", ""), "list" if re.search("equence|ollection", str(kind)) else "see the class"
    )


def _limit(given: Any) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return "".join(f"{sign} {getattr(given, name)}" for name, sign in signs.items() if hasattr(given, name))


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts)
