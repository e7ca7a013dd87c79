"""Whatever can be asked for can be told in plain words."""

from typing import get_args

from shoal.attacks import Channel
from shoal.hierarchy import BUILDERS
from shoal.models import MODELS
from shoal.policy.method import Algorithm
from shoal.policy.republish import Republish
from shoal.report.manifest import Recoding
from shoal.report.pages.recoded import _SAID
from shoal.report.pages.words import ALGORITHMS, KINDS, LEARNED, QUESTIONS, WAYS, WORDS


def test_every_model_algorithm_kind_and_channel_has_its_words():
    assert set(WORDS) == set(MODELS)
    assert set(ALGORITHMS) == set(get_args(Algorithm))
    assert set(WAYS) == set(get_args(Republish.model_fields["way"].annotation))
    assert set(KINDS) == set(get_args(Recoding.model_fields["kind"].annotation))
    assert set(_SAID) == set(BUILDERS)
    assert set(QUESTIONS) == set(LEARNED) == set(Channel)
    assert all(words.means.endswith(".") and not words.against.endswith(".") for words in WORDS.values())
