"""What an attacker can still learn from a release: each attack is run, never assumed."""

from shoal.attacks.background import Background
from shoal.attacks.finding import Attack, Channel, Finding
from shoal.attacks.homogeneity import Homogeneity
from shoal.attacks.join import Join
from shoal.attacks.published import Published, Shown, Truth
from shoal.attacks.rates import Rate, lift
from shoal.attacks.rules import Rules
from shoal.attacks.similarity import Similarity
from shoal.attacks.skewness import Skewness

__all__ = [
    "Attack",
    "Background",
    "Channel",
    "Finding",
    "Homogeneity",
    "Join",
    "Published",
    "Rate",
    "Rules",
    "Shown",
    "Similarity",
    "Skewness",
    "Truth",
    "lift",
]
