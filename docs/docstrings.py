"""Examples in docstrings become code on the reference pages; Markdown would take `>>>` for quotations."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^|(?<=\n\n))>>> .*?(?=\n\n|\Z)", re.DOTALL)


def fenced(text: str) -> str:
    r"""The text with a fence around every example.

    >>> fenced("One.\n\n>>> 1 + 1\n2")
    'One.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    return _EXAMPLE.sub(lambda example: f"```pycon\n{example.group()}\n```", text)


class Examples(griffe.Extension):
    """Fences the examples of every object that has a docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
