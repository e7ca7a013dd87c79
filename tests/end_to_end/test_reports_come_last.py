"""The report can never sink the release: that is on disk before any page is made."""

import json

import pyarrow as pa
import pytest

import shoal as sh
from shoal import pipeline
from shoal.attacks import singling_out
from shoal.attacks.singling_out import SinglingOut
from shoal.errors import BadOutput

POLICY = {
    "attributes": {"age": "quasi-identifier", "ill": "sensitive"},
    "require": [{"model": "k-anonymity", "k": 2}],
    "method": {"algorithm": "mondrian"},
}


def people(rows=40):
    return pa.table({"age": list(range(rows)), "ill": ["flu", "hiv"] * (rows // 2)})


def test_memory_that_an_attack_lacks_is_said_on_the_page(tmp_path, monkeypatch):
    def ask_for_too_much(self, published, truth=None):
        raise MemoryError

    monkeypatch.setattr(SinglingOut, "on", ask_for_too_much)
    sh.anonymize(people(), POLICY).save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Not measured: it needs more memory than there is." in page
    assert all(verdict.holds or "needs" in verdict.status for verdict in sh.verify(tmp_path / "out"))


def test_too_many_labels_are_not_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(singling_out, "MOST_LABELS", 3)
    sh.anonymize(people(), POLICY).save(tmp_path / "out")
    assert "Not measured: there are more than 3 different labels" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("wrong", "why"), [(MemoryError(), "memory ran out"), (OSError(28, "No space left on device"), "No space left")]
)
def test_the_release_stands_though_no_page_could_be_made(tmp_path, monkeypatch, wrong, why):
    def fail(*_):
        raise wrong

    monkeypatch.setattr(pipeline, "inspect_public_release", fail)
    with pytest.raises(BadOutput, match=why) as refused:
        sh.anonymize(people(), POLICY).save(tmp_path / "out")
    assert "the release was verified and published" in str(refused.value)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["rows"]["released"] == 40
    assert all(verdict.holds for verdict in sh.verify(tmp_path / "out", original=people()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]
