"""Plots: each holds its numbers, and draws them onto axes of matplotlib."""
