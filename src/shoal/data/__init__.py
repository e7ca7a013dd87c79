"""A table as arrays: codes of values, counts of classes, frequency sets, in memory and on disk."""
