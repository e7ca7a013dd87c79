"""How the release is found: what is generalised, what is suppressed, and by which algorithm."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictBool, model_validator

from shoal.policy.parts import AnyPath, Names, Part, Seconds, Suppression, whole

Algorithm = Literal[
    "optimal",
    "datafly",
    "samarati",
    "incognito",
    "hybrid",
    "greedy",
    "mondrian-single",
    "local",
    "mondrian",
    "mondrian-relaxed",
    "mondrian-workload",
    "microaggregation",
    "suppress",
    "anatomy",
]
Generalise = Literal["attribute", "cell", "none"]
Suppress = Literal["tuple", "attribute", "cell", "none"]
Preference = Literal[
    "metric", "minimum-absolute-distance", "minimum-relative-distance", "maximum-distribution", "minimum-suppression"
]
Weighting = Literal["importance", "paper"]
Ties = Literal["first", "random"]
Metric = Literal[
    "loss",
    "loss-geometric",
    "precision-loss",
    "discernibility",
    "average-class",
    "height",
    "alpha-max",
    "alpha-spread",
]
SENSITIVE_METRICS: tuple[Metric, ...] = ("alpha-max", "alpha-spread")
"""Metrics of the sensitive attributes: they need one."""

SEARCHES: tuple[Algorithm, ...] = ("optimal", "datafly", "samarati", "incognito", "hybrid", "greedy")
"""Searches of the lattice: one level per attribute."""
BOXES: tuple[Algorithm, ...] = ("mondrian", "mondrian-relaxed", "mondrian-workload", "mondrian-single")
"""Partitions of the space of the quasi-identifiers: ranges, or labels of a hierarchy."""
_BY_CELL: tuple[Algorithm, ...] = ("local", "mondrian", "mondrian-relaxed", "mondrian-workload", "microaggregation")

PAIRS: dict[tuple[Generalise, Suppress], tuple[Algorithm, ...]] = {
    ("attribute", "tuple"): (*SEARCHES, "mondrian-single"),
    ("attribute", "none"): (*SEARCHES, "mondrian-single"),
    ("attribute", "attribute"): (*SEARCHES, "mondrian-single"),
    ("attribute", "cell"): ("optimal",),
    ("cell", "none"): _BY_CELL,
    ("cell", "cell"): _BY_CELL,
    ("none", "tuple"): ("suppress",),
    ("none", "attribute"): ("suppress",),
    ("none", "cell"): ("suppress",),
    ("none", "none"): ("anatomy",),
}
"""The nine models of S2.3 and the algorithms for each, the first one taken where none is named; and Anatomy."""

ALGORITHM_OPTIONS: dict[str, tuple[Algorithm, ...]] = {
    "preference": ("samarati", "incognito", "hybrid"),
    "weighting": ("greedy",),
    "minimal": ("incognito",),
    "target": ("mondrian-workload",),
    "workload": ("mondrian-workload",),
}
"""Options of the method that only some algorithms read."""


class Method(Part):
    """How the release is found.

    >>> Method(algorithm="mondrian").generalise, Method(generalise="cell").algorithm
    ('cell', 'local')
    """

    generalise: Generalise = "attribute"
    suppress: Suppress = "tuple"
    algorithm: Algorithm = "optimal"
    suppression: Suppression = 0.0
    """Share of the rows that may be suppressed; "k" is Sweeney's rule: at most k rows."""
    metric: Metric = "loss"
    time_limit: Seconds | None = None
    """A large lattice is searched until then; left out, for a number of rounds that depends on nothing but the seed."""
    seed: Annotated[int, BeforeValidator(whole)] = 0
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
    ties: Ties = "first"
    """Of equally good choices the first in the order of the attributes' names, or of an order drawn from the seed."""
    margin: Annotated[int, Field(ge=0), BeforeValidator(whole)] = 0
    """Classes are larger than promised by 0 to this many, drawn from the seed: so the release need not be minimal."""

    @property
    def of_cells(self) -> bool:
        """Whether rows with equal values may be shown differently: no level per attribute is looked for."""
        return self.algorithm in {*BOXES, *_BY_CELL, "anatomy"} or self.suppress == "cell"

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, given: Any) -> Any:
        """What is left out of the pair and the algorithm is the first that fits the rest."""
        if not isinstance(given, dict):
            return given
        named = {key: given[key] for key in ("generalise", "suppress", "algorithm") if key in given}
        for (generalise, suppress), algorithms in PAIRS.items():
            algorithm = named.get("algorithm", algorithms[0])
            fits = {"generalise": generalise, "suppress": suppress, "algorithm": algorithm}
            if algorithm in algorithms and named.items() <= fits.items():
                # with nothing but rows to leave out, all that fail may be left out
                without = {"suppression": 1.0} if (generalise, suppress) == ("none", "tuple") else {}
                return without | given | fits
        return given

    @model_validator(mode="after")
    def _pair(self) -> Self:
        fitting = PAIRS.get((self.generalise, self.suppress))
        if fitting is None or self.algorithm not in fitting:
            pairs = [pair for pair, algorithms in PAIRS.items() if self.algorithm in algorithms]
            fit = " or ".join(f"generalise = {one!r} with suppress = {other!r}" for one, other in pairs)
            raise ValueError(
                f"algorithm = {self.algorithm!r} does not fit generalise = {self.generalise!r} with suppress = "
                f"{self.suppress!r}; it is for {fit}"
                + (f", and that pair has {', '.join(map(repr, fitting))}" if fitting else "")
            )
        if self.suppress != "tuple" and self.suppression != 0:
            raise ValueError(
                f"suppress = {self.suppress!r} and suppression = {self.suppression!r} contradict each other; "
                "leave one of them out"
            )
        if self.algorithm == "mondrian-single" and self.suppression != 0:
            raise ValueError("suppression has no meaning for algorithm = 'mondrian-single', which leaves no row out")
        return self

    @model_validator(mode="after")
    def _options(self) -> Self:
        for option, algorithms in ALGORITHM_OPTIONS.items():
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
        if self.margin and self.suppression == "k":
            raise ValueError("margin and suppression = 'k' contradict each other: k is larger by what nobody may know")
        if self.of_cells and self.metric != "loss":
            raise ValueError(
                f"metric = {self.metric!r} is for algorithms that look for one level per attribute; "
                f"{self.algorithm!r} knows 'loss' only, and the report tells the others"
            )
        return self
