"""What a term means here and where it is used: words of the papers, and everything that the registries know."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from shoal.attacks import ATTACKS
from shoal.errors import BadInput
from shoal.hierarchy.build import BUILDERS
from shoal.methods import ALGORITHMS, NINE_MODELS
from shoal.metrics.catalogue import catalogue
from shoal.models import MODELS
from shoal.models.spec import kebab
from shoal.policy.method import Method
from shoal.policy.optional_sections import Blocking, Republish
from shoal.policy.sections import Attribute, DataOptions, PolicySection, ReleaseOptions
from shoal.roles import Role

HOMOGENEITY = 'Mohapatra and Patra, "Analysis of k-Anonymity for Homogeneity Attack" (no year printed, after 2009)'
CHANNELS = 'Sané, Camara, Ndiaye and Slimani, "An Approach to Overcome Inference Channels on k-anonymous Data", 2012'
SURVEY = 'Saroha, "Survey of k-Anonymity", 2014'
LEAKAGE = 'Wang, Xu and Qu, "An Enhanced K-Anonymity Model against Homogeneity Attack", 2011'
BOXES = (
    'Murthy and Srinivas, "Achieving Multidimensional K-Anonymity by a Greedy Approach" (no year printed), after '
    "LeFevre, DeWitt and Ramakrishnan, 2006"
)
PAPERS = (HOMOGENEITY, CHANNELS, SURVEY, LEAKAGE, BOXES)
"""The five papers that Shoal began with."""


@dataclass(frozen=True)
class Term:
    """One meaning of a term."""

    name: str
    kind: str
    """What it is here: "model", "policy key of [method]", "word of a paper"."""
    meaning: str
    use: tuple[str, ...] = ()
    """How to get it: commands, policy keys, calls in Python."""
    source: str = ""
    aliases: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the term as a JSON object."""
        return {
            "name": self.name,
            "kind": self.kind,
            "meaning": self.meaning,
            "use": list(self.use),
            "source": self.source,
            "aliases": list(self.aliases),
        }


def explain(term: str) -> tuple[Term, ...]:
    """Return every meaning of a term, words of the papers first; refuse an unknown one with the nearest names.

    Case, hyphens and spaces do not matter, nor does -ize for -ise.

    >>> [each.kind for each in explain("MaxSup")]
    ['word of a paper']
    >>> [each.name for each in explain("Distance Vectors")]
    ['distance vector']
    """
    known = list(_terms())
    exact = [each for each in known if term.strip().casefold() in map(str.casefold, _names(each))]
    asked = _normalise(term)
    found = exact or [each for each in known if asked and asked in map(_normalise, _names(each))]
    if not found:
        raise BadInput(f"nothing here is called {term!r}{_nearest(asked, known)}")
    return tuple(found)


def terms() -> tuple[str, ...]:
    """Return the names of all terms but parameters and options, each once, in alphabetical order."""
    return tuple(sorted({each.name for each in _terms() if "." not in each.name}, key=sort_key))


def sort_key(name: str) -> str:
    """Return what a name is sorted by: neither case nor a sign before its first letter matters."""
    return re.sub(r"^\W*_*", "", name).casefold()


def _nearest(asked: str, known: Sequence[Term]) -> str:
    """Return the nearest names of a term that is not known, as the end of a sentence."""
    named = {_normalise(name): each.name for each in known for name in _names(each)}
    near = [named[close] for close in get_close_matches(asked, named, n=5, cutoff=0.5)]
    near += [name for text, name in named.items() if len(asked) > 2 and asked in text]
    listed = ", ".join(map(repr, list(dict.fromkeys(near))[:5]))
    return (
        f"; the nearest names are {listed}"
        if listed
        else "; `shoal explain` (in Python shoal.explore.glossary.terms()) lists all"
    )


def _names(term: Term) -> tuple[str, ...]:
    return (term.name, *term.aliases)


_GREEK = {"α": "alpha", "β": "beta", "δ": "delta", "ε": "epsilon", "⁺": "plus", "+": "plus"}


def _normalise(text: str) -> str:
    """Return a term without case, signs, plural and the difference of -ize and -ise.

    >>> _normalise("k-minimal Generalizations"), _normalise("(α, k)-anonymity")
    ('kminimalgeneralisation', 'alphakanonymity')
    """
    for sign, spelt in _GREEK.items():
        text = text.replace(sign, spelt)
    plain = re.sub(r"[\W_]", "", text.casefold()).replace("z", "s")
    return plain.removesuffix("s") if len(plain) > 3 else plain


def _terms() -> Iterator[Term]:
    yield from WORDS
    yield from _terms_of_papers()
    yield from _terms_of_models()
    yield from _terms_of_attacks()
    yield from _terms_of_methods()
    yield from _terms_of_policies()


def _terms_of_papers() -> Iterator[Term]:
    for name, (generalise, suppress) in NINE_MODELS.items():
        yield Term(
            name,
            "word of a paper",
            f"{_LEVELS[generalise].format('generalisation')}, {_LEVELS[suppress].format('suppression')}",
            (f'[method] model = "{name}"', f'[method] generalise = "{generalise}", suppress = "{suppress}"'),
            f"{SURVEY}, section 2.5",
        )
    yield Term(
        "CG_TS",
        "word of a paper",
        "none of the nine models: generalised cells need no suppression of rows or columns, which is CG_",
        ('[method] model = "CG_"',),
        f"{SURVEY}, section 2.5",
        ("CG_AS",),
    )


def _terms_of_models() -> Iterator[Term]:
    for name, model in MODELS.items():
        use = (f'[[require]] model = "{name}"', f"shoal measure, shoal verify, docs/models/{name}.md")
        yield Term(name, "model", model.sentence, use, model.source)
        for each in fields(model):
            own, called = kebab(each.name), () if each.name == "attribute" else (kebab(each.name),)
            about = f"parameter of the model {name}"
            yield Term(f"{name}.{own}", about, f"{own} of {name}: {model.sentence}", use[:1], "", called)


def _terms_of_methods() -> Iterator[Term]:
    for entry in catalogue():
        key = (f'[method] metric = "{entry.name}"',) if entry.minimised else ()
        yield Term(entry.name, "metric", f"{entry.tells} {entry.range}", (*key, "shoal metrics"), entry.source)
    for name, algorithm in ALGORITHMS.items():
        use = (f'[method] algorithm = "{name}"', f"docs/algorithms/{name}.md")
        yield Term(name, "algorithm", f"it {algorithm.sentence}", use, algorithm.source)


def _terms_of_attacks() -> Iterator[Term]:
    for name, attack in ATTACKS.items():
        yield Term(name, "attack", attack.sentence, (f"shoal attack {name} RELEASE", "shoal audit"), attack.source)
        for each in fields(attack):  # type: ignore[arg-type]
            if "help" in each.metadata:
                option = each.metadata["name"] or kebab(each.name)
                use = (f"shoal attack {name}",)
                about = f"option of the attack {name}"
                yield Term(f"{name}.{option}", about, each.metadata["help"], use, "", (option,))


def _terms_of_policies() -> Iterator[Term]:
    for name, form in BUILDERS.items():
        use = (f"[attributes.COLUMN] hierarchy = {{ {name} = … }}",)
        yield Term(name, "form of hierarchies", form.sentence.format("…"), use)
    for role in Role:
        yield Term(str(role), "role", _documented(Role)[role.name], (f'[attributes.COLUMN] role = "{role}"',))
    for section, kind in _SECTIONS.items():
        said = _documented(kind)
        for key in kind.model_fields:
            meaning = said.get(key, f"a key of {section}")
            yield Term(kebab(key), f"policy key of {section}", meaning, (f"{section} {kebab(key)} = …",))


_LEVELS = {
    "attribute": "{} of whole columns (attribute level)",
    "cell": "{} of single cells",
    "tuple": "{} of whole rows (tuple level)",
    "none": "no {}",
}
_SECTIONS: dict[str, type[PolicySection]] = {
    "[data]": DataOptions,
    "[attributes.COLUMN]": Attribute,
    "[method]": Method,
    "[release]": ReleaseOptions,
    "[blocking]": Blocking,
    "[republish]": Republish,
}


def _documented(kind: type) -> dict[str, str]:
    """Return the docstring under each field or member of a class, by its name.

    >>> _documented(Role)["UNIT"]
    'Which person a row belongs to, when a person may have several; dropped.'
    """
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, after in zip(body.body, body.body[1:], strict=False):
        target = statement.target if isinstance(statement, ast.AnnAssign) else None
        if isinstance(statement, ast.Assign):
            target = statement.targets[0] if isinstance(statement.targets[0], ast.Name) else None
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
        if isinstance(target, ast.Name) and isinstance(said, str):
            found[target.id] = " ".join(said.split())
    return found


def _word(name: str, where: str, meaning: str, *use: str, aliases: Sequence[str] = ()) -> Term:
    return Term(name, "word of a paper", meaning, use, where, tuple(aliases))


WORDS: tuple[Term, ...] = (
    # Mohapatra and Patra
    _word(
        "bipartite graph",
        f"{HOMOGENEITY}, section 4.2 and figure 1",
        "sensitive values on one side, classes on the other; the weight of an edge is a value's share of a class",
        "shoal measure TABLE --qi … --sensitive … --graph alpha.graphml (or .svg, .png)",
        "shoal.plot.AlphaGraph",
        aliases=["complete bipartite graph"],
    ),
    _word(
        "cost adjacency matrix",
        f"{HOMOGENEITY}, table 4",
        "the weights of the bipartite graph, one row for each sensitive value and one column for each class; α of a "
        "value is the largest number of its row",
        "shoal measure TABLE --qi … --sensitive … --graph alpha.graphml",
        "shoal.plot.AlphaGraph",
        aliases=["cost adjacency", "weight matrix"],
    ),
    _word(
        "homogeneity attack",
        f"{HOMOGENEITY}, sections 1 and 5",
        "everybody in a class has the same sensitive value, so that it is known without knowing which row is whose",
        "shoal attack homogeneity RELEASE",
        "shoal study homogeneity",
        aliases=["HA", "homogeneous class"],
    ),
    _word(
        "SE",
        f"{HOMOGENEITY}, equation 1",
        "the expected number of homogeneous classes, if values are uniform and all classes have k rows: "
        "(ΠKᵢ / ΠKᵢᵏ)·(n/k)",
        "shoal measure: homogeneity, expected uniform",
        "shoal attack homogeneity: expected uniform; beside it the expectation under the real values and sizes",
        aliases=["expected homogeneous classes"],
    ),
    _word(
        "α-association",
        f"{HOMOGENEITY}, section 4 and algorithm 4.1",
        "the largest share of a sensitive value in any class: max |(E, s)| / |E|",
        '[[require]] model = "alpha-k", alpha = 0.5',
        "shoal measure: the alphas",
        '[method] metric = "alpha-max" or "alpha-spread"',
        aliases=["alpha", "degree of association", "(α,k)-anonymity", "(α,k)-anonymization"],
    ),
    # Sané, Camara, Ndiaye and Slimani
    _word(
        "inference channel",
        f"{CHANNELS}, section 3.1",
        "rules from which a sensitive value of a person can be inferred",
        "shoal attack rules RELEASE",
        "[blocking]",
        aliases=["sensitive rules-based inference"],
    ),
    _word(
        "sensitive rule",
        f"{CHANNELS}, definition 1",
        "a decision rule of confidence 1 whose consequent is a sensitive value; rules are the leaves of C4.5",
        "shoal attack rules RELEASE",
        "[blocking] at = 1.0",
        aliases=["sensitive decision rule", "perfect decision rule"],
    ),
    _word(
        "BIC",
        f"{CHANNELS}, algorithm 1 and tables 2 and 3",
        "Blocking Inference Channels: rows are added until no rule tells a sensitive value with too much confidence",
        '[blocking] by = "absent"',
        "shoal study inference",
        aliases=["blocking inference channels", "BIC k-anonymity", "BIN k-anonymity"],
    ),
    _word(
        "lost rules",
        f"{CHANNELS}, section 3.2 and algorithm 1, step 2(b)",
        "LR: the share of the rules that are not sensitive that can no longer be mined after blocking",
        "[blocking] h = 0.1",
        "shoal anonymize: the line `blocking`; the manifest: blocking",
        aliases=["LR", "lost rules ratio", "lost rules (LR)"],
    ),
    _word(
        "ghost rules",
        f"{CHANNELS}, section 3.2 and algorithm 1, step 2(c)",
        "GR: the share of the rules mined after blocking that could not be mined before",
        "[blocking] h = 0.1",
        "shoal anonymize: the line `blocking`; the manifest: blocking",
        aliases=["GR", "ghost rules ratio", "ghost rules (GR)"],
    ),
    _word(
        "hiding effect threshold",
        f"{CHANNELS}, section 3.2",
        "h: blocking stops when the share of lost rules or of ghost rules is above it",
        "[blocking] h = 0.1",
        aliases=["hiding effect", "h"],
    ),
    _word(
        "anonymity threshold",
        f"{CHANNELS}, definition 2",
        "what the confidence of a sensitive rule is brought down to (k in the paper, which is no k of k-anonymity)",
        "[blocking] confidence = 0.8",
    ),
    # Saroha
    _word(
        "key attribute",
        f"{SURVEY}, section 2.1",
        "an attribute that identifies an individual directly, such as a name; it is dropped",
        '[attributes.name] role = "identifier"',
        aliases=["explicit identifier"],
    ),
    _word(
        "DGH",
        f"{SURVEY}, section 2.3.1",
        "domain generalisation hierarchy: the levels of one attribute; of several, the lattice of their combinations",
        "[attributes.COLUMN] hierarchy = { … }",
        "shoal lattice TABLE --policy policy.toml --picture lattice.svg",
        "shoal.plot.LatticeGraph",
        aliases=["domain generalisation hierarchy", "DGHs", "VGH", "value generalisation hierarchy"],
    ),
    _word(
        "distance vector",
        f"{SURVEY}, section 3.3.2",
        "one level for each attribute, [1,0]: how far a generalised table is from the private one; a node here",
        "shoal lattice: the first column, in the order of the policy",
        "shoal anonymize --node Race=1,ZIP=0",
        aliases=["DV", "node", "generalisation sequence"],
    ),
    _word(
        "generalised table",
        f"{SURVEY}, section 3.3.1",
        "GT: the table at the levels of a distance vector, without the suppressed tuples; a release here",
        "shoal anonymize --node LEVELS",
        aliases=["GT", "MGT", "generalised table with suppression"],
    ),
    _word(
        "MaxSup",
        f"{SURVEY}, section 3.3",
        "the most tuples that may be suppressed, a number of rows",
        "[method] suppression = { rows = 2 }",
        "shoal apply --suppression rows=2",
        aliases=["suppression threshold", "tuple suppression threshold"],
    ),
    _word(
        "k-minimal generalisation",
        f"{SURVEY}, section 3.3.3",
        "a generalised table that keeps k-anonymity within MaxSup, while none at a lower distance vector does",
        '[method] algorithm = "incognito", minimal = true',
        '[method] algorithm = "samarati" (those of least height)',
        aliases=["minimal generalisation", "k-minimal"],
    ),
    _word(
        "joining attack",
        f"{SURVEY}, section 1.2",
        "a table and a public register are joined by the attributes that both have, which names people",
        "shoal attack join TABLE --register PEOPLE --on DOB,Sex,Zipcode --sensitive Disease",
        "shoal.attack(table, shoal.attacks.Join(people))",
        aliases=["linking attack", "join attack", "re-identification by linking"],
    ),
    # Wang, Xu and Qu
    _word(
        "average leakage probability",
        f"{LEAKAGE}, equation 2",
        "ALP of a sensitive value: (Σ yᵢ·yᵢ/xᵢ) / y, over classes of xᵢ rows of which yᵢ have the value",
        '[[require]] model = "alp-dif", alp = { HIV = 0.5 }',
        "shoal measure: alp-dif",
        aliases=["ALP", "alp", "leakage probability", "LP"],
    ),
    _word(
        "probability difference",
        f"{LEAKAGE}, section III.B",
        "DIF of a sensitive value in a class: its leakage probability there, less the average",
        '[[require]] model = "alp-dif", dif = { HIV = 0.3 }',
        "shoal measure: alp-dif",
        aliases=["DIF", "dif", "leakage probability difference"],
    ),
    _word(
        "Prec",
        f"{LEAKAGE}, equations 11 and 12",
        "precision: 1 less the mean over cells of level / height of the hierarchy; here its complement is minimised",
        '[method] metric = "precision-loss" (1 − Prec)',
        "shoal metrics",
        aliases=["precision", "data precision"],
    ),
    _word(
        "v",
        f"{LEAKAGE}, section III.C",
        "the suppression threshold: the most tuples that may be suppressed for k-anonymity",
        "[method] suppression = { rows = 2 }",
    ),
    _word(
        "generalisation tree",
        f"{LEAKAGE}, figures 1 and 2",
        "the hierarchy of one attribute: its values are the leaves, the root stands for all of them",
        "[attributes.COLUMN] hierarchy = { tree = … } or { intervals = … }",
        aliases=["taxonomy tree", "generalisation lattice"],
    ),
    # Murthy and Srinivas
    _word(
        "multidimensional",
        f"{BOXES}, section 2.2",
        "one function recodes vectors of values: age 35 may be shown as [35, 36] or [35, 37], as the other values ask",
        '[method] algorithm = "mondrian"',
        aliases=["multidimensional recoding", "multidimensional global recoding", "multidimensional partitioning"],
    ),
    _word(
        "single-dimensional",
        f"{BOXES}, section 2.2",
        "one function for each attribute recodes its values: age 35 is shown in one way in all rows",
        '[method] algorithm = "mondrian-single", or any search for one level per attribute',
        aliases=["single-dimensional recoding", "single-dimensional partitioning", "global recoding"],
    ),
    _word(
        "allowable cut",
        f"{BOXES}, section 2.2.1",
        "a cut of the space after which both sides have at least k rows",
        '[method] algorithm = "mondrian" (multidimensional) or "mondrian-single" (in every region)',
        aliases=["allowable multidimensional cut", "allowable single-dimensional cut", "cut"],
    ),
    _word(
        "strict partitioning",
        f"{BOXES}, section 2.3 and figure 2",
        "regions do not overlap: rows with equal values are in one region, of at most 2d(k−1)+m rows",
        '[method] algorithm = "mondrian"',
        aliases=["strict", "strict multidimensional partitioning", "2d(k−1)+m"],
    ),
    _word(
        "relaxed partitioning",
        f"{BOXES}, section 2.3",
        "regions may overlap: rows at the median are divided evenly, so that a part has at most 2k−1 rows",
        '[method] algorithm = "mondrian-relaxed"',
        aliases=["relaxed", "relaxed multidimensional partitioning", "2k−1"],
    ),
    _word(
        "summary statistic",
        f"{BOXES}, section 2.4 and table 4",
        "what a class shows of an attribute: its range (R), its mean (M), or both",
        '[attributes.age] form = ["range", "mean"]',
        aliases=["range statistic", "mean statistic", "summary statistics"],
    ),
    _word(
        "predicate–range matching",
        f"{BOXES}, section 2.4",
        "a release matches a query when no class holds both rows that satisfy it and rows that do not",
        "shoal workload TABLE OUT --queries queries.toml: queries that match the release",
        aliases=["predicate-range matching", "matching", "range matching"],
    ),
    _word(
        "discernibility metric",
        f"{BOXES}, section 2.1",
        "C_DM: the sum over classes of the square of their size (the printed |E|/2 is a slip of the press)",
        '[method] metric = "discernibility"',
        aliases=["C_DM", "CDM", "discernability metric"],
    ),
    _word(
        "normalised average equivalence class size",
        f"{BOXES}, section 2.1",
        "C_AVG: (rows / classes) / k",
        '[method] metric = "average-class"',
        aliases=["C_AVG", "CAVG"],
    ),
    _word(
        "frequency set",
        f"{BOXES}, section 2.3.1",
        "the distinct values, or combinations of them, each with the number of rows that have it",
        "every search works on it; shoal.data.frequency_set.FrequencySet",
    ),
)
