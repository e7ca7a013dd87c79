"""A first policy for a table: roles guessed, hierarchies drafted, algorithms tried; every guess is marked as one."""

import json
import os
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from html import escape
from math import floor, prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import __version__
from shoal.data.codes import Column, Table, alone, rows_of
from shoal.engine_port import Engine, Source
from shoal.engines.choice import recode
from shoal.errors import REPLACE_IT, BadOutput, ShoalError, ShoalWarning, reason_of
from shoal.explore.column_guess import Guess, guess_roles, rounding_step
from shoal.hierarchy.build import build
from shoal.hierarchy.draft import reason
from shoal.policy.document import FORMAT, Policy
from shoal.problem import Problem
from shoal.publish.folder import write_whole
from shoal.recoding.columns import Released
from shoal.roles import Role
from shoal.runtime.events import phase
from shoal.search.optimal import LARGEST_EXHAUSTED
from shoal.solve import solve

MARKERS = ("?", "NA", "N/A", "n/a", "N.A.", "n.a.", "<NA>", "NULL", "null", "None", "nan", "NaN", "#N/A")
"""Texts that usually mean that a value is not known."""
_FEW_VALUES = 3
_OPEN = 10
"""The least k that guidance on open data asks for."""
_LESS = 0.5
"""Importance of postcodes, dates of events and insurers beside ages, which nearly all analyses need."""
_NEAR = 0.4
"""Usual distance from the shares of the table."""
_SAMPLE = 1_000
_MOST_FOR_LOCAL = 100_000
"""Rows up to which `local` is tried: it takes long for more."""
TRIED = ("optimal", "mondrian", "local")
"""Algorithms that a draft tries, a kind of recoding each."""
_PROBE = "mondrian"
"""The quickest of them, by which promises are weighed."""
_CHEAP, _DEARER = 0.2, 1.2
"""Strict promises are drafted where the loss stays as low, or grows by no more than this factor."""
_MOST_WEIGHED = 8
"""Columns whose promises are weighed one by one."""
MOST_COMMON = 0.45
"""Share of the most frequent value from which on no class can be asked to hold less than half of it."""


@dataclass(frozen=True)
class Trial:
    """What an algorithm makes of a sample: its loss and how some rows look, or why it makes nothing."""

    algorithm: str
    loss: float | None
    rows: tuple[Mapping[str, str], ...] = ()
    why: str = ""


@dataclass(frozen=True)
class PolicyDraft:
    """A first policy for a table: its TOML text, the guess for each column, and what algorithms make of a sample.

    >>> import pyarrow as pa
    >>> from shoal.api import draft
    >>> draft(pa.table({"age": [31, 32, 33, 41, 42, 43] * 9, "disease": ["flu", "hiv"] * 27}), k=3)
    PolicyDraft(quasi-identifier: 1, sensitive: 1)
    """

    text: str
    guesses: tuple[Guess, ...] = field(repr=False)
    trials: tuple[Trial, ...] = field(repr=False)

    @property
    def policy(self) -> Policy:
        """The policy as it was drafted, its open questions too."""
        return Policy(**tomllib.loads(self.text))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the text, its comments too, to a new file."""
        file = Path(path)
        if file.exists() and not force:
            raise BadOutput(f"{file.name}: there is such a file already; {REPLACE_IT} or name another")
        try:
            write_whole(file, self.text)
        except OSError as wrong:
            raise BadOutput(f"{file.name}: the policy could not be written ({reason_of(wrong)})") from None
        return file

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        roles = Counter(str(found.role) for found in self.guesses)
        return f"PolicyDraft({', '.join(f'{role}: {count}' for role, count in sorted(roles.items()))})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"

    @property
    def questions(self) -> list[str]:
        return [found.column.name for found in self.guesses if found.is_open]

    def document(self) -> dict[str, Any]:
        """Return the draft as a JSON object; it holds no cell of the table."""
        return {
            "text": self.text,
            "columns": [
                {"name": g.column.name, "role": str(g.role), "certainty": str(g.certainty), "why": g.why}
                for g in self.guesses
            ],
            "questions": self.questions,
            "algorithms": [{"algorithm": t.algorithm, "loss": t.loss, "why": t.why or None} for t in self.trials],
        }


@phase("drafting")
def draft_policy(source: Source, engine: Engine, k: int = 5) -> PolicyDraft:
    """Draft a policy as TOML text with comments; it holds no value of the data but round edges of intervals."""
    table = _with_markers_read(source.table, _markers(source))
    unnamed = {name for name in source.index if re.fullmatch(r"level_[0-9]+", name)}
    guesses = guess_roles(list(table.columns.values()), table.rows, k, unnamed)
    aged = any(found.tells_age for found in guesses)
    attributes = [_head(source), *(_attribute(found, less=aged and found.is_circumstance) for found in guesses)]
    known = any(found.role is Role.QUASI_IDENTIFIER for found in guesses)
    if not known:
        body = [*attributes, *_require(guesses, k)]
        return PolicyDraft(_written([*body, _method(guesses, ())]), tuple(guesses), ())
    sample = _sample(replace(source, table=_with_rounding(table, guesses)))
    strict, dear = _weigh_promises(sample, engine, attributes, guesses, k)
    body = [*attributes, *_require(guesses, k, strict, dear)]
    trials = _try(sample, engine, body, few=table.rows <= _MOST_FOR_LOCAL)
    return PolicyDraft(_written([*body, _method(guesses, trials)]), tuple(guesses), trials)


def _written(parts: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _with_markers_read(table: Table, markers: Sequence[str]) -> Table:
    """Return the table with texts that usually mean null read so: they must not make a text of a number."""

    def read(column: Column) -> Column:
        if not pa.types.is_string(column.values.type) or not set(markers) & _few(column):
            return column
        return alone(column, missing=markers)

    return replace(table, columns={name: read(column) for name, column in table.columns.items()})


def _sample(source: Source) -> Source:
    """Return some rows of the table, the same at every run."""
    chosen = np.sort(np.random.default_rng(0).permutation(source.table.rows)[:_SAMPLE])
    return replace(source, table=rows_of(source.table, chosen))


def _with_rounding(table: Table, guesses: Sequence[Guess]) -> Table:
    """Return the table with the columns rounded that the draft rounds."""
    columns = {found.column.name: found.published for found in guesses if found.step is not None}
    return replace(table, columns={**table.columns, **columns})


def written_step(step: Fraction) -> str:
    """Write a step of rounding as TOML has it.

    >>> written_step(Fraction(50)), written_step(Fraction(1, 20))
    ('50', '0.05')
    """
    return str(int(step)) if step.denominator == 1 else format(float(step), "f").rstrip("0")


def _weigh_promises(
    sample: Source, engine: Engine, attributes: Sequence[Sequence[str]], guesses: Sequence[Guess], k: int
) -> tuple[frozenset[str], dict[str, str]]:
    """Return the sensitive columns whose strict promises cost little on a sample, and what those of others cost.

    They are asked of all columns that are known to be sensitive, or of some of these.
    """
    known = [found.column.name for found in _secret(guesses)]
    if not known or _PROBE not in TRIED:
        return frozenset(), {}

    @cache
    def loss(strict: frozenset[str]) -> float:
        found = _tried(sample, engine, [*attributes, *_require(guesses, k, strict)], _PROBE).loss
        return 1.0 if found is None else found

    usual = loss(frozenset())
    limit = max(_CHEAP, _DEARER * usual)
    if loss(frozenset(known)) <= limit:
        return frozenset(known), {}
    alone = {name: loss(frozenset([name])) for name in known[:_MOST_WEIGHED]}
    chosen: frozenset[str] = frozenset()
    for name in sorted((name for name in alone if alone[name] <= limit), key=alone.__getitem__):
        if not chosen or loss(chosen | {name}) <= limit:
            chosen |= {name}
    dear = {name: f"{alone[name]:.2f} instead of {usual:.2f}" for name in alone if name not in chosen}
    return chosen, dear


def _try(sample: Source, engine: Engine, body: Sequence[Sequence[str]], *, few: bool) -> tuple[Trial, ...]:
    """Run the algorithms on a sample; `local` only where the table has few rows."""
    return tuple(_tried(sample, engine, body, algorithm) for algorithm in TRIED if few or algorithm != "local")


def _tried(sample: Source, engine: Engine, body: Sequence[Sequence[str]], algorithm: str) -> Trial:
    method = ["[method]", f"algorithm = {_toml(algorithm)}", *_suppression(algorithm)]
    policy = Policy(**tomllib.loads(_written([*body, method])))
    try:
        with warnings.catch_warnings(action="ignore", category=ShoalWarning):
            plan = solve(Problem.of(sample, policy, engine))
            shown = recode(sample, plan, policy, engine).columns
    except ShoalError as wrong:
        return Trial(algorithm, None, why=str(wrong))
    return Trial(algorithm, plan.metrics["loss"], _first_rows(shown, policy.quasi_identifiers))


def _first_rows(shown: Mapping[str, Released], quasi: Sequence[str]) -> tuple[Mapping[str, str], ...]:
    """Return what the quasi-identifiers of some released rows show."""
    columns = {name: shown[name] for name in quasi if name in shown}
    count = min((len(column.codes) for column in columns.values()), default=0)
    places = [count * at // 3 for at in range(min(count, 3))]
    return tuple({name: column.text(at) for name, column in columns.items()} for at in places)


def _head(source: Source) -> list[str]:
    sniffed = {key: value for key, value in source.guessed.items() if value not in {"utf-8", "utf-8-sig"}}
    return [
        f"# Drafted by shoal {__version__} for {source.name}. Check every role: only you know what outsiders know.",
        f"format = {FORMAT}",
        "",
        "[data]",
        f"missing = {_toml(_markers(source))}  # read as null",
        *(f"{key} = {_toml(value)}  # as given" for key, value in source.given.items() if key != "missing"),
        *(f"{key} = {_toml(value)}  # {_found(key, value)}" for key, value in sniffed.items()),
    ]


def _found(key: str, value: str | int) -> str:
    """Say how sure it is what was found out about a file."""
    guessed = key == "encoding" and value in {"cp1252", "latin-1"}
    return "a guess: check that letters with accents look right" if guessed else "sniffed"


def _attribute(found: Guess, *, less: bool) -> list[str]:
    """Return the section of a column; `less` of its detail matters than of others."""
    said = f"{found.certainty}: {found.why}"
    lines = [f"[attributes.{_key(found.column.name)}]", f"role = {_toml(str(found.role))}  # {said}"]
    if found.is_open:
        lines.append('confirm = "?"  # decide on the role, then delete this line')
    if found.is_exact:
        own, rows, step = found.column.uniques, len(found.column.codes), found.step
        why = f"# {own:,} of {rows:,} rows hold a value that no other row has: whoever knows one exactly finds the row;"
        if step is not None:
            lines += [f"round = {written_step(step)}", why, "# so its numbers are published as multiples of that"]
        else:
            better = rounding_step(found.column)
            how = "" if better is None else f"round = {written_step(better)}, "
            lines += [why, f"# {how}make it a quasi-identifier, drop it as an identifier, or confirm = true"]
    if found.builder is not None:
        lines.append(f"hierarchy = {_toml(found.builder.spec())}  # {reason(found.column, found.builder)}")
    if less:
        lines.append(f"importance = {_LESS}  # a column left at 1 keeps its detail first: here what tells ages")
    return lines


def _require(
    guesses: Sequence[Guess], k: int, strict: Collection[str] = (), dear: Mapping[str, str] | None = None
) -> list[list[str]]:
    """Return what the release promises: k, and something of each sensitive column that is known to be one.

    Of the `strict` ones, it is promised that no class tells much of them; `dear` is how losses would grow by that.
    """
    of = "persons" if any(found.role is Role.UNIT for found in guesses) else "rows"
    size = [
        "[[require]]",
        'model = "k-anonymity"',
        f"k = {k}  # every released combination is shared by {k} {of}{_more(k)}",
    ]
    unit = next((found.column for found in guesses if found.role is Role.UNIT), None)
    promises = [size]
    for found in _secret(guesses):
        name, stricter = found.column.name, _strict_promises(found, unit)
        if name in strict and stricter:
            promises += stricter
        else:
            promises.append([*_promise(found), *_told_price(stricter, (dear or {}).get(name))])
    return promises


def _more(k: int) -> str:
    """Say which k is for open data, where it is smaller."""
    return "; for open data, which anybody may get, take 10 or more" if k < _OPEN else ""


def _secret(guesses: Sequence[Guess]) -> list[Guess]:
    """Return the columns that are known to be sensitive; of an open one nothing is promised."""
    return [found for found in guesses if found.role is Role.SENSITIVE and not found.is_open and found.values > 1]


def _told_price(promises: Sequence[Sequence[str]], price: str | None) -> list[str]:
    """Say which promises would be stricter, where they are not drafted for their price."""
    if price is None or not promises:
        return []
    stricter = [", ".join(line.partition("  #")[0] for line in each[1:-1]) for each in promises]
    many = "a" if len(stricter) == 1 else str(len(stricter))
    instead = f"{many} [[require]] of the same attribute in place of this one: {'; '.join(stricter)}"
    return [f"# in some classes a value may be likely; stricter, with a loss of {price} on a sample, {instead}"]


def _strict_promises(found: Guess, unit: Column | None = None) -> list[list[str]]:
    """Return promises under which no class tells a value of a sensitive column, or makes it likely.

    A value is likely where a class holds half of it and twice the table's share: a class whose share of each value
    differs by less than max(1/2 - p, p) from the table's share p makes none likely. Where persons are counted and have
    several values, shares do not add up: then only shares of persons are limited.
    """
    named, shares = [f"attribute = {_toml(found.column.name)}"], _shares(found.published, unit)
    several = unit is not None and _have_several(unit, found.published)
    if shares.max() <= MOST_COMMON:
        why = "no value has half of a class, so that none can be guessed well"
        if several:
            why = "no value belongs to half of the persons of a class, so that hardly one can be guessed well"
        return [["[[require]]", 'model = "alpha-k"', f"alpha = 0.49  # {why}", *named]]
    if several:
        return []
    least = float(np.maximum(0.5 - shares, shares).min())
    t = min(floor(100 * least) / 100 - 0.01, _NEAR)
    why = "no class makes a value likelier than not and twice as likely as the table does"
    near = ["[[require]]", 'model = "t-closeness"', f"t = {t:.2g}  # {why}", 'distance = "equal"', *named]
    if t < 1 - shares.max():
        return [near]  # no class holds the most frequent value alone
    return [near, ["[[require]]", 'model = "distinct-l-diversity"', "l = 2  # no class tells a value", *named]]


def _shares(column: Column, unit: Column | None) -> NDArray[np.float64]:
    """Return the share of each value among those that are not null: of rows or, where there is a unit, of persons."""
    known = column.codes != column.null_code
    codes, whole = column.codes[known], int(known.sum())
    if unit is not None:
        persons = unit.codes[known].astype(np.int64)
        codes = np.unique(persons * column.size + codes) % column.size
        whole = len(np.unique(persons))
    shares: NDArray[np.float64] = np.bincount(codes, minlength=len(column.values)) / whole
    return shares


def _have_several(unit: Column, column: Column) -> bool:
    """Whether some person has several values."""
    _, first, persons = np.unique(unit.codes, return_index=True, return_inverse=True)
    return bool((column.codes[first][persons] != column.codes).any())


def _promise(found: Guess) -> list[str]:
    """Return the promise for a sensitive column: several values in each class; of few values, the table's shares."""
    named = f"attribute = {_toml(found.column.name)}"
    if found.values <= _FEW_VALUES:
        why = "it has few values: no class may hold a much larger share of one than the table"
        return ["[[require]]", 'model = "t-closeness"', f"t = {_NEAR}  # {why}", 'distance = "equal"', named]
    return [
        "[[require]]",
        'model = "distinct-l-diversity"',
        "l = 2  # every class holds two values of it at least",
        named,
    ]


def _suppression(algorithm: str) -> list[str]:
    if algorithm != "optimal":
        return []
    return ["suppression = 0.02  # at most 2 % of the rows may be left out", 'metric = "loss"']


def _method(guesses: Sequence[Guess], trials: Sequence[Trial]) -> list[str]:
    losses = {trial.algorithm: trial.loss for trial in trials if trial.loss is not None}
    best = min(losses, key=losses.__getitem__, default="optimal")
    told = ", ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
    why = f"of a sample it loses least (0 intact … 1 nothing left): {told}" if losses else "the least loss, proved"
    lines = ["[method]", f"algorithm = {_toml(best)}  # {why}"]
    nodes = prod(build(g.column, g.builder).height + 1 for g in guesses if g.builder is not None)
    if best == "mondrian":
        lines.append("# it orders numbers and dates by themselves; their hierarchies are for other algorithms")
    if best == "local" or (best == "optimal" and nodes > LARGEST_EXHAUSTED):
        lines.append("time-limit = 60  # seconds; the best release that was found by then is taken")
    return [*lines, *_suppression(best)]


def _markers(source: Source) -> list[str]:
    found = {marker for c in source.table.columns.values() for marker in MARKERS if marker in _few(c)}
    given = source.given.get("missing", (source.missing,))
    return [*given, *sorted(found - {*given})]


def _few(column: Column) -> set[str]:
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


def toml_section(path: Sequence[str], content: Mapping[str, Any], *, listed: bool = False) -> str:
    """Write a section of a policy as drafts have it; `listed` ones may occur several times.

    >>> print(toml_section(["require"], {"model": "k-anonymity", "k": 5}, listed=True))
    [[require]]
    model = "k-anonymity"
    k = 5
    <BLANKLINE>
    """
    name = ".".join(map(_key, path))
    header = f"[[{name}]]" if listed else f"[{name}]"
    return _written([[header, *(f"{_key(key)} = {_toml(value)}" for key, value in content.items())]])
