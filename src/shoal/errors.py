"""One tree of exceptions.

ShoalError              a ValueError, so that who knows nothing of Shoal can catch it
├── BadInput            exit 2   usage, data, policy or hierarchy is wrong
│   ├── BadData
│   ├── BadPolicy
│   ├── BadHierarchy
│   └── BadOutput
├── Infeasible          exit 3   the policy cannot be met
├── NotVerified         exit 4   a release does not keep what it promises
└── NotAdvised          exit 5   a release was made, but the verdict is not "publish"; only where that is asked for

A message is one sentence for a person: file, column, row number, what is wrong, what to do.
It never holds the content of a cell: values written in the policy may be named, values of the data may not.
"""

import os
from collections.abc import Mapping, Sequence


class ShoalError(ValueError):
    """What Shoal raises on purpose; `exit_code` is what the command line ends with.

    `values` are cells that the message is about and does not hold: shown only to who asks (`--show-values`).
    """

    exit_code = 1

    def __init__(self, message: str, values: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.values = tuple(values)


class BadInput(ShoalError):
    exit_code = 2


class BadData(BadInput):
    """A table that cannot be read or used."""


class BadPolicy(BadInput):
    """A policy that contradicts itself, the data or this version."""


class BadHierarchy(BadInput):
    """A taxonomy that is not one."""


class BadOutput(BadInput):
    """A place where no release can be written."""


class Infeasible(ShoalError):
    """No release can keep the policy; the message says which part fails and by how much."""

    exit_code = 3


class NotVerified(ShoalError):
    """A release, as re-read, does not keep its promises."""

    exit_code = 4


class NotAdvised(ShoalError):
    """A release was made and keeps its promises, but the verdict does not advise to publish it."""

    exit_code = 5


NAME_QUASI_IDENTIFIERS = "name the quasi-identifiers, e.g. --qi age,sex (in Python quasi_identifiers=['age', 'sex'])"
REPLACE_IT = "use --force (in Python force=True) to replace it"
"""What messages of several modules advise, for the command line and for Python."""


class ShoalWarning(UserWarning):
    """Something a careful user would want to know; never about a cell's content."""


KINDS: Mapping[str, int] = {
    "BadUsage": 2,
    **{kind.__name__: kind.exit_code for kind in (BadInput, BadData, BadPolicy, BadHierarchy, BadOutput)},
    **{kind.__name__: kind.exit_code for kind in (Infeasible, NotVerified, NotAdvised)},
    "Interrupted": 130,
    "Terminated": 143,
    "InternalError": 1,
}
"""Every kind of failure that a command can report, with its exit code."""


def reason_of(wrong: OSError) -> str:
    """Return what the system says of a failure, without the paths that Arrow adds to it.

    >>> reason_of(OSError(28, "Failed to open local file '/home/ann/out'"))
    'No space left on device'
    >>> reason_of(OSError("not a gzipped file"))
    'input/output error'
    """
    return os.strerror(wrong.errno) if wrong.errno else "input/output error"


def kind_of_failure(wrong: ShoalError) -> str:
    """Return the name of an error, or that of the nearest class above it that is one of `KINDS`.

    >>> kind_of_failure(BadPolicy("k is missing"))
    'BadPolicy'
    """
    return next((above.__name__ for above in type(wrong).__mro__ if above.__name__ in KINDS), "InternalError")
