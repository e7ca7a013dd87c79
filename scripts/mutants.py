"""Tests the tests: changes one operator or number of a module at a time, and lists the changes that no test notices.

python scripts/mutants.py                    every target
python scripts/mutants.py models.closeness   some
python scripts/mutants.py --every 3 ...      each third change only
python scripts/mutants.py --sample 40 ...    40 changes, drawn at random: the same ones each time

Tests are collected once. For each change a copy of the process (fork) replaces the code of one function and runs the
tests of the module until one fails. Changes outside functions, and of texts, are not tried. What survives and cannot be
noticed, or changes nothing that matters, is explained in EXPLAINED.
"""

import argparse
import ast
import copy
import importlib
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from shoal.models import MODELS as REGISTERED

ROOT = Path(__file__).parents[1]
SECONDS = 60
"""How long the tests of one change may take, or five times as long as those without any: an endless loop is noticed."""
MODELS = ("tests/unit/models/test_model.py", "tests/unit/models/test_model_numbers.py")
OTHERS = (
    "a_d", "alpha_beta_k", "alpha_k", "bt_privacy", "disclosure", "leakage", "likeness", "p_alpha_sensitive",
    "p_sensitive", "personal_privacy", "presence", "proximity", "reidentification", "xy_privacy",
)  # fmt: skip
VERIFIERS = (
    "claim", "open_release", "original_table", "originals_by_class", "release_files", "released_counts",
    "true_statistics", "truth_by_box", "truth_by_level", "truth_by_row",
)  # fmt: skip
LAWS = "tests/laws/test_models.py"
"""Of these, a module takes the laws of the models that it defines."""
VERIFIED = (
    "tests/unit/verify/test_truth_by_row.py",
    "tests/unit/verify/test_released_counts.py",
    "tests/unit/verify/test_true_statistics.py",
    "tests/unit/verify/test_original_table.py",
    "tests/end_to_end/test_verify.py",
)
POPULATION = ("tests/end_to_end/test_population.py", "tests/end_to_end/test_units.py")
FILES = (
    "tests/unit/verify/test_release_files.py",
    "tests/unit/verify/test_open_release.py",
    "tests/end_to_end/test_types.py",
    "tests/end_to_end/test_tampering.py",
)
BOXED = ("tests/engines/test_boxes_on_disk.py", *VERIFIED)
"""Releases on disk are compared with their original class by class."""
TARGETS: dict[str, tuple[str, ...]] = {
    "models.k_anonymity": ("tests/unit/models/test_k_anonymity.py", *MODELS),
    "models.l_diversity": (
        "tests/unit/models/test_l_diversity.py",
        "tests/unit/models/test_l_diversity_diversity.py",
        *MODELS,
    ),
    "models.recursive_cl": ("tests/unit/models/test_recursive_cl.py", *MODELS),
    "models.closeness": ("tests/unit/models/test_closeness.py", "tests/unit/models/test_reference_models.py", *MODELS),
    "models.model": (*MODELS, "tests/unit/models/test_model_experimental.py", "tests/unit/models/test_spec.py"),
    "models.spec": ("tests/unit/models/test_spec.py", *MODELS),
    "models.categories": (
        "tests/unit/models/test_categories.py",
        "tests/unit/models/test_p_alpha_sensitive.py",
        *MODELS,
    ),
    "models.reference_models": (
        "tests/unit/models/test_reference_models.py",
        "tests/unit/models/test_disclosure.py",
        "tests/unit/models/test_likeness.py",
        *MODELS,
        LAWS,
    ),
    **{f"models.{name}": (f"tests/unit/models/test_{name}.py", *MODELS, LAWS) for name in OTHERS},
    "labels.grammar": ("src/shoal/labels/scale.py", "tests/unit/labels"),
    "labels.scale": ("src/shoal/labels/grammar.py", "tests/unit/labels", "tests/unit/verify/test_original_table.py"),
    "search.oracle": (
        "tests/unit/search/test_oracle_whole_table.py",
        "tests/unit/search/test_oracle_closed.py",
        "tests/unit/search/test_oracle.py",
    ),
    "verify.judge": ("tests/unit/verify/test_judge.py", "tests/end_to_end/test_rounding.py"),
    **{f"verify.{name}": VERIFIED for name in VERIFIERS},
    "verify.truth_by_box": BOXED,
    "verify.originals_by_class": (*BOXED, *POPULATION, "tests/end_to_end/test_promises_about_the_table.py"),
    "verify.open_release": (*FILES, *VERIFIED),
    "verify.release_files": (*FILES, *VERIFIED),
    "verify.truth_by_level": (*VERIFIED, "tests/laws/test_truth.py", "tests/end_to_end/test_tampering.py"),
}
ALL_THE_SAME = "exact fractions of more entries are compared, with the same greatest one"
ANY_SIZE = "whole numbers of any size judge alike"
LENGTHS = "both have one length"
ANY_NEGATIVE = "NumPy works out the size for any negative number"
EXPLAINED: dict[str, dict[str, str]] = {
    "models.model": {
        "1 → 2: int(part.max(": ANY_SIZE,
        "1 → 2: int(whole.max(": ANY_SIZE,
        "max → min: kind: type = np.int64": ANY_SIZE,
    },
    "models.categories": {
        "without USub: of = np.array(": "null was left out before",
        "1 → 2: of = np.array(": "null was left out before",
    },
    "models.reference_models": {
        "GtE → Gt: candidates = near": ALL_THE_SAME,
        "max → min: candidates = near": ALL_THE_SAME,
        "True → False: pairs = set(": LENGTHS,
    },
    "models.a_d": {
        "GtE → Gt: pairs = np.unique(": ALL_THE_SAME,
        "1e-12 → 1.000000000001: pairs = np.unique(": ALL_THE_SAME,
    },
    "models.alpha_k": {
        "maximum → minimum: np.maximum.at(": ALL_THE_SAME,
        "GtE → Gt: highest = share": ALL_THE_SAME,
        "True → False: named = ": LENGTHS,
        "True → False: for value, count in zip(": LENGTHS,
    },
    "models.reidentification": {
        "if → if not: if shown is None and None": "classes that do not help are tried, too, with the same result",
        "And → Or: if shown is None and None": "classes that do not help are tried, too, with the same result",
        "Is → IsNot: if shown is None and None": "classes that do not help are tried, too, with the same result",
        "NotIn → In: if shown is None and None": "classes that do not help are tried, too, with the same result",
        "0 → 1: most = min(most, int(np.searchsorted(": "no size is None there",
    },
    "models.presence": {
        "Mult → Add: least = min(": ALL_THE_SAME,
        "max → min: most = max(": ALL_THE_SAME,
        "1e-12 → 1.000000000001: most = max(": ALL_THE_SAME,
        "LtE → Lt: least = min(": ALL_THE_SAME,
        "1 → 2: least = min(": ALL_THE_SAME,
        "GtE → Gt: most = max(": ALL_THE_SAME,
    },
    "models.xy_privacy": {"True → False: for labels, codes in zip(": LENGTHS},
    "models.bt_privacy": {
        "True → False: return list(zip(": "lists of two lengths were refused before",
        "LtE → Lt: complying &= self._measure_moves(": "no divergence lies just a tolerance above t",
        "1 → 2: np.add.at(rows, (which.reshape(": ANY_NEGATIVE,
        "1 → 2: members = np.bincount(which.reshape(": ANY_NEGATIVE,
        "Sub → Add: return codes, (places - low)": "distances do not depend on where the scale begins",
    },
    "models.leakage": {
        "Gt → GtE: return margin > 0": "a margin of 0 is compared exactly",
        "max → min: small = int(": ANY_SIZE,
        "1 → 2: ends = np.searchsorted(": "an end behind the last value is not used",
    },
    "models.likeness": {"Gt → GtE: return np.asarray(_gains(": "no gain lies just a tolerance above the logarithm"},
    "models.disclosure": {"Gt → GtE: if self.absent ==": "where δ is just as large, either is right"},
    "models.p_alpha_sensitive": {
        "Gt → GtE: if needed > ": "no class weighs so much",
        "all → any: if self.complies(table).all()": "the whole table is one class",
    },
    "models.proximity": {
        "1 → 2: size = max(": "a larger factor keeps groups apart as well",
        "0 → 1: wide = max(": ANY_SIZE,
        "1 → 2: wide = max(": ANY_SIZE,
        "FloorDiv → Mult: kind = integers(": ANY_SIZE,
        "1 → 2: kind = integers(": ANY_SIZE,
    },
    "models.personal_privacy": {
        "1 → 2: width = int(": "a larger factor keeps groups apart as well",
    },
    "labels.scale": {
        "return → return None: return bool((np.diff(": "runs are found in the slower way",
        "Eq → NotEq: if unit == 1 and not any(": "keys of whole numbers are made in the slower way",
        "1 → 2: if unit == 1 and not any(": "keys of whole numbers are made in the slower way",
        "GtE → Gt: digits * 10**exponent * unit": "for an exponent of 0 both sides are equal",
        "0 → 1: digits * 10**exponent * unit": "for an exponent of 0 both sides are equal",
        "True → False: for code, (text, plain)": "each text is made plain",
        "True → False: return list(zip(codes[": "each run has two ends",
        "True → False: for level, labels in zip(": "each level has its labels",
    },
    "search.oracle": {
        "if → if not: if tuple(least) != lattice.bottom": "classes are counted from a larger set, and alike",
        "NotEq → Eq: if tuple(least) != lattice.bottom": "classes are counted from a larger set, and alike",
        "all → any: return all(bool(part.complies(shown)": "the suppressed rows are one class",
        "True → False: for level, hierarchy in zip(": "a node has a level for each hierarchy",
    },
    "models.l_diversity": {
        "Add → Sub: group = np.unique(": "the same groups are numbered in another order",
        "0 → 1: group = np.unique(": "a larger factor keeps groups apart as well",
        "1 → 2: group = np.unique(": "a larger factor keeps groups apart as well",
        "GtE → Gt: return np.asarray((_total(": "no entropy lies just a tolerance below ln l",
        "Lt → LtE: return np.asarray((distinct == 0)": "no logarithm lies just a tolerance below ln l",
    },
    "models.closeness": {
        "0 → 1: largest = int(": "int64 holds 1 as well as 0",
        "0 → 1: kind = integers(": "int64 holds 1 as well as 0",
        "1 → 2: kind = integers(": "int64 holds 2 as well as 1",
        "True → False: end = np.where(": "the last entry ends at m either way",
        "1 → 2: return totals.astype(kind) * max(size, 1)": "in a table of one row every distance is 0",
        "0 → 1: size = int(groups.max(": "a group that no value has changes nothing",
        "1 → 2: size = int(groups.max(": "a group that no value has changes nothing",
        "if → if not: if values.class_count * size": "the other way of counting is slower and counts alike",
        "LtE → Lt: if values.class_count * size": "the other way of counting is slower and counts alike",
        "Mult → Add: if values.class_count * size": "the other way of counting is slower and counts alike",
        "4 → 5: if values.class_count * size": "the other way of counting is slower and counts alike",
        "True → False: places = dict(zip(": "there is a number for each label",
        "0 → 1: places[None] = max(": "null comes last, however far behind",
        "1 → 2: places[None] = max(": "null comes last, however far behind",
    },
    "models.recursive_cl": {
        "0 → 1: largest = max(": "int64 holds 1 as well as 0",
        "LtE → Lt: kind: type = np.int64": "whole numbers of any size judge alike",
        "max → min: kind: type = np.int64": "whole numbers of any size judge alike",
        "2.0 → 3.0: return (cls(1, 2.0": "r₁ < 3(r₁ + …) always, too, and what is attained does not depend on c",
    },
}
"""Changes that survive rightly, by module: the change and how its line begins, as they are printed, and why."""

COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.Pow: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """A change of one function."""

    function: str
    line: int
    text: str
    """The line as it is."""
    change: str
    code: CodeType


def mutants_of(source: str, path: str) -> list[Mutant]:
    """Every change of a module, in the order of its lines."""
    tree, lines, found = ast.parse(source), source.splitlines(), []
    for number, (name, function) in enumerate(functions(tree)):
        for at, change in enumerate(changes(function)):
            other = ast.parse(source)
            _, same = list(functions(other))[number]
            line = list(changes(same))[at][1]()
            ast.fix_missing_locations(other)
            code = code_of(compile(other, path, "exec"), name)
            if code is not None:
                found.append(Mutant(name, line, lines[line - 1].strip(), change[0], code))
    return found


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions of a module and methods of its classes; what is inside of them belongs to them."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, ast.FunctionDef))


def changes(function: ast.FunctionDef) -> Iterator[tuple[str, Any]]:
    """What may be changed in a function: the name of a change, and what makes it and returns its line."""
    for statement in function.body:
        for node in _walk(statement):
            yield from _changes(node)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that compute something: no messages of errors, no annotations, no docstrings."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    yield node
    for name, inner in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, ast.AST):
                yield from _walk(each)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """What may be changed in one node: an operator, a number, a condition, a result."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            other = COMPARED[type(operator)]
            operators = [*node.ops[:i], other(), *node.ops[i + 1 :]]
            yield f"{type(operator).__name__} → {other.__name__}", _put(node, "ops", operators)
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in COMPUTED:
        to = COMPUTED[type(node.op)]
        yield f"{type(node.op).__name__} → {to.__name__}", _put(node, "op", to())
    elif isinstance(node, ast.UnaryOp):  # twice is not at all
        twice = ast.UnaryOp(copy.deepcopy(node.op), node.operand)
        yield f"without {type(node.op).__name__}", _put(node, "operand", twice)
    elif isinstance(node, ast.IfExp | ast.If | ast.While):
        yield "if → if not", _put(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield "return → return None", _put(node, "value", ast.Constant(None))
    else:
        yield from _values_and_names(node)


def _values_and_names(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value} → {value}", _put(node, "value", value)
    elif isinstance(node, ast.Name) and node.id in CALLED:
        yield f"{node.id} → {CALLED[node.id]}", _put(node, "id", CALLED[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in CALLED:
        yield f"{node.attr} → {CALLED[node.attr]}", _put(node, "attr", CALLED[node.attr])


def _put(node: Any, name: str, value: Any) -> Callable[[], int]:
    """Return what makes a change and returns its line."""

    def make() -> int:
        setattr(node, name, value)
        return int(node.lineno)

    return make


def code_of(module: CodeType, name: str) -> CodeType | None:
    """The code of a function in the code of its module."""
    for inner in module.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_qualname == name:
                return inner
            if name.startswith(f"{inner.co_qualname}.") and (found := code_of(inner, name)) is not None:
                return found
    return None


def live(module: Any, name: str) -> FunctionType | None:
    """The function itself, behind whatever decorates it."""
    of, _, last = name.rpartition(".")
    found = vars(getattr(module, of) if of else module).get(last)
    while not isinstance(found, FunctionType) or hasattr(found, "__wrapped__"):
        ways = ("__wrapped__", "__func__", "fget", "func")
        inner = next((getattr(found, way) for way in ways if getattr(found, way, None) is not None), None)
        if inner is None:
            return None
        found = inner
    return found


class Hunt:
    """A plugin that runs the collected tests once for each mutant, and once without any."""

    def __init__(self, name: str, every: int, sample: int | None) -> None:
        self.name, self.every, self.sample = name, every, sample
        self.all, self.seconds = 0, SECONDS * 10
        self.survived: list[Mutant] = []
        self.told: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        module = importlib.import_module(f"shoal.{self.name}")
        path = Path(module.__file__ or "")
        session.items = [item for item in session.items if _is_about(item, module)]
        start = time.monotonic()
        if self._tried(session, None, None) != "survived":
            raise pytest.UsageError("the tests fail without any change")
        self.seconds = max(SECONDS, int(5 * (time.monotonic() - start)))
        for mutant in self._chosen(mutants_of(path.read_text("utf-8"), str(path))):
            function = live(module, mutant.function)
            if function is None or len(function.__code__.co_freevars) != len(mutant.code.co_freevars):
                self.told["not tried"] += 1
                continue
            outcome = self._tried(session, function, mutant.code)
            self.told[outcome] += 1
            if outcome == "survived":
                self.survived.append(mutant)
        return True

    def _chosen(self, mutants: list[Mutant]) -> list[Mutant]:
        """Take each nth or some drawn at random, in the order of their lines; the same ones each time."""
        self.all = len(mutants)
        mutants = mutants[:: self.every]
        if self.sample is None or len(mutants) <= self.sample:
            return mutants
        drawn = random.Random(self.name).sample(range(len(mutants)), self.sample)
        return [mutants[at] for at in sorted(drawn)]

    def _tried(self, session: pytest.Session, function: FunctionType | None, code: CodeType | None) -> str:
        """Run the tests in a copy of this process, in which a function has other code."""
        child = os.fork()
        if child == 0:
            signal.alarm(self.seconds)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            if function is not None and code is not None:
                function.__code__ = code
            try:
                os._exit(_failed(session))
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        return "survived" if status == 0 else "not ended" if os.WIFSIGNALED(status) else "killed"


def _is_about(item: pytest.Item, module: Any) -> bool:
    """Whether a test is to be run for a module: a law of models is, where it is about one that the module defines."""
    if not item.nodeid.startswith(LAWS):
        return True
    law = getattr(item, "callspec", None)
    model = REGISTERED.get(law.params.get("name", "")) if law else None
    return model is not None and any(each.__module__ == module.__name__ for each in model.__mro__)


def _failed(session: pytest.Session) -> int:
    """Run the tests until one fails: whether one did."""
    items = session.items
    for i, item in enumerate(items):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=items[i + 1] if i + 1 < len(items) else None)
        if session.testsfailed:
            return 1
    return 0


def hunt(name: str, tests: Sequence[str], every: int, sample: int | None) -> Hunt:
    found = Hunt(name, every, sample)
    module = f"src/shoal/{name.replace('.', '/')}.py"  # its examples are tests, too
    how = ["-o", "addopts=", "--doctest-modules", "--import-mode=importlib", "-p", "no:terminal", "-m", "not slow"]
    code = pytest.main([*how, "-p", "no:cacheprovider", module, *tests], [found])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        sys.exit(f"{name}: the tests could not be run ({code})")
    return found


def main() -> None:
    os.chdir(ROOT)
    asked = argparse.ArgumentParser()
    asked.add_argument("names", nargs="*", help="modules, such as models.closeness; else all")
    asked.add_argument("--every", type=int, default=1, help="try each nth change only")
    asked.add_argument("--sample", type=int, help="try so many changes, drawn at random")
    options = asked.parse_args()
    names = options.names or list(TARGETS)
    for name in names:
        child = os.fork()  # modules and tests of one target leave nothing behind for the next
        if child == 0:
            start, found = time.monotonic(), hunt(name, TARGETS[name], options.every, options.sample)
            explained = [mutant for mutant in found.survived if _explained(name, mutant)]
            caught = found.told["killed"] + found.told["not ended"]
            tried = caught + found.told["survived"] - len(explained)
            share = caught / tried if tried else 1
            print(f"{name}: {caught} of {tried} noticed ({share:.1%}), {len(explained)} explained, "
                  f"{found.told['not tried']} not tried, of {found.all}, {time.monotonic() - start:.0f} s")  # fmt: skip
            for mutant in found.survived:
                if mutant not in explained:
                    print(f"  {mutant.line}: {mutant.change}: {mutant.text}")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


def _explained(name: str, mutant: Mutant) -> bool:
    return f"{mutant.change}: {mutant.text}".startswith(tuple(EXPLAINED.get(name, ())))


if __name__ == "__main__":
    main()
