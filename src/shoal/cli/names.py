"""What stands in one option: several names, or a number."""

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


def number_or_text(option: str) -> float | str:
    """A number where it is one.

    >>> number_or_text("0.05"), number_or_text("k")
    (0.05, 'k')
    """
    try:
        return float(option)
    except ValueError:
        return option


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
