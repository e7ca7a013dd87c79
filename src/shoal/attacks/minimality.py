"""Minimality: an algorithm that generalises no more than it must tells why it had to."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
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
    option,
    refuse_missing,
    refuse_repeated_key,
    refuse_seed,
    refuse_unless_at_least,
    sensitive_of,
)
from shoal.attacks.record_linkage import classes_holding
from shoal.attacks.release_under_attack import Published, Truth, labels_of
from shoal.data.class_counts import Flags, Longs
from shoal.data.codes import Table
from shoal.errors import BadInput

Counts = list[list[int]]
"""counts[kind][value]: how many people of each kind have each value."""


@dataclass(frozen=True)
class Pool:
    """People among whom some released rows lie, those with equal quasi-identifiers as one kind.

    An algorithm treats people of a kind alike, so that a world is how many of each kind have each value: a count
    vector, which stands for as many worlds as there are ways to choose who.
    """

    kinds: Sequence[Longs]
    """People of each kind."""
    values: tuple[int, ...]
    """How many of the released rows have each value."""

    @property
    def unknown(self) -> int:
        """How many people were left out of the release; each may have any value."""
        return sum(map(len, self.kinds)) - sum(self.values)

    def list_counts(self) -> Iterator[Counts]:
        """Yield every count vector that has the released values, each once.

        >>> pool = Pool([np.array([0, 1]), np.array([2, 3, 4, 5, 6])], (5, 2))
        >>> [(counts, count_worlds(counts)) for counts in pool.list_counts()]
        [([[0, 2], [5, 0]], 1), ([[1, 1], [4, 1]], 10), ([[2, 0], [3, 2]], 10)]
        """
        sizes = [len(kind) for kind in self.kinds]
        for more in _list_vectors(self.unknown, [self.unknown] * len(self.values)):
            yield from _list_tables(sizes, [a + b for a, b in zip(self.values, more, strict=True)])

    def draw_codes(self, random: np.random.Generator) -> tuple[Longs, Longs]:
        """Return the people and a value for each, as in a world drawn at random, all equally likely."""
        totals = np.array(self.values) + _draw_vector(self.values, self.unknown, random)
        return np.concatenate(self.kinds), random.permutation(np.repeat(np.arange(len(totals)), totals))


def count_worlds(counts: Counts) -> int:
    """Return in how many worlds people of each kind have each value so often: a product of multinomials.

    >>> count_worlds([[1, 1], [4, 1]])
    10
    """
    return prod(factorial(sum(kind)) // prod(map(factorial, kind)) for kind in counts)


def _list_vectors(total: int, most: Sequence[int]) -> Iterator[list[int]]:
    """Yield every list of numbers that add up to a total, each at most so large."""
    if not most:
        if not total:
            yield []
        return
    rest = sum(most[1:])
    for first in range(max(total - rest, 0), min(total, most[0]) + 1):
        for others in _list_vectors(total - first, most[1:]):
            yield [first, *others]


def _list_tables(sizes: Sequence[int], totals: Sequence[int]) -> Iterator[Counts]:
    """Yield every table of counts whose rows add up to `sizes` and whose columns to `totals`."""
    if not sizes:
        yield []
        return
    for first in _list_vectors(sizes[0], totals):
        left = [total - many for total, many in zip(totals, first, strict=True)]
        for rest in _list_tables(sizes[1:], left):
            yield [first, *rest]


def _draw_vector(least: Sequence[int], total: int, random: np.random.Generator) -> Longs:
    """Draw how many of `total` people have each value, so that all worlds are equally likely; `least` have it anyway.

    The number of worlds in which a value is had by n people is in proportion to 1/n!, value by value.
    """
    # terms[value][n] and rest[value][n]: logs of the weights of n more people with this value, with it or a later one
    terms = [np.array([-lgamma(held + more + 1) for more in range(total + 1)]) for held in least]
    rest = [terms[-1]]
    for each in reversed(terms[:-1]):
        rest.insert(0, np.array([np.logaddexp.reduce(each[: n + 1] + rest[0][n::-1]) for n in range(total + 1)]))
    drawn, left = [], total
    for number, each in enumerate(terms[:-1]):
        logs = each[: left + 1] + rest[number + 1][left::-1]
        weights = np.exp(logs - logs.max())
        drawn.append(int(random.choice(left + 1, p=weights / weights.sum())))
        left -= drawn[-1]
    return np.array([*drawn, left])


Algorithm = Callable[[Table], Published | None]
"""What is released of a table of quasi-identifiers and one sensitive attribute; None where nothing is found."""
Shares = NDArray[np.float64]


_AUDITED = 50
"""Most worlds that an audit tries."""


@dataclass(frozen=True)
class Minimality(Attack):
    """Of all worlds that a release allows, only those count in which the algorithm would have made this very release.

    A person's credibility for a value is the share of those worlds in which the person has it; a release is
    m-confidential if none is above 1/m. Worlds that differ only in who of several people with equal quasi-identifiers
    has which value are tried at once, and counted as so many. All are tried where they are few, else some at random.
    People of the register who are not in the release may have any of its values.

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
    """Everybody in the original, with quasi-identifiers as they are; with the truth, the original unless given."""
    attribute: str | None = option(None, ATTRIBUTE)
    """The sensitive one; the first unless named."""
    values: tuple[str, ...] = option((), "Only this sensitive value; may be repeated.", name="value")
    """Of these sensitive values; all unless named."""
    m: int | None = option(None, "Credibility must not be above 1/m.", least=1)
    """Unless given, what the release shows: the largest share of a value in a class is at most 1/m."""
    worlds: int = option(1_000, "Worlds that are tried at most.", least=1)
    """That are tried at most; those that differ only in who of people alike has which value are one."""
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
        refuse_unless_at_least("worlds", self.worlds, 1)
        attribute = sensitive_of(published, self.attribute)
        people = self._find_people(published, truth, attribute)
        pools, holding, unknown = _find_pools(published, people, attribute)
        shares = _shares(published, attribute, holding, unknown)
        chosen = self._flag_chosen_values(published, attribute)
        found = _Credibility(shares, 0, 0, 0, exact=True)
        if self.depends:
            found = self._compute_credibility(published, people, attribute, pools)
        right = _true_values(published, truth, attribute) if truth is not None and self.register is None else None
        return self._make_finding(found, shares, chosen, right)

    def _find_people(self, published: Published, truth: Truth | None, attribute: str) -> Table:
        """Return everybody who may be in the release, from the register or the original; refuse what does not fit."""
        people: Table | None = self.register
        if people is None and truth is not None:
            people = Table({name: truth.table[name] for name in published.quasi_identifiers}, truth.table.rows)
        if people is None or (self.depends and self.algorithm is None):
            raise BadInput("minimality needs a register of everybody in the release, and the policy it was made by")
        refuse_repeated_key(people, self.key, "the register")
        refuse_missing(published, people, "the register")
        if attribute not in published.table.columns:
            raise BadInput(
                f"{published.name}: its sensitive values stand in another table; minimality is for one table"
            )
        if people.rows < published.rows or (truth is not None and bool((truth.rows < 0).any())):
            raise BadInput(
                f"the register has {people.rows:,} people and {published.name} {published.rows:,}; minimality needs "
                "a register of everybody whom the release was made from, and a release without added rows"
            )
        return people

    def _flag_chosen_values(self, published: Published, attribute: str) -> Flags:
        """Flag the sensitive values to look at."""
        labels = published.counts.sensitive[attribute].labels
        if any(value not in labels for value in self.values):
            raise BadInput(f"{published.name}: one of the values asked about does not occur in {attribute!r}")
        return np.array([not self.values or label in self.values for label in labels])

    def _compute_credibility(
        self, published: Published, people: Table, attribute: str, pools: "Sequence[Pool]"
    ) -> "_Credibility":
        """Try worlds, and return the share of the accepted ones in which each person has each value."""
        column = published.table[attribute]
        wanted = shown_rows(published, attribute)
        quasi = {name: people[name] for name in published.quasi_identifiers}

        def gives_release(codes: Longs) -> bool:
            world = {**quasi, attribute: replace(column, codes=codes.astype(np.int32))}
            made = self.algorithm(Table(world, people.rows))
            return made is not None and shown_rows(made, attribute) == wanted

        each = [list(islice(pool.list_counts(), self.worlds + 1)) for pool in pools]
        if prod(map(len, each)) <= self.worlds:
            return _try_all(pools, each, gives_release, people.rows, column.size)
        return _try_some(pools, gives_release, people.rows, column.size, self.worlds, self.seed)

    def _make_finding(
        self, found: "_Credibility", shares: Shares, chosen: Flags, right: NDArray[Any] | None
    ) -> Finding:
        """Return the finding; `right` is the true value of each person, if known."""
        shares = shares[:, chosen]
        credible = found.keep_significant(shares, found.credible[:, chosen])
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
            "count_vectors_tried": found.vectors,
            "every_world_tried": "yes" if found.exact else "no, some at random",
            "largest_credibility": float(credible.max(initial=0.0)),
            "largest_share_shown": claimed,
            "people_raised": int(rises.sum()),
            "people_certain": int(((credible.max(axis=1) >= 1) & (shares.max(axis=1) < 1)).sum()),
            "exposed_without_knowing_the_algorithm": int((shares.max(axis=1) > 1 / m + 1e-9).sum()),
        }
        success = baseline = None
        if right is not None and found.is_known:
            ties = np.random.default_rng(self.seed).random(shares.shape) * 1e-9
            codes = np.flatnonzero(chosen)
            guesses = [codes[(weights + ties).argmax(axis=1)] for weights in (credible, shares)]
            success, baseline = (Rate(int((guess == right).sum()), people) for guess in guesses)
        sentence = self._sentence(found, exposed, people, m)
        return Finding("minimality", Channel.ATTRIBUTE, exposed, people, sentence, figures, success, baseline)

    def _sentence(self, found: "_Credibility", exposed: int, people: int, m: int) -> str:
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
class _Credibility:
    """Credibility of each value for each person, from the worlds that give this release."""

    credible: Shares
    tried: int
    accepted: int
    vectors: int
    """Runs of the algorithm: worlds whose count vectors are equal take one."""
    exact: bool

    @property
    def is_known(self) -> bool:
        """Whether any world gave this release, or none had to be tried."""
        return not self.tried or self.accepted > 0

    def keep_significant(self, shares: Shares, credible: Shares) -> Shares:
        """Return the credibility where it differs from the share by more than chance, else the share.

        Where every world was tried, all differences count. Else the level of the test is divided by the number of
        comparisons (Bonferroni).
        """
        if self.exact or not self.is_known:
            return credible if self.is_known else shares
        seen = np.rint(credible * self.accepted).astype(np.int64)
        return np.where(_tail(seen, self.accepted, shares) < 0.025 / max(credible.size, 1), credible, shares)


def _tail(seen: Longs, worlds: int, shares: Shares) -> Shares:
    """Return the smaller binomial tail: how likely at most, or at least, `seen` of the worlds have a value."""
    # one binomial distribution for each distinct share: terms[share, number of worlds]
    each, of = np.unique(shares, return_inverse=True)
    logs = np.array([lgamma(i + 1) for i in range(worlds + 1)])
    i = np.arange(worlds + 1)
    inside = np.clip(each, 1e-300, 1 - 1e-15)[:, None]
    terms = np.exp(logs[-1] - logs - logs[::-1] + i * np.log(inside) + (worlds - i) * np.log1p(-inside))
    # [share, number of worlds] probability of at most and of at least that number
    least, most = terms.cumsum(axis=1), terms[:, ::-1].cumsum(axis=1)[:, ::-1]
    at = of.reshape(shares.shape), seen
    return np.asarray(np.minimum(least[at], most[at]))


def shown_rows(published: Published, attribute: str) -> frozenset[tuple[tuple[str | None, ...], int]]:
    """Return the distinct rows of a release with their counts, in no order, to compare two runs of an algorithm."""
    quasi = [published.quasi_identifiers[name] for name in sorted(published.quasi_identifiers)]
    column = published.table[attribute]
    values = [*column.texts.to_pylist(), *([None] if column.has_null else [])]
    rows, counts = np.unique(np.stack([*(q.codes for q in quasi), column.codes]), axis=1, return_counts=True)
    labels = [*(q.labels for q in quasi), values]
    cells = [[names[code] for code in codes] for names, codes in zip(labels, rows.tolist(), strict=True)]
    return frozenset(zip(zip(*cells, strict=True), counts.tolist(), strict=True))


def _try_all(
    pools: Sequence[Pool], each: Sequence[list[Counts]], gives_release: Callable[[Longs], bool], people: int, size: int
) -> _Credibility:
    """Try every combination of the pools' count vectors, each as often as it has worlds."""
    # seen[kind, value]: accepted worlds, times the people of the kind who have the value in them; exact whole numbers
    kinds = [kind for pool in pools for kind in pool.kinds]
    seen = np.zeros((len(kinds), size), dtype=object)
    tried = accepted = vectors = 0
    for chosen in product(*each):
        counts = [kind for pool in chosen for kind in pool]
        codes = np.empty(people, dtype=np.int64)
        for kind, many in zip(kinds, counts, strict=True):
            codes[kind] = np.repeat(np.arange(size), many)
        worlds = count_worlds(counts)
        tried, vectors = tried + worlds, vectors + 1
        if gives_release(codes):
            accepted += worlds
            seen += worlds * np.array(counts, dtype=object)
    credible = np.zeros((people, size))
    for kind, counted in zip(kinds, seen.tolist(), strict=True):
        credible[kind] = [many / max(accepted * len(kind), 1) for many in counted]
    return _Credibility(credible, tried, accepted, vectors, exact=True)


def _try_some(
    pools: Sequence[Pool], gives_release: Callable[[Longs], bool], people: int, size: int, worlds: int, seed: int
) -> _Credibility:
    """Try worlds drawn at random."""
    random, seen, accepted = np.random.default_rng(seed), np.zeros((people, size), dtype=np.int64), 0
    for _ in range(worlds):
        codes = np.empty(people, dtype=np.int64)
        for pool in pools:
            members, values = pool.draw_codes(random)
            codes[members] = values
        if gives_release(codes):
            accepted += 1
            seen[np.arange(people), codes] += 1
    return _Credibility(seen / max(accepted, 1), worlds, accepted, worlds, exact=False)


def _find_pools(published: Published, people: Table, attribute: str) -> tuple[list[Pool], list[Longs], Longs]:
    """Return the pools, the classes that can hold each person, and how many of each person's pool were left out."""
    fitting = classes_holding(published, people)
    if people.rows == published.rows and any(len(classes) == 0 for classes in fitting):
        raise BadInput(f"some people of the register fit into no class of {published.name}; is it the right register?")
    holding = _settle_full_classes(published, fitting)
    codes = np.stack([people[name].codes for name in published.quasi_identifiers])
    kind = np.unique(codes, axis=1, return_inverse=True)[1].ravel()
    dense = published.counts.sensitive[attribute].dense()
    pools, unknown = [], np.zeros(people.rows, dtype=np.int64)
    for members, classes in _list_components(holding, len(dense)):
        order = members[np.argsort(kind[members], kind="stable")]
        kinds = np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
        pool = Pool(kinds, tuple(dense[classes].sum(axis=0).tolist()))
        if pool.unknown < 0:
            raise _misfit(published)
        pools.append(pool)
        unknown[members] = pool.unknown
    return pools, holding, unknown


def _list_components(holding: Sequence[Longs], classes: int) -> Iterator[tuple[Longs, Longs]]:
    """Yield people with the classes that can hold some of them, apart from all others; who fits nowhere comes last."""
    # the component of each class: the least class that people who fit into several connect it with
    component = np.arange(classes)
    for several in {tuple(each.tolist()) for each in holding if len(each) > 1}:
        joined = component[list(several)]
        component[np.isin(component, joined)] = joined.min()
    of_person = np.array([component[each[0]] if len(each) else classes for each in holding])
    for number in np.unique(of_person).tolist():
        yield np.flatnonzero(of_person == number), np.flatnonzero(component == number)


def _misfit(published: Published) -> BadInput:
    return BadInput(f"the people of the register do not fill the classes of {published.name} as they are filled")


def _settle_full_classes(published: Published, holding: Sequence[Longs]) -> list[Longs]:
    """Return the classes that can still hold each person: where just as many fit as a class has rows, it is theirs."""
    left, members = [set(each.tolist()) for each in holding], [set[int]() for _ in published.counts.sizes]
    for person, classes in enumerate(left):
        for class_ in classes:
            members[class_].add(person)
    sizes = published.counts.sizes.tolist()
    open_ = set(range(len(sizes)))
    while full := [class_ for class_ in sorted(open_) if len(members[class_]) <= sizes[class_]]:
        for class_ in full:
            if len(members[class_]) < sizes[class_]:
                raise _misfit(published)
            open_.remove(class_)
            for person in members[class_]:
                for other in left[person] - {class_}:
                    members[other].discard(person)
                left[person] = {class_}
    return [np.array(sorted(each), dtype=np.int64) for each in left]


def _true_values(published: Published, truth: Truth, attribute: str) -> NDArray[np.integer]:
    """Return the value of each row of the original, in the codes of the release; -1 where it does not occur there."""
    place = {label: code for code, label in enumerate(labels_of(published.table, attribute))}
    codes = [place.get(label, -1) for label in labels_of(truth.table, attribute)]
    return np.array(codes)[truth.table[attribute].codes]


def _shares(published: Published, attribute: str, holding: Sequence[Longs], unknown: Longs) -> Shares:
    """Return shares[person, value] over the classes that can hold the person, and over those left out beside them."""
    dense = published.counts.sensitive[attribute].dense()
    # summed[person, value]: rows with the value in all classes that can hold the person; who was left out may have any
    summed = np.array([dense[classes].sum(axis=0) for classes in holding]) + (unknown / dense.shape[1])[:, None]
    return np.asarray(summed / summed.sum(axis=1, keepdims=True))
