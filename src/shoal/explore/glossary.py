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

    Case, hyphens, spaces, plurals and articles do not matter, nor do -ize for -ise, a bracket at the end, or a number
    in place of k, l, m, p or t.

    >>> [each.kind for each in explain("MaxSup")]
    ['word of a paper']
    >>> [each.name for each in explain("Distance Vectors")]
    ['distance vector']
    >>> [each.name for each in explain("a joining attack (hospital × voters)")], explain("2-anonymity")[0].name
    (['joining attack'], 'k-anonymity')
    """
    known = list(_terms())
    exact = tuple(each for each in known if term.strip().casefold() in map(str.casefold, _names(each)))
    if exact:
        return exact
    normalised = [(each, {_normalise(name) for name in _names(each)}) for each in known]
    for asked in filter(None, map(_normalise, _spellings(term))):
        if found := tuple(each for each, names in normalised if asked in names):
            return found
    raise BadInput(f"nothing here is called {term!r}{_nearest(_normalise(term), known)}")


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


def _spellings(term: str) -> Iterator[str]:
    """Return a term as it is, without its article, without its last bracket, and with a letter in place of a number.

    >>> list(_spellings("the 3-diversity (of all)"))[:4]
    ['the 3-diversity (of all)', '3-diversity (of all)', '3-diversity', 'k-diversity']
    """
    yield term
    bare = re.sub(r"^\s*(?:the|an?)\s+", "", term, flags=re.IGNORECASE)
    yield bare
    bare = re.sub(r"\s+\(.*\)\s*$", "", bare)
    yield bare
    numbered = re.match(r"\s*[\d.]+-", bare)
    if numbered is not None:
        yield from (f"{letter}-{bare[numbered.end() :]}" for letter in "klmpt")


_SINGULARS = (("ices", "ix"), ("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ss", "ss"), ("s", ""))
"""How words end in the plural and in the singular; the first that fits counts."""


def _normalise(text: str) -> str:
    """Return a term without case, signs, plurals and the difference of -ize and -ise.

    >>> _normalise("k-minimal Generalizations"), _normalise("(α, k)-anonymity"), _normalise("Sweeney's matrices")
    ('kminimalgeneralisation', 'alphakanonymity', 'sweeneymatrix')
    """
    for sign, spelt in _GREEK.items():
        text = text.replace(sign, spelt)
    plain = re.sub(r"['’]s\b", "", text.casefold()).replace("z", "s")
    return "".join(map(_singular, re.split(r"[\W_]+", plain)))


def _singular(word: str) -> str:
    """Return a word without its plural; words of three letters stay.

    >>> [_singular(word) for word in ("matrices", "hierarchies", "classes", "loss", "ties")]
    ['matrix', 'hierarchy', 'class', 'loss', 'tie']
    """
    for plural, singular in _SINGULARS:
        if len(word) > max(3, len(plural) + 1) and word.endswith(plural):
            return word.removesuffix(plural) + singular
    return word


def _terms() -> Iterator[Term]:
    yield from WORDS
    yield from _terms_of_papers()
    yield from OWN_WORDS
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
        called = _NOUNS.get(name, (f"{name} attack",))
        how = (f"shoal attack {name} RELEASE", "shoal audit")
        yield Term(name, "attack", attack.sentence, how, attack.source, called)
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


_NOUNS = {"compose": ("composition", "composition attack"), "downcode": ("downcoding", "downcoding attack")}
"""What people call attacks whose names are verbs."""
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
        aliases=["complete bipartite graph", "complete bipartite graph G(S, E, W)"],
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
        "k-anonymous table",
        f"{HOMOGENEITY}, section 3 and table 2",
        "every record looks like at least k − 1 others in its quasi-identifiers, so that every class has k records",
        "shoal measure TABLE --qi … --sensitive …: k-anonymity",
        '[[require]] model = "k-anonymity", k = 4',
        aliases=["k-anonymous data", "k-anonymous release"],
    ),
    _word(
        "equivalence class",
        f"{HOMOGENEITY}, section 3 and table 2",
        "all records that show the same values of the quasi-identifiers; a class here",
        "shoal measure: classes",
        "shoal risk: how many are alike",
        aliases=["class", "QI-group"],
    ),
    _word(
        "SE",
        f"{HOMOGENEITY}, equation 1",
        "the expected number of homogeneous classes, if values are uniform and all classes have k rows: "
        "(ΠKᵢ / ΠKᵢᵏ)·(n/k)",
        "shoal measure: homogeneity, expected uniform",
        "shoal attack homogeneity: expected uniform; beside it the expectation under the real values and sizes",
        aliases=["expected homogeneous classes", "possibility of the homogeneity attack"],
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
    _word(
        "graph based algorithm",
        f"{HOMOGENEITY}, section 4.3",
        "α of every sensitive value, read off the bipartite graph: the largest weight of the value's edges",
        "shoal.plot.AlphaGraph(…).alphas",
        "shoal measure: the alphas",
    ),
    _word(
        "least α",
        f"{HOMOGENEITY}, section 5, last paragraph",
        "which release to take: the one whose largest α is least, or whose α's differ least",
        '[method] metric = "alpha-max"',
        '[method] metric = "alpha-spread"',
        aliases=["least difference of the α's"],
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
        aliases=["hiding effect", "hiding effect threshold h", "h"],
    ),
    _word(
        "anonymity threshold",
        f"{CHANNELS}, definition 2",
        "what the confidence of a sensitive rule is brought down to (k in the paper, which is no k of k-anonymity)",
        "[blocking] confidence = 0.8",
        aliases=["anonymity threshold k"],
    ),
    _word(
        "value generalisation hierarchy",
        f"{CHANNELS}, figure 1",
        "VGH: the values of one attribute and, level by level, the labels that stand for them",
        "[attributes.COLUMN] hierarchy = { … }",
        "shoal.plot.HierarchyTree",
        aliases=["VGH"],
    ),
    _word(
        "classification accuracy",
        f"{CHANNELS}, table 2",
        "the share of people whose class a tree that is learned from the data predicts rightly",
        "shoal learn TABLE --policy policy.toml --target COLUMN",
        "shoal study inference",
    ),
    _word(
        "record linkage",
        f"{CHANNELS}, section 2 and table 3",
        "somebody's row can be found, because few rows or none look like it",
        "shoal audit RELEASE: record linkage",
        "shoal attack join RELEASE --register PEOPLE, shoal attack prosecutor RELEASE",
    ),
    _word(
        "attribute linkage",
        f"{CHANNELS}, section 2 and table 3",
        "somebody's sensitive value can be told without finding the row, because the rows that look like it agree",
        "shoal audit RELEASE: attribute linkage",
        "shoal attack homogeneity RELEASE",
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
        "sensitive attribute",
        f"{SURVEY}, section 2.1",
        "an attribute whose value nobody may learn of a person, such as a disease",
        '[attributes.disease] role = "sensitive"',
        "shoal measure TABLE --qi … --sensitive disease",
        aliases=["sensitive value"],
    ),
    _word(
        "DGH",
        f"{SURVEY}, section 2.3.1",
        "domain generalisation hierarchy: the levels of one attribute; of several, the lattice of their combinations",
        "[attributes.COLUMN] hierarchy = { … }",
        "shoal lattice TABLE --policy policy.toml --picture lattice.svg",
        "shoal.plot.LatticeGraph",
        aliases=["domain generalisation hierarchy", "DGHs"],
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
        aliases=["GT", "MGT", "generalised table with suppression", "release table"],
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
    _word(
        "Samarati's algorithm",
        f"{SURVEY}, section 3.3.4",
        "a binary search for the lowest height of the lattice at which some node keeps k-anonymity within MaxSup",
        '[method] algorithm = "samarati"',
        "docs/algorithms/samarati.md",
    ),
    _word(
        "Sweeney's algorithm",
        f"{SURVEY}, section 3.4",
        "Datafly: the attribute of most different values is generalised until at most k rows are left to suppress",
        '[method] algorithm = "datafly", suppression = "k"',
        "docs/algorithms/datafly.md",
    ),
    _word(
        "comparison of the algorithms",
        f"{SURVEY}, section 3.5",
        "what Incognito's, Samarati's and Sweeney's algorithms find in the same tables, and how long they look",
        "shoal study searches",
        "shoal compare TABLE --policy policy.toml",
    ),
    # Wang, Xu and Qu
    _word(
        "(alp, dif)-anonymity",
        f"{LEAKAGE}, section III.B",
        "k-anonymity in which no sensitive value has an average leakage probability above alp, and none a leakage "
        "probability above the average by more than dif",
        '[[require]] model = "alp-dif", alp = { HIV = 0.5 }, dif = { HIV = 0.3 }',
        "shoal measure: alp-dif",
        aliases=["(alp, dif)"],
    ),
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
        "range of ALP",
        f"{LEAKAGE}, theorem 2",
        "the average leakage probability of a value is at least y/N, its share of all N rows; no less can be asked",
        "shoal anonymize: less is refused before the search, with the least alp",
    ),
    _word(
        "information loss",
        f"{LEAKAGE}, equation 9",
        "of a label: (its leaves − 1) / (leaves of the domain); of a table: the sum over its cells",
        "shoal metrics: leaf-loss",
        '[method] metric = "loss"',
    ),
    _word(
        "importance weight",
        f"{LEAKAGE}, equation 10",
        "W: how much each attribute matters where the loss of a step is weighed",
        "[attributes.COLUMN] importance = 0.5",
        '[method] weighting = "paper"',
        aliases=["W"],
    ),
    _word(
        "greedy generalisation algorithm",
        f"{LEAKAGE}, section III.C",
        "the step that costs least is taken again and again: until k-anonymity holds within v, then until (alp, dif) "
        "does",
        '[method] algorithm = "greedy", suppression = { rows = 2 }',
        "docs/algorithms/greedy.md",
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
        "Prec of full-domain generalisation",
        f"{LEAKAGE}, equation 12",
        "Prec where every cell of an attribute is at one level: 1 less the mean over attributes of level / height",
        "shoal metrics: prec-full-domain",
    ),
    _word(
        "attacked records",
        f"{LEAKAGE}, figures 4 to 10",
        "how many records a homogeneity attack tells of, beside the time and Prec, as k grows",
        "shoal study leakage",
    ),
    _word(
        "v",
        f"{LEAKAGE}, section III.C",
        "the suppression threshold: the most tuples that may be suppressed for k-anonymity",
        "[method] suppression = { rows = 2 }",
        aliases=["suppression threshold v"],
    ),
    _word(
        "generalisation tree",
        f"{LEAKAGE}, figures 1 and 2",
        "the hierarchy of one attribute: its values are the leaves, the root stands for all of them",
        "[attributes.COLUMN] hierarchy = { tree = … } or { intervals = … }",
        aliases=["taxonomy tree"],
    ),
    _word(
        "generalisation lattice",
        f"{LEAKAGE}, figure 3",
        "all combinations of one level for each attribute, from none generalised to all at their top; each is a node, "
        "and the nodes above it are those with a level more",
        "shoal lattice TABLE --policy policy.toml --picture lattice.svg",
        "shoal.plot.LatticeGraph",
        aliases=["lattice"],
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
    _word(
        "aggregate query",
        f"{BOXES}, section 2.4",
        "COUNT, SUM or AVG over the rows that satisfy a condition, answered from the release",
        "shoal workload TABLE OUT --queries queries.toml",
        aliases=["query"],
    ),
    _word(
        "weighted workload",
        f"{BOXES}, section 2.4, end",
        "the queries that a release is to answer well, each with how much it matters",
        '[method] algorithm = "mondrian-workload", workload = "queries.toml"',
        "weight = 2 of a query in queries.toml",
    ),
    _word(
        "spatial representation",
        f"{BOXES}, figure 1",
        "rows as points of a space with one axis for each attribute, and the regions into which they are cut",
        "shoal.plot.Boxes",
    ),
)


def _own(name: str, meaning: str, *use: str, source: str = "", aliases: Sequence[str] = ()) -> Term:
    return Term(name, "word of Shoal", meaning, use, source, tuple(aliases))


OWN_WORDS: tuple[Term, ...] = (
    _own(
        "blocking",
        "rows are added to a release until no rule tells a sensitive value with too much confidence (BIC)",
        "[blocking] confidence = 0.8",
        "shoal block TABLE --sensitive … --confidence 0.5, docs/algorithms/blocking.md",
        source=CHANNELS,
    ),
    _own(
        "l-diversity",
        "every class has at least l sensitive values that are well represented, which three models say in three ways: "
        "l different values, an entropy of log l, or a most frequent value below c times the l-th and all rarer ones",
        '[[require]] model = "distinct-l-diversity", l = 2',
        '[[require]] model = "entropy-l-diversity", l = 2',
        '[[require]] model = "recursive-cl-diversity", c = 3, l = 2',
        source="Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ICDE 2006",
    ),
    _own(
        "m-invariance",
        "in every release of a growing table, a person stands among the same m or more sensitive values, so that "
        "several releases together tell no more than one",
        '[republish] way = "m-invariance", m = 2',
        "shoal republish, docs/republish.md",
        source="Xiao and Tao, SIGMOD 2007",
    ),
)
