"""What every part of Shoal runs on: events, memory, temporary folders."""
