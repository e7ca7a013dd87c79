"""The one verdict of a release: what holds, what the attacks found, whether to publish, and what would help."""

import html
import json
import random
import re
import tomllib

import pytest
import tomli_w

import shoal as sh
from shoal.explore import advice

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
    assert "the sensitive value of 3 rows can be guessed well" in said
    assert told["advice"] == "do not publish"
    best = told["remedies"][0]
    assert f"add distinct-l-diversity l = 2 on disease: loss {best['before']:.2f} → {best['after']:.2f}" in said
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


def test_every_remedy_in_python(scattered):
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
    policy = (scattered.folder / "policy.toml").read_text("utf-8")
    scattered.anonymize()
    remedies = recommendation(scattered)["remedies"]
    assert {remedy["change"].split()[0] for remedy in remedies} >= {"drop", "algorithm"}
    for remedy in remedies:
        (scattered.folder / "policy.toml").write_text(policy, "utf-8")
        follow(scattered, remedy)
        assert scattered.anonymize("--force").code == 0
        after = json.loads((scattered.private / "manifest.json").read_text("utf-8"))
        assert after["metrics"]["loss"] == pytest.approx(remedy["after"]), remedy["change"]
        assert after["recommendation"]["advice"] == remedy["advice"], remedy["change"]
        assert after["recommendation"]["starred"] != ["zip"]


def test_what_cannot_be_kept_is_never_proposed(desk):
    """Everybody has one value: no promise of diversity can be kept, whatever is generalised."""
    desk.table("age,disease\n" + "".join(f"{age},hiv\n" for age in range(30, 40)))
    desk.policy({"age": {"role": QUASI, "hierarchy": {"intervals": [5]}}, "disease": "sensitive"})
    ran = desk.anonymize()
    assert recommendation(desk)["remedies"] == []
    assert "none of the changes that were tried helps" in last_line(ran)
    assert refuses_to_advise_it(desk, ran)


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
    assert "cheapest change that helps: add distinct-l-diversity l = 2 on disease" in said
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
    monkeypatch.setattr(advice, "_WORK", 12_000.0)
    monkeypatch.setattr(advice, "_ONCE", 1_000.0)
    monkeypatch.setattr(advice, "_LEAST_SAMPLE", 200)
    many.anonymize()
    told = recommendation(many)
    assert told["untried"]
    best = told["remedies"][0]
    assert (best["advice"], best.get("sample")) == ("publish", None)
    follow(many, best)
    many.anonymize("--force")
    manifest = json.loads((many.private / "manifest.json").read_text("utf-8"))
    assert manifest["metrics"]["loss"] == pytest.approx(best["after"])
    assert manifest["recommendation"]["advice"] == "publish"


def test_estimates_from_a_sample_are_called_so(many, monkeypatch):
    monkeypatch.setattr(advice, "_WORK", 5_000.0)
    monkeypatch.setattr(advice, "_ONCE", 100.0)
    monkeypatch.setattr(advice, "_LEAST_SAMPLE", 200)
    ran = many.anonymize()
    best = recommendation(many)["remedies"][0]
    assert 200 <= best["sample"] < 1000
    said = f"as estimated on a sample of {best['sample']} rows: {best['change']}: loss"
    assert said in last_line(ran)
    assert f"→ about {best['after']:.2f}" in last_line(ran)
    assert f"a sample of {best['sample']} rows: estimates" in " ".join(ran.out.split())
    assert f"a sample of {best['sample']} rows: these are estimates" in page(many.private)


def test_columns_that_say_nothing_are_named_with_several_remedies_and_their_losses(scattered):
    ran = scattered.anonymize()
    shown = " ".join(ran.out.split())
    remedies = recommendation(scattered)["remedies"]
    assert len(remedies) > 1
    for remedy in remedies[:5]:
        assert remedy["change"].split(" (")[0] in shown
        assert f"{remedy['after']:.4g}" in shown


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
    assert not told["remedies"][0]["change"].startswith("drop zip and job and born")


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
