"""What an attacker can still learn from a release: each attack is run, never assumed."""

from shoal.attacks.background import Background
from shoal.attacks.compose import Compose
from shoal.attacks.definetti import DeFinetti
from shoal.attacks.downcode import Downcode
from shoal.attacks.finding import Attack, Channel, Finding
from shoal.attacks.homogeneity import Homogeneity
from shoal.attacks.join import Join
from shoal.attacks.minimality import Minimality
from shoal.attacks.prosecutor import Prosecutor
from shoal.attacks.published import Published, Shown, Truth
from shoal.attacks.rates import Rate, lift
from shoal.attacks.registry import ATTACKS, foreign_attacks
from shoal.attacks.rules import Rules
from shoal.attacks.similarity import Similarity
from shoal.attacks.singling_out import SinglingOut
from shoal.attacks.skewness import Skewness

__all__ = [
    "ATTACKS",
    "Attack",
    "Background",
    "Channel",
    "Compose",
    "DeFinetti",
    "Downcode",
    "Finding",
    "Homogeneity",
    "Join",
    "Minimality",
    "Prosecutor",
    "Published",
    "Rate",
    "Rules",
    "Shown",
    "Similarity",
    "SinglingOut",
    "Skewness",
    "Truth",
    "foreign_attacks",
    "lift",
]
