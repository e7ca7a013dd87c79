"""The private report: what was lost, who was left out and why, and what somebody signs."""

import json
import re

import pyarrow as pa
import pytest
from every_release import save_release

import shoal as sh
from shoal.report.pages.columns_section import _edges


def text_of(page):
    return " ".join(re.sub(r"<[^>]*>", " ", page.split("</style>")[1]).split())


def test_rows_that_stood_out_are_told_by_the_promise_that_failed(tmp_path):
    _, private = save_release(tmp_path, "node")
    suppressed = json.loads((private / "manifest.json").read_text())["rows"]["suppressed"]
    text = text_of((private / "report.html").read_text("utf-8"))
    assert suppressed > 0
    assert re.search(rf"Left out because of Classes Rows k-anonymity [0-9]+ {suppressed} ", text)


def test_rows_left_out_for_a_rule_are_told_apart(tmp_path):
    _, private = save_release(tmp_path, "rows left out for rules")
    text = text_of((private / "report.html").read_text("utf-8"))
    counts = re.findall(
        r"(?:k-anonymity|inference channel) [0-9,]+ ([0-9,]+)", text.partition("Left out because of")[2]
    )
    assert sum(map(int, counts)) == json.loads((private / "manifest.json").read_text())["rows"]["suppressed"]
    assert "Rules that told too much" in text


def test_before_and_after_are_told_on_the_values_of_the_original(tmp_path):
    """Four rows of two values under one label: each value gets half of what is shown."""
    sex = {"role": "quasi-identifier", "hierarchy": {"flat": True}, "min-level": 1}
    table = pa.table({"sex": ["f", "f", "f", "m"], "ill": ["a", "b", "a", "b"]})
    policy = {"attributes": {"sex": sex, "ill": "sensitive"}, "require": [{"model": "k-anonymity", "k": 4}]}
    sh.anonymize(table, policy).save(tmp_path / "out")
    text = text_of((tmp_path / "out.private" / "report.html").read_text("utf-8"))
    assert "sex 2 values; 25.0 % of the rows moved" in text
    assert "f 75.0 % 50.0 % m 25.0 % 50.0 %" in text
    assert "ill 2 values; 0 % of the rows moved" in text


@pytest.mark.parametrize(
    ("numbers", "first"), [([1, 2, 3], [0.5, 1.5]), ([0, 47], [-0.5, 1.5]), ([0.5, 2.9], [0.5, 0.6])]
)
def test_every_bin_holds_equally_many_whole_numbers(numbers, first):
    import numpy as np

    edges = _edges(np.array(numbers, dtype=float))
    assert edges[:2].tolist() == pytest.approx(first)
    assert edges[-1] >= max(numbers)


def test_the_sign_off_names_the_threshold_the_adversary_and_the_population(tmp_path):
    out, private = save_release(tmp_path, "several promises")
    text = text_of((private / "report.html").read_text("utf-8")).partition("Sign-off ISO/IEC 27559")[2]
    for said in (
        "k-anonymity (k = 4): attained k =",
        "t-closeness of ill (t = 0.5",
        "none: everybody in the table",
        "Signature",
    ):
        assert said in text
    assert "knows every identifying value of a person who is in the table" in text
    assert json.loads((out / "manifest.json").read_text())["data"]["sha256"] in text


def test_a_population_is_named_to_the_owner_only(tmp_path):
    register = tmp_path / "register.csv"
    register.write_text("age\n" + "\n".join(str(age) for age in range(20, 80) for _ in range(3)) + "\n")
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}}
    policy = {"attributes": {"age": age}, "require": [{"model": "k-map", "k": 5, "population": str(register)}]}
    sh.anonymize(pa.table({"age": [31, 32, 44, 45]}), policy).save(tmp_path / "out")
    public, private = ((tmp_path / name / "report.html").read_text("utf-8") for name in ("out", "out.private"))
    assert "register.csv" in private.partition('id="sign-off"')[2]
    assert "register.csv" not in public
    assert "the population" in public
