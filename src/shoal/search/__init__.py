"""Searches over the lattice: generators that ask about nodes and are sent answers."""

from shoal.search.datafly import datafly
from shoal.search.optimal import optimal
from shoal.search.oracle import Answer, Found, Oracle, Search, Tally, answer

__all__ = ["Answer", "Found", "Oracle", "Search", "Tally", "answer", "datafly", "optimal"]
