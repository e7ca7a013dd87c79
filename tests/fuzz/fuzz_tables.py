"""Tables of random cases: the names of columns, the sorts of values, and the files that they are written to.

Nothing here imports the package.
"""

import csv
import datetime as dt
import io
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

Cells = list[str | None]

PLAIN_NAMES = ("age", "zip", "job", "city", "born", "pay", "ill", "sex")
# control characters, blanks and what differs in case or in its form only
_UNSEEN = ("a b", "a\tb", " a", "a ", "\x1b[31m", "\x01", "\u202egnp", "\u200b", "Age", "AGE", "age ", "é", "e\u0301")
# what is syntax somewhere: SQL, HTML, templates, shells, spreadsheets, paths, labels
_SYNTAX = (
    *(
        "*",
        "=1+1",
        "＝1+1",
        "+1",
        "@x",
        "<b>x</b>",
        "<script>alert(1)</script>",
        "{{ x }}",
        "%s",
        "%(a)s",
        "{0}",
        "$HOME",
    ),
    *(
        "../up",
        "/etc",
        "a/b",
        "a\\b",
        "C:",
        "con",
        ".",
        "..",
        "~",
        "it's",
        'q"q',
        '"',
        "'",
        "`",
        "a;b",
        "a,b",
        "a|b",
        "#",
    ),
    *(
        "SELECT",
        "class",
        "count",
        "n",
        "row",
        "rowid",
        "c0",
        "v0",
        "q0",
        "o0",
        "l0",
        "t0",
        "code",
        "cell",
        "label",
        "*_mean",
    ),
    *(
        "None",
        "nan",
        "null",
        "NA",
        "0",
        "-",
        "1.5",
        "True",
        "[1, 2)",
        "{a | b}",
        "≥3",
        "a=b",
        "a&b",
        "\\N",
        "__proto__",
    ),
)
# columns that forms make, and files that a release holds
_TAKEN = ("age_lo", "age_hi", "age_mean", "age_median", "zip_mode", "file", "data", "manifest", "group", "count(*)")
_SCRIPTS = ("Straße", "名前", "עיר", "🙂", "👩‍👩‍👧", "ÅÄÖ", "ß", "İ", "ﬁ", "x" * 300, "名" * 100)
NAMES = (*PLAIN_NAMES, *_UNSEEN, *_SYNTAX, *_TAKEN, *_SCRIPTS)
"""Names of columns, plain ones first."""

ODD_TEXTS = (
    *(
        "",
        " ",
        " x",
        "x ",
        "*",
        "**",
        "NA",
        "null",
        "None",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "-0",
        "-0.0",
        "007",
    ),
    *(
        "1e5",
        "1_000",
        "½",
        "٣",
        "[1, 2]",
        "[1, 2)",
        "<5",
        "{1 | 2}",
        '"7"',
        '"',
        '""',
        "≥3",
        "a, b",
        "a;b",
        "a | b",
        "(x",
    ),
    *(
        "line\nbreak",
        "cr\rhere",
        "crlf\r\nhere",
        "\ttab",
        "=cmd()",
        "+1",
        "@x",
        "-x",
        "＝1",
        "a;=1+1",
        "<script>",
        "\ufeffx",
    ),
    *(
        "it's",
        "'5",
        "''",
        "🙂",
        "שלום",
        "e\u0301",
        "é",
        "\u00a05",
        "\u202ex",
        "true",
        "5",
        "5.0",
        "05",
        "5,0",
        "x" * 400,
    ),
    *(
        "2020-02-30",
        "2020-01-01T00:00:00",
        "9999-12-31",
        "0000-01-01",
        "a\x00b",
        "\x1b[0m",
        "\\N",
        "../x",
        "C:\\x",
        "%s",
    ),
)


def _number(draw: Random) -> str:
    return str(draw.randint(-5, 60))


def _decimal(draw: Random) -> str:
    return f"{draw.uniform(-9, 9):.{draw.randint(0, 3)}f}" + draw.choice(["", "", "", "0"])


def _spelt(draw: Random) -> str:
    """One of few numbers in one of several ways to write it."""
    whole = draw.randint(0, 12)
    return draw.choice([f"{whole}", f"{whole}.0", f"{whole}.5", f"{whole}.50", f"{whole}.500"])


def _apart(draw: Random) -> str:
    """A number with its thousands apart as in English; `write_apart` writes it with other marks."""
    return f"{draw.choice([1, 12, 1234, 20_500, 1_000_000]) + draw.randint(0, 3):,}{draw.choice(['', '', '.5', '.25'])}"


def _huge(draw: Random) -> str:
    near = draw.choice([2**53, 2**53, 2**63, 2**63, 2**64, 10**18, 10**30, 10**38, 10**76, 10**308, 10**400, 1, 0])
    return f"{draw.choice(['', '', '-'])}{near + draw.randint(-2, 2)}{draw.choice(['', '', '', '.5', '.0'])}"


def _day(draw: Random) -> str:
    years = [1, 1582, 1900, 9998, 9999] if draw.random() < 0.03 else [1999, 2020, 2024]
    return f"{draw.choice(years):04}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"


FLAVOURS: dict[str, Callable[[Random], str]] = {
    "number": _number,
    "decimal": _decimal,
    "spelt": _spelt,
    "comma": lambda draw: _decimal(draw).replace(".", ","),
    "apart": _apart,
    "huge": _huge,
    "day": _day,
    "foreign day": lambda draw: "/".join(reversed(_day(draw).split("-"))),
    "moment": lambda draw: f"{_day(draw)} {draw.randint(0, 23):02}:{draw.choice(['00:00', '30:00', '59:59'])}",
    "word": lambda draw: draw.choice(["anna", "bert", "carl", "dora", "emil", "fred", "Anna", "ANNA"]),
    "text number": lambda draw: draw.choice(["7", "7.0", "10", "9", "08", "x", "1e3"]),
    "code": lambda draw: f"{draw.randint(0, 99):05}",
    "odd": lambda draw: draw.choice(ODD_TEXTS),
    "few": lambda draw: draw.choice(["flu", "hiv", "cold", "ulcer"]),
}
"""Sorts of values: each draws one."""
NUMERIC = ("number", "decimal", "spelt", "comma", "apart", "huge")
MARKS = ((",", "."), (".", ","), (" ", ","), ("\u00a0", ","), ("\u202f", "."), ("'", "."), ("’", "."))
"""Pairs of a mark between thousands and a decimal mark, as people write them."""


def write_apart(cells: Cells, thousands: str, decimal: str) -> Cells:
    """Write English numbers with other marks."""
    marks = str.maketrans({",": thousands, ".": decimal})
    return [None if cell is None else cell.translate(marks) for cell in cells]


_TYPES: dict[str, tuple[str, ...]] = {
    "number": ("int8", "int64", "float32", "float64", "dictionary"),
    "decimal": ("float64", "float64", "decimal", "dictionary"),
    "huge": ("uint64", "float64", "float64"),
    "day": ("date", "timestamp", "timestamp in UTC", "dictionary"),
    "moment": ("timestamp", "timestamp in UTC"),
    "few": ("dictionary", "large text", "text view"),
    "word": ("dictionary", "large text", "binary"),
}
"""Types in which a Parquet or Arrow file may store a sort of values."""


def type_of(draw: Random, flavour: str) -> str | None:
    """Draw a type for the values of a flavour; None for plain texts."""
    return draw.choice((*_TYPES.get(flavour, ()), None))


def array_of(cells: Cells, of: str | None) -> Any:
    """Cells as an Arrow array of a type; where one of them does not fit, as texts."""
    import pyarrow as pa

    read, made = _READERS.get(of or "", (str, pa.string()))
    if isinstance(made, str):
        made = pa.type_for_alias(made)
    try:
        return pa.array([None if cell is None else read(cell) for cell in cells], made)
    except (ValueError, ArithmeticError, pa.ArrowException):
        return pa.array(cells, pa.string())


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _readers() -> dict[str, tuple[Callable[[str], Any], Any]]:
    import pyarrow as pa

    return {
        **{kind: (int, kind) for kind in ("int8", "int64", "uint64")},
        **{kind: (float, kind) for kind in ("float32", "float64")},
        "decimal": (Decimal, pa.decimal128(20, 4)),
        "date": (dt.date.fromisoformat, pa.date32()),
        "timestamp": (_moment, pa.timestamp("us")),
        "timestamp in UTC": (_moment, pa.timestamp("ms", "UTC")),
        "dictionary": (str, pa.dictionary(pa.int32(), pa.string())),
        "large text": (str, pa.large_string()),
        "text view": (str, pa.string_view()),
        "binary": (str.encode, pa.binary()),
    }


_READERS = _readers()


def write_table(columns: Mapping[str, Cells], path: Path, **how: Any) -> None:
    """Write a table as a case wants it, by the suffix of the path; in a CSV the marker stands for a null."""
    if path.suffix == ".csv":
        path.write_bytes(csv_bytes(columns, **how))
        return
    import pyarrow as pa
    from pyarrow import feather, parquet

    types = how.get("types") or {}
    table = pa.table({name: array_of(cells, types.get(name)) for name, cells in columns.items()})
    if path.suffix == ".arrow":
        feather.write_feather(table, path)
    elif how.get("parts"):
        path.mkdir()
        half = table.num_rows // 2
        for at, part in enumerate([table.slice(0, half), table.slice(half)]):
            parquet.write_table(part, path / f"part-{at}.parquet")
    else:
        parquet.write_table(table, path, row_group_size=7)


def csv_bytes(
    columns: Mapping[str, Cells],
    marker: str = "",
    encoding: str = "utf-8",
    delimiter: str = ",",
    quote: str = '"',
    line_end: str = "\n",
    before: int = 0,
    **_: Any,
) -> bytes:
    """Return a table as delimited text, `before` lines of remarks in front of it."""
    file = io.StringIO(newline="")
    file.write("".join(f"remark {i}{line_end}" for i in range(before)))
    broken = any(cell is not None and "\r" in cell for column in columns.values() for cell in column)
    quoting = csv.QUOTE_ALL if broken else csv.QUOTE_MINIMAL  # which knows no other line end than its own
    writer = csv.writer(file, delimiter=delimiter, quotechar=quote, lineterminator=line_end, quoting=quoting)
    writer.writerow(columns)
    cells = [[marker if cell is None else cell for cell in column] for column in columns.values()]
    writer.writerows(zip(*cells, strict=True))
    return file.getvalue().encode(encoding)


def encodes(texts: Iterable[str | None], encoding: str) -> bool:
    """Whether an encoding has every character of some texts."""
    try:
        "".join(text for text in texts if text is not None).encode(encoding)
    except UnicodeError:
        return False
    return True
