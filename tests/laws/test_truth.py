"""Every released cell is true, and what is published verifies: on random tables of numbers of any length and spelling.

Cells are judged by code that imports nothing of the package; whatever is not published is refused in a sentence, before
anything is written, and never after the work because the release does not verify.
"""

import csv
import random
import warnings

import pytest
from judge_of_truth import covers, number, untrue_cells
from naive import THOROUGH

import shoal as sh
from shoal.errors import BadData, BadHierarchy, BadPolicy, Infeasible
from shoal.pipeline import make_release

QUASI = "quasi-identifier"
TABLES = 2_000 if THOROUGH else 24
PARTS = 8
"""Tables are dealt to so many tests."""


def digits(draw, most):
    return str(draw.randint(10 ** (draw.randint(1, most) - 1), 10**most)) if draw.random() < 0.8 else "0"


def a_number(draw, most):
    whole = digits(draw, most)
    places = "".join(draw.choice("0123456789") for _ in range(draw.choice([0, 0, 1, 2, most])))
    text = whole + ("." + places if places else "")
    return text if draw.random() < 0.7 or not text.strip("0.") else "-" + text


def respelt(draw, text):
    """The same number, written in another way."""
    return text + draw.choice(["0", "00"]) if "." in text else text + draw.choice([".0", ".00"])


def numbers(draw, rows):
    most = draw.choice([1, 2, 3, 18, 19, 39, 77, 400, 1000])
    some = [a_number(draw, most) for _ in range(draw.randint(1, max(rows // 2, 2)))]
    if draw.random() < 0.3:  # neighbours that no float tells apart
        large = 10 ** draw.choice([15, 16, 18, 19, 40])
        some = [str(large + draw.randint(0, 9)) for _ in range(5)]
    if draw.random() < 0.6:
        some += [respelt(draw, text) for text in some[: draw.randint(1, len(some))]]
    if draw.random() < 0.2:
        some.append(draw.choice(["n/a", "-0", "007", "1e5", "1_000", "½", "[1, 2]", "<5", "{1 | 2}", '"7"', "* 3"]))
    return [draw.choice(some) for _ in range(rows)]


def days(draw, rows):
    return [f"20{draw.randint(10, 12)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}" for _ in range(rows)]


def texts(draw, rows):
    some = ["a", "b", "ab", "x, y", "p | q", "[a, b]", '"', "7", "10", "9.0", " z", "≥1", "{a}", "Ä"]
    return [draw.choice(some) for _ in range(rows)]


def a_column(draw, rows):
    made = draw.choice([numbers, numbers, numbers, days, texts])(draw, rows)
    return [None if draw.random() < 0.05 else cell for cell in made] if draw.random() < 0.3 else made


ALGORITHMS = [
    {"algorithm": "mondrian"},
    {"algorithm": "mondrian-relaxed"},
    {"algorithm": "mondrian-single"},
    {"algorithm": "mondrian-workload", "target": ["ill"]},
    {"algorithm": "microaggregation"},
    {"algorithm": "local"},
    {"algorithm": "optimal", "suppression": 0.2},
    {"algorithm": "suppress", "suppress": "cell"},
    {"algorithm": "suppress", "suppress": "attribute"},
]
FORMS = [["range"], ["bounds"], ["mean"], ["median"], ["mode"], ["range", "mean"], ["bounds", "mode"]]


def a_policy(draw, columns):
    method = draw.choice(ALGORITHMS)
    shaped = method["algorithm"].startswith(("mondrian", "micro"))
    attributes, orders = {}, {}
    for name, cells in columns.items():
        attributes[name] = {"role": QUASI}
        if not shaped:
            continue
        ordered = draw.random() < 0.15
        if ordered:
            order = sorted({cell for cell in cells if cell is not None})
            draw.shuffle(order)
            attributes[name]["order"] = orders[name] = order
        are_numbers = not ordered and all(cell is None or number(cell) is not None for cell in cells)
        fitting = [form for form in FORMS if are_numbers or not {"mean", "bounds"} & set(form)]
        if method["algorithm"] == "microaggregation":
            fitting = [form for form in fitting if not {"range", "bounds"} & set(form)]
        if draw.random() < 0.8:
            attributes[name]["form"] = draw.choice(fitting)
    boxes = method["algorithm"].startswith("mondrian")
    release = {"spreadsheet-safe": False, "means": "any"}
    release |= {"ranges": draw.choice(["cut", "observed"])} if boxes else {}
    policy = {
        "attributes": {**attributes, "ill": "sensitive"},
        "require": [{"model": "k-anonymity", "k": draw.choice([2, 3])}],
        "method": method,
        "release": release,
    }
    return policy, orders


def released(folder, seed):
    """Whether a random table was published; every cell of it is then true, and it verifies."""
    draw = random.Random(seed)
    rows = draw.randint(4, 24)
    columns = {name: a_column(draw, rows) for name in ("v", "w")[: draw.randint(1, 2)]}
    policy, orders = a_policy(draw, columns)
    original = {**columns, "ill": [draw.choice(["flu", "hiv"]) for _ in range(rows)]}
    data, out = folder / "people.csv", folder / f"out{seed}"
    with data.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(original), *zip(*original.values(), strict=True)])
    try:
        make_release(data, sh.Policy(**policy)).save(out, format="csv")
    except (BadData, BadPolicy, BadHierarchy, Infeasible):
        assert not out.exists()
        return False
    assert [verdict for verdict in sh.verify(out, original=data) if not verdict.holds] == [], (seed, policy)
    untrue = list(untrue_cells(out, original, orders))
    assert not untrue, (seed, policy, untrue[:3])
    return True


@pytest.mark.parametrize("part", range(PARTS))
def test_every_released_cell_is_true(tmp_path, part):
    seeds = range(part, TABLES, PARTS)
    with warnings.catch_warnings(action="ignore"):
        published = sum(released(tmp_path, seed) for seed in seeds)
    assert published > len(seeds) // 2


@pytest.mark.parametrize(
    ("label", "value", "true"),
    [
        ("<2", "1" + "0" * 41, False),
        ("[108, 15]", "108", False),
        ('["108", "15"]', "120", True),
        ("[-0.6, 1.3]", "-4.3", False),
        ("[357, 7.0]", "5", False),
        ("[1, 2)", "1.99", True),
        ("[1, 2)", "2.0", False),
        ("{1 | 2}", "2.00", True),
        ("12*", "129", True),
        ("2020-01", "2020-01-31", True),
        ("*", None, True),
        ("5", None, False),
        (None, "5", False),
    ],
)
def test_the_judge_knows_the_grammar(label, value, true):
    assert covers(label, value) is true
