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

def cheapest_sets(
    codes: Ints,
    rows: Longs,
    groups: Sequence[Ints],
    losses: Sequence[NDArray[np.float64]],
    least: int,
    rules: Sequence[tuple[int, float, int, NDArray[np.float64], Longs, Ints, Longs]],
    costs: NDArray[np.float64],
) -> NDArray[np.float64]: ...
