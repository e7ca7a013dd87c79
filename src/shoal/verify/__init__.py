"""Counts a released table afresh, with DuckDB in SQL, and judges it; shares nothing with what made the release.

Common ground are the models' pure functions, which are held to naive definitions in tests, and the hierarchies, whose
intervals are checked. Values are read and ordered by `shoal.labels`, never by the encoder.
"""
