"""The joining attack: containment against its definition, the worked example, truth, and what is refused."""

from fractions import Fraction

import naive_join
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from naive import examples

from shoal.attacks.join import Join
from shoal.attacks.release_under_attack import Published, Truth
from shoal.data.codes import Table, encode
from shoal.errors import BadInput
from shoal.hierarchy.build import Functions
from shoal.hierarchy.dates import Dates
from shoal.hierarchy.inline_tree import Tree
from shoal.hierarchy.intervals import Intervals
from shoal.hierarchy.mask import Mask


def table(**columns):
    arrays = {name.replace("_", "-"): values for name, values in columns.items()}
    return Table(
        {name: encode(name, pa.array(values)) for name, values in arrays.items()}, len(next(iter(arrays.values())))
    )


def released(quasi, sensitive=("disease",), builders=None, **columns):
    return Published.of("the release", table(**columns), list(quasi), list(sensitive), builders)


# S2.1, the example of §1.2 of the survey: hospital and voters
HOSPITAL = {
    "dob": ["1/21/76", "4/13/86", "2/28/76", "1/21/76", "4/13/86", "2/28/76"],
    "sex": ["Male", "Female", "Male", "Male", "Female", "Female"],
    "zipcode": ["53715", "53715", "53703", "53703", "53706", "53706"],
    "disease": ["Heart Disease", "Hepatitis", "Brochitis", "Broken Arm", "Flu", "Hang Nail"],
}
VOTERS = {
    "name": ["Andre", "Beth", "Carol", "Dan", "Ellen"],
    "dob": ["1/21/76", "1/10/81", "10/1/44", "2/21/84", "4/19/72"],
    "sex": ["Male", "Female", "Female", "Male", "Female"],
    "zipcode": ["53715", "55410", "90210", "02174", "02237"],
}


def test_andre_has_heart_disease():
    found = Join(table(**VOTERS)).on(released(["dob", "sex", "zipcode"], **HOSPITAL))
    assert (found.exposed, found.of) == (1, 5)
    assert found.sentence.startswith("1 of 5 people in the register matches exactly one released record; for 0 more")
    andre, *others = found.people.to_pylist()
    assert (andre["row"], andre["candidates"], andre["disease"]) == (1, 1, "Heart Disease")
    assert andre["disease: certain"]
    assert [other["candidates"] for other in others] == [0] * 4


def test_without_the_zip_code_andre_is_one_of_two():
    voters = {name: values for name, values in VOTERS.items() if name != "zipcode"}  # as far as the text shows them
    found = Join(table(**voters)).on(released(["dob", "sex", "zipcode"], **HOSPITAL))
    assert found.figures["attributes"] == ["dob", "sex"]
    assert found.people.to_pylist()[0]["candidates"] == 2
    assert found.people.to_pylist()[0]["disease: probability"] == 0.5
    assert found.exposed == 0


# S0, Table 2: 4-anonymous, with labels of three kinds and no hierarchy at hand
TABLE_2 = {
    "pid": ["1210**"] * 4 + ["134***"] * 4 + ["14****"] * 4,
    "age": ["<30"] * 4 + [">40"] * 4 + ["3*"] * 4,
    "disease": ["BC", "M", "HD", "M", "HD", "M", "HD", "M", "HD", "BC", "M", "BC"],
}


def test_the_labels_of_the_4_anonymous_hospital_are_understood():
    people = table(pid=["121045", "134222", "143367", "143367"], age=[27, 55, 35, 41])
    found = Join(people).on(released(["pid", "age"], **TABLE_2))
    assert found.people["candidates"].to_pylist() == [4, 4, 4, 0]
    assert found.exposed == 0


def compared(case, builders):
    columns = {name: [row[a][0] for row in case.rows] for a, name in enumerate(case.names)}
    published = Published.of("release", table(**columns, ill=case.ill), case.names, ["ill"], builders)
    register = table(**{name: [person[a] for person in case.people] for a, name in enumerate(case.names)})
    return Join(register, exact=case.names).on(published).people.to_pylist()


@given(naive_join.cases())
@examples(300)
def test_every_candidate_is_found_and_no_other(case):
    told = compared(case, {"city": Tree(naive_join.TREE)})
    for person, line in zip(case.people, told, strict=True):
        assert line["candidates"] == len(case.candidates(person))
        assert line["classes"] == case.classes(person)
        shares = case.shares(person)
        assert line["ill: certain"] == (len(shares) == 1)
        assert line["ill: probability"] == pytest.approx(float(max(shares.values(), default=0)))
        assert shares.get(line["ill"], Fraction(0)) == max(shares.values(), default=0)


def test_a_mask_of_ours_also_stands_for_shorter_values():
    published = released(["zip"], zip=["021**"], disease=["flu"], builders={"zip": Mask()})
    people = table(zip=["021", "0213", "02138", "021380", "02"])
    assert Join(people).on(published).people["candidates"].to_pylist() == [1, 1, 1, 0, 0]
    unknown = released(["zip"], zip=["021**"], disease=["flu"])
    assert Join(people).on(unknown).people["candidates"].to_pylist() == [0, 0, 1, 0, 0]


def test_dates_functions_and_intervals_are_read_along_their_hierarchies():
    builders = {"born": Dates(["month", "year"]), "pay": Functions([lambda pay: f"about {pay // 100}00"])}
    builders["age"] = Intervals([10])
    published = released(
        ["born", "pay", "age"],
        born=["1980-02", "1990", "1970"],  # the last is nobody's year here
        pay=["about 300", "about 500", "about 900"],
        age=["[30, 40)", "*", "≥80"],
        disease=["flu", "hiv", "flu"],
        builders=builders,
    )
    people = table(born=["1980-02-29", "1990-12-31", None], pay=[399, 501, 950], age=[39, 12, 80])
    assert Join(people).on(published).people["candidates"].to_pylist() == [1, 1, 1]


def test_numbers_and_dates_are_compared_by_what_they_denote():
    published = released(["age"], age=["30.0", "031", "32"], disease=["a", "b", "c"])
    assert Join(table(age=[30, 31, 33])).on(published).people["candidates"].to_pylist() == [1, 1, 0]


def test_suppressed_rows_are_left_out_and_counted_apart():
    published = released(["age"], age=["*", "*", "30"], disease=["a", "b", "c"])
    found = Join(table(age=[30, 40])).on(published)
    assert found.people["candidates"].to_pylist() == [1, 0]
    assert found.figures["suppressed_records_left_out"] == 2
    counted = Join(table(age=[30, 40]), suppressed=True).on(published)
    assert counted.people["candidates"].to_pylist() == [3, 2]
    assert counted.figures["suppressed_records_left_out"] == 0
    whole = Join(table(age=[30, 40])).on(released(["age"], age=["*", "*"], disease=["a", "a"]))
    assert whole.people["candidates"].to_pylist() == [2, 2]
    assert whole.exposed == 2  # everybody has it


def test_a_null_never_protects():
    published = released(["age"], age=["3*"] * 3, disease=["hiv", None, "hiv"])
    found = Join(table(age=[30])).on(published)
    assert found.people.to_pylist()[0]["disease: certain"]
    nothing = Join(table(age=[30])).on(released(["age"], age=["3*"] * 2, disease=[None, None]))
    assert nothing.exposed == 0
    assert nothing.people.to_pylist()[0]["disease"] is None


def test_repeated_people_and_unknown_values_are_said():
    people = table(name=["Ann", "Ann", "Bob"], age=[30, 30, None])
    found = Join(people).on(released(["age"], age=["3*", "4*"], disease=["a", "b"]))
    assert found.figures["repeated_people"] == 1
    assert found.figures["people_with_unknown_values"] == 1
    assert found.people["candidates"].to_pylist() == [1, 1, 2]


def test_values_that_a_hierarchy_does_not_know_are_counted():
    published = released(
        ["city"], city=["it", "*"], disease=["a", "b"], builders={"city": Tree({"it": ["rome"], "se": ["lund"]})}
    )
    found = Join(table(city=["rome", "oslo"])).on(published)
    assert found.figures["people_outside_the_hierarchies"] == 1


def test_links_are_held_against_the_original():
    original = table(name=["Ann", "Bob", "Cy"], age=[30, 31, 52], disease=["flu", "hiv", "hiv"])
    published = released(["age"], age=["≥50", "[30, 40)", "[30, 40)"], disease=["hiv", "flu", "hiv"])
    truth = Truth(original, np.array([2, 0, 1]))
    register = table(name=["Cy", "Dan", "Ann", "Bob"], age=[52, 51, 30, 60])
    found = Join(register, key="name").on(published, truth)
    assert found.success.right == 1  # of Cy, Dan and Bob, who match one record each
    assert found.success.guesses == 3
    assert found.figures["people_in_the_release"] == 3
    assert found.figures["own_record_among_candidates"] == 2
    assert found.figures["expected_right"] == 1.5
    assert found.figures["certain_and_right: disease"] == 2
    itself = Join(original).on(published, truth)
    assert itself.figures["own_record_among_candidates"] == 3
    assert itself.figures["expected_right"] == 2.0
    with pytest.raises(BadInput, match="name as key the column"):
        Join(register).on(published, truth)
    with pytest.raises(BadInput, match="tell people apart"):
        Join(table(sex=["f"], age=[3]), key="sex").on(
            published, Truth(table(sex=["f", "f", "m"], age=[1, 2, 3]), np.arange(3))
        )


@pytest.mark.parametrize(
    ("column", "people", "words"),
    [
        (["Rome", "Europe"], ["Rome", "Oslo"], r"column 'x': row 2: neither a hierarchy"),
        (["021"], ["02138"], "by their policy"),
        (["adult"], [30, 40], "by their policy"),
        (["[20, 30)"], ["25", "old"], "the register: column 'x': row 2 is not a plain number"),
        (["021**"], [2138], "restore the zeros"),
        (["1980s"], ["1980-01-01"], "by their policy"),
    ],
)
def test_what_is_not_understood_is_refused_and_never_passed_over(column, people, words):
    with pytest.raises(BadInput, match=words) as refused:
        Join(table(x=people)).on(released(["x"], x=column, disease=["a"] * len(column)))
    assert not any(
        str(cell) in str(refused.value).replace("'x'", "") for cell in [*column, *people] if len(str(cell)) > 1
    )


def test_a_released_value_that_nobody_has_is_accepted_in_an_exact_column():
    published = released(["x"], x=["Rome", "Oslo"], disease=["a", "b"])
    assert Join(table(x=["Rome"]), exact=["x"]).on(published).exposed == 1


def test_missing_columns_are_named_with_the_nearest():
    published = released(["age", "sex"], age=["30"], sex=["f"], disease=["a"])
    with pytest.raises(BadInput, match=r"no quasi-identifier 'agee' \(did you mean 'age'\?\)"):
        Join(table(age=[30]), attributes=["agee"]).on(published)
    with pytest.raises(BadInput, match=r"the register: there is no column 'sex' \(did you mean 'sexe'\?\)"):
        Join(table(sexe=["f"]), attributes=["sex"]).on(published)
    with pytest.raises(BadInput, match=r"none of the quasi-identifiers 'age', 'sex' \(did you mean 'ages'\?\)"):
        Join(table(ages=[30])).on(published)
    with pytest.raises(BadInput, match="no records"):
        Join(table(age=[])).on(published)


def test_classes_overlap_and_many_meet_many():
    """Boxes drawn at random, more than the kernel tests one by one, some cells hidden."""
    random = np.random.default_rng(0)
    low = random.integers(0, 80, (3000, 3))
    high = low + random.integers(0, 15, (3000, 3))
    hidden = random.random((3000, 3)) < 0.3
    people = random.integers(0, 90, (2000, 3))
    columns = {
        name: ["*" if h else f"[{a}, {b}]" for a, b, h in zip(low[:, i], high[:, i], hidden[:, i], strict=True)]
        for i, name in enumerate("abc")
    }
    ill = random.integers(0, 5, 3000)
    published = Published.of("release", table(**columns, ill=ill.tolist()), list("abc"), ["ill"])
    found = Join(table(**dict(zip("abc", people.T.tolist(), strict=True)))).on(published)
    holds = (((people[:, None] >= low) & (people[:, None] <= high)) | hidden).all(axis=2) & ~hidden.all(axis=1)
    assert found.people["candidates"].to_pylist() == holds.sum(axis=1).tolist()
    shares = np.stack([holds[:, ill == value].sum(axis=1) for value in range(5)], axis=1)
    assert found.people["ill: certain"].to_pylist() == ((shares > 0).sum(axis=1) == 1).tolist()
    likeliest = shares.max(axis=1) / np.maximum(holds.sum(axis=1), 1)
    assert found.people["ill: probability"].to_pylist() == pytest.approx(likeliest.tolist())


def test_nobody_is_named_unless_asked_for():
    published = released(["dob", "sex", "zipcode"], **HOSPITAL)
    assert "people" not in Join(table(**VOTERS)).on(published).document()
    found = Join(table(**VOTERS), name_column="name").on(published)
    assert found.named == ({"name": "Andre", "candidates": 1, "learned": {"disease": "Heart Disease"}},)
    assert found.document()["people"] == [dict(found.named[0])]
    assert found.people["name"].to_pylist() == VOTERS["name"]


def test_people_named_are_those_exposed_also_by_agreeing_candidates():
    published = released(["age"], age=["3*", "3*", "4*", "4*"], disease=["hiv", "hiv", "flu", "cold"])
    found = Join(table(name=["Ann", None, "Cy"], age=["31", "33", "44"]), name_column="name").on(published)
    assert [(each["name"], each["candidates"]) for each in found.named] == [("Ann", 2), (None, 2)]
    assert all(each["learned"] == {"disease": "hiv"} for each in found.named)


def test_a_name_column_that_the_register_lacks_is_refused():
    with pytest.raises(BadInput, match=r"the register: there is no column 'nam' \(did you mean 'name'\?\)"):
        Join(table(**VOTERS), name_column="nam").on(released(["dob", "sex", "zipcode"], **HOSPITAL))
