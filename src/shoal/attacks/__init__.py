"""What an attacker can still learn from a release: each attack is run, never assumed."""

from shoal.attacks.compose import Compose
from shoal.attacks.definetti import DeFinetti
from shoal.attacks.downcode import Downcode
from shoal.attacks.finding import Attack, Channel, Finding
from shoal.attacks.minimality import Minimality
from shoal.attacks.published import Published, Shown, Truth
from shoal.attacks.rates import Rate, lift
from shoal.attacks.singling_out import SinglingOut

__all__ = [
    "Attack",
    "Channel",
    "Compose",
    "DeFinetti",
    "Downcode",
    "Finding",
    "Minimality",
    "Published",
    "Rate",
    "Shown",
    "SinglingOut",
    "Truth",
    "lift",
]
