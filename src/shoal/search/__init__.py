"""Searches over the lattice: generators that ask about nodes and are sent answers."""

from shoal.search.driver import Ask, Found, Search, Stop, Walk, Watch, answer, decide
from shoal.search.oracle import Answer, Oracle, Tally

__all__ = ["Answer", "Ask", "Found", "Oracle", "Search", "Stop", "Tally", "Walk", "Watch", "answer", "decide"]
