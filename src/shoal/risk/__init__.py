"""How easily people are found in a table: attackers, uniqueness, individual risk, SUDA2, discovery, identifiers."""

from shoal.risk.assessment import Assessment, Reidentification
from shoal.risk.attackers import (
    Attacker,
    estimated_journalist,
    journalist,
    known_threshold,
    marketer,
    prosecutor,
    weighted_journalist,
)
from shoal.risk.discovery import Combination, Discovery, discover
from shoal.risk.grouping import Told, coded
from shoal.risk.identifiers import Finding, direct_finding, identifiers
from shoal.risk.individual import Individual, individual_risks, read_weights
from shoal.risk.presets import PRESETS, Judged, Preset, Seen, judged, known_preset
from shoal.risk.suda import Suda, suda
from shoal.risk.uniqueness import Uniqueness, counted_uniqueness, uniqueness

__all__ = [
    "PRESETS",
    "Assessment",
    "Attacker",
    "Combination",
    "Discovery",
    "Finding",
    "Individual",
    "Judged",
    "Preset",
    "Reidentification",
    "Seen",
    "Suda",
    "Told",
    "Uniqueness",
    "coded",
    "counted_uniqueness",
    "direct_finding",
    "discover",
    "estimated_journalist",
    "identifiers",
    "individual_risks",
    "journalist",
    "judged",
    "known_preset",
    "known_threshold",
    "marketer",
    "prosecutor",
    "read_weights",
    "suda",
    "uniqueness",
    "weighted_journalist",
]
