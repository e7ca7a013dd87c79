"""Runs a case and judges what came of it by definitions that share no code with the package.

A case ends well in two ways: published, and then the release verifies, keeps what it promises and every cell is true;
or refused in one sentence, and then nothing is left behind. All else is a failure of some kind.
"""

import csv
import json
import math
import shutil
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from fuzz_cases import Case, Cells, write_table
from judge_of_truth import covers, is_statistic

LONGEST = 60
"""Seconds after which a case counts as one that does not end."""
Row = dict[str, str | None]


class Failure(Exception):
    """A case that ended badly: the kind of it is what shrinking keeps."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


def run(case: Case) -> str:
    """Return how a case ended: "published" or the kind of refusal; raises Failure."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-fuzz-"))
    begun = time.monotonic()
    try:
        outcome = _run(case, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if time.monotonic() - begun > LONGEST:
        raise Failure("hang", f"{time.monotonic() - begun:.0f} seconds")
    return outcome


def _run(case: Case, folder: Path) -> str:
    import shoal as sh

    data, out = folder / f"people.{case.source}", folder / "out"
    write_table(case.columns, data, case)
    if case.population is not None:
        write_table(case.population, folder / "population.csv", case)
    before = _listing(folder)
    with warnings.catch_warnings(action="ignore"):
        try:
            _publish(case, data, out)
        except sh.ShoalError as refusal:
            _refuse_a_bad_refusal(str(refusal), before, folder)
            return type(refusal).__name__
        _verify(case, data, out)
    if left := _listing(folder) - before - {"out", "out.private"}:
        raise Failure("leftover file", str(sorted(left)))
    judge(case, out)
    return "published"


def _publish(case: Case, data: Path, out: Path) -> None:
    import shoal as sh
    from shoal import api

    policy = json.loads(json.dumps(case.policy))
    for model in policy["require"]:
        if "population" in model:
            model["population"] = str(data.with_name("population.csv"))
    try:
        how = {"engine": case.engine, "format": case.format, "partition_by": case.partition_by}
        api.publish(data, sh.Policy(**policy), out, **how)
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


def _refuse_a_bad_refusal(sentence: str, before: set[str], folder: Path) -> None:
    if _listing(folder) != before:
        raise Failure("leftover file", f"after a refusal: {sorted(_listing(folder) - before)}")
    if not sentence.strip() or "\n" in sentence.strip() or "Traceback" in sentence:
        raise Failure("refusal is no sentence", repr(sentence[:200]))


# the release as an outsider reads it


def judge(case: Case, out: Path) -> None:
    """Judge a published folder against its case."""
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    if manifest["data"].get("separate"):  # two tables: the group takes the place of the class
        return
    rows = list(_released(out, manifest, case))
    quasi = manifest["quasi_identifiers"]
    classes: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        classes[tuple(row[name] for name in quasi)].append(at)
    for model in case.policy["require"]:
        for problem in broken(model, list(classes.values()), rows, case):
            raise Failure("promise broken", f"{model['model']}: {problem}")
    source = _row_map(out.with_name("out.private") / "rows.arrow")
    if source is not None:
        _judge_cells(case, manifest, rows, classes, source)


def _released(out: Path, manifest: dict[str, Any], case: Case) -> Iterator[Row]:
    if case.format == "parquet":
        import pyarrow as pa
        from pyarrow import dataset

        path = next(path for path in out.iterdir() if path.name.startswith("data"))
        folders = dataset.partitioning(pa.schema([(name, pa.string()) for name in case.partition_by]), flavor="hive")
        for row in dataset.dataset(path, partitioning=folders if case.partition_by else None).to_table().to_pylist():
            yield {name: None if cell is None else str(cell) for name, cell in row.items()}
        return
    missing = manifest["data"]["missing"]
    limit = csv.field_size_limit(10**9)
    try:
        with (out / "data.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter=manifest["data"]["delimiter"]))
    finally:
        csv.field_size_limit(limit)  # it is one for all readers of the process
    for row in rows:
        # a name that a spreadsheet would run has a quote before it
        names = {name: name if name in manifest["data"]["columns"] else name.removeprefix("'") for name in row}
        yield {names[name]: None if cell == missing else cell for name, cell in row.items()}


def _row_map(path: Path) -> dict[int, int] | None:
    """The input row behind each released row, where the private folder tells."""
    if not path.exists():
        return None
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        became = pa.ipc.open_file(file).read_all().to_pylist()
    return {each["released_row"] - 1: each["input_row"] - 1 for each in became if each["released_row"] is not None}


def original(case: Case, name: str) -> Cells:
    """A column as the tool is asked to read it: markers are nulls."""
    missing = set(case.policy.get("data", {}).get("missing", [""]))
    return [None if cell in missing else cell for cell in case.columns[name]]


def _judge_cells(
    case: Case,
    manifest: dict[str, Any],
    rows: list[Row],
    classes: dict[tuple[str | None, ...], list[int]],
    source: dict[int, int],
) -> None:
    statistics = manifest.get("statistics", {})
    attributes = case.policy["attributes"]
    columns = {name: original(case, name) for name in case.columns}
    safe = case.format == "csv" and case.policy["release"].get("spreadsheet-safe", True)
    for at, row in enumerate(rows):
        for name in (set(row) & set(columns)) - set(statistics):
            value, hierarchy = columns[name][source[at]], attributes[name].get("hierarchy", {})
            cell = row[name]
            if not any(is_true(each, value, hierarchy) for each in _readings(cell, safe=safe)):
                raise Failure("untrue cell", f"row {at}, column {name!r}: {cell!r} for {value!r}")
    if manifest.get("by_label") or case.format != "csv" or safe:
        return
    for name, (of, kind) in statistics.items():
        for held in classes.values():
            values, shown = [columns[of][source[at]] for at in held], rows[held[0]][name]
            order = attributes[of].get("order")
            if shown != "*" and not is_statistic(shown, kind, values, columns[of], order):
                raise Failure("untrue statistic", f"{kind} of {of!r}: {shown!r} for {values!r}")


def _readings(cell: str | None, *, safe: bool) -> list[str | None]:
    """A cell, and what it is without the quote that keeps spreadsheets from running it."""
    return [cell, cell[1:]] if safe and cell is not None and cell.startswith("'") else [cell]


def is_true(label: str | None, value: str | None, hierarchy: dict[str, Any]) -> bool:
    """Whether a released label is true of a value, by the grammar of labels or by the hierarchy of the policy."""
    if covers(label, value):
        return True
    if label is None or value is None:
        return False
    return any(form in hierarchy and of(label, value, hierarchy[form]) for form, of in FORMS.items())


def _in_tree(label: str, value: str, tree: dict[str, Any]) -> bool:
    (root, nodes), *_ = tree.items()
    return label == root or value in nodes.get(label, [])


def _in_mask(label: str, value: str, _: Any) -> bool:
    """Each star stands for a character, or for none at the end of a shorter value."""
    padded = value.ljust(len(label), "*")
    return len(label) == len(padded) and all(shown in {"*", held} for shown, held in zip(label, padded, strict=True))


FORMS: dict[str, Any] = {
    "tree": _in_tree,
    "rows": lambda label, value, rows: any(row[0] == value and label in row for row in rows),
    "mask": _in_mask,
    "dates": lambda label, value, _: value.startswith(label.removesuffix("0s")),
    "hipaa": lambda label, value, _: value.startswith(label.rstrip("*")) or label in {"≥90", "000"},
}
"""Whether a label of a form of hierarchies, as a policy writes it, is true of a value."""


# promises by their definitions; what needs more than the table is left to verify


def broken(model: dict[str, Any], classes: list[list[int]], rows: list[Row], case: Case) -> Iterator[str]:
    """Yield how a promise is broken; nothing where it holds, or where it is not judged here."""
    if "unit" in {attribute["role"] for attribute in case.policy["attributes"].values()}:
        return  # persons are not told by the release
    judged = {name: of for name, of in JUDGES.items() if name == model["model"]}
    attribute = model.get("attribute")
    for of in judged.values():
        for held in classes:
            counts = Counter(rows[at].get(attribute) for at in held) if attribute else Counter()
            counts.pop(None, None)
            if not of(model, len(held), counts, len(classes), len(rows)):
                yield f"a class of {len(held)} rows, values {sorted(counts.values())}"


def _entropy(model: dict[str, Any], counts: Counter[str | None]) -> bool:
    total = sum(counts.values())
    shares = [count / total for count in counts.values()]
    return total > 0 and -sum(share * math.log(share) for share in shares) >= math.log(model["l"]) - 1e-9


def _recursive(model: dict[str, Any], counts: Counter[str | None]) -> bool:
    falling = sorted(counts.values(), reverse=True)
    return bool(falling) and falling[0] < Fraction(str(model["c"])) * sum(falling[model["l"] - 1 :])


def _alpha(model: dict[str, Any], counts: Counter[str | None]) -> bool:
    total, alpha = sum(counts.values()), model["alpha"]
    limits = alpha if isinstance(alpha, dict) else dict.fromkeys(counts, alpha)
    return all(counts[value] <= Fraction(str(limits[value])) * total for value in counts if value in limits)


JUDGES: dict[str, Any] = {
    "k-anonymity": lambda model, size, counts, classes, rows: size >= model["k"],
    "distinct-l-diversity": lambda model, size, counts, classes, rows: len(counts) >= model["l"],
    "entropy-l-diversity": lambda model, size, counts, classes, rows: _entropy(model, counts),
    "recursive-cl-diversity": lambda model, size, counts, classes, rows: _recursive(model, counts),
    "alpha-k": lambda model, size, counts, classes, rows: size >= model["k"] and _alpha(model, counts),
    "p-sensitive": lambda model, size, counts, classes, rows: len(counts) >= model["p"],
    "average-risk": lambda model, size, counts, classes, rows: classes <= Fraction(str(model["max"])) * rows,
}
"""For each model whether a class keeps it: its size, the counts of its values; classes and rows of the table."""
