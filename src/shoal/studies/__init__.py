"""The experiments of the papers, re-run: what they reported beside what is measured here."""

from shoal.studies.inference import study_inference
from shoal.studies.people import People
from shoal.studies.written import Sheet, Study

STUDIES = {"inference": study_inference}
"""By name."""

__all__ = ["STUDIES", "People", "Sheet", "Study"]
