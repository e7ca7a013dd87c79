"""Whoever changes a released folder is caught in one sentence, or has changed nothing that it claims."""

import hashlib
import json
import os
import shutil
import signal

import mutations
import naive
import pytest
from mutations import HUGE, Mutation, as_json
from tampered_releases import KINDS, publish

from shoal.models import known_model
from shoal.publish.manifest import PublicManifest, StoredManifest

pytestmark = pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")

FEW = 1
"""How many mutations a quick run takes of each kind and file."""
MANY = ("node", "boxes", "cells", "anatomy", "partitions", "persons")
"""Kinds of which a thorough run takes all mutations; of the others it takes some more."""

NOTES = {
    "shoal": "the version that wrote it",
    "method": "how the search went: nothing is promised by it",
    "metrics": "losses, of which nothing is promised",
    "measures": "what the losses are made of",
    "blocking": "how blocking went; what it left is judged by attacks",
    "warnings": "what was said to the owner",
    "recommendation": "what was advised to the owner",
    "recoding.labels": "how many labels the recoding knows, also of rows that are left out",
    "republish.people": "what the composition attack found, on people of earlier releases",
    "republish.exposed": "what the composition attack found, on people of earlier releases",
    "republish.finding": "what the composition attack found, on people of earlier releases",
    "republish.figures": "what the composition attack found, on people of earlier releases",
    "policy.attributes.hierarchy": "the policy beside it has what was really used",
}
"""Fields of manifests that may be changed unseen, with the reason."""

ROLES = {"quasi_identifiers", "sensitive", "statistics", "observed", "by_label", "persons", "models", "republish"}
"""What an audit takes from the public manifest as it would from options, such as --sensitive; `verify` judges it."""


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """The folders of a release of each kind, made once."""
    made = {}

    def of(kind):
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind)
            publish(made[kind], kind)
            for page in made[kind].rglob("report.html"):
                page.unlink()  # for people: nothing reads it
        return made[kind]

    return of


@pytest.fixture
def tamper(releases, tmp_path, shoal):
    """Run a command on a copy of a release that a mutation has changed; nothing may be written."""
    known = {}

    def run(kind, mutation, where, command):
        desk, outside = tmp_path / "desk", tmp_path / "outside"
        for folder in (desk, outside):
            shutil.rmtree(folder, ignore_errors=True)
        outside.mkdir()
        shutil.copytree(releases(kind), desk)
        mutation.make(desk / where)
        before = _tree(desk), _tree(outside)
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(300)
        try:
            ran = shoal(*COMMANDS[command](desk))
        finally:
            signal.alarm(0)
        assert (_tree(desk), _tree(outside)) == before, mutation.name
        return ran

    def untouched(kind, command):
        if (kind, command) not in known:
            known[kind, command] = run(kind, Mutation("nothing", lambda folder: None), "out", command)
        return known[kind, command]

    run.outside, run.untouched = tmp_path / "outside", untouched
    return run


def _too_long(*_):
    raise TimeoutError("a command waits for ever")


def _tree(folder):
    """Every path below a folder with its mode and content; links are not followed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[path] = path.lstat().st_mode, content
    return found


COMMANDS = {
    "verify": lambda desk: ("verify", desk / "out", "--original", desk / "people.csv"),
    "verify alone": lambda desk: ("verify", desk / "out"),
    "apply": lambda desk: ("apply", desk / "out.private", desk / "people.csv", "--dry-run", "--json", "--reproducible"),
    "republish": lambda desk: (
        *("republish", desk / "out.private", desk / "people.csv", "--dry-run", "--json", "--reproducible"),
    ),
    "audit": lambda desk: ("audit", desk / "out", "--original", desk / "people.csv", "--json"),
}


def some(found, kind=None):
    """Take all mutations where SHOAL_TESTS says so; else those whose names hash to the least numbers."""
    found = list(found)
    if os.environ.get("SHOAL_TESTS") == "tampering" and (kind is None or kind in MANY):
        return found
    few = 8 if naive.THOROUGH else FEW
    return sorted(found, key=lambda one: hashlib.sha256(one.name.encode()).digest())[:few]


def refuse_uncaught(ran, mutation, allowed=frozenset({2, 4})):
    """One sentence, no trace of an internal error, no word of what the mutation wrote."""
    assert ran.code in allowed, (mutation.name, ran)
    assert "Traceback" not in ran.err, (mutation.name, ran.err)
    assert "internal error" not in ran.err, (mutation.name, ran.err)
    if ran.code and not ran.err.startswith("{"):
        assert ran.err.splitlines()[-1].startswith("shoal: "), (mutation.name, ran.err)
    assert "CANARY" not in ran.err or mutation.path[-1:] == ("file",), (mutation.name, ran.err)


def read(releases, kind, where):
    return json.loads((releases(kind) / where / "manifest.json").read_text("utf-8"))


def says_no_more(kind, document, before):
    """Whether a manifest claims nothing that it did not before; who says less has not lied."""
    try:
        now, then = (kind.model_validate_json(json.dumps(each), strict=True).document() for each in (document, before))
    except ValueError:
        return False
    return _promised(_filled(now, then)) == _promised(_filled(then, then))


def _filled(now, then):
    """The manifest with figures that it leaves out as they were."""
    if len(now["models"]) != len(then["models"]):
        return now
    models = [
        {"worst": was.get("worst"), **said, "attained": _both(said["attained"], was["attained"]), "asked": _asked(said)}
        for said, was in zip(now["models"], then["models"], strict=True)
    ]
    models = [{key: value for key, value in each.items() if value is not None} for each in models]
    files = {"files": now.get("files") or then["files"]} if "files" in then else {}
    return {**now, **files, "models": models}


def _asked(said):
    """What a model was asked for, defaults included."""
    about = {"attribute": said["attribute"]} if "attribute" in said else {}
    given = said["asked"].items()
    asked = {name: int(each) if isinstance(each, float) and each.is_integer() else each for name, each in given}
    try:
        return {"model": repr(known_model(said["model"])(**asked, **about))}
    except (TypeError, ValueError):
        return said["asked"]


def _both(now, then):
    if not isinstance(now, dict) or not isinstance(then, dict):
        return then if now is None else now
    return {**then, **{key: _both(value, then.get(key)) for key, value in now.items()}}


def _promised(document):
    """A manifest without notes; in which order it names quasi-identifiers means nothing."""
    document = {**document, "quasi_identifiers": sorted(document.get("quasi_identifiers", ()))}
    return {
        ".".join(map(str, path)): value
        for path, value in mutations.fields_of(document)
        if not noted(path) and not isinstance(value, dict | list)
    } | {"lists": [len(document["models"]), str(document.get("labels")), str(document.get("sensitive"))]}


def noted(path):
    """Whether a field of a manifest is one of the notes that nothing is promised by."""
    names = [str(part) for part in path]
    if names[:2] == ["policy", "attributes"]:
        names = names[:2] + names[3:]
    return any(".".join(names[: len(note.split("."))]) == note for note in NOTES)


# every field of the manifests


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_the_public_manifest(kind, releases, tamper):
    before = read(releases, kind, "out")
    for mutation in some(mutations.of_manifest("manifest.json", before), kind):
        fine = mutation.document is not None and says_no_more(PublicManifest, mutation.document, before)
        refuse_uncaught(tamper(kind, mutation, "out", "verify"), mutation, {0, 2, 4} if fine else {2, 4})


@pytest.mark.some(14)
@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_the_private_manifest(kind, releases, tamper):
    before = read(releases, kind, "out.private")
    for mutation in some(_of_private(before), kind):
        fine = mutation.document is not None and says_no_more(StoredManifest, mutation.document, before)
        refuse_uncaught(tamper(kind, mutation, "out.private", "verify"), mutation, {0, 2, 4} if fine else {2, 4})


def _of_private(before):
    """Mutations of a private manifest; of hundreds of figures of which nothing is promised, only the outer ones."""
    for mutation in mutations.of_manifest("manifest.json", before):
        if not (noted(mutation.path) and len(mutation.path) > 2):
            yield mutation


@pytest.mark.parametrize("kind", ["node", "boxes"])
def test_tampering_with_the_public_manifest_without_the_original(kind, releases, tamper):
    before = read(releases, kind, "out")
    for mutation in some(mutations.of_manifest("manifest.json", before), kind if naive.THOROUGH else None):
        refuse_uncaught(tamper(kind, mutation, "out", "verify alone"), mutation, {0, 2, 4})


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["apply", "republish"])
def test_commands_after_a_release_refuse_a_tampered_private_folder(command, releases, tamper):
    kind = "again" if command == "republish" else "node"
    usual = tamper.untouched(kind, command)
    assert usual.code == 0, usual
    for mutation in some(_of_private(read(releases, kind, "out.private"))):
        ran = tamper(kind, mutation, "out.private", command)
        refuse_uncaught(ran, mutation, {0, 2, 3, 4} if mutation.path[:2] == ("recoding", "levels") else {0, 2})
        obeyed = mutation.path[:2] == ("recoding", "levels")  # a release at other levels is made, and verified
        assert ran.code or obeyed or ran.out == usual.out, mutation.name


@pytest.mark.parametrize("kind", ["node", "boxes", "anatomy"])
def test_an_audit_of_a_tampered_release(kind, releases, tamper):
    usual = tamper.untouched(kind, "audit")
    assert usual.code == 0, usual
    for mutation in some(mutations.of_manifest("manifest.json", read(releases, kind, "out"))):
        ran = tamper(kind, mutation, "out", "audit")
        refuse_uncaught(ran, mutation, {0, 2, 4})
        assert ran.code or mutation.path[0] in ROLES or ran.out == usual.out, mutation.name


# files and tables


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_the_public_folder(kind, releases, tamper):
    for mutation in some(mutations.of_files(releases(kind) / "out", tamper.outside), kind):
        refuse_uncaught(tamper(kind, mutation, "out", "verify"), mutation)
        refuse_uncaught(tamper(kind, mutation, "out", "audit"), mutation, _unread(mutation))


def _unread(mutation):
    """An audit reads the table and its manifest, and no other file."""
    return {0} if mutation.name.startswith("counterfeits.csv") else {2, 4}


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_the_private_folder(kind, releases, tamper):
    commands = ["verify", "audit", *(["republish"] if kind == "again" else ["apply"] if kind == "node" else [])]
    for mutation in some(mutations.of_files(releases(kind) / "out.private", tamper.outside), kind):
        for command in commands:
            usual = tamper.untouched(kind, command)
            ran = tamper(kind, mutation, "out.private", command)
            refuse_uncaught(ran, mutation, {2, 4} if usual.code == 0 else {usual.code, 2, 4})


@pytest.mark.some(3)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {"partitions", "parquet"}])
def test_rows_and_cells(kind, releases, tamper):
    for file in sorted((releases(kind) / "out").glob("*.csv")):
        for mutation in some(mutations.of_csv(file.name, file.read_text("utf-8")), kind):
            refuse_uncaught(tamper(kind, mutation, "out", "verify"), mutation)
            if file.name != "counterfeits.csv":
                refuse_uncaught(tamper(kind, mutation, "out", "audit"), mutation)
                signed = _signed(mutation, ("out", "out.private"))
                ran = tamper(kind, signed, ".", "verify")
                swapped = "swapped" in mutation.name and "row" in mutation.name
                # where a level per attribute tells what a row shows, the order of the rows means nothing
                refuse_uncaught(ran, signed, {0, 4} if swapped else {2, 4})


def _signed(mutation, folders):
    """The same mutation, by somebody who also writes the new hash into both manifests."""

    def make(desk):
        mutation.make(desk / "out")
        for folder in folders:
            path = desk / folder / "manifest.json"
            document = json.loads(path.read_text("utf-8"))
            for part in (document["data"], document["data"].get("separate") or {}):
                if (desk / "out" / part.get("file", "no file")).is_file():
                    part["sha256"] = hashlib.sha256((desk / "out" / part["file"]).read_bytes()).hexdigest()
            path.write_text(json.dumps(document), "utf-8")

    return Mutation(f"{mutation.name}, signed", make)


# what was found once


def _edit(**parts):
    """Change parts of a public manifest; dots in a name lead to inner fields."""

    def make(folder):
        path = folder / "manifest.json"
        document = json.loads(path.read_text("utf-8"))
        for name, value in parts.items():
            *outer, last = name.split("__")
            inner = document
            for key in outer:
                inner = inner[int(key) if key.isdecimal() else key]
            inner[last] = value(inner[last]) if callable(value) else value
        path.write_text(as_json(document), "utf-8")

    return make


def _twice(folder):
    path = folder / "manifest.json"
    document = json.loads(path.read_text("utf-8"))
    other = [{**document["models"][0], "asked": {"k": 99}}]
    path.write_text(as_json(document)[:-1] + f', "models": {as_json(other)}' + "}", "utf-8")


FOUND = {
    "JSON nested deep": ("node", _edit(extra=json.loads("[" * 300 + "]" * 300)), "levels deep"),
    "a name of 300 characters": ("node", _edit(data__file="x" * 300), "another format"),
    "a name of 300 characters with its ending": ("node", _edit(data__file="x" * 300 + ".csv"), "table is missing"),
    "a file elsewhere": ("node", _edit(data__file="../people.csv"), "table is missing"),
    "no delimiter": ("node", _edit(data__delimiter=""), "data.delimiter is not"),
    "a long quote": ("node", _edit(data__quote="''"), "data.quote is not"),
    "a sensitive attribute removed": ("node", _edit(sensitive=[]), "a column that is not sensitive"),
    "a sensitive attribute doubled": ("node", _edit(quasi_identifiers=lambda qi: [*qi, "ill"]), "and as sensitive"),
    "a count that overflows": ("node", _edit(rows__released=2**64), "rows.released is not"),
    "statistics that become SQL": ("boxes", _edit(statistics__age_lo=["age'; DROP TABLE x", "lo"]), "claim"),
    "a statistic that is none": ("boxes", _edit(statistics__age_lo=["age", "lo'"]), "statistics.age_lo.1 is not"),
    "suppressed rows": ("node", _edit(rows__suppressed=lambda rows: rows + 1), "claim"),
    "suppressed rows that are shown": ("shown", _edit(rows__suppressed=7, rows__shown=7), "rows"),
    "added rows": ("boxes", _edit(rows__added=1), "claim"),
    "fewer added rows": ("added", _edit(rows__added=10), "claim"),
    "labels": ("node", _edit(labels__age=lambda labels: labels[1:]), "labels"),
    "labels in another order": ("boxes", _edit(labels__sex=lambda labels: labels[::-1]), "labels"),
    "a quasi-identifier named twice": ("node", _edit(quasi_identifiers=lambda names: [*names, names[0]]), "twice"),
    "a quasi-identifier removed": ("boxes", _edit(quasi_identifiers=lambda qi: qi[:-1]), "labels of other columns"),
    "a quasi-identifier and its labels removed": (
        "node",
        _edit(quasi_identifiers=["age"], labels={"age": []}),
        "claim",
    ),
    "statistics": ("boxes", _edit(statistics__age_mean=["age", "median"]), "claim"),
    "observed ranges": ("boxes", _edit(observed=[]), "claim"),
    "ranges by label": ("boxes", _edit(by_label=True), "claim"),
    "models twice": ("node", _twice, "a key twice"),
    "10^400": ("node", _edit(rows__suppressed=HUGE), "too large"),
    "infinity": ("node", _edit(classes__mean=float("inf")), "Infinity is no number"),
    "not a number": ("node", _edit(classes__mean=float("nan")), "NaN is no number"),
    "the least class": ("node", _edit(models__0__worst=lambda size: size + 1), "k-anonymity"),
    "persons": ("node", _edit(persons=True), "claim"),
    "the number of the release": ("again", _edit(republish__release=1), "claim"),
    "counterfeits": ("again", _edit(rows__added=2), "counterfeits"),
}


@pytest.mark.parametrize("what", FOUND)
def test_tampering_that_was_once_accepted_or_ended_in_an_internal_error(what, tamper):
    kind, make, says = FOUND[what]
    mutation = Mutation(what, make)
    ran = tamper(kind, mutation, "out", "verify")
    refuse_uncaught(ran, mutation)
    assert says in ran.err, ran.err


@pytest.mark.parametrize("figure", ["attained", "asked"])
@pytest.mark.parametrize("kind", ["node", "boxes", "parquet", "single"])
def test_a_higher_k_is_not_believed_without_the_original(kind, figure, tamper):
    mutation = Mutation(figure, _edit(**{f"models__0__{figure}__k": 99}))
    ran = tamper(kind, mutation, "out", "verify alone")
    assert (ran.code, "k-anonymity" in ran.err) == (4, True), ran


def test_public_and_private_manifests_that_differ_are_detected(tamper):
    for name, value in {"rows__read": 49, "models__0__worst": 1, "recoding__levels__age": 0}.items():
        ran = tamper("node", Mutation(name, _edit(**{name: value})), "out.private", "verify")
        assert ran.code == 4, (name, ran)


def test_a_policy_that_was_weakened(tamper):
    def make(folder):
        path = folder / "policy.toml"
        path.write_text(path.read_text("utf-8").replace("suppression = 0.1", "suppression = 0.2"), "utf-8")

    ran = tamper("node", Mutation("suppression", make), "out.private", "verify")
    assert (ran.code, "the file was changed" in ran.err) == (2, True), ran
    ran = tamper("node", Mutation("suppression", _unsigned(make)), "out.private", "verify")
    assert (ran.code, "claim" in ran.err) == (4, True), ran


def _unsigned(make):
    """The same in a folder that names no hashes, as those of early versions."""

    def both(folder):
        make(folder)
        _edit(files=None)(folder)

    return both


def test_a_hierarchy_outside_the_private_folder_is_not_read(tamper):
    def make(folder):
        (tamper.outside / "age.csv").write_text("CANARY-7f3;*\n", "utf-8")
        path = folder / "policy.toml"
        text = path.read_text("utf-8").replace(
            "[attributes.sex.hierarchy]\nflat = true", "[attributes.sex.hierarchy]\n"
        )
        path.write_text(text.replace("hierarchy]\n\n", f'hierarchy]\ncsv = "{tamper.outside}/age.csv"\n\n'), "utf-8")

    for command in ("verify", "apply", "audit"):
        ran = tamper("node", Mutation("csv", _unsigned(make)), "out.private", command)
        assert (ran.code, "outside the folder" in ran.err) == (2, True), (command, ran)


def test_a_folder_that_is_a_link_is_no_tampering(releases, tmp_path, shoal):
    (tmp_path / "out").symlink_to(releases("node") / "out")
    (tmp_path / "out.private").symlink_to(releases("node") / "out.private")
    ran = shoal("verify", tmp_path / "out", "--original", releases("node") / "people.csv")
    assert ran.code == 0, ran
