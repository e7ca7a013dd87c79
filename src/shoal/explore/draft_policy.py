"""A first policy for a table: roles guessed, hierarchies drafted, every guess with its reason as a comment."""

import json
import re
from dataclasses import dataclass
from math import prod
from typing import Any

from shoal import __version__
from shoal.data.codes import Column
from shoal.engine_port import Source
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import Builder, build
from shoal.hierarchy.draft import draft, reason
from shoal.policy.document import FORMAT
from shoal.risk.identifiers import direct_finding
from shoal.roles import Role
from shoal.search.optimal import LARGEST_EXHAUSTED

MARKERS = ("?", "NA", "N/A", "NULL", "null", "None", "nan", "NaN", "#N/A")
"""Texts that usually mean that a value is not known."""

_NAMES: dict[Role, str] = {
    Role.IDENTIFIER: "address street",
    Role.SAMPLING_WEIGHT: "fnlwgt weights? sampling-?weight",
    Role.SENSITIVE: "disease diagnos.* icd.* illness condition hiv.* salary.* income.* wage.* earnings religion party "
    "crime.* drugs? test-?result score grade debt",
    Role.QUASI_IDENTIFIER: "age sex gender zip.* post-?code plz pin-?code birth.* date-of-birth dob race ethnic.* "
    "marital.* education.* occupation job.* work.* country native.* nationality citizenship city state region county "
    "municipality language",
}
"""Patterns of usual column names, beside the names and looks of identifiers that `risk` knows."""

_ID_SHARE = 0.9


@dataclass(frozen=True)
class Guess:
    """The guessed role of a column, and why."""

    column: Column
    role: Role
    why: str
    builder: Builder | None = None


def draft_policy(source: Source, k: int = 5) -> str:
    """Draft a policy as TOML text with comments; it holds no value of the data but round edges of intervals."""
    guesses = [guess(column, source.table.rows, k) for column in source.table.columns.values()]
    parts = [_head(source), *(_attribute(found) for found in guesses), *_require(guesses, k), _method(guesses)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def guess(column: Column, rows: int, k: int) -> Guess:
    """Guess a role by the column's name, else by its share of unique values; in doubt, what protects more."""
    direct = direct_finding(column)
    if direct is not None:
        seen = f"{100 * direct.rows // direct.filled} % of its cells look like {direct.kind.title}"
        return Guess(column, Role.IDENTIFIER, "by its name" if direct.by == "name" else seen)
    name = re.sub(r"[_\s]", "-", column.name.strip().casefold())
    unique = int((column.counts == 1).sum())
    known = [role for role, patterns in _NAMES.items() if any(re.fullmatch(p, name) for p in patterns.split())]
    if known and known[0] is not Role.QUASI_IDENTIFIER:
        return Guess(column, known[0], "by its name")
    if rows > 1 and unique >= _ID_SHARE * rows and not known:
        return Guess(column, Role.IDENTIFIER, f"{100 * unique // rows} % of the rows hold a value of their own")
    try:
        builder = draft(column, k)
        build(column, builder)
    except BadHierarchy:
        return Guess(column, Role.IDENTIFIER, "looks like an identifier: too many different values to generalise")
    doubt = "not known by name: an outsider might know it; say 'insensitive' or 'sensitive' if not"
    return Guess(column, Role.QUASI_IDENTIFIER, "by its name" if known else doubt, builder)


def _head(source: Source) -> list[str]:
    sniffed = {key: value for key, value in source.guessed.items() if not value.startswith("utf-8")}
    return [
        f"# Drafted by shoal {__version__} for {source.name}. Check every role: only you know what outsiders know.",
        f"format = {FORMAT}",
        "",
        "[data]",
        f"missing = {_toml(_markers(source))}  # read as null",
        *(f"{key} = {_toml(value)}  # sniffed" for key, value in sniffed.items()),
    ]


def _attribute(found: Guess) -> list[str]:
    lines = [f"[attributes.{_key(found.column.name)}]", f"role = {_toml(str(found.role))}  # {found.why}"]
    if found.builder is not None:
        lines.append(f"hierarchy = {_toml(found.builder.spec())}  # {reason(found.column, found.builder)}")
    return lines


def _require(guesses: list[Guess], k: int) -> list[list[str]]:
    size = ["[[require]]", 'model = "k-anonymity"', f"k = {k}  # every released combination is shared by {k} rows"]
    values = ["[[require]]", 'model = "distinct-l-diversity"', "l = 2  # and shows at least two sensitive values"]
    return [size, values] if any(found.role is Role.SENSITIVE for found in guesses) else [size]


def _method(guesses: list[Guess]) -> list[str]:
    nodes = prod(build(g.column, g.builder).height + 1 for g in guesses if g.builder is not None)
    lines = ["[method]", 'algorithm = "optimal"  # the least loss, proved']
    if nodes > LARGEST_EXHAUSTED:
        lines = [
            "[method]",
            f'algorithm = "optimal"  # {nodes:,} nodes are too many to prove the least loss: a gap will be stated',
            "time-limit = 60  # seconds; Ctrl-C with --keep-best takes what was found by then",
        ]
    return [*lines, "suppression = 0.02  # at most 2 % of the rows may be left out", 'metric = "loss"']


def _markers(source: Source) -> list[str]:
    found = {marker for c in source.table.columns.values() for marker in MARKERS if marker in _few(c)}
    return [source.missing, *sorted(found - {source.missing})]


def _few(column: Column) -> set[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = column.texts.filter(pc.is_in(column.texts, value_set=pa.array(MARKERS)))
    return set(kept.to_pylist())


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    """Return inline TOML; JSON strings, numbers and arrays are TOML, but for one control character."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
