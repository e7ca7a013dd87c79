from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]

Grown: TypeAlias = tuple[Ints, Ints, Longs, Ints, Floats]
Axis: TypeAlias = tuple[Ints, Floats, float, float, int, Ints | None, Floats | None]

def group_columns(
    columns: Sequence[Ints],
    word: Ints,
    shift: Ints,
    mask: Words,
    words: int,
    weights: Longs | None,
    want_ids: bool,
) -> tuple[Words, Longs, Ints | None]: ...
def rollup(
    keys: Words,
    counts: Longs,
    word: Ints,
    shift: Ints,
    mask: Words,
    maps: Sequence[Ints | None],
    want_ids: bool,
) -> tuple[Words, Longs, Ints | None]: ...
def rollup_part(
    keys: Words,
    counts: Longs,
    word: Ints,
    shift: Ints,
    mask: Words,
    maps: Sequence[Ints | None],
    by: Words,
    parts: int,
    part: int,
) -> tuple[Words, Longs, Ints | None]: ...
def merge_counts(
    classes: Ints, values: Ints, counts: Longs, into: Ints, merged: int, size: int
) -> tuple[Ints, Ints, Longs]: ...
def marginals(
    keys: Words,
    counts: Longs,
    chosen: NDArray[np.bool_],
    word: Ints,
    shift: Ints,
    mask: Words,
    offset: Longs,
    total: int,
) -> Longs: ...
def mondrian(
    keys: Words, counts: Longs, word: Ints, shift: Ints, mask: Words, axes: Sequence[Axis], k: int, relaxed: bool
) -> tuple[Ints, Ints, Ints]: ...
def least_entropy(
    keys: Words,
    counts: Longs,
    word: Ints,
    shift: Ints,
    mask: Words,
    axes: Sequence[Axis],
    k: int,
    begin: Longs,
    values: Ints,
    rows: Longs,
    size: int,
) -> tuple[Ints, Ints, Ints]: ...
def least_squares(
    keys: Words,
    counts: Longs,
    word: Ints,
    shift: Ints,
    mask: Words,
    axes: Sequence[Axis],
    k: int,
    rows: Floats,
    sums: Floats,
    squares: Floats,
) -> tuple[Ints, Ints, Ints]: ...
def c45(
    attributes: Sequence[tuple[Ints, int, Floats | None]],
    classes: Ints,
    size: int,
    confidence: float,
    normal: float,
    minimum: float,
) -> Grown: ...
def c45_shares(tree: Grown, codes: Sequence[Ints], numeric: Sequence[bool], rows: int) -> Floats: ...
def c45_leaves(tree: Grown, codes: Sequence[Ints], numeric: Sequence[bool], rows: int) -> Ints: ...
def contained(
    points: Ints,
    low: Ints,
    high: Ints,
    sets: Ints,
    runs: Longs,
    run_low: Ints,
    run_high: Ints,
    rows: Longs,
    begin: Longs,
    values: Ints,
    weights: Floats,
    attribute: Ints,
    attributes: int,
) -> tuple[Longs, Longs, Ints, Ints, Floats, Floats]: ...

class Clusters:
    def __init__(
        self,
        codes: Ints,
        rows: Longs,
        groups: Sequence[Ints],
        losses: Sequence[NDArray[np.float64]],
        least: int,
        rules: Sequence[tuple[int, float, int, NDArray[np.float64], Longs, Ints, Longs]],
        nearest: int,
        visits: int,
        seed: int,
    ) -> None: ...
    def improve(self, start: float, end: float) -> None: ...
    def clusters(self) -> Ints: ...

def cost_in_classes(costs: NDArray[np.float64], least: int) -> float: ...
def cheapest_sets(
    codes: Ints,
    rows: Longs,
    groups: Sequence[Ints],
    losses: Sequence[NDArray[np.float64]],
    least: int,
    rules: Sequence[tuple[int, float, int, NDArray[np.float64], Longs, Ints, Longs]],
    costs: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def split_counts(keys: Words, both: Longs) -> tuple[Words, Longs, Longs, int]: ...
def count_small(counts: Longs, least: int) -> tuple[int, int]: ...
def remove_for_shares(
    rows: Longs,
    gone: Longs,
    classes: Ints,
    values: Ints,
    counts: Longs,
    counted: NDArray[np.bool_],
    least: int,
    upper: Floats,
    lower: Floats | None,
    share: float,
) -> Longs: ...
def remove_for_entropy(
    rows: Longs,
    gone: Longs,
    classes: Ints,
    values: Ints,
    counts: Longs,
    counted: NDArray[np.bool_],
    least: int,
    entropy: float,
    fewest: int,
) -> Longs: ...
def remove_for_tail(
    rows: Longs,
    gone: Longs,
    classes: Ints,
    values: Ints,
    counts: Longs,
    counted: NDArray[np.bool_],
    least: int,
    rank: int,
    over: int,
    under: int,
) -> Longs: ...

class Nodes:
    def __init__(self, attributes: int) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> tuple[int, ...]: ...
    def add(self, node: Sequence[int], weight: int = 0) -> None: ...
    def any_below(self, node: Sequence[int]) -> bool: ...
    def any_above(self, node: Sequence[int]) -> bool: ...
    def lightest_below(self, node: Sequence[int]) -> int: ...
    def forget(self, oldest: int) -> None: ...

class Bounds:
    def __init__(
        self, shape: Sequence[int], floors: Sequence[Floats], fixed: float, order: NDArray[np.uint32]
    ) -> None: ...
    @property
    def values(self) -> Floats: ...
    @property
    def passed(self) -> float: ...
    def __getitem__(self, node: int) -> float: ...
    def raise_below(self, node: Sequence[int], floors: Sequence[Floats], fixed: float) -> None: ...
    def close_below(self, node: Sequence[int]) -> None: ...
    def raise_above(self, node: Sequence[int], bound: float) -> None: ...
    def close(self, node: Sequence[int]) -> None: ...
    def next(self, score: float, near: float, best: int) -> int: ...
    def least(self, score: float, near: float, best: int) -> float: ...
    def widest_above(self, node: Sequence[int], ceiling: float) -> int: ...

class LevelCosts:
    def __init__(self, costs: Sequence[Sequence[Floats]], means: Sequence[Floats], rows: float) -> None: ...
    def without(
        self, node: Sequence[int], keys: Words, gone: Longs, word: Ints, shift: Ints, mask: Words, rest: Longs | None
    ) -> Floats: ...
