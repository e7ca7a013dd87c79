from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]

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
