"""The experiments of the papers, re-run: what they reported beside what is measured here."""

from shoal.studies.alp_dif import study_leakage
from shoal.studies.batches import study_batches
from shoal.studies.homogeneous_classes import study_homogeneity
from shoal.studies.inference import study_inference
from shoal.studies.partitions import study_partitions
from shoal.studies.searches import study_searches
from shoal.studies.study import Direction, People, Sheet, Study, write_index

STUDIES = {
    "homogeneity": study_homogeneity,
    "inference": study_inference,
    "searches": study_searches,
    "leakage": study_leakage,
    "partitions": study_partitions,
    "batches": study_batches,
}
"""Studies by name, in the order of the papers."""

__all__ = ["STUDIES", "Direction", "People", "Sheet", "Study", "write_index"]
