"""The patients of LeFevre, DeWitt and Ramakrishnan, and releases of them."""

from typing import Any

import pyarrow as pa

import shoal as sh

PATIENTS = pa.table(
    {
        "age": [35, 35, 36, 37, 37, 38],
        "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "zip": [533449, 533441, 533449, 533448, 533441, 533449],
        "disease": ["Flu", "Cancer", "Aids", "Hang Nail", "Hepatitis", "Broken arm"],
    }
)
"""Table 1 of the paper, row 5's ZIP read as 533441."""


def patients(algorithm: str, age: Any = "range", **release: Any) -> sh.Release:
    return sh.anonymize(
        PATIENTS,
        {
            "attributes": {
                "age": {"role": "quasi-identifier", "form": age},
                "sex": "quasi-identifier",
                "zip": "quasi-identifier",
                "disease": "sensitive",
            },
            "require": [{"model": "k-anonymity", "k": 2}],
            "method": {"algorithm": algorithm},
            "release": {"ranges": "observed", **release},
        },
    )
