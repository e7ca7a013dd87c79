"""What can be learned: decision trees and rules; classifiers trained on a release and on the original, and tested."""
