"""Privacy models: what a release promises."""

from shoal.models.alpha_k import AlphaK
from shoal.models.base import Closure, Flags, Model, asked, exact
from shoal.models.diversity import DistinctLDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.models.measured import measured
from shoal.models.registry import MODELS

__all__ = [
    "MODELS",
    "AlphaK",
    "Closure",
    "DistinctLDiversity",
    "Flags",
    "KAnonymity",
    "Model",
    "asked",
    "exact",
    "measured",
]
