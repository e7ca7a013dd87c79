"""Recodings: what is decided about every quasi-identifier, and the table they make."""
