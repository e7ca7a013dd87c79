"""The problem that every solver is given: roles, hierarchies, counts and models; built once, for every method."""

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice
from math import floor, inf
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from shoal.data.class_counts import ClassCounts
from shoal.data.codes import Codes, Column, Kind, Table, encode_together, reencode
from shoal.data.frequency_set import FrequencySet
from shoal.data.packed_keys import Counted, CountInterpretation, Layout, join_columns
from shoal.engine_port import Engine, Source
from shoal.errors import BadData, BadHierarchy, BadPolicy, Infeasible, ShoalWarning
from shoal.hierarchy.build import Builder, build
from shoal.hierarchy.draft import draft
from shoal.hierarchy.taxonomy import Hierarchy
from shoal.hierarchy.top_bottom import ValueOnly
from shoal.labels.scale import Scale, read_moment
from shoal.methods import ALGORITHMS, Shape
from shoal.models.k_anonymity import KAnonymity, least_size
from shoal.models.model import Closure, Columns, Flags, Model, asked
from shoal.models.presence import DeltaPresence
from shoal.models.spec import suggest_column
from shoal.policy.document import Policy
from shoal.policy.method import Method
from shoal.policy.sections import Attribute
from shoal.recoding.outcome import Before
from shoal.roles import Role
from shoal.runtime.events import log_event, phase

if TYPE_CHECKING:
    from shoal.search.driver import Stop, Watch

_UNIQUE_SHARE = Fraction(1, 20)
_FEWEST_EXACT = 10
"""Fewest rows with a value of their own that are a reason to warn: a few are rare categories, not exact amounts."""


@dataclass(frozen=True)
class Problem:
    """A table and a policy, with everything that solvers need to know about them."""

    source: Source
    policy: Policy
    engine: Engine
    roles: Mapping[str, Role]
    builders: Mapping[str, Builder]
    """Hierarchy builders of the quasi-identifiers that are generalised along one."""
    hierarchies: Mapping[str, Hierarchy]
    classes: FrequencySet
    """The table's own classes, and the class of every row; for boxes on disk the table is one class."""
    reading: CountInterpretation
    """How to read what models count beside the classes."""
    limit: int
    """Number of rows that may be suppressed."""
    population: FrequencySet | None = None
    watch: "Watch" = lambda *_: None
    stop: "Stop" = lambda: False

    @classmethod
    @phase("counting")
    def of(
        cls,
        source: Source,
        policy: Policy,
        engine: Engine,
        watch: "Watch" = lambda *_: None,
        stop: "Stop" = lambda: False,
        *,
        quasi: Sequence[str] | None = None,
    ) -> "Problem":
        """Assign roles, build hierarchies and count the classes, as every method needs.

        `quasi` is the order of the quasi-identifiers; by default the one that decides ties.
        """
        table = source.table
        roles = assign_roles(table, policy, source.index)
        if quasi is None:
            quasi = order_of_attributes(
                (n for n, role in roles.items() if role is Role.QUASI_IDENTIFIER), policy.method
            )
        builders = _builders(policy, table, quasi)
        hierarchies = {name: hierarchy_of(source, name, builder) for name, builder in builders.items()}
        refuse_misfits(policy, table, roles)
        limit = 0 if policy.method.of_cells else policy.suppressible(table.rows)
        classes = _count(source, policy, engine, quasi, limit)
        reading = read_columns(table, policy, classes, quasi)
        population = None if source.population is None else engine.count(source.population, quasi, [])
        return cls(
            source, policy, engine, roles, builders, hierarchies, classes, reading, limit, population, watch, stop
        )

    @property
    def table(self) -> Table:
        return self.source.table

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers, in the order that decides ties."""
        return self.classes.attributes

    @property
    def in_place(self) -> bool:
        """Whether the rows stay outside memory, so that only the engine can cut them into boxes."""
        return _in_place(self.source, self.policy)

    def importance(self, name: str) -> float:
        given = self.policy.attributes[name].importance
        return 1.0 if given is None else given

    @cached_property
    def before(self) -> Before:
        """The table before recoding, as metrics see it; metrics of cells need no hierarchies."""
        importance = {name: a.importance for name, a in self.policy.attributes.items() if a.importance is not None}
        every = {*self.policy.named(Role.SENSITIVE)} == {*self.policy.about} != set()
        hierarchies = () if self.policy.method.of_cells else tuple(self.hierarchies.values())
        sensitive = self.reading if every else None
        return Before(self.classes, hierarchies, importance, self.population, sensitive, self.source.room)

    def refuse_infeasible(self) -> None:
        """Refuse a policy that no recoding of the table can keep."""
        refuse_outsiders(self.policy.models, self.classes, self.reading, self.population)
        whole = as_one_class(self.classes, self.reading, self.population)
        refuse_impossible(self.policy.models, whole, self.limit, split=self.reading.split)
        warn_of_unknown_values(self.policy.models, self.reading.labels)

    def within_time(self) -> "Problem":
        """Return the same problem, which also stops once the time limit of the policy, counted from now, is over."""
        limit, stop = self.policy.method.time_limit, self.stop
        ends = inf if limit is None else perf_counter() + limit
        return replace(self, stop=lambda: stop() or perf_counter() >= ends)


def _in_place(source: Source, policy: Policy) -> bool:
    return source.table.relation is not None and policy.method.of_cells


def _builders(policy: Policy, table: Table, quasi: Sequence[str]) -> dict[str, Builder]:
    """Return the hierarchies that the method uses: for all quasi-identifiers, only for texts (boxes), or none."""
    shape = ALGORITHMS[policy.method.algorithm].shape
    if policy.republish is None and shape is Shape.GROUPS:
        return {}
    if policy.republish is None and shape in {Shape.BOXES, Shape.CLUSTERS}:
        given = {name: policy.attributes[name].hierarchy for name in quasi if table[name].kind is Kind.TEXT}
        return {name: builder for name, builder in given.items() if builder is not None}
    return {name: builder_of(policy, table[name]) for name in quasi}


def builder_of(policy: Policy, column: Column) -> Builder:
    """Return the hierarchy that the policy gives, or a draft; if nothing is generalised, the value or `*`."""
    if policy.method.generalise == "none":
        return ValueOnly()
    return policy.attributes[column.name].hierarchy or draft(column, policy.largest_k)


def _count(source: Source, policy: Policy, engine: Engine, quasi: Sequence[str], limit: int) -> FrequencySet:
    """Count the classes of the table, and in each class whatever the models need."""
    table = source.table
    if _in_place(source, policy):  # its own classes would be too many
        layout = Layout.of([1] * len(quasi))
        return FrequencySet(tuple(quasi), layout, np.zeros((1, layout.words), dtype=np.uint64), np.array([table.rows]))
    beside = columns_to_count(policy, quasi)
    if table.relation is not None:  # measures cannot look at the rows again
        beside += [name for name in policy.named(Role.SENSITIVE) if name not in beside]
    classes = engine.count(table, quasi, beside)
    log_event("counted", classes=len(classes))
    if policy.method.of_cells or any(isinstance(model, DeltaPresence) and model.min for model in policy.models):
        return classes  # for the least share, all classes of the table are compared with those of the population
    return classes.at_least(least_size(policy.models), limit)


def assign_roles(table: Table, policy: Policy, index: Sequence[str] = ()) -> dict[str, Role]:
    """Return the role of every column, in the order of the table; a column without one is an error (design 12)."""
    missing = [name for name in policy.attributes if name not in table.columns]
    if 2 * len(missing) > len(policy.attributes) > 2:
        raise BadPolicy(
            f"the table has {len(policy.attributes) - len(missing)} of the {len(policy.attributes)} columns that the "
            "policy names: is it the policy of another table?"
        )
    _refuse_missing_columns(missing, table)
    unknown = [name for name in table.columns if name not in policy.attributes]
    if policy.data.others is None and any(name in index for name in unknown):
        raise BadPolicy(
            "the frame has an index of its own, which can identify people: drop it with reset_index(drop=True), or "
            f"give it a role as attribute {next(name for name in unknown if name in index)!r}"
        )
    if unknown and policy.data.others is None:
        named = ", ".join(repr(name) for name in unknown)
        raise BadPolicy(
            f"column(s) {named} have no role; add them to [attributes], or set others = 'drop' or 'insensitive' "
            "under [data]"
        )
    other = Role.INSENSITIVE if policy.data.others == "insensitive" else Role.IDENTIFIER
    roles = {n: policy.attributes[n].role if n in policy.attributes else other for n in table.columns}
    _refuse_several_units(roles)
    _refuse_unconfirmed(table, policy, roles)
    _warn_of_exact_values(table, policy, roles)
    _warn_of_unique_after_rounding(table, policy, roles)
    _warn_of_guesses(policy)
    if policy.unit is None:
        warn_of_several_rows(table, dropped_by_decision(policy, roles))
    for model in policy.require:
        if isinstance(model, KAnonymity) and model.k == 1:
            warnings.warn(ShoalWarning("k = 1 gives no protection"), stacklevel=2)
    return roles


def _refuse_missing_columns(missing: Sequence[str], table: Table) -> None:
    """Refuse columns of a policy that the table does not have, all of them in one sentence."""
    if len(missing) == 1:
        (name,) = missing
        raise BadPolicy(f"attributes.{name}: the table has no column {name!r}{suggest_column(name, table.columns)}")
    if missing:
        said = ", ".join(f"{name!r}{suggest_column(name, table.columns)}" for name in missing)
        raise BadPolicy(f"attributes: the table has none of these {len(missing)} columns: {said}")


def dropped_by_decision(policy: Policy, roles: Mapping[str, Role]) -> list[str]:
    """Return the columns that are dropped as identifiers; not those dropped until somebody decides what they are."""
    asked = {name for name, attribute in policy.attributes.items() if attribute.confirm in {"?", "guessed"}}
    return [name for name, role in roles.items() if role is Role.IDENTIFIER and name not in asked]


def _refuse_several_units(roles: Mapping[str, Role]) -> None:
    units = [name for name, role in roles.items() if role is Role.UNIT]
    if len(units) > 1:
        raise BadPolicy(f"attributes.{units[1]}: {units[0]!r} is the unit already; one column tells persons apart")


_MOST_LOOKED_AT = 1_000
"""Most different texts of a column that are looked at to see whether they name people."""


def _refuse_unconfirmed(table: Table, policy: Policy, roles: Mapping[str, Role]) -> None:
    """Refuse columns that would be published as they are and name people, unless somebody has confirmed that."""
    from shoal.risk.identifiers import find_direct_identifier  # only for columns that are published as they are

    for name, role in roles.items():
        confirmed = policy.attributes[name].confirm if name in policy.attributes else False
        if role not in {Role.INSENSITIVE, Role.SENSITIVE} or confirmed in {True, "guessed"}:
            continue
        found = None if table.relation is not None else find_direct_identifier(table[name], _MOST_LOOKED_AT)
        if found is not None:
            share = f"{floor(100 * found.share)} %"
            raise BadPolicy(
                f"attributes.{name}: {share} of its cells look like {found.kind.title}, and as {role} it would be "
                "published as it is; give it the role 'identifier', so that it is dropped, or confirm = true"
            )
        if role is not Role.INSENSITIVE:
            continue
        unique = table[name].uniques
        if Fraction(unique, max(table.rows, 1)) > _UNIQUE_SHARE:
            raise BadPolicy(
                f"attributes.{name}: {unique} of {table.rows} rows hold a value that no other row has, so it may "
                "identify people; give it another role, or confirm = true"
            )


def exact_columns(table: Table, policy: Policy, roles: Mapping[str, Role]) -> dict[str, int]:
    """Return the sensitive columns in which many rows hold a value that no other row has, with the number of such rows.

    Whoever knows the exact amount of somebody's bill finds the row. Columns with confirm = true are left out; so are
    all where only the values of a whole group are published.
    """
    if policy.republish is None and ALGORITHMS[policy.method.algorithm].shape is Shape.GROUPS:
        return {}
    secret = [name for name, role in roles.items() if role is Role.SENSITIVE]
    own = {name: table[name].uniques for name in secret if name not in policy.confirmed}
    return {name: rows for name, rows in own.items() if has_exact_values(rows, table.rows)}


def has_exact_values(uniques: int, rows: int) -> bool:
    """Whether the rows with a value of their own are so many that it is an exact amount, not a rare category.

    >>> has_exact_values(9, 20), has_exact_values(10, 200), has_exact_values(11, 200)
    (False, False, True)
    """
    return uniques >= _FEWEST_EXACT and Fraction(uniques, rows) > _UNIQUE_SHARE


def _warn_of_exact_values(table: Table, policy: Policy, roles: Mapping[str, Role]) -> None:
    _warn_of_values(
        exact_columns(table, policy, roles),
        table.rows,
        "many rows hold a sensitive value that no other row has, in {}: whoever knows somebody's exact value finds the "
        "row; give the column round = …, or the role 'quasi-identifier', so that it is generalised, or 'identifier', "
        "so that it is dropped, or confirm = true",
    )


def _warn_of_values(found: Mapping[str, int], of: int, sentence: str, more: str = "") -> None:
    """Warn of columns in which so many of the rows hold a value of their own; `{}` in the sentence names them."""
    if found:
        named = ", ".join(f"{name!r} ({rows:,} of {of:,} rows)" for name, rows in found.items())
        warnings.warn(ShoalWarning(sentence.format(named) + more), stacklevel=3)


def unique_after_rounding(table: Table, policy: Policy, roles: Mapping[str, Role]) -> dict[str, int]:
    """Return the rounded columns in which some rows still hold a value that no other row has, with their number.

    Columns in which there are many, which `exact_columns` names, and those with confirm = true are left out.
    """
    many = exact_columns(table, policy, roles)
    shown = [name for name in policy.rounding if name not in many and name not in policy.confirmed]
    found = {name: table[name].uniques for name in shown}
    return {name: rows for name, rows in found.items() if rows}


def _warn_of_unique_after_rounding(table: Table, policy: Policy, roles: Mapping[str, Role]) -> None:
    found = unique_after_rounding(table, policy, roles)
    helps = "; ".join(f"{name!r}: {_say_bounds(table[name], policy.attributes[name])}" for name in found)
    _warn_of_values(
        found,
        table.rows,
        "some rows hold a value that no other row has even after rounding, in {}",
        f"; {helps}, beyond which numbers are published as the bound, or give it a larger round, or confirm = true",
    )


def _say_bounds(column: Column, attribute: Attribute) -> str:
    """Say which bounds of a rounded column to set or to move, so that its unique numbers lie beyond them."""
    if column.kind is not Kind.NUMBER or not len(column.values):  # a text is refused in a moment
        return "give it bottom = … and top = …"
    counts = column.counts[: len(column.values)]
    middle = column.floats[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]  # the values are sorted
    alone = column.floats[counts == 1]
    low = "give it bottom = …" if attribute.bottom is None else "raise its bottom"
    high = "give it top = …" if attribute.top is None else "lower its top"
    return " and ".join([low] * bool((alone < middle).any()) + [high] * bool((alone >= middle).any()))


def _warn_of_guesses(policy: Policy) -> None:
    guessed = [name for name, attribute in policy.attributes.items() if attribute.confirm == "guessed"]
    if guessed:
        named = ", ".join(map(repr, guessed))
        gone = [name for name in guessed if policy.attributes[name].role is Role.IDENTIFIER]
        dropped = f"; dropped: {', '.join(map(repr, gone))}" if gone else ""
        warnings.warn(ShoalWarning(f"the role of {named} is a guess that nobody has confirmed{dropped}"), stacklevel=2)


def refuse_misfits(policy: Policy, table: Table, roles: Mapping[str, Role]) -> None:
    """Refuse rows without a person, and columns that a model or a rounding cannot work with."""
    if policy.unit is not None:
        _refuse_rows_without_person(policy.unit, table)
    for name in policy.rounding:
        _refuse_non_numbers(table[name])
    _refuse_joined_identifiers(table, roles)
    builders = {name: attribute.hierarchy for name, attribute in policy.attributes.items()}
    for model in policy.models:
        model.refuse_misfit(table, roles, builders)
        if model.columns and policy.unit is not None:
            warnings.warn(ShoalWarning(f"{model.name} counts rows, not persons"), stacklevel=2)


_GROUPED = re.compile(r"-?[1-9][0-9]{0,2}(?:([.,'’ \u00a0\u202f])[0-9]{3})(?:\1[0-9]{3})*(?:[.,][0-9]+)?")
"""A number with marks between its thousands."""


_COMPARED = 1_000
"""Rows, spread over the table, whose cells are compared to find out whether a column contains another."""
_SHORTEST = 3
"""Fewest characters of a cell that is not found in another by chance."""


def compared_cells(column: Column) -> list[str | None]:
    """Return the cells of some rows, spread over the table, of a text column; of others, of as many rows, as texts."""
    some = np.linspace(0, len(column.codes) - 1, min(len(column.codes), _COMPARED)).astype(np.int64)
    texts: list[str | None] = [*column.texts.to_pylist(), None]
    return [texts[min(code, len(column.values))] for code in column.codes[some].tolist()]


def contains(cells: Sequence[str | None], parts: Sequence[str | None]) -> bool:
    """Whether nine of ten cells contain those of another column in their rows, such as a key joined from several.

    >>> contains(["Anna|1972", "Bert|1980"], ["Anna", "Bert"]), contains(["Anna", "Bert"], ["Anna|1972", "Bert|1980"])
    (True, False)
    """
    known = [(cell, part) for cell, part in zip(cells, parts, strict=True) if cell is not None and part is not None]
    failed, most = 0, len(known) // 10
    for cell, part in known:
        failed += not (len(part) >= _SHORTEST and part != cell and part in cell)
        if failed > most:
            return False
    return bool(known)


def _refuse_joined_identifiers(table: Table, roles: Mapping[str, Role]) -> None:
    """Refuse to publish a column whose cells contain the names or addresses that another column was dropped for."""
    if table.relation is not None:
        return
    dropped = [name for name, role in roles.items() if role in {Role.IDENTIFIER, Role.UNIT}]
    parts = {
        name: compared_cells(table[name])
        for name in dropped
        if _says(name, {"name", "contact"}) and len(table[name].values) > 1
    }
    for name, role in roles.items():
        if not parts or role in {Role.IDENTIFIER, Role.UNIT} or table[name].kind is not Kind.TEXT:
            continue
        cells = compared_cells(table[name])
        within = [one for one, part in parts.items() if contains(cells, part)]
        if within:
            raise BadPolicy(
                f"attributes.{name}: its cells contain those of {within[0]!r}, which is dropped because it names "
                "people; give it the role 'identifier', or 'unit' if it tells persons apart"
            )


def _refuse_non_numbers(column: Column) -> None:
    """Refuse to round a column in which something is no number."""
    if column.kind is Kind.NUMBER or not len(column.values):
        return
    scale = Scale(column.values, column.decimal)
    others = np.setdiff1d(np.arange(len(column.values)), scale.numbers.codes)
    row = column.first_rows[others].min() if len(others) else 1
    texts = column.texts.to_pylist()
    if any(_GROUPED.fullmatch(texts[code]) for code in others.tolist()):
        raise BadData(
            f"column {column.name!r}, row {row}: it is to be rounded and holds marks between thousands; name them "
            'under [data], e.g. thousands = "." and decimal = ",", and give what else is no number there as missing'
        )
    raise BadData(
        f"column {column.name!r}, row {row}: it is to be rounded and is no number; leave round out, or add the text to "
        "missing"
    )


def _refuse_rows_without_person(unit: str, table: Table) -> None:
    column = table[unit]
    if column.null_code is not None:
        rows = int(column.counts[column.null_code])
        raise BadData(f"column {unit!r}: {rows} row(s) belong to no person; fill the column, or leave the rows out")


ROWS_OF_A_PERSON = (Fraction(51, 50), 50)
"""Least and most rows per value of a column that identifies persons: fewer are namesakes, more are groups of people."""


SEVERAL_ROWS = Fraction(3, 2)
"""Rows per name or address from which on the repetition is not explained by namesakes."""
_FIXED = {"birth", "sex"}
"""Meanings of columns that do not change from one row of a person to the next."""


def fixed_columns(columns: Iterable[Column]) -> list[Column]:
    """Return the columns whose headers say that they hold birth dates or sexes."""
    return [column for column in columns if _says(column.name, _FIXED)]


def are_namesakes(column: Column, fixed: Iterable[Column]) -> bool:
    """Whether rows with the same name or address belong to several people: of different birth dates, or of both sexes.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> name, born = encode("name", pa.array(["Li", "Wu"] * 3)), encode("born", pa.array([1950, 1960, 1971] * 2))
    >>> are_namesakes(name, [born]), are_namesakes(name, [encode("sex", pa.array(["f", "m"] * 3))])
    (True, False)
    """
    if _says(column.name, {"person_number"}):
        return False
    others = (other for other in fixed if other is not column)
    pairs = (join_columns([(each.codes, each.size) for each in (column, other)])[1] for other in others)
    return any(several > SEVERAL_ROWS * len(column.values) for several in pairs)


def _says(header: str, meanings: Collection[str]) -> bool:
    """Whether a header has one of these meanings."""
    from shoal.risk.vocabulary import meaning_of  # few tables need it

    found = meaning_of(header)
    return found is not None and found[0].name in meanings


def _may_name_people(header: str) -> bool:
    """Whether a header says that its column names people, or has no known meaning."""
    from shoal.risk.vocabulary import meaning_of  # few tables need it

    found = meaning_of(header)
    return found is None or found[0].role is Role.IDENTIFIER


def repeated_persons(table: Table, names: Iterable[str]) -> dict[str, str]:
    """Return what tells persons apart and repeats, each with a phrase that says how often.

    These are columns that name persons, and names together with the date of birth, joined as in a sentence.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> repeated_persons(Table({"patient": encode("patient", pa.array(["p1", "p2", "p1"]))}, 3), ["patient"])
    {'patient': '2 values on 3 rows'}
    """
    names = list(names)
    fewest, most = ROWS_OF_A_PERSON
    often = {}
    for name in names:
        values, filled = len(table[name].values), int(table[name].counts[: len(table[name].values)].sum())
        if values >= 2 and fewest * values <= filled <= most * values and _may_name_people(name):
            often[name] = f"{values:,} values on {filled:,} rows"
    # the rows of a table on disk are not looked at
    fixed = fixed_columns(table.columns.values()) if often and table.relation is None else []
    found = {name: phrase for name, phrase in often.items() if not are_namesakes(table[name], fixed)}
    if any(_says(name, {"person_number"}) for name in found):
        return found
    return found | repeated_together(table, names)


_TOGETHER = "combinations"
_BEYOND_CHANCE = 4
"""How many times more pairs of rows agree in names and birth than if the two were independent: these are persons."""


_MOST_JOINED = 20
"""Most columns with names and dates of birth that are taken for those of one person."""


def repeated_together(table: Table, names: Iterable[str]) -> dict[str, str]:
    """Return the columns with names of people and dates of birth, joined, if they repeat more than by chance.

    Namesakes are born on different days: so many pairs of rows agree in both as there are pairs that agree in the
    names, times the share of all pairs that agree in the birth. `names` are the columns that may hold names; where
    none does, addresses are taken.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> rows = {"name": list("abcdefghij" * 6), "born": [*range(1950, 1990), *range(1950, 1970)]}
    >>> table = Table({name: encode(name, pa.array(column)) for name, column in rows.items()}, 60)
    >>> repeated_together(table, ["name"])
    {'name and born': '40 combinations on 60 rows'}
    """
    names = list(names)
    named = {name for name in names if _says(name, {"name"})} or {name for name in names if _says(name, {"contact"})}
    births = {name for name in table.columns if _says(name, {"birth"})} - named
    if not named or not births or table.relation is not None or len(named | births) > _MOST_JOINED:
        return {}
    parts = [[table[name] for name in table.columns if name in some] for some in (named, births, named | births)]
    known = np.ones(table.rows, dtype=bool)
    for column in parts[-1]:
        known &= column.codes < len(column.values)
    # [names, births, both]: the rows of each combination
    often = [np.bincount(join_columns([(each.codes, each.size) for each in part])[0][known]) for part in parts]
    of_names, of_births, of_both = (float((rows * (rows - 1)).sum()) for rows in often)  # pairs of rows that agree
    rows, values = int(known.sum()), int((often[-1] > 0).sum())
    fewest, most = ROWS_OF_A_PERSON
    if not fewest * values <= rows <= most * values or of_both * rows**2 <= _BEYOND_CHANCE * of_names * of_births:
        return {}
    return {_join_words([each.name for each in parts[-1]]): f"{values:,} {_TOGETHER} on {rows:,} rows"}


def _join_words(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}"


def persons_by(table: Table, told: str) -> Codes | None:
    """Return the person of each row, where a column, or several joined as in a sentence, tell persons apart.

    None where the table has no such columns.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> table = Table({name: encode(name, pa.array(cells)) for name, cells in {"a": "xxy", "b": "121"}.items()}, 3)
    >>> persons_by(table, "a and b").tolist(), persons_by(table, "a").tolist()
    ([0, 1, 2], [0, 0, 1])
    """
    names = _split_words(told, table.columns)
    return join_columns([(table[name].codes, table[name].size) for name in names])[0] if names else None


def _split_words(told: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the names that were joined; none where other names were."""
    if told in names:
        return (told,)
    starts = ((name, f"{name}{mark}") for mark in (", ", " and ") for name in names)
    begins = ((name, told.removeprefix(start)) for name, start in starts if told.startswith(start))
    return next(((name, *rest) for name, left in begins if (rest := _split_words(left, names))), ())


def warn_of_several_rows(table: Table, names: Iterable[str]) -> dict[str, str]:
    """Warn of columns that name persons and whose values repeat, though rows are counted; return these columns."""
    return warn_of_repeated(repeated_persons(table, names))


_WARNED = 5
"""Columns whose values repeat that are warned of one by one."""


def warn_of_repeated(found: Mapping[str, str]) -> dict[str, str]:
    """Warn of columns whose values repeat, given with how often they do; return them."""
    for name, often in islice(found.items(), _WARNED):
        counted = "so that persons are counted and not rows"
        if _TOGETHER in often:
            said = (
                f"{describe_combinations(name, often)}: people seem to have several rows; add a column that holds "
                "these values joined to the table, or a number of the person, and give it the role 'unit', or name it "
                f"with --unit (in Python unit=…) where there is no policy, {counted}"
            )
        else:
            said = (
                f"{name!r} has {often}: if a person can have several rows, give it the role 'unit', or name it with "
                f"--unit (in Python unit=…) where there is no policy, {counted}"
            )
        warnings.warn(ShoalWarning(said), stacklevel=2)
    if len(found) > _WARNED:
        more = f"{len(found) - _WARNED:,} more columns that may name persons have values that repeat"
        warnings.warn(ShoalWarning(f"{more}: only one of them can be the unit"), stacklevel=2)
    return dict(found)


def describe_combinations(names: str, often: str) -> str:
    """Say how often columns repeat together.

    >>> describe_combinations("name and born", "40 combinations on 60 rows")
    '60 rows, but name and born together have only 40 combinations'
    """
    values, _, rows = often.partition(" on ")
    return f"{rows}, but {names} together have only {values}"


def columns_to_count(policy: Policy, quasi: Sequence[str]) -> list[Counted]:
    """Return the columns that models and the metric need counted in each class; with a unit, paired with the unit."""
    if policy.unit is None:
        return [*policy.about, *columns_counted_together(policy, quasi)]
    return [policy.unit, *((policy.unit, name) for name in policy.about), *columns_counted_together(policy, quasi)]


def columns_counted_together(policy: Policy, quasi: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets of columns that models need counted together."""
    return sorted({_expanded(model.columns, quasi) for model in policy.models if model.columns})


def _expanded(columns: Columns, quasi: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for column in columns for name in ([column] if isinstance(column, str) else quasi))


def sensitive_hierarchies_of(table: Table, policy: Policy) -> dict[str, Hierarchy]:
    """Return the hierarchies of the sensitive attributes that have one."""
    known = {name: policy.attributes[name].hierarchy for name in policy.named(Role.SENSITIVE)}
    return {name: build(table[name], builder) for name, builder in known.items() if builder is not None}


def orders_of(policy: Policy) -> dict[str, tuple[str, ...]]:
    """Return the order of values of each column for which the policy gives one."""
    return {name: a.order for name, a in policy.attributes.items() if a.order is not None}


def read_columns(table: Table, policy: Policy, classes: FrequencySet, quasi: Sequence[str]) -> CountInterpretation:
    """Return how to read the counted columns: labels, hierarchies and orders, and the counts of the whole table."""
    jointly = columns_counted_together(policy, quasi)
    trees = sensitive_hierarchies_of(table, policy)
    reading = CountInterpretation(
        labels={name: _labels(table[name]) for name in dict.fromkeys([*policy.about, *chain(*jointly)])},
        unit=policy.unit,
        levels={name: tree.levels for name, tree in trees.items()},
        order=orders_of(policy),
        joint=dict.fromkeys(jointly),
        quasi=tuple(quasi),
        level_labels={name: tree.labels for name, tree in trees.items()},
        split=_warn_of_varying_persons(table, quasi, policy.unit),
    )
    whole = classes.project([]).class_counts(reading)
    reference = {name: values.overall for name, values in whole.sensitive.items()}
    return replace(reading, reference=reference, joint=whole.joint)


def _labels(column: Column) -> list[str | None]:
    return [*column.texts.to_pylist(), None][: column.size]


def _warn_of_varying_persons(table: Table, quasi: Sequence[str], unit: str | None) -> bool:
    """Return whether the quasi-identifiers of some person differ between rows, and warn of all such columns."""
    varying = []
    for name in quasi if unit is not None else ():
        _, pairs, _ = join_columns([(table[n].codes, table[n].size) for n in (unit, name) if n is not None])
        varying += [name] if pairs > table[unit or ""].size else []
    if varying:
        it, them = ("it", "it") if len(varying) == 1 else ("these", "them")
        said = (
            f"{', '.join(f'attributes.{name}' for name in varying)}: some persons have several values of {it}, so they "
            "stand in several classes; every class still keeps its promises, counted in persons, but whoever knows "
            "several rows of a person can compare their classes: if that must not be, give each person one value of "
            f"{it} before, such as the first, or drop {them}"
        )
        warnings.warn(ShoalWarning(said), stacklevel=2)
    return bool(varying)


def _meaning_of(label: str | None) -> tuple[str, Decimal | int] | None:
    """Return the number or the moment (nanoseconds since 1970) that a label writes; None where it is neither."""
    moment = read_moment(label or "")
    if moment is not None:
        return "moment", moment.at
    try:
        number = Decimal(label or "")
    except InvalidOperation:
        return None
    return None if number.is_nan() else ("number", number)


def warn_of_unknown_values(models: list[Model], labels: Mapping[str, Sequence[str | None]]) -> None:
    """Warn of a threshold for a value that the table does not hold: it protects nobody, and may be a typing error.

    A number or a date that the table holds in another form is refused, since whoever named it means that one.
    """
    for model in models:
        for table in asked(model).values():
            held = labels[model.about or ""] if isinstance(table, Mapping) else ()
            unknown = [v for v in table if v not in held] if isinstance(table, Mapping) else []
            if unknown:
                meant = {meaning for label in held if (meaning := _meaning_of(label)) is not None}
                if other := next((value for value in unknown if _meaning_of(value) in meant), None):
                    raise BadPolicy(
                        f"require: {model.name}: the table writes the number or date {other!r} in another form, as 5.0 "
                        "for 5, 1e+20 for 100000000000000000000, or '2026-01-31 00:00:00Z' for 2026-01-31; name it as "
                        "the table has it"
                    )
                named = ", ".join(repr(value) for value in unknown)
                warnings.warn(ShoalWarning(f"{model.name}: the table holds no {named}"), stacklevel=2)


def as_one_class(classes: FrequencySet, reading: CountInterpretation, population: FrequencySet | None) -> ClassCounts:
    """Return the counts of the whole table as one class."""
    whole = classes.project([]).class_counts(reading)
    return whole if population is None else replace(whole, population=np.array([population.rows]))


def refuse_outsiders(
    models: list[Model], classes: FrequencySet, reading: CountInterpretation, population: FrequencySet | None
) -> None:
    """Refuse a table that is not part of the population, since shares of it would mean nothing."""
    if population is None or not any(isinstance(model, DeltaPresence) for model in models):
        return
    found, _ = classes.count_in(population)
    outside = int(np.maximum(classes.class_counts(reading).sizes - found, 0).sum())
    if outside:
        raise BadData(
            f"{outside} row(s) of the table have quasi-identifiers that fewer persons of the population have; "
            "delta-presence needs a population that the table is a part of"
        )


def refuse_impossible(models: list[Model], whole: ClassCounts, limit: int, *, split: bool) -> None:
    """Refuse models that the whole table shows to be impossible; if `split`, only SUPERSET ones."""
    for model in models:
        parts = [part for part in model.parts() if part.merging is Closure.SUPERSET] if split else [model]
        for part in parts:
            why = part.impossible(whole, limit)
            if why is not None:
                raise Infeasible(f"impossible: {model.name}: {why}")


def find_failing_classes(models: Sequence[Model], counts: ClassCounts) -> dict[str, Flags]:
    """Return the classes that fail each model, whatever attribute it is about."""
    failed: dict[str, Flags] = {}
    for model in models:
        failed[model.name] = ~model.complies(counts) | failed.get(model.name, np.False_)
    return failed


def drawn_margin(method: Method) -> int:
    """Draw by how much k is raised beyond the promise: 0 to `margin`, determined by the seed.

    >>> {drawn_margin(Method(margin=2, seed=seed)) for seed in range(1, 20)}
    {0, 1, 2}
    """
    return Random(f"margin {method.seed}").randint(0, method.margin) if method.margin else 0  # noqa: S311 - by the seed


def with_margin(policy: Policy) -> Policy:
    """Return the policy to search with: every k is raised by the drawn margin; the promise stays as it is.

    Cohen 2022: a release that is not minimal tells less about what it hides. This is no proof of safety.
    """
    more = drawn_margin(policy.method)
    if not more:
        return policy
    raised = tuple(replace(model, k=model.k + more) if hasattr(model, "k") else model for model in policy.require)
    return policy.model_copy(update={"require": raised})


def order_of_attributes(names: Iterable[str], method: Method) -> list[str]:
    """Return the order of attributes that decides ties in every search: by name, or drawn from the seed.

    >>> order_of_attributes(["b", "a"], Method()), order_of_attributes("abc", Method(ties="random", seed=1))
    (['a', 'b'], ['c', 'a', 'b'])
    """
    ordered = sorted(names)
    if method.ties == "random":
        Random(f"ties {method.seed}").shuffle(ordered)  # noqa: S311 - by the seed
    return ordered


def with_population(source: Source, everybody: Source, quasi: Sequence[str]) -> Source:
    """Return the table together with its population, with the quasi-identifiers of both in one encoding."""
    missing = [name for name in quasi if name not in everybody.table.columns]
    if missing:
        named = ", ".join(map(repr, missing))
        raise BadData(f"{everybody.name}: the population has no column {named}; it needs every quasi-identifier")
    both = {
        name: encode_together(source.table[name], everybody.table[name])
        for name in quasi
        if name in source.table.columns
    }
    table = {name: both[name][0] if name in both else column for name, column in source.table.columns.items()}
    people = {name: column for name, (_, column) in both.items()}
    return replace(source, table=Table(table, source.table.rows), population=Table(people, everybody.table.rows))


def hierarchy_of(source: Source, name: str, builder: Builder) -> Hierarchy:
    """Build the hierarchy of a quasi-identifier; an error says whether the table or the population is at fault."""
    try:
        return build(source.table[name], builder)
    except BadHierarchy:
        if source.population is not None:
            build(reencode(source.table[name]), builder)
            try:
                build(reencode(source.population[name]), builder)
            except BadHierarchy as wrong:
                raise BadHierarchy(f"the population: {wrong}", wrong.values) from None
        raise
