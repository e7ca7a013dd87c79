"""Runs a case and judges what came of it by definitions that share no code with the package.

A case ends well in two ways: published, and then the release verifies, keeps what it promises and every cell is true;
or refused in one sentence, and then nothing is left behind. All else is a failure of some kind.
"""

import csv
import datetime as dt
import io
import json
import math
import re
import shutil
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from fuzz_cases import Case
from fuzz_definitions import Classes, broken
from fuzz_tables import Cells, array_of
from judge_of_truth import BETWEEN, MINUS_ZERO, NUMBER, TAIL, covers, is_statistic, members, prefix_covers

LONGEST = 60
"""Seconds of the processor after which a case counts as one that does not end."""
Row = dict[str, str | None]


class Failure(Exception):
    """A case that ended badly: the kind of it is what shrinking keeps."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


LATE: dict[str, Any] = {
    "inspect_public_release": lambda *_: SimpleNamespace(audit=None, starred=lambda _: None),
    "audit_with_original": lambda *_: None,
    "advise": lambda _, manifest, *__, **___: [manifest],
    "write_recommendation": lambda *_: None,
    "write_reports": lambda *_: None,
}
"""What stands for the steps that follow once a release is on disk."""


@contextmanager
def shared_database(*_: Any) -> Iterator[Any]:
    """Open a connection of its own to one database of the process: a database for each verification takes long."""
    with _database().cursor() as db:
        yield db


@cache
def _database() -> Any:
    import duckdb

    from shoal.verify.open_release import ALONE, hide_progress

    db = duckdb.connect(config={**ALONE, "threads": 1})  # starting threads takes longer than what they would do
    hide_progress(db)
    return db


def run(case: Case, *, light: bool = False) -> str:
    """Return how a case ended: "published" or the kind of refusal; raises Failure.

    A light run makes no reports and no advice, and all verifications share a database: it takes a fraction of the time.
    """
    folder = Path(tempfile.mkdtemp(prefix="shoal-fuzz-"))
    try:
        with ExitStack() as stack:
            if light:
                for name, stand_in in LATE.items():
                    stack.enter_context(mock.patch(f"shoal.pipeline.{name}", stand_in))
                stack.enter_context(mock.patch("shoal.verify.open_release.Room.database", shared_database))
            outcome = _run(case, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _run(case: Case, folder: Path) -> str:
    import shoal as sh

    data, out = case.write_input(folder), folder / "out"
    before = _listing(folder)
    with warnings.catch_warnings(action="ignore"):
        try:
            _publish(case, data, out)
        except sh.ShoalError as refusal:
            _check_refusal(str(refusal), before, folder)
            return type(refusal).__name__
        _verify(case, data, out)
    if left := _listing(folder) - before - {"out", "out.private"}:
        raise Failure("leftover file", str(sorted(left)))
    try:
        judge(case, out)
    except (KeyError, IndexError, ValueError, TypeError) as wrong:
        raise Failure("release that the judge cannot read", f"{type(wrong).__name__}: {wrong}"[:200]) from wrong
    return "published"


def _publish(case: Case, data: Path, out: Path) -> None:
    import shoal as sh
    from shoal import api

    try:
        how = {"engine": case.engine, "format": case.format, "partition_by": case.partition_by}
        api.publish(data, sh.Policy.load(data.with_name("policy.toml")), out, **how)
    except sh.NotVerified as wrong:
        raise Failure("own release refused", str(wrong)) from wrong
    except (sh.ShoalError, TimeoutError):
        raise
    except Exception as wrong:
        raise Failure(f"internal error {type(wrong).__name__}", str(wrong)[:200]) from wrong


def _verify(case: Case, data: Path, out: Path) -> None:
    import shoal as sh

    try:
        verdicts = sh.verify(out, original=data, **_population(case, data.parent))
    except sh.ShoalError as wrong:
        raise Failure("verify refuses", str(wrong)) from wrong
    except TimeoutError:
        raise
    except Exception as wrong:
        raise Failure(f"internal error of verify {type(wrong).__name__}", str(wrong)[:200]) from wrong
    if failing := [verdict for verdict in verdicts if not verdict.holds]:
        raise Failure("verify fails", str(failing[0]))


def _population(case: Case, folder: Path) -> dict[str, Path]:
    return {} if case.population is None else {"population": folder / "population.csv"}


def _listing(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _check_refusal(sentence: str, before: set[str], folder: Path) -> None:
    if _listing(folder) != before:
        raise Failure("leftover file", f"after a refusal: {sorted(_listing(folder) - before)}")
    if not sentence.strip() or "\n" in sentence.strip() or "Traceback" in sentence:
        raise Failure("refusal is no sentence", repr(sentence[:200]))


# the original as the tool is asked to read it


@dataclass(frozen=True)
class AsRead:
    """A column of the original: nulls are None, and it is known whether it holds numbers."""

    cells: Cells
    decimal: str = "."
    typed: bool = False
    """Whether its values are not texts in the file."""
    spellings: tuple[Cells, ...] = ()
    """Other ways to write typed values, which masks and lists of values may use: 1e+20, 11:59:59Z, a day alone."""

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all values are plain numbers, written with the decimal mark of the table; -0 is none."""
        return self.is_written_in_digits and not any(map(MINUS_ZERO.fullmatch, self._plain))

    @cached_property
    def is_written_in_digits(self) -> bool:
        """Whether all values look like numbers with the decimal mark, -0 too."""
        foreign = "." if self.decimal == "," and not self.typed else "\0"
        known = [cell for cell in self.cells if cell is not None]
        return all(map(NUMBER.fullmatch, self._plain)) and not any(foreign in cell for cell in known)

    @property
    def _plain(self) -> list[str]:
        return [cell.replace(self.decimal, ".") for cell in self.cells if cell is not None]

    @cached_property
    def numbers(self) -> Cells:
        """The cells with a point for the decimal mark, where they are numbers."""
        if self.decimal == "." or not self.is_numeric:
            return self.cells
        return [None if cell is None else cell.replace(self.decimal, ".") for cell in self.cells]

    def shows_number(self, cell: str | None, at: int) -> bool:
        """Whether a cell is the number of a row, maybe in another form: 5,03 for 5,030."""
        number = self.numbers[at]
        return self.is_numeric and None not in {cell, number} and _same_number(cell.replace(self.decimal, "."), number)


def as_read(case: Case, name: str) -> AsRead:
    """A column as the tool is asked to read it: markers are nulls, typed values are written in full, some rounded."""
    read, step = _as_read(case, name), case.policy["attributes"].get(name, {}).get("round")
    if step is None:
        return read
    cells = [None if cell is None else _rounded(cell, Fraction(str(step)), read.decimal) for cell in read.cells]
    if read.typed:  # numbers that are no texts show no needless zeros
        cells = [None if cell is None else _normal(cell) for cell in cells]
    return AsRead(cells, read.decimal, read.typed)


def _rounded(cell: str, step: Fraction, decimal: str) -> str:
    """The multiple of a step that is nearest to a number, in the middle the greater one; other texts stay."""
    plain = cell.replace(decimal, ".")
    if NUMBER.fullmatch(plain) is None:
        return cell
    steps, rest = divmod(Fraction(plain), step)
    number = (steps + (2 * rest >= step)) * step
    places = {1: 0, 2: 1, 100: 2}[step.denominator]
    digits = str(abs(int(number * 10**places))).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return ("-" if number < 0 else "") + text.replace(".", decimal)


def _as_read(case: Case, name: str) -> AsRead:
    data = case.policy.get("data", {})
    missing = set(data.get("missing", [""]))
    cells, typed, spellings, mark = case.columns[name], False, (), None
    if case.source == "csv":
        cells = [next(iter(data.get("missing", [""])), "") if cell is None else cell for cell in cells]
        cells, mark = _without_thousands(cells, missing, data)
    else:
        array = array_of(cells, case.types.get(name))
        stored = array.to_pylist()
        typed = not all(cell is None or isinstance(cell, str) for cell in stored)
        cells = [text_of(cell) for cell in stored]
        spellings = _spellings(array, cells)
    if not typed:
        cells = [None if cell in missing else cell for cell in cells]
        if data.get("normalise"):
            cells = [None if cell is None or _normal(cell) in missing else _normal(cell) for cell in cells]
    if mark is not None:
        return AsRead(cells, mark)
    if "decimal" in data:
        return AsRead(cells, data["decimal"], typed, spellings if typed else ())
    guessed = AsRead(cells, ",")
    sniffed = case.source == "csv" and case.delimiter != "," and guessed.is_written_in_digits
    if sniffed and any("," in cell for cell in cells if cell is not None):
        return guessed
    return AsRead(cells, ".", typed, spellings if typed else ())


BETWEEN_THOUSANDS = {".": ".", ",": ",", "'": "'’", " ": " \u00a0\u202f"}
"""Marks between thousands, and the characters that are each."""


def _without_thousands(cells: Cells, missing: set[str], data: dict[str, Any]) -> tuple[Cells, str | None]:
    """Return a column without marks between thousands, and its decimal mark; None where it has no such marks.

    All values must be numbers in such a writing; without a word of the policy, one of them must show both marks.
    """
    known = [cell for cell in cells if cell is not None and cell not in missing]
    named = data.get("thousands")
    for thousands in BETWEEN_THOUSANDS if named is None else [named]:
        for decimal in [data["decimal"]] if "decimal" in data else [",", "."]:
            mark, point = f"[{BETWEEN_THOUSANDS[thousands]}]", re.escape(decimal)
            number = re.compile(rf"-?(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+)(?:{point}[0-9]+)?")
            shown = re.compile(mark if named is not None else rf"{mark}[0-9]{{3}}{point}")
            if decimal != thousands and all(map(number.fullmatch, known)) and any(map(shown.search, known)):
                plain = [cell if cell is None or cell in missing else re.sub(mark, "", cell) for cell in cells]
                return plain, decimal
    return cells, None


def _spellings(array: Any, cells: Cells) -> tuple[Cells, ...]:
    """Return other ways to write the cells of an array: floats with exponents, moments with a zone or as days."""
    if str(array.type) in {"float", "double"}:
        return (array.cast("string").to_pylist(),)
    if str(array.type).startswith("timestamp"):
        full = [None if cell is None else cell if " " in cell else f"{cell} 00:00:00" for cell in cells]
        return full, [None if cell is None else f"{cell}Z" for cell in full]
    return ()


def _normal(cell: str) -> str:
    """A text without outer space, and a number without needless zeros."""
    text = cell.strip()
    return text.rstrip("0").rstrip(".") if "." in text and NUMBER.fullmatch(text) else text


def text_of(cell: Any) -> str | None:
    """A typed cell as text: numbers in full, moments in ISO 8601."""
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN is no number
        return None
    if isinstance(cell, float):
        return f"{Decimal(repr(cell)):f}".removesuffix(".0") if math.isfinite(cell) else str(cell)
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    if isinstance(cell, dt.datetime):
        return cell.replace(tzinfo=None).isoformat(sep=" ").removesuffix(" 00:00:00")
    return cell.decode() if isinstance(cell, bytes) else str(cell)


# the release as an outsider reads it


@dataclass(frozen=True)
class Released:
    """A release as it lies in its folder, and the original behind it."""

    case: Case
    manifest: dict[str, Any]
    rows: list[Row]
    classes: list[list[int]]
    source: dict[int, int] | None
    columns: dict[str, AsRead]

    @property
    def safe(self) -> bool:
        """Whether texts that a spreadsheet would run have a quote in front."""
        return self.case.format == "csv" and self.case.policy["release"].get("spreadsheet-safe", True)


def judge(case: Case, out: Path) -> None:
    """Judge a published folder against its case."""
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    data = manifest["data"]
    path = next(path for path in out.iterdir() if path.name.startswith("data"))
    rows = list(_read(path, data["columns"], data, case))
    quasi, group = manifest["quasi_identifiers"], ""
    if data.get("separate"):  # two tables: the group takes the place of the class
        told = data["separate"]
        group, _, count = told["columns"]
        _judge_groups(rows, list(_read(out / told["file"], told["columns"], data, case)), group, count)
    by_class: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        by_class[tuple(row[name] for name in ([group] if group else quasi))].append(at)
    source = _row_map(out.with_name("out.private") / "rows.arrow")
    columns = {name: as_read(case, name) for name in case.columns}
    release = Released(case, manifest, rows, list(by_class.values()), source, columns)
    held = Classes(release.classes, rows, source, {name: column.cells for name, column in columns.items()}, case)
    for model in case.policy["require"]:
        if not group or source is not None:
            for problem in broken(model, held):
                raise Failure("promise broken", f"{model['model']}: {problem}")
    if source is not None:
        _judge_cells(release)
        _judge_statistics(release)


def _judge_groups(rows: list[Row], told: list[Row], group: str, count: str) -> None:
    """Judge whether a second table tells as many values of each group as the first has rows of it."""
    times: Counter[str | None] = Counter()
    for row in told:
        times[row[group]] += int(row[count] or 0)
    if times != Counter(row[group] for row in rows):
        raise Failure("untrue cell", "groups have other sizes in the table of sensitive values")


def _read(path: Path, names: list[str], data: dict[str, Any], case: Case) -> Iterator[Row]:
    if case.format == "parquet":
        import pyarrow as pa
        from pyarrow import dataset

        folders = dataset.partitioning(pa.schema([(name, pa.string()) for name in case.partition_by]), flavor="hive")
        for row in dataset.dataset(path, partitioning=folders if path.is_dir() else None).to_table().to_pylist():
            yield {name: text_of(cell) for name, cell in row.items()}
        return
    limit = csv.field_size_limit(10**9)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            _, *rows = csv.reader(file, delimiter=data["delimiter"], quotechar=data["quote"])
    finally:
        csv.field_size_limit(limit)  # it is one for all readers of the process
    for row in rows:
        yield {name: None if cell == data["missing"] else cell for name, cell in zip(names, row, strict=True)}


def _row_map(path: Path) -> dict[int, int] | None:
    """The input row behind each released row, where the private folder tells."""
    if not path.exists():
        return None
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        became = pa.ipc.open_file(file).read_all().to_pylist()
    return {each["released_row"] - 1: each["input_row"] - 1 for each in became if each["released_row"] is not None}


def _judge_cells(release: Released) -> None:
    attributes = release.case.policy["attributes"]
    assert release.source is not None
    for name in (set(release.manifest["data"]["columns"]) & set(release.columns)) - set(
        release.manifest.get("statistics", {})
    ):
        hierarchy = _with_rows(attributes.get(name, {}).get("hierarchy", {}), release.case)
        column = release.columns[name]
        for at, row in enumerate(release.rows):
            spellings = (column.cells, column.numbers, *column.spellings)
            values = dict.fromkeys(cells[release.source[at]] for cells in spellings)
            cell = row[name]
            if column.shows_number(cell, at=release.source[at]):
                continue
            if not any(is_true(cell, value, hierarchy, safe=release.safe) for value in values):
                raise Failure("untrue cell", f"row {at}, column {name!r}: {cell!r} for {next(iter(values))!r}")


def _judge_statistics(release: Released) -> None:
    attributes = release.case.policy["attributes"]
    assert release.source is not None
    for name, (of, kind) in release.manifest.get("statistics", {}).items():
        column = release.columns[of]
        if (column.typed and not column.is_numeric) or (release.manifest.get("by_label") and kind in {"min", "max"}):
            continue
        order = attributes[of].get("order")
        if order is None and not column.is_numeric:
            order = sorted({cell for cell in column.cells if cell is not None})
        every = column.cells if order is not None else column.numbers
        for held in release.classes:
            values, shown = [every[release.source[at]] for at in held], release.rows[held[0]][name]
            if release.safe and shown is not None and "'" in shown and shown not in values:
                # the one that is told, written as it was before spreadsheets were kept from running it
                shown = next(
                    (v for v in values if v is not None and v.replace("'", "") == shown.replace("'", "")), shown
                )
            if shown != "*" and not is_statistic(shown, kind, values, every, order):
                raise Failure("untrue statistic", f"{kind} of {of!r}: {shown!r} for {values!r}")


def is_true(label: str | None, value: str | None, hierarchy: dict[str, Any], *, safe: bool = False) -> bool:
    """Whether a released label is true of a value, by the grammar of labels or by the hierarchy of the policy."""
    if covers(label, value):
        return True
    if label is not None and value is None:
        return label in hierarchy.get("tree", {})  # above all values, also above none: as * where nobody named the top
    if label is None or value is None:
        return False
    listed = members(label) if label.startswith("{") and label.endswith("}") else [label]
    if _moment_covers(label, value) or any(_same_number(each, value) for each in listed):
        return True
    if any(form in hierarchy and of(label, value, hierarchy) for form, of in FORMS.items()):
        return True
    # without the quotes that keep spreadsheets from running a cell
    return safe and "'" in label and is_true(label.replace("'", ""), value.replace("'", ""), hierarchy)


def _same_number(label: str, value: str) -> bool:
    try:
        return Fraction(label) == Fraction(value)
    except (ValueError, ZeroDivisionError):
        return False


MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d+)?))?(?:Z|\+00:?00)?")


def _moment(text: str) -> str | None:
    """A day or a point in time in one form that sorts."""
    found = MOMENT.fullmatch(text)
    return None if found is None else f"{found[1]} {(found[2] or '00:00:00')}".removesuffix(".000")


def _moment_covers(label: str, value: str) -> bool:
    at = _moment(value)
    if at is None:
        return False
    if _moment(label) == at or (at[:10] != value and prefix_covers(label, at[:10])):
        return True
    between, tail = BETWEEN.fullmatch(label), TAIL.fullmatch(label)
    if between is not None:
        low, high = _moment(between[1]), _moment(between[2])
        if low is None or high is None:
            return False
        return low <= at < high or (between[3] == "]" and (at == high or at[:10] == between[2]))
    end = None if tail is None else _moment(tail[2])
    return end is not None and tail is not None and (at < end if tail[1] == "<" else at >= end)


def _with_rows(hierarchy: dict[str, Any], case: Case) -> dict[str, Any]:
    """A hierarchy in a file as the rows that it holds."""
    if "csv" not in hierarchy:
        return hierarchy
    return {"rows": list(csv.reader(io.StringIO(case.files[hierarchy["csv"]], newline=""), delimiter=";"))}


def _in_tree(label: str, value: str, hierarchy: dict[str, Any]) -> bool:
    (root, nodes), *_ = hierarchy["tree"].items()
    return label == root or value in nodes.get(label, [])


def _in_mask(label: str, value: str, hierarchy: dict[str, Any]) -> bool:
    """Each hidden character is some character, or none where a value is shorter."""
    hidden = re.escape(hierarchy.get("char", "*"))
    return re.fullmatch(re.escape(label).replace(hidden, ".?"), value, re.DOTALL) is not None


def _in_calendar(label: str, value: str, hierarchy: dict[str, Any]) -> bool:
    if "format" in hierarchy:
        value = "-".join(reversed(value.split("/")))
    span = re.fullmatch(r"(\d{4})-(\d{4})", label)
    if span is not None:
        return int(span[2]) - int(span[1]) in {4, 19, 99} and span[1] <= value[:4] <= span[2]
    return prefix_covers(label, value[:10])


FORMS: dict[str, Any] = {
    "tree": _in_tree,
    "rows": lambda label, value, hierarchy: any(row[0] == value and label in row for row in hierarchy["rows"]),
    "mask": _in_mask,
    "dates": _in_calendar,
    "hipaa": lambda label, value, _: value.startswith(label.rstrip("*")) or label in {"≥90", "000**"},
}
"""Whether a label of a form of hierarchies, as a policy writes it, is true of a value."""
