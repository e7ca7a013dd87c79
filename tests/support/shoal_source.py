"""Where the source of the package is, for tests about the code itself."""

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "src" / "shoal"
