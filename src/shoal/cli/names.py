"""Several names in one option."""

import re
from collections.abc import Sequence

from shoal.errors import BadInput

_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:,|\Z)')
_PLAIN = re.compile(r'(?!\s*")\s*([^,]*?)\s*(?:,|\Z)')


def listed(options: Sequence[str] | None) -> list[str]:
    """Names separated by commas, each once; one with a comma or an outer space stands in double quotes, as in a CSV.

    >>> listed(["age, sex", '"a,b"," c"', "age"])
    ['age', 'sex', 'a,b', ' c']
    """
    return list(dict.fromkeys(name for option in options or () for name in _parts(option)))


def _parts(option: str) -> list[str]:
    found, at = [], 0
    while at < len(option):
        quoted = _QUOTED.match(option, at)
        part = quoted or _PLAIN.match(option, at)
        if part is None:
            raise BadInput(f"{option!r}: a quote is not closed, or something stands beside it; write '\"a,b\",c'")
        found.append(part[1].replace('""', '"') if quoted else part[1])
        at = part.end()
    return [name for name in found if name]
