"""What each promise means, and whom it is made against, in words for who is no statistician."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """A model for people."""

    means: str
    against: str
    """The adversary that it assumes."""


_ROW = "knows every identifying value of a person who is in the table"
_VALUE = "finds the class of a person and reads the sensitive values there"
_EXPECTS = "knows how common each sensitive value is, finds the class of a person and learns from the difference"
_PRESENCE = "knows everybody in the population, and wants to learn who is in the table"

WORDS = {
    "k-anonymity": Words("At least k rows share every combination of identifying values that occurs.", _ROW),
    "k-map": Words(
        "Every combination of identifying values that occurs fits at least k people of the population.",
        "knows the population, but not who of it is in the table",
    ),
    "distinct-l-diversity": Words("Every class shows at least l different sensitive values.", _VALUE),
    "entropy-l-diversity": Words(
        "Every class shows its sensitive values about as evenly as l equally frequent ones.", _VALUE
    ),
    "recursive-cl-diversity": Words(
        "In no class the most frequent sensitive value outweighs the rarer ones by more than c allows.",
        f"{_VALUE}, and can rule out some of them",
    ),
    "alpha-k": Words(
        "No sensitive value has more than the share alpha of a class; classes have at least k rows.", _VALUE
    ),
    "p-sensitive": Words("Every class shows at least p different sensitive values.", _VALUE),
    "p-plus-sensitive": Words("Every class shows values of at least p categories.", f"{_VALUE}, and their kind"),
    "p-alpha-sensitive": Words(
        "Every class shows at least p different values whose weights add up to alpha.",
        f"{_VALUE}, some worse than others",
    ),
    "p-plus-alpha-sensitive": Words(
        "Every class shows values of at least p categories whose weights add up to alpha.",
        f"{_VALUE}, some worse than others",
    ),
    "l-alpha-diversity": Words(
        "Every class shows at least l different values whose weights add up to alpha.",
        f"{_VALUE}, some worse than others",
    ),
    "a-d-diversity": Words(
        "Every class shows d categories, and none of them has more than the share a of it.", f"{_VALUE}, and their kind"
    ),
    "alpha-beta-k": Words(
        "Every class has k rows, beta different values, and pairs of unlike values outnumber pairs of like ones.",
        _VALUE,
    ),
    "alp-dif": Words(
        "How surely a protected value is told is limited: on average by alp, and in any class by dif above that.",
        _VALUE,
    ),
    "average-risk": Words("The mean chance of picking the right row is at most this.", "picks a row for everybody"),
    "sample-uniqueness": Words("At most this share of the rows is alone in its class.", _ROW),
    "population-uniqueness": Words(
        "At most this share of the rows is estimated to be alone in the whole population.",
        "knows the population, but not who of it is in the table",
    ),
    "t-closeness": Words(
        "In every class the sensitive values are spread nearly as in the whole table, within t.", _EXPECTS
    ),
    "beta-likeness": Words(
        "In no class a sensitive value is likelier than in the whole table by more than the factor beta.", _EXPECTS
    ),
    "delta-disclosure": Words(
        "In no class a sensitive value is much likelier or less likely than in the whole table, within delta.", _EXPECTS
    ),
    "epsilon-m": Words(
        "In every class at most one row in m has a number near any number.",
        f"{_VALUE}, and is content with about right",
    ),
    "delta-presence": Words(
        "How likely somebody of the population is in the table lies between these two bounds.", _PRESENCE
    ),
    "personalised": Words(
        "Nobody's own guarded values are told with more than this chance.", f"{_VALUE}, whatever each person guards"
    ),
    "x-y-privacy": Words(
        "Every group by x is linked to at least k values of y, and to none of them too surely.",
        "knows the columns x of a person and wants to learn the columns y",
    ),
    "b-t-privacy": Words(
        "Whoever guesses from the other columns as well as the bandwidth b allows learns at most t more.",
        "knows how the sensitive values go with the other columns, and reads the class of a person",
    ),
}

KINDS = {
    "node": "Every identifying column was made coarser as a whole: all its values are shown at one level of detail.",
    "boxes": "The rows were cut into boxes: each box shows a range or a label of its own for every identifying column.",
    "cells": "Every class of rows has labels of its own, each only as coarse as this class needs.",
    "clusters": "Rows near to each other were put together, and show what is in their middle.",
    "groups": "Nothing was made coarser: the sensitive values were moved to a table of their own, group by group.",
}

WAYS = {
    "monotone": "keeps those who were shown with the same people, at labels that only get coarser",
    "m-invariance": "keeps everybody among the same sensitive values in every release",
    "alp-dif": "keeps those who were shown together, and limits how surely all releases tell a value",
}
"""How a growing table is published again."""

ALGORITHMS = {
    "optimal": "looks for the least loss of all, and can prove it",
    "datafly": "makes the column of most values coarser until enough rows look alike",
    "samarati": "looks for the lowest height at which the promises hold",
    "incognito": "looks for all levels at which the promises hold",
    "hybrid": "takes a quick answer to bound the search for the lowest height",
    "greedy": "makes the step that costs least, again and again",
    "mondrian-single": "cuts one column at a time",
    "mondrian": "cuts the rows into boxes at their middle",
    "mondrian-relaxed": "cuts the rows into boxes that may overlap",
    "mondrian-workload": "cuts the rows into boxes that suit a task",
    "local": "makes every class only as coarse as it needs",
    "microaggregation": "puts rows together that lie near to each other",
    "suppress": "blanks what stands out",
    "anatomy": "puts rows with different sensitive values into groups",
}

QUESTIONS = {
    "record linkage": "Can somebody's row be found?",
    "attribute linkage": "Can somebody's sensitive value be told without finding the row?",
    "rule inference": "Do simple rules tell somebody's sensitive value?",
    "composition": "Can this be combined with other releases about the same people?",
    "singling out": "Can a description be made that fits one person only?",
}

LEARNED = {
    "record linkage": "{rows} can be tied to a person",
    "attribute linkage": "the sensitive value of {rows} can be guessed well",
    "rule inference": "rules tell the sensitive value of {rows}",
    "composition": "together with others, the value of {rows} is told",
    "singling out": "about {rows} can be described so that nobody else fits",
}
"""What an attack that succeeds learns, in the words of the first screen."""
