"""Attacks of other packages: whatever they need, audits and reports go on without them and say so."""

from dataclasses import MISSING, dataclass
from typing import ClassVar

import pyarrow as pa
import pytest

import shoal as sh
from shoal.attacks import ATTACKS, Attack, Channel, Finding, option

PEOPLE = pa.table({"age": ["3*"] * 3 + ["4*"] * 3, "ill": ["flu", "hiv", "flu", "flu", "hiv", "cold"]})


@pytest.fixture
def needy():
    """An attack that cannot be run without an option of its own."""

    @dataclass(frozen=True)
    class Needy(Attack):
        """Find whom a rumour is about."""

        name: ClassVar[str] = "needy"
        channel: ClassVar[Channel] = Channel.RECORD
        rumour: str = option(MISSING, "What is said of them.")

        def on(self, published, truth=None):
            return Finding(self.name, self.channel, 0, published.rows, self.rumour)

    sh.register_attack(Needy)
    yield Needy
    ATTACKS.unregister("needy")


def test_an_audit_says_what_a_registered_attack_needs(needy):
    found = sh.audit(PEOPLE, quasi_identifiers="age", sensitive="ill")
    assert found.skipped["needy"] == "it needs rumour: run `shoal attack needy` (in Python shoal.attack with Needy(…))"
    assert sh.attack(PEOPLE, needy("tall"), quasi_identifiers="age").sentence == "tall"


@pytest.mark.usefixtures("needy")
def test_a_report_says_what_a_registered_attack_needs(tmp_path):
    attributes = {"age": {"role": "quasi-identifier", "hierarchy": {"flat": True}}, "ill": "sensitive"}
    policy = {"attributes": attributes, "require": [{"model": "k-anonymity", "k": 3}]}
    sh.anonymize(PEOPLE, policy).save(tmp_path / "out")
    assert "It needs rumour" in (tmp_path / "out" / "report.html").read_text("utf-8")


@pytest.mark.usefixtures("needy")
def test_the_command_of_a_registered_attack_asks_for_its_option(shoal, tmp_path):
    ran = shoal("attack", "needy", tmp_path)
    assert (ran.code, "--rumour" in ran.err) == (2, True)
