"""Privacy models: what a release promises. Adding one is a file in this folder and a line here, or an entry point
`shoal.models`.
"""

from collections.abc import Sequence
from typing import Any

from shoal.data.class_counts import ClassCounts
from shoal.models.a_d import ADDiversity
from shoal.models.alpha_beta_k import AlphaBetaK
from shoal.models.alpha_k import AlphaK
from shoal.models.bt_privacy import BTPrivacy
from shoal.models.closeness import TCloseness
from shoal.models.disclosure import DeltaDisclosure
from shoal.models.k_anonymity import KAnonymity, least_size
from shoal.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from shoal.models.leakage import AlpDif
from shoal.models.likeness import BetaLikeness
from shoal.models.model import DEFINED, QUASI, Closure, Flags, Model, Need, asked, exact
from shoal.models.p_alpha_sensitive import LAlphaDiversity, PAlphaSensitive, PPlusAlphaSensitive
from shoal.models.p_sensitive import PPlusSensitive, PSensitive
from shoal.models.personal_privacy import Personalised
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.proximity import EpsilonM
from shoal.models.recursive_cl import RecursiveCLDiversity
from shoal.models.reidentification import AverageRisk, PopulationUniqueness, SampleUniqueness
from shoal.models.xy_privacy import XYPrivacy
from shoal.registry import Registry

__all__ = [
    "MODELS",
    "QUASI",
    "AlphaK",
    "Closure",
    "DistinctLDiversity",
    "Flags",
    "KAnonymity",
    "Model",
    "Need",
    "asked",
    "exact",
    "known_model",
    "least_size",
    "measured",
]
MODELS: Registry[Any] = Registry(
    "shoal.models",
    [
        KAnonymity,
        DistinctLDiversity,
        EntropyLDiversity,
        RecursiveCLDiversity,
        AlphaK,
        PSensitive,
        PPlusSensitive,
        PAlphaSensitive,
        PPlusAlphaSensitive,
        LAlphaDiversity,
        ADDiversity,
        AlphaBetaK,
        AlpDif,
        AverageRisk,
        SampleUniqueness,
        PopulationUniqueness,
        TCloseness,
        BetaLikeness,
        DeltaDisclosure,
        EpsilonM,
        KMap,
        DeltaPresence,
        Personalised,
        XYPrivacy,
        BTPrivacy,
    ],
)


def known_model(name: str) -> Any:
    """Return the class of a model by its name: a registered one, or one of your own that was imported; else None."""
    return MODELS[name] if name in MODELS else DEFINED.get(name)


def measured(counts: ClassCounts, sensitive: Sequence[str]) -> list[dict[str, Any]]:
    """Return what each registered model attains and in which class; sensitive models once for each attribute.

    >>> import numpy as np
    >>> measured(ClassCounts(np.array([3, 2])), [])[0]
    {'model': 'k-anonymity', 'attained': {'k': 2}, 'worst': 1}
    """
    return [
        {
            "model": model.name,
            **({"attribute": name} if name is not None else {}),
            "attained": probe.attained(counts),
            "worst": probe.worst(counts),
        }
        for name in (None, *sensitive)
        for model in MODELS.values()
        for probe in model.probes(name)
    ]
