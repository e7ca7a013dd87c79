"""Searches over the lattice: generators that ask about nodes and are sent answers."""
