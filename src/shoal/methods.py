"""The one registry of algorithms: their names, the pairs of options they serve, and where each is found.

Nothing is imported until it is used. Another package adds an algorithm by an entry point of the group
`shoal.algorithms`, or by `shoal.register_algorithm`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any, Literal

from shoal.registry import Registry

Generalise = Literal["attribute", "cell", "none"]
Suppress = Literal["tuple", "attribute", "cell", "none"]
Pair = tuple[Generalise, Suppress]


class Shape(StrEnum):
    """What an algorithm makes of the quasi-identifiers; it decides what its function takes and returns."""

    SEARCH = "one level per attribute"
    """A walk over the lattice: `search.Setting` in, a generator of questions out."""
    BOXES = "boxes"
    """Ranges, or labels of a hierarchy, for each box: a problem in, a partitioning out."""
    CLUSTERS = "clusters"
    """Groups of rows near to each other, which show their means or medians."""
    CELLS = "cells"
    """Labels of its own for every class."""
    GROUPS = "groups"
    """Unchanged quasi-identifiers, and a second table with the sensitive values of each group."""


@dataclass(frozen=True)
class Algorithm:
    """A way to find a recoding."""

    name: str
    sentence: str
    """What it does, for people: "it …"."""
    shape: Shape
    pairs: tuple[Pair, ...]
    """The pairs of `generalise` and `suppress` that it serves (S2.3)."""
    run: str | Callable[..., Any]
    """Its function, or "module:function", imported on first use."""
    source: str = ""
    options: tuple[str, ...] = ()
    """Options of [method] that only it, or few others, read."""
    closed: bool = False
    """Whether it skips nodes by inference, which needs a policy that coarser nodes keep whenever finer ones do."""
    lists: bool = False
    """Whether it lists the lattice and returns a set of nodes; the lattice must then not be too large."""
    scores: bool = False
    """Whether it asks for scores and bounds, and returns the node of the best score."""
    prunes: bool = False
    """Whether it starts from the lattice without the levels at which an attribute fails by itself."""

    def load(self) -> Callable[..., Any]:
        """Import and return its function."""
        if not isinstance(self.run, str):
            return self.run
        module, _, name = self.run.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


_ATTRIBUTE: tuple[Pair, ...] = (("attribute", "tuple"), ("attribute", "none"), ("attribute", "attribute"))
_CELL: tuple[Pair, ...] = (("cell", "none"), ("cell", "cell"))
_SEARCHES, _BOXES = "shoal.search.walks", "shoal.partition.solver"

ALGORITHMS: Registry[Algorithm] = Registry(
    "shoal.algorithms",
    [
        Algorithm(
            "optimal",
            "looks for the least loss of all, and can prove it",
            Shape.SEARCH,
            (*_ATTRIBUTE, ("attribute", "cell")),
            f"{_SEARCHES}:walk_optimal",
            source="ours, after El Emam et al., JAMIA 16(5), 2009 and Kohlmayer et al., PASSAT 2012",
            scores=True,
            prunes=True,
        ),
        Algorithm(
            "datafly",
            "makes the column of most values coarser until enough rows look alike",
            Shape.SEARCH,
            _ATTRIBUTE,
            f"{_SEARCHES}:walk_datafly",
            source="Sweeney, IJUFKS 10(5), 2002",
        ),
        Algorithm(
            "samarati",
            "looks for the lowest height at which the promises hold",
            Shape.SEARCH,
            _ATTRIBUTE,
            f"{_SEARCHES}:walk_samarati",
            source="Samarati, IEEE TKDE 13(6), 2001",
            options=("preference",),
            closed=True,
            lists=True,
        ),
        Algorithm(
            "incognito",
            "looks for all levels at which the promises hold",
            Shape.SEARCH,
            _ATTRIBUTE,
            f"{_SEARCHES}:walk_incognito",
            source="LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005",
            options=("preference", "minimal"),
            closed=True,
            lists=True,
            prunes=True,
        ),
        Algorithm(
            "hybrid",
            "takes a quick answer to bound the search for the lowest height",
            Shape.SEARCH,
            _ATTRIBUTE,
            f"{_SEARCHES}:walk_hybrid",
            source="ours, Datafly and Samarati together",
            options=("preference",),
            closed=True,
            lists=True,
        ),
        Algorithm(
            "greedy",
            "makes the step that costs least, again and again",
            Shape.SEARCH,
            _ATTRIBUTE,
            f"{_SEARCHES}:walk_greedy",
            source="Wang, Xu, Qu, Journal of Software 6(10), 2011",
            options=("weighting",),
        ),
        Algorithm(
            "mondrian-single",
            "cuts one column at a time",
            Shape.BOXES,
            _ATTRIBUTE,
            f"{_BOXES}:single_boxes",
            source="LeFevre, DeWitt, Ramakrishnan, ICDE 2006",
            options=("empty_sides",),
        ),
        Algorithm(
            "local",
            "makes every class only as coarse as it needs",
            Shape.CELLS,
            _CELL,
            "shoal.partition.local_recoding:recode_locally",
            source="ours",
        ),
        Algorithm(
            "mondrian",
            "cuts the rows into boxes at their middle",
            Shape.BOXES,
            _CELL,
            f"{_BOXES}:strict_boxes",
            source="LeFevre, DeWitt, Ramakrishnan, ICDE 2006",
        ),
        Algorithm(
            "mondrian-relaxed",
            "cuts the rows into boxes that may overlap",
            Shape.BOXES,
            _CELL,
            f"{_BOXES}:relaxed_boxes",
            source="LeFevre, DeWitt, Ramakrishnan, ICDE 2006",
        ),
        Algorithm(
            "mondrian-workload",
            "cuts the rows into boxes that suit a task",
            Shape.BOXES,
            _CELL,
            f"{_BOXES}:workload_boxes",
            source="LeFevre, DeWitt, Ramakrishnan, ACM TODS 33(3), 2008",
            options=("target", "workload"),
        ),
        Algorithm(
            "microaggregation",
            "puts rows together that lie near to each other",
            Shape.CLUSTERS,
            _CELL,
            f"{_BOXES}:clusters",
            source="Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 14(1), 2002",
        ),
        Algorithm(
            "suppress",
            "blanks what stands out",
            Shape.SEARCH,
            (("none", "tuple"), ("none", "attribute"), ("none", "cell")),
            f"{_SEARCHES}:walk_optimal",
            source="Samarati and Sweeney 1998",
            scores=True,
            prunes=True,
        ),
        Algorithm(
            "anatomy",
            "puts rows with different sensitive values into groups",
            Shape.GROUPS,
            (("none", "none"),),
            "shoal.partition.anatomy:plan_groups",
            source="Xiao and Tao, VLDB 2006",
        ),
    ],
)

PAIRS: tuple[Pair, ...] = (
    *_ATTRIBUTE,
    ("attribute", "cell"),
    *_CELL,
    ("none", "tuple"),
    ("none", "attribute"),
    ("none", "cell"),
    ("none", "none"),
)
"""The nine models of S2.3, and that of Anatomy."""

NINE_MODELS: dict[str, Pair] = {
    "AG_TS": ("attribute", "tuple"),
    "AG_AS": ("attribute", "attribute"),
    "AG_CS": ("attribute", "cell"),
    "AG_": ("attribute", "none"),
    "CG_CS": ("cell", "cell"),
    "CG_": ("cell", "none"),
    "_TS": ("none", "tuple"),
    "_AS": ("none", "attribute"),
    "_CS": ("none", "cell"),
}
"""The names that the survey of Ciriani et al. gives to pairs of `generalise` and `suppress` (S2.3)."""


VARIANTS: Mapping[str, Mapping[str, str]] = {
    "cell-suppression": {"algorithm": "optimal", "generalise": "attribute", "suppress": "cell"},
    "suppress-cells": {"algorithm": "suppress", "generalise": "none", "suppress": "cell"},
}
"""What comparisons name and no algorithm is: single cells become `*`, after generalisation or without it."""


def options_of_variant(name: str) -> str:
    """Return what a policy says under [method] to get a variant.

    >>> options_of_variant("cell-suppression")
    'generalise = "attribute" and suppress = "cell"'
    """
    return " and ".join(f'{key} = "{VARIANTS[name][key]}"' for key in ("generalise", "suppress"))


def algorithms_for(pair: Pair) -> tuple[str, ...]:
    """Return the names of the algorithms that serve a pair of options; the first is the default.

    >>> algorithms_for(("attribute", "cell")), algorithms_for(("cell", "tuple"))
    (('optimal',), ())
    """
    return tuple(name for name, algorithm in ALGORITHMS.items() if pair in algorithm.pairs)


def searches() -> tuple[str, ...]:
    """Return the names of the algorithms that search the lattice for one level per attribute."""
    return tuple(name for name in ALGORITHMS if name in algorithms_for(_ATTRIBUTE[0]) and is_search(name))


def is_search(name: str) -> bool:
    return ALGORITHMS[name].shape is Shape.SEARCH


def algorithms_reading(option: str) -> tuple[str, ...]:
    """Return the names of the algorithms that read a special option; empty for an option that all read."""
    return tuple(name for name, algorithm in ALGORITHMS.items() if option in algorithm.options)
