"""The policy as a value, as TOML, and as a JSON Schema."""

import tomllib
from pathlib import Path

import jsonschema
import pytest
import tomli_w

from shoal.errors import BadHierarchy, BadPolicy
from shoal.hierarchy import BUILDERS
from shoal.models import MODELS, KAnonymity
from shoal.policy import Policy

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
        "disease": {"role": "sensitive"},
    },
    "require": [
        K5,
        {"model": "distinct-l-diversity", "l": 2, "attribute": "disease"},
        {"model": "alpha-k", "alpha": {"HIV": 0.1, "a.b": 0.3333333333333333}, "k": 3},
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
        pytest.param(minimal(method={"suppression": 1}), id="a whole number"),
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


def test_nothing_is_lost(tmp_path):
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
        (minimal(release={"ordre": "keep"}), "release.ordre: unknown key (did you mean 'order'?)"),
        (
            minimal(attributes={"age": {"role": "quasi-identifier", "max-levels": 2}}),
            "attributes.age.max-levels: unknown key (did you mean 'max-level'?)",
        ),
        (minimal(require=[{"model": "k-anonimity", "k": 5}]), "did you mean 'k-anonymity'?"),
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
        (minimal(require=[{"model": "k-anonymity"}]), "require.0: k-anonymity needs k"),
        (minimal(require=[{"k": 5}]), "require.0: "),
        (minimal(require=["k-anonymity"]), "require.0: a model is a table"),
        (minimal(require=[{"model": "distinct-l-diversity", "l": 2}]), "needs a column with the role 'sensitive'"),
        (
            minimal(require=[{"model": "distinct-l-diversity", "l": 2, "attribute": "age"}]),
            "is about 'age', which has not the role 'sensitive'",
        ),
        (minimal(method={"suppression": 1.5}), "method.suppression: "),
        (minimal(method={"suppression": "K"}), "method.suppression: "),
        (minimal(method={"time-limit": 0}), "method.time-limit: "),
        (minimal(method={"metric": "los"}), "method.metric: "),
        (minimal(method={"generalise": "cell"}), "method: generalise = 'cell'"),
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
    assert said == f"require.0: k must be a whole number of at least 1, not {k!r}"


def test_how_many_more_errors():
    assert refused(minimal(method={"seed": "x", "metric": "y"})).endswith("(and 1 more)")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"attributes = [", "policy.toml: not TOML: "),
        (b"\xff\xfe\x00", "policy.toml: the policy cannot be read (UnicodeDecodeError)"),
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


def test_a_byte_order_mark_is_no_matter(tmp_path):
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


def qi(**more):
    return minimal(attributes={"age": {"role": "quasi-identifier", **more}})


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
    minimal(method={"generalise": "cell"}),
    minimal(method={"suppress": "cell"}),
    minimal(data={"others": "keep"}),
    minimal(data={"missing": "?"}),
    minimal(release={"order": "random"}),
    minimal(release={"suppressed": "hide"}),
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
