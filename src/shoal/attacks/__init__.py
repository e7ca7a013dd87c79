"""What an attacker can still learn from a release: each attack is run, never assumed. Adding one is a file in this
folder and a line here, or an entry point `shoal.attacks`.
"""

from shoal.attacks.attack import Attack, Channel, Finding, Rate, lift
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
    "Background",
    "Channel",
    "Compose",
    "DeFinetti",
    "Downcode",
    "Finding",
    "Homogeneity",
    "Join",
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
    "foreign_attacks",
    "lift",
]
OWN: tuple[type[Attack], ...] = (
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
)
"""Those of the package itself."""
ATTACKS: Registry[type[Attack]] = Registry("shoal.attacks", OWN)


def foreign_attacks(*, sensitive: bool) -> list[tuple[str, Attack]]:
    """Attacks that other packages registered, with their defaults; without sensitive columns, those that need none."""
    own = {kind.name for kind in OWN}
    chosen = (kind for name, kind in ATTACKS.items() if name not in own)
    return [(kind.name, kind()) for kind in chosen if sensitive or not kind.of_sensitive]
