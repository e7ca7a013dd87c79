"""45 CFR 164.514(b)(2)."""

import pyarrow as pa
import pytest

from shoal.data.codes import encode
from shoal.errors import BadHierarchy
from shoal.hierarchy.build import build
from shoal.hierarchy.hipaa import RESTRICTED_ZIP3, Hipaa


def test_seventeen_areas_are_too_small():
    assert len(RESTRICTED_ZIP3) == 17
    zips = encode("zip", pa.array([f"{area}01" for area in RESTRICTED_ZIP3]))
    assert build(zips, Hipaa("zip3")).labels[1] == ("000**",)


def test_zip3_and_zip_plus_4():
    zips = encode("zip", pa.array(["02138", "02139-1234", "021391234", None]))
    assert build(zips, Hipaa("zip3")).labels[1:] == (("021**", None), ("*",))


@pytest.mark.parametrize("text", ["2138", "0213", "02138-12", "021384", "O2138", "٠٢١٣٨", "02138\n"])
def test_what_is_no_zip_code_is_refused_with_its_row(text):  # bad inputs 21, 22
    with pytest.raises(BadHierarchy, match=r"column 'zip': row 2 is not a ZIP code") as refusal:
        Hipaa("zip3").taxonomy(encode("zip", pa.array(["02139", text])))
    assert text not in str(refusal.value)


def test_ages_of_90_and_over():
    ages = encode("age", pa.array([89, 90, 101]))
    assert build(ages, Hipaa("age")).labels[1:] == (("89", "≥90"), ("*",))


def test_other_forms_are_refused():
    with pytest.raises(BadHierarchy, match="hipaa = 'dates' is no form"):
        Hipaa("dates")
