"""Every public macro in calls that are right, on one small log: for tests of what SQL may be written around a call."""

from __future__ import annotations

import re

from tests.support.cases import CASES, DIVERGENCES, LEARNED, RANKING, RANKING_OF_CLASSES, ROW_FUNCTIONS, Case

# Binary fractions, so that 1 - p is exact. Class, posterior, weight before a factor for the class.
EIGHTHS = [
    (1, 0.875, 1.0),
    (1, 0.25, 1.5),
    (1, 0.625, 1.0),
    (0, 0.75, 0.5),
    (0, 0.125, 1.0),
    (0, 0.375, 2.0),
    (0, 0.5, 1.0),
]

# Columns: group g, label y, posterior p, LLR x, decision d, posteriors v, weight w. Class 1 of group a is the rarer one.
LOG = """
    CREATE OR REPLACE TEMP TABLE log AS
    SELECT *, ln(p / (1 - p)) AS x, p > 0.5 AS d, [1 - p, p] AS v
    FROM (VALUES ('a', true, 0.9e0, 1.0), ('a', true, 0.45e0, 2.0), ('a', false, 0.7e0, 0.5), ('a', false, 0.1e0, 1.0),
                 ('a', false, 0.2e0, 1.0), ('a', NULL, 0.3e0, 1.0), ('b', true, 0.6e0, 1.0), ('b', true, 0.8e0, 3.0),
                 ('b', false, 0.4e0, 1.0), ('b', false, 0.55e0, 0.25), ('b', true, NULL, 1.0)) AS t(g, y, p, w)
"""

_SCORES = {"posterior": "p", "percent": "100 * p", "llr": "x", "decision": "d", "posteriors": "v"}
_OWN = {"beta": "2", "p_t": "0.3", "a": "1.5", "b": "3", "bins": "4", "norm": "2", "decision": "1"}
# Lists of two become one number, whose text has been called with weight and prior: it is slow to plan.
_PAIRS = ("epsr", "net_benefit")


def _call(name: str, score: str, arguments: dict[str, str]) -> str:
    label = "0.9 * p" if name in DIVERGENCES else "y"
    return (
        f"ec.{name}({', '.join([_SCORES[score], label, *(f'{key} := {value}' for key, value in arguments.items())])})"
    )


def _variants(case: Case) -> list[str]:
    """A call for each kind of score that has its own text, with and without prior and weight."""
    own = {name: _OWN[name] for name in case.arguments}
    found = []
    for score in _SCORES:
        if score in case.score_types and not (score == "posterior" and case.name == "dcf"):
            given = own | ({} if score == "posterior" else {"score_type": f"'{score}'"})
            if "prior" in case.options and (score == "llr" or case.name == "dcf"):
                given["prior"] = "0.3"
            found.append(_call(case.name, score, given))
            if score == "posterior" or (score == "posteriors" and case.name not in _PAIRS):
                more = {key: value for key, value in (("weight", "w"), ("prior", "0.3")) if key in case.options}
                found.append(_call(case.name, score, given | more))
                if score == "posterior" and "prior" in more:
                    found.append(_call(case.name, score, given | {"weight": "w"}))
    return found


def _ranking(name: str) -> list[str]:
    prior = {"prior": "0.3"} if "prior" in (RANKING | LEARNED)[name] else {}
    return [_call(name, "posterior", given) for given in ({}, {"weight": "w"}, prior | {"weight": "w"})]


# Of bins, by what they approximate.
APPROXIMATE = {name: (f"approx_{name}", f"approx_{name}_error") for name in RANKING}


# Metrics of a group, by macro.
AGGREGATES: dict[str, list[str]] = {
    **{case.name: _variants(case) for case in (*CASES, *RANKING_OF_CLASSES)},
    **{name: [_call(name, "posterior", {}), _call(name, "posterior", {"weight": "w"})] for name in DIVERGENCES},
    **{name: _ranking(name) for name in RANKING | LEARNED},
    **{macro: [_call(macro, "posterior", {})] for macros in APPROXIMATE.values() for macro in macros},
}

# Values of a row, by macro: the rest, but for the version and the table macros.
ROWS: dict[str, str] = {
    **{name: f"ec.{name}({'p, y' if labelled else 'p'})" for name, (_, labelled) in ROW_FUNCTIONS.items()},
    "llr": "ec.llr(p, prior := 0.3)",
    "shift_prior": 'ec.shift_prior(p, from_ := 0.3, "to" := 0.5)',
    "affine": "ec.affine(p, alpha := 2, beta := 1)",
    "effective_prior": "ec.effective_prior(prior := p, cost_fn := 1, cost_fp := 9)",
    "bucket": "ec.bucket(g)",
    "fold": "ec.fold(g)",
    "stratified_fold": "ec.stratified_fold(g, y)",
    "normal_quantile": "ec.normal_quantile(p)",
    "t_quantile": "ec.t_quantile(p, 9)",
}


def with_argument(call: str, name: str, value: str) -> str:
    """The call with this value of the argument, instead of the one that it has, if it has one."""
    name = '"to"' if name == "to" else name
    found, n = re.subn(rf"{name} := ('[^']*'|[^,)]+)", lambda _: f"{name} := {value}", call)
    return found if n else f"{call[:-1]}, {name} := {value})"
