"""Experimental models are asked for by name and by flag."""

import pytest

from shoal.models.a_d import ADDiversity
from shoal.models.alpha_beta_k import AlphaBetaK

CATEGORIES = [["hiv"], ["flu"]]


@pytest.mark.parametrize(
    "made",
    [lambda **flag: ADDiversity(1, 1, CATEGORIES, **flag), lambda **flag: AlphaBetaK(1, 1, 1, CATEGORIES, **flag)],
)
def test_experimental_models_must_be_opted_into(made):
    """models.md 4: as OpenDP's contrib."""
    assert made(experimental=True).experimental
    for flag in ({}, {"experimental": False}):
        with pytest.raises(ValueError, match=r"is experimental: .* set experimental = true to use it"):
            made(**flag)
    with pytest.raises(ValueError, match="experimental must be true or false"):
        made(experimental="yes")
