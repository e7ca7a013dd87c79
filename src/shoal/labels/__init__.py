"""Reads labels: their grammar, and which values of a column each of them covers.

It shares nothing with the code that encodes values and writes labels, so that verification can rest on it.
"""
