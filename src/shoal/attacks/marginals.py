"""How common the values of a quasi-identifier are, as far as a release or another table of people tells."""

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.meaning import Meaning
from shoal.attacks.published import Published
from shoal.codes import Table


def marginal(published: Published, name: str, meaning: Meaning, control: Table | None = None) -> NDArray[np.float64]:
    """The share of each value: of the people of a control table, each value counted once more (Laplace's rule).

    Without one, every released row is spread evenly over what its label covers.

    >>> import pyarrow as pa
    >>> from shoal.attacks.meaning import meaning_of
    >>> from shoal.codes import encode
    >>> table = Table({"age": encode("age", pa.array(["[20, 22)", "20"]))}, 2)
    >>> published = Published.of("the frame", table, ["age"], [])
    >>> marginal(published, "age", meaning_of(published, "age")).tolist()
    [0.75, 0.25]
    """
    size = meaning.column.size
    if control is not None:
        codes = meaning.codes_of(control[name])[control[name].codes]
        seen = np.bincount(codes[codes >= 0], minlength=size) + 1.0
        return np.asarray(seen / seen.sum())
    shown = published.quasi_identifiers[name]
    rows = np.bincount(shown.codes, minlength=len(shown.labels)).astype(np.float64)
    covered = meaning.covered / np.maximum(meaning.covered.sum(axis=1, keepdims=True), 1)
    mass = rows @ covered
    return np.asarray(mass / mass.sum()) if mass.sum() > 0 else np.full(size, 1 / max(size, 1))
