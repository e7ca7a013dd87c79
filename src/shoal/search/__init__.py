"""Searches over the lattice: generators that ask about nodes and are sent answers."""

from shoal.search.datafly import datafly
from shoal.search.optimal import optimal
from shoal.search.oracle import Answer, Ask, Found, Oracle, Search, Tally, Watch, answer

__all__ = ["Answer", "Ask", "Found", "Oracle", "Search", "Tally", "Watch", "answer", "datafly", "optimal"]
