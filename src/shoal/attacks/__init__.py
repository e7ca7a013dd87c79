"""What an attacker can still learn from a release: each attack is run, never assumed. Adding one is a file in this
folder and a line here, or an entry point `shoal.attacks`.
"""

from shoal.attacks.attack import Attack, AuditInputs, Channel, Finding, Knowledge, Rate, lift, option
from shoal.attacks.background import Background
from shoal.attacks.composition import Compose
from shoal.attacks.definetti import DeFinetti
from shoal.attacks.downcode import Downcode
from shoal.attacks.homogeneity import Homogeneity
from shoal.attacks.join import Join
from shoal.attacks.minimality import Minimality
from shoal.attacks.prosecutor import Prosecutor
from shoal.attacks.release_under_attack import LabelColumn, Published, Truth
from shoal.attacks.rule_inference import Rules
from shoal.attacks.similarity import Similarity
from shoal.attacks.singling_out import SinglingOut
from shoal.attacks.skewness import Skewness
from shoal.registry import Registry

__all__ = [
    "ATTACKS",
    "Attack",
    "AuditInputs",
    "Background",
    "Channel",
    "Compose",
    "DeFinetti",
    "Downcode",
    "Finding",
    "Homogeneity",
    "Join",
    "Knowledge",
    "LabelColumn",
    "Minimality",
    "Prosecutor",
    "Published",
    "Rate",
    "Rules",
    "Similarity",
    "SinglingOut",
    "Skewness",
    "Truth",
    "lift",
    "option",
]
ATTACKS: Registry[type[Attack]] = Registry(
    "shoal.attacks",
    [
        Prosecutor,
        Join,
        Homogeneity,
        Background,
        Skewness,
        Similarity,
        Rules,
        DeFinetti,
        Minimality,
        Compose,
        Downcode,
        SinglingOut,
    ],
)
