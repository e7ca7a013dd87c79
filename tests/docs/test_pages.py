"""Every model, algorithm, attack, metric and engine has one page, which says what the code says."""

import re
import tomllib
from dataclasses import fields

import facts
import hooks
import pytest
import yaml

import shoal

DOCS = hooks.DOCS
REGISTERED = [(kind, name) for kind, names in facts.registered().items() for name in names]
PAGES = {path: path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))}
FOLDERS, SECTIONS = facts.FOLDERS, facts.SECTIONS


@pytest.mark.parametrize(("kind", "name"), REGISTERED)
def test_everything_registered_has_one_page(kind, name):
    where = f"docs/{FOLDERS[kind]}/{name}.md"
    paths = hooks.pages().get((kind, name), [])
    assert paths, f"{kind} {name!r} has no page: write {where}, which begins with '---\\n{kind}: {name}\\n---'"
    assert paths == [DOCS / FOLDERS[kind] / f"{name}.md"], (
        f"{kind} {name!r} has its page elsewhere than {where}, or two"
    )


def test_every_page_is_about_something_registered():
    assert sorted(hooks.pages()) == sorted(REGISTERED)


@pytest.mark.parametrize(("kind", "name"), REGISTERED)
def test_a_page_has_the_sections_of_its_kind(kind, name):
    (path,) = hooks.pages()[kind, name]
    assert tuple(re.findall(r"^## (.*)$", PAGES[path], flags=re.MULTILINE)) == SECTIONS[kind]
    assert re.search(r"^```(console|python)", PAGES[path], flags=re.MULTILINE), "an example that runs"


@pytest.mark.parametrize("name", facts.registered()["model"])
def test_the_facts_of_a_model_are_those_of_its_class(name):
    from shoal.models import MODELS
    from shoal.models.spec import kebab

    (path,) = hooks.pages()["model", name]
    said = dict(facts.facts("model", name, PAGES[path]))
    assert said["Closure declared"].startswith(f"`{MODELS[name].closure.name}`:")
    named = re.findall(r"(?:^|; )`([\w-]+)`:", said["Parameters"])
    assert named == [kebab(field.name) for field in fields(MODELS[name])]


@pytest.mark.parametrize("name", facts.registered()["model"])
def test_a_page_of_a_model_says_what_holds_for_persons_in_two_classes(name):
    """Every model accepts a unit, if only to count rows all the same."""
    (path,) = hooks.pages()["model", name]
    said = " ".join(PAGES[path].split())
    assert re.search(r"`unit`.{,400}omebody with rows in two classes (counts|stands) in both", said)
    assert "[persons in two classes](index.md#persons-in-two-classes)" in said


def test_a_model_without_an_example_is_refused():
    with pytest.raises(ValueError, match="the page about k-map has no example of it in a policy"):
        facts.facts("model", "k-map", "# k-map")


def test_every_page_is_in_the_navigation():
    def listed(entry):
        if isinstance(entry, str):
            return [entry]
        parts = (each if isinstance(each, str) else next(iter(each.values())) for each in entry)
        return [page for part in parts for page in listed(part)]

    config = (DOCS.parent / "mkdocs.yml").read_text("utf-8")
    pages = listed(hooks.navigation(yaml.safe_load(config)["nav"]))
    assert sorted(pages) == sorted(str(path.relative_to(DOCS)) for path in PAGES)


def test_everything_public_is_in_the_reference():
    shown = {
        line.rsplit(".", 1)[-1] for text in PAGES.values() for line in re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    }
    classes = {kind.__name__ for kind in facts._attacks().values()}
    missing = {*shoal.__all__, *classes} - {"attacks", "plot"} - shown
    assert not missing, "write a line `::: shoal.….Name` for each into a page of docs/reference"
    assert "plots" in shown  # as `shoal.plot`


def test_the_page_about_policies_knows_every_hierarchy_and_role():
    from shoal.hierarchy.build import BUILDERS

    text = PAGES[DOCS / "reference" / "policy.md"]
    assert [name for name in BUILDERS if not re.search(rf"\b{name} = ", text)] == []
    assert [role for role in shoal.Role if f"| `{role}` |" not in text] == []


def test_the_page_about_policies_describes_every_key():
    """In tables of Markdown, which whoever reads a clone can read, and in the section of its part of the file."""
    text = PAGES[DOCS / "reference" / "policy.md"]
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)}
    headings = {
        "DataOptions": "Data",
        "Attribute": "Columns",
        "Method": "Method",
        "ReleaseOptions": "Release",
        "Blocking": "Blocking",
        "Republish": "Publishing again",
    }
    schema = shoal.Policy.json_schema()
    described = {name: part["properties"] for name, part in schema["$defs"].items() if "properties" in part}
    assert "{ rows = 2 }" in sections["Method"]
    del described["RowLimit"]  # its only key is written in a line
    assert set(described) == set(headings)
    for name, keys in described.items():
        firsts = " ".join(re.findall(r"^\| (`[^|]*`) \|", sections[headings[name]], re.MULTILINE))
        assert [key for key in keys if f"`{key}`" not in firsts] == [], name
    assert [key for key in schema["properties"] if not re.search(rf"\[?\[{key}\b|`{key} =", text)] == []


def test_the_page_about_policies_shows_a_line_for_every_form_of_hierarchy():
    from shoal.hierarchy.build import BUILDERS, parse

    text = PAGES[DOCS / "reference" / "policy.md"]
    shown = re.findall(r"^\| (`[^|]*`) \| `(hierarchy = [^`]*)`", text, re.MULTILINE)
    assert {name for names, _ in shown for name in re.findall(r"`([^`]*)`", names)} >= set(BUILDERS)
    for _, line in shown:
        spec = tomllib.loads(line)["hierarchy"]
        assert parse(spec, DOCS) is not None


def numbers_of(text):
    return {float(number) for number in re.findall(r"\d*\.?\d+", text)}


def test_the_numbers_of_the_papers_are_those_of_their_examples():
    """What a table says comes out stands in the examples below it, which are run; a study has its own."""
    sections = re.split(r"^## ", PAGES[DOCS / "papers.md"], flags=re.MULTILINE)[1:]
    assert len(sections) == 5
    for section in sections:
        run = numbers_of("".join(re.findall(r"^```.*?^```$", section, re.MULTILINE | re.DOTALL)))
        rows = re.findall(r"^\| .* \| ([^|]*) \|$", section, re.MULTILINE)
        told = {cell: numbers_of(cell) - run for cell in rows if "study" not in cell}
        assert sum(bool(numbers_of(cell)) for cell in told) >= 5
        assert {cell: lacking for cell, lacking in told.items() if lacking} == {}
