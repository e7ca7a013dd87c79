"""Statistics that models and risk share: how many people are unique in the population behind a table.

A table is read as its histogram alone: how many classes there are of each size. An estimator that has no valid
solution says None, never 0.
"""

from shoal.estimators.sample import Sample
from shoal.estimators.uniques import ESTIMATORS, Estimate, population_uniques

__all__ = ["ESTIMATORS", "Estimate", "Sample", "population_uniques"]
