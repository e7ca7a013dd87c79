"""`pipeline.py` tells the story: one anonymize, followed by a tracer, from the file to the published folder."""

import sys

import pytest
import shoal_source

from shoal import api

MOST_MODULES = 100
STEPS = {
    "read": ("shoal.engines.choice", "read_with_population"),
    "problem": ("shoal.problem", "Problem.of"),
    "solve": ("shoal.solve", "solve"),
    "recode": ("shoal.engines.choice", "recode"),
    "write": ("shoal.publish.data_files", "write_data"),
    "verify": ("shoal.publish.verification", "judge_files"),
    "publish": ("shoal.publish.contents", "write_public"),
    "report": ("shoal.report.pages", "write_reports"),
}


def caller(frame):
    """The module that called a function, whatever decorates it."""
    above = frame.f_back
    while above is not None and above.f_globals.get("__name__") == "contextlib":
        above = above.f_back
    return "" if above is None else above.f_globals.get("__name__", "")


def followed(run):
    """Which functions of the package are called by `run`, in their order, with who called them."""
    calls = []

    def tell(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.split(".")[0] == "shoal" and frame.f_code.co_name != "<module>":
            calls.append((module, frame.f_code.co_qualname, caller(frame)))

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


@pytest.fixture
def calls(desk, tmp_path):
    desk.policy()
    policy = desk.folder / "policy.toml"
    api.publish(desk.data, policy, tmp_path / "first")  # what is loaded on first use is loaded
    return followed(lambda: api.publish(desk.data, policy, tmp_path / "out"))


def test_one_release_crosses_few_modules(calls):
    assert len({module for module, _, _ in calls}) <= MOST_MODULES


def test_the_steps_are_called_by_the_pipeline_in_their_order(calls):
    called = [(module, name) for module, name, above in calls if above == "shoal.pipeline"]
    assert [called.index(step) for step in STEPS.values()] == sorted(called.index(step) for step in STEPS.values())


def test_pipeline_py_fits_on_a_page():
    lines = (shoal_source.FOLDER / "pipeline.py").read_text("utf-8").splitlines()
    assert len(lines) <= 150
    assert all(len(line) <= 120 for line in lines)


def test_the_steps_before_every_method_are_called_in_one_place():
    """What is counted is read for models, and what does not fit is refused, in one place for every method."""
    for name in ("read_columns", "refuse_misfits"):
        users = [path for path in shoal_source.FOLDER.rglob("*.py") if f" {name}(" in path.read_text("utf-8")]
        assert {path.name for path in users} == {"problem.py"}
