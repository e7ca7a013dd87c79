"""audit: every attack that fits a release, and a verdict for each way of betraying people."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.api.attacking import opened, published, rules_of, truth
from shoal.api.given import Path_, Source_, several
from shoal.api.readying import Known, ready
from shoal.api.release import Release
from shoal.attacks import (
    Attack,
    Background,
    Channel,
    Compose,
    DeFinetti,
    Downcode,
    Homogeneity,
    Join,
    Minimality,
    Prosecutor,
    Rules,
    Similarity,
    SinglingOut,
    Skewness,
    foreign_attacks,
)
from shoal.audit import Audit
from shoal.audit import audit as run_all
from shoal.errors import BadInput
from shoal.policy import Policy

_SPLITS = 2_000
"""Ways to split a class that are looked at: enough to find what is certain, in seconds."""
_WORLDS = 50


def audit(
    release: Source_ | Release,
    *,
    register: Source_ = None,
    others: Sequence[Source_ | Release] = (),
    original: Source_ = None,
    quasi_identifiers: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    policy: Policy | Path_ | Mapping[str, Any] | None = None,
    private: Path_ | None = None,
    control: Source_ = None,
    width: float | None = None,
    seed: int = 0,
    tell: Callable[[str, float], None] = lambda *_: None,
) -> Audit:
    """Run every attack that fits a release, and say of each way of betraying people whether it is protected or exposed.

    A `register` of people, `others` about the same people, the `original` and a `control` table of people who are not
    in it let more attacks run; what was not run is said, with the reason. The verdict follows from what was run.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["3*", "3*", "4*", "4*"], "ill": ["flu", "flu", "flu", "hiv"]})
    >>> [line.said for line in audit(table, quasi_identifiers="age", sensitive="ill").lines][:3]
    ['protected', 'exposed: 2 records', 'protected']
    """
    named = several(quasi_identifiers), several(sensitive)
    known = Known(release, policy, private)
    seen = published(release, *named, policy=rules_of(release, policy, private), private=private)
    right = None if original is None else truth(release, original, private)
    attacks: list[tuple[str, Attack | str]] = [("prosecutor", Prosecutor())]
    attacks.append(
        ("join", "name people whom an attacker knows with --register" if register is None else Join(register))
    )
    if seen.sensitive:
        attacks += [
            ("homogeneity", Homogeneity()),
            ("background", Background()),
            ("skewness", Skewness()),
            ("similarity", Similarity(width=width)),
            ("rules", Rules(control=control)),
            ("definetti", DeFinetti(seed=seed)),
            ("minimality", Minimality(register=register, worlds=_WORLDS, seed=seed)),
        ]
        other = Compose(tuple(others)) if others else "name other releases about the same people with --other"
        attacks.append(("compose", other))
    attacks += [
        ("downcode", Downcode(seed=seed, most=_SPLITS, control=control)),
        ("singling-out", SinglingOut(seed=seed, control=control)),
    ]
    attacks += foreign_attacks(sensitive=bool(seen.sensitive))
    absent = {Channel.COMPOSITION: "no other release about these people was given (--other)"}
    if not seen.sensitive:
        said = "no sensitive attribute was named (--sensitive)"
        absent |= {Channel.ATTRIBUTE: said, Channel.RULES: said, Channel.COMPOSITION: said}
    prepared = [(name, _prepared(how, known, named, policy, original)) for name, how in attacks]
    return run_all(seen, prepared, right, absent, tell)


def _prepared(
    how: Attack | str,
    known: Known,
    named: tuple[Sequence[str], Sequence[str]],
    policy: Policy | Path_ | Mapping[str, Any] | None,
    original: Source_,
) -> Attack | str:
    """An attack with everything read that it names; or why it cannot be run."""
    if isinstance(how, str):
        return how
    if isinstance(how, Minimality) and (known.rules is None or how.register is None):
        return "it runs the policy on worlds of the people whom an attacker knows; give --register and --policy"
    try:
        made = ready(how, known)
        return opened(made, named, policy, original) if isinstance(made, Compose) else made
    except BadInput as why:
        return str(why)
