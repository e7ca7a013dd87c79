"""What the tests of reading share."""

import pytest

from shoal.engine_port import ReadOptions
from shoal.engines.reading import read
from shoal.errors import BadData

CANARY = "CANARY-7f3"


def cells(source, name):
    """The cells of a column as text, None for null."""
    column = source.table[name]
    shown = [*column.texts.to_pylist(), None]
    return [shown[code] for code in column.codes]


@pytest.fixture(scope="session")
def cells_of():
    return cells


@pytest.fixture
def load(tmp_path):
    """Write bytes (or text) to a file and read it."""

    def load(content, name="people.csv", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, ReadOptions(**options))

    return load


@pytest.fixture
def refused(load):
    """Write and read as `load` does; return the sentence of the refusal, without canary and cause."""

    def refused(content, name="people.csv", **options):
        with pytest.raises(BadData) as caught:
            load(content, name, **options)
        return checked(caught.value)

    return refused


@pytest.fixture
def sentence():
    return checked


def checked(error):
    said = str(error)
    assert CANARY not in said
    assert "\n" not in said
    assert "\x1b" not in said
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert cause is None, "a traceback would show the message of another library"
    return said
