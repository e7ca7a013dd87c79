"""Workloads of aggregate queries: read or drawn at random, answered from a release, compared with the original."""
