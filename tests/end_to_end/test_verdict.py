"""The one verdict of a release: what holds, what the attacks found, whether to publish, and what would help."""

import html
import json
import re
import tomllib

import pytest
import tomli_w

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
    ran = desk.anonymize("--advise", "60")
    assert last_line(ran).startswith("Verdict: the promise holds; 0 of 4 kinds of attack succeed")
    assert last_line(ran).endswith("Advice: publish.")
    assert "(publish this)" in ran.out
    assert recommendation(desk)["advice"] == "publish"
    assert recommendation(desk)["remedies"] == []


def test_the_last_line_is_on_the_private_page_and_in_the_document(homogeneous):
    said = last_line(homogeneous.anonymize("--advise", "60"))
    assert said in page(homogeneous.private)
    assert recommendation(homogeneous)["sentence"] == said
    ran = homogeneous.anonymize("--advise", "60", "--force", "--json")
    assert json.loads(ran.out)["recommendation"]["sentence"] == said


def test_a_homogeneous_class_is_named_with_the_promise_that_helps(homogeneous):
    ran = homogeneous.anonymize("--advise", "60")
    said, told = last_line(ran), recommendation(homogeneous)
    assert "the sensitive value of 3 rows can be guessed well" in said
    assert told["advice"] == "do not publish"
    best = told["remedies"][0]
    assert f"add distinct-l-diversity l = 2 on disease: loss {best['before']:.2f} → {best['after']:.2f}" in said
    assert refuses_to_advise_it(homogeneous, ran)


def test_advice_that_is_followed_leads_to_a_release_that_may_be_published(homogeneous):
    homogeneous.anonymize("--advise", "60")
    best = recommendation(homogeneous)["remedies"][0]
    follow(homogeneous, best)
    ran = homogeneous.anonymize("--advise", "60", "--force")
    assert last_line(ran).endswith("Advice: publish.")
    assert "(publish this)" in ran.out
    metrics = json.loads((homogeneous.private / "manifest.json").read_text("utf-8"))["metrics"]
    assert metrics["loss"] == pytest.approx(best["after"])


def test_a_column_of_stars_is_named(scattered):
    ran = scattered.anonymize("--advise", "60")
    assert "zip is * in every row" in last_line(ran)
    assert recommendation(scattered)["starred"] == ["zip"]
    assert recommendation(scattered)["advice"] == "think again"
    assert "age 0, zip 1 (*)" in ran.out
    assert "0 intact … 1 nothing left" in " ".join(ran.out.split())
    assert refuses_to_advise_it(scattered, ran)


def test_every_remedy_gives_the_loss_that_it_predicts(scattered):
    policy = (scattered.folder / "policy.toml").read_text("utf-8")
    scattered.anonymize("--advise", "60")
    remedies = recommendation(scattered)["remedies"]
    assert {remedy["change"].split()[0] for remedy in remedies} >= {"drop", "algorithm"}
    for remedy in remedies:
        (scattered.folder / "policy.toml").write_text(policy, "utf-8")
        follow(scattered, remedy)
        assert scattered.anonymize("--advise", "60", "--force").code == 0
        after = json.loads((scattered.private / "manifest.json").read_text("utf-8"))
        assert after["metrics"]["loss"] == pytest.approx(remedy["after"]), remedy["change"]
        assert after["recommendation"]["advice"] == remedy["advice"], remedy["change"]
        assert after["recommendation"]["starred"] != ["zip"]


def test_what_cannot_be_kept_is_never_proposed(desk):
    """Everybody has one value: no promise of diversity can be kept, whatever is generalised."""
    desk.table("age,disease\n" + "".join(f"{age},hiv\n" for age in range(30, 40)))
    desk.policy({"age": {"role": QUASI, "hierarchy": {"intervals": [5]}}, "disease": "sensitive"})
    ran = desk.anonymize("--advise", "60")
    assert recommendation(desk)["remedies"] == []
    assert "none of the changes that were tried helps" in last_line(ran)
    assert refuses_to_advise_it(desk, ran)


def test_the_public_page_tells_what_the_table_shows_and_no_loss(homogeneous):
    homogeneous.anonymize("--advise", "60")
    shown, told = page(homogeneous.out), recommendation(homogeneous)
    assert told["findings"] in shown
    assert told["sentence"].startswith(told["findings"].removesuffix("."))
    assert "loss" not in shown
    assert "add distinct-l-diversity" not in shown


def test_remedies_take_time_and_are_looked_for_when_asked(homogeneous):
    said = last_line(homogeneous.anonymize())
    assert said.endswith("changes that would help were not looked for, since that takes time: --advise looks for them.")
    assert recommendation(homogeneous)["advice"] == "do not publish"


def test_equal_runs_give_equal_bytes_and_no_remedies(homogeneous):
    said = last_line(homogeneous.anonymize("--advise", "60", "--reproducible"))
    first = (homogeneous.private / "manifest.json").read_bytes()
    assert "changes that would help were not looked for" in said
    homogeneous.anonymize("--advise", "60", "--reproducible", "--force")
    assert (homogeneous.private / "manifest.json").read_bytes() == first


def test_a_dry_run_ends_with_the_same_line(homogeneous):
    said = last_line(homogeneous.anonymize("--advise", "60"))
    assert last_line(homogeneous.anonymize("--advise", "60", "--dry-run", "--force")) == said


def test_rows_are_rows_unless_persons_are_counted(desk):
    desk.anonymize("--advise", "60")
    assert "Every row hides among at least" in page(desk.out)
    table = "who,age,disease\n" + "".join(f"p{n},{30 + n // 4},{['flu', 'hiv'][n % 2]}\n" for n in range(12))
    desk.table(table)
    desk.policy({"who": "unit", "age": {"role": QUASI, "hierarchy": {"intervals": [5]}}, "disease": "sensitive"})
    desk.anonymize("--advise", "60", "--force")
    assert "Every person hides among at least" in page(desk.out)
