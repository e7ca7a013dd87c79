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
from shoal.attacks.attack import Channel
from shoal.attacks.audit import maker_audit, quick_audit
from shoal.attacks.release_under_attack import Truth
from shoal.data.codes import Column, Kind, Table, reencode, sample_table
from shoal.engine_port import Engine, Sniffed, Source
from shoal.engines.choice import recode
from shoal.errors import REPLACE_IT, BadHierarchy, BadInput, BadOutput, ShoalError, ShoalWarning, reason_of
from shoal.explore.column_guess import (
    Certainty,
    Giveaway,
    Guess,
    RelatedColumns,
    find_giveaways,
    find_odd_texts,
    find_related,
    guess_roles,
    holds_codes_of_missing,
    marks_of_missing,
    rounding_step,
)
from shoal.hierarchy.build import build
from shoal.hierarchy.draft import reason
from shoal.hierarchy.taxonomy import TOP
from shoal.hierarchy.top_bottom import ValueOnly
from shoal.policy.document import FORMAT, MOST_MODELS, MOST_QUASI_IDENTIFIERS, Policy
from shoal.problem import Problem, repeated_together, warn_of_repeated
from shoal.publish.folder import refuse_irregular, write_whole
from shoal.publish.release_views import published_from_plan
from shoal.recoding.columns import ReleasedColumn
from shoal.roles import Role
from shoal.runtime.events import phase
from shoal.search.optimal import LARGEST_EXHAUSTED
from shoal.solve import solve

_FEW_VALUES = 3
_OPEN = 10
"""The least k that guidelines on open data ask for."""
_LESS = 0.5
"""Importance of postcodes, dates of events and insurers beside ages, which nearly all analyses need."""
_NEAR = 0.4
"""Usual t of t-closeness: the distance from the shares of the whole table."""
_SAMPLE = 800
"""Rows of the smallest sample that algorithms are tried on."""
_PROBED = 3_000
"""Rows of the smallest sample on which the quickest algorithm finds out what promises cost."""
_TIMES_K, _LARGEST_SAMPLE = 20, 10_000
"""A sample has so many times k persons or rows, since fewer classes show nothing; but not more rows than the second."""
_MOST_FOR_LOCAL = 100_000
"""Rows up to which `local` is tried: it takes long for more."""
TRIED = ("optimal", "mondrian", "local")
"""Algorithms that a draft tries, a kind of recoding each."""
_PROBE = "mondrian"
"""The quickest of them, used to find out what promises cost."""
_CHEAP, _DEARER = 0.25, 1.2
"""Strict promises are drafted if the loss stays below the first, or grows by at most the second as a factor."""
_BEARABLE, _NEARER = 0.4, (0.4, 0.3, 0.2)
"""Loss up to which promises are drafted without which attacks succeed; and the t that are tried for these."""
_SIMILAR = 1.25
"""Losses are similar if none is more than so many times the least."""
_MOST_ROWS = 0.5
"""Share of the rows above which a column that shows `*` there is hidden."""
_MOST_TRIED = 10_000
"""Most pairs of a quasi-identifier and a promise with which releases of a sample are tried."""
_MOST_WEIGHED = 8
"""Most columns whose promises are weighed one by one."""
_HALF = 0.49
"""Largest share of a value in a class under which it cannot be guessed well."""
MOST_COMMON = 0.45
"""Share of the most frequent value above which no class can be asked to hold less than half of it."""


@dataclass(frozen=True)
class Trial:
    """The result of an algorithm on a sample: its loss and some rows, or why there is no release."""

    algorithm: str
    loss: float | None
    rows: tuple[Mapping[str, str], ...] = ()
    why: str = ""
    starred: Mapping[str, float] = field(default_factory=dict)
    """Share of the rows of the sample in which each quasi-identifier shows `*`."""
    revealed: tuple[str, ...] = ()
    """Sensitive columns of which attacks on the release of the sample reveal values."""
    singled_out: int = 0
    """Rows of the sample that can be described so that no other fits."""


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
    giveaways: tuple[Giveaway, ...] = field(default=(), repr=False)
    """Quasi-identifiers that nearly determine sensitive columns."""
    related: tuple[RelatedColumns, ...] = field(default=(), repr=False)
    """Sensitive columns of which one tells the other."""

    @property
    def policy(self) -> Policy:
        """The policy as it was drafted, its open questions too."""
        return Policy(**tomllib.loads(self.text))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the text, its comments too, to a new file."""
        file = Path(path)
        refuse_policy_file(file, force=force)
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
            "related": [{"columns": [each.first, each.second], "mutual": each.mutual} for each in self.related],
            "algorithms": [{"algorithm": t.algorithm, "loss": t.loss, "why": t.why or None} for t in self.trials],
        }


def refuse_policy_file(file: Path, table: Path | None = None, *, force: bool) -> None:
    """Refuse to write a draft over its table, over another file unless forced, or where no file can be."""
    if table is not None and file.exists() and table.exists() and file.samefile(table):
        raise BadInput(f"{file.name}: the policy would be written over the table; name another file")
    refuse_irregular(file)
    if not file.absolute().parent.is_dir():
        folder = file.absolute().parent.name
        raise BadOutput(f"{file.name}: the folder {folder!r} that should hold it does not exist; make it first")
    if file.exists() and not force:
        raise BadOutput(f"{file.name}: there is such a file already; {REPLACE_IT} or name another")


@phase("drafting")
def draft_policy(source: Source, engine: Engine, k: int = 5, marks: Sequence[str] = ()) -> PolicyDraft:
    """Draft a policy as TOML text with comments; it holds no value of the data but round edges of intervals.

    Comments show labels of hierarchies, each of at least max(k, 10) persons (design 13). `marks` are texts that were
    found to mark missing values and are read as null already.
    """
    marks = [*marks, *find_marks(source)]
    table = _read_as_null(source.table, marks)
    odd = {name: texts for name, column in table.columns.items() if (texts := find_odd_texts(column)) is not None}
    for each in odd.values():
        warnings.warn(ShoalWarning(str(each)), stacklevel=2)
    table = replace(table, columns={n: _without(c, odd[n].texts) if n in odd else c for n, c in table.columns.items()})
    unnamed = {name for name in source.index if re.fullmatch(r"level_[0-9]+", name)}
    guesses = guess_roles(list(table.columns.values()), table.rows, k, unnamed)
    aged = any(found.tells_age for found in guesses)
    giveaways, related = _find_giveaways(table, guesses), _find_related(table, guesses)
    implied = {each.second: each.first for each in related if each.exact}
    unit = next((found.column for found in guesses if found.role is Role.UNIT), None)
    together = {} if unit is not None else warn_of_repeated(_find_repeated_together(table, guesses))

    def describe(guesses: Sequence[Guess]) -> list[list[str]]:
        """Return the head and the section of each column."""
        flat = next((found for found in guesses if found.builder is not None and _loses_more(found)), None)
        sections = [_head(source, marks)]
        for found in guesses:
            lines = _attribute(found, less=aged and found.is_circumstance, shown=found is flat)
            lines.extend(_draw_levels(found, unit, max(k, _FEWEST_PERSONS)))
            lines += [f"# {each}" for each in giveaways if each.known == found.column.name]
            lines += [_comment_on_related(each) for each in related if each.second == found.column.name]
            lines.extend([_COMMENT_ON_CODES] if holds_codes_of_missing(found.column) else [])
            lines.extend(f"# {odd[name]}" for name in [found.column.name] if name in odd)
            sections.append(lines)
        return sections

    def finish(
        guesses: Sequence[Guess], promises: list[list[str]], trials: tuple[Trial, ...], best: str = "optimal"
    ) -> PolicyDraft:
        """Return the draft, its open questions with what to promise if they are answered."""
        promised = {_promised_attribute(each) for each in promises}
        sections = describe(guesses)
        for lines, found in zip(sections[1:], guesses, strict=True):
            lines.extend(_comment_on_question(found, unit, promised=found.column.name in promised))
        text = _join_sections([*sections, *promises, _method(guesses, trials, best)])
        return PolicyDraft(text, tuple(guesses), trials, giveaways if trials else (), related)

    def promised(guesses: Sequence[Guess]) -> list[Guess]:
        return [found for found in guesses if found.column.name not in implied]

    known = any(found.role is Role.QUASI_IDENTIFIER for found in guesses)
    if not known or _warn_of_many(guesses, promised(guesses)):
        return finish(guesses, _require(promised(guesses), k, together=together), ())
    published = replace(source, table=_with_rounding(table, guesses))
    trying = _Trying(_sample(published, guesses, k), _sample(published, guesses, k, _PROBED), engine, k, unit)
    few = table.rows <= _MOST_FOR_LOCAL
    promises, trials = trying.promise_and_try(describe(guesses), promised(guesses), together, few=few)
    best = _choose_algorithm(guesses, trials)
    mute = _find_mute_giveaways(guesses, giveaways, _find_trial(trials, best))
    if mute:
        dropped = {name: _as_giveaway(found, mute[name]) for found in guesses if (name := found.column.name) in mute}
        guesses = [dropped.get(found.column.name, found) for found in guesses]
        promises, trials = trying.promise_and_try(describe(guesses), promised(guesses), together, few=few)
        best = _choose_algorithm(guesses, trials)
    if _find_trial(trials, best) is not None:
        secret = _sensitive_guesses(promised(guesses))
        promises, best, told = trying.defend(describe(guesses), promises, _rank_algorithms(guesses, trials), secret)
        gone = {each.column.name for each in _open_guesses(guesses)} & told
        guesses = [_as_unprotected(each) if each.column.name in gone else each for each in guesses]
        promises = [each for each in promises if _promised_attribute(each) not in gone]
    return finish(guesses, promises, trials, best)


def _find_trial(trials: Sequence[Trial], algorithm: str) -> Trial | None:
    """Return the trial of an algorithm that made a release; None where it made none."""
    return next((trial for trial in trials if trial.algorithm == algorithm and trial.loss is not None), None)


def _find_mute_giveaways(
    guesses: Sequence[Guess], giveaways: Sequence[Giveaway], chosen: Trial | None
) -> dict[str, Giveaway]:
    """Find quasi-identifiers that nearly tell a sensitive column, so that promises hide them in most rows.

    Ages are kept, and so is the last quasi-identifier.
    """
    quasi = [found for found in guesses if found.role is Role.QUASI_IDENTIFIER]
    starred = {} if chosen is None else chosen.starred
    dispensable = {found.column.name for found in quasi if not found.tells_age}
    mute = {each.known: each for each in giveaways if starred.get(each.known, 0.0) > _MOST_ROWS}
    found = {name: each for name, each in mute.items() if name in dispensable}
    return found if len(found) < len(quasi) else {}


def _as_giveaway(found: Guess, pair: Giveaway) -> Guess:
    """Turn a quasi-identifier that a release would hide in most rows into a column that is dropped."""
    why = (
        f"{found.why}, but it nearly tells {pair.told}, so that a release would hide it in most rows: dropped; "
        "quasi-identifier to keep it"
    )
    return replace(found, role=Role.IDENTIFIER, certainty=Certainty.LIKELY, builder=None, why=why)


def _as_unprotected(found: Guess) -> Guess:
    """Say of a column in question that nothing is promised about it, so that it is dropped unless its owner decides."""
    why = f"{found.why}; dropped until you decide, since published as it is, its values could be guessed well"
    return replace(found, why=why)


def _promised_attribute(promise: Sequence[str]) -> str | None:
    """Return the column that a drafted promise is about; None where it is about all rows."""
    attribute: str | None = tomllib.loads("\n".join(promise))["require"][0].get("attribute")
    return attribute


def _warn_of_many(guesses: Sequence[Guess], promised: Sequence[Guess]) -> bool:
    """Whether there are too many columns to try releases of a sample, or for a policy at all; a warning says so."""
    quasi = sum(found.role is Role.QUASI_IDENTIFIER for found in guesses)
    promises = 1 + len(_sensitive_guesses(promised))
    if quasi > MOST_QUASI_IDENTIFIERS or promises > MOST_MODELS:
        told = (
            f"the draft has {quasi:,} quasi-identifiers and {promises:,} promises, and {MOST_QUASI_IDENTIFIERS:,} and "
            f"{MOST_MODELS:,} are the most that can be used; give some columns another role, such as identifier, which "
            "leaves them out"
        )
    elif quasi * promises > _MOST_TRIED:
        told = (
            f"no release of a sample was tried, since {quasi:,} quasi-identifiers and {promises:,} promises take long; "
            "compare shows what algorithms make of the table"
        )
    else:
        return False
    warnings.warn(ShoalWarning(told), stacklevel=3)
    return True


def _find_related(table: Table, guesses: Sequence[Guess]) -> tuple[RelatedColumns, ...]:
    """Find sensitive columns, as the draft publishes them, of which one tells the other: on a sample, then on all."""
    published = _with_rounding(table, guesses)
    names = [found.column.name for found in _sensitive_guesses(guesses)]
    some = sample_table(published, _LARGEST_SAMPLE)
    pairs = [(each.first, each.second) for each in find_related([some[name] for name in names])]
    return tuple(each for pair in pairs for each in find_related([published[name] for name in pair]))


_COMMENT_ON_CODES = (
    "# a few of its numbers are negative, or nines far above the others: if they say that a value is not known, add "
    "them to missing"
)


def _comment_on_related(pair: RelatedColumns) -> str:
    """Return the comment on a column that another one tells, and on the promise that it therefore does not need."""
    alike = f"; what is promised about {pair.first} holds for {pair.second}, too" if pair.exact else ""
    return f'# {pair}{alike}; to drop this one: role = "identifier"'


def _find_repeated_together(table: Table, guesses: Sequence[Guess]) -> dict[str, str]:
    """Find names and dates of birth that tell persons apart together and repeat."""
    return repeated_together(table, [found.column.name for found in guesses if found.role is Role.IDENTIFIER])


def _find_giveaways(table: Table, guesses: Sequence[Guess]) -> tuple[Giveaway, ...]:
    """Find, on a sample of rows, quasi-identifiers that nearly determine columns for which something is promised."""
    some = sample_table(table, _LARGEST_SAMPLE)
    known = [some[found.column.name] for found in guesses if found.role is Role.QUASI_IDENTIFIER]
    return tuple(find_giveaways(known, [some[found.column.name] for found in _sensitive_guesses(guesses)]))


def _join_sections(parts: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _read_as_null(table: Table, markers: Sequence[str]) -> Table:
    """Return the table with marks of missing values read as null, so that they do not turn numbers into texts."""
    return replace(table, columns={name: _without(column, markers) for name, column in table.columns.items()})


def _without(column: Column, texts: Sequence[str]) -> Column:
    """Return a column with some of its texts read as null."""
    if not pa.types.is_string(column.values.type) or not _texts_among(column, texts):
        return column
    return reencode(column, missing=texts)


def _sample(source: Source, guesses: Sequence[Guess], k: int, least: int = _SAMPLE) -> Source:
    """Return some rows of the table, whole persons and the same at every run; enough of them for several classes."""
    table, unit = source.table, next((found.column for found in guesses if found.role is Role.UNIT), None)
    needed = _TIMES_K * k * (1 if unit is None else -(-table.rows // max(unit.size, 1)))
    size = max(least, min(needed, _LARGEST_SAMPLE))
    return replace(source, table=sample_table(table, size, None if unit is None else unit.name))


def _with_rounding(table: Table, guesses: Sequence[Guess]) -> Table:
    """Return the table with the columns rounded as the draft says."""
    columns = {found.column.name: found.published for found in guesses if found.step is not None}
    return replace(table, columns={**table.columns, **columns})


def written_step(step: Fraction) -> str:
    """Write a step of rounding as TOML has it.

    >>> written_step(Fraction(50)), written_step(Fraction(1, 20))
    ('50', '0.05')
    """
    return str(int(step)) if step.denominator == 1 else format(float(step), ".12f").rstrip("0")


@dataclass(frozen=True)
class _Trying:
    """Tries promises and algorithms on samples of a table."""

    sample: Source
    """Rows that every algorithm is tried on."""
    larger: Source
    """Rows that the quickest algorithm is tried on."""
    engine: Engine
    k: int
    unit: Column | None
    """The column of the whole table that tells persons apart, where there is one."""

    def promise_and_try(
        self, attributes: Sequence[list[str]], guesses: Sequence[Guess], together: Mapping[str, str], *, few: bool
    ) -> tuple[list[list[str]], tuple[Trial, ...]]:
        """Return the promises that cost little, and what algorithms make of a sample under them."""
        strict, dear = self._weigh_promises(attributes, guesses)
        promises = _require(guesses, self.k, strict, dear, together)
        return promises, _try_algorithms(self.sample, self.engine, [*attributes, *promises], few=few)

    def _weigh_promises(
        self, attributes: Sequence[list[str]], guesses: Sequence[Guess]
    ) -> tuple[frozenset[str], dict[str, str]]:
        """Return the sensitive columns whose strict promises cost little on a sample, and what they cost for others.

        All columns that are known to be sensitive are tried together first, then one by one; then those with an open
        question, which get a promise only if it costs little.
        """
        if _PROBE not in TRIED:
            return frozenset(), {}

        @cache
        def loss(strict: frozenset[str]) -> float:
            body = [*attributes, *_require(guesses, self.k, strict)]
            found = _try_algorithm(self.larger, self.engine, body, _PROBE).loss
            return 1.0 if found is None else found

        chosen: frozenset[str] = frozenset()
        dear: dict[str, str] = {}
        for some in (_sensitive_guesses(guesses), _open_guesses(guesses)):
            names = [found.column.name for found in some]
            if not names:
                continue
            usual = loss(frozenset())
            limit = max(_CHEAP, _DEARER * usual)
            if loss(chosen | {*names}) <= limit:
                chosen |= {*names}
                continue
            alone = {name: loss(chosen | {name}) for name in names[:_MOST_WEIGHED]}
            before = chosen
            for name in sorted((name for name in alone if alone[name] <= limit), key=alone.__getitem__):
                if chosen == before or loss(chosen | {name}) <= limit:
                    chosen |= {name}
            dear |= {name: f"{alone[name]:.2f} instead of {usual:.2f}" for name in alone if name not in chosen}
        return chosen, dear

    def defend(
        self,
        attributes: Sequence[list[str]],
        promises: list[list[str]],
        trials: Sequence[Trial],
        guesses: Sequence[Guess],
    ) -> tuple[list[list[str]], str, set[str]]:
        """Return the promises, the algorithm, and the columns that attacks on samples reveal all the same.

        `trials` are the algorithms that may be drafted, the best first: the first that reveals nothing of the sensitive
        columns is taken, with further promises where it needs some.
        """
        secret, found = {guess.column.name for guess in guesses}, []
        for trial in (trial for at, trial in enumerate(trials) if not at or (trial.loss or 0.0) <= _BEARABLE):
            further, told = self._promise_against_attacks(attributes, promises, trial, guesses)
            found.append((further, trial.algorithm, told))
            if secret.isdisjoint(told):
                break
        # the last one, if it reveals nothing; else the best algorithm
        chosen, algorithm, told = found[-1] if secret.isdisjoint(found[-1][2]) else found[0]
        return chosen, algorithm, told | self._find_learnable(attributes, chosen, algorithm)

    def _find_learnable(
        self, attributes: Sequence[list[str]], promises: Sequence[list[str]], algorithm: str
    ) -> set[str]:
        """Return the sensitive columns of which learning from all classes together tells, whatever each class hides."""
        body = [*attributes, *promises]
        return {*_try_algorithm(self.larger, self.engine, body, algorithm, attacked=True, learning=True).revealed}

    def _promise_against_attacks(
        self, attributes: Sequence[list[str]], promises: list[list[str]], chosen: Trial, guesses: Sequence[Guess]
    ) -> tuple[list[list[str]], set[str]]:
        """Return the promises with further ones, where attacks on a sample reveal sensitive values; and what still is.

        Of the promises that advice on a release would name, those that lose least are taken after which nothing of the
        column is revealed, if the loss stays bearable: of all columns together, or else one after the other. `chosen`
        is the trial of the algorithm that is drafted; the quickest one is tried on more rows.
        """
        rows = self.sample
        if chosen.algorithm == _PROBE:
            rows = self.larger
            chosen = _try_algorithm(rows, self.engine, [*attributes, *promises], _PROBE, attacked=True)
        told = [guess for guess in guesses if guess.column.name in chosen.revealed]
        options = {guess.column.name: self._list_defences(attributes, promises, guess) for guess in told}
        steps = [{name: some} for name, found in options.items() for some in found]
        if len(options) > 1 and all(options.values()):
            steps.insert(0, {name: found[0] for name, found in options.items()})
        found, last = promises, chosen
        for step in steps:
            if {*step}.isdisjoint(last.revealed):
                continue
            further = _with_promises(found, step)
            then = _try_algorithm(rows, self.engine, [*attributes, *further], chosen.algorithm, attacked=True)
            bearable = max(_BEARABLE, _DEARER * (chosen.loss or 0.0))
            if then.loss is not None and then.loss <= bearable and {*step}.isdisjoint(then.revealed):
                price = f"of a sample it loses {then.loss:.2f} instead of {chosen.loss:.2f}"
                why = f"  # {price}; without it values could be guessed well"
                priced = {
                    name: [*some[:-1], [*some[-1][:2], some[-1][2].partition("  #")[0] + why, *some[-1][3:]]]
                    for name, some in step.items()
                }
                found, last = _with_promises(found, priced), then
        return found, {*last.revealed}

    def _list_defences(
        self, attributes: Sequence[list[str]], promises: list[list[str]], guess: Guess
    ) -> list[list[list[str]]]:
        """Return what may be promised about a column against attacks, what loses least first.

        The quickest algorithm tells; promises under which it still reveals the column come last.
        """
        name = guess.column.name
        now = [each for each in promises if _promised_attribute(each) == name]
        options = [_strict_promises(guess, self.unit), *([*now, *_promise_nearness(guess, t)] for t in _NEARER)]
        options = [each for each in options if each and each != now]
        if _PROBE not in TRIED:
            return options
        bodies = [[*attributes, *_with_promises(promises, {name: each})] for each in options]
        tried = [_try_algorithm(self.sample, self.engine, body, _PROBE, attacked=True) for body in bodies]
        able = [at for at, trial in enumerate(tried) if trial.loss is not None]
        return [options[at] for at in sorted(able, key=lambda at: (name in tried[at].revealed, tried[at].loss))]


def _with_promises(promises: Sequence[list[str]], about: Mapping[str, Sequence[list[str]]]) -> list[list[str]]:
    """Return the promises with those about some columns replaced."""
    kept = [each for each in promises if _promised_attribute(each) not in about]
    return [*kept, *(each for some in about.values() for each in some)]


def _try_algorithms(sample: Source, engine: Engine, body: Sequence[Sequence[str]], *, few: bool) -> tuple[Trial, ...]:
    """Run the algorithms on a sample; `local` only where the table has few rows."""
    able = [algorithm for algorithm in TRIED if few or algorithm != "local"]
    return tuple(_try_algorithm(sample, engine, body, algorithm, attacked=True) for algorithm in able)


def _try_algorithm(
    sample: Source,
    engine: Engine,
    body: Sequence[Sequence[str]],
    algorithm: str,
    *,
    attacked: bool = False,
    learning: bool = False,
) -> Trial:
    """Make a release of a sample and, if asked for, attack it; if `learning`, with what its maker knows."""
    method = ["[method]", f"algorithm = {_toml(algorithm)}", *_suppression(algorithm)]
    policy = Policy(**tomllib.loads(_join_sections([*body, method])))
    try:
        with warnings.catch_warnings(action="ignore", category=ShoalWarning):
            plan = solve(Problem.of(sample, policy, engine))
            released = recode(sample, plan, policy, engine)
            shown = released.columns
    except ShoalError as wrong:
        return Trial(algorithm, None, why=f"no release of a sample of {sample.table.rows:,} rows: {wrong}")
    names = [name for name in policy.quasi_identifiers if name in shown]
    share = {name: _share_of_stars(shown[name]) for name in names}
    made = Trial(algorithm, plan.metrics["loss"], _first_rows(shown, policy.quasi_identifiers), starred=share)
    if not attacked:
        return made
    published = published_from_plan(plan, policy, shown, plan.recoding.separate(sample.table))
    if learning and released.rows is not None:
        lines = maker_audit(published, Truth(sample.table, released.rows)).successes
    else:
        lines = quick_audit(published).successes
    told = [line for line in lines if line.channel in {Channel.ATTRIBUTE, Channel.RULES}]
    revealed = tuple(dict.fromkeys(name for line in told for name in line.columns))
    singled_out = sum(line.people for line in lines if line.channel is Channel.SINGLING_OUT)
    return replace(made, revealed=revealed, singled_out=singled_out)


def _promise_nearness(found: Guess, t: float) -> list[list[str]]:
    """Return the promise that classes are near to the table; and that none holds one value, where that is near, too."""
    named = f"attribute = {_toml(found.column.name)}"
    near = ["[[require]]", 'model = "t-closeness"', f"t = {t}", named]
    if t < 1 - _shares(found.published, None).max():
        return [near]
    return [near, ["[[require]]", 'model = "distinct-l-diversity"', "l = 2  # no class tells a value", named]]


def _share_of_stars(column: ReleasedColumn) -> float:
    """Return the share of the rows in which a released column shows `*`."""
    tops = [at for at, text in enumerate(column.texts.to_pylist()) if text == TOP]
    return float(np.isin(column.codes, tops).mean()) if len(column.codes) else 0.0


def _first_rows(shown: Mapping[str, ReleasedColumn], quasi: Sequence[str]) -> tuple[Mapping[str, str], ...]:
    """Return what the quasi-identifiers of some released rows show."""
    columns = {name: shown[name] for name in quasi if name in shown}
    count = min((len(column.codes) for column in columns.values()), default=0)
    places = [count * at // 3 for at in range(min(count, 3))]
    return tuple({name: column.text(at) for name, column in columns.items()} for at in places)


def _head(source: Source, marks: Sequence[str]) -> list[str]:
    sniffed = {key: value for key, value in source.guessed.items() if value not in {"utf-8", "utf-8-sig"}}
    given = source.given.get("missing", (source.missing,))
    guessed = "; those that nobody has given are usual marks of missing values" if marks else ""
    return [
        f"# Drafted by shoal {__version__} for {source.name}. Check every role: only you know what outsiders know.",
        "# docs/reference/policy.md says what every key means, with a line of example for each form of hierarchy.",
        f"format = {FORMAT}",
        "",
        "[data]",
        f"missing = {_toml([*given, *sorted(marks)])}  # read as null{guessed}",
        *(f"{key} = {_toml(value)}  # as given" for key, value in source.given.items() if key != "missing"),
        *(f"{key} = {_toml(value)}  # {_comment_on_sniffed(key, value)}" for key, value in sniffed.items()),
    ]


def _comment_on_sniffed(key: str, value: Sniffed) -> str:
    """Return the comment on a detected property of a file: sniffed, or only a guess."""
    guessed = key == "encoding" and value in {"cp1252", "latin-1"}
    return "a guess: check that letters with accents look right" if guessed else "sniffed"


_TREE = 'hierarchy = { tree = { "one group" = ["a value", "another"], "other group" = ["a third"] } }'


def _loses_more(found: Guess) -> bool:
    """Return whether the hierarchy of a column is the value or `*`, where a tree would lose less."""
    assert found.builder is not None
    return isinstance(found.builder, ValueOnly) and found.column.kind is not Kind.NUMBER


def _attribute(found: Guess, *, less: bool, shown: bool = False) -> list[str]:
    """Return the section of a column.

    `less` says that its detail matters less than that of others, `shown` that a line shows how a tree is written.
    """
    said = f"{found.certainty}: {found.why}"
    lines = [f"[attributes.{_key(found.column.name)}]", f"role = {_toml(str(found.role))}  # {said}"]
    if found.is_open:
        lines.append('confirm = "?"  # decide on the role, then delete this line')
    if found.is_exact:
        own, rows, step = found.column.uniques, len(found.column.codes), found.step
        why = f"# {own:,} of {rows:,} rows hold a value that no other row has: whoever knows one exactly finds the row;"
        if step is not None:
            lines += [f"round = {written_step(step)}", why, "# so its numbers are published as multiples of that"]
            for key, bound in zip(("bottom", "top"), found.bounds, strict=True):
                if bound is not None:
                    side = "smaller" if key == "bottom" else "larger"
                    lines.append(
                        f"{key} = {written_step(bound)}  # {side} ones, some of them unique, are published as this"
                    )
            if found.published.uniques:
                left = f"# {found.published.uniques:,} rows still hold a number that no other row has"
                lines.append(f"{left}; a larger step leaves fewer")
        else:
            better = rounding_step(found.column)
            how = "" if better is None else f"round = {written_step(better)}, "
            lines += [
                why,
                f"# {how}drop it as an identifier, make it a quasi-identifier if others may know it, or confirm = true",
            ]
    if found.builder is not None:
        lines.append(f"hierarchy = {_toml(found.builder.spec())}  # {reason(found.column, found.builder)}")
    if shown:
        lines.append(f"# such a tree: {_TREE}")
    if less:
        lines.append(f"importance = {_LESS}  # a column left at 1 keeps its detail first: here what tells ages")
    return lines


_FEWEST_PERSONS = 10
"""Fewest persons behind a label that a draft shows, if k is less (design 13)."""


def _draw_levels(found: Guess, unit: Column | None, least: int) -> list[str]:
    """Return a comment with the labels of one value, level by level, none of them of fewer than `least` persons.

    The value itself is not shown: a draft holds no cell of the table.
    """
    if found.builder is None or isinstance(found.builder, ValueOnly):
        return []
    column = found.column
    try:
        hierarchy = build(column, found.builder)
    except BadHierarchy:  # the trials of the draft say why
        return []
    if hierarchy.height < 2 or not len(column.values):
        return []
    value = int(column.counts[: len(column.values)].argmax())
    labels = ["a value"]
    for level in range(1, hierarchy.height + 1):
        group = hierarchy.levels[level][value]
        alike = hierarchy.levels[level] == group
        persons = int(column.counts[alike].sum()) if unit is None else len(np.unique(unit.codes[alike[column.codes]]))
        label = str(hierarchy.labels[level][group])
        labels.append("…" if persons < least and label != TOP else label if label.isprintable() else _toml(label))
    hidden = all(label == "…" for label in labels[1:-1])
    return [] if hidden else [f"# its levels, for the most frequent value: {' -> '.join(labels)}"]


def _require(
    guesses: Sequence[Guess],
    k: int,
    strict: Collection[str] = (),
    dear: Mapping[str, str] | None = None,
    together: Mapping[str, str] | None = None,
) -> list[list[str]]:
    """Return the promises of the release: k, and one or more for each column that is known to be sensitive.

    Columns in `strict` get promises that no class reveals much, those with an open question, too; `dear` says how much
    these would cost for others.
    `together` are columns that tell persons apart together and repeat.
    """
    of = "persons" if any(found.role is Role.UNIT for found in guesses) else "rows"
    size = [
        "[[require]]",
        'model = "k-anonymity"',
        f"k = {k}  # every released combination is shared by {k} {of}{_comment_on_k(k)}",
        *(
            f"# rows are counted, though {names} together have only {often}"
            for names, often in (together or {}).items()
        ),
    ]
    unit = next((found.column for found in guesses if found.role is Role.UNIT), None)
    promises = [size]
    for found in _sensitive_guesses(guesses):
        name, stricter = found.column.name, _strict_promises(found, unit)
        if name in strict and stricter:
            promises += stricter
        else:
            promises.append([*_promise(found), *_comment_on_price(stricter, (dear or {}).get(name))])
    for found in _open_guesses(guesses):
        if found.column.name in strict:
            promises += _strict_promises(found, unit) or [_promise(found)]
    return promises


def _comment_on_k(k: int) -> str:
    """Return the comment that open data needs a larger k, where k is smaller."""
    return "; for open data, which anybody may get, take 10 or more" if k < _OPEN else ""


def _sensitive_guesses(guesses: Sequence[Guess]) -> list[Guess]:
    """Return the columns that are known to be sensitive."""
    return [found for found in guesses if found.role is Role.SENSITIVE and not found.is_open and found.values > 1]


def _open_guesses(guesses: Sequence[Guess]) -> list[Guess]:
    """Return the columns with an open question that are taken as sensitive until it is answered."""
    return [found for found in guesses if found.role is Role.SENSITIVE and found.is_open and found.values > 1]


def _comment_on_question(found: Guess, unit: Column | None, *, promised: bool) -> list[str]:
    """Return a comment on what to promise about a column, which its owner has to decide on.

    `promised` says that the draft promises something about it already.
    """
    if not found.is_open or found.values < 2:
        return []
    if promised:
        return ["# what is promised about it below holds until you decide; if it is not sensitive, delete that"]
    promises = _strict_promises(found, unit) or [_promise(found)]
    told = [", ".join(line.partition("  #")[0] for line in each[1:]) for each in promises]
    return [f"# if it is sensitive, add a [[require]] for it: {'; and one more: '.join(told)}"]


def _comment_on_price(promises: Sequence[Sequence[str]], price: str | None) -> list[str]:
    """Return a comment that names stricter promises, if they were left out because of their cost."""
    if price is None or not promises:
        return []
    stricter = [", ".join(line.partition("  #")[0] for line in each[1:-1]) for each in promises]
    many = "a" if len(stricter) == 1 else str(len(stricter))
    instead = f"{many} [[require]] of the same attribute in place of this one: {'; '.join(stricter)}"
    return [f"# in some classes a value may be likely; stricter, with a loss of {price} on a sample, {instead}"]


def _strict_promises(found: Guess, unit: Column | None = None) -> list[list[str]]:
    """Return promises under which no class reveals a value of a sensitive column, or makes one likely.

    A value is likely where a class holds half of it and twice the table's share: a class whose share of each value
    differs by less than max(1/2 - p, p) from the table's share p makes none likely. Where persons are counted and have
    several values, shares do not add up: then only shares of persons are limited.
    """
    named, shares = [f"attribute = {_toml(found.column.name)}"], _shares(found.published, unit)
    several = unit is not None and _has_several_values(unit, found.published)
    if shares.max() <= (_HALF if several else MOST_COMMON):  # else nothing would be promised
        why = "no value has half of a class, so that none can be guessed well"
        if several:
            why = "no value belongs to half of the persons of a class, so that hardly one can be guessed well"
        return [["[[require]]", 'model = "alpha-k"', f"alpha = {_HALF}  # {why}", *named]]
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
        # each pair of person and value counts once, however many rows it has
        persons = unit.codes[known].astype(np.int64)
        codes = np.unique(persons * column.size + codes) % column.size
        whole = len(np.unique(persons))
    shares: NDArray[np.float64] = np.bincount(codes, minlength=len(column.values)) / whole
    return shares


def _has_several_values(unit: Column, column: Column) -> bool:
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


def _choose_algorithm(guesses: Sequence[Guess], trials: Sequence[Trial]) -> str:
    """Return the algorithm to draft, before promises against attacks are tried."""
    return next((trial.algorithm for trial in _rank_algorithms(guesses, trials)), "optimal")


def _rank_algorithms(guesses: Sequence[Guess], trials: Sequence[Trial]) -> list[Trial]:
    """Return the algorithms that made a release, the best first; those of a loss similar to the least come first.

    Of these, one that hides ages in most rows loses against one that does not, as analyses need ages; then one after
    which rows can be singled out against one after which none can; then the loss decides.
    """
    able = [(trial.loss, trial) for trial in trials if trial.loss is not None]
    if not able:
        return []
    ages = [found.column.name for found in guesses if found.tells_age]
    least = min(loss for loss, _ in able)

    def rank(found: tuple[float, Trial]) -> tuple[bool, bool, bool, float]:
        loss, trial = found
        if loss > _SIMILAR * least:
            return True, False, False, loss
        hides = any(trial.starred.get(name, 0.0) > _MOST_ROWS for name in ages)
        return False, hides, trial.singled_out > 0, loss

    return [trial for _, trial in sorted(able, key=rank)]


def _share_shown(hidden: float) -> str:
    return f"{floor(100 * (1 - hidden))} %"


def _method(guesses: Sequence[Guess], trials: Sequence[Trial], best: str = "optimal") -> list[str]:
    losses = {trial.algorithm: trial.loss for trial in trials if trial.loss is not None}
    told = ", ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
    scale = "(0 intact … 1 nothing left)"
    why = f"of a sample it loses least {scale}: {told}" if losses else "the least loss, proved"
    if losses and losses[best] > min(losses.values()):
        least = min(losses, key=losses.__getitem__)
        hidden = {trial.algorithm: trial.starred for trial in trials}
        ages = [g.column.name for g in guesses if g.tells_age and hidden[least].get(g.column.name, 0.0) > _MOST_ROWS]
        shown = "; ".join(
            f"{_share_shown(hidden[best][n])} of {n} ({least}: {_share_shown(hidden[least][n])})" for n in ages
        )
        better = f"it shows {shown}" if shown else f"fewer attacks succeed than after {least}"
        why = f"of a sample {better}, at a similar loss {scale}: {told}"
    lines = ["[method]", f"algorithm = {_toml(best)}  # {why}"]
    nodes = prod(build(g.column, g.builder).height + 1 for g in guesses if g.builder is not None)
    if best == "mondrian":
        lines.append("# it orders numbers and dates by themselves; their hierarchies are for other algorithms")
    if best == "local" or (best == "optimal" and nodes > LARGEST_EXHAUSTED):
        lines.append("time-limit = 60  # seconds; the best release that was found by then is taken")
    return [*lines, *_suppression(best)]


def find_marks(source: Source) -> list[str]:
    """Find the texts that usually mean that a value is not known, and that no column holds as a value."""
    columns = source.table.columns.values()
    marks = {column.name: marks_of_missing(column) for column in columns}
    found: set[str] = set().union(*marks.values())
    values = {text for column in columns for text in _texts_among(column, found - marks[column.name])}
    return sorted(found - values - {*source.given.get("missing", (source.missing,))})


def _texts_among(column: Column, some: Collection[str]) -> list[str]:
    """Return the values of a column that are among some texts."""
    kept: list[str] = column.texts.filter(
        pc.is_in(column.texts, value_set=pa.array(sorted(some), pa.string()))
    ).to_pylist()
    return kept


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    """Return a value as inline TOML; JSON strings, numbers and arrays are TOML, but for one control character."""
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
    return _join_sections([[header, *(f"{_key(key)} = {_toml(value)}" for key, value in content.items())]])
