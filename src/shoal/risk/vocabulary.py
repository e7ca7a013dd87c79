"""What a header means, in nine languages, and whether texts are names of people; the words are in TOML beside this."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from unicodedata import combining, normalize

from shoal.roles import Role

_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "ı": "i", "æ": "ae", "ø": "o", "đ": "d"})
_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr")
_LONG = 5
"""Fewest letters of a word that is recognised inside a longer one: Patientenname, Geburtsdatum."""


@dataclass(frozen=True, slots=True)
class HeaderMeaning:
    """What a header is about, and which role such a column usually plays."""

    name: str
    role: Role
    title: str


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """How well a word fits a header: as a whole, as some of its words, or as a part of one."""

    fit: int
    length: int

    @property
    def is_sure(self) -> bool:
        return self.fit > 1


def fold_text(text: str) -> str:
    """Return a text in lower case, without accents.

    >>> fold_text("Größe"), fold_text("İmię"), fold_text("Año")
    ('grosse', 'imie', 'ano')
    """
    plain = normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(c for c in plain if not combining(c)).translate(_LETTERS)


def header_words(header: str) -> tuple[str, ...]:
    """Return the words of a header, folded; letters and digits are told apart.

    >>> header_words("Patienten_ID"), header_words("dateOfBirth"), header_words("Straße/Nr. 2")
    (('patienten', 'id'), ('date', 'of', 'birth'), ('strasse', 'nr', '2'))
    """
    spaced = re.sub(r"(?<=[a-zß-ÿ0-9])(?=[A-Z])", " ", header)
    return tuple(re.findall(r"[^\W\d_]+|\d+", fold_text(spaced)))


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a meaning, folded."""

    meaning: HeaderMeaning
    parts: tuple[str, ...]
    joined: str
    """The parts in one piece."""
    begins: bool
    """Whether it is the beginning of words."""
    alone: bool
    """Whether it is too short to be told from another language among other words."""


@cache
def _words() -> Sequence[_Word]:
    """Return every word of every meaning in all languages."""
    document = tomllib.loads((files("shoal.risk") / "words.toml").read_text("utf-8"))
    found = []
    for name, told in document.items():
        meaning = HeaderMeaning(name, Role(told["role"]), told["title"])
        for language in _LANGUAGES:
            for word in told[language].split():
                parts = tuple(map(_without_umlaut, word.rstrip("*").split("-")))
                short = language != "en" and len(word) < _LONG
                found.append(_Word(meaning, parts, "".join(parts), word.endswith("*"), short))
    return found


def _without_umlaut(word: str) -> str:
    """Return a word with a, o and u for ae, oe and ue, as folding makes of ä, ö and ü."""
    return re.sub("(?<=[aou])e", "", word)


_GROUPS = (
    *("person", "pessoa", "osob", "kisi", "patient", "pazient", "pacient", "pacjent", "hasta", "client", "kunde"),
    *("klant", "stammdat", "angab", "contact", "kontakt", "address", "adres", "anschrift", "indirizzo", "direccion"),
    "endereco",
)
"""Beginnings of words over several columns of a sheet, which say of whom the columns are and not what they hold."""


@lru_cache(maxsize=1 << 16)  # the headers of a wide table, which are asked for again and again
def meaning_of(header: str) -> tuple[HeaderMeaning, Match] | None:
    """Return what a header means and how well a word of that meaning fits; None where no word does.

    >>> [meaning_of(header)[0].name for header in ("Date of birth", "Geburtsdatum", "nom_de_famille", "HIV2004", "plz")]
    ['birth', 'birth', 'name', 'diagnosis', 'postcode']
    >>> [meaning_of(header)[0].name for header in ("Person PLZ", "Adresse Ort", "Aufnahme PLZ", "Patient ID")]
    ['postcode', 'place', 'postcode', 'person_number']
    >>> meaning_of("qzx") is None, meaning_of("market cap") is None
    (True, True)
    """
    found = _best_fit(header)
    if found is not None and found[1].fit == 3:
        return found
    *before, last = re.split(r"[\s_]+", header.strip())
    loud = len(last) > 2 and last.isupper() and not header.isupper()
    if before and (loud or any(word.startswith(_GROUPS) for word in header_words(" ".join(before)))):
        part = _best_fit(last)
        if part is not None and part[1].fit == 3:
            return part[0], Match(2, part[1].length)
    return found


def _best_fit(header: str) -> tuple[HeaderMeaning, Match] | None:
    """Return the meaning whose word fits a header best."""
    words = tuple(map(_without_umlaut, header_words(header)))
    joined = "".join(words)
    # a word that fits in any way is a part of the whole header: this quick test leaves few words
    fits = (
        (word.meaning, Match(fit, len(word.joined)))
        for word in _words()
        if word.joined in joined and (fit := _fit(words, joined, word))
    )
    return max(fits, key=lambda each: each[1], default=None)


def _fit(words: tuple[str, ...], joined: str, word: _Word) -> int:
    """Return 3 where a word is the header, 2 where it stands among its words, 1 where it is a part of one, else 0."""
    if joined == word.joined or (word.begins and joined.startswith(word.joined)):
        return 3
    if not word.alone and _contains(words, word.parts, begins=word.begins):
        return 2
    return int(len(word.joined) >= _LONG and any(word.joined in each for each in words))


def _contains(words: Sequence[str], parts: Sequence[str], *, begins: bool) -> bool:
    """Whether the parts of a word stand one after the other among the words."""
    for at in range(len(words) - len(parts) + 1):
        *most, last = words[at : at + len(parts)]
        if most == list(parts[:-1]) and (last.startswith(parts[-1]) if begins else last == parts[-1]):
            return True
    return False


@cache
def person_names() -> Mapping[str, frozenset[str]]:
    """Return usual given names and surnames."""
    document = tomllib.loads((files("shoal.risk") / "person_names.toml").read_text("utf-8"))
    return {kind: frozenset(map(_without_umlaut, names.split())) for kind, names in document.items()}


_NAME = re.compile(
    r"(?:(?:Dr|Prof|Mr|Mrs|Ms|Herr|Frau)\.? )?[^\W\d_][^\W\d_'’.-]*(?:[ ,'’-]+[^\W\d_][^\W\d_'’.-]*\.?){0,3}"
)


def is_shaped_like_a_name(text: str) -> bool:
    """Whether a text is one to four words of letters, the first a capital.

    >>> [is_shaped_like_a_name(text) for text in ("Zoltan Nagy", "O'Neill", "flu", "12 Main Street")]
    [True, True, False, False]
    """
    plain = text.strip()
    return bool(_NAME.fullmatch(plain)) and plain[0].isupper()


def is_person_name(text: str) -> bool:
    """Whether a text is shaped like a name and one of its words is a usual one.

    >>> [is_person_name(text) for text in ("Anna Kowalska", "MÜLLER, Jürgen", "Flu", "12 Main Street")]
    [True, True, False, False]
    """
    known = person_names()
    words = map(_without_umlaut, re.findall(r"[^\W\d_]+", fold_text(text)))
    return is_shaped_like_a_name(text) and any(word in known["given"] or word in known["surnames"] for word in words)
