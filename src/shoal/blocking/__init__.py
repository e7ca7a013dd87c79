"""Blocking inference channels: rules that predict a sensitive attribute too well (S1.3 to S1.8)."""
