"""The attacks there are: adding one is a file beside this one and a line here, or an entry point `shoal.attacks`."""

from shoal.attacks.background import Background
from shoal.attacks.compose import Compose
from shoal.attacks.definetti import DeFinetti
from shoal.attacks.downcode import Downcode
from shoal.attacks.finding import Attack
from shoal.attacks.homogeneity import Homogeneity
from shoal.attacks.join import Join
from shoal.attacks.minimality import Minimality
from shoal.attacks.prosecutor import Prosecutor
from shoal.attacks.rules import Rules
from shoal.attacks.similarity import Similarity
from shoal.attacks.singling_out import SinglingOut
from shoal.attacks.skewness import Skewness
from shoal.registry import Registry

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
