"""With a row map, verify sees every row that does not show the input row it is said to come from."""

from dataclasses import replace
from types import SimpleNamespace

import naive
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.codes import Table, encode
from shoal.errors import NotVerified
from shoal.hierarchy.build import build, parse
from shoal.models.alpha_k import AlphaK
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import DistinctLDiversity
from shoal.publish.verification import original_levels, original_table
from shoal.verify.claim import Claim, Original
from shoal.verify.judge import judge
from shoal.verify.open_release import opened
from shoal.verify.released_counts import count_released
from shoal.verify.truth_by_level import covers
from shoal.verify.truth_by_row import flag_covered, flag_unchanged

INPUT = {
    "age": pa.array([31, 35, 51, 55, None]),
    "race": pa.array(["a", "b", "c", "c", "b"]),
    "s": pa.array(["flu", "hiv", "flu", None, "flu"]),
    "n": pa.array([1.5, 2.0, 2.0, None, 1.5]),
}
TREE = parse({"tree": {"*": {"ab": ["a", "b"], "rest": ["c"]}}})
CLAIM = Claim(["age", "race"], ["s"], [KAnonymity(2)], 4, ["age", "race", "s", "n"])
ROWS = [  # those of the input rows 3, 0, 2, 1
    ("[50, 60)", "c", None, None),
    ("[30, 40)", "ab", "flu", 1.5),
    ("{51 | 55}", "*", "flu", 2.0),
    ("<36", "{b | c}", "hiv", 2.0),
]
ORDER = [3, 0, 2, 1]


def original(order=ORDER, **more):
    columns = {name: encode(name, array) for name, array in INPUT.items()}
    table = Table(columns, 5)
    return Original(
        original_table(table),
        original_levels({"race": build(columns["race"], TREE)}, {}),
        {},
        rows=np.array(order, dtype=np.int64),
        **more,
    )


def table(rows, columns=CLAIM.columns):
    types = {"n": pa.float64()}
    cells = zip(*rows, strict=True)
    return pa.table({name: pa.array(c, types.get(name, pa.string())) for name, c in zip(columns, cells, strict=True)})


def why(rows, order=ORDER, claim=CLAIM):
    with opened(table(rows, claim.columns), claim.columns, {}, listed=True) as release:
        verdict = covers(release, claim, original(order))
    assert verdict.holds == (not verdict.why)
    return verdict.why


def changed(row, column, cell):
    rows = [list(r) for r in ROWS]
    rows[row][column] = cell
    return rows


def test_rows_that_tell_the_truth():
    assert not why(ROWS)
    assert not why(ROWS[:2], ORDER[:2])  # what is left out is no lie


@pytest.mark.parametrize("cell", ["*", "[55, 55]", "55", "≥55", "[51, 55]"])
def test_a_label_may_be_any_that_covers(cell):
    assert not why(changed(0, 0, cell))


@pytest.mark.parametrize(
    ("row", "column", "cell"),
    [
        (0, 0, "[50, 55)"),  # narrowed
        (0, 0, "54"),
        (0, 0, None),
        (0, 0, "50-60"),
        (1, 1, "b"),
        (1, 1, "rest"),
        (1, 1, "{b | c}"),
        (1, 2, "hiv"),
        (1, 2, None),
        (1, 2, "*"),  # a label is for quasi-identifiers
        (0, 2, "flu"),
        (1, 3, 1.25),
        (1, 3, None),
        (0, 3, 0.0),
    ],
)
def test_a_cell_that_does_not_cover_is_found_and_its_column_named(row, column, cell):
    name = CLAIM.columns[column]
    assert why(changed(row, column, cell)) == f"1 released row(s) do not cover an original one in column {name!r}"


def test_every_wrong_column_is_named():
    rows = [[*ROWS[0]], ["90", "ab", "flu", 1.5], ["90", "*", "hiv", 2.0], [*ROWS[3]]]
    assert why(rows) == (
        "2 released row(s) do not cover an original one in column 'age'; "
        "1 released row(s) do not cover an original one in column 's'"
    )


def test_two_rows_exchanged():
    rows = [[*ROWS[0]], ["[30, 40)", "ab", "hiv", 2.0], [*ROWS[2]], ["<36", "ab", "flu", 1.5]]
    assert not why(rows, [3, 1, 2, 0])  # every row still covers the other's quasi-identifiers
    assert why(rows).startswith("2 released row(s) do not cover an original one in column 's'")


def test_a_null_is_covered_by_null_and_by_a_star():
    last = (None, "b", "flu", 1.5)
    assert not why([*ROWS, last], [*ORDER, 4])
    assert not why([*ROWS, ("*", *last[1:])], [*ORDER, 4])
    assert why([*ROWS, ("[0, 100]", *last[1:])], [*ORDER, 4])


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ([3, 0, 2], "the row map tells of 3 row(s), the released table has 4"),
        ([3, 0, 2, 1, 4], "the row map tells of 5 row(s), the released table has 4"),
        ([3, 0, 2, 5], "1 released row(s) come from no row of the original"),
        ([-1, 0, -2, 1], "2 released row(s) come from no row of the original"),
        ([3, 0, 3, 1], "1 released row(s) show an original one that another row shows"),
    ],
)
def test_an_invalid_row_map_is_reported(order, says):
    assert why(ROWS, order) == says
    with opened(table(ROWS), CLAIM.columns, {}, listed=True) as release:
        count_released(release, CLAIM, original(order))  # says nothing, and does not fall over


def test_a_row_that_is_released_twice():
    assert "another row shows" in why([*ROWS, ROWS[1]], [*ORDER, 0])
    assert "column 'age'" in why([*ROWS, ROWS[1]], [*ORDER, 4])


def test_suppressed_rows_that_are_shown():
    rows = [("*", "*", *ROWS[0][2:]), *ROWS[1:]]
    assert not why(rows, claim=replace(CLAIM, shown=1))
    assert why(rows, claim=replace(CLAIM, shown=2)) == "1 released row(s) are all *, not 2"
    assert why([("*", "*", "hiv", None), *ROWS[1:]], claim=replace(CLAIM, shown=1))


def test_a_column_that_the_original_lacks_is_reported():
    claim = replace(CLAIM, columns=["age", "race", "t", "n"], sensitive=[])
    assert why(ROWS, claim=claim) == "column 't' tells of nothing in the original"


def test_the_reason_names_no_cell():
    rows = changed(0, 0, "CANARY-7f3")
    assert "CANARY" not in why(rows)


def test_a_spreadsheet_safe_csv_in_its_order(tmp_path):
    texts = [f"={i}" if i % 3 else f"'={i}" for i in range(2000)]
    order = np.random.default_rng(1).permutation(2000)
    columns = {"q": encode("q", pa.array(["x"] * 2000)), "s": encode("s", pa.array(texts))}
    cells = pa.array(["'" + texts[i] for i in order])
    pa_csv.write_csv(pa.table({"q": ["x"] * 2000, "s": cells}), tmp_path / "data.csv")
    claim = Claim(["q"], ["s"], [], 2000, ["q", "s"])
    how = {"delimiter": ",", "quote": '"', "missing": "", "spreadsheet_safe": True}
    with opened(tmp_path / "data.csv", claim.columns, how, listed=True) as release:
        assert covers(release, claim, Original(original_table(Table(columns, 2000)), {}, {}, rows=order)).holds
        assert not covers(
            release, claim, Original(original_table(Table(columns, 2000)), {}, {}, rows=order[::-1])
        ).holds


# what lies behind the classes


@naive.examples(40)
@given(
    people=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([None, "flu", "hiv"]), st.integers(0, 4)), min_size=1, max_size=20
    ),
    data=st.data(),
)
def test_persons_behind_the_classes(people, data):
    cells = dict(zip(("q", "s", "who"), zip(*people, strict=True), strict=True))
    columns = {name: encode(name, pa.array(of)) for name, of in cells.items()}
    order = data.draw(st.permutations(range(len(people))))[: data.draw(st.integers(1, len(people)))]
    labels = [data.draw(st.sampled_from(["*", "[0, 9]", str(people[i][0])])) for i in order]
    release = pa.table({"q": labels, "s": pa.array([people[i][1] for i in order], pa.string())})
    rows = np.array(order, dtype=np.int64)
    source = Original(
        original_table(Table(columns, len(people))), {}, {}, unit="who", together=(("s", "who"),), rows=rows
    )
    models = [KAnonymity(1), DistinctLDiversity(1, "s")]
    claim = Claim(["q"], ["s"], models, len(order), ["q", "s"], persons=True)
    with opened(release, claim.columns, {}, listed=True) as found:
        counted = count_released(found, claim, source)
        verdicts = {v.promise: v for v in judge(claim, counted)}
        assert covers(found, claim, source).holds
    behind = {label: [people[i] for i, of in zip(order, labels, strict=True) if of == label] for label in labels}
    persons = {label: len({who for _, _, who in rows}) for label, rows in behind.items()}
    assert verdicts["k-anonymity"].attained == {"k": min(persons.values())}
    distinct = min(len({s for _, s, _ in rows} - {None}) for rows in behind.values())
    assert verdicts["distinct-l-diversity"].attained == {"l": distinct}
    assert counted.behind is not None
    joint = counted.behind.joint["s", "who"]
    assert int(joint.counts.sum()) == len(order)
    assert list(counted.behind.released) == ["q"]


def test_shares_are_held_against_the_original():
    claim = replace(CLAIM, models=[AlphaK(alpha=0.5, k=1, attribute="s")])
    with opened(table(ROWS), claim.columns, {}, listed=True) as release:
        found = count_released(release, claim, original())
    assert found.behind is not None
    assert found.behind.sensitive["s"].overall.tolist() == [3, 1, 1]  # of all five rows, released or not


def test_no_population_beside_a_row_map():
    known = original(population=original().table)
    with opened(table(ROWS), CLAIM.columns, {}, listed=True) as release, pytest.raises(NotVerified, match="population"):
        count_released(release, CLAIM, known)


@pytest.mark.parametrize(("typed", "cell", "same"), [(False, "1.50", True), (True, "1.50", False), (True, "1.5", True)])
def test_a_cell_that_shows_the_value_itself(typed, cell, same):
    """A typed file shows the number, a text file the way in which it was written; null is null."""
    column = SimpleNamespace(values=pa.array([1.5]), texts=pa.array(["1.50"]))
    pairs = pa.table({"cell": [cell, None, None], "code": [0, 1, 0]})
    assert flag_unchanged(pairs, column, typed=typed).tolist() == [same, True, False]


def test_a_label_covers_the_codes_of_its_runs():
    """Codes 1, 2 and 5; a label that is none covers nothing."""
    runs = {"some": [(1, 3), (5, 6)], "none": []}
    pairs = pa.table({"cell": ["some"] * 7 + ["none"], "code": [0, 1, 2, 3, 4, 5, 6, 1]})
    found = flag_covered(pairs, SimpleNamespace(runs=lambda label: runs[label]))
    assert found.tolist() == [False, True, True, False, False, True, False, False]
