"""Recodings that are not the same for the whole column: Mondrian, local recoding, clusters, groups."""
