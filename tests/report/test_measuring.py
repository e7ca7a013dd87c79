"""What `measure` tells of a table as it is."""

import pyarrow as pa

import shoal as sh


def test_attributes_that_hide_alone_point_at_people_together():
    """S2.2b: k = 2 for the sex and for the PIN code alone, k = 1 for the pair."""
    table = pa.table({"sex": ["Male", "Female", "Male", "Female"], "pin": ["110010", "110011", "110011", "110010"]})
    found = sh.measure(table, quasi_identifiers=["sex", "pin"])
    assert found["alone"] == {"sex": 2, "pin": 2}
    assert found["models"][0]["attained"] == {"k": 1}


def test_the_difference_is_shown(desk):
    data = desk.table("sex,pin\nm,110010\nf,110011\nm,110011\nf,110010\n")
    shown = desk.run("measure", data, "--qi", "sex,pin").out
    assert "of sex alone" in shown
    assert "of pin alone" in shown
    assert "alone" not in desk.run("measure", data, "--qi", "sex").out
