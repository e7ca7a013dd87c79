"""The memory limit: how it is parsed, and the error when memory runs out."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from shoal.errors import BadInput

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
_LEAST, _MOST = 64 << 20, 1 << 60


def bytes_of(memory: str | int) -> int:
    """Return the number of bytes that a text such as `2GB` or `512MiB` denotes.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB")
    (2000000000, 1610612736)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?I?B|)\s*", str(memory).upper())
    if found is None:
        raise BadInput(f"memory: {memory!r} is no amount of memory; write e.g. 2GB")
    asked = float(found[1]) * _UNITS[found[2]]
    if asked > _MOST:
        raise BadInput(f"memory: {str(memory)[:20]!r} is more than a machine has; write e.g. 2GB")
    amount = int(asked)
    if amount < _LEAST:
        raise BadInput(f"memory: {memory!r} is too little; give at least {_LEAST >> 20} MiB")
    return amount


@contextmanager
def explain_memory_error() -> Iterator[None]:
    """Turn any out-of-memory error inside the block into a BadInput that says what to do."""
    try:
        yield
    except Exception as wrong:
        if not is_shortage(wrong):
            raise
        raise BadInput(
            "the memory that may be used is not enough for this table; allow more of it, or have fewer or "
            "coarser quasi-identifiers"
        ) from None


def is_shortage(wrong: Exception) -> bool:
    """Return whether memory ran out: Python, NumPy and Arrow raise MemoryError, DuckDB an error of its own.

    >>> is_shortage(MemoryError()), is_shortage(ValueError())
    (True, False)
    """
    duckdb = sys.modules.get("duckdb")  # if it was never imported, it cannot have raised the error
    return isinstance(wrong, MemoryError) or (duckdb is not None and isinstance(wrong, duckdb.OutOfMemoryException))
