"""Rule inference: what a decision tree learns about a sensitive attribute from the release itself (S1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from shoal.attacks.attack import LATER, Attack, AuditInputs, Channel, Finding, Rate, ShareLike, lift, option, read_share
from shoal.attacks.label_match import Matching
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Flags
from shoal.data.codes import Kind, Table, select_table_rows
from shoal.errors import BadInput
from shoal.hierarchy.build import Builder
from shoal.mining.c45 import C45
from shoal.mining.decision_tree import ChannelCriterion, Rule, Test
from shoal.runtime import whole_percent


def flag_passing_rows(test: Test, table: Table, builders: Mapping[str, Builder]) -> Flags:
    """Flag the rows of a table that pass a test; a row without a value passes none.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> people = Table({"age": encode("age", pa.array([31, 52, None]))}, 3)
    >>> tests = Test("age", "=", "[30, 40)"), Test("age", ">", 40)
    >>> tuple(flag_passing_rows(test, people, {}).tolist() for test in tests)
    ([True, False, False], [False, True, False])
    """
    if test.attribute not in table.columns:
        raise BadInput(f"there is no column {test.attribute!r} to try a rule on")
    column = table[test.attribute]
    if test.operator == "=":
        covered = Matching(column, builders.get(test.attribute)).runs([str(test.value)]).members(0)
        return np.isin(column.codes, [code for code in covered if code != column.null_code])
    if column.kind is not Kind.NUMBER:
        raise BadInput(f"column {test.attribute!r} has no numbers, and a rule compares them")
    passing = np.zeros(column.size, dtype=bool)
    limit = float(test.value)  # type: ignore[arg-type]
    values = column.floats
    passing[: len(values)] = values <= limit if test.operator == "<=" else values > limit
    return np.asarray(passing[column.codes])


MOST_MINED = 250_000
"""Most rows of which rules are mined while a release is written; more would take longer than all the rest."""


@dataclass(frozen=True)
class Rules(Attack):
    """Mine the release with C4.5 and list the rules that tell a sensitive value (Sané et al. 2012, Definition 1).

    With a `control`, a table of people who are not in the release, or a share of its own rows `held_out` from mining,
    every rule is tried on people it was not made from: what holds for them too is knowledge of the world, not a leak.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> shown = {"age": ["<30"] * 4 + ["≥40"] * 4 + ["3*"] * 4}
    >>> shown["ill"] = ["heart", "viral"] * 2 + ["cancer", "heart", "viral", "viral"] + ["cancer"] * 4
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in shown.items()}, 12)
    >>> found = Rules().on(Published.of("the frame", table, ["age"], ["ill"]))
    >>> found.exposed, found.figures["rules"][0]["rule"]
    (4, 'age = 3* => cancer (4.0)')
    """

    name: ClassVar[str] = "rules"
    sentence: ClassVar[str] = "List the rules that tell a sensitive value, and how many people each exposes."
    channel: ClassVar[Channel] = Channel.RULES
    source: ClassVar[str] = "Sané, Camara, Ndiaye, Slimani 2012"
    if_exposed: ClassVar[str] = "{channels:,} perfect rule(s) of a decision tree tell the value of {exposed:,}"
    if_not: ClassVar[str] = "none of {mined_rules:,} rules of a decision tree is perfect"
    of_sensitive: ClassVar[bool] = True

    checked: ClassVar[bool] = False
    reads: ClassVar[tuple[str, ...]] = ("control",)
    draws: ClassVar[str] = "tree"

    at: ShareLike = option(1.0, "The least confidence of a rule that is a channel.", share=True)
    """The least confidence of a channel."""
    support: int = option(1, "The fewest rows that a channel is about.")
    """The fewest rows that a channel is about."""
    values: tuple[str, ...] = option(
        (), "Sensitive values that must not be told, separated by commas; or all.", listed=True
    )
    """The sensitive values that must not be told; none named: all."""
    control: Any = option(None, "A table of people who are not in the release, to try the rules on.", repr=False)
    """A `Table`; `shoal.attack` reads anything else that holds one."""
    held_out: ShareLike = option(0.0, "Share of the released rows to try the rules on instead.", share=True)
    seed: int = option(0, "Of which rows are held out.")

    @classmethod
    def for_report(cls, published: Published, *, weighted: bool) -> "Rules | str":
        return LATER if weighted or published.rows > MOST_MINED else cls()

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "Rules":
        return cls(control=given.control)

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Find every channel and count the people it exposes; of several sensitive attributes, all are mined."""
        self._refuse_bad_options()
        told = [self._mine_rules(published, name) for name in _minable_attributes(published)]
        exposed = np.logical_or.reduce([each.exposed for each in told])
        rules = [rule for each in told for rule in each.rules]
        figures: dict[str, Any] = {
            "channels": len(rules),
            "mined_rules": sum(each.mined for each in told),
            "rules": rules,
        }
        many = int(exposed.sum())
        said = f"{len(rules):,} rule(s) tell the sensitive value of {many:,} of {published.rows:,} records"
        released, others = (_sum_rates([getattr(each, which) for each in told]) for which in ("success", "baseline"))
        if others is not None and released is not None and others.guesses:
            leak, error = lift(released, others)
            figures |= {"leak": leak, "leak_error": error}
            share = whole_percent(others.right, others.guesses).replace(" ", "")
            said += f"; of people they were not made from they tell {share} right"
        columns = tuple(dict.fromkeys(rule["attribute"] for rule in rules))
        return Finding("rules", Channel.RULES, many, published.rows, said, figures, released, others, columns)

    @classmethod
    def listing(cls, figures: Mapping[str, Any]) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
        """Return every rule as a table, those about most people first."""
        entries = sorted(figures["rules"], key=lambda entry: -entry["people"])
        tried = any("outside" in entry for entry in entries)
        header = ("if", "then", "people", "confidence", "lift", *(("of others",) if tried else ()))
        lines = [
            (
                " and ".join(entry["antecedent"]) or "always",
                f"{entry['attribute']} = {entry['consequent']}",
                f"{entry['people']:,}",
                f"{entry['confidence']:.3f}",
                f"{entry['lift']:.2f}",
                *((f"{entry['outside']['right']:,} of {entry['outside']['guesses']:,}",) if tried else ()),
            )
            for entry in entries
        ]
        return "Rules that tell", header, lines

    def _refuse_bad_options(self) -> None:
        """Refuse options out of their range, or that exclude each other."""
        if not 0 < read_share("at", self.at) <= 1:
            raise BadInput("the confidence of a channel lies above 0 and is at most 1")
        if not 0 <= read_share("held_out", self.held_out) < 1:
            raise BadInput("the share of rows held out lies from 0 to below 1")
        if self.control is not None and read_share("held_out", self.held_out):
            raise BadInput("give a control table or hold rows out, not both")

    def _mine_rules(self, published: Published, name: str) -> "_MinedRules":
        """Mine a tree for one sensitive attribute and list its channels."""
        table = published.table
        training, others = self._split(table.rows)
        features = published.known_columns
        if not features:
            raise BadInput(f"{published.name}: there is no column that rules could be made of")
        some = select_table_rows(table, training)
        columns = {of: some[of] for of in features}
        target = some[name]
        tree = C45().fit_codes(columns, target)
        sensitive = ChannelCriterion(read_share("at", self.at), self.support, frozenset(self.values))
        rules, leaves = tree.rules(), tree.leaf_of(columns)
        exposed = np.zeros(table.rows, dtype=bool)
        tried = (
            None if self.control is None and not len(others) else _ControlPeople(published, name, self.control, others)
        )
        listed, right, right_outside = [], Rate(0, 0), Rate(0, 0)
        for number, rule in enumerate(rules):
            if not sensitive.is_channel(rule):
                continue
            inside = training[leaves == number]
            hit = inside[table[name].codes[inside] == _code_of_consequent(target, rule)]
            exposed[hit] = True
            right = _add_rates(right, Rate(len(hit), len(inside)))
            entry = _document(name, rule, len(hit))
            if tried is not None:
                outside = tried.rate(rule)
                right_outside = _add_rates(right_outside, outside)
                entry["outside"] = outside.document()
            listed.append(entry)
        return _MinedRules(exposed, listed, len(rules), right, None if tried is None else right_outside)

    def _split(self, rows: int) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]:
        """Return the rows to mine and the rows held out."""
        order = np.random.default_rng(self.seed).permutation(rows)
        cut = rows - int(read_share("held_out", self.held_out) * Fraction(rows))
        return np.sort(order[:cut]), np.sort(order[cut:])


@dataclass(frozen=True)
class _MinedRules:
    """What was mined about one sensitive attribute."""

    exposed: Flags
    rules: list[dict[str, Any]]
    mined: int
    success: Rate
    baseline: Rate | None


class _ControlPeople:
    """People from whom no rule was mined, to try the rules on."""

    def __init__(self, published: Published, name: str, control: Table | None, others: Any) -> None:
        self._table = select_table_rows(published.table, others) if control is None else control
        self._builders = {} if control is None else published.builders
        if name not in self._table.columns:
            raise BadInput(f"the control table has no column {name!r}")
        self._name = name

    def rate(self, rule: Rule) -> Rate:
        """Return how often a rule is right about the people who pass its tests."""
        passed = np.ones(self._table.rows, dtype=bool)
        for test in rule.antecedent:
            passed &= flag_passing_rows(test, self._table, self._builders)
        column = self._table[self._name]
        return Rate(int((column.codes[passed] == _code_of_consequent(column, rule)).sum()), int(passed.sum()))


def _code_of_consequent(column: Any, rule: Rule) -> int:
    """Return the code of a rule's consequent; -1 where nobody has it."""
    texts = column.texts.to_pylist()
    said = str(rule.consequent)
    return texts.index(said) if said in texts else -1


def _minable_attributes(published: Published) -> tuple[str, ...]:
    """Return the sensitive attributes that stand in the released table; refuse a release without any."""
    if not published.sensitive:
        raise BadInput(f"{published.name}: name the sensitive attribute with --sensitive (in Python sensitive=…)")
    there = tuple(name for name in published.sensitive if name in published.table.columns)
    if not there:
        raise BadInput(f"{published.name}: its sensitive values stand in a table of their own: no rule can tell them")
    return there


def _document(name: str, rule: Rule, people: int) -> dict[str, Any]:
    return {
        "attribute": name,
        "rule": str(rule),
        "antecedent": [str(test) for test in rule.antecedent],
        "consequent": str(rule.consequent),
        "people": people,
        "support": rule.support,
        "confidence": rule.confidence,
        "lift": rule.lift,
    }


def _add_rates(one: Rate, other: Rate) -> Rate:
    """Return the rate of the guesses of two rates together."""
    return Rate(one.right + other.right, one.guesses + other.guesses)


def _sum_rates(rates: list[Rate | None]) -> Rate | None:
    """Return the rate of all guesses together; None where no rate is known."""
    known = [rate for rate in rates if rate is not None]
    return Rate(sum(rate.right for rate in known), sum(rate.guesses for rate in known)) if known else None
