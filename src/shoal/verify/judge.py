"""Judges every promise of a claim on what was counted, and compares rows that were also stored elsewhere."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import isclose
from typing import Any

import pyarrow as pa

from shoal.data.class_counts import ClassCounts
from shoal.errors import NotVerified
from shoal.labels.scale import read_number, to_texts
from shoal.models.model import Model, Need, asked
from shoal.verify.claim import Claim, Original, Status, Verdict
from shoal.verify.open_release import OpenedRelease
from shoal.verify.released_counts import ReleasedCounts


def judge(claim: Claim, counted: ReleasedCounts, original: Original | None = None) -> list[Verdict]:
    """Judge the number of rows, the classes and every model; `original` has what the private manifest says of each.

    Figures of the public manifest are compared with the released table alone, those of the private one with all that
    is known.
    """
    found = _classes(counted)
    verdicts = [
        Verdict("rows", _status_of(counted.rows == claim.rows), {"rows": claim.rows}, {"rows": counted.rows}),
        Verdict("classes", _status_of(_agree(claim.classes, found)), claim.classes or {}, found),
    ]
    many = len(claim.models)
    said = [None] * many if claim.attained is None else claim.attained
    worst = [None] * many if claim.worst is None else claim.worst
    same = original is not None and len(original.attained) == len(original.worst) == many
    known = original.attained if original is not None and same else [None] * many
    lowest = original.worst if original is not None and same else [None] * many
    for model, public, least, full, last in zip(claim.models, said, worst, known, lowest, strict=True):
        verdict = _judge_model(model, public, full, claim, counted)
        if verdict.holds and not (_agree(least, verdict.published_worst) and _agree(last, verdict.worst)):
            why = "a manifest says that another class keeps it least"
            verdict = replace(verdict, status=Status.FAILS, why=why)
        verdicts.append(verdict)
    return verdicts


def judge_labels(claim: Claim, release: OpenedRelease) -> list[Verdict]:
    """Judge whether the labels listed in the manifest are those that the table shows."""
    if not claim.labels:
        return []
    wrong = []
    for name, said in claim.labels.items():
        cell = f"c{claim.columns.index(name)}"
        found = release.db.sql(f"SELECT DISTINCT {cell} FROM released WHERE {cell} IS NOT NULL").fetchall()
        if list(said) != sorted(label for (label,) in found):
            wrong.append(f"the manifest lists other labels than column {name!r} shows")
    return [Verdict("labels", _status_of(not wrong), why="; ".join(wrong))]


def judge_rounding(claim: Claim, release: OpenedRelease) -> list[Verdict]:
    """Judge whether rounded columns show only multiples of their step."""
    wrong = []
    for name, step in claim.rounded.items():
        if name not in claim.columns:
            continue  # it stands in the second table
        cell = f"c{claim.columns.index(name)}"
        found = release.db.sql(f"SELECT DISTINCT {cell} FROM released WHERE {cell} IS NOT NULL").fetchall()
        if not all(_is_multiple(text, step, typed=name in release.typed) for (text,) in found):
            wrong.append(f"column {name!r} shows numbers that are not rounded as the manifest says")
        low, high = claim.bounds.get(name, (None, None))
        if not all(_lies_within(text, low, high) for (text,) in found):
            wrong.append(f"column {name!r} shows numbers beyond the bounds that the manifest says")
    return [Verdict("rounded", _status_of(not wrong), why="; ".join(wrong))] if claim.rounded else []


def _is_multiple(text: str, step: Fraction, *, typed: bool) -> bool:
    """Whether a cell is a multiple of a step; a floating-point number need only be close.

    >>> [_is_multiple(text, Fraction(1, 2), typed=False) for text in ("155,5", "7", "0.25", "n/a")]
    [True, True, False, False]
    """
    if text in {"inf", "-inf"}:
        return True
    number = read_number(text) if "," not in text else read_number(text, ",")
    if number is None:
        return False
    off = abs(number / step - round(number / step)) * step
    return off <= (abs(number) / 10**6 if typed else 0)


def _lies_within(text: str, low: Fraction | None, high: Fraction | None) -> bool:
    """Whether a cell is a number from the least to the greatest that may be shown, where there are such bounds.

    >>> [_lies_within(text, Fraction(0), Fraction(500)) for text in ("500", "0,0", "510", "-10", "inf")]
    [True, True, False, False, False]
    """
    if low is None and high is None:
        return True
    if text in {"inf", "-inf"}:
        return (high if text == "inf" else low) is None
    number = read_number(text) if "," not in text else read_number(text, ",")
    return number is not None and (low is None or number >= low) and (high is None or number <= high)


ADDED = "without added rows"
"""The promise that what was required holds for the people of a release alone, whatever rows were added."""


def judge_people(claim: Claim, counted: ReleasedCounts) -> list[Verdict]:
    """Judge, where rows were added, whether every class shows somebody and the models hold for people alone."""
    if not claim.added:
        return []
    if counted.behind is None:
        return [Verdict(ADDED, Status.NEEDS_ORIGINAL)]
    people = counted.behind
    nobody = int((people.sizes == 0).sum())
    failed = [model.name for model in claim.models[: len(claim.models) - claim.further] if not model.holds(people)]
    why = f"{nobody} class(es) show nobody" if nobody else f"{failed[0]} fails" if failed else ""
    return [Verdict(ADDED, _status_of(not why), why=why)]


def _judge_model(
    model: Model, said: Mapping[str, Any] | None, known: Mapping[str, Any] | None, claim: Claim, counted: ReleasedCounts
) -> Verdict:
    """Judge one promise on the classes as released or, where these tell too little, on the rows behind them."""
    published, published_worst = _public_figures(model, claim, counted)
    if not _agree(said, published):
        why = "the manifest says that it attains something else"
        return Verdict(model.name, Status.FAILS, asked(model), published, why, published_worst)
    needs = model.needs | ({Need.ORIGINAL} if claim.persons else set())
    if Need.POPULATION in needs and not counted.everybody:
        return Verdict(model.name, Status.NEEDS_POPULATION, asked(model))
    if needs and counted.behind is None:
        return Verdict(model.name, Status.NEEDS_ORIGINAL, asked(model))
    judged, classes = (model, counted.behind) if counted.behind and needs else (model.public or model, counted.classes)
    kept = counted.rows > 0 and judged.holds(classes)
    attained, worst = _figures(judged, classes)
    same = _agree(known, attained)
    return Verdict(
        model.name,
        _status_of(kept and same),
        asked(model),
        attained,
        "" if same else "the private manifest says that it attains something else",
        worst=worst,
        published=published,
        published_worst=published_worst,
    )


def _public_figures(model: Model, claim: Claim, counted: ReleasedCounts) -> tuple[Mapping[str, Any], int | None]:
    """Return what may be published about a promise: figures of the released table alone, or none.

    A release does not say which rows belong to one person, so nothing is published where persons are counted.
    """
    public = None if claim.persons else model.public
    if public is None:
        return {}, None
    attained, worst = _figures(public, counted.classes)
    return {"release": attained} if model.needs and attained else attained, worst


def _figures(model: Model, classes: ClassCounts) -> tuple[Mapping[str, Any], int | None]:
    """Return what a model attains on some classes, and the size of the class that protects its members least."""
    if not classes.rows:
        return {}, None
    worst = model.worst(classes)
    return model.attained(classes), None if worst is None else int(classes.sizes[worst])


def _status_of(holds: bool) -> Status:
    return Status.HOLDS if holds else Status.FAILS


def _classes(counted: ReleasedCounts) -> dict[str, float]:
    sizes = counted.classes.sizes
    if not len(sizes):
        return {"count": 0, "min": 0, "max": 0, "mean": 0.0}
    return {
        "count": len(sizes),
        "min": int(sizes.min()),
        "max": int(sizes.max()),
        "mean": counted.rows / len(sizes),
    }


def _agree(said: Any, found: Any) -> bool:
    """Whether a stated value agrees with the one found; it does if nothing was stated."""
    if said is None:
        return True
    if isinstance(said, Mapping):
        return isinstance(found, Mapping) and all(k in found and _agree(said[k], found[k]) for k in said)
    if isinstance(said, float) or isinstance(found, float):
        numbers = isinstance(found, int | float) and isinstance(said, int | float) and not isinstance(said, bool)
        return numbers and isclose(said, found, rel_tol=1e-12)
    return type(said) is type(found) and bool(said == found)


_PLAIN_TIME = (
    r"regexp_replace(regexp_replace({0}, '(\.[0-9]*[1-9])0+($|[^0-9])', '\1\2'), '\.0+($|[^0-9])', '\1') AS {0}"
)
"""A time of day without zeros at its end: 12:30:00 and 12:30:00.000 are one time."""


def refuse_other_rows(release: OpenedRelease, stored: pa.RecordBatchReader, name: str) -> None:
    """Refuse a copy unless it has each row of the release as often as the release has it, and no other row."""
    import duckdb

    texts = pa.schema([(f"c{i}", pa.string()) for i in range(len(stored.schema))])
    batches = (pa.record_batch([to_texts(column) for column in batch.columns], texts) for batch in stored)
    cells = ", ".join(_cell(i, of) for i, of in enumerate(stored.schema.types))
    release.db.register("given_back", pa.RecordBatchReader.from_batches(texts, batches))
    try:
        release.db.execute(
            f"CREATE TEMP TABLE stored AS SELECT {cells}, count(*)::BIGINT AS n FROM given_back GROUP BY ALL"
        )
        # distinct rows with their counts: any that occurs on one side only is wrong
        told = f"SELECT {cells}, sum(n)::BIGINT AS n FROM released GROUP BY ALL"
        ((other,),) = release.db.execute(
            f"SELECT count(*) FROM (({told} EXCEPT ALL FROM stored) UNION ALL (FROM stored EXCEPT ALL {told}))"
        ).fetchall()
    except (duckdb.Error, pa.ArrowException, OSError):  # what they say may hold cells
        raise NotVerified(f"{name}: the stored rows cannot be read again; the table is as it was") from None
    finally:
        release.db.unregister("given_back")
    if other:
        raise NotVerified(f"{name}: the database does not give back the rows of the release; the table is as it was")


def _cell(i: int, of: pa.DataType) -> str:
    return _PLAIN_TIME.format(f"c{i}") if pa.types.is_timestamp(of) or pa.types.is_time(of) else f"c{i}"
