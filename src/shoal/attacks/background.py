"""The background-knowledge attack: what falls when an attacker can rule out values (Machanavajjhala et al. 2006)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.attack import Attack, Channel, Finding, option, refuse_unless_whole
from shoal.attacks.homogeneity import sensitive_attributes
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.class_counts import Flags, ValueCounts


@dataclass(frozen=True)
class Background(Attack):
    """An attacker who knows of the victim that it does not have b of the values, for each b up to `excluded`.

    The worst case: the b values that are ruled out are the most frequent ones beside the victim's own. A record is
    exposed if only its own value remains, that is if its class shows at most b + 1 values; nothing has to be ruled out
    in a homogeneous class. A class of l values falls at b = l - 1 and not before. Nulls are no values.

    >>> import pyarrow as pa
    >>> from shoal.data.codes import Table, encode
    >>> released = {"age": ["3*", "3*", "4*", "4*", "4*"], "ill": ["flu", "hiv", "flu", "hiv", "cold"]}
    >>> table = Table({name: encode(name, pa.array(values)) for name, values in released.items()}, 5)
    >>> found = Background(excluded=2).on(Published.of("the frame", table, ["age"], ["ill"]))
    >>> [step["records"] for step in found.figures["steps"]]
    [0, 2, 5]
    """

    name: ClassVar[str] = "background"
    sentence: ClassVar[str] = "Find records that fall to who can rule out some sensitive values."
    channel: ClassVar[Channel] = Channel.ATTRIBUTE
    source: ClassVar[str] = "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006"
    if_not: ClassVar[str] = "not even knowing one value that a person does not have tells the own one"
    assumes: ClassVar[bool] = True
    of_sensitive: ClassVar[bool] = True

    checked: ClassVar[bool] = False

    excluded: int = option(1, "How many values of a victim the attacker can rule out.")

    def __post_init__(self) -> None:
        refuse_unless_whole("excluded", self.excluded)

    @classmethod
    def words(cls, figures: Mapping[str, Any], exposed: int) -> str | None:
        """Tell those who fall to background knowledge apart from those whom the release alone exposes."""
        already = figures["exposed_when_0_ruled_out"]
        if exposed and exposed == already:
            return "knowing one value that a person does not have tells the value of nobody else"
        if not exposed:
            return super().words(figures, exposed)
        return (
            "somebody who knows from elsewhere one value that a person does not have can tell the value of "
            f"{exposed - already:,}{' more' if already else ''} (the release alone does not tell these)"
        )

    def on(self, published: Published, truth: Truth | None = None) -> Finding:
        """Rule out more and more values, and count whom that exposes."""
        sensitive, counts = sensitive_attributes(published), published.counts
        values = {name: counts.sensitive[name].non_null() for name in sensitive}
        steps = []
        for b in range(self.excluded + 1):
            fallen = np.logical_or.reduce([exposed_classes(values[name], b) for name in sensitive])
            beliefs = {name: posteriors(values[name], b) for name in sensitive}
            steps.append(
                {
                    "excluded": b,
                    "classes": int(fallen.sum()),
                    "records": int(counts.sizes[fallen].sum()),
                    "mean_posterior": {name: _mean(beliefs[name], values[name]) for name in sensitive},
                }
            )
        figures: dict[str, Any] = {
            "records": counts.rows,
            "suppressed_records": int(published.hidden.sum()),
            **{f"exposed_when_{step['excluded']}_ruled_out": step["records"] for step in steps},
            "steps": steps,
        }
        few = [name for name in sensitive if len(np.unique(values[name].values)) <= self.excluded + 1]
        exposed = int(figures[f"exposed_when_{self.excluded}_ruled_out"])
        many = f"{self.excluded} other value{'' if self.excluded == 1 else 's'} of {' or '.join(sensitive)}"
        sentence = (
            f"{exposed:,} of {counts.rows:,} records fall to an attacker who can rule out {many}, "
            f"{figures['exposed_when_0_ruled_out']:,} to one who knows nothing"
        )
        if few:
            has = "has" if len(few) == 1 else "have"
            sentence += f"; {' and '.join(few)} {has} no more values, so in any release ruling out all but one tells it"
        return Finding("background", Channel.ATTRIBUTE, exposed, counts.rows, sentence, figures)


def exposed_classes(values: ValueCounts, excluded: int) -> Flags:
    """Flag the classes with so few values that only the victim's own is left."""
    distinct = np.bincount(values.classes, minlength=values.class_count)
    return np.asarray((distinct >= 1) & (distinct <= excluded + 1))


def posteriors(values: ValueCounts, excluded: int) -> NDArray[np.float64]:
    """Posterior of each (class, value) entry once the `excluded` most frequent other values of the class are ruled out.

    >>> counts = ValueCounts(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([5, 3, 2]), ["a", "b", "c"], 1)
    >>> [posteriors(counts, b).round(2).tolist() for b in (0, 1)]
    [[0.5, 0.3, 0.2], [0.71, 0.6, 0.4]]
    """
    # entries by class, the most frequent value first
    order = np.lexsort((-values.counts, values.classes))
    classes, counts = values.classes[order], values.counts[order]
    first = np.searchsorted(classes, np.arange(values.class_count))
    ends = np.append(first[1:], len(classes)) if len(first) else first
    # running total of the sorted counts, and the rank of each entry within its class
    sums = np.concatenate([[0], np.cumsum(counts)])
    rank = np.arange(len(classes)) - first[classes]
    # the most frequent others: the first b, or the first b + 1 but itself
    own = rank < excluded
    upto = np.minimum(first[classes] + excluded + own, ends[classes])
    # rows that are ruled out, and rows that are left, for each entry
    gone = sums[upto] - sums[first[classes]] - np.where(own, counts, 0)
    left = sums[ends[classes]] - sums[first[classes]] - gone
    out = np.empty(len(counts))
    out[order] = counts / left
    return out


def _mean(posterior: NDArray[np.float64], values: ValueCounts) -> float:
    """Mean posterior over the records whose value is known."""
    total = int(values.counts.sum())
    return float((posterior * values.counts).sum() / total) if total else 0.0
