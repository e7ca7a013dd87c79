"""Messages reach people at the command line and in Python: who names an option, names what Python calls it, too."""

import ast
import re

import pytest
from shoal_source import FOLDER

OF_THE_COMMAND_LINE = re.compile(r"(?<![\w-])--[a-z][a-z-]+|`shoal [a-z]")
ONLY_THERE = {"cli", "datasets.py", "report"}
"""What is read at the command line, or that show commands to be copied."""
MODULES = sorted(path for path in FOLDER.rglob("*.py") if path.relative_to(FOLDER).parts[0] not in ONLY_THERE)


def texts(tree):
    """Every text of a module but docstrings, what is filled in left out."""
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented | inside:
            yield node.value


@pytest.mark.parametrize("folder", sorted({path.relative_to(FOLDER).parts[0] for path in MODULES}))
def test_messages_with_a_command_line_option_name_it_for_python_too(folder):
    found = [
        (path.name, text)
        for path in MODULES
        if path.relative_to(FOLDER).parts[0] == folder and path.name != "glossary.py"  # which lists commands
        for text in texts(ast.parse(path.read_text("utf-8")))
        if OF_THE_COMMAND_LINE.search(text)
    ]
    assert [(name, text) for name, text in found if "in Python" not in text] == []


def test_the_pattern_finds_command_line_options():
    (said,) = texts(ast.parse('"""--doc"""\nx = f"{y}: use --force"\n'))
    assert OF_THE_COMMAND_LINE.search(said).group() == "--force"
    assert not OF_THE_COMMAND_LINE.search("a --- b, l--r")
