"""`df.shoal` for pandas and polars: import this module once, and every frame can be measured and anonymized.

>>> import pandas as pd
>>> import shoal.frame_accessors
>>> people = pd.DataFrame({"age": [34, 36, 34, 51, 58, 52], "disease": ["flu", "flu", "hiv", "flu", "hiv", "flu"]})
>>> people.shoal.measure("age", "disease")
TableMeasurement(6 rows in 5 classes, k = 1)
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from shoal import api
from shoal.api import PolicyDraft, Release
from shoal.explore.measure import TableMeasurement
from shoal.inputs import PolicyLike
from shoal.risk import Assessment


class ShoalAccessor:
    """The functions of Shoal that look at one frame, as its methods; further keywords are those of the functions."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def measure(
        self, quasi_identifiers: str | Sequence[str], sensitive: str | Sequence[str] = (), **further: Any
    ) -> TableMeasurement:
        """Return every model's attained value for the frame as it is: `shoal.measure`."""
        return api.measure(self._frame, quasi_identifiers, sensitive, **further)

    def risk(
        self, quasi_identifiers: str | Sequence[str] = (), sensitive: str | Sequence[str] = (), **further: Any
    ) -> Assessment:
        """Return how easily people are re-identified in the frame: `shoal.risk`."""
        return api.risk(self._frame, quasi_identifiers, sensitive, **further)

    def draft(self, k: int = 5) -> PolicyDraft:
        """Return a first policy for the frame: `shoal.draft`."""
        return api.draft(self._frame, k)

    def anonymize(self, policy: PolicyLike, **further: Any) -> Release:
        """Return the release of least loss that keeps a policy: `shoal.anonymize`."""
        return api.anonymize(self._frame, policy, **further)


def _register() -> None:
    """Register `df.shoal` for the frames of pandas and polars, where installed."""
    if find_spec("pandas") is not None:
        from pandas.api.extensions import register_dataframe_accessor

        register_dataframe_accessor("shoal")(ShoalAccessor)
    if find_spec("polars") is not None:
        from polars.api import register_dataframe_namespace

        register_dataframe_namespace("shoal")(ShoalAccessor)


_register()
