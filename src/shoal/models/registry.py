"""The models there are: adding one is a file beside this one and a line here, or an entry point `shoal.models`."""

from typing import Any

from shoal.models.a_d import ADDiversity
from shoal.models.alpha_beta_k import AlphaBetaK
from shoal.models.alpha_k import AlphaK
from shoal.models.closeness import TCloseness
from shoal.models.disclosure import DeltaDisclosure
from shoal.models.diversity import DistinctLDiversity, EntropyLDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.models.leakage import AlpDif
from shoal.models.likeness import BetaLikeness
from shoal.models.linkability import XYPrivacy
from shoal.models.personalised import Personalised
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.proximity import EpsilonM
from shoal.models.recursive_cl import RecursiveCLDiversity
from shoal.models.risk import AverageRisk, PopulationUniqueness, SampleUniqueness
from shoal.models.sensitive import PPlusSensitive, PSensitive
from shoal.models.skyline import BTPrivacy
from shoal.models.weighted import LAlphaDiversity, PAlphaSensitive, PPlusAlphaSensitive
from shoal.registry import Registry

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
