"""Judges released cells by the documented meaning of labels alone: it imports nothing of the package.

A release is true where every cell covers the original value of its row, and every statistic is that of its class.
"""

import csv
import json
import re
from collections import Counter, defaultdict
from fractions import Fraction

import pyarrow as pa

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
MINUS_ZERO = re.compile(r"-0(?:\.0*)?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TEXT = r'"(?:[^"]|"")*"'
PLAIN = r'[^,|{}\[\]()"<≥*]*'
BETWEEN = re.compile(rf"\[({TEXT}|{PLAIN}), ({TEXT}|{PLAIN})([)\]])")
TAIL = re.compile(rf"([<≥])({TEXT}|{PLAIN})")
MEMBER = re.compile(rf"({TEXT}|{PLAIN})(?: \| |\Z)")


def number(text):
    """The number that a text is, or None."""
    return Fraction(text) if text is not None and NUMBER.fullmatch(text) else None


def written(float_text):
    """The number of a statistic, which may be written with an exponent."""
    return Fraction(float_text)


def unquoted(text):
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def members(label):
    return [unquoted(found) for found in MEMBER.findall(label[1:-1])][: -1 if label != "{}" else None]


def lies_between(value, low, high, *, closed, quoted):
    """Whether low <= value < high, or <= high where closed; by number, by day, or by code points where quoted."""
    ends = [end for end in (low, high) if end is not None]
    if quoted:
        key = str
    elif all(number(end) is not None for end in ends):
        if number(value) is None:
            return False
        key = Fraction
    elif all(DAY.fullmatch(end) for end in ends) and DAY.fullmatch(value):
        key = str
    else:
        return False
    if low is not None and key(value) < key(low):
        return False
    return high is None or key(value) < key(high) or (closed and key(value) == key(high))


def covers(label, value):
    """Whether a released cell is true of an original one; None is a missing value."""
    if label in {"*", value}:
        return True
    if label is None or value is None:
        return False
    if number(label) is not None and number(label) == number(value):
        return True
    return any(reads(label, value) for reads in (range_covers, tail_covers, set_covers, prefix_covers))


def range_covers(label, value):
    found = BETWEEN.fullmatch(label)
    if found is None or found[1].startswith('"') != found[2].startswith('"'):
        return False
    low, high = unquoted(found[1]), unquoted(found[2])
    return lies_between(value, low, high, closed=found[3] == "]", quoted=found[1].startswith('"'))


def tail_covers(label, value):
    found = TAIL.fullmatch(label)
    if found is None:
        return False
    end, quoted = unquoted(found[2]), found[2].startswith('"')
    low, high = (None, end) if found[1] == "<" else (end, None)
    return lies_between(value, low, high, closed=False, quoted=quoted)


def set_covers(label, value):
    return label.startswith("{") and label.endswith("}") and any(covers(member, value) for member in members(label))


def prefix_covers(label, value):
    """A mask, each star of which is a character, or none at the end of a shorter value; or a part of a date."""
    if "*" in label:
        return re.fullmatch(re.escape(label).replace(r"\*", ".?"), value, re.DOTALL) is not None
    if not DAY.fullmatch(value):
        return False
    quarter = f"{value[:4]}-Q{(int(value[5:7]) + 2) // 3}"
    return label == quarter or value.startswith(label.removesuffix("0s"))


def order_of(values, order):
    """The key that sorts values: the policy's own order, numbers, or code points."""
    if order is not None:
        return order.index
    known = [number(value) for value in values]
    if all(each is not None for each in known) and not any(MINUS_ZERO.fullmatch(value) for value in values):
        return number
    return str


def is_statistic(cell, kind, values, column, order):
    """Whether a cell is this statistic of the values of its class; `column` are all values of the attribute."""
    known = [value for value in values if value is not None]
    if kind in {"lo", "hi"} and cell is None:
        return True  # no bound holds everything
    if cell is None or not known or (kind in {"lo", "hi", "min", "max"} and len(known) < len(values)):
        return cell is None and (not known or kind in {"min", "max"})
    key = order_of([value for value in column if value is not None], order)
    rising = sorted(known, key=key)
    if key is not number:
        middle, times = rising[(len(known) - 1) // 2], Counter(known)
        mode = min(times, key=lambda each: (-times[each], key(each)))
        return cell == {"min": rising[0], "max": rising[-1], "median": middle, "mode": mode}[kind]
    numbers, told = [number(value) for value in rising], written(cell)
    times = Counter(numbers)
    return {
        "lo": told <= numbers[0],
        "hi": told >= numbers[-1],
        "min": told == numbers[0],
        "max": told == numbers[-1],
        "mode": told == min(times, key=lambda each: (-times[each], each)),
        "mean": near(told, sum(numbers) / len(numbers)),
        "median": near(told, (numbers[(len(known) - 1) // 2] + numbers[len(known) // 2]) / 2),
    }[kind]


def near(told, true):
    return abs(told - true) <= Fraction(1, 10**9) * abs(true)


def untrue_cells(out, original, orders=None):
    """Every released cell, as (row, column), that is not true of the original row behind it.

    `original` maps columns to texts, None where one is missing; `out` is the folder of a release as CSV.
    """
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    with (out / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with pa.memory_map(str(out.with_name(out.name + ".private") / "rows.arrow")) as file:
        became = pa.ipc.open_file(file).read_all().to_pylist()
    source = {each["released_row"] - 1: each["input_row"] - 1 for each in became if each["released_row"] is not None}
    missing = manifest["data"]["missing"]
    cells = [{name: None if cell == missing else cell for name, cell in row.items()} for row in rows]
    statistics = manifest.get("statistics", {})
    for at, row in enumerate(cells):
        for name in set(row) - set(statistics):
            if not covers(row[name], original[name][source[at]]):
                yield at, name
    classes = defaultdict(list)
    for at, row in enumerate(cells):
        classes[tuple(row[name] for name in manifest["quasi_identifiers"])].append(at)
    for name, (of, kind) in statistics.items():
        for held in classes.values():
            values = [original[of][source[at]] for at in held]
            shown = cells[held[0]][name]
            if shown == "*":
                continue
            if manifest.get("by_label") and kind in {"min", "max"}:
                alike = [at for at, row in enumerate(cells) if row[name] == shown]
                values = [original[of][source[at]] for at in alike]
            if not is_statistic(shown, kind, values, original[of], (orders or {}).get(of)):
                yield held[0], name
