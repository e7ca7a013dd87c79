"""`anonymize` never ends because its own release does not verify, and what it published always verifies.

Each case once ended in exit 4 after the work, or was published and then refused by `verify --original`.
"""

import json
import random
import warnings
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import shoal as sh
from shoal.errors import BadPolicy, Infeasible

QUASI = "quasi-identifier"
K = {"model": "k-anonymity", "k": 3}
TREE = {"tree": {"any": {"ab": ["a", "b"], "other": ["c"]}}}
CATEGORIES = [["hiv", "gout"], ["flu", "cold"]]
AGES = {"role": QUASI, "hierarchy": {"intervals": [5, 10]}}
JOBS = {"role": QUASI, "hierarchy": TREE}


def people(rows=40):
    draw = random.Random(3)
    start = datetime.fromisoformat("2020-01-01 08:00")
    columns = {
        "name": lambda: f"n{draw.randint(0, 10**6)}",
        "age": lambda: draw.randint(20, 60),
        "job": lambda: draw.choice("abc"),
        "ill": lambda: draw.choice(["flu", "hiv", "gout", "cold"]),
        "town": lambda: draw.choice(["Ulm", "Bonn"]),
        "large": lambda: 2**53 + draw.randint(0, 9),
        "longer": lambda: str(10**20 + draw.randint(0, 9)),
        "seen": lambda: start + timedelta(minutes=draw.randint(0, 30)),
        "day": lambda: f"2020-01-{draw.randint(1, 9):02}",
    }
    return pa.table({name: [made() for _ in range(rows)] for name, made in columns.items()})


PEOPLE = people()


def policy(attributes, require=(K,), method=None, **more):
    return {
        "attributes": attributes,
        "require": list(require),
        "method": method or {},
        "data": {"others": "drop"},
        **more,
    }


def publish(tmp_path, asked, **how):
    with warnings.catch_warnings(action="ignore"):
        sh.anonymize(PEOPLE, asked).save(tmp_path / "out")
        return [verdict for verdict in sh.verify(tmp_path / "out", original=PEOPLE, **how) if not verdict.holds]


@pytest.mark.parametrize("suppress", ["attribute", "cell", "tuple"])
def test_a_hierarchy_where_nothing_is_generalised(tmp_path, suppress):
    towns = {"role": QUASI, "hierarchy": {"tree": {"any": {"south": ["Ulm"], "west": ["Bonn"]}}}}
    require, method = [{"model": "k-anonymity", "k": 8}], {"generalise": "none", "suppress": suppress}
    assert publish(tmp_path, policy({"town": towns, "job": JOBS, "ill": "sensitive"}, require, method)) == []
    assert suppress == "tuple" or "*" in (tmp_path / "out" / "data.csv").read_text()


@pytest.mark.parametrize(
    "model",
    [
        {"model": "alpha-k", "alpha": {"hiv": 0.9}, "k": 2},
        {"model": "alp-dif", "alp": {"hiv": 0.9}},
        {"model": "p-plus-sensitive", "p": 1, "categories": CATEGORIES},
        {"model": "t-closeness", "t": 0.9},
    ],
    ids=lambda model: model["model"],
)
def test_models_that_name_values_with_anatomy(tmp_path, model):
    require = [{"model": "distinct-l-diversity", "l": 2}, model]
    asked = policy({"age": QUASI, "job": QUASI, "ill": "sensitive"}, require, {"algorithm": "anatomy"})
    assert publish(tmp_path, asked) == []


def test_b_t_privacy_with_anatomy_is_refused():
    require = [{"model": "distinct-l-diversity", "l": 2}, {"model": "b-t-privacy", "b": 0.9, "t": 1}]
    with pytest.raises(BadPolicy, match="b-t-privacy is about classes whose rows look alike"):
        sh.Policy(**policy({"age": QUASI, "ill": "sensitive"}, require, {"algorithm": "anatomy"}))


@pytest.mark.covering(2)
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-relaxed", "mondrian-single"])
@pytest.mark.parametrize("ranges", ["cut", "observed"])
@pytest.mark.parametrize("form", [["mean"], ["mode"], ["bounds"], ["bounds", "mean"], ["range", "median"]], ids=str)
@pytest.mark.parametrize("name", ["age", "large", "longer"])
def test_statistics_and_bounds_of_numbers_of_any_length(tmp_path, algorithm, ranges, form, name):
    asked = policy(
        {name: {"role": QUASI, "form": form}, "ill": "sensitive"},
        method={"algorithm": algorithm},
        release={"ranges": ranges, "means": "any"},
    )
    assert publish(tmp_path, asked) == []


@pytest.mark.covering(1)
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-relaxed", "mondrian-single"])
@pytest.mark.parametrize("ranges", ["cut", "observed"])
@pytest.mark.parametrize("form", ["range", "mode", "median"])
def test_times_within_one_day_and_orders_of_numbers_and_dates(tmp_path, algorithm, ranges, form):
    draw = random.Random(1)
    attributes = {"seen": {"role": QUASI, "form": [form]}, "ill": "sensitive"}
    for name in ("age", "day"):
        order = sorted({str(cell) for cell in PEOPLE[name].to_pylist()})
        draw.shuffle(order)
        attributes[name] = {"role": QUASI, "form": [form], "order": order}
    asked = policy(attributes, method={"algorithm": algorithm}, release={"ranges": ranges, "means": "any"})
    assert publish(tmp_path, asked) == []


REFERENCED = [
    {"model": "t-closeness", "t": 0.4},
    {"model": "beta-likeness", "beta": 2},
    {"model": "delta-disclosure", "delta": 2},
]


@pytest.mark.covering(2)
@pytest.mark.parametrize("model", REFERENCED, ids=lambda model: model["model"])
@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "greedy"])
@pytest.mark.parametrize("suppression", [0.1, 0.5, 1.0])
def test_suppressed_rows_that_are_shown_count_in_the_release(tmp_path, model, algorithm, suppression):
    asked = policy(
        {"age": AGES, "job": JOBS, "ill": "sensitive"},
        [K, {**model, "reference": "release"}],
        {"algorithm": algorithm, "suppression": suppression},
        release={"suppressed": "show"},
    )
    try:
        assert publish(tmp_path, asked) == []
    except Infeasible:
        assert not (tmp_path / "out").exists()


BLOCKED = {"age": AGES, "job": JOBS, "ill": "sensitive", "town": "sensitive"}


@pytest.mark.parametrize("by", ["absent", "unknown"])
@pytest.mark.parametrize(
    ("model", "why"),
    [
        ({"model": "distinct-l-diversity", "l": 2, "attribute": "town"}, "is about 'town'"),
        ({"model": "x-y-privacy", "y": ["town"], "k": 1}, "is about 'town'"),
        ({"model": "k-map", "k": 2, "population": "people.csv"}, "compares with a population"),
        ({"model": "delta-presence", "min": 0, "max": 1, "population": "people.csv"}, "compares with a population"),
    ],
    ids=lambda given: given["model"] if isinstance(given, dict) else "",
)
def test_added_rows_and_promises_about_something_else_are_refused(by, model, why):
    blocking = {"by": by, "confidence": 0.8, "attribute": "ill"}
    with pytest.raises(BadPolicy, match=why):
        sh.Policy(**policy(BLOCKED, [K, model], {"suppression": 0.5}, blocking=blocking))


@pytest.mark.some(2)
@pytest.mark.parametrize("by", ["suppress", "generalise"])
@pytest.mark.parametrize(
    "model",
    [
        {"model": "distinct-l-diversity", "l": 2, "attribute": "town"},
        {"model": "t-closeness", "t": 0.3, "attribute": "town", "reference": "release"},
        {"model": "alp-dif", "alp": {"Ulm": 0.7}, "attribute": "town"},
        {"model": "k-map", "k": 2, "population": "people.csv"},
    ],
    ids=lambda model: model["model"],
)
def test_rows_left_out_for_rules_keep_every_promise(tmp_path, monkeypatch, by, model):
    monkeypatch.chdir(tmp_path)
    pc.write_csv(pa.concat_tables([PEOPLE.select(["age", "job"])] * 3), "people.csv")
    blocking = {"by": by, "confidence": 0.5, "at": 0.6, "attribute": "ill"}
    asked = policy(BLOCKED, [K, model], {"suppression": 0.5}, blocking=blocking)
    how = {"population": "people.csv"} if "population" in model else {}
    try:
        assert publish(tmp_path, asked, **how) == []
    except Infeasible:
        assert not (tmp_path / "out").exists()


START = datetime.fromisoformat("2020-01-01 00:00")


def hours(*given, unit="us", zone=None):
    return pa.array([START + timedelta(hours=each) for each in given], pa.timestamp(unit, zone))


TIMES = {
    "days": hours(0, 24, 0, 24),
    "half seconds": pa.array([START, START + timedelta(milliseconds=500)] * 2, pa.timestamp("us")),
    "seconds in UTC": hours(0, 1, 2, 30, unit="s", zone="UTC"),
    "nanoseconds in UTC": hours(0, 1, 2, 30, unit="ns", zone="UTC"),
    "times of day": pa.array([1000, 1500] * 2, pa.int32()).cast(pa.time32("ms")),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("algorithm", ["anatomy", "optimal"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_times_are_verified_however_they_are_stored(tmp_path, times, algorithm, kind):
    table = pa.table({"age": [30, 30, 40, 40], "seen": TIMES[times]})
    asked = {
        "attributes": {"age": QUASI, "seen": {"role": "sensitive", "confirm": True}},
        "require": [{"model": "distinct-l-diversity", "l": 2}],
        "method": {"algorithm": algorithm},
    }
    sh.anonymize(table, asked).save(tmp_path / "out", format=kind)
    assert [each for each in sh.verify(tmp_path / "out", original=table) if not each.holds] == []


@pytest.mark.some(2)
@pytest.mark.parametrize("algorithm", ["local", "mondrian", "mondrian-single", "optimal"])
@pytest.mark.parametrize("hierarchy", [None, {"dates": ["day", "month"]}], ids=["drafted", "days"])
def test_a_label_that_is_a_day_beside_a_midnight(tmp_path, algorithm, hierarchy):
    table = pa.table({"seen": hours(0, 5, 7, 33, 34, 35), "ill": ["flu", "hiv"] * 3})
    seen = {"role": QUASI} if hierarchy is None else {"role": QUASI, "hierarchy": hierarchy}
    asked = {"attributes": {"seen": seen, "ill": "sensitive"}, "require": [K], "method": {"algorithm": algorithm}}
    sh.anonymize(table, asked).save(tmp_path / "out")
    assert [each for each in sh.verify(tmp_path / "out", original=table) if not each.holds] == []


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "model",
    [
        {"model": "alpha-k", "alpha": {"2020-01-01": 0.5}, "k": 2},
        {"model": "alp-dif", "alp": {"2020-01-01": 0.5}},
        {"model": "p-plus-sensitive", "p": 2, "categories": [["2020-01-01"], ["2020-01-02"]]},
    ],
    ids=lambda model: model["model"],
)
def test_days_that_a_promise_names_are_known_in_a_typed_file(tmp_path, model, kind):
    table = pa.table({"age": [30] * 4 + [40] * 4, "seen": hours(*[0, 24] * 4)})
    asked = {"attributes": {"age": QUASI, "seen": {"role": "sensitive", "confirm": True}}, "require": [K, model]}
    sh.anonymize(table, asked).save(tmp_path / "out", format=kind)
    verdicts = {each.promise: each for each in sh.verify(tmp_path / "out", original=table)}
    assert all(each.holds for each in verdicts.values())
    told = json.dumps(dict(verdicts[model["model"]].attained))
    assert model["model"] == "p-plus-sensitive" or '2020-01-01"' in told


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-single", "microaggregation"])
def test_an_order_of_numbers_with_a_decimal_comma(tmp_path, algorithm):
    table = pa.table({"v": ["1,5", "2,5", "10"] * 4, "ill": ["flu", "hiv"] * 6})
    asked = {
        "attributes": {"v": {"role": QUASI, "order": ["10", "1,5", "2,5"]}, "ill": "sensitive"},
        "require": [K],
        "method": {"algorithm": algorithm},
        "release": {"means": "any"},
        "data": {"decimal": ","},
    }
    sh.anonymize(table, asked).save(tmp_path / "out", format="csv")
    assert [each for each in sh.verify(tmp_path / "out", original=table) if not each.holds] == []


@pytest.mark.covering(1)
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-relaxed", "mondrian-single"])
@pytest.mark.parametrize("ranges", ["cut", "observed"])
@pytest.mark.parametrize("form", ["range", "mode", "median"])
def test_points_where_the_decimal_mark_is_a_comma(tmp_path, algorithm, ranges, form):
    """Then 9.5 and 10.5 are texts, for who makes the release and for who verifies it."""
    table = pa.table({"v": ["9.5", "9.50", "10.5", "10", "1.5", "1.50"] * 2, "ill": ["flu", "hiv"] * 6})
    asked = {
        "attributes": {"v": {"role": QUASI, "form": [form]}, "ill": "sensitive"},
        "require": [K],
        "method": {"algorithm": algorithm},
        "release": {"means": "any", "ranges": ranges},
        "data": {"decimal": ","},
    }
    sh.anonymize(table, asked).save(tmp_path / "out", format="csv")
    assert [each for each in sh.verify(tmp_path / "out", original=table) if not each.holds] == []
