"""The policy as a value, as TOML, and as a JSON Schema."""

import json
import tomllib
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
import tomli_w

from shoal.data.class_counts import ClassCounts, ValueCounts
from shoal.data.codes import encode
from shoal.errors import BadHierarchy, BadPolicy, ShoalWarning
from shoal.hierarchy.build import BUILDERS, build
from shoal.methods import ALGORITHMS
from shoal.models import MODELS
from shoal.models.alpha_k import AlphaK
from shoal.models.k_anonymity import KAnonymity
from shoal.policy.document import Policy
from shoal.policy.method import Method
from shoal.roles import Role

K5 = {"model": "k-anonymity", "k": 5}

HIERARCHIES = {
    "csv": {"csv": "hierarchies/education.csv"},
    "dates": {"dates": ["month", "year"], "format": "%d.%m.%Y"},
    "edges": {"edges": [[10, 20, 30], [20]]},
    "flat": {"flat": True},
    "hipaa": {"hipaa": "zip3"},
    "intervals": {"intervals": [2.5, 5, 10], "bottom": 20, "top": 80},
    "mask": {"mask": "left", "char": "#"},
    "rows": {"rows": [["a", "x", "*"], ["b", "x", "*"]]},
    "tree": {"tree": {"person": {"a b": ["asian", "black"], "c": ["white"]}}},
    "bottom": {"bottom": 10},
    "top": {"bottom": -2.5, "top": 90},
}


def minimal(**more):
    return {"attributes": {"age": {"role": "quasi-identifier"}}, "require": [K5], **more}


def test_every_hierarchy_is_among_the_examples():
    assert set(HIERARCHIES) == set(BUILDERS)


FULL = {
    "format": 1,
    "data": {"missing": ["", "?"], "delimiter": ";", "decimal": ",", "normalise": True, "others": "drop"},
    "attributes": {
        **{f"q {key}": {"role": "quasi-identifier", "hierarchy": spec} for key, spec in HIERARCHIES.items()},
        "wéight": {"role": "quasi-identifier", "importance": 0.1, "min-level": 1, "max-level": 2},
        "name": {"role": "identifier"},
        "note": {"role": "insensitive", "confirm": True},
        "disease": {"role": "sensitive", "hierarchy": {"tree": {"*": ["HIV", "flu"]}}},
    },
    "require": [
        K5,
        {"model": "distinct-l-diversity", "l": 2, "attribute": "disease"},
        {"model": "alpha-k", "alpha": {"HIV": 0.1, "a.b": 0.3333333333333333}, "k": 3, "null-is-value": True},
    ],
    "method": {"algorithm": "datafly", "suppression": 0.29, "metric": "loss-geometric", "time-limit": 1.5, "seed": 7},
    "release": {"order": "keep", "suppressed": "show", "spreadsheet-safe": False},
}


def loaded(tmp_path, document, name="policy.toml"):
    path = tmp_path / name
    path.write_text(tomli_w.dumps(document), "utf-8")
    return Policy.load(path)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(FULL, id="everything"),
        pytest.param(minimal(), id="nothing"),
        pytest.param(minimal(method={"suppression": "k"}), id="Sweeney's rule"),
        pytest.param(minimal(method={"suppression": 1.0}), id="all rows"),
        pytest.param(minimal(method={"suppression": {"rows": 2}}), id="a number of rows"),
        pytest.param(minimal(method={"model": "AG_CS"}), id="a model of the survey"),
        *(
            pytest.param(
                minimal(attributes={"q": {"role": "quasi-identifier", "hierarchy": spec}}), id=f"hierarchy {key}"
            )
            for key, spec in HIERARCHIES.items()
        ),
    ],
)
def test_round_trip(tmp_path, document):
    first = loaded(tmp_path, document)
    first.save(tmp_path / "again.toml")
    second = Policy.load(tmp_path / "again.toml")
    assert second == first
    assert second.document() == first.document()
    second.save(tmp_path / "third.toml")
    assert (tmp_path / "third.toml").read_bytes() == (tmp_path / "again.toml").read_bytes()


def test_saving_a_full_policy_loses_nothing(tmp_path):
    policy = loaded(tmp_path, FULL)
    policy.save(tmp_path / "again.toml")
    again = tomllib.loads((tmp_path / "again.toml").read_text("utf-8"))
    assert again["attributes"] == FULL["attributes"]
    assert again["method"] == FULL["method"]
    assert again["release"] == FULL["release"]
    assert again["data"] == FULL["data"]
    assert again["require"] == FULL["require"]


@pytest.mark.parametrize(
    "form",
    [[5, 10], [["a", "*"], ["b", "*"]], {0: ["a", "b"], 1: ["*", "*"]}],
    ids=["widths", "list of lists", "levels"],
)
def test_forms_from_python_are_saved(tmp_path, form):
    policy = Policy(attributes={"q": {"role": "quasi-identifier", "hierarchy": form}}, require=[KAnonymity(5)])
    policy.save(tmp_path / "policy.toml")
    assert Policy.load(tmp_path / "policy.toml") == policy


def test_functions_cannot_be_saved(tmp_path):
    policy = Policy(attributes={"q": {"role": "quasi-identifier", "hierarchy": str.upper}}, require=[K5])
    with pytest.raises(BadHierarchy, match=r"attributes\.q: .* cannot be saved"):
        policy.save(tmp_path / "policy.toml")
    assert not (tmp_path / "policy.toml").exists()


def test_short_roles():
    policy = Policy(attributes={"age": "quasi-identifier"}, require=[K5])
    assert policy == Policy(**minimal())


def test_hierarchies_lie_beside_the_policy(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    policy = loaded(folder, minimal(attributes={"q": {"role": "quasi-identifier", "hierarchy": {"csv": "q.csv"}}}))
    assert policy.attributes["q"].hierarchy.base == folder
    assert Policy(attributes={"q": {"role": "quasi-identifier", "hierarchy": {"csv": "q.csv"}}}, require=[K5]) == policy
    assert policy.attributes["q"].hierarchy.base != Path()


SEX = "f;person;*\nm;person;*\n"


def with_file(folder, path="hierarchies/sex.csv"):
    """A policy in a folder whose hierarchy is a file."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SEX)
    return loaded(folder, qi(hierarchy={"csv": path}))


def built(policy):
    return build(encode("sex", pa.array(["m", "f"])), policy.attributes["age"].hierarchy).labels


@pytest.mark.parametrize(
    ("elsewhere", "written"),
    [
        (".", "hierarchies/sex.csv"),
        ("deeper", "../hierarchies/sex.csv"),
        ("hierarchies", "sex.csv"),
        ("../other/folder", "../../here/hierarchies/sex.csv"),
    ],
)
def test_a_policy_saved_elsewhere_finds_its_hierarchies(tmp_path, monkeypatch, elsewhere, written):
    here = tmp_path / "here"
    here.mkdir()
    policy = with_file(here)
    (here / elsewhere).mkdir(parents=True, exist_ok=True)
    policy.save(here / elsewhere / "again.toml")
    again = Policy.load(here / elsewhere / "again.toml")
    assert again.attributes["age"].hierarchy.path == written
    assert built(again) == built(policy)
    assert (again == policy) == (elsewhere == ".")
    again.save(here / "back.toml")
    assert Policy.load(here / "back.toml") == policy
    monkeypatch.chdir(here / elsewhere)
    assert built(Policy.load("again.toml")) == built(policy)


def test_a_policy_made_in_python_is_saved_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sex.csv").write_text(SEX)
    (tmp_path / "out").mkdir()
    Policy(**qi(hierarchy={"csv": "sex.csv"})).save("out/policy.toml")
    assert Policy.load("out/policy.toml").attributes["age"].hierarchy.path == "../sex.csv"
    assert built(Policy.load("out/policy.toml"))[0] == ("f", "m")


def test_a_policy_saved_behind_a_link(tmp_path):
    """From a linked folder `..` leads to the parent of the folder itself."""
    policy = with_file(tmp_path / "a" / "b")
    (tmp_path / "far" / "away" / "real").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away" / "real", target_is_directory=True)
    policy.save(tmp_path / "link" / "policy.toml")
    assert built(Policy.load(tmp_path / "link" / "policy.toml")) == built(policy)


def test_an_absolute_path_stays(tmp_path):
    file = str(tmp_path / "sex.csv")
    (tmp_path / "out").mkdir()
    policy = loaded(tmp_path, qi(hierarchy={"csv": file}))
    policy.save(tmp_path / "out" / "policy.toml")
    assert Policy.load(tmp_path / "out" / "policy.toml").attributes["age"].hierarchy.path == file


def qi(**more):
    return minimal(attributes={"age": {"role": "quasi-identifier", **more}})


def refused(document):
    with pytest.raises(BadPolicy) as caught:
        Policy(**document)
    said = str(caught.value)
    assert "\n" not in said
    assert "pydantic" not in said
    return said


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (minimal(methods={}), "methods: unknown key (did you mean 'method'?)"),
        (minimal(method={"supression": 0.1}), "method.supression: unknown key (did you mean 'suppression'?)"),
        (minimal(method={"time_limits": 1}), "method.time_limits: unknown key (did you mean 'time-limit'?)"),
        (minimal(data={"missings": []}), "data.missings: unknown key (did you mean 'missing'?)"),
        (
            minimal(attributes={"sex": {"rol": "quasi-identifier", "hierarchy": {"flat": True}}}),
            "attributes.sex.rol: unknown key (did you mean 'role'?)",
        ),
        (minimal(attributes={"sex": {"kind": "quasi-identifier"}}), "attributes.sex.kind: unknown key; known: role,"),
        (
            {"atributes": {"age": {"max-level": 1}}, "require": []},
            "atributes: unknown key (did you mean 'attributes'?)",
        ),
        (minimal(release={"ordre": "keep"}), "release.ordre: unknown key (did you mean 'order'?)"),
        (
            minimal(attributes={"age": {"role": "quasi-identifier", "max-levels": 2}}),
            "attributes.age.max-levels: unknown key (did you mean 'max-level'?)",
        ),
        (
            minimal(require=[K5, {"model": "k-anonimity", "k": 5}]),
            "the 2nd [[require]]: model 'k-anonimity' is not known (did you mean 'k-anonymity'?)",
        ),
        (
            minimal(require=[{"model": "alpha-k", "alpha": 0.5, "null-is-values": True}]),
            "the 1st [[require]]: alpha-k has no parameter 'null-is-values' (did you mean 'null-is-value'?)",
        ),
        (minimal(require=[{"model": "alpha-k", "alfa": 0.5}]), "has no parameter 'alfa' (did you mean 'alpha'?)"),
        (
            minimal(attributes={"age": {"role": "quasi-identifier", "hierarchy": {"interval": [5]}}}),
            "attributes.age.hierarchy: hierarchy has an unknown key 'interval'; did you mean 'intervals'?",
        ),
    ],
)
def test_unknown_keys_name_the_nearest(document, says):
    assert says in refused(document)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"require": [K5]}, "attributes: is missing"),
        ({"attributes": {"age": "quasi-identifier"}}, "require: is missing"),
        (minimal(require=[]), "require: a policy promises at least one model"),
        (minimal(attributes={"age": "sensitive"}), "at least one column must have the role 'quasi-identifier'"),
        (minimal(attributes={"age": "quasi"}), "attributes.age.role: "),
        (minimal(attributes={"age": {}}), "attributes.age.role: is missing"),
        (minimal(require=[{"model": "k-anonymity"}]), "the 1st [[require]]: k-anonymity needs k"),
        (minimal(require=[{"k": 5}]), "the 1st [[require]]: "),
        (minimal(require=["k-anonymity"]), "the 1st [[require]]: a model is a table"),
        (minimal(require=[{"model": "distinct-l-diversity", "l": 2}]), "needs a column with the role 'sensitive'"),
        (
            minimal(require=[{"model": "distinct-l-diversity", "l": 2, "attribute": "age"}]),
            "is about 'age', which has not the role 'sensitive'",
        ),
        (minimal(method={"time-limit": 0}), "method.time-limit: "),
        (minimal(method={"metric": "los"}), "method.metric: "),
        (
            minimal(method={"generalise": "cell", "algorithm": "datafly"}),
            "method: algorithm = 'datafly' does not fit generalise = 'cell' with suppress = 'tuple'; it is for ",
        ),
        (minimal(method={"algorithm": "mondrian-workload"}), "method: algorithm = 'mondrian-workload' needs a target"),
        (minimal(release={"ranges": "observed"}), "release.ranges = 'observed' is for boxes"),
        (qi(form="mean"), "attributes.age: form has no meaning for algorithm = 'optimal'"),
        (qi(order=["a"]), "attributes.age: order has no meaning for algorithm = 'optimal'"),
        (minimal(method={"algorithm": "anatomy"}), "require: k-anonymity is about who is in the table"),
        (minimal(attributes={"age": {"role": "quasi-identifier", "importance": 2}}), "attributes.age.importance: "),
        (
            minimal(attributes={"age": {"role": "quasi-identifier", "min-level": 2, "max-level": 1}}),
            "attributes.age: min-level 2 lies above max-level 1",
        ),
        (
            minimal(attributes={"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 25]}}}),
            "attributes.age.hierarchy: ",
        ),
        (
            minimal(
                attributes={"age": "quasi-identifier", "d": "sensitive"},
                require=[{"model": "distinct-l-diversity", "l": 2}],
                method={"suppression": "k"},
            ),
            "needs a required model with a k",
        ),
        (minimal(format=2), "format: "),
    ],
)
def test_errors_name_the_place(document, says):
    assert says in refused(document)


@pytest.mark.parametrize("k", [0, -1, 1.5, "abc", float("inf"), float("nan"), True])
def test_k_is_refused_with_its_place(k):
    """Bad input 4."""
    said = refused(minimal(require=[{"model": "k-anonymity", "k": k}]))
    assert said == f"the 1st [[require]]: k must be a whole number of at least 1, not {k!r}"


@pytest.mark.parametrize("share", [1.1, -0.1, True, False, "0.5", "K", None, float("nan"), float("inf"), [0.5]])
def test_a_suppression_is_a_share_rows_or_k(share):
    said = refused(minimal(method={"suppression": share}))
    expected = f'a share from 0 to 1, a number of rows such as {{ rows = 2 }}, or "k", not {share!r}'
    assert said == f"method.suppression: {expected}"


@pytest.mark.parametrize("share", [0, 1.0, 0.5, "k"])
def test_valid_suppressions_are_accepted(share):
    assert Policy(**minimal(method={"suppression": share})).method.suppression == share


@pytest.mark.parametrize("one", [1, np.int64(1)])
def test_a_bare_1_is_refused_with_both_spellings(one):
    said = refused(minimal(method={"suppression": one}))
    assert said == (
        "method.suppression: 1 could be all rows or one row; write 1.0 for a share of all, { rows = 1 } for one row"
    )


@pytest.mark.parametrize(
    "rows", [{"rows": 2.5}, {"rows": -1}, {"rows": True}, {"row": 2}, {"rows": 2, "share": 0.1}, {}]
)
def test_a_limit_of_no_number_of_rows_is_refused_in_one_sentence(rows):
    said = refused(minimal(method={"suppression": rows}))
    wanted = 'a share from 0 to 1, a number of rows such as { rows = 2 }, or "k"'
    assert said == f"method.suppression: {wanted}, not {rows!r}"


@pytest.mark.parametrize("name", ["CG_TS", "CG_AS"])
def test_cells_with_rows_or_columns_left_out_are_none_of_the_nine_models(name):  # S2.3
    said = refused(minimal(method={"model": name}))
    assert said == (
        f"method: model = {name!r} is none of the nine: where single cells are generalised, every class can be met "
        "without leaving out rows or columns; write model = 'CG_'"
    )


def test_a_larger_whole_number_is_refused_with_its_spelling_as_rows():
    said = refused(minimal(method={"suppression": 20}))
    assert said == "method.suppression: a share from 0 to 1, not 20; write { rows = 20 } for 20 rows"


@pytest.mark.parametrize(("rows", "table", "most"), [(0, 9, 0), (2, 9, 2), (2, 30_000, 2), (9, 4, 4)])
def test_maxsup_counts_rows(rows, table, most):
    """S2.5: MaxSup, and v of S3.4, are numbers of rows."""
    assert Policy(**minimal(method={"suppression": {"rows": rows}})).suppressible(table) == most


@pytest.mark.parametrize("rows", [-1, 1.5, True, "2", None])
def test_a_number_of_rows_is_whole(rows):
    assert "suppression" in refused(minimal(method={"suppression": {"rows": rows}}))


@pytest.mark.parametrize("limit", [{"row": 2}, {"rows": 2, "share": 0.1}, {}])
def test_other_keys_beside_rows_are_refused(limit):
    assert "suppression" in refused(minimal(method={"suppression": limit}))


def test_rows_of_a_model_without_suppression_of_tuples_are_a_contradiction():
    said = refused(minimal(method={"suppress": "none", "suppression": {"rows": 2}}))
    assert "suppress = 'none'" in said
    assert "leave one of them out" in said
    Policy(**minimal(method={"suppress": "none", "suppression": {"rows": 0}}))


@pytest.mark.parametrize(
    ("model", "generalise", "suppress"),
    [
        ("AG_TS", "attribute", "tuple"),
        ("AG_AS", "attribute", "attribute"),
        ("AG_CS", "attribute", "cell"),
        ("AG_", "attribute", "none"),
        ("CG_CS", "cell", "cell"),
        ("CG_", "cell", "none"),
        ("_TS", "none", "tuple"),
        ("_AS", "none", "attribute"),
        ("_CS", "none", "cell"),
    ],
)
def test_the_nine_models_are_aliases(model, generalise, suppress):
    """S2.3."""
    pair = {"generalise": generalise, "suppress": suppress}
    assert Policy(**minimal(method={"model": model})) == Policy(**minimal(method=pair))
    assert Policy(**minimal(method={"model": model, **pair})) == Policy(**minimal(method=pair))


def test_other_spellings_of_the_method_are_understood():
    assert Policy(**minimal(method={"model": "ag_ts"})) == Policy(**minimal(method={"model": "AG_TS"}))
    american = Policy(**minimal(method={"generalize": "cell"}))
    assert american == Policy(**minimal(method={"generalise": "cell"}))
    assert american.document()["method"]["generalise"] == "cell"
    both = minimal(method={"generalise": "cell", "generalize": "cell"})
    assert refused(both) == "method: generalise and generalize are one key; leave one of them out"
    assert "model = 'CG_TS' is none of the nine" in refused(minimal(method={"model": "cg_ts"}))
    assert "'ag_xs'" in refused(minimal(method={"model": "ag_xs"}))


@pytest.mark.parametrize(("model", "suppress"), [("AG_", "none"), ("AG_CS", "cell"), ("_CS", "cell")])
def test_a_contradicting_number_of_rows_is_written_as_in_a_policy(model, suppress):
    said = refused(minimal(method={"model": model, "suppression": {"rows": 2}}))
    assert said == (
        f"method: suppress = '{suppress}' and suppression = {{ rows = 2 }} contradict each other; leave one of them out"
    )


@pytest.mark.parametrize(
    ("model", "says", "helps"),
    [
        ("AG_CS", "with suppress = 'cell' (AG_CS) single cells are * beside it; use suppress = 'tuple'", "AG_TS"),
        ("CG_", "'local' does not; use algorithm = 'optimal' (AG_TS), which does", "AG_TS"),
    ],
)
def test_a_limit_of_levels_is_refused_with_what_helps(model, says, helps):
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "max-level": 1}
    assert says in refused(minimal(attributes={"age": age}, method={"model": model}))
    assert accepted(minimal(attributes={"age": age}, method={"model": helps}))


def test_a_limit_of_levels_is_refused_where_nothing_is_generalised():
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}, "max-level": 1}
    for model in ("_TS", "_AS", "_CS"):
        said = refused(minimal(attributes={"age": age}, method={"model": model}))
        assert said == "attributes.age: max-level has no meaning where generalise = 'none'; leave one of them out"


def test_an_alias_that_contradicts_its_pair_is_refused():
    said = refused(minimal(method={"model": "AG_TS", "generalise": "cell"}))
    assert "model = 'AG_TS' is generalise = 'attribute', not 'cell'; leave one of them out" in said
    assert "'mondrian' does not fit" in refused(minimal(method={"model": "AG_TS", "algorithm": "mondrian"}))
    assert "method.model" in refused(minimal(method={"model": "AG_XS"}))


@pytest.mark.parametrize("odd", [True, False, "1", "0.5", [1], {}])
def test_flags_and_texts_are_no_numbers(odd):
    assert refused(qi(importance=odd)) == f"attributes.age.importance: must be a number, not {odd!r}"
    assert refused(qi(**{"min-level": odd})) == f"attributes.age.min-level: must be a whole number, not {odd!r}"
    assert refused(qi(**{"max-level": odd})) == f"attributes.age.max-level: must be a whole number, not {odd!r}"
    assert refused(minimal(method={"time-limit": odd})) == f"method.time-limit: must be a number, not {odd!r}"
    assert refused(minimal(method={"seed": odd})) == f"method.seed: must be a whole number, not {odd!r}"
    assert refused(minimal(format=odd)) == f"format: must be a whole number, not {odd!r}"


@pytest.mark.parametrize("odd", [1, 0, "yes", "false"])
def test_numbers_and_texts_are_no_flags(odd):
    assert "attributes.note.confirm: " in refused(minimal(attributes={"note": {"role": "insensitive", "confirm": odd}}))
    assert "data.normalise: " in refused(minimal(data={"normalise": odd}))
    assert "release.spreadsheet-safe: " in refused(minimal(release={"spreadsheet-safe": odd}))
    model = {"model": "alpha-k", "alpha": 0.5, "null-is-value": odd}
    assert refused(minimal(require=[model])) == f"the 1st [[require]]: null-is-value must be true or false, not {odd!r}"


@pytest.mark.parametrize("whole", [1, np.int64(1)])
def test_whole_numbers_are_numbers(whole):
    assert Policy(**qi(importance=whole)).attributes["age"].importance == 1
    assert Policy(**minimal(method={"time-limit": whole})).method.time_limit == 1
    assert Policy(**qi(**{"max-level": whole})).attributes["age"].max_level == 1


def test_null_may_be_a_value():
    """Design 7: the flag reaches the model of every sensitive attribute."""
    document = minimal(
        attributes={"age": "quasi-identifier", "a": "sensitive", "b": "sensitive"},
        require=[{"model": "distinct-l-diversity", "l": 2, "null-is-value": True}, {"model": "alpha-k", "alpha": 0.5}],
    )
    assert [(model.name, model.about, model.null_is_value) for model in Policy(**document).models] == [
        ("distinct-l-diversity", "a", True),
        ("distinct-l-diversity", "b", True),
        ("alpha-k", "a", False),
        ("alpha-k", "b", False),
    ]
    assert Policy(**document).document()["require"][0] == document["require"][0]
    VALIDATOR.validate(document)


@pytest.mark.parametrize(
    ("given", "completed"),
    [
        ({}, ("attribute", "tuple", "optimal")),
        ({"algorithm": "datafly"}, ("attribute", "tuple", "datafly")),
        ({"suppress": "none"}, ("attribute", "none", "optimal")),
        ({"suppress": "cell"}, ("attribute", "cell", "optimal")),
        ({"generalise": "cell"}, ("cell", "none", "local")),
        ({"generalise": "cell", "suppress": "cell"}, ("cell", "cell", "local")),
        ({"algorithm": "mondrian"}, ("cell", "none", "mondrian")),
        ({"algorithm": "mondrian-single"}, ("attribute", "tuple", "mondrian-single")),
        ({"generalise": "none"}, ("none", "tuple", "suppress")),
        ({"generalise": "none", "suppress": "cell"}, ("none", "cell", "suppress")),
        ({"algorithm": "anatomy"}, ("none", "none", "anatomy")),
    ],
)
def test_what_is_left_out_of_the_method_is_the_first_that_fits(given, completed):
    """S2.3: nine models, one pair of options."""
    method = Method(**given)
    assert (method.generalise, method.suppress, method.algorithm) == completed
    assert Method(**method.model_dump(exclude_defaults=True)) == method


def test_without_generalisation_all_rows_that_fail_may_be_left_out():
    assert Method(generalise="none").suppression == 1
    assert Method(generalise="none", suppression=0.1).suppression == 0.1


def test_keys_of_a_later_version_are_refused():
    for key, what in {
        "categories": "categories of sensitive values are",
    }.items():
        said = refused(minimal(attributes={"age": "quasi-identifier", "d": {"role": "sensitive", key: ["a"]}}))
        assert said == f"attributes.d.{key}: {what} not in this version; leave the key out"


@pytest.mark.parametrize(
    "role", [role for role in Role if role not in {Role.QUASI_IDENTIFIER, Role.IDENTIFIER, Role.UNIT}]
)
@pytest.mark.parametrize(
    ("key", "value"), [("hierarchy", {"mask": "right"}), ("importance", 0.5), ("min-level", 0), ("max-level", 1)]
)
def test_only_quasi_identifiers_are_generalised(role, key, value):
    document = minimal(attributes={"age": "quasi-identifier", "name": {"role": role, key: value}})
    if role is Role.SENSITIVE and key == "hierarchy":
        assert accepted(document)
    else:
        assert refused(document) == f"attributes.name: {key} has no meaning for the role '{role}'; leave it out"


@pytest.mark.parametrize("role", ["identifier", "unit"])
def test_what_is_left_over_of_a_dropped_column_is_a_note(role):
    left = {"role": role, "hierarchy": {"mask": "right"}, "importance": 0.5, "min-level": 0}
    document = minimal(attributes={"age": "quasi-identifier", "name": left})
    with pytest.warns(ShoalWarning, match="hierarchy, importance, min-level of 'name' is ignored, since it is dropped"):
        policy = Policy(**document)
    assert policy.document()["attributes"]["name"] == {"role": role}


def test_a_promise_about_a_dropped_column_is_a_note_unless_it_limits_classes():
    near = {"model": "t-closeness", "t": 0.3, "attribute": "ill"}
    document = minimal(attributes={"age": "quasi-identifier", "ill": {"role": "identifier", "round": 5}})
    document["require"] = [*document["require"], near]
    said = "round of 'ill' and t-closeness on 'ill' is ignored, since it is dropped"
    with pytest.warns(ShoalWarning, match=said):
        policy = Policy(**document)
    assert [model.name for model in policy.require] == ["k-anonymity"]
    document["attributes"]["ill"] = "identifier"
    document["require"] = [{"model": "alpha-k", "alpha": 0.5, "k": 7, "attribute": "ill"}]
    assert "delete this [[require]]" in refused(document)


def test_useless_keys_and_promises_are_told_in_one_sentence():
    document = minimal(attributes={"age": {"role": "quasi-identifier", "round": 5, "top": 90}})
    assert refused(document) == (
        "attributes.age: round and top have no meaning for the role 'quasi-identifier'; leave them out"
    )
    document = minimal(attributes={"age": "quasi-identifier", "pay": "insensitive", "vote": "insensitive"})
    document["require"] = [{"model": "distinct-l-diversity", "l": 2, "attribute": name} for name in ("pay", "vote")]
    assert refused(document) == (
        "require: distinct-l-diversity is about 'pay' and distinct-l-diversity is about 'vote', which have not the "
        "role 'sensitive'; give them that role, or delete these [[require]]"
    )


@pytest.mark.parametrize("share", [0.5, "k"])
def test_suppress_none_contradicts_a_suppression(share):
    said = refused(minimal(method={"suppress": "none", "suppression": share}))
    assert said == f"method: suppress = 'none' and suppression = {share!r} contradict each other; leave one of them out"
    assert accepted(minimal(method={"suppress": "none", "suppression": 0}))


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in {"anatomy", "mondrian-workload"}])
def test_what_an_algorithm_does_not_read_is_no_contradiction(algorithm):
    """Neither alone nor together with what would have to fit it, were it read."""
    method = Policy(**minimal(method={"algorithm": algorithm, "suppression": "k", "time-limit": 9})).method
    later = method.in_effect
    assert later.ignored == {}
    assert {key: getattr(later, key) for key in method.ignored} == {
        key: Method.model_fields[key].default for key in method.ignored
    }
    unread = minimal(
        require=[{"model": "distinct-l-diversity", "l": 2}],
        attributes={"age": "quasi-identifier", "d": "sensitive"},
        method={"algorithm": algorithm, "suppression": "k"},
    )
    if "suppression" in method.ignored:
        assert accepted(unread)
    else:
        assert "needs a required model with a k" in refused(unread)


def test_one_quasi_identifier_must_have_importance():
    unimportant = {"role": "quasi-identifier", "importance": 0}
    said = refused(minimal(attributes={"age": unimportant, "sex": unimportant, "d": "sensitive"}))
    assert said == "attributes: importance is 0 for every quasi-identifier; one at least must matter"
    assert accepted(minimal(attributes={"age": unimportant, "sex": "quasi-identifier"}))


def test_the_number_of_further_errors_is_told():
    assert refused(minimal(method={"seed": "x", "metric": "y"})).endswith("(and 1 more)")
    assert refused(minimal(method={"seed": "x", "metric": "y", "magic": 1})).endswith("(and 2 more)")


def test_a_misspelt_algorithm_is_told_the_nearest_one():
    assert refused(minimal(method={"algorithm": "locl"})).endswith("not 'locl' (did you mean 'local'?)")
    assert refused(minimal(method={"algorithm": "simulated"})).endswith("not 'simulated'")


@pytest.mark.parametrize(("name", "generalise"), [("cell-suppression", "attribute"), ("suppress-cells", "none")])
def test_a_name_of_comparisons_is_told_its_options(name, generalise):
    said = refused(minimal(method={"algorithm": name}))
    written = f'generalise = "{generalise}" and suppress = "cell"'
    assert said == f"method.algorithm: {name!r} is no algorithm of its own; write {written}, and no algorithm"
    assert accepted(minimal(method={"generalise": generalise, "suppress": "cell"}))


def test_a_misspelt_role_is_one_error():
    misspelt = {"rol": "sensitive", "hierarchy": {"flat": True}}
    assert refused(minimal(attributes={"sex": misspelt})).endswith("round, bottom, top, confirm")
    assert refused(minimal(attributes={"sex": {**misspelt, "rund": 5}})).startswith("attributes.sex.rol: unknown key")
    assert refused(minimal(attributes={"sex": {**misspelt, "rund": 5}})).endswith("(and 1 more)")
    assert refused(minimal(attributes={"sex": misspelt, "age": misspelt})).endswith("(and 1 more)")


def test_a_hierarchy_without_a_role_is_no_name_with_dots():
    assert refused(minimal(attributes={"sex": {"hierarchy": {"flat": True}}})) == "attributes.sex.role: is missing"


def test_a_column_may_be_called_anything():
    for name in ("float", "literal[x", "function-before", "constrained-float"):
        said = refused(minimal(attributes={"age": "quasi-identifier", name: {"role": "x"}}))
        assert said.startswith(f"attributes.{name}.role: ")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"attributes = [", "policy.toml: not TOML: "),
        (
            b"[[require]]\nk = five\n",
            "policy.toml: line 2: what stands after = is no value: text needs quotes",
        ),
        (
            b"[method]\nsuppression = 0,02\n",
            "policy.toml: line 2: the line should end after one value: text",
        ),
        (
            b"[attributes.Geb.-Dat.]\nrole = 'identifier'\n",
            "policy.toml: line 1: a name with dots, spaces or letters other than a to z needs quotes",
        ),
        (b"[attributes.Kostentr\xc3\xa4ger]\n", "policy.toml: line 1: a name with dots, spaces or letters"),
        (
            b"[attributes.T.categ]\nrole = 'sensitive'\n[[require]]\nmodel = 'k-anonymity'\nk = 2\n",
            'policy.toml: attributes.T.role: is missing; a name with dots needs quotes: [attributes."T.categ"]',
        ),
        (
            b"[[require]]\nk = 5\n[attributes.a]\nrole = 'quasi-identifier'\n",
            "policy.toml: the 1st [[require]]: model is missing",
        ),
        *(
            (b"[attributes.a]\nrole = 'quasi-identifier'\n" + require, f"policy.toml: {where}: a promise begins with")
            for require, where in (
                (b"[require]\nmodel = 'k-anonymity'\nk = 2\n", "require"),
                (b"[require]\nmodel = 'k-anonymity'\nk = 2\n[require]\nmodel = 'k-map'\n", "line 3"),
                (b"[[require]]\nmodel = 'k-anonymity'\nk = 2\n[require]\nmodel = 'k-map'\n", "line 6"),
                (b"[require]\nmodel = 'k-anonymity'\nk = 2\n[[require]]\nmodel = 'k-map'\n", "line 3"),
            )
        ),
        (b"age,sex\n31,f\n", "policy.toml: line 1: a line is a name, = and a value"),
        (b"\xff\xfe\x00", "policy.toml: it is no text in UTF-8; is this file a policy, or the table?"),
        (b"[attributes.age]\nrole = 'x'\n", "policy.toml: attributes.age.role: "),
    ],
)
def test_files_that_cannot_be_loaded(tmp_path, content, says):
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    with pytest.raises(BadPolicy) as caught:
        Policy.load(path)
    assert str(caught.value).startswith(says)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadPolicy, match=r"nowhere\.toml: there is no such policy file"):
        Policy.load(tmp_path / "nowhere.toml")


def test_a_byte_order_mark_is_ignored(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text("\ufeff" + tomli_w.dumps(minimal()), "utf-8")
    assert Policy.load(path) == Policy(**minimal())


def test_models_without_attribute_are_about_every_sensitive_one():
    policy = Policy(
        attributes={"age": "quasi-identifier", "a": "sensitive", "b": "sensitive"},
        require=[K5, {"model": "distinct-l-diversity", "l": 2}, {"model": "alpha-k", "alpha": 0.5, "attribute": "b"}],
    )
    assert [(model.name, getattr(model, "attribute", None)) for model in policy.models] == [
        ("k-anonymity", None),
        ("distinct-l-diversity", "a"),
        ("distinct-l-diversity", "b"),
        ("alpha-k", "b"),
    ]


def test_a_policy_is_a_frozen_value():
    with pytest.raises(Exception, match="frozen"):
        Policy(**minimal()).format = 2


# the JSON Schema

VALIDATOR = jsonschema.Draft202012Validator(Policy.json_schema())


def accepted(document):
    try:
        Policy(**document)
    except BadPolicy:
        return False
    return True


SPOILT = [
    {"attributes": {"age": "quasi-identifier"}},
    {"require": [K5]},
    minimal(unknown=1),
    minimal(format=2),
    minimal(require=[]),
    minimal(require=[{"model": "k-anonymity"}]),
    minimal(require=[{"model": "k-anonymity", "k": 0}]),
    minimal(require=[{"model": "k-anonymity", "k": "abc"}]),
    minimal(require=[{"model": "k-anonymity", "k": 1.5}]),
    minimal(require=[{"model": "k-anonymity", "k": 5, "l": 2}]),
    minimal(require=[{"model": "nonsense"}]),
    minimal(require=[{"model": "distinct-l-diversity", "l": -1}]),
    minimal(require=[{"model": "alpha-k", "alpha": 0}]),
    minimal(require=[{"model": "alpha-k", "alpha": 1.2}]),
    minimal(require=[{"model": "alpha-k", "alpha": {}}]),
    minimal(require=[{"model": "alpha-k", "alpha": {"x": 2}}]),
    minimal(attributes={"age": "qi"}),
    minimal(attributes={"age": {}}),
    qi(importance=-1),
    qi(importance=1.1),
    qi(hierarchy={"nonsense": 1}),
    qi(hierarchy={}),
    qi(hierarchy="intervals"),
    qi(levels=1),
    qi(**{"min-level": -1}),
    minimal(method={"algorithm": "magic"}),
    minimal(method={"metric": "magic"}),
    minimal(method={"suppression": -0.1}),
    minimal(method={"suppression": 1.1}),
    minimal(method={"suppression": "l"}),
    minimal(method={"time-limit": 0}),
    minimal(method={"generalise": "rows"}),
    minimal(method={"suppress": "rows"}),
    minimal(data={"others": "keep"}),
    minimal(data={"missing": "?"}),
    minimal(release={"order": "random"}),
    minimal(release={"suppressed": "hide"}),
    minimal(release={"ranges": "seen"}),
    minimal(release={"means": "all"}),
    minimal(release={"spreadsheet-safe": 1}),
    minimal(format=True),
    minimal(method={"suppression": True}),
    minimal(method={"time-limit": True}),
    minimal(method={"seed": "1"}),
    qi(importance=True),
    qi(importance="1"),
    qi(**{"max-level": True}),
    minimal(require=[{"model": "distinct-l-diversity", "l": 2, "null-is-value": "yes"}]),
]


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(Policy.json_schema())
    titles = [model["title"] for model in Policy.json_schema()["properties"]["require"]["items"]["anyOf"]]
    assert titles == list(MODELS)


@pytest.mark.parametrize("document", SPOILT, ids=range(len(SPOILT)))
def test_the_schema_rejects_what_the_policy_refuses(document):
    assert not accepted(document)
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize(
    "document",
    [
        FULL,
        minimal(),
        minimal(attributes={"age": "quasi-identifier"}),
        minimal(method={"suppression": "k"}),
        minimal(method={"suppress": "none"}),
        minimal(release={"ranges": "cut"}),
        minimal(method={"algorithm": "mondrian"}, release={"ranges": "observed", "means": "any"}),
        minimal(method={"algorithm": "mondrian-workload", "target": "age"}),
        minimal(method={"algorithm": "mondrian-workload", "target": ["age", "sex"]}),
        minimal(method={"algorithm": "mondrian-workload", "workload": "queries.toml"}),
        qi(hierarchy=[5, 10]),
        *(qi(hierarchy=spec) for spec in HIERARCHIES.values()),
    ],
)
def test_the_schema_accepts_what_the_policy_takes(document):
    assert accepted(document)
    VALIDATOR.validate(document)


def test_a_saved_policy_keeps_the_schema(tmp_path):
    loaded(tmp_path, FULL).save(tmp_path / "again.toml")
    VALIDATOR.validate(tomllib.loads((tmp_path / "again.toml").read_text("utf-8")))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"attributes": {"age": "quasi"}, "require": [K5]}, "attributes.age.role: input should be 'identifier'"),
        ({"attributes": {"age": "quasi-identifier"}}, "require: is missing"),
        ({"attributes": {"age": "quasi-identifier"}, "require": []}, "require: a policy promises at least one model"),
    ],
)
def test_pydantic_refuses_a_policy_in_the_same_words(given, says):
    with pytest.raises(BadPolicy) as ours:
        Policy(**given)
    assert str(ours.value).startswith(says)
    for way in (Policy.model_validate, lambda each: Policy.model_validate_json(json.dumps(each))):
        with pytest.raises(BadPolicy) as theirs:
            way(given)
        assert str(theirs.value) == str(ours.value)


def test_pydantic_takes_a_policy_and_refuses_anything_else():
    given = {"attributes": {"age": "quasi-identifier"}, "require": [K5]}
    assert Policy.model_validate(given) == Policy.model_validate_json(json.dumps(given)) == Policy(**given)
    with pytest.raises(BadPolicy, match="input should be a valid dictionary"):
        Policy.model_validate(5)
    with pytest.raises(BadPolicy, match="invalid JSON") as refused:
        Policy.model_validate_json('{"attributes')
    assert "attributes" not in str(refused.value)


def test_a_promise_about_a_misspelt_column_names_the_nearest():
    attributes = {"age": "quasi-identifier", "vote": "sensitive"}
    require = [{"model": "distinct-l-diversity", "l": 2, "attribute": "Vote"}]
    with pytest.raises(BadPolicy, match=r"is about 'Vote' \(did you mean 'vote'\?\)"):
        Policy(attributes=attributes, require=require)


SHARES = {
    "attributes": {
        "age": {"role": "quasi-identifier"},
        "disease": {"role": "sensitive"},
        "guard": {"role": "sensitive"},
    },
    "require": [
        {"model": "alpha-k", "alpha": "1/3", "k": 3},
        {"model": "alpha-k", "alpha": {"HIV": "1/7", "flu": 0.5}, "attribute": "disease"},
        {"model": "alp-dif", "alp": "2/3", "dif": {"HIV": "0/1"}, "attribute": "disease"},
        {"model": "average-risk", "max": "2/3"},
        {"model": "sample-uniqueness", "max": "1/3"},
        {"model": "population-uniqueness", "max": "1/3", "population-size": 100},
        {"model": "t-closeness", "t": "1/6", "attribute": "disease"},
        {"model": "x-y-privacy", "y": ["disease"], "h": "2/3"},
        {"model": "b-t-privacy", "b": 0.5, "t": "1/3", "attribute": "disease"},
        {"model": "a-d-diversity", "a": "2/3", "d": 1, "categories": [["HIV"]], "experimental": True},
        {"model": "personalised", "guard": "guard", "max": "1/3", "attribute": "disease"},
        {"model": "delta-presence", "population": "register.csv", "min": "1/7", "max": "2/3"},
    ],
    "method": {"suppression": "1/7"},
    "republish": {"key": "id", "limit": "1/3", "counterfeits": "1/9"},
}


def test_every_share_can_be_written_as_a_fraction(tmp_path):
    """In TOML, in Python and in the schema; a fraction of Python is written down as such a text."""
    shares = {**SHARES, "attributes": {**SHARES["attributes"], "id": {"role": "identifier"}}}
    shares["require"] = shares["require"][:-1]
    policy = loaded(tmp_path, shares)
    jsonschema.validate(shares, Policy.json_schema())
    policy.save(tmp_path / "again.toml")
    assert Policy.load(tmp_path / "again.toml") == policy
    assert Policy(**policy.document()) == policy
    exactly = {
        **shares,
        "require": [{**each, "alpha": Fraction(1, 3)} if i == 0 else each for i, each in enumerate(shares["require"])],
    }
    assert Policy(**{**exactly, "method": {"suppression": Fraction(1, 7)}}) == policy
    assert policy.suppressible(21) == 3


def test_shares_of_blocking_and_of_a_population_can_be_fractions():
    shares = {
        "attributes": {"age": "quasi-identifier", "disease": "sensitive"},
        "require": [K5],
        "blocking": {"at": "3/3", "confidence": "2/3", "h": "1/3", "limit": "1/7"},
    }
    jsonschema.validate(shares, Policy.json_schema())
    assert Policy(**shares).document()["blocking"] == shares["blocking"]
    model = Policy(**minimal(require=[SHARES["require"][-1]])).require[0]
    assert (model.min, model.max) == ("1/7", "2/3")


@pytest.mark.parametrize("odd", ["4/3", "1/0", "1/-3", "-1/3", "0.5", "1 / 3", "a third", "", "0/3"])
def test_texts_that_are_no_share_are_refused(odd):
    with pytest.raises(BadPolicy, match="alpha must"):
        Policy(**{**minimal(), "attributes": SHARES["attributes"], "require": [{"model": "alpha-k", "alpha": odd}]})


@pytest.mark.parametrize(("odd", "said"), [("4/3", "less than or equal to 1"), ("x", 'whole numbers such as "1/3"')])
def test_shares_of_sections_are_refused_in_plain_words(odd, said):
    given = {"attributes": {"age": "quasi-identifier", "disease": "sensitive"}, "require": [K5]}
    with pytest.raises(BadPolicy, match=said):
        Policy(**given, blocking={"h": odd})
    with pytest.raises(BadPolicy, match=r'a share from 0 to 1, a number of rows such as .*, or "k", not'):
        Policy(**given, method={"suppression": odd})


def test_a_third_is_a_third():
    """0.3333 refuses a class of three values that "1/3" accepts, and 0.33334 accepts more than a third."""
    counts = np.array([1, 1, 1, 33_334, 33_333, 33_333])
    values = ValueCounts(np.repeat([0, 1], 3), np.tile([0, 1, 2], 2), counts, ["a", "b", "c"], 2)
    table = ClassCounts(np.array([3, 100_000]), {"disease": values})
    judged = [AlphaK(alpha, 1, "disease").complies(table).tolist() for alpha in ("1/3", 0.3333, 0.33334)]
    assert judged == [[True, False], [False, False], [True, True]]
