"""What an attacker can still learn from a release: each attack is run, never assumed."""

from shoal.attacks.finding import Attack, Channel, Finding
from shoal.attacks.join import Join
from shoal.attacks.published import Published, Shown, Truth
from shoal.attacks.rates import Rate, lift

__all__ = [
    "Attack",
    "Channel",
    "Finding",
    "Join",
    "Published",
    "Rate",
    "Shown",
    "Truth",
    "lift",
]
