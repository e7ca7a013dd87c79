"""Which reader reads what."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from shoal.engine import ReadOptions, Source
from shoal.engines.reading.binary import read_arrow, read_parquet
from shoal.engines.reading.content import Content, open_content
from shoal.engines.reading.csv_file import read_csv
from shoal.engines.reading.excel import read_excel
from shoal.engines.reading.frames import read_frame
from shoal.engines.reading.sniff import format_of

_READERS: Mapping[str, Callable[[Content, ReadOptions], Source]] = {
    "csv": read_csv,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "excel": read_excel,
}


def read(source: Any, options: ReadOptions) -> Source:
    """Read a path, `-` for standard input, or a pandas, polars or pyarrow frame."""
    if not isinstance(source, str | os.PathLike):
        return read_frame(source, options)
    content = open_content(source)
    return _READERS[format_of(content)](content, options)
