"""What can be learned from a release: classifiers trained on it and on the original, tested on rows of neither."""

from shoal.mining.folds import rows_of
from shoal.mining.held_out import Training
from shoal.mining.learned import Accuracy, Learned, Score
from shoal.mining.learners import LEARNERS, known_learners
from shoal.mining.learning import Lesson

__all__ = [
    "LEARNERS",
    "Accuracy",
    "Learned",
    "Lesson",
    "Score",
    "Training",
    "known_learners",
    "rows_of",
]
