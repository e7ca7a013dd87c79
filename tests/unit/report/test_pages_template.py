"""The template of the pages is compiled once, and again only when it changes."""

import sys

from jinja2 import Environment

from shoal.report.pages import compile_once


def text_of(code, environment):
    template = environment.template_class.from_code(environment, code, environment.make_globals(None), None)
    return template.render(name="Ada")


def test_what_was_compiled_is_read_again(tmp_path, monkeypatch):
    """The second time nothing is compiled; another text, or a file that cannot be read, is compiled anew."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    environment, module = Environment(autoescape=True), str(tmp_path / "pages.cpython-311.pyc")
    compiled = []
    monkeypatch.setattr(
        environment, "compile", lambda source: compiled.append(source) or Environment.compile(environment, source)
    )
    for source, said in (
        ("Hello {{ name }}", "Hello Ada"),
        ("Hello {{ name }}", "Hello Ada"),
        ("Bye {{ name }}", "Bye Ada"),
    ):
        assert text_of(compile_once(environment, source, module), environment) == said
    assert compiled == ["Hello {{ name }}", "Bye {{ name }}"]
    assert [path.name for path in tmp_path.iterdir()] == ["pages.cpython-311.page"]


def test_nothing_is_written_where_python_writes_no_compiled_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    environment = Environment(autoescape=True)
    assert text_of(compile_once(environment, "{{ name }}", str(tmp_path / "pages.pyc")), environment) == "Ada"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    environment, module = Environment(autoescape=True), str(tmp_path / "absent" / "pages.pyc")
    assert text_of(compile_once(environment, "{{ name }}", module), environment) == "Ada"
