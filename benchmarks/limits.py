"""How inputs at the limits end: seconds, memory and the sentence, each in a process of its own.

python benchmarks/limits.py          # prints a table
python benchmarks/limits.py --write  # writes it into docs/limits.md
python benchmarks/limits.py cell     # only the cases with that word
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

PAGE = Path(__file__).parents[1] / "docs" / "limits.md"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
SECONDS = 600
LIMITED = ["sh", "-c", f'ulimit -v {24 << 20}; exec "$0" "$@"']
"""Begins a command that may have 24 GB of address space."""
K = '\n[[require]]\nmodel = "k-anonymity"\nk = 2\n'
Case = tuple[Path, str, list[str]]
"""A table, a policy, and further options."""


def quasi(name: str, hierarchy: str) -> str:
    return f'[attributes."{name}"]\nrole = "quasi-identifier"\nhierarchy = {hierarchy}\n'


def insensitive(name: str) -> str:
    return f'[attributes."{name}"]\nrole = "insensitive"\nconfirm = true\n'


def distinct(folder: Path, *, rows: int, hierarchy: str, algorithm: str = "optimal", texts: bool = False) -> Case:
    values = np.random.default_rng(1).permutation(rows)
    column = pa.array([f"v{value:09d}" for value in values]) if texts else pa.array(values)
    pc.write_csv(pa.table({"id": column, "sex": pa.array(np.array(["f", "m"])[values % 2])}), folder / "people.csv")
    head = quasi("id", hierarchy) if hierarchy else '[attributes.id]\nrole = "quasi-identifier"\n'
    return (
        folder / "people.csv",
        head + quasi("sex", "{flat = true}") + K + f'[method]\nalgorithm = "{algorithm}"\n',
        [],
    )


def columns(folder: Path, *, many: int, quasi_identifiers: int = 3, kept: bool = True) -> Case:
    rng = np.random.default_rng(1)
    table = pa.table({f"c{i}": pa.array(rng.choice(["a", "b", "c"], 50)) for i in range(many)})
    pc.write_csv(table, folder / "people.csv")
    roles = [quasi(name, "{flat = true}") for name in table.column_names[:quasi_identifiers]]
    rest = table.column_names[quasi_identifiers:]
    roles += [insensitive(name) if kept else f'[attributes."{name}"]\nrole = "identifier"\n' for name in rest]
    return folder / "people.csv", "".join(roles) + K, []


def cell(folder: Path, *, size: int, kind: str = "csv") -> Case:
    text = "x" * size
    if kind == "csv":
        with (folder / "people.csv").open("w") as file:
            file.write("age,note\n31,a\n31,b\n32,")
            file.write(text)
            file.write("\n32,d\n")
    else:
        table = pa.table({"age": [31, 31, 32, 32], "note": ["a", "b", text, "d"]})
        pq.write_table(table, folder / "people.parquet", use_dictionary=False)
    return folder / f"people.{kind}", quasi("age", "{intervals = [10]}") + insensitive("note") + K, []


def depth(folder: Path, *, levels: int) -> Case:
    table = pa.table({"id": [str(i % 50) for i in range(200)], "sex": ["f", "m"] * 100})
    pc.write_csv(table, folder / "people.csv")
    # on every level one more value may join those that are merged
    lines = (
        ";".join([str(i), *(f"l{level}-{max(i, level * 50 // levels)}" for level in range(1, levels)), "*"])
        for i in range(50)
    )
    (folder / "id.csv").write_text("\n".join(lines) + "\n")
    return folder / "people.csv", quasi("id", '{csv = "id.csv"}') + quasi("sex", "{flat = true}") + K, []


def policy_lines(folder: Path, *, lines: int) -> Case:
    table = pa.table({"age": [31, 31, 32, 32], "sex": ["f", "f", "m", "m"]})
    pc.write_csv(table, folder / "people.csv")
    rows = "".join(f'  ["leaf {i}", "group {i % 100}", "*"],\n' for i in range(lines))
    known = '  ["f", "any", "*"], ["m", "any", "*"],\n'
    sex = f'[attributes.sex]\nrole = "quasi-identifier"\nhierarchy.rows = [\n{known}{rows}]\n'
    return folder / "people.csv", quasi("age", "{intervals = [10]}") + sex + K, []


def requires(folder: Path, *, many: int) -> Case:
    pc.write_csv(pa.table({"age": [31, 31, 32, 32]}), folder / "people.csv")
    return folder / "people.csv", quasi("age", "{intervals = [10]}") + K * many, []


def inflating_parquet(folder: Path, *, rows: int) -> Case:
    table = pa.table({"age": pa.array(np.full(rows, 31)), "note": pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(rows, dtype=np.int32)), ["a text of some forty characters, repeated"])})  # fmt: skip
    pq.write_table(table, folder / "people.parquet", compression="zstd", row_group_size=rows)
    return folder / "people.parquet", quasi("age", "{intervals = [10]}") + insensitive("note") + K, []


_SHEET = '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'


def _row(number: int, *texts: str) -> str:
    cells = "".join(
        f'<c r="{at}{number}" t="inlineStr"><is><t>{text}</t></is></c>' for at, text in zip("AB", texts, strict=True)
    )
    return f'<row r="{number}">{cells}</row>'


def inflating_xlsx(folder: Path, *, rows: int) -> Case:
    """A workbook of our own making, whose one sheet repeats itself: about a thousandth of it is on disk."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["age", "note"])
    book.save(folder / "small.xlsx")
    with (
        zipfile.ZipFile(folder / "small.xlsx") as small,
        zipfile.ZipFile(folder / "people.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as large,
    ):
        for name in small.namelist():
            if not name.endswith("sheet1.xml"):
                large.writestr(name, small.read(name))
                continue
            with large.open(name, "w", force_zip64=True) as sheet:
                sheet.write((_SHEET + _row(1, "age", "note")).encode())
                for number in range(2, rows + 2):
                    sheet.write(_row(number, "31", "a" * 2000).encode())
                sheet.write(b"</sheetData></worksheet>")
    (folder / "small.xlsx").unlink()
    return folder / "people.xlsx", quasi("age", "{intervals = [10]}") + insensitive("note") + K, []


def gzipped(folder: Path, *, rows: int) -> Case:
    import gzip

    with gzip.open(folder / "people.csv.gz", "wt") as file:
        file.write("age,note\n")
        for _ in range(rows // 1000):
            file.write(("31," + "a" * 997 + "\n") * 1000)
    return folder / "people.csv.gz", quasi("age", "{intervals = [10]}") + insensitive("note") + K, []


MANY = 10**6
CASES: dict[str, tuple[str, Callable[[Path], Case]]] = {
    "distinct": (
        "10⁶ distinct numbers, intervals, optimal",
        partial(distinct, rows=MANY, hierarchy="{intervals = [10, 1000, 100000]}"),
    ),
    "distinct texts": (
        "10⁶ distinct texts, masked, optimal",
        partial(distinct, rows=MANY, hierarchy='{mask = "right"}', texts=True),
    ),
    "distinct mondrian": (
        "10⁶ distinct numbers, Mondrian",
        partial(distinct, rows=MANY, hierarchy="", algorithm="mondrian"),
    ),
    "columns": ("10,000 columns, 50 rows, 3 quasi-identifiers, others kept", partial(columns, many=10_000)),
    "columns dropped": (
        "10,000 columns, 50 rows, 3 quasi-identifiers, others left out",
        partial(columns, many=10_000, kept=False),
    ),
    "columns quasi": (
        "10,000 columns, 50 rows, 5,000 quasi-identifiers",
        partial(columns, many=10_000, quasi_identifiers=5000),
    ),
    "cell": ("a cell of 200 MB, CSV", partial(cell, size=200 << 20)),
    "cell parquet": ("a cell of 200 MB, Parquet", partial(cell, size=200 << 20, kind="parquet")),
    "depth": ("a hierarchy of 1,000 levels", partial(depth, levels=1000)),
    "policy": ("a policy of 100,000 lines: a hierarchy", partial(policy_lines, lines=100_000)),
    "requires": ("a policy of 100,000 lines: 25,000 requirements", partial(requires, many=25_000)),
    "parquet": ("a Parquet file of 10⁷ rows in a few kB", partial(inflating_parquet, rows=10**7)),
    "xlsx": ("an XLSX file of 1.2 GB in a few MB", partial(inflating_xlsx, rows=600_000)),
    "gzip": ("a gzipped CSV of 2 GB in 2 MB", partial(gzipped, rows=2 * 10**6)),
}


def measure(make: Callable[[Path], Case], seconds: int = SECONDS) -> tuple[str, float, int]:
    """How `shoal anonymize` ends on a case: the exit code or the sentence, the seconds, and the most memory in MB."""
    with tempfile.TemporaryDirectory() as place:
        data, policy, more = make(Path(place))
        (Path(place) / "policy.toml").write_text(policy, "utf-8")
        command = [
            str(Path(sys.executable).with_name("shoal")),
            "anonymize",
            str(data),
            "--policy",
            f"{place}/policy.toml",
        ]
        start = time.monotonic()
        with (Path(place) / "said").open("w") as said:
            ran = subprocess.Popen(
                [*LIMITED, *command, "--out", f"{place}/out", *more], stdout=subprocess.DEVNULL, stderr=said
            )
            signal.signal(signal.SIGALRM, lambda *_: ran.kill())
            signal.alarm(seconds)
            _, status, used = os.wait4(ran.pid, 0)
            signal.alarm(0)
        took = time.monotonic() - start
        code = os.waitstatus_to_exitcode(status)
        lines = (Path(place) / "said").read_text().strip().splitlines() or [""]
        how = "released" if code == 0 else f"not ended after {seconds} s" if code == -9 else f"exit {code}: {lines[-1]}"
        return how.replace("shoal: ", ""), took, used.ru_maxrss >> 10


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    lines = ["| input | how it ends | seconds | memory |", "|---|---|---|---|"]
    for name, (about, make) in CASES.items():
        if words and name not in words:
            continue
        how, took, memory = measure(make)
        lines.append(f"| {about} | {how} | {took:.1f} | {memory:,} MB |")
        print(lines[-1], flush=True)
    if "--write" in sys.argv:
        text = PAGE.read_text("utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
