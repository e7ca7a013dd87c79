"""`shoal risk`: how easily people are found in a table, and the tables it prints."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.commands import NAMES, START, Json, app
from shoal.cli.console import clean, print_json, print_warnings, progress, reveal_values, say, show_table
from shoal.cli.options import number_or_text, reads_table, split_names
from shoal.errors import BadInput

if TYPE_CHECKING:
    from shoal.risk import Assessment, Reidentification
    from shoal.risk.attackers import Attacker
    from shoal.risk.discovery import Combination, Discovery
    from shoal.risk.identifiers import IdentifierFinding
    from shoal.risk.presets import Judged
    from shoal.risk.suda import Suda

_BOUNDS = (1, 2, 3, 5, 10, 20, 50, 100)
_MOST = 20
_KNOWS = {
    "prosecutor": "who knows that a person is in the table",
    "journalist": "who does not know whether a person is in the table",
    "marketer": "who wants to find as many people as possible",
}


def show_assessment(found: "Assessment") -> None:
    """Print everything that was assessed, re-identification first."""
    if found.reidentification is not None:
        _show_reidentification(found.reidentification)
    if found.identifiers is not None:
        _show_identifiers(found.identifiers)
    if found.discovery is not None:
        _show_discovery(found.discovery)
    if found.presets:
        _show_preset_verdicts(found.presets)
    for note in found.notes:
        say(f"note: {note}")
    if found.reidentification is None and found.discovery is not None:
        say("Name the columns that outsiders may know with --qi to see the risk: only you know what they know.")


def _show_reidentification(found: "Reidentification") -> None:
    who = "people"
    names = ", ".join(map(clean, found.quasi_identifiers))
    facts: list[tuple[str, str]] = []
    for attacker in found.attackers:
        basis = f", judged by {attacker.basis}" if attacker.name == "journalist" else ""
        facts += [(attacker.name, _KNOWS[attacker.name] + basis), *_describe_attacker(attacker, found, who)]
    facts += _describe_uniqueness(found, who)
    if found.individual is not None:
        risks = found.individual
        said = f"about {_number(risks.expected)} {who} are expected to be found, each row having its weight"
        facts.append(("individual", f"{said} {clean(risks.weight)}"))
    each = "persons" if found.persons is not None else "rows, each taken for a person,"
    title = f"{found.rows:,} {each} in {len(found.sizes):,} classes alike in {names}"
    show_table(title, ("", ""), facts)
    left_out = {"are * in every quasi-identifier": found.suppressed, "were left out of the release": found.dropped or 0}
    for how, rows in left_out.items():
        if rows:
            say(f"note: {rows:,} row(s) {how}; they are not counted above")
    _show_sizes(found, who)
    if found.suda is not None:
        _show_suda(found.suda, found.rows)


def _describe_attacker(attacker: "Attacker", found: "Reidentification", who: str) -> list[tuple[str, str]]:
    total, facts = found.rows, []
    if attacker.name == "marketer":
        return [
            ("", f"finds about {_number(attacker.average * total)} of {total:,} {who} ({_percent(attacker.average)})")
        ]
    if attacker.certain is not None:
        facts.append(f"{attacker.certain:,} of {total:,} {who} can be found with certainty")
    if attacker.max is not None:
        facts.append(f"the greatest risk is {_format_odds(attacker.max)}, the average {_format_odds(attacker.average)}")
    if attacker.at_risk is not None:
        limit, share = float(found.threshold), attacker.at_risk / total
        enough = -(-found.threshold.denominator // found.threshold.numerator)
        alike = f": fewer than {enough:,} alike" if attacker.certain is not None else ""
        facts.append(f"{attacker.at_risk:,} of {total:,} {who} ({_percent(share)}) have a risk above {limit:g}{alike}")
    return [("", fact) for fact in facts]


def _describe_uniqueness(found: "Reidentification", who: str) -> list[tuple[str, str]]:
    unique = found.uniqueness
    alone = f"{unique.sample:,} of {found.rows:,} {who} are unlike all others in the table"
    if unique.counted is not None:
        more = f"; {unique.counted:,} people are unique in the population, {unique.certain:,} of them in the table"
        return [("unique", alone + more)]
    if unique.population_size is None:
        return [("unique", f"{alone}; how many are so among everybody needs --population or --population-size")]
    chosen, people = unique.estimate, unique.population_size
    said = "no estimate of how many are so among everybody"
    if chosen is not None:
        said = f"of {people:,} people about {_number(chosen.uniques)} are unlike everybody else ({chosen.estimator})"
    each = ", ".join(f"{name} {_number(value)}" for name, value in unique.estimates.items())
    return [("unique", alone), ("", said), *([("", f"estimates: {each}")] if each else [])]


def _show_sizes(found: "Reidentification", who: str) -> None:
    rows, sizes = [], found.sizes
    for low, high in zip(_BOUNDS, (*_BOUNDS[1:], None), strict=True):
        inside = (sizes >= low) & (sizes < high) if high is not None else sizes >= low
        if inside.any():
            label = f"{low}+" if high is None else str(low) if high == low + 1 else f"{low} to {high - 1}"
            many = int(found.counted[inside].sum())
            rows.append((label, f"{int(inside.sum()):,}", f"{many:,}", _percent(many / found.rows)))
    show_table("How many are alike", ("alike", "classes", who, "share"), rows)


def _show_suda(found: "Suda", total: int) -> None:
    told = found.document()
    rows = [(f"{one['size']}", f"{one['combinations']:,}", f"{one['rows']:,}") for one in told["sizes"]]
    many = len(found.attributes)
    few = f"at most {found.max_size}" if found.max_size < many else "some"
    title = f"{told['rows']:,} of {total:,} rows are unique in {few} of the {many} columns (SUDA2)"
    show_table(title, ("columns", "smallest combinations", "rows they point at"), rows)
    shares = sorted(found.contributions.items(), key=lambda each: -each[1])
    show_table(
        "Share of the SUDA score that a column has part in",
        ("column", "share"),
        [(name, _percent(share)) for name, share in shares],
    )
    if told["worst"]:
        named = ", ".join(str(one["row"]) for one in told["worst"][:5])
        probable = (
            f"; DIS-SUDA up to {told['dis_suda_max']:.3g} for a sample of {found.fraction:.2%}"
            if told["dis_suda_max"] is not None
            else ""
        )
        say(f"The most special rows are {named} (score {told['worst'][0]['score']:,.0f}{probable}).")


def _show_identifiers(found: Sequence["IdentifierFinding"]) -> None:
    if not found:
        say("No column looks like one of the identifiers of HIPAA Safe Harbor.")
        return
    rows = [(one.column, f"{one.kind.title} ({one.kind.clause})", _describe_evidence(one)) for one in found]
    show_table("Columns that look like identifiers (45 CFR 164.514(b)(2))", ("column", "looks like", "because"), rows)


def _describe_evidence(found: "IdentifierFinding") -> str:
    if found.by == "name":
        return "it is called so"
    return f"{found.rows:,} of {found.filled:,} cells do ({_percent(found.share)})"


def _show_discovery(found: "Discovery") -> None:
    header = ("columns", "different rows", "distinction", "separation")
    limit = float(found.threshold)
    title = f"Smallest combinations of up to {found.max_size} columns with a {found.measure} of at least {limit:g}"
    if found.minimal:
        show_table(f"{title}: {len(found.minimal):,}", header, [_combination(one) for one in found.minimal[:_MOST]])
        if len(found.minimal) > _MOST:
            say(f"the first {_MOST} of {len(found.minimal):,}; --json gives all")
    else:
        show_table(f"{title}: none. The most telling of each size:", header, [_combination(one) for one in found.best])
    alone = sorted(found.alone, key=lambda one: -getattr(one, found.measure))
    show_table("Every column alone", header, [_combination(one) for one in alone])


def _combination(found: "Combination") -> tuple[str, ...]:
    rows = f"{found.distinct:,} of {found.rows:,}"
    return ", ".join(found.columns), rows, _percent(found.distinction), _percent(found.separation)


def _show_preset_verdicts(presets: Sequence["Judged"]) -> None:
    rows = []
    for one in presets:
        verdict = "no number" if one.holds is None else "holds" if one.holds else "FAILS"
        attained = ", ".join(f"{name.replace('_', ' ')} = {_value(value)}" for name, value in one.attained.items())
        rows.append((one.preset.name, one.preset.asks, attained, verdict))
    show_table("Guidance", ("preset", "asks", "attained", ""), rows)
    for one in presets:
        why = f"{one.why}; " if one.why else ""
        say(f"{one.preset.name}: {why}source: {one.preset.source}")


def show_presets(*, as_json: bool) -> None:
    """Print every preset with its source."""
    from shoal.risk.presets import PRESETS

    if as_json:
        print_json({"presets": [{"preset": p.name, "asks": p.asks, "source": p.source} for p in PRESETS.values()]})
        return
    show_table("Presets", ("preset", "asks", "source"), [(p.name, p.asks, p.source) for p in PRESETS.values()])


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(clean, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


def _format_odds(share: float) -> str:
    """Format a risk as odds: `1 in 24.4 (0.041)`."""
    return f"1 in {_number(1 / share)} ({share:.3g})" if share < 1 else "1 (certainty)"


def _percent(share: float | Fraction) -> str:
    percent = 100 * float(share)
    return f"{percent:.2f} %" if percent < 99.995 or share == 1 else "almost 100 %"


def _number(value: float | None) -> str:
    return "no estimate" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@app.command(rich_help_panel=START, epilog="Example: shoal risk people.csv --qi age,sex")
@reads_table
def risk(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A table as for measure, or the folder of a release.")
    ] = "",
    qi: Annotated[
        list[str] | None, typer.Option(help=f"Quasi-identifiers; without them it looks what they could be; {NAMES}")
    ] = None,
    sensitive: Annotated[list[str] | None, typer.Option(help=f"Columns that outsiders do not know, {NAMES}")] = None,
    weight: Annotated[str | None, typer.Option(help="The column of sampling weights.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that tells persons apart: count them instead of rows.")
    ] = None,
    population: Annotated[str | None, typer.Option(help="The table of everybody.")] = None,
    population_size: Annotated[int | None, typer.Option(help="How many people the table is a sample of.")] = None,
    threshold: Annotated[
        str, typer.Option(metavar="SHARE", help="The risk above which a person counts as at risk, e.g. 0.2 or 1/3.")
    ] = "0.2",
    preset: Annotated[
        list[str] | None, typer.Option(help="Judge by guidance: ema-0070, hipaa-safe-harbor …; `list` lists them.")
    ] = None,
    discover: Annotated[bool, typer.Option("--discover", help="Look for columns that point at people.")] = False,
    discover_threshold: Annotated[
        str, typer.Option(metavar="SHARE", help="List combinations that reach this share of distinct rows.")
    ] = "0.5",
    separation: Annotated[
        bool, typer.Option("--separation", help="Take the share of pairs of rows told apart instead.")
    ] = False,
    discover_size: Annotated[int | None, typer.Option(help="Combinations of at most so many columns.")] = None,
    suda: Annotated[bool, typer.Option("--suda", help="Find the smallest combinations that point at one row.")] = False,
    suda_size: Annotated[int | None, typer.Option(help="Of at most so many columns.")] = None,
    identifiers: Annotated[
        bool, typer.Option("--identifiers", help="Look for the identifiers that HIPAA Safe Harbor names.")
    ] = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Let errors name the cells they are about.")
    ] = False,
    as_json: Json = False,
    *,
    reading: Mapping[str, Any],
) -> None:
    """Tell how easily people are found in a table or a release."""
    from shoal import api
    from shoal.engines.choice import read_options

    presets = split_names(preset)
    if presets == ["list"]:
        show_presets(as_json=as_json)
        return
    if not data:
        raise BadInput("name a table or the folder of a release, e.g. shoal risk people.csv --qi age,sex")
    # None: the table decides what to look at; False: only what was asked for by name
    unsaid = False if identifiers or discover or discover_size or presets else None
    with print_warnings(), reveal_values(show_values=show_values), progress(quiet=as_json) as watch:
        found = api.risk(
            data,
            quasi_identifiers=split_names(qi),
            sensitive=split_names(sensitive),
            weight=weight,
            unit=unit,
            population=population,
            population_size=population_size,
            threshold=number_or_text(threshold),
            preset=presets,
            options=read_options(None, reading),
            watch=watch,
            suda=suda or suda_size is not None,
            suda_size=suda_size,
            discover=discover or discover_size is not None or unsaid,
            discover_measure="separation" if separation else "distinction",
            discover_threshold=number_or_text(discover_threshold),
            discover_size=discover_size,
            identifiers=identifiers or unsaid,
        )
    if as_json:
        print_json(found.document())
    else:
        show_assessment(found)
