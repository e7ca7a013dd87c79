"""What an attacker can still learn from a release: each attack is run, never assumed."""

from shoal.attacks.finding import Attack, Channel, Finding
from shoal.attacks.published import Published, Shown, Truth
from shoal.attacks.rates import Rate, lift
from shoal.attacks.rules import Rules

__all__ = [
    "Attack",
    "Channel",
    "Finding",
    "Published",
    "Rate",
    "Rules",
    "Shown",
    "Truth",
    "lift",
]
