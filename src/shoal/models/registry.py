"""The models there are: adding one is a file beside this one, a line here, and nothing else."""

from typing import Any

from shoal.models.alpha_k import AlphaK
from shoal.models.diversity import DistinctLDiversity
from shoal.models.k_anonymity import KAnonymity

MODELS: dict[str, Any] = {model.name: model for model in (KAnonymity, DistinctLDiversity, AlphaK)}
