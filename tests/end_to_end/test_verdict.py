"""The one verdict of a release: what holds, what the attacks found, whether to publish, and what would help."""

import html
import json
import random
import re
import tomllib
from dataclasses import replace

import pytest
import tomli_w
from labelled_tables import table

import shoal as sh
from shoal.attacks import definetti
from shoal.explore import advice

pytestmark = pytest.mark.advice

QUASI = "quasi-identifier"
HOMOGENEOUS = "age,sex,disease\n" + "".join(
    f"{age},{sex},{disease}\n"
    for age, sex, ills in [
        (31, "f", ("hiv", "hiv", "hiv")),
        (36, "f", ("flu", "cold", "gout")),
        (52, "m", ("flu", "cold", "gout")),
        (57, "m", ("hiv", "cold", "flu")),
        (71, "m", ("flu", "gout", "hiv")),
        (76, "m", ("gout", "cold", "flu")),
    ]
    for disease in ills
)
OF_HOMOGENEOUS = {
    "age": {"role": QUASI, "hierarchy": {"intervals": [5, 10, 20]}},
    "sex": {"role": QUASI, "hierarchy": {"flat": True}},
    "disease": "sensitive",
}
SCATTERED = "age,zip,disease\n" + "".join(
    f"{30 + n % 2},{1000 + 97 * n},{['flu', 'cold', 'gout'][n // 2 % 3]}\n" for n in range(24)
)
OF_SCATTERED = {
    "age": {"role": QUASI, "hierarchy": {"intervals": [10]}},
    "zip": {"role": QUASI, "hierarchy": {"flat": True}},
    "disease": "sensitive",
}


def last_line(ran):
    assert ran.code == 0, ran.err
    return ran.out.rstrip("\n").splitlines()[-1]


def page(folder):
    """The words of a report, without its markup."""
    text = re.sub(r"<style>.*?</style>", "", (folder / "report.html").read_text("utf-8"), flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def recommendation(desk):
    return json.loads((desk.private / "manifest.json").read_text("utf-8"))["recommendation"]


def follow(desk, remedy):
    """Change the policy file as a remedy says."""
    path = desk.folder / "policy.toml"
    document = tomllib.loads(path.read_text("utf-8"))
    for section, content in remedy["policy"].items():
        document[section] = {**document[section], **content} if section == "attributes" else content
    path.write_text(tomli_w.dumps(document), "utf-8")


def comes_true(desk, remedy):
    """Follow a remedy, and hold what comes of it against what was promised."""
    policy = (desk.folder / "policy.toml").read_text("utf-8")
    follow(desk, remedy)
    assert desk.anonymize("--force").code == 0
    after = json.loads((desk.private / "manifest.json").read_text("utf-8"))
    assert after["metrics"]["loss"] == pytest.approx(remedy["after"]), remedy["change"]
    assert after["recommendation"]["advice"] == remedy["advice"], remedy["change"]
    assert max(after["recommendation"]["attacks"].values()) == remedy["exposed"], remedy["change"]
    (desk.folder / "policy.toml").write_text(policy, "utf-8")


def refuses_to_advise_it(desk, ran):
    """Neither the terminal nor a page advises to publish."""
    said = [ran.out, ran.err, page(desk.out), page(desk.private)]
    return not any("publish this" in text.replace("never publish this", "") for text in said)


@pytest.fixture
def homogeneous(desk):
    desk.table(HOMOGENEOUS)
    desk.policy(OF_HOMOGENEOUS)
    return desk


@pytest.fixture
def scattered(desk):
    desk.table(SCATTERED)
    desk.policy(OF_SCATTERED)
    return desk


def test_a_good_release_ends_with_the_advice_to_publish(desk):
    ran = desk.anonymize()
    assert last_line(ran).startswith("Verdict: the promise holds; 0 of 4 kinds of attack succeed")
    assert last_line(ran).endswith("Advice: publish.")
    assert "(publish this)" in ran.out
    assert recommendation(desk)["advice"] == "publish"
    assert recommendation(desk)["remedies"] == []


def test_the_last_line_is_on_the_private_page_and_in_the_document(homogeneous):
    said = last_line(homogeneous.anonymize())
    assert said in page(homogeneous.private)
    assert recommendation(homogeneous)["sentence"] == said
    ran = homogeneous.anonymize("--force", "--json")
    assert json.loads(ran.out)["recommendation"]["sentence"] == said


def test_a_homogeneous_class_is_named_with_the_promise_that_helps(homogeneous):
    ran = homogeneous.anonymize()
    said, told = last_line(ran), recommendation(homogeneous)
    assert "the disease of at least 3 rows can be guessed well, rules tell the disease of 3 rows" in said
    assert told["advice"] == "do not publish"
    best = told["remedies"][0]
    assert f"add distinct-l-diversity l = 2 on disease: loss {best['before']:.2f} → {best['after']:.2f}" in said
    assert "distinct-l-diversity l = 2" not in page(homogeneous.out)
    assert refuses_to_advise_it(homogeneous, ran)


def test_advice_that_is_followed_leads_to_a_release_that_may_be_published(homogeneous):
    homogeneous.anonymize()
    best = recommendation(homogeneous)["remedies"][0]
    follow(homogeneous, best)
    ran = homogeneous.anonymize("--force")
    assert last_line(ran).endswith("Advice: publish.")
    assert "(publish this)" in ran.out
    metrics = json.loads((homogeneous.private / "manifest.json").read_text("utf-8"))["metrics"]
    assert metrics["loss"] == pytest.approx(best["after"])


def test_advice_in_python(homogeneous):
    release = sh.anonymize(homogeneous.data, homogeneous.folder / "policy.toml")
    without = release.save(homogeneous.folder / "quick", advise=0).recommendation
    assert without.remedies == ()
    assert "no time was given for it" in without.sentence
    best = release.save(homogeneous.out).recommendation.remedies[0]
    assert best.change.startswith("add distinct-l-diversity l = 2")
    better = sh.anonymize(homogeneous.data, best.applied_to(release.policy)).save(homogeneous.folder / "better")
    assert better.recommendation.advice == "publish"
    assert better.metrics["loss"] == best.after


def test_every_remedy_gives_its_predicted_loss_in_python(scattered):
    policy = sh.Policy.load(scattered.folder / "policy.toml")
    for best in sh.anonymize(scattered.data, policy).save(scattered.out, advise=60).recommendation.remedies:
        better = sh.anonymize(scattered.data, best.applied_to(policy)).summary
        assert better.metrics["loss"] == pytest.approx(best.after), best.change


def test_a_column_of_stars_is_named(scattered):
    ran = scattered.anonymize()
    assert "zip is * in every row" in last_line(ran)
    assert recommendation(scattered)["starred"] == ["zip"]
    assert recommendation(scattered)["advice"] == "think again"
    assert "age 0, zip 1 (*)" in ran.out
    assert "0 intact … 1 nothing left" in " ".join(ran.out.split())
    assert refuses_to_advise_it(scattered, ran)


def test_every_remedy_gives_the_loss_that_it_predicts(scattered):
    scattered.anonymize()
    remedies = recommendation(scattered)["remedies"]
    assert {remedy["change"].split()[0] for remedy in remedies} >= {"drop", "algorithm"}
    for remedy in remedies:
        comes_true(scattered, remedy)
        assert recommendation(scattered)["starred"] != ["zip"]


def test_what_cannot_be_kept_is_never_proposed(desk):
    """Everybody has one value: no promise of diversity can be kept, whatever is generalised."""
    desk.table("age,disease\n" + "".join(f"{age},hiv\n" for age in range(30, 40)))
    desk.policy({"age": {"role": QUASI, "hierarchy": {"intervals": [5]}}, "disease": "sensitive"})
    ran = desk.anonymize()
    assert recommendation(desk)["remedies"] == []
    assert "none of the changes that were tried helps" in last_line(ran)
    assert refuses_to_advise_it(desk, ran)


def pasted(policy, lines):
    """A policy file after somebody has pasted lines where their comments say."""
    for part in lines.split("\n# "):
        where, _, text = part.removeprefix("# ").partition("\n")
        if where.startswith("in place of the [[require]] with "):
            model = re.escape(where.removeprefix("in place of the [[require]] with ").split(", ")[0])
            policy, often = re.subn(rf"\[\[require\]\]\n{model}\n(?:[^\[\n].*\n)*", text, policy)
            assert often == 1, where
        elif where.startswith("in place of ["):
            header = re.escape(where.removeprefix("in place of "))
            policy, often = re.subn(rf"{header}\n(?:[^\[\n].*\n)*", text, policy)
            assert often == 1, where
        else:
            policy += f"\n{text}"
    return policy


AS_WRITTEN = """[attributes.age]
role = "quasi-identifier"
hierarchy = { intervals = [5, 10, 20] }

[attributes.sex]
role = "quasi-identifier"
hierarchy = { flat = true }

[attributes.disease]
role = "sensitive"

[[require]]
model = "k-anonymity"
k = 3

[method]
algorithm = "optimal"
"""


def test_the_lines_of_the_best_change_are_shown_and_can_be_pasted(homogeneous):
    path = homogeneous.folder / "policy.toml"
    path.write_text(AS_WRITTEN, "utf-8")
    ran = homogeneous.anonymize()
    best, *others = recommendation(homogeneous)["remedies"]
    assert best["toml"] == (
        "# one more [[require]], e.g. at the end\n"
        '[[require]]\nmodel = "distinct-l-diversity"\nl = 2\nattribute = "disease"\n'
    )
    shown = "\n".join(line.removeprefix("    ") for line in ran.out.splitlines())
    assert best["toml"] in shown
    assert best["toml"] in page(homogeneous.private)
    for remedy in [best, *others]:
        path.write_text(pasted(AS_WRITTEN, remedy["toml"]), "utf-8")
        assert homogeneous.anonymize("--force", "--advise", "0").code == 0
        after = json.loads((homogeneous.private / "manifest.json").read_text("utf-8"))
        assert after["metrics"]["loss"] == pytest.approx(remedy["after"]), remedy["change"]


def test_a_stronger_promise_replaces_the_one_that_is_made(homogeneous):
    """Two of every three have the same disease: l = 2 is kept, and yet one value is likely."""
    ills = [("hiv", "hiv", "flu"), ("flu", "cold", "gout"), ("cold", "gout", "flu"), ("gout", "flu", "cold")]
    people = [(age, ill) for age, some in zip((31, 36, 52, 57), ills, strict=True) for ill in some]
    homogeneous.table("age,disease\n" + "".join(f"{age},{ill}\n" for age, ill in people))
    require = [{"model": "k-anonymity", "k": 3}, {"model": "distinct-l-diversity", "l": 2, "attribute": "disease"}]
    homogeneous.policy({"age": OF_HOMOGENEOUS["age"], "disease": "sensitive"}, require=require)
    homogeneous.anonymize()
    remedies = recommendation(homogeneous)["remedies"]
    stronger = next(
        each for each in remedies if each["change"].startswith("distinct-l-diversity l = 3 instead of 2 on")
    )
    assert stronger["policy"]["require"] == [require[0], {**require[1], "l": 3}]
    assert stronger["toml"].startswith(
        '# in place of the [[require]] with model = "distinct-l-diversity", attribute = "disease"\n[[require]]\n'
    )
    comes_true(homogeneous, stronger)


def test_the_public_page_tells_what_the_table_shows_and_no_loss(homogeneous):
    homogeneous.anonymize()
    shown, told = page(homogeneous.out), recommendation(homogeneous)
    assert told["findings"] in shown
    assert told["sentence"].startswith(told["findings"].removesuffix("."))
    assert "loss" not in shown
    assert "add distinct-l-diversity" not in shown


def test_remedies_are_not_looked_for_without_time(homogeneous):
    said = last_line(homogeneous.anonymize("--advise", "0"))
    assert said.endswith("changes that would help were not looked for, since no time was given for it.")
    assert recommendation(homogeneous)["advice"] == "do not publish"


def test_more_time_finds_no_less(homogeneous):
    homogeneous.anonymize()
    usual = recommendation(homogeneous)["remedies"]
    homogeneous.anonymize("--advise", "60", "--force")
    assert recommendation(homogeneous)["remedies"] == usual


def test_equal_runs_give_equal_bytes_and_equal_remedies(homogeneous):
    said = last_line(homogeneous.anonymize("--reproducible", "--advise", "60"))
    first = (homogeneous.private / "manifest.json").read_bytes()
    assert 'cheapest change tried that leads to "publish": add distinct-l-diversity l = 2 on disease' in said
    homogeneous.anonymize("--reproducible", "--force")
    assert (homogeneous.private / "manifest.json").read_bytes() == first


def test_no_clock_decides_what_is_advised(homogeneous, monkeypatch):
    said = last_line(homogeneous.anonymize())
    monkeypatch.setattr(advice, "perf_counter", lambda: pytest.fail("the time was asked for"))
    assert last_line(homogeneous.anonymize("--force")) == said


@pytest.fixture
def many(desk):
    """A thousand people in small classes, of some of which one value is told."""
    draw = random.Random(1)
    ills = ["flu", "cold", "gout", "acne", "hiv"]
    rows = [(draw.randint(20, 79), draw.choice("abcdefgh"), draw.choice(ills)) for _ in range(1000)]
    desk.table("age,ward,disease\n" + "".join(f"{age},{ward},{ill}\n" for age, ward, ill in rows))
    desk.policy(
        {
            "age": {"role": QUASI, "hierarchy": {"intervals": [5, 10, 20]}},
            "ward": {"role": QUASI, "hierarchy": {"flat": True}},
            "disease": "sensitive",
        }
    )
    return desk


def test_a_large_table_is_sampled_for_what_to_try_on_all_of_it(many, monkeypatch):
    """Few changes are within the effort: what comes out is no estimate all the same, and holds when it is followed."""
    monkeypatch.setattr(advice, "_WORK", 8_000.0)
    monkeypatch.setattr(advice, "_ONCE", 1_000.0)
    monkeypatch.setattr(advice, "_GUESS", (0.0, 0.0))
    monkeypatch.setattr(advice, "_LEAST_SAMPLE", 200)
    many.anonymize()
    told = recommendation(many)
    assert told["untried"]
    best = told["remedies"][0]
    assert (best["advice"], best.get("sample")) == ("publish", None)
    comes_true(many, best)


@pytest.fixture
def sampled(many, monkeypatch):
    """The same, where no change is within the effort on the whole table."""
    monkeypatch.setattr(advice, "_WORK", 2_000.0)
    monkeypatch.setattr(advice, "_ONCE", 100.0)
    monkeypatch.setattr(advice, "_GUESS", (0.0, 0.0))
    monkeypatch.setattr(advice, "_LEAST_SAMPLE", 200)
    return many


def test_what_did_best_on_a_sample_is_tried_on_all_rows_before_it_is_named(sampled):
    ran = sampled.anonymize()
    best, *others = recommendation(sampled)["remedies"]
    assert "sample" not in best
    assert f"{best['change']}: loss {best['before']:.2f} → {best['after']:.2f}" in last_line(ran)
    assert all("advice" not in other for other in others if "sample" in other)
    comes_true(sampled, best)


def test_what_was_tried_on_a_sample_alone_promises_nothing(sampled, monkeypatch):
    monkeypatch.setattr(advice, "_CONFIRMING", 0.0)
    ran = sampled.anonymize()
    best = recommendation(sampled)["remedies"][0]
    assert 200 <= best["sample"] < 1000
    assert "advice" not in best
    assert last_line(ran).endswith(f"may help, tried on a sample of {best['sample']} rows only: {best['change']}.")
    assert f"tried on a sample of {best['sample']} rows only" in " ".join(ran.out.split())
    assert f"about {best['after']:.4g}" in " ".join(ran.out.split())
    assert f"a sample of {best['sample']} rows alone and may help" in page(sampled.private)


def test_a_sample_that_misleads_is_found_out(sampled, monkeypatch):
    """On the sample every change seems to lead to a release to publish; what is named is as all rows have it."""
    tried = advice.RemedySearch._tried

    def misled(self, change, table):
        then, done = tried(self, change, table)
        if then is None or table is self.whole or not change.words:
            return then, done
        return replace(then, audit=replace(then.audit, findings=())), done

    monkeypatch.setattr(advice.RemedySearch, "_tried", misled)
    sampled.anonymize()
    for remedy in recommendation(sampled)["remedies"]:
        if "sample" not in remedy:
            comes_true(sampled, remedy)
        else:
            assert "advice" not in remedy


def test_columns_that_say_nothing_are_named_with_several_remedies_and_their_losses(scattered):
    ran = scattered.anonymize()
    shown = " ".join(ran.out.split())
    remedies = recommendation(scattered)["remedies"]
    assert len(remedies) > 1
    for remedy in remedies[:5]:
        assert remedy["change"].split(" (")[0] in shown
        assert f"{remedy['after']:.4g}" in shown
        assert remedy["after"] < remedy["before"]  # what says too little is to say more


def test_what_leads_to_publish_is_named_first_even_if_it_drops_a_column(desk):
    """The illness goes with the age: only a promise that hides all ages, or no illness at all, keeps it secret."""
    people = [(age, sex, ward) for age in range(31, 71) for sex in "fm" for ward in "ab"]
    rows = [f"{age},{sex},{'hiv' if age > 50 else 'flu'},{ward}\n" for age, sex, ward in people]
    desk.table("age,sex,disease,ward\n" + "".join(rows))
    flat = {"role": QUASI, "hierarchy": {"flat": True}}
    ages = {"role": QUASI, "hierarchy": {"intervals": [10, 20]}}
    desk.policy({"age": ages, "sex": flat, "disease": "sensitive", "ward": "sensitive"})
    said, told = last_line(desk.anonymize()), recommendation(desk)
    best = told["remedies"][0]
    assert told["advice"] == "do not publish"
    assert best["advice"] == "publish"
    assert f'cheapest change tried that leads to "publish": {best["change"]}: loss' in said
    comes_true(desk, best)


def test_a_sensitive_column_without_a_promise_is_named_with_the_least_promise(homogeneous, desk):
    said = last_line(homogeneous.anonymize("--advise", "0"))
    least = "nothing is promised about disease (the least would be distinct-l-diversity l = 2)"
    assert f"; {least}. Advice: do not publish" in said
    assert recommendation(homogeneous)["unpromised"] == ["disease"]
    assert least in page(homogeneous.private)
    require = [{"model": "k-anonymity", "k": 3}, {"model": "distinct-l-diversity", "l": 2, "attribute": "disease"}]
    homogeneous.policy(OF_HOMOGENEOUS, require=require)
    assert "nothing is promised" not in last_line(homogeneous.anonymize("--force"))


def test_to_drop_most_columns_is_not_the_best_that_is_known(desk):
    """What is left of them says all, and that is little."""
    rows = [(30 + n % 2, 1000 + 97 * n, 5000 + 83 * n, 9000 + 71 * n, "abc"[n // 2 % 3]) for n in range(24)]
    desk.table("age,zip,job,born,ill\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    flat = {"role": QUASI, "hierarchy": {"flat": True}}
    ages = {"role": QUASI, "hierarchy": {"intervals": [10]}}
    desk.policy({"age": ages, "zip": flat, "job": flat, "born": flat, "ill": "sensitive"})
    desk.anonymize()
    told = recommendation(desk)
    assert told["starred"] == ["zip", "job", "born"]
    assert not told["remedies"][0]["change"].startswith("drop zip, job and born")


def test_a_dry_run_ends_with_the_same_line(homogeneous):
    said = last_line(homogeneous.anonymize())
    assert last_line(homogeneous.anonymize("--dry-run", "--force")) == said


def test_rows_are_rows_unless_persons_are_counted(desk):
    desk.anonymize()
    assert "Every row hides among at least" in page(desk.out)
    table = "who,age,disease\n" + "".join(f"p{n},{30 + n // 4},{['flu', 'hiv'][n % 2]}\n" for n in range(12))
    desk.table(table)
    desk.policy({"who": "unit", "age": {"role": QUASI, "hierarchy": {"intervals": [5]}}, "disease": "sensitive"})
    desk.anonymize("--force")
    assert "Every person hides among at least" in page(desk.out)


def kinds_that_succeed(desk):
    """The ways of betraying people through which the verdict, and an audit with the original, expose somebody."""
    audited = sh.audit(desk.out, original=desk.data)
    told = {channel for channel, rows in recommendation(desk)["attacks"].items() if rows}
    return told, {str(line.channel) for line in audited.successes}


def test_values_that_mean_nearly_the_same_are_told_before_an_audit_tells(desk):
    """No class shows one disease; every class shows one kind of disease, by the hierarchy that the policy has."""
    ills = ("flu", "cold", "cough", "hiv", "cancer", "stroke")
    desk.table("age,disease\n" + "".join(f"{30 + n // 6},{ills[n // 12 * 3 + n % 3]}\n" for n in range(24)))
    kinds = {"tree": {"any": {"airways": ills[:3], "severe": ills[3:]}}}
    desk.policy(
        {
            "age": {"role": QUASI, "hierarchy": {"intervals": [2]}},
            "disease": {"role": "sensitive", "hierarchy": kinds},
        }
    )
    ran = desk.anonymize("--advise", "0")
    told, audited = kinds_that_succeed(desk)
    assert told == audited == {"attribute linkage"}
    assert "the disease of at least 24 rows can be guessed well" in last_line(ran)
    assert "similarity" in page(desk.private).partition("Attacks that were not run")[0]
    assert refuses_to_advise_it(desk, ran)
    assert "0 of 4 kinds of attack succeed" in page(desk.out)  # the public page knows what the public knows


def admit_to_wards(desk):
    """The old are ill. In half of the wards most are old; who learns from all wards can tell who of a ward is ill."""
    rows = [(ward, old) for ward in range(40) for old in ((1, 1, 1, 0) if ward % 2 else (1, 0, 0, 0))]
    people = [f"w{ward},{1000 * old + n},{'yes' if old else 'no'}\n" for n, (ward, old) in enumerate(rows)]
    desk.table("ward,days,ill\n" + "".join(people))
    flat = {"role": QUASI, "hierarchy": {"flat": True}}
    desk.policy({"ward": flat, "days": flat, "ill": "sensitive"})


def test_what_all_classes_teach_is_told_before_an_audit_tells(desk):
    admit_to_wards(desk)
    desk.anonymize("--advise", "0")
    told, audited = kinds_that_succeed(desk)
    assert told == audited == {"attribute linkage"}
    assert recommendation(desk)["advice"] == "do not publish"


def test_what_takes_longer_is_named_beside_the_advice_to_publish(desk, monkeypatch):
    monkeypatch.setattr(definetti, "MOST_CELLS", 10)
    said = last_line(desk.anonymize())
    assert said.endswith(
        "Advice: publish if an audit with the original finds no more: definetti was not tried "
        "(shoal audit OUT --original DATA, in Python shoal.audit)."
    )


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["local", "mondrian", "optimal"])
def test_an_audit_with_the_original_finds_what_the_verdict_found_and_advice_comes_true(desk, algorithm):
    chile = table("Chile").rename_axis("who").reset_index()
    desk.table(chile.to_csv(index=False))
    drafted = sh.draft(desk.data).policy.document()
    drafted["method"] = {"algorithm": algorithm}
    drafted["require"] = [each for each in drafted["require"] if each["model"] == "k-anonymity"]
    drafted.pop("format")
    desk.policy(**drafted)
    assert desk.anonymize("--accept-guesses").code == 0
    told, audited = kinds_that_succeed(desk)
    assert told == audited
    remedies = recommendation(desk)["remedies"]
    assert remedies
    follow(desk, remedies[0])
    assert desk.anonymize("--accept-guesses", "--force").code == 0
    after = json.loads((desk.private / "manifest.json").read_text("utf-8"))
    assert after["metrics"]["loss"] == pytest.approx(remedies[0]["after"])
    assert after["recommendation"]["advice"] == remedies[0]["advice"]
    told, audited = kinds_that_succeed(desk)
    assert told == audited


MOSTLY_STARS = "age,zip,disease\n" + "".join(
    f"{30 + n % 3},{1000 + n if n < 21 else 9999},{['flu', 'cold', 'gout'][n // 3 % 3]}\n" for n in range(30)
)
OF_MOSTLY_STARS = {
    "age": {"role": QUASI, "hierarchy": {"flat": True}},
    "zip": {"role": QUASI, "hierarchy": {"flat": True}},
    "disease": "sensitive",
}
LITTLE = "safe to publish, but of little use"


@pytest.fixture
def mostly_stars(desk):
    """A table of which `zip` is shown in nine rows of thirty only."""
    desk.table(MOSTLY_STARS)
    desk.policy(
        OF_MOSTLY_STARS,
        require=[{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "l": 3, "attribute": "disease"}],
        method={"algorithm": "local"},
    )
    return desk


def test_a_column_that_is_mostly_stars_is_of_little_use_and_changes_are_tried(mostly_stars):
    ran = mostly_stars.anonymize()
    said, told = last_line(ran), recommendation(mostly_stars)
    assert told["mostly_starred"] == {"zip": 21}
    assert told["advice"] == "of little use"
    assert f"Advice: {LITTLE}: zip is * in 70 % of the rows; " in said
    assert "Advice: publish" not in said
    assert f"({LITTLE})" in ran.out
    assert refuses_to_advise_it(mostly_stars, ran)
    best = told["remedies"][0]
    assert best["advice"] == "publish"
    assert any(each["change"].startswith("drop zip") for each in told["remedies"])
    comes_true(mostly_stars, best)


def test_strict_ends_with_a_code_of_its_own_and_leaves_the_release(homogeneous):
    ran = homogeneous.anonymize("--strict")
    told = "homogeneity: the sensitive value of 3 rows can be guessed well, rules tell the sensitive value of 3 rows"
    assert ran.code == 5
    assert ran.err.endswith(
        f'shoal: the verdict is not "publish": do not publish ({told}); out was written all the same\n'
    )
    assert "Advice: do not publish" in ran.out
    assert homogeneous.verify("--original", homogeneous.data).code == 0
    as_json = homogeneous.anonymize("--strict", "--json", "--force")
    assert json.loads(as_json.out)["recommendation"]["advice"] == "do not publish"
    error = json.loads(as_json.err.splitlines()[-1])["error"]
    assert (as_json.code, error["kind"], error["exit_code"]) == (5, "NotAdvised", 5)
    later = ("--out", homogeneous.folder / "later")
    applied = homogeneous.run("apply", homogeneous.private, homogeneous.data, *later, "--strict")
    assert applied.code == 5
    assert (homogeneous.folder / "later" / "data.csv").is_file()


def test_strict_is_content_with_the_advice_to_publish(desk):
    assert desk.anonymize("--strict").code == 0


def test_verify_tells_the_verdict_at_release(homogeneous):
    homogeneous.anonymize()
    told = "homogeneity: the sensitive value of 3 rows can be guessed well, rules tell the sensitive value of 3 rows"
    assert last_line(homogeneous.verify()) == f"The verdict at release: do not publish ({told})"
    document = json.loads(homogeneous.verify("--json").out)
    assert document["verdict_at_release"] == {"advice": "do not publish", "verdict": f"do not publish ({told})"}
    manifest = homogeneous.private / "manifest.json"
    written = json.loads(manifest.read_text("utf-8"))
    del written["recommendation"]
    manifest.write_text(json.dumps(written), "utf-8")
    assert last_line(homogeneous.verify()) == (
        "There is no verdict, since the run ended before: do not hand the release out before "
        "shoal audit out --original … (in Python shoal.audit)"
    )
    assert json.loads(homogeneous.verify("--json").out)["verdict_at_release"] is None
    written["data"]["sha256"] = "0" * 64
    manifest.write_text(json.dumps(written), "utf-8")
    assert last_line(homogeneous.verify()).startswith("The verdict at release is not known: ")
    homogeneous.private.rename(homogeneous.folder / "elsewhere")
    assert "erdict at release" not in homogeneous.verify().out
    assert "verdict_at_release" not in json.loads(homogeneous.verify("--json").out)


def test_an_audit_says_whether_it_agrees_with_the_verdict(homogeneous):
    homogeneous.anonymize()
    command = ("audit", homogeneous.out, "--original", homogeneous.data)
    assert last_line(homogeneous.run(*command)).startswith(
        "The audit agrees with the verdict: do not publish (homogeneity: the sens"
    )
    manifest = homogeneous.private / "manifest.json"
    written = json.loads(manifest.read_text("utf-8"))
    told = written["recommendation"] | {"advice": "publish", "attacks": {"record linkage": 0}, "attacks_left": []}
    manifest.write_text(json.dumps(written | {"recommendation": told}), "utf-8")
    found = "homogeneity: the disease of 3 rows can be guessed well, rules tell the disease of 3 rows: do not publish."
    assert last_line(homogeneous.run(*command)) == f"The audit found more than the verdict (publish): {found}"
    told["attacks"] = {"attribute linkage": 3, "rule inference": 3, "singling out": 9}
    manifest.write_text(json.dumps(written | {"recommendation": told}), "utf-8")
    assert last_line(homogeneous.run(*command)).startswith("The audit found less than the verdict, which stands: publ")
    del written["recommendation"]
    manifest.write_text(json.dumps(written), "utf-8")
    assert last_line(homogeneous.run(*command)) == (
        f"There was no verdict when the release was made; this audit found that {found}"
    )
    assert "agreement" in json.loads(homogeneous.run(*command, "--json").out)


def test_an_audit_agrees_with_the_advice_to_publish(desk):
    desk.anonymize()
    ran = desk.run("audit", desk.out, "--original", desk.data)
    assert last_line(ran) == "The audit agrees with the verdict: publish."


KNOWN_DISEASE = "age,sex,disease\n" + "31,f,hiv\n" * 3 + "52,m,flu\n" * 3 + "52,m,cold\n" * 3
UNTRIED = "no column is declared sensitive, so nothing about what is learned of people was tried"


@pytest.fixture
def known_disease(desk):
    """Nine people of whom the policy says that others know the disease; all who are 31 have hiv."""
    desk.table(KNOWN_DISEASE)
    flat = {"role": QUASI, "hierarchy": {"flat": True}}
    desk.policy({"age": flat, "sex": flat, "disease": flat})
    return desk


def test_what_looks_sensitive_and_is_not_is_a_reason_to_think_again(known_disease):
    ran = known_disease.anonymize("--strict")
    told = recommendation(known_disease)
    assert ran.code == 5
    assert told["advice"] == "think again"
    assert told["looks_sensitive"] == {"disease": "its name says an illness or a treatment"}
    assert (
        f"0 of 2 kinds of attack succeed; {UNTRIED}; disease looks sensitive (its name says an ill" in told["sentence"]
    )
    assert "shoal audit OUT --sensitive disease" in told["sentence"]
    assert refuses_to_advise_it(known_disease, ran)
    assert last_line(known_disease.verify()) == (
        "The verdict at release: think again (disease looks sensitive and is not declared so)"
    )


@pytest.mark.parametrize("name", ["disease", "F2"])
def test_a_column_of_known_meaning_may_be_confirmed(desk, name):
    """Neither the header nor the cells are trusted more than the owner of the table."""
    desk.table(
        KNOWN_DISEASE.replace("disease", name).replace("hiv", "B20").replace("flu", "J11").replace("cold", "J00")
    )
    flat = {"role": QUASI, "hierarchy": {"flat": True}}
    desk.policy({"age": flat, "sex": flat, name: flat})
    desk.anonymize()
    assert recommendation(desk)["advice"] == "think again"
    desk.policy({"age": flat, "sex": flat, name: {**flat, "confirm": True}})
    ran = desk.anonymize("--force")
    assert recommendation(desk)["advice"] == "publish"
    assert f"succeed; {UNTRIED}. Advice: publish." in last_line(ran)
    assert last_line(desk.verify()) == f"The verdict at release: publish ({UNTRIED})"
    assert UNTRIED in page(desk.out)


def test_an_insensitive_column_that_looks_sensitive_is_named(desk):
    desk.table(KNOWN_DISEASE.replace("sex", "income"))
    flat = {"role": QUASI, "hierarchy": {"flat": True}}
    desk.policy({"age": flat, "income": "insensitive", "disease": "sensitive"})
    desk.anonymize("--advise", "0")
    assert recommendation(desk)["looks_sensitive"] == {"income": "its name says income, costs or debts"}
    assert "income looks sensitive (its name says income, costs or debts) and is insensitive" in last_line(
        desk.anonymize("--advise", "0", "--force")
    )


def test_an_audit_takes_a_quasi_identifier_as_sensitive(known_disease):
    """Of the six who are 52 three have the flu: nobody is sure. The three who are 31 all have hiv."""
    known_disease.anonymize()
    ran = known_disease.run("audit", known_disease.out, "--original", known_disease.data, "--sensitive", "disease")
    assert ran.code == 0, ran.err
    assert (
        "disease is a quasi-identifier of this release; this audit takes it as sensitive, and not as known to anybody."
        in ran.out
    )
    assert last_line(ran) == (
        "The verdict (think again) was given with disease as a quasi-identifier; with it as sensitive, this audit "
        "found that homogeneity: the disease of 3 rows can be guessed well, rules tell the disease of 3 rows: do not "
        "publish."
    )
    command = ("audit", known_disease.out, "--sensitive", "disease", "--json")
    document = json.loads(known_disease.run(*command).out)
    assert document["taken_as_sensitive"] == ["disease"]
    lines = {line["channel"]: line for line in document["verdict"]}
    assert (lines["attribute linkage"]["records"], lines["attribute linkage"]["attacks"]) == (
        3,
        ["homogeneity", "skewness"],
    )
    assert sh.attack(known_disease.out, "homogeneity", sensitive="disease").exposed == 3


def test_promises_about_another_column_do_not_keep_an_audit_from_being_made(desk):
    """What was promised about the disease cannot be judged once the sex is what is to be learned."""
    desk.policy(require=[{"model": "k-anonymity", "k": 3}, {"model": "alpha-k", "k": 1, "alpha": 0.9}])
    assert desk.anonymize().code == 0
    found = sh.audit(desk.out, sensitive=["sex"], policy=desk.folder / "policy.toml")
    assert "downcode" in {each.attack for each in found.findings}


def test_several_columns_are_taken_as_sensitive(desk):
    """Whoever knows the age alone: all of 31 are women with hiv, and all of 52 are men."""
    desk.table(KNOWN_DISEASE)
    flat = {"role": QUASI, "hierarchy": {"flat": True}}
    desk.policy({"age": flat, "sex": flat, "disease": "sensitive"})
    release = sh.anonymize(desk.data, desk.folder / "policy.toml")
    release.save(desk.out, advise=0)
    for given in (desk.out, release):
        found = sh.audit(given, sensitive=["sex", "disease"], original=desk.data)
        assert found.taken_as_sensitive == ("sex",)
        assert next(each for each in found.findings if each.attack == "homogeneity").columns == ("sex", "disease")
        assert {str(line.channel): line.people for line in found.lines}["attribute linkage"] == 9


def test_a_verdict_names_the_attack_that_succeeds(desk):
    """What only deFinetti learns is said to be its own, so that it can be found in an audit."""
    admit_to_wards(desk)
    said = last_line(desk.anonymize("--advise", "0"))
    told = recommendation(desk)
    rows = told["attacks"]["attribute linkage"]
    assert told["succeeding"] == {"attribute linkage": ["definetti"]}
    assert f"(definetti: the ill of {rows} rows can be guessed well)" in said
    assert f"do not publish (definetti: the sensitive value of {rows} rows can be" in last_line(desk.verify())


def test_the_condition_of_a_verdict_is_repeated(desk, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(definetti, "MOST_CELLS", 10)
        strict = desk.anonymize("--strict")
        ran = desk.anonymize("--force")
    condition = "publish if an audit with the original finds no more: definetti was not tried"
    assert strict.code == 5
    assert f'the verdict is no plain "publish": {condition}; out was written all the same' in strict.err
    assert "(publish this if an audit with the original finds no more)" in ran.out
    assert recommendation(desk)["attacks_left"] == ["definetti"]
    assert last_line(desk.verify()) == f"The verdict at release: {condition}"
    document = json.loads(desk.verify("--json").out)["verdict_at_release"]
    assert document == {"advice": "publish", "verdict": condition, "attacks_left": ["definetti"]}
    command = ("audit", desk.out, "--original", desk.data)
    assert last_line(desk.run(*command)) == ("The audit agrees with the verdict: publish; it has tried definetti, too.")
    assert last_line(desk.run("audit", desk.out)) == (
        f"The audit agrees with the verdict: {condition}; give the original to try it (--original DATA, in Python "
        "original=…)."
    )


def test_guesses_at_a_generalised_column_are_held_against_its_labels(desk):
    """Ages are shown in tens. Who guesses the tens of the old and the young by their ward is right or wrong in tens."""
    rows = [(ward, old) for ward in range(40) for old in ((1, 1, 1, 0) if ward % 2 else (1, 0, 0, 0))]
    people = [f"w{ward},{1000 * old + n},{70 + n % 5 if old else 30 + n % 5}\n" for n, (ward, old) in enumerate(rows)]
    desk.table("ward,days,age\n" + "".join(people))
    flat = {"role": QUASI, "hierarchy": {"flat": True}}
    tens = {"role": QUASI, "hierarchy": {"intervals": [10]}, "min-level": 1}
    desk.policy({"ward": flat, "days": flat, "age": tens}, require=[{"model": "k-anonymity", "k": 1}])
    assert desk.anonymize("--advise", "0").code == 0
    found = sh.attack(desk.out, "definetti", sensitive="age", original=desk.data)
    assert found.success.guesses == 160
    assert found.success.right == 160  # with k = 1 the ward and the days tell everybody apart


def test_a_change_after_which_a_column_still_looks_sensitive_is_not_enough(desk):
    desk.table(HOMOGENEOUS.replace("sex", "smoker"))
    desk.policy({("smoker" if name == "sex" else name): each for name, each in OF_HOMOGENEOUS.items()})
    said, told = last_line(desk.anonymize()), recommendation(desk)
    best = told["remedies"][0]
    assert told["looks_sensitive"] == {"smoker": "its name says a habit, a deed or a private life"}
    assert best["change"].startswith("add distinct-l-diversity")
    assert best["advice"] == "think again"
    assert "; not enough, but better: add distinct-l-diversity" in said
    comes_true(desk, best)


def test_no_other_column_of_two_tables_is_taken_as_sensitive(desk):
    desk.policy(
        require=[{"model": "distinct-l-diversity", "l": 2, "attribute": "disease"}], method={"algorithm": "anatomy"}
    )
    assert desk.anonymize("--advise", "0").code == 0
    desk.refused(
        2, "audit", desk.out, "--sensitive", "age", says="its sensitive column is disease, in a table of its own"
    )
    assert desk.run("audit", desk.out, "--sensitive", "disease").code == 0
