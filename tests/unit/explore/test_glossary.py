"""Every term of the papers, and everything registered, is explained; the page of the papers has the same words."""

import re
from pathlib import Path

import pytest

from shoal.attacks import ATTACKS
from shoal.errors import BadInput
from shoal.explore.glossary import OWN_WORDS, PAPERS, WORDS, explain, terms
from shoal.hierarchy.build import BUILDERS
from shoal.methods import ALGORITHMS, NINE_MODELS
from shoal.metrics.catalogue import catalogue
from shoal.models import MODELS
from shoal.policy.method import Method
from shoal.policy.sections import Attribute
from shoal.roles import Role

PAGE = (Path(__file__).parents[3] / "docs" / "papers.md").read_text("utf-8")
TERMS = [
    *("bipartite graph", "cost adjacency matrix", "homogeneity attack", "SE"),
    *("inference channel", "sensitive rule", "BIC", "lost rules (LR)", "ghost rules (GR)", "hiding effect threshold"),
    *("key attribute", "DGH", "distance vector", "generalised table", "MaxSup", "k-minimal generalisation"),
    *("AG_TS", "AG_AS", "AG_CS", "AG_", "CG_CS", "CG_", "_TS", "_AS", "_CS", "joining attack"),
    *("average leakage probability", "probability difference", "Prec"),
    *("multidimensional", "single-dimensional", "allowable cut", "strict", "relaxed", "summary statistic"),
    "predicate–range matching",
]
"""The terms that a reader of the papers looks for."""
CELLS = [line.split("|")[2].strip() for line in PAGE.splitlines() if re.match(r"\| (?!in the paper)", line)]
"""The cells of the term column of all tables of the page."""


def parts(cell):
    """Return a cell and its parts between commas and semicolons that stand in no bracket."""
    found, depth = [""], 0
    for sign in cell:
        depth += (sign == "(") - (sign == ")")
        if sign in ",;" and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [part.strip() for part in found]


def test_every_term_cell_of_the_page_is_explained():
    assert len(CELLS) > 50
    assert parts("α, degree of association; G(S, E)") == ["α", "degree of association", "G(S, E)"]
    unknown = []
    for part in (part for cell in CELLS for part in parts(cell)):
        try:
            explain(part)
        except BadInput:
            unknown.append(part)
    assert unknown == []


@pytest.mark.parametrize("term", TERMS)
def test_a_term_of_the_papers_is_explained_and_on_the_page(term):
    found = explain(term)
    assert found[0].kind == "word of a paper"
    assert found[0].use
    assert any(found[0].source.startswith(paper) for paper in PAPERS)
    assert term in PAGE


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("LR", "lost rules"),
        ("ghost rules", "ghost rules"),
        ("generalized table", "generalised table"),
        ("K-Minimal Generalizations", "k-minimal generalisation"),
        ("domain generalization hierarchy", "DGH"),
        ("distance_vectors", "distance vector"),
        ("predicate-range matching", "predicate–range matching"),
        ("(α, k)-anonymity", "α-association"),
        ("ag_ts", "AG_TS"),
        ("C_AVG", "normalised average equivalence class size"),
        ("v", "v"),
        ("CG_AS", "CG_TS"),
        ("h", "hiding effect threshold"),
        ("equivalence classes", "equivalence class"),
        ("Sweeneys algorithm", "Sweeney's algorithm"),
        ("Sweeney’s algorithm", "Sweeney's algorithm"),
        ("average leakage probability (ALP)", "average leakage probability"),
        ("average leakage probabilities (ALPs)", "average leakage probability"),
        ("hiding effect threshold h", "hiding effect threshold"),
        ("value generalization hierarchy (VGH)", "value generalisation hierarchy"),
        ("(alp, dif)-anonymity", "(alp, dif)-anonymity"),
        ("cost adjacency matrices", "cost adjacency matrix"),
        ("domain generalisation hierarchies", "DGH"),
        ("degrees of association", "α-association"),
        ("the probability difference (DIF)", "probability difference"),
        ("4-anonymous table", "k-anonymous table"),
        ("2-anonymity", "k-anonymity"),
        ("2-sensitive", "p-sensitive"),
        ("0.2-closeness", "t-closeness"),
        ("lattice", "generalisation lattice"),
        ("information loss", "information loss"),
        ("record linkage", "record linkage"),
        ("attribute linkage", "attribute linkage"),
        ("sensitive attributes", "sensitive attribute"),
        ("m-invariance", "m-invariance"),
        ("blocking", "blocking"),
        ("l-diversity", "l-diversity"),
        ("composition", "compose"),
        ("downcoding", "downcode"),
        ("minimality attacks", "minimality"),
        ("ties", "ties"),
    ],
)
def test_other_spellings_are_understood(asked, name):
    assert explain(asked)[0].name == name


def test_the_generalisation_lattice_is_that_of_all_combinations_of_levels():
    (found,) = explain("generalisation lattice")
    assert found.meaning.startswith("all combinations of one level for each attribute")
    assert any(use.startswith("shoal lattice") for use in found.use)


def test_own_words_say_how_to_get_them():
    assert all(each.use and each.kind == "word of Shoal" for each in OWN_WORDS)


def kinds(term):
    return {each.kind for each in explain(term)}


@pytest.mark.thorough
def test_everything_registered_is_explained_in_its_own_words():
    assert all("model" in kinds(name) for name in MODELS)
    assert all("metric" in kinds(entry.name) for entry in catalogue())
    assert all("algorithm" in kinds(name) for name in ALGORITHMS)
    assert all("attack" in kinds(name) for name in ATTACKS)
    assert all("form of hierarchies" in kinds(name) for name in BUILDERS)
    assert all("role" in kinds(str(role)) for role in Role)
    assert explain("k-anonymity")[0].meaning == MODELS["k-anonymity"].sentence
    assert explain("join.name-column")[0].kind == "option of the attack join"


def test_policy_keys_are_explained_by_their_own_docstrings():
    for section, fields in (("[method]", Method.model_fields), ("[attributes.COLUMN]", Attribute.model_fields)):
        for key in fields:
            found = [each for each in explain(key) if each.kind == f"policy key of {section}"]
            assert len(found) == 1
            assert not found[0].meaning.startswith("a key of")
    assert "MaxSup" in explain("suppression")[0].meaning


def test_the_nine_models_are_those_that_a_policy_takes():
    for name, (generalise, suppress) in NINE_MODELS.items():
        assert f'generalise = "{generalise}", suppress = "{suppress}"' in explain(name)[0].use[1]


def test_an_unknown_term_is_refused_with_the_nearest_names():
    with pytest.raises(BadInput, match="nothing here is called 'distnce vektor'; the nearest names are 'distance vect"):
        explain("distnce vektor")
    with pytest.raises(BadInput, match=r"`shoal explain` .in Python shoal.explore.glossary.terms... lists all"):
        explain("§§§")


def test_names_are_listed_once_and_in_order():
    names = terms()
    assert len(names) == len(set(names))
    assert {each.name for each in WORDS} <= set(names)
    assert names.index("_TS") > names.index("SE")
