"""Looking at a table without releasing it: measure, compare, lattice, learn, draft, risk."""
