"""Privacy models: what a release promises. Adding one is a file here, a line in `MODELS`, and nothing else."""

from typing import Any

from shoal.models.alpha_k import AlphaK
from shoal.models.base import Closure, Flags, Model, asked, exact
from shoal.models.diversity import DistinctLDiversity
from shoal.models.k_anonymity import KAnonymity

MODELS: dict[str, Any] = {model.name: model for model in (KAnonymity, DistinctLDiversity, AlphaK)}

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
]
