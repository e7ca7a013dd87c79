"""Measures of a finished release, one signature for all: what was before beside what is shown, and a number.

`seen` in the examples is a release of five people at k = 2:

    age  sex      age     sex
    1    f        *       *      suppressed
    2    f        [2, 4)  f
    3    f        [2, 4)  f
    2    m        [2, 4)  m
    3    m        [2, 4)  m
"""

from shoal.metrics.measures.contingency import contingency_change
from shoal.metrics.measures.covered import gcp, granularity, leaf_loss, leaf_loss_mean, loss, missing_cells, ncp
from shoal.metrics.measures.entropy import non_uniform_entropy, non_uniform_entropy_share
from shoal.metrics.measures.lifted import prec, prec_full_domain
from shoal.metrics.measures.numbers import correlation_change, sse, sse_share
from shoal.metrics.measures.sizes import average_class, c_avg, class_sizes, discernibility, discernibility_star
from shoal.metrics.measures.spread import ambiguity, ambiguity_log2, kl_divergence

__all__ = [
    "ambiguity",
    "ambiguity_log2",
    "average_class",
    "c_avg",
    "class_sizes",
    "contingency_change",
    "correlation_change",
    "discernibility",
    "discernibility_star",
    "gcp",
    "granularity",
    "kl_divergence",
    "leaf_loss",
    "leaf_loss_mean",
    "loss",
    "missing_cells",
    "ncp",
    "non_uniform_entropy",
    "non_uniform_entropy_share",
    "prec",
    "prec_full_domain",
    "sse",
    "sse_share",
]
