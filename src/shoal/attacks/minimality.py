"""Minimality: an algorithm that generalises no more than it must tells why it had to."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import factorial, lgamma, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import (
    ATTRIBUTE,
    KEY,
    REGISTER,
    SEED,
    Attack,
    AuditInputs,
    Channel,
    Finding,
    Knowledge,
    Rate,
    at_least,
    option,
    refuse_missing,
    refuse_seed,
    refuse_twice,
    sensitive_of,
)
from shoal.attacks.record_linkage import classes_holding
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Table
from shoal.errors import BadInput

Assignment = NDArray[np.int64]


def how_many(groups: Sequence[Assignment]) -> int:
    """Number of ways to hand out the values of each group to its members.

    >>> how_many([np.array([0, 0, 0, 0, 0, 1, 1])])
    21
    """
    return prod(_ways(group) for group in groups)


def every(groups: Sequence[Assignment]) -> Iterator[list[Assignment]]:
    """Yield every way to hand out the values, each once.

    >>> [world[0].tolist() for world in every([np.array([0, 1, 1])])]
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    if not groups:
        yield []
        return
    for first in _orders(np.bincount(groups[0]).tolist(), len(groups[0])):
        for rest in every(groups[1:]):
            yield [np.array(first, dtype=np.int64), *rest]


def drawn(groups: Sequence[Assignment], worlds: int, seed: int) -> Iterator[list[Assignment]]:
    """Draw so many ways at random, all equally likely."""
    random = np.random.default_rng(seed)
    for _ in range(worlds):
        yield [random.permutation(group) for group in groups]


def _ways(group: Assignment) -> int:
    return factorial(len(group)) // prod(factorial(many) for many in np.bincount(group).tolist())


def _orders(left: list[int], length: int) -> Iterator[list[int]]:
    if not length:
        yield []
        return
    for value, many in enumerate(left):
        if many:
            less = [*left[:value], many - 1, *left[value + 1 :]]
            for rest in _orders(less, length - 1):
                yield [value, *rest]


Algorithm = Callable[[Table], Published | None]
"""What is released of a table of quasi-identifiers and one sensitive attribute; None where nothing is found."""
Shares = NDArray[np.float64]


_AUDITED = 50
"""Most worlds that an audit tries."""


@dataclass(frozen=True)
class Minimality(Attack):
    """Of all worlds that a release allows, only those count in which the algorithm would have made this very release.

    A person's credibility for a value is the share of those worlds in which the person has it; a release is
    m-confidential if none is above 1/m. All worlds are tried where they are few, else some at random.

    Wong, Fu, Wang and Pei: Minimality attack in privacy preserving data publishing. VLDB 2007.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import encode
    >>> def of(*columns):
    ...     return Table({name: encode(name, pa.array(cells)) for name, cells in columns}, len(columns[0][1]))
    >>> def merging(world):  # everybody becomes one class where the two of "a" are both ill
    ...     ill = world["s"].texts.take(pa.array(world["s"].codes)).to_pylist()
    ...     q = ["*"] * 4 if ill[:2] == ["ill", "ill"] else ["a", "a", "b", "b"]
    ...     return Published.of("r", of(("q", q), ("s", ill)), ["q"], ["s"])
    >>> register = of(("q", ["a", "a", "b", "b"]))
    >>> release = merging(of(("s", ["ill", "ill", "well", "well"])))
    >>> found = Minimality(merging, register, values=("ill",)).on(release)
    >>> found.exposed, found.figures["largest_credibility"], found.figures["largest_share_shown"]
    (2, 1.0, 0.5)
    """

    name: ClassVar[str] = "minimality"
    sentence: ClassVar[str] = "What it tells that the algorithm generalised so far and no further."
    channel: ClassVar[Channel] = Channel.ATTRIBUTE
    needs: ClassVar[str] = "people whom an attacker knows, and the policy (a register)"
    source: ClassVar[str] = "Wong, Fu, Wang, Pei, VLDB 2007"
    of_sensitive: ClassVar[bool] = True

    reads: ClassVar[tuple[str, ...]] = ("register",)

    algorithm: Algorithm | Any = None
    """From Python, `shoal.attack` makes it of the policy that it is given."""
    register: Any = option(None, REGISTER)
    """Everybody in the release, with quasi-identifiers as they are; with the truth, the original unless given."""
    attribute: str | None = option(None, ATTRIBUTE)
    """The sensitive one; the first unless named."""
    values: tuple[str, ...] = option((), "Only this sensitive value; may be repeated.", name="value")
    """Of these sensitive values; all unless named."""
    m: int | None = option(None, "Credibility must not be above 1/m.", least=1)
    """Unless given, what the release shows: the largest share of a value in a class is at most 1/m."""
    worlds: int = option(1_000, "Worlds that are tried at most.", least=1)
    """That are tried at most."""
    seed: int = option(0, SEED)
    key: str | None = option(None, KEY)
    """The column of the register that tells persons apart."""
    depends: bool = True
    """Whether the algorithm looks at the sensitive attribute at all."""

    @classmethod
    def for_audit(cls, given: AuditInputs) -> "Minimality":
        return cls(register=given.register, worlds=_AUDITED, seed=given.seed)

    def lacking(self, known: Knowledge) -> str | None:
        if known.models is None or self.register is None:
            return "it runs the policy on worlds of the people whom an attacker knows; give a register and the policy"
        return None

    def prepared(self, known: Knowledge) -> "Minimality":
        how = replace(self, register=known.read(self.register))
        found = None if how.algorithm is not None else known.algorithm(how.attribute)
        return how if found is None else replace(how, algorithm=found[0], depends=found[1])

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        refuse_seed(self.seed)
        at_least("worlds", self.worlds, 1)
        attribute = sensitive_of(published, self.attribute)
        people = self._people(published, truth, attribute)
        holding = classes_holding(published, people)
        shares = _shares(published, attribute, holding)
        chosen = self._chosen(published, attribute)
        found = _Found(shares, 0, 0, exact=True)
        if self.depends:
            found = self._credible(published, people, attribute, holding)
        # people taken from the original stand in the order of the released rows
        right = published.table[attribute].codes if self.register is None else None
        return self._told(found, shares, chosen, right)

    def _people(self, published: Published, truth: Truth | None, attribute: str) -> Table:
        people: Table | None = self.register
        if people is None and truth is not None:
            columns = {name: truth.table[name] for name in published.quasi_identifiers}
            taken = {name: replace(column, codes=column.codes[truth.rows]) for name, column in columns.items()}
            people = Table(taken, len(truth.rows))
        if people is None or (self.depends and self.algorithm is None):
            raise BadInput("minimality needs a register of everybody in the release, and the policy it was made by")
        refuse_twice(people, self.key, "the register")
        refuse_missing(published, people, "the register")
        if attribute not in published.table.columns:
            raise BadInput(
                f"{published.name}: its sensitive values stand in another table; minimality is for one table"
            )
        if people.rows != published.rows:
            raise BadInput(
                f"the register has {people.rows:,} people and {published.name} {published.rows:,}; minimality needs "
                "a register of exactly those who were released, and a release that leaves nobody out"
            )
        return people

    def _chosen(self, published: Published, attribute: str) -> Flags:
        """Flag the sensitive values to look at."""
        labels = published.counts.sensitive[attribute].labels
        if any(value not in labels for value in self.values):
            raise BadInput(f"{published.name}: one of the values asked about does not occur in {attribute!r}")
        return np.array([not self.values or label in self.values for label in labels])

    def _credible(self, published: Published, people: Table, attribute: str, holding: Sequence[Longs]) -> "_Found":
        column = published.table[attribute]
        members, groups = _groups(published, column.codes, holding)
        worlds = how_many(groups)
        exact = worlds <= self.worlds
        wanted = shown_rows(published, attribute)
        quasi = {name: people[name] for name in published.quasi_identifiers}
        # seen[person, value]: accepted worlds in which the person has the value
        seen = np.zeros((people.rows, column.size), dtype=np.int64)
        accepted = tried = 0
        for world in every(groups) if exact else drawn(groups, self.worlds, self.seed):
            codes = np.empty(people.rows, dtype=np.int32)
            for some, values in zip(members, world, strict=True):
                codes[some] = values
            tried += 1
            made = self.algorithm(Table({**quasi, attribute: replace(column, codes=codes)}, people.rows))
            if made is not None and shown_rows(made, attribute) == wanted:
                accepted += 1
                seen[np.arange(people.rows), codes] += 1
        return _Found(seen / max(accepted, 1), tried, accepted, exact=exact)

    def _told(self, found: "_Found", shares: Shares, chosen: Flags, right: NDArray[Any] | None) -> Finding:
        shares = shares[:, chosen]
        credible = found.believed(shares, found.credible[:, chosen])
        claimed = float(shares.max(initial=0.0))
        m = self.m or max(int(1 / claimed + 1e-9) if claimed else 1, 1)
        # people of whom some value became more credible than the release shows
        rises = (credible > shares + 1e-9).any(axis=1)
        over = rises & (credible.max(axis=1) > 1 / m + 1e-9) if m > 1 else rises
        exposed, people = int(over.sum()), len(credible)
        figures = {
            "m": m,
            "worlds_tried": found.tried,
            "worlds_that_give_this_release": found.accepted,
            "every_world_tried": "yes" if found.exact else "no, some at random",
            "largest_credibility": float(credible.max(initial=0.0)),
            "largest_share_shown": claimed,
            "people_raised": int(rises.sum()),
            "people_certain": int(((credible.max(axis=1) >= 1) & (shares.max(axis=1) < 1)).sum()),
            "exposed_without_knowing_the_algorithm": int((shares.max(axis=1) > 1 / m + 1e-9).sum()),
        }
        success = baseline = None
        if right is not None and found.known:
            ties = np.random.default_rng(self.seed).random(shares.shape) * 1e-9
            codes = np.flatnonzero(chosen)
            guesses = [codes[(weights + ties).argmax(axis=1)] for weights in (credible, shares)]
            success, baseline = (Rate(int((guess == right).sum()), people) for guess in guesses)
        sentence = self._sentence(found, exposed, people, m)
        return Finding("minimality", Channel.ATTRIBUTE, exposed, people, sentence, figures, success, baseline)

    def _sentence(self, found: "_Found", exposed: int, people: int, m: int) -> str:
        if not self.depends:
            return "the algorithm does not look at sensitive values, so why it generalised tells nothing about them"
        if not found.accepted:
            return (
                f"in none of {found.tried:,} worlds does the policy give this release; try more worlds, or see whether "
                "the register and the policy are those of the release"
            )
        than = f", and with more than 1/{m}" if m > 1 else ""
        return (
            f"who knows the algorithm believes more than the release shows of {exposed:,} of {people:,} people{than}; "
            f"{found.accepted:,} of {found.tried:,} worlds give this release"
        )


@dataclass(frozen=True)
class _Found:
    """Credibility of each value for each person, from the worlds that give this release."""

    credible: Shares
    tried: int
    accepted: int
    exact: bool

    @property
    def known(self) -> bool:
        """Whether any world gave this release, or none had to be tried."""
        return not self.tried or self.accepted > 0

    def believed(self, shares: Shares, credible: Shares) -> Shares:
        """Credibility; where worlds were drawn, only where it differs from the share by more than chance.

        So many comparisons are made that some differ by chance alone: the level is divided among them all.
        """
        if self.exact or not self.known:
            return credible if self.known else shares
        seen = np.rint(credible * self.accepted).astype(np.int64)
        return np.where(_tail(seen, self.accepted, shares) < 0.025 / max(credible.size, 1), credible, shares)


def _tail(seen: Longs, worlds: int, shares: Shares) -> Shares:
    """Binomial tail: probability that so many `worlds`, or a rarer number, have a value whose share is given."""
    # one binomial distribution for each distinct share: terms[share, number of worlds]
    each, of = np.unique(shares, return_inverse=True)
    logs = np.array([lgamma(i + 1) for i in range(worlds + 1)])
    i = np.arange(worlds + 1)
    inside = np.clip(each, 1e-300, 1 - 1e-15)[:, None]
    terms = np.exp(logs[-1] - logs - logs[::-1] + i * np.log(inside) + (worlds - i) * np.log1p(-inside))
    # lower and upper tails, each with its own end
    least, most = terms.cumsum(axis=1), terms[:, ::-1].cumsum(axis=1)[:, ::-1]
    at = of.reshape(shares.shape), seen
    return np.asarray(np.minimum(least[at], most[at]))


def shown_rows(published: Published, attribute: str) -> frozenset[tuple[tuple[str | None, ...], int]]:
    """Return the rows of a release without their order, to compare two runs of an algorithm."""
    quasi = [published.quasi_identifiers[name] for name in sorted(published.quasi_identifiers)]
    column = published.table[attribute]
    values = [*column.texts.to_pylist(), *([None] if column.has_null else [])]
    rows, counts = np.unique(np.stack([*(q.codes for q in quasi), column.codes]), axis=1, return_counts=True)
    labels = [*(q.labels for q in quasi), values]
    cells = [[names[code] for code in codes] for names, codes in zip(labels, rows.tolist(), strict=True)]
    return frozenset(zip(zip(*cells, strict=True), counts.tolist(), strict=True))


def _groups(
    published: Published, codes: NDArray[np.integer], holding: Sequence[Longs]
) -> tuple[list[Longs], list[Assignment]]:
    """Return who shares which values: class by class where each person fits into one class only, else all together."""
    if any(len(classes) == 0 for classes in holding):
        raise BadInput(f"some people of the register fit into no class of {published.name}; is it the right register?")
    sizes = published.counts.sizes
    if all(len(classes) == 1 for classes in holding):
        of_person = np.array([int(classes[0]) for classes in holding])
        if not np.array_equal(np.bincount(of_person, minlength=len(sizes)), sizes):
            raise BadInput(f"the people of the register do not fill the classes of {published.name} as they are filled")
        members, rows = (list(_split(each, len(sizes))) for each in (of_person, published.class_of_row))
        return members, [codes[some].astype(np.int64) for some in rows]
    return [np.arange(len(holding))], [codes.astype(np.int64)]


def _split(classes: NDArray[np.integer], count: int) -> Iterator[Longs]:
    order = np.argsort(classes, kind="stable")
    yield from np.split(order, np.searchsorted(classes[order], np.arange(1, count)))


def _shares(published: Published, attribute: str, holding: Sequence[Longs]) -> Shares:
    """Share of each value for each person, over the classes that can hold them."""
    dense = published.counts.sensitive[attribute].dense()
    # summed[person, value]: rows with the value in all classes that can hold the person
    summed = np.array([dense[classes].sum(axis=0) for classes in holding])
    return np.asarray(summed / np.maximum(summed.sum(axis=1, keepdims=True), 1))
