"""Drafted policies: what is guessed, and that the text is a policy."""

import tomllib
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import api
from shoal.data.codes import encode
from shoal.engine_port import ReadOptions
from shoal.engines.arrow import ArrowEngine
from shoal.explore.column_guess import find_giveaways, find_related, guess_roles
from shoal.explore.draft_policy import (
    Trial,
    _choose_algorithm,
    _comment_on_price,
    _method,
    _sample,
    _strict_promises,
    draft_policy,
)
from shoal.policy.document import Policy
from shoal.roles import Role


def drafted(**columns):
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    return draft_policy(ArrowEngine().read(table, ReadOptions()), ArrowEngine()).text


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("notes", "free text, which may name people: dropped"),
        ("name", "a name; one value may be of several people, since their dates of birth or sexes differ"),
    ],
)
def test_values_that_people_share_are_explained(name, why):
    columns = {name: [f"x{i % 40}" for i in range(120)], "birth": [1950 + i % 37 for i in range(120)]}
    found = guess_roles([encode(each, pa.array(values)) for each, values in columns.items()], 120, 5)[0]
    assert (found.role, found.why) == (Role.IDENTIFIER, f"its name says {why}")


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("Name", ["Ann", "Bob"] * 25, Role.UNIT),
        ("Surname", [f"Ann {i}" for i in range(50)], Role.IDENTIFIER),
        ("patient_id", [str(i) for i in range(50)], Role.IDENTIFIER),
        ("anything", [f"x{i}" for i in range(50)], Role.IDENTIFIER),
        ("Marital Status", ["single", "married"] * 25, Role.QUASI_IDENTIFIER),
        ("Status of all", ["single"] * 50, Role.INSENSITIVE),
        ("age", list(range(50)), Role.QUASI_IDENTIFIER),
        ("unheard-of", ["a", "a", "b", "b", "c"] * 10, Role.SENSITIVE),
        ("told by it", ["a", "b"] * 25, Role.SENSITIVE),
        ("Disease", ["flu", "hiv"] * 25, Role.SENSITIVE),
        ("fnlwgt", [i * i for i in range(50)], Role.SAMPLING_WEIGHT),
    ],
)
def test_roles(name, values, role):
    policy = Policy(**tomllib.loads(drafted(**{name: values, "sex": ["f", "m"] * 25})))
    assert policy.attributes[name].role is role


@pytest.mark.parametrize(
    "name", ["Größe 😀", 'quo"te', "dot.ted", "[b]", "tab\there", "del\x7f", "back\\slash", "=1+1"]
)
def test_any_name_of_a_column_makes_a_policy(name):
    assert name in Policy(**tomllib.loads(drafted(**{name: ["a", "b"] * 10, "age": [31, 42] * 10}))).attributes


def test_markers_are_proposed():
    assert tomllib.loads(drafted(age=["1", "?", "NA"] * 9))["data"]["missing"] == ["", "?", "NA"]


def test_a_draft_holds_no_value_of_the_data():
    text = drafted(sex=["f", "m"] * 50, city=["CANARY-7f3", "elsewhere"] * 50, age=[*range(30, 80), *[999] * 50])
    assert "CANARY" not in text
    assert "elsewhere" not in text


def test_a_lattice_too_large_to_exhaust_gets_a_time_limit():
    guesses = guess_roles([encode(f"age {i}", pa.array([j * 7 % 97 for j in range(200)])) for i in range(12)], 200, 5)
    assert "time-limit = 60  # seconds; the best release that was found by then is taken" in _method(guesses, ())
    assert _method(guesses[:1], ())[1:] == _method(guesses, ())[1:2] + _method(guesses, ())[3:]


@pytest.mark.parametrize("marker", ["n/a", "n.a.", "N.A.", "<NA>"])
def test_every_spelling_of_not_available_is_a_marker(marker):
    document = tomllib.loads(drafted(age=[*map(str, range(20, 60)), marker] * 2))
    assert document["data"]["missing"] == ["", marker]
    assert "intervals" in document["attributes"]["age"]["hierarchy"]


def test_levels_of_an_index_without_names_are_dropped():
    index = pd.MultiIndex.from_product([[f"p{i}" for i in range(50)], range(3)])
    frame = pd.DataFrame({"age": [i % 40 for i in range(150)]}, index=index)
    found = {guess.column.name: guess for guess in api.draft(frame).guesses}
    assert {name: guess.role for name, guess in found.items()} == {
        "level_0": Role.UNIT,  # three rows each
        "level_1": Role.IDENTIFIER,
        "age": Role.QUASI_IDENTIFIER,
    }
    assert {str(found[name].certainty) for name in ("level_0", "level_1")} == {"likely"}
    assert "without a name of the frame's index" in found["level_0"].why


def test_a_column_that_somebody_named_like_a_level_is_no_index():
    guess = guess_roles([encode("level_0", pa.array([1.5, 2.5, 3.25] * 20))], 60, 5)[0]
    assert "its name says" in guess.why


DAYS = [8000 + i * 7919 % 3000 for i in range(1500)]


@pytest.mark.parametrize(
    ("values", "certainty"),
    [
        (DAYS, "unknown"),
        ([f"{code}" for code in range(250, 290)] * 40, "sure"),  # three digits: codes of ICD-9
        ([10_000_000 + i * 7_654_321 for i in range(300)] * 5, "sure"),  # far apart: codes of a terminology
        (["B20", "J45.0"] * 700, "sure"),
    ],
)
def test_numbers_of_days_are_no_sure_diagnosis(values, certainty):
    guess = guess_roles([encode("diag", pa.array(values))], len(values), 5)[0]
    assert (guess.role, str(guess.certainty)) == (Role.SENSITIVE, certainty)
    assert ("days" in guess.why) == (certainty == "unknown")


def test_the_draft_says_which_exact_values_find_rows():
    ages = [20 + i % 50 for i in range(300)]
    text = drafted(age=ages, income=[1000 + i * 13 for i in range(300)], disease=["flu", "gout", "cold"] * 100)
    assert text.count("rows hold a value that no other row has") == 1
    assert "# 300 of 300 rows hold a value that no other row has" in text.partition("[attributes.income]")[2]


def shares(*counts):
    """A column in which values have so many rows."""
    values = [f"v{i}" for i, count in enumerate(counts) for _ in range(count)]
    return guess_roles([encode("disease", pa.array(values))], sum(counts), 5)[0]


@pytest.mark.parametrize(
    ("counts", "promised"),
    [
        ((30, 30, 40), [("alpha-k", 0.49)]),
        ((75, 25), [("t-closeness", 0.24)]),  # a class of the first alone is 0.25 away
        ((90, 10), [("t-closeness", 0.39), ("distinct-l-diversity", 2)]),
        ((60, 40), [("t-closeness", 0.39)]),
    ],
)
def test_strict_promises_follow_from_the_shares(counts, promised):
    document = tomllib.loads("\n".join(line for part in _strict_promises(shares(*counts)) for line in part))
    told = [(each["model"], each.get("alpha") or each.get("t") or each.get("l")) for each in document["require"]]
    assert told == promised


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((60, 40), 'a [[require]] of the same attribute in place of this one: model = "t-closeness", t = 0.39'),
        ((90, 10), '2 [[require]] of the same attribute in place of this one: model = "t-closeness", t = '),
    ],
)
def test_a_stricter_promise_is_said_to_replace_the_drafted_one(counts, said):
    (line,) = _comment_on_price(_strict_promises(shares(*counts)), "0.61 instead of 0.46")
    assert f"; stricter, with a loss of 0.61 instead of 0.46 on a sample, {said}" in line


def test_persons_of_several_values_get_no_promise_about_shares():
    unit, ill = encode("p", pa.array([1, 1, 2, 2, 3, 3])), shares(2, 2, 2)
    assert _strict_promises(ill, unit)
    assert not _strict_promises(ill, encode("p", pa.array([1, 2, 1, 2, 3, 3])))


@given(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.data())
def test_no_class_that_keeps_strict_promises_makes_a_value_likely(counts, data):
    """Whatever a class holds: no value alone, and none both likelier than not and twice as likely as in the table."""
    promises = {part[1].split('"')[1]: part[2] for part in _strict_promises(shares(*counts))}
    limits = {model: Fraction(line.split()[2]) for model, line in promises.items()}
    held = data.draw(st.lists(st.integers(0, 12), min_size=len(counts), max_size=len(counts)).filter(any))
    table, group = ([Fraction(n, sum(each)) for n in each] for each in (counts, held))
    far = sum(abs(q - p) for p, q in zip(table, group, strict=True)) / 2
    kept = max(group) <= limits.get("alpha-k", 1) and far <= limits.get("t-closeness", 1)
    kept &= sum(n > 0 for n in held) >= limits.get("distinct-l-diversity", 1)
    likely = [q for p, q in zip(table, group, strict=True) if q >= Fraction(1, 2) and q >= 2 * p]
    assert not (kept and (likely or max(group) == 1))


def test_notes_that_repeat_tell_no_persons_apart():
    notes = ["comes again", "sent home", "was told to rest"] * 40
    drafted = api.draft(pa.table({"age": [20 + n % 50 for n in range(120)], "Bemerkung": notes}))
    assert drafted.policy.attributes["Bemerkung"].role == "identifier"


@pytest.mark.parametrize(
    ("values", "role"), [("mwd", "quasi-identifier"), ("HF", "quasi-identifier"), ("abc", "sensitive")]
)
def test_codes_of_the_sexes_are_known_without_a_header(values, role):
    drafted = api.draft(
        pa.table({"age": [20 + n % 50 for n in range(120)], "q7": [values[n % len(values)] for n in range(120)]})
    )
    assert drafted.policy.attributes["q7"].role == role


def test_units_that_tell_nothing_are_not_drafted():
    days = [f"202{2 + n % 3}-0{1 + n % 9}-11" for n in range(120)]
    drafted = api.draft(pa.table({"visit-date": days, "q": ["x", "y"] * 60})).policy
    assert list(drafted.attributes["visit-date"].hierarchy.units) == ["month", "quarter", "year"]  # all in the 2020s


def test_a_draft_names_the_page_of_keys_and_shows_one_tree():
    people = pa.table({"town": ["Ulm", "Bonn"] * 20, "sex": ["f", "m"] * 20, "ill": ["flu", "hiv"] * 20})
    text = api.draft(people).text
    assert "docs/reference/policy.md" in text.splitlines()[1]
    assert (Path(__file__).parents[3] / "docs" / "reference" / "policy.md").is_file()
    (shown,) = [line for line in text.splitlines() if line.startswith("# such a tree: ")]
    assert text.splitlines()[text.splitlines().index(shown) - 1].startswith("hierarchy = { flat = true }")
    spec = tomllib.loads(shown.removeprefix("# such a tree: "))["hierarchy"]
    assert list(spec["tree"]) == ["one group", "other group"]


def test_a_large_k_is_tried_on_enough_rows():
    people = pa.table({"age": [20 + n % 50 for n in range(2700)], "sex": ["f", "m", "m"] * 900})
    trials = api.draft(people, k=1500).trials
    assert [trial.why for trial in trials if trial.loss is None] == []
    found = draft_policy(ArrowEngine().read(people, ReadOptions()), ArrowEngine(), 2701).trials
    assert {trial.why.partition(": ")[0] for trial in found} == {"no release of a sample of 2,700 rows"}


def test_persons_of_the_sample_are_whole():
    people = pa.table({"patient_id": [f"p{n // 3}" for n in range(3000)], "age": [20 + n % 50 for n in range(3000)]})
    source = ArrowEngine().read(people, ReadOptions())
    guesses = guess_roles(list(source.table.columns.values()), 3000, 5)
    drawn = _sample(source, guesses, 5).table["patient_id"].codes
    assert len(drawn) == 798
    assert set(np.bincount(drawn)[np.unique(drawn)]) == {3}


def method_of(*trials):
    guesses = guess_roles([encode(name, pa.array([1950, 1960] * 30)) for name in ("birth year", "zip")], 60, 5)
    tried = [Trial(name, loss, starred=starred) for name, loss, starred in trials]
    return "\n".join(_method(guesses, tried, _choose_algorithm(guesses, tried)))


def test_an_algorithm_that_hides_ages_loses_against_one_of_similar_loss():
    mute, told = {"birth year": 0.96, "zip": 0.0}, {"birth year": 0.2, "zip": 0.9}
    drafted = method_of(("mondrian", 0.412, mute), ("local", 0.421, told))
    assert (
        'algorithm = "local"  # of a sample it shows 80 % of birth year (mondrian: 4 %), at a similar loss' in drafted
    )
    assert 'algorithm = "mondrian"' in method_of(("mondrian", 0.2, mute), ("local", 0.421, told))  # far more is lost
    assert 'algorithm = "mondrian"' in method_of(("mondrian", 0.412, mute), ("local", 0.421, mute))
    assert 'algorithm = "local"' in method_of(("mondrian", 0.3, told), ("local", 0.29, told))


def test_births_of_visits_stay_readable():
    """A rare band of years keeps Mondrian from cutting dates of birth, whatever their importance."""
    dice = np.random.default_rng(7)
    days = dice.triangular(0, 9000, 29000, 400).astype(int)
    born = pa.array([(date(1935, 1, 1) + timedelta(days=int(day))).strftime("%d.%m.%Y") for day in days])
    people = pa.table(
        {
            "Geburtsdatum": born,
            "Geschlecht": dice.choice(["m", "w"], 400),
            "PLZ": [
                f"{a}{b}" for a, b in np.stack([dice.choice([10, 12, 20, 80], 400), dice.integers(100, 999, 400)], 1)
            ],
            "Krankenkasse": dice.choice(["AOK", "TK", "Barmer", "DAK"], 400),
            "Diagnose": dice.choice(["Asthma", "Reflux", "Depression", "Diabetes"], 400),
        }
    )
    drafted = api.draft(people)
    trials = {trial.algorithm: trial for trial in drafted.trials}
    assert trials["mondrian"].starred["Geburtsdatum"] > 0.5
    chosen = trials[drafted.policy.method.algorithm]
    assert chosen.starred["Geburtsdatum"] < 0.5


def test_a_column_that_nearly_tells_a_sensitive_one_is_named():
    """The living have no day of death: one value of the quasi-identifier is one value of the sensitive column."""
    died = [n % 5 < 3 for n in range(500)]
    people = pa.table(
        {
            "age": [20 + n * 7 % 60 for n in range(500)],
            "death": [8000 + n * 37 % 3000 if dead else 11504 for n, dead in enumerate(died)],
            "status": ["D" if dead else "A" for dead in died],
        }
    )
    drafted = api.draft(people)
    (pair,) = drafted.giveaways
    assert (pair.known, pair.told, pair.share) == ("death", "status", 0.4)
    said = "# in 40 % of the rows the value of death nearly tells that of status, so a promise about status"
    assert said in drafted.text.partition("[attributes.death]")[2].partition("[attributes.status]")[0]
    assert "11504" not in drafted.text


def test_chance_tells_nothing():
    dice = np.random.default_rng(1)
    people = pa.table({"age": dice.integers(20, 80, 900), "disease": dice.choice(["flu", "gout"], 900, p=[0.97, 0.03])})
    assert api.draft(people).giveaways == ()


PEOPLE = {
    "age": [20 + n % 40 for n in range(80)],
    "zip": [f"{10000 + n % 8}" for n in range(80)],
    "sex": ["f", "m"] * 40,
    "disease": ["flu", "gout", "cold", "hiv"] * 20,
}


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"_MOST_TRIED": 6}, ""),
        (
            {"_MOST_TRIED": 5},
            (
                "no release of a sample was tried, since 3 quasi-identifiers and 2 promises take long; "
                "compare shows what algorithms make of the table"
            ),
        ),
        ({"MOST_QUASI_IDENTIFIERS": 3, "MOST_MODELS": 2}, ""),
        (
            {"MOST_QUASI_IDENTIFIERS": 2},
            (
                "the draft has 3 quasi-identifiers and 2 promises, and 2 and 1,000 are the most that can be used; give "
                "some columns another role, such as identifier, which leaves them out"
            ),
        ),
        (
            {"MOST_MODELS": 1},
            (
                "the draft has 3 quasi-identifiers and 2 promises, and 1,000 and 1 are the most that can be used; give "
                "some columns another role, such as identifier, which leaves them out"
            ),
        ),
    ],
    ids=str,
)
def test_with_many_columns_nothing_is_tried(monkeypatch, recwarn, limits, told):
    for name, value in limits.items():
        monkeypatch.setattr(f"shoal.explore.draft_policy.{name}", value)
    drafted = api.draft(pa.table(PEOPLE))
    assert {str(each.message) for each in recwarn} == ({told} if told else set())
    assert len(drafted.trials) == (0 if told else 3)
    assert Policy(**tomllib.loads(drafted.text)).quasi_identifiers == ["age", "zip", "sex"]


def test_the_first_columns_are_compared_with_one_another(monkeypatch):
    same = {f"disease{n}": encode(f"disease{n}", pa.array(["flu", "gout", "cold"] * 20)) for n in range(3)}
    assert len(find_related(list(same.values()))) == 3
    assert len(find_giveaways(list(same.values()), list(same.values()))) == 9
    monkeypatch.setattr("shoal.explore.column_guess.MOST_COMPARED", 2)
    (pair,) = find_related(list(same.values()))
    assert (pair.first, pair.second) == ("disease0", "disease1")
    assert len(find_giveaways(list(same.values()), list(same.values()))) == 4
