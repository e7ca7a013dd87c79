"""Paths in a policy start from its folder, and stay true when it is saved in another."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

from shoal.hierarchy.csv_file import written_for
from shoal.models import Model


class Located(str):
    """The path of a table as it stands in a policy, which knows the folder it starts from.

    >>> register = Located("register.csv", Path("folder"))
    >>> register == "register.csv", register.file.as_posix()
    (True, 'folder/register.csv')
    """

    __slots__ = ("base",)
    base: Path

    def __new__(cls, path: str, base: Path) -> Self:
        made = super().__new__(cls, path)
        made.base = base
        return made

    def __getnewargs__(self) -> tuple[str, Path]:  # type: ignore[override]
        return str(self), self.base

    @property
    def file(self) -> Path:
        return self.base / self

    def seen_from(self, folder: Path) -> "Located":
        return Located(written_for(self, self.base, folder), folder)

    @property
    def absolute(self) -> "Located":
        """The same, wherever the policy will lie."""
        return Located(str(self.file.resolve()), Path())


def located(model: Model, base: Path) -> Model:
    """The model, its population looked for in `base` unless it is known where that is."""
    path = population_of(model)
    return model if path is None or isinstance(path, Located) else _with(model, Located(path, base))


def moved(model: Model, folder: Path) -> Model:
    """The model with its path written for a policy in another folder."""
    path = population_of(model)
    return _with(model, path.seen_from(folder)) if isinstance(path, Located) else model


def anchored(model: Model) -> Model:
    """The model with an absolute path, for a policy whose folder will be moved."""
    path = population_of(model)
    return _with(model, path.absolute) if isinstance(path, Located) else model


def population_of(model: Model) -> str | None:
    """The table that a model compares with, if it does."""
    known = {field.name for field in fields(model)}  # type: ignore[arg-type]
    return getattr(model, "population", None) if "population" in known else None


def _with(model: Any, path: Located) -> Model:
    changed: Model = replace(model, population=path)
    return changed
