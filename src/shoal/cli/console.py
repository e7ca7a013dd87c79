"""Print tables, notes and progress for people, and one JSON document for machines."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from shoal.errors import BadOutput, ShoalError, ShoalWarning, reason_of
from shoal.runtime.events import describe_published, listening

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from shoal.explore.draft_policy import PolicyDraft
    from shoal.search.driver import Watch
    from shoal.verify.claim import Verdict

_COUNTABLE = 10**9
_COLOURS = {"holds": "green", "FAILS": "bold red", "fails": "bold red"}


def clean(text: object) -> str:
    """Escape control characters, so that no cell of a table can control the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def _console(*, stderr: bool = False, whole: bool = False) -> "Console":
    """Return the console; what goes to stderr, and what must stay `whole`, is not wrapped."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=stderr or whole)


def _print(what: object, *, stderr: bool = False, whole: bool = False) -> None:
    with explain_print_error():
        _console(stderr=stderr, whole=whole).print(what)


@contextmanager
def explain_print_error() -> Iterator[None]:
    """Turn an error of printing into one that says what became of the release; pass on a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as wrong:
        why = reason_of(wrong)
        raise BadOutput(f"the result could not be printed ({why}); {describe_published()}") from None


def say(text: str) -> None:
    _print(clean(text), stderr=True)


def say_on_stdout(text: str, *, whole: bool = False) -> None:
    """Print a sentence on stdout, wrapped to the width of the terminal unless it must stay `whole`."""
    _print(clean(text), whole=whole)


def print_toml(text: str) -> None:
    """Print a TOML file on stdout, with characters that could control the terminal written as TOML escapes."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    kept = (c == "\n" or (c.isprintable() and (c.isascii() or not plain)) for c in text)
    with explain_print_error():
        sys.stdout.write("".join(c if as_is else f"\\U{ord(c):08x}" for c, as_is in zip(text, kept, strict=True)))


def print_json(document: Any) -> None:
    """Print a document as JSON, with characters that could control the terminal written as JSON escapes."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=plain)
    with explain_print_error():
        sys.stdout.write("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text) + "\n")


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print the warnings of this package as notes on stderr."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ShoalWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, ShoalWarning):  # warnings of other packages may contain cells
            say(f"note: {warning.message}")


@contextmanager
def reveal_values(*, show_values: bool) -> Iterator[None]:
    """Add to an error the cells it is about, if `show_values` asks for them."""
    try:
        yield
    except ShoalError as wrong:
        if not show_values or not wrong.values:
            raise
        raise type(wrong)(f"{wrong} (values: {', '.join(map(repr, wrong.values))})") from None


@contextmanager
def progress(*, quiet: bool, doing: str = "") -> Iterator["Watch"]:
    """Show on a terminal the phase of a run, the time it has taken and, where its progress is known, the time left.

    A command that reports progress over all of its work names it as `doing`, which is shown from its first report on.
    """
    if quiet or not sys.stderr.isatty():
        yield (lambda *_: None) if quiet else _SearchAnnouncer(lambda *_: None)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        shown = _PhaseBar(bar, doing)
        with listening(shown.show_phase):
            yield _SearchAnnouncer(shown.watch)


class _PhaseBar:
    """One line for the phase that a run is in; each phase has a clock of its own."""

    def __init__(self, bar: "Progress", doing: str) -> None:
        self._bar, self._doing, self._measured = bar, doing, False
        self._task = bar.add_task("starting", total=None)

    def show_phase(self, phase: str, share: float | None) -> None:
        if self._measured:
            return
        if share is None:
            self._begin(phase)
        else:
            self._bar.update(self._task, total=1.0, completed=share)

    def watch(self, ask: Any, tally: Any) -> None:
        """Show the progress of a search, or of a command that reports which share of its work is done."""
        if self._doing and not self._measured:
            self._begin(self._doing)
            self._measured = True
        said = _format_checked_nodes(tally.checked, tally.nodes) if tally.nodes and not self._doing else None
        self._bar.update(self._task, total=1.0, completed=ask.settled, description=said)

    def _begin(self, doing: str) -> None:
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(doing, total=None)


class _SearchAnnouncer:
    """Prints, before a long search, what to expect of it."""

    def __init__(self, watch: "Watch") -> None:
        self._watch = watch
        self._said = False

    def __call__(self, ask: Any, tally: Any) -> None:
        from shoal.search.optimal import LARGEST_EXHAUSTED

        if not self._said and tally.nodes > LARGEST_EXHAUSTED:
            say(
                f"note: the lattice has {_format_node_count(tally.nodes)} nodes, too many to look at all; a "
                f"good one is looked for, "
                "and how far it may be from the best will be stated (Ctrl-C stops)"
            )
        self._said = True
        self._watch(ask, tally)


def _describe_rounding(guess: Any) -> str:
    """Say how a draft publishes exact numbers, and how many rows have one of their own even then."""
    ends = zip(("at least", "at most"), guess.bounds, strict=True)
    within = "".join(f", {word} {float(bound):g}" for word, bound in ends if bound is not None)
    left = guess.published.uniques
    unique = f" ({left:,} {'row is' if left == 1 else 'rows are'} unique even so)" if left else ""
    return f"{guess.column.name!r} to multiples of {float(guess.step):g}{within}{unique}"


_MOST_NAMED = 20
"""Most columns that a sentence names."""


def _join_some(names: Sequence[str]) -> str:
    """Join the first of some names.

    >>> _join_some([f"c{i}" for i in range(22)])
    'c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19 and 2 others'
    """
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} others" if more > 0 else "")


def show_draft(drafted: "PolicyDraft", data: Any, out: Path) -> None:
    """Print the guess for each column, what the algorithms make of a sample, and what to do next."""
    from shoal.explore.column_guess import holds_codes_of_missing
    from shoal.roles import Role

    columns = [(g.column.name, str(g.role), str(g.certainty), g.why) for g in drafted.guesses]
    show_table("What the columns seem to be", ("column", "role", "guess", "why"), columns)
    for trial in drafted.trials:
        if trial.loss is None:
            say(f"{trial.algorithm}: {trial.why}")
            continue
        names = tuple(trial.rows[0]) if trial.rows else ()
        title = f"{trial.algorithm}: loss {trial.loss:.3f} on a sample (0 intact … 1 nothing left); three of its rows"
        show_table(title, names, [tuple(row[name] for name in names) for row in trial.rows])
    if drafted.questions:
        named = _join_some([repr(name) for name in drafted.questions])
        it, its = ("they are", "Their lines") if len(drafted.questions) > 1 else ("it is", "Its line")
        say(f'Decide on {named}: nothing tells for sure what {it}. {its} confirm = "?" must go.')
    if steps := [_describe_rounding(g) for g in drafted.guesses if g.step is not None]:
        say(f"Rounded: {_join_some(steps)}, since whoever knows an exact value finds the row.")
    if exact := [repr(g.column.name) for g in drafted.guesses if g.is_exact and g.step is None]:
        say(f"Think about {_join_some(exact)}: whoever knows an exact value finds the row; see the policy.")
    if codes := [repr(g.column.name) for g in drafted.guesses if holds_codes_of_missing(g.column)]:
        say(
            f"Think about {_join_some(codes)}: a few numbers, negative or nines far above the others, may say that a "
            "value is not known; if so, add them to missing under [data]."
        )
    for pair in drafted.giveaways:
        say(f"Think about {pair.known!r} and {pair.told!r}: {pair}.")
    for two in drafted.related:
        say(f"Think about {two.first!r} and {two.second!r}: {two}.")
    if not any(g.role is Role.QUASI_IDENTIFIER for g in drafted.guesses):
        say("No column seems to be a quasi-identifier: give that role to what others may know of a person.")
    how = f"{shlex.quote(str(data))} --policy {shlex.quote(str(out))}"
    say(f"Wrote {out}. Check the roles, then: shoal anonymize {how} --out out/")


def show_measurement(found: dict[str, Any], *, show_values: bool) -> None:
    rows: list[tuple[str, ...]] = []
    for entry in found["models"]:
        where = _worst(entry)
        for key, value in entry["attained"].items():
            if not isinstance(value, dict):
                rows.append(
                    (entry["model"], entry.get("attribute", ""), f"{key} = {_format_attained_value(value)}", where)
                )
                where = ""
            elif show_values:
                rows += [
                    (entry["model"], f"{entry['attribute']} = {v}", f"{key} {_format_attained_value(a)}", "")
                    for v, a in value.items()
                ]
    if len(found["alone"]) > 1:
        rows += [("k-anonymity", f"of {name} alone", f"k = {k}", "") for name, k in found["alone"].items()]
    joint = found.get("joint_homogeneity", {})
    together = {f"{which} of {' and '.join(found['homogeneity'])}": told for which, told in joint.items()}
    for name, told in (found["homogeneity"] | together).items():
        said = f"{told['classes']:,} classes of one value, {told['rows']:,} rows"
        rows.append(("homogeneity", name, said, f"by chance {told['expected']:.3g}"))
    persons = f" of {found['persons']:,} persons" if "persons" in found else ""
    title = f"{found['rows']:,} rows{persons} in {found['classes']:,} classes"
    show_table(title, ("model", "attribute", "attained", "worst class"), rows)
    if "suppressed" in found:
        many, ignored = found["suppressed"]["rows"], found["suppressed"]["ignored"]
        how = "left out" if ignored else "counted as a class"
        say(f"note: {many:,} row(s) are * in every quasi-identifier and were {how}")


def _format_attained_value(value: Any) -> str:
    return "none" if value is None else _short(value)


def _worst(entry: dict[str, Any]) -> str:
    if "worst" not in entry:
        return ""
    size, rows = entry["worst"]["size"], entry["worst"]["rows"]
    few = 3
    said = f"{size:,}: row {', '.join(map(str, rows[:few]))}{', …' if size > few else ''}"
    shared = ", ".join(f"{name} = {value}" for name, value in entry["worst"].get("values", {}).items())
    return f"{said} ({shared})" if shared else said


def show_manifest(document: dict[str, Any], out: Path | None, private: Path | None) -> None:
    rows, method = document["rows"], document["method"]
    promises = [
        (
            m["model"],
            m.get("attribute", ""),
            _format_asked(m["asked"]),
            _format_attained(m["attained"]),
            "holds" if m["holds"] else "FAILS",
        )
        for m in document["models"]
    ]
    show_table(
        "What the release promises, as re-read and counted",
        ("model", "attribute", "asked", "attained", ""),
        promises,
    )
    share = 100 * rows["suppressed"] / rows["read"]
    percent = "<0.01 %" if 0 < share < 0.005 else f"{share:.2f} %"
    advised = document["recommendation"]
    facts = [
        (
            "rows",
            f"{rows['read']:,} read, {rows['released']:,} released, {rows['suppressed']:,} suppressed ({percent})"
            + (f", {rows['added']:,} added" if rows["added"] else ""),
        ),
        ("classes", _classes(document)),
        _describe_recoding(document["recoding"]),
        (method["metric"], f"{method['score']:.6g} ({_scale(method['metric'])}{_describe_optimality(method)})"),
        ("search", _search(method)),
        *([("blocking", _describe_blocking(document["blocking"]))] if "blocking" in document else []),
        *([("republish", _describe_republish(document["republish"]))] if "republish" in document else []),
    ]
    if out is not None:
        left = advised["advice"] in {"publish", "of little use"} and advised["attacks_left"]
        safe = "; safe" if advised["advice"] == "of little use" else ""
        unless = f"{safe} if an audit with the original finds no more" if left else ""
        facts.append(("release", f"{out} ({_TO_DO[advised['advice']]}{unless})"))
        facts.append(("private", f"{private or str(out).rstrip('/') + '.private'} (never publish this)"))
    show_table("", ("", ""), facts)
    for note in document.get("warnings", []):
        say(f"note: {note}")
    if advised["remedies"]:
        show_remedies(advised["remedies"])
    if advised["untried"]:
        say(f"note: {_untried(len(advised['untried']))}: --advise SECONDS tries more")
    _print(clean(advised["sentence"]), whole=True)


def _classes(document: dict[str, Any]) -> str:
    """Say how many rows the classes have and, where persons are counted, the fewest persons in one."""
    from shoal.publish.manifest import fewest_persons

    sizes = document["classes"]
    told = f"{sizes['count']:,} of {sizes['min']:,} to {sizes['max']:,} rows, {sizes['mean']:.1f} on average"
    if "unit" not in {attribute["role"] for attribute in document["policy"]["attributes"].values()}:
        return told
    least = fewest_persons(document["models"])
    return f"{told}; a person may have several rows" if least is None else f"{told}; at least {least:,} persons in each"


def show_remedies(remedies: Sequence[dict[str, Any]]) -> None:
    """Print the best changes of the policy that help, with the loss after each."""
    rows = [
        (each["change"], f"{each['before']:.4g}", _format_loss_after(each), each.get("advice", "not known"))
        for each in remedies[:_MOST_REMEDIES]
    ]
    sample = next((each["sample"] for each in remedies if "sample" in each), None)
    title = "Changes that help, as tried on this table"
    if sample is not None:
        title = f"Changes that help; where no advice is known, they were tried on a sample of {sample:,} rows only"
    show_table(title, ("change", "loss now", "then", "advice then"), rows)
    lines = remedies[0]["toml"].rstrip("\n").splitlines()
    if len(lines) <= _MOST_LINES:
        shown = ["The first one in the policy file:", "", *(f"    {clean(line)}".rstrip() for line in lines), ""]
        _print("\n".join(shown), whole=True)


def _format_loss_after(remedy: dict[str, Any]) -> str:
    """Format the loss after a change: "about" marks an estimate, "of the rest" a change that drops columns."""
    about = "about " if "sample" in remedy else ""
    return f"{about}{remedy['after']:.4g}{' of the rest' if remedy.get('dropped') else ''}"


def _untried(count: int) -> str:
    return "1 other change was not tried" if count == 1 else f"{count:,} other changes were not tried"


_MOST_REMEDIES = 5
_MOST_LINES = 40
"""Most lines of a policy that are shown; longer ones are on the private page."""
_TO_DO = {
    "publish": "publish this",
    "of little use": "safe to publish, but of little use",
    "think again": "think again before anybody gets it",
    "do not publish": "do not publish it as it is",
}
"""What to do with the release folder, by the advice."""


def _scale(metric: str) -> str:
    """Say what 0 and 1 mean for metrics whose name does not tell; empty for others."""
    from shoal.explore.advice import SCALE

    return f"{SCALE}; " if metric in {"loss", "loss-geometric", "precision-loss"} else ""


def _describe_recoding(recoding: dict[str, Any]) -> tuple[str, str]:
    """Return a heading and the levels of a node, with the label of the top; for other recodings, labels per column."""
    if recoding["kind"] == "node":
        tops = {**dict.fromkeys(recoding.get("stars", []), "*"), **recoding.get("tops", {})}
        shown = [
            f"{name} {level}{f' ({tops[name]})' if name in tops else ''}" for name, level in recoding["levels"].items()
        ]
        return "levels", ", ".join(shown)
    labels = ", ".join(f"{name} {count:,}" for name, count in recoding["labels"].items())
    return recoding["kind"], f"different labels: {labels}"


def _describe_blocking(told: dict[str, Any]) -> str:
    """Say what was done about inference channels; the rules themselves are in the private folder only."""
    said = f"{told['channels']:,} inference channel(s), {told['left']:,} left after {told['passes']:,} pass(es)"
    said += f"; {told['lost']:.1%} of the other rules lost, {told['ghosts']:.1%} of the rules now are ghosts"
    if "exceeded" in told:
        moment = told["exceeded"]
        kept = f"{moment['taken_back']:,} row(s) taken back" if moment["taken_back"] else "the rows kept"
        said += f"; h exceeded at LR {moment['lost']:.1%}, GR {moment['ghosts']:.1%}, {kept}"
    if "seen_without_nulls" in told:
        said += f"; who drops rows without a value still sees {told['seen_without_nulls']:,}"
    return said


def show_blocked(told: dict[str, Any], out: Path | None) -> None:
    """Show what blocking did to a table that was anonymous already and, where told, the rules that were channels."""
    facts = [
        ("rows", f"{told['rows']:,}, of which {told['added']:,} added"),
        ("classes", f"k = {told['k']['before']:,} before, {told['k']['after']:,} now"),
        ("blocking", _describe_blocking(told["blocking"])),
        *([("table", str(out))] if out is not None else []),
    ]
    show_table("", ("", ""), facts)
    if told["blocking"].get("rules"):
        left = told["blocking"]["unblocked"]
        lines = [(rule, "left" if rule in left else "blocked") for rule in told["blocking"]["rules"]]
        show_table("Sensitive rules", ("rule", ""), lines)


def _describe_republish(told: dict[str, Any]) -> str:
    """Say which release of its table this is, and what all releases reveal together."""
    return f"release {told['release']:,} by {told['way']}; {told['finding']}"


def _search(method: dict[str, Any]) -> str:
    said: str = method["algorithm"]
    said += f": {_format_checked_nodes(method['checked'], method['nodes'])}" if "nodes" in method else ""
    said += f" in {method['seconds']:.2f} s" if "seconds" in method else ""
    return said + (f"; {len(method['solutions']):,} node(s) found" if "solutions" in method else "")


def _format_checked_nodes(checked: int, nodes: int) -> str:
    """Say how many nodes were checked: Incognito also checks nodes of fewer attributes, so they may exceed `nodes`."""
    if checked > nodes:
        return f"{checked:,} nodes checked, of subsets too ({_format_node_count(nodes)} have all attributes)"
    return f"{checked:,} of {_format_node_count(nodes)} nodes checked"


def _describe_optimality(method: dict[str, Any]) -> str:
    if method.get("nodes") == 1:
        return "no other node was allowed"
    if method["proved"]:
        return "proved to be the least"
    if "gap" in method and (method["algorithm"] == "optimal" or "nodes" not in method):
        return f"at most {method['gap']:.3g} above the least"
    return f"{method['algorithm']} does not look for the least"


def _format_node_count(nodes: int) -> str:
    return f"{nodes:,}" if nodes < _COUNTABLE else f"{nodes:.2g}"


def show_verdicts(verdicts: Sequence["Verdict"]) -> None:
    rows = [
        (v.promise, _format_asked(v.asked), _format_attained(v.attained), f"{v.status} {v.why}".strip())
        for v in verdicts
    ]
    show_table("Verdict", ("promise", "asked", "found", "verdict"), rows)


def _format_asked(parameters: Mapping[str, Any]) -> str:
    """Format what the policy asks for: `k = 5`, or a limit for each value: `alpha = hiv 0.6 | flu 0.9`."""
    return ", ".join(f"{key} = {_limits(value)}" for key, value in parameters.items())


def _limits(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _short(value)
    return " | ".join(f"{name} {_short(limit)}" for name, limit in value.items())


def _format_attained(attained: Mapping[str, Any]) -> str:
    """Format what is attained; of figures per value, whose names are cells, only the largest, and only if alone."""
    plain = [f"{key} = {_short(value)}" for key, value in attained.items() if not isinstance(value, Mapping)]
    return ", ".join(plain or (f"{key} ≤ {_short(_most(value))}" for key, value in attained.items() if value))


def _most(values: Mapping[str, float | None]) -> float | None:
    return max((value for value in values.values() if value is not None), default=None)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value[:12]}…" if isinstance(value, str) and len(value) == 64 else str(value)


def show_table(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, narrow: bool = False) -> None:
    """Print a table on stdout; a narrow one has no padding, and wraps headings to about the width of the cells."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(
        box=box.SIMPLE,
        show_header=any(header),
        pad_edge=False,
        padding=(0, 0) if narrow else (0, 1),
    )
    for i, name in enumerate(map(clean, header)):
        longest = max((len(row[i]) for row in rows), default=0)
        table.add_column("\n".join(wrap(name, max(longest, 10))) if narrow else name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(clean(cell), style=_COLOURS.get(cell, "")) for cell in row))
    if title:  # printed apart, so that a narrow table does not wrap it
        _print(Text(clean(title), style="table.title"))
    _print(table)


def as_document(verdict: "Verdict") -> dict[str, Any]:
    return {
        "promise": verdict.promise,
        "status": str(verdict.status),
        "asked": dict(verdict.asked),
        "attained": dict(verdict.attained),
        **({"why": verdict.why} if verdict.why else {}),
    }
