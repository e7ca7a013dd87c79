"""How docstrings become pages."""

import docstrings


def test_examples_are_fenced_and_text_is_not():
    text = "One.\n\n>>> 1 + 1\n2\n\nTwo > 1.\n\n>>> def f():\n...     return 3\n>>> f()\n3"
    assert docstrings.fenced(text) == (
        "One.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nTwo > 1.\n\n```pycon\n>>> def f():\n...     return 3\n>>> f()\n3\n```"
    )
    assert docstrings.fenced("No example.") == "No example."
