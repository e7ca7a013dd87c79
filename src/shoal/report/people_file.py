"""The file that tells what an attack learned of each person: as private as the original."""

import os
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pyarrow as pa

from shoal.attacks import Finding
from shoal.errors import BadInput, BadOutput
from shoal.report.lattice_files import refuse_file, write_file


@dataclass(frozen=True)
class PeopleFile:
    """Where the table of people goes, checked before any work is done."""

    path: Path

    @classmethod
    def choose(cls, path: str | os.PathLike[str], release: Path | None, *, force: bool) -> "PeopleFile":
        """Refuse what cannot or must not be written: nothing of it may lie in a folder that is published."""
        chosen = Path(path)
        refuse_file(chosen, (".csv",), release, force=force)
        if release is not None and release.is_dir() and release.resolve() in chosen.resolve().parents:
            raise BadOutput(f"{chosen.name}: it tells of people and must not lie inside the folder that is published")
        return cls(chosen)

    def write(self, found: Finding) -> None:
        if found.people is None:
            raise BadInput(f"the attack {found.attack!r} tells nothing of single people")
        write_file(self.path, as_csv(found.people))


def as_csv(table: pa.Table) -> bytes:
    """A table as a CSV.

    >>> as_csv(pa.table({"row": [1], "ill": [None]})).splitlines()
    [b'"row","ill"', b'1,']
    """
    from pyarrow import csv

    made = BytesIO()
    csv.write_csv(table, made)
    return made.getvalue()
