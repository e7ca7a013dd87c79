"""Privacy models: what a release promises."""

from shoal.models.alpha_k import AlphaK
from shoal.models.base import QUASI, Closure, Flags, Model, Need, asked, exact
from shoal.models.diversity import DistinctLDiversity
from shoal.models.k_anonymity import KAnonymity, least_size
from shoal.models.measured import measured
from shoal.models.registry import MODELS

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
    "least_size",
    "measured",
]
