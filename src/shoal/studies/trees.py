"""Hierarchies of Adult's columns for studies: ours, in the spirit of the papers'."""

from typing import Any

from shoal.datasets import census_hierarchies

_SCHOOL = {
    "No diploma": {
        "Elementary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
        "Some high school": ["9th", "10th", "11th", "12th"],
    },
    "Diploma": {
        "High school": ["HS-grad", "Some-college"],
        "Associate": ["Assoc-acdm", "Assoc-voc"],
        "University": ["Bachelors", "Masters", "Prof-school", "Doctorate"],
    },
}
_WORK = {
    "Office": ["Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support"],
    "Hands": ["Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"],
    "Service": ["Armed-Forces", "Other-service", "Priv-house-serv", "Protective-serv"],
}
_WORLD = {
    "America": {
        "North America": ["Canada", "Mexico", "Outlying-US(Guam-USVI-etc)", "Puerto-Rico", "United-States"],
        "Central America": [
            *("Cuba", "Dominican-Republic", "El-Salvador", "Guatemala", "Haiti", "Honduras", "Jamaica", "Nicaragua"),
            "Trinadad&Tobago",
        ],
        "South America": ["Columbia", "Ecuador", "Peru"],
    },
    "Elsewhere": {
        "Europe": [
            *("England", "France", "Germany", "Greece", "Holand-Netherlands", "Hungary", "Ireland", "Italy", "Poland"),
            *("Portugal", "Scotland", "Yugoslavia"),
        ],
        "Asia": [
            *("Cambodia", "China", "Hong", "India", "Iran", "Japan", "Laos", "Philippines", "South", "Taiwan"),
            *("Thailand", "Vietnam"),
        ],
    },
}
_FAMILY = {
    "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
    "Not married": ["Divorced", "Never-married", "Separated", "Widowed"],
}
_ADULT: dict[str, Any] = {
    "education": {"tree": _SCHOOL},
    "occupation": {"tree": _WORK},
    "native-country": {"tree": _WORLD},
    "marital-status": {"tree": _FAMILY},
    "race": {"flat": True},
    "sex": {"flat": True},
    "salary-class": {"flat": True},
    "age": {"intervals": [5, 10, 20]},
}


def quasi_identifier(name: str, *, real: bool) -> dict[str, Any]:
    """A column as a policy names it, with its hierarchy.

    >>> quasi_identifier("age", real=True)["hierarchy"]
    {'intervals': [5, 10, 20]}
    """
    if real or name == "age":
        return {"role": "quasi-identifier", "hierarchy": _ADULT[name]}
    known = census_hierarchies()
    if name not in known:
        return {"role": "quasi-identifier", "hierarchy": {"flat": True}}
    return {"role": "quasi-identifier", "hierarchy": {"rows": [list(row) for row in known[name]]}}
