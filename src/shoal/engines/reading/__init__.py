"""Reading: a path, standard input or a frame becomes a Source, or a sentence that says why not."""

from shoal.engines.reading.reader import read

__all__ = ["read"]
