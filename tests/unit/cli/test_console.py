"""What a terminal shows while a run goes on."""

import json

from rich.progress import Progress

from shoal.cli.console import _PhaseBar, print_json, show_table
from shoal.runtime.events import listening, phase, report_progress
from shoal.search.driver import Ask
from shoal.search.oracle import Tally


def shown(bar):
    """What the one line of a bar says: the words, and the share if it is known."""
    (task,) = bar.tasks
    return task.description, task.total and task.completed / task.total


def test_a_phase_with_a_share_and_one_without():
    bar = Progress(disable=True)
    with listening(_PhaseBar(bar, "").show_phase):
        with phase("verifying"):
            report_progress(0.75)
            assert shown(bar) == ("verifying", 0.75)
            with phase("reading"):
                assert shown(bar) == ("reading", None)
                report_progress(0.5)
                assert shown(bar) == ("reading", 0.5)
            assert shown(bar) == ("verifying", None)
        report_progress(0.25)  # in no phase
        assert shown(bar) == ("verifying", None)


def test_a_search_tells_its_nodes():
    bar = Progress(disable=True)
    line = _PhaseBar(bar, "")
    line.show_phase("searching", None)
    line.watch(Ask((0,), 0.25), Tally(nodes=8, checked=2))
    assert shown(bar) == ("2 of 8 nodes checked", 0.25)


def test_a_command_that_measures_itself_is_not_reset_by_phases():
    bar = Progress(disable=True)
    line = _PhaseBar(bar, "learning")
    line.show_phase("reading", None)
    assert shown(bar) == ("reading", None)
    line.watch(Ask((), 0.5), Tally())
    line.show_phase("searching", None)
    line.show_phase("searching", 0.1)
    assert shown(bar) == ("learning", 0.5)


STEERING = "\x1b[2J\x7f\x9b31m\u202e\u2066\U000e0041"


def test_json_is_printed_with_escapes_for_what_steers_a_terminal(capsys):
    document = {STEERING: [STEERING, "é €"]}
    print_json(document)
    text = capsys.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "é €" in text
    assert json.loads(text) == document


def test_headings_and_cells_of_a_table_steer_no_terminal(capsys):
    show_table(STEERING, (STEERING, "[red]b"), [(STEERING, "[bold]x")])
    text = capsys.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "[red]b" in text
    assert "[bold]x" in text
