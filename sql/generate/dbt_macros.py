"""The formulas of the dbt package: sql/dbt/macros/formulas.sql, from what writes the report for warehouses (`make sql`).

By hand the package has the order of the levels of the query, and the checks of its arguments. The SQL of every column comes from
`ReportQuery`, so that no formula is written twice. What differs between warehouses, or calls, stands there between dollars: types
(`$double$`), numbers (`$0.5$`), `$infinity$`, `$least$`, `$not_nan ec_score$`, and what a call states (`$cost_fn$`, `$share_0$`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import parse_options
from polars_ec.arguments.scales import PERCENT, POSTERIOR
from polars_ec.formulas.decisions import BATTERY, CELLS, DECISIONS, is_moved_by_prior
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.inference.confidence import WICHURA
from polars_ec.numerics import np
from polars_ec.output.dialects import Writer
from polars_ec.reports.models import METRICS
from polars_ec.sql.log_rows import LogRows
from polars_ec.sql.report_limits import FAMILIES, ReportQuery, t_levels_of, t_powers
from polars_ec.sql.report_query import row_costs
from polars_ec.sql.score_kinds import DECISIONS_TAKEN, Kind, kind_of, log_odds_kind

FILE = Path(__file__).parents[1] / "dbt" / "macros" / "formulas.sql"

MIN_ROWS = 987654321
"""A number that no formula has stands for the one that a call states."""

# The same for what depends on the level: the normal quantile, the shift, and the coefficients, which Jinja works out.
_NORMAL, _SHIFT, _POWERS = 4.0625, 8.0625, [16.0625 + i for i in range(len(t_powers(0.95)[1]))]
# A rule for the mass of the normal distribution beyond z from 0 on, up to z + 9: what lies further is nothing beside it.
_FAR, _NODES = 9, 40

_METRICS = tuple(name for name in (*DECISIONS, *SCORING_RULES) if name in METRICS)
# Numbers that no formula has stand for those that a call states.
_COST_FN, _COST_FP, _SHARES = 1234.5, 2345.5, (0.34375, 0.65625)
_COSTS = CostMatrix.binary(cost_fn=_COST_FN, cost_fp=_COST_FP)
_STATED = {
    _COST_FN: "cost_fn",
    _COST_FP: "cost_fp",
    _SHARES[0]: "share_0",
    _SHARES[1]: "share_1",
    _NORMAL: "normal",
    2 + 2 * _SHIFT: "twice_shifted",
    _SHIFT: "shift",
    **{power: f"power_{i}" for i, power in enumerate(_POWERS)},
}
_NUMBER = re.compile(r"\b\d+(?:\.\d*)?e[-+]?\d+|\b\d+\.\d+")
# Sums of squares are for limits of any level.
_LEVEL = 0.9
_TYPES = {"DOUBLE": "double", "BIGINT": "bigint", "SMALLINT": "smallint", "INT": "int"}


class TokenWriter(Writer):
    """Leaves out what dialects differ in."""

    def expression(self, what: str, sql: Any) -> str:
        """The text itself."""
        assert isinstance(sql, str), what
        return sql

    def table(self, sql: Any) -> str:
        """The text itself."""
        assert isinstance(sql, str)
        return sql

    def and_not_nan(self, x: str) -> str:
        """A call for which a token stands later."""
        return f" AND ec_token_not_nan({x})"


def token(name: str) -> str:
    """The name in SQL that becomes `$name$` in the file."""
    return f"ec_token_{name}"


def _tokens_of(part: Any) -> Any:
    """The part, whose texts are SQL."""
    import sqlglot

    if isinstance(part, Mapping):
        return {name: _tokens_of(of) for name, of in part.items()}
    return with_tokens(sqlglot.parse_one(part).sql())


def levels_of(query: str) -> dict[str, dict[str, str]]:
    """The columns of each SELECT of a query in portable SQL, the last of which has no name: their text with tokens."""
    import sqlglot

    parsed = sqlglot.parse_one(query)
    selects = {cte.alias: cte.this for cte in parsed.find_all(sqlglot.exp.CTE)} | {"": parsed}
    return {
        level: {column.alias_or_name: with_tokens(column.unalias().sql()) for column in select.selects}
        for level, select in selects.items()
    }


def with_tokens(sql: str) -> str:
    """Portable SQL with tokens where the warehouses differ: see written_query in macros/query.sql."""
    sql = sql.replace("CAST('Infinity' AS DOUBLE)", "$infinity$")
    sql = re.sub(r" AND ec_token_not_nan\((\w+)\)", r"$not_nan \1$", sql, flags=re.IGNORECASE)
    sql = re.sub(r"\bec_token_(\w+)\b", r"$\1$", sql)
    # Which of the metrics of a call are made of costs.
    sql = re.sub(
        r"\(ec_u = 1 OR ec_metric IN \([\d, ]+\)\)|ec_u = 1 OR ec_metric IN \([\d, ]+\)", "$is_of_decisions$", sql
    )
    sql = re.sub(rf"\bAS ({'|'.join(_TYPES)})\)", lambda type_: f"AS ${_TYPES[type_[1]]}$)", sql)
    sql = re.sub(r"\b(LEAST|GREATEST)\(", lambda name: f"${name[1].lower()}$(", sql).replace(
        str(MIN_ROWS), "$min_rows$"
    )
    return _NUMBER.sub(lambda number: f"${_STATED.get(float(number[0]), repr(float(number[0])))}$", sql)


def _query(
    kind: Kind, *, weighted: bool = False, least: bool = False, level: float | None = _LEVEL, by_row: bool = False
) -> dict[str, dict[str, str]]:
    """The levels of a report; with all metrics if they have no limits."""
    names = [name for name in _METRICS if level is None and (kind.sums or name not in SCORING_RULES)]
    return levels_of(_query_of(kind, names, weighted=weighted, least=least, level=level, by_row=by_row).text())


def _query_of(
    kind: Kind, names: Sequence[str], *, weighted: bool = False, least: bool = False, level: float | None, by_row: bool
) -> ReportQuery:
    writer = TokenWriter("duckdb")
    rows = LogRows(
        keys={},
        table="ec_log",
        score=token("score"),
        label=token("label"),
        weight=token("weight") if weighted else None,
        class_of_label=token("class_of_label"),
        kind=kind,
        largest=token("largest"),
        writer=writer,
    )
    return ReportQuery(
        rows=rows,
        columns=["n", *names, "class_prior", "n_missing", "n_invalid"],
        losses=tuple(dict.fromkeys(rule.loss for rule in SCORING_RULES.values())) if kind.sums else (),
        positive=token("positive"),
        costs=None if by_row else _COSTS,
        shares=_SHARES,
        writer=writer,
        least=token("least_factor") if least else None,
        most=token("most_weight"),
        level=level,
        # The columns of rows are parts of their own.
        row_costs={"ec_values": {}} if by_row else {},
    )


def _parts_of_limits(*, by_row: bool) -> dict[str, Any]:
    """SQL texts: of levels by column, of the values, families and scales of metrics, and what else depends on a call."""
    names = [f"{name}_ci_low" for name in _METRICS if name not in CELLS]

    def limits(*, shares: tuple[float, float] | None = None, least: bool = False) -> ReportQuery:
        query = _query_of(kind_of(POSTERIOR, 1, token("largest")), names, least=least, level=_LEVEL, by_row=by_row)
        return replace(query, shares=shares, min_rows=MIN_ROWS)

    plain, bounded = limits(), limits(least=True)
    scales = {metric.name: metric.scale for metric in plain.metrics}
    families = [family for family in FAMILIES if by_row or family != "costs"]
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return {
        "groups": plain.of_groups,
        "families": {metric.name: metric.family for metric in plain.metrics},
        "scales": scales,
        "moments": {family: plain.moments_of(family) for family in families},
        "moments_from_least": {family: bounded.moments_of(family) for family in families},
        "steps": plain.table_of_steps,
        "changed": plain.changed,
        "changed_from_least": bounded.changed,
        "rates_stated": limits(shares=_SHARES).changed["ec_rates"],
        "values": {name: plain.value(name) for name in scales},
        "slopes": plain.slopes,
        "slopes_from_least": bounded.slopes,
        "spread": plain.spread,
        "t": t_levels_of(_NORMAL, _SHIFT, _POWERS, plain.writer),
        "ends": {scale: plain.ends_of(scale) for scale in dict.fromkeys(scales.values())},
        "normal_quantile": WICHURA,
        "normal_rule": [[float((x + 1) * _FAR / 2), float(w * _FAR / 2)] for x, w in zip(nodes, weights, strict=True)],
        "t_nodes": [float(w) for w in np.polynomial.chebyshev.chebpts1(len(_POWERS))],
    }


def _kinds() -> dict[str, Kind]:
    return {
        **{scale.name: kind_of(scale, 1, token("largest")) for scale in (POSTERIOR, PERCENT)},
        "log_odds": log_odds_kind(1, token("largest"), token("log_odds")),
        "decision": DECISIONS_TAKEN,
    }


def _parts_of_report(*, by_row: bool) -> dict[str, Any]:
    """SQL texts of the levels of rows and groups, and of the columns of a report without limits."""
    kinds = _kinds()
    row_levels = ("ec_rows", "ec_classes", "ec_usable", "ec_logs", "ec_values")
    flags = (False, True)
    plain = _query(kinds["posterior"], by_row=by_row)
    values = _query(kinds["posterior"], level=None, by_row=by_row)
    result = values[""]
    formulas: dict[str, Any] = {
        "usual": BATTERY,
        "cells": CELLS,
        "losses": {name: rule.loss for name, rule in SCORING_RULES.items()},
        "moved_by_prior": [name for name in _METRICS if name not in CELLS and is_moved_by_prior(name)],
        "metrics": {name: result[name] for name in _METRICS},
        "others": {name: sql for name, sql in result.items() if name not in _METRICS},
        "means": values["ec_means"],
        "sizes": plain["ec_sizes"],
    }
    for weighted in flags:
        for least in flags:
            levels = _query(kinds["posterior"], weighted=weighted, least=least, by_row=by_row)
            formulas[_key("sums", weighted=weighted, least=least)] = levels["ec_sums"]
            formulas[_key("groups", weighted=weighted, least=least)] = levels["ec_groups"]
        for name, kind in kinds.items():
            levels = _query(kind, weighted=weighted, by_row=by_row)
            for level in row_levels:
                formulas[_key(f"{level.removeprefix('ec_')}_of_{name}", weighted=weighted)] = levels[level]
    return formulas


def _columns_of_costs() -> dict[str, Any]:
    """What each level of rows has more where they have costs, by the kind of score."""
    stated = {name: token(name) for name in ("cost_fn", "cost_fp")}
    return {
        _key(f"costs_of_{kind}", least=least): _tokens_of(
            row_costs(TokenWriter("duckdb"), parse_options({"score_type": kind}), stated, None, bounded=least)
        )
        for kind in _kinds()
        for least in (False, True)
    }


def text() -> str:
    """The file."""
    not_sql = ("families", "scales", "normal_quantile", "normal_rule", "t_nodes")

    def limits(*, by_row: bool) -> dict[str, Any]:
        parts = _parts_of_limits(by_row=by_row)
        return {name: part if name in not_sql else _tokens_of(part) for name, part in parts.items()}

    def changed(parts: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
        return {name: part for name, part in parts.items() if part != plain[name]}

    of_report, of_limits = _parts_of_report(by_row=False), limits(by_row=False)
    macros = {
        "report_parts": of_report,
        "report_parts_of_costs": changed(_parts_of_report(by_row=True), of_report) | _columns_of_costs(),
        "limit_parts": of_limits,
        "limit_parts_of_costs": changed(limits(by_row=True), of_limits),
    }
    return (
        "{# Written by python -m sql.generate.dbt_macros, from what writes the report for warehouses. #}\n\n"
        + "\n".join(
            f"{{% macro {name}() %}}{{{{ return({json.dumps(part, indent=4)}) }}}}{{% endmacro %}}\n"
            for name, part in macros.items()
        )
    )


def _key(name: str, *, weighted: bool = False, least: bool = False) -> str:
    return f"{name}{'_weighted' if weighted else ''}{'_from_least' if least else ''}"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
