"""How the release is found: what is generalised, what is suppressed, and by which algorithm."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, model_validator

from shoal.methods import (
    ALGORITHMS,
    NINE_MODELS,
    PAIRS,
    VARIANTS,
    Generalise,
    Shape,
    Suppress,
    algorithms_for,
    algorithms_reading,
    is_search,
    options_of_variant,
)
from shoal.metrics.catalogue import METRICS
from shoal.models.bt_privacy import BTPrivacy
from shoal.models.model import Closure, Need
from shoal.models.spec import suggest_nearest
from shoal.models.xy_privacy import XYPrivacy
from shoal.policy.sections import AnyPath, Names, PolicySection, RowLimit, Seconds, Suppression, check_whole
from shoal.roles import Role

if TYPE_CHECKING:
    from shoal.policy.document import Policy

Preference = Literal[
    "metric", "minimum-absolute-distance", "minimum-relative-distance", "maximum-distribution", "minimum-suppression"
]
Weighting = Literal["importance", "paper"]
Ties = Literal["first", "random"]


def _check_known(name: str, names: Iterable[str]) -> str:
    if name not in (known := list(names)):
        *others, last = map(repr, known)
        raise ValueError(f"input should be {', '.join(others)} or {last}, not {name!r}{suggest_nearest(name, known)}")
    return name


def _check_algorithm(name: str) -> str:
    if name in VARIANTS:
        raise ValueError(f"{name!r} is no algorithm of its own; write {options_of_variant(name)}, and no algorithm")
    return _check_known(name, ALGORITHMS)


PaperModel = Literal["AG_TS", "AG_AS", "AG_CS", "AG_", "CG_CS", "CG_", "_TS", "_AS", "_CS"]
"""What `generalise` and `suppress` together are called in the papers; the keys of `NINE_MODELS`."""
AlgorithmName = Annotated[str, AfterValidator(_check_algorithm)]
MetricName = Annotated[str, AfterValidator(lambda name: _check_known(name, METRICS))]


OPTIONS = ("preference", "weighting", "minimal", "target", "workload", "empty_sides")
"""Options that only some algorithms read."""


class Method(PolicySection):
    """How the release is found.

    >>> Method(algorithm="mondrian").generalise, Method(generalise="cell").algorithm
    ('cell', 'local')
    >>> Method(model="AG_CS").suppress
    'cell'
    """

    generalise: Generalise = "attribute"
    """What is generalised: whole columns (AG), single cells (CG), or nothing."""
    suppress: Suppress = "tuple"
    """What is suppressed: whole rows (TS), whole columns (AS), single cells (CS), or nothing."""
    algorithm: AlgorithmName = "optimal"
    """How the release is found."""
    suppression: Suppression = 0.0
    """Share of the rows that may be suppressed, or their number, `{ rows = 2 }` (MaxSup, v); "k" is Sweeney's rule: at
    most k rows."""
    metric: MetricName = "loss"
    """What the search minimises."""
    time_limit: Seconds | None = None
    """A large lattice is searched until then; left out, for a number of rounds that depends on nothing but the seed."""
    seed: Annotated[int, BeforeValidator(check_whole)] = 0
    """Random seed; a secret where `ties` or `margin` are drawn from it."""
    preference: Preference = "metric"
    """Which of several nodes to release: the one of least metric, or one of Samarati's preferences."""
    weighting: Weighting = "importance"
    """Of greedy's steps: important attributes are kept; or "paper", by the letter of its equation (10)."""
    minimal: StrictBool = False
    """Of incognito's nodes, only those with no complying node below them."""
    target: Names = ()
    """The columns that mondrian-workload keeps predictable from the quasi-identifiers."""
    workload: AnyPath | None = None
    """The file of the queries whose answers mondrian-workload keeps near the original's."""
    empty_sides: StrictBool = True
    """Whether a cut of mondrian-single may leave a class on one side; false is the paper's: k rows on both of each."""
    ties: Ties = "first"
    """Of equally good choices the first in the order of the attributes' names, or of an order drawn from the seed."""
    margin: Annotated[int, Field(ge=0), BeforeValidator(check_whole)] = 0
    """Classes are larger than promised by 0 to this many, drawn from the seed: so the release need not be minimal."""
    model: Annotated[PaperModel | None, Field(exclude=True)] = None
    """AG_TS, AG_AS, AG_CS, AG_, CG_CS, CG_, _TS, _AS or _CS: another word for `generalise` and `suppress`."""

    @property
    def of_cells(self) -> bool:
        """Whether rows with equal values may be shown differently: no level per attribute is looked for."""
        return not is_search(self.algorithm) or self.suppress == "cell"

    @property
    def ignored(self) -> dict[str, str]:
        """The options given that its algorithm does not read, and why; no promise depends on any of them.

        >>> Method(algorithm="local", suppression=0.02).ignored
        {'suppression': "'local' leaves no row out"}
        """
        algorithm = ALGORITHMS[self.algorithm]
        leaves_out = any(suppress == "tuple" for _, suppress in algorithm.pairs) and is_search(self.algorithm)
        unread = {
            "suppression": (leaves_out, f"{self.algorithm!r} leaves no row out"),
            "metric": (not self.of_cells, f"{self.algorithm!r} knows 'loss' only, and the report tells the others"),
            "time_limit": (
                algorithm.shape in {Shape.SEARCH, Shape.CELLS},
                f"{self.algorithm!r} has nothing to show before its end",
            ),
        }
        default = type(self).model_fields
        return {
            key: why for key, (read, why) in unread.items() if not read and getattr(self, key) != default[key].default
        }

    @property
    def in_effect(self) -> "Method":
        """The same method, with every option that its algorithm does not read at its default."""
        return self.model_copy(update={key: type(self).model_fields[key].default for key in self.ignored})

    @model_validator(mode="before")
    @classmethod
    def _complete_pair(cls, given: Any) -> Any:
        """Fill in generalise, suppress and algorithm where missing: the first combination that fits what is given."""
        if not isinstance(given, dict):
            return given
        given = _spell_out_model(_respell(given))
        named = {key: given[key] for key in ("generalise", "suppress", "algorithm") if key in given}
        for generalise, suppress in PAIRS:
            algorithms = algorithms_for((generalise, suppress))
            algorithm = named.get("algorithm", algorithms[0])
            fits = {"generalise": generalise, "suppress": suppress, "algorithm": algorithm}
            if algorithm in algorithms and named.items() <= fits.items():
                # with nothing but rows to leave out, all that fail may be left out
                without = {"suppression": 1.0} if (generalise, suppress) == ("none", "tuple") else {}
                return without | given | fits
        return given

    @model_validator(mode="after")
    def _pair(self) -> Self:
        fitting = algorithms_for((self.generalise, self.suppress))
        if self.algorithm not in fitting:
            pairs = ALGORITHMS[self.algorithm].pairs
            fit = " or ".join(f"generalise = {one!r} with suppress = {other!r}" for one, other in pairs)
            raise ValueError(
                f"algorithm = {self.algorithm!r} does not fit generalise = {self.generalise!r} with suppress = "
                f"{self.suppress!r}; it is for {fit}"
                + (f", and that pair has {', '.join(map(repr, fitting))}" if fitting else "")
            )
        if (
            self.suppress != "tuple"
            and self.suppression not in (0, RowLimit(rows=0))
            and "suppression" not in self.ignored
        ):
            limit = self.suppression if isinstance(self.suppression, RowLimit) else repr(self.suppression)
            raise ValueError(
                f"suppress = {self.suppress!r} and suppression = {limit} contradict each other; leave one of them out"
            )
        return self

    @model_validator(mode="after")
    def _options(self) -> Self:
        for option in OPTIONS:
            algorithms = algorithms_reading(option)
            if self.algorithm not in algorithms and getattr(self, option) != type(self).model_fields[option].default:
                named = " or ".join(repr(name) for name in algorithms)
                raise ValueError(f"{option} has no meaning for algorithm = {self.algorithm!r}; it is for {named}")
        if self.algorithm == "mondrian-workload" and bool(self.target) == (self.workload is not None):
            raise ValueError(
                "algorithm = 'mondrian-workload' needs a target, the column that is to be predicted, or a workload, "
                "the file of its queries; and not both"
            )
        secret = {"ties": self.ties != "first", "margin": self.margin > 0}
        for option in (name for name, used in secret.items() if used and self.seed == 0):
            raise ValueError(f"{option} is drawn from the seed, and 0 is no secret; give a seed and keep it private")
        if self.margin and self.suppression == "k" and "suppression" not in self.ignored:
            raise ValueError("margin and suppression = 'k' contradict each other: k is larger by what nobody may know")
        return self


def _respell(given: dict[str, Any]) -> dict[str, Any]:
    """Return a [method] with `generalize` as `generalise` and `model` in capitals; refuse both spellings at once."""
    changed = dict(given)
    if "generalize" in given:
        if "generalise" in given:
            raise ValueError("generalise and generalize are one key; leave one of them out")
        changed["generalise"] = changed.pop("generalize")
    if isinstance(name := given.get("model"), str) and name.upper() in {*NINE_MODELS, *_NOT_OF_THE_NINE}:
        changed["model"] = name.upper()
    return changed


_NOT_OF_THE_NINE = ("CG_TS", "CG_AS")
"""Pairs that the survey leaves out."""


def _spell_out_model(given: dict[str, Any]) -> dict[str, Any]:
    """Return a [method] with `model = "AG_TS"` written as `generalise` and `suppress`; refuse a contradiction."""
    name = given.get("model")
    if name in _NOT_OF_THE_NINE:
        raise ValueError(
            f"model = {name!r} is none of the nine: where single cells are generalised, every class can be met without "
            "leaving out rows or columns; write model = 'CG_'"
        )
    if name not in NINE_MODELS:
        return given  # None, or what the type of the field refuses
    pair = dict(zip(("generalise", "suppress"), NINE_MODELS[name], strict=True))
    for key, meant in pair.items():
        if given.get(key, meant) != meant:
            raise ValueError(f"model = {name!r} is {key} = {meant!r}, not {given[key]!r}; leave one of them out")
    return {key: value for key, value in given.items() if key != "model"} | pair


STATISTICS = ("mean", "median", "mode")
"""Forms that show one value for a class."""


def misfit_of_algorithm(policy: "Policy") -> str | None:
    """Say why a policy contradicts its algorithm in forms, orders, ranges, levels or promises; None if it fits."""
    algorithm = policy.method.algorithm
    shape = ALGORITHMS[algorithm].shape
    shaped = shape in {Shape.BOXES, Shape.CLUSTERS}
    for name in policy.quasi_identifiers:
        attribute = policy.attributes[name]
        for key in ("form", "order"):
            if getattr(attribute, key) is not None and not shaped:
                return f"attributes.{name}: {key} has no meaning for algorithm = {algorithm!r}; it is for boxes"
        for key in ("min_level", "max_level"):
            if getattr(attribute, key) is not None and (misfit := _misfit_of_levels(policy.method, key)) is not None:
                return f"attributes.{name}: {misfit}"
        if attribute.order is not None and attribute.hierarchy is not None and shaped:
            return f"attributes.{name}: it has a hierarchy and an order; boxes follow one of them, leave the other out"
        if shape is Shape.CLUSTERS and not set(attribute.form or STATISTICS) <= set(STATISTICS):
            return f"attributes.{name}: clusters show the mean, the median or the mode, not {attribute.form}"
    if policy.release.ranges != "cut" and shape is not Shape.BOXES:
        return f"release.ranges = 'observed' is for boxes; algorithm = {algorithm!r} makes none"
    return next(_misfits_of_models(policy), None) if policy.method.of_cells else None


_WITHOUT_LEVELS = {
    "min_level": "leave it out and make the column coarser in the table before",
    "max_level": "leave it out and check in the report how coarse the column became",
}
"""What to do in place of a limit of levels where an algorithm has none."""


def _misfit_of_levels(method: Method, key: str) -> str | None:
    """Say why a limit of levels contradicts the method and what to do; None if it fits."""
    limit = key.replace("_", "-")
    if method.generalise == "none":
        return f"{limit} has no meaning where generalise = 'none'; leave one of them out"
    if not method.of_cells:
        return None
    if is_search(method.algorithm):
        return (
            f"{limit} is for one level per attribute, and with suppress = 'cell' (AG_CS) single cells are * beside it; "
            f"use suppress = 'tuple' (AG_TS), which leaves out rows instead, or {_WITHOUT_LEVELS[key]}"
        )
    return (
        f"{limit} is for algorithms that choose one level per attribute, and {method.algorithm!r} does not; use "
        f"algorithm = 'optimal' (AG_TS), which does, or {_WITHOUT_LEVELS[key]}"
    )


def _misfits_of_models(policy: "Policy") -> Iterator[str]:
    algorithm = policy.method.algorithm
    for model in policy.require:
        if Need.POPULATION in model.needs:
            yield (
                f"require: {model.name} compares with a population, for which {algorithm!r} has no level per attribute"
            )
        if isinstance(model, XYPrivacy) and model.x:
            yield f"require: {model.name} with x needs one level per attribute, not algorithm = {algorithm!r}"
        if algorithm == "anatomy" and isinstance(model, BTPrivacy):
            yield (
                f"require: {model.name} is about classes whose rows look alike, and anatomy publishes the "
                "quasi-identifiers as they are; use another algorithm"
            )
        if algorithm == "anatomy" and not model.per_attribute:
            yield (
                f"require: {model.name} is about who is in the table, and anatomy publishes the quasi-identifiers as "
                "they are; require a model of the sensitive attribute, e.g. distinct-l-diversity"
            )
    if algorithm == "anatomy" and len(policy.named(Role.SENSITIVE)) != 1:
        yield "method.algorithm: 'anatomy' separates one sensitive attribute from the others; declare exactly one"
    if algorithm == "anatomy" and policy.unit is not None:
        yield "method.algorithm: 'anatomy' counts rows, not persons; leave the unit out"


_MINIMAL_SEARCHES = frozenset({"optimal", "samarati", "incognito", "hybrid"})
"""Searches that release a node only if no node below it keeps the policy."""
_OF_SENSITIVE_VALUES = frozenset({"alpha-max", "alpha-spread"})
"""Metrics that a coarser node may lower."""


def find_minimal_part(policy: "Policy") -> tuple[Literal["class", "column"] | None, str]:
    """Return where a release of this policy could not have been finer and keep it; None and a reason where it could.

    A column is minimal if the next lower level for all its rows fails; a class, if its split by the children of a label
    fails.
    """
    if policy.method.margin:
        return None, "classes are larger than promised by a margin that nobody knows"
    if policy.blocking is not None or policy.republish is not None or policy.unit is not None:
        return None, "the policy asks for more than its models: blocking, earlier releases or persons"
    doubt = _doubt_of_classes(policy) if policy.method.algorithm == "local" else _doubt_of_columns(policy)
    return (None, doubt) if doubt else ("class" if policy.method.algorithm == "local" else "column", "")


def _doubt_of_classes(policy: "Policy") -> str:
    """Say why a class of local recoding may be coarser than it must be; empty if it may not."""
    parts = [part for model in policy.models for part in model.parts()]
    open_ = [part.name for part in parts if part.merging < Closure.UNION]
    return f"local recoding may stop earlier under {open_[0]}" if open_ else ""


def _doubt_of_columns(policy: "Policy") -> str:
    """Say why a column may be coarser than it must be; empty if it may not."""
    method, parts = policy.method, [part for model in policy.models for part in model.parts()]
    if method.algorithm not in _MINIMAL_SEARCHES or method.suppress == "cell":
        cells = " with suppressed cells" if method.suppress == "cell" and method.generalise == "attribute" else ""
        return f"{method.algorithm!r}{cells} may generalise more than it must"
    lowest = method.algorithm in {"samarati", "hybrid"} or method.minimal
    if method.metric in _OF_SENSITIVE_VALUES and not lowest:
        return f"the least {method.metric} may be that of labels coarser than they must be"
    fewer = isinstance(method.suppression, int | float) and method.suppression < 1
    if policy.release.suppressed == "show" and not fewer:
        return "all rows may have been suppressed, and look as if they were generalised"
    if method.suppression != 0 and any(part.merging < Closure.SUPERSET for part in parts):
        return "rows that nobody sees may have been suppressed, and they decide whether finer labels comply"
    return ""
