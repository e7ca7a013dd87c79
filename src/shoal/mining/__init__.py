"""What can be learned: decision trees and rules; classifiers trained on a release and on the original, and tested."""

from shoal.mining.c45 import C45
from shoal.mining.folds import rows_of
from shoal.mining.held_out import Training
from shoal.mining.learned import Accuracy, Learned, Score
from shoal.mining.learners import LEARNERS, known_learners
from shoal.mining.learning import Lesson
from shoal.mining.rules import Rule
from shoal.mining.tree import Test, Tree

__all__ = [
    "C45",
    "LEARNERS",
    "Accuracy",
    "Learned",
    "Lesson",
    "Rule",
    "Score",
    "Test",
    "Training",
    "Tree",
    "known_learners",
    "rows_of",
]
