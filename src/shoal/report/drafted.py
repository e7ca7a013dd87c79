"""A first policy for a table: roles guessed, hierarchies drafted, every guess with its reason as a comment."""

import json
import re
from typing import Any

from shoal import __version__
from shoal.codes import Column
from shoal.engine import Source
from shoal.errors import BadHierarchy
from shoal.hierarchy import draft, reason
from shoal.policy import FORMAT
from shoal.schema import Role

MARKERS = ("?", "NA", "N/A", "NULL", "null", "None", "nan", "NaN", "#N/A")
"""Texts that usually mean: not known."""

_NAMES: dict[Role, str] = {
    Role.IDENTIFIER: "names? surname e?-?mail.* phone.* fax ssn passport.* iban account.* licen[cs]e.* mrn url ip uuid id "
    ".*-id address street",
    Role.SAMPLING_WEIGHT: "fnlwgt weights? sampling-?weight",
    Role.SENSITIVE: "disease diagnos.* icd.* illness condition hiv.* salary.* income.* wage.* earnings religion party "
    "crime.* drugs? test-?result score grade debt",
    Role.QUASI_IDENTIFIER: "age sex gender zip.* post-?code plz pin-?code birth.* date-of-birth dob race ethnic.* "
    "marital.* education.* occupation job.* work.* country native.* nationality citizenship city state region county "
    "municipality language",
}
"""What columns are usually called, as patterns."""

_ID_SHARE = 0.9


def guess_role(column: Column, rows: int) -> tuple[Role, str]:
    """A role by the column's name, else by how many of its values are unique; when in doubt, what protects more."""
    name = re.sub(r"[_\s]", "-", column.name.strip().casefold())
    for role, patterns in _NAMES.items():
        if any(re.fullmatch(pattern, name) for pattern in patterns.split()):
            return role, "by its name"
    unique = int((column.counts == 1).sum())
    if rows > 1 and unique >= _ID_SHARE * rows:
        return Role.IDENTIFIER, f"{100 * unique // rows} % of the rows hold a value of their own"
    return (
        Role.QUASI_IDENTIFIER,
        "not known by name: an outsider might know it; say 'insensitive' or 'sensitive' if not",
    )


def draft_policy(source: Source, k: int = 5) -> str:
    """A policy as TOML text with comments; it holds no value of the data but round edges of intervals."""
    lines = [
        f"# Drafted by shoal {__version__} for {source.name}. Check every role: only you know what outsiders know.",
        f"format = {FORMAT}",
        "",
        "[data]",
        f"missing = {_toml(_markers(source))}  # read as null",
        *(f"{key} = {_toml(value)}  # sniffed" for key, value in source.guessed.items() if key != "encoding"),
    ]
    if source.guessed.get("encoding", "utf-8") not in {"utf-8", "utf-8-sig"}:
        lines.append(f"encoding = {_toml(source.guessed['encoding'])}  # sniffed")
    sensitive = False
    for name, column in source.table.columns.items():
        role, why = guess_role(column, source.table.rows)
        lines += ["", f"[attributes.{_key(name)}]"]
        if role is Role.QUASI_IDENTIFIER:
            role, why, hierarchy = _with_hierarchy(column, role, why, k)
            lines += [f"role = {_toml(str(role))}  # {why}", *hierarchy]
        else:
            lines.append(f"role = {_toml(str(role))}  # {why}")
        sensitive = sensitive or role is Role.SENSITIVE
    lines += [
        "",
        "[[require]]",
        'model = "k-anonymity"',
        f"k = {k}  # every released combination is shared by {k} rows",
    ]
    if sensitive:
        lines += [
            "",
            "[[require]]",
            'model = "distinct-l-diversity"',
            "l = 2  # and shows at least two sensitive values",
        ]
    lines += [
        "",
        "[method]",
        'algorithm = "optimal"',
        "suppression = 0.02  # at most 2 % of the rows may be left out",
        'metric = "loss"',
        "",
    ]
    return "\n".join(lines)


def _with_hierarchy(column: Column, role: Role, why: str, k: int) -> tuple[Role, str, list[str]]:
    try:
        builder = draft(column, k)
    except BadHierarchy:
        return Role.IDENTIFIER, "looks like an identifier: too many different values to generalise", []
    return role, why, [f"hierarchy = {_toml(builder.spec())}  # {reason(column, builder)}"]


def _markers(source: Source) -> list[str]:
    found = {marker for c in source.table.columns.values() for marker in MARKERS if marker in _few(c)}
    return [source.missing, *sorted(found - {source.missing})]


def _few(column: Column) -> set[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = column.texts.filter(pc.is_in(column.texts, value_set=pa.array(MARKERS)))
    return set(kept.to_pylist())


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    """Inline TOML; JSON strings, numbers and arrays are TOML too."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=True)
