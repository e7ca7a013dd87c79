"""alpha-max and alpha-spread as what a search minimises."""

import pyarrow as pa
import pytest

import shoal as sh
from shoal.errors import BadPolicy
from shoal.metrics.catalogue import METRICS
from shoal.policy.method import Method

AGES = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}
TABLE = pa.table(
    {
        "age": [11, 12, 21, 22, 31, 32, 41, 42],
        "ill": ["a", "a", "b", "a", "b", "b", "a", "b"],
        "job": ["x", "y", "x", "y", "x", "y", "x", "y"],
    }
)

SENSITIVE_METRICS = [name for name, metric in METRICS.items() if metric.of_sensitive]


def policy(metric, require=({"model": "k-anonymity", "k": 2},), **roles):
    attributes = {"age": AGES, "ill": "sensitive", "job": "insensitive"} | roles
    return sh.Policy(attributes=attributes, require=list(require), method={"metric": metric})


def test_every_metric_may_be_asked_for():
    assert all(Method(metric=metric).metric == metric for metric in METRICS)
    assert {"alpha-max", "alpha-spread"} == set(SENSITIVE_METRICS)


def test_alpha_max_is_minimised():
    """S0.6: of the tens (a, a), (b, a), (b, b), (a, b) and of the twenties one is homogeneous; the whole is even."""
    manifest = sh.anonymize(TABLE, policy("alpha-max")).summary
    assert manifest.recoding.levels == {"age": 3}
    assert manifest.method.score == manifest.metrics["alpha-max"] == 0.5
    assert manifest.metrics["alpha-spread"] == 0.0


def test_alpha_spread_is_minimised():
    manifest = sh.anonymize(TABLE, policy("alpha-spread")).summary
    assert manifest.metrics["alpha-spread"] == manifest.method.score == 0
    assert manifest.recoding.levels == {"age": 1}  # every α is 1: no spread, the lower node


def test_the_sensitive_attribute_is_counted_though_no_model_asks():
    assert "alpha-max" in sh.anonymize(TABLE, policy("alpha-max")).summary.metrics
    assert "alpha-max" not in sh.anonymize(TABLE, policy("loss")).summary.metrics
    diverse = policy("loss", [{"model": "distinct-l-diversity", "l": 2}])
    assert sh.anonymize(TABLE, diverse).summary.metrics["alpha-max"] == 0.5


def test_of_several_sensitive_attributes_the_largest():
    both = policy("alpha-max", job="sensitive", ill={"role": "sensitive"})
    assert sh.anonymize(TABLE, both).summary.metrics["alpha-max"] == 0.5
    one = policy("loss", [{"model": "distinct-l-diversity", "l": 2, "attribute": "ill"}], job="sensitive")
    assert "alpha-max" not in sh.anonymize(TABLE, one).summary.metrics  # job is not counted


@pytest.mark.parametrize("metric", SENSITIVE_METRICS)
def test_without_a_sensitive_attribute_there_is_no_alpha(metric):
    with pytest.raises(BadPolicy, match=f"method.metric = '{metric}' needs a column with the role 'sensitive'"):
        policy(metric, ill="insensitive")
