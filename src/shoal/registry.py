"""One registry for each kind of thing: models, metrics, algorithms, attacks, hierarchy builders.

An entry owns everything about itself, its words for people too. Other packages add theirs by an entry point of the
registry's group, which is loaded on first use, or by a call of `register`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from shoal.errors import BadInput

T = TypeVar("T")


def name_of(entry: Any) -> str:
    """Return the name that an entry gives itself."""
    name: str = entry.name
    return name


class Registry(Mapping[str, T], Generic[T]):
    """Entries of one kind by their names, in the order in which they were registered.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Fruit:
    ...     name: str
    >>> fruits = Registry("shoal.fruits", [Fruit("apple")])
    >>> pear = fruits.register(Fruit("pear"))
    >>> list(fruits), fruits["pear"]
    (['apple', 'pear'], Fruit(name='pear'))
    """

    def __init__(self, group: str, entries: Iterable[T], named: Callable[[T], str] = name_of) -> None:
        self.group = group
        self._named = named
        self._entries = {named(entry): entry for entry in entries}
        self._searched = False

    def register(self, entry: T) -> T:
        """Add an entry and return it, so that this works as a decorator; a name that is taken is refused."""
        name = self._named(entry)
        if self._entries.get(name, entry) is not entry:
            raise BadInput(f"{self.group}: there is another {name!r}; give it a name of its own")
        self._entries[name] = entry
        return entry

    def unregister(self, name: str) -> None:
        """Remove an entry, as tests do."""
        del self._entries[name]

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            self._load_entry_points()
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._entries:
            self._load_entry_points()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load_entry_points()
        return iter(list(self._entries))

    def __len__(self) -> int:
        self._load_entry_points()
        return len(self._entries)

    def _load_entry_points(self) -> None:
        """Load the entry points that other packages declare, once."""
        if self._searched:
            return
        self._searched = True
        for point in entry_points(group=self.group):
            self.register(point.load())
