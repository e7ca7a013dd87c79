"""Models of somebody's own, given to a policy as objects and never registered: all the way to a report."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest

import shoal as sh
from shoal.models import MODELS, Model


@dataclass(frozen=True, slots=True)
class EvenClasses(Model):
    """Every class has an even number of rows."""

    name: ClassVar[str] = "even-classes"
    adversary: ClassVar[str] = "counts who looks alike, and hopes for an odd number"
    least: int = 2
    chooser: Any = None

    def complies(self, counts):
        return (counts.sizes % 2 == 0) & (counts.sizes >= self.least)

    def attained(self, counts):
        return {"least": int(counts.sizes.min(initial=0))}


FRAME = pd.DataFrame({"age": [21, 22, 31, 32, 41, 42], "illness": ["flu", "hiv"] * 3})


def policy(*require):
    age = {"role": "quasi-identifier", "hierarchy": [10]}
    return sh.Policy(attributes={"age": age, "illness": "sensitive"}, require=list(require))


def test_from_a_table_to_a_verified_folder_with_a_report(tmp_path):
    assert "even-classes" not in MODELS
    release = sh.anonymize(FRAME, policy(EvenClasses(least=2), {"model": "k-anonymity", "k": 2}))
    assert sorted(set(release.data["age"])) == ["[20, 30)", "[30, 40)", "[40, 50)"]
    assert [(each.model, each.holds) for each in release.summary.models] == [
        ("even-classes", True),
        ("k-anonymity", True),
    ]
    manifest = release.save(tmp_path / "out")
    assert any("even-classes is a model of your own" in note for note in manifest.warnings)
    verdicts = sh.verify(tmp_path / "out", FRAME)
    assert all(verdict.holds for verdict in verdicts)
    assert "even-classes" in [verdict.promise for verdict in verdicts]
    for report in (tmp_path / "out" / "report.html", tmp_path / "out.private" / "report.html"):
        assert "even number of rows" in report.read_text("utf-8")
    assert sh.Policy.load(tmp_path / "out.private" / "policy.toml").require[0] == EvenClasses(least=2)
    assert "even-classes" not in [each.model for each in sh.measure(FRAME, "age").models]


def test_another_process_must_import_the_class_first(tmp_path):
    sh.anonymize(FRAME, policy(EvenClasses())).save(tmp_path / "out")
    command = [Path(sys.executable).with_name("shoal"), "verify", tmp_path / "out"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "import the class of a model of your own first" in " ".join(said.stderr.split())


def test_a_model_with_a_value_that_cannot_be_saved_is_refused(tmp_path):
    release = sh.anonymize(FRAME, policy(EvenClasses(chooser=len)))
    assert len(release.data) == 6
    with pytest.raises(sh.BadPolicy, match="even-classes: chooser cannot be written down"):
        release.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(sh.BadPolicy, match="chooser cannot be written down"):
        release.policy.save(tmp_path / "policy.toml")


def test_a_model_that_is_no_dataclass_is_refused():
    class Plain(Model):
        name = "plain"

        def complies(self, counts):
            return counts.sizes > 0

        def attained(self, counts):
            return {}

    with pytest.raises(sh.BadPolicy, match="Plain: a model is a frozen dataclass with a name"):
        policy(Plain())
