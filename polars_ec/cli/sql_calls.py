"""The calls of macros behind the columns of a report, and the columns of rows that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from polars_ec.arguments import Options
from polars_ec.cli.named_decisions import index_in_sql
from polars_ec.dialects import quoted, quoted_text
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.rows.read import Rows, resolve_columns
from polars_ec.rows.score_columns import n_score_classes
from polars_ec.rows.scores import DecidedScores

COUNTS = ("n", "n_missing", "n_invalid")
PARTS = ("n_missing_label", "n_missing_score", "n_missing_weight")

SCORE, LABEL = "__ec_score", "__ec_label"
"""Columns that are added to the rows: what the calls of all metrics are of."""
_DECISION, _LOG_ODDS = "__ec_decision", "__ec_log_odds"


@dataclass(frozen=True)
class Model:
    """The macro calls for one score."""

    score_name: str
    label_name: str
    schema: pl.Schema
    read: Rows
    decisions: Sequence[Any] | None
    prior_is_known: bool = True

    @classmethod
    def of(cls, score: str, label: str, schema: pl.Schema, options: Options) -> Model:
        """With what the columns' dtypes add to the options: the classes of an Enum label, the names of decisions."""
        rows = resolve_columns(schema.to_frame().lazy(), score, label, options)
        names = rows.scores.names if isinstance(rows.scores, DecidedScores) else None
        return cls(score, label, schema, rows, None if isinstance(names, range) else names)

    @property
    def checked(self) -> Options:
        """The options, with what the dtypes add to them."""
        return self.read.options

    def rows(self, relation: str) -> str:
        """The relation with what the calls need of each row: written out in every call it would be planned each time."""
        columns = {SCORE: self._score, LABEL: self._label}
        # Without a prior there are no decisions of LLRs, and only counts are asked for.
        countable_only = self.checked.score_type == "llr" and self._prior is None
        if self._needs_decisions and not countable_only:
            options = {**self._choice, "prior": self._prior, "score_type": quoted_text(self.checked.score_type)}
            decision = _call("bayes_decision", self._score, **options)
            columns[_DECISION] = f"CAST([{decision}] AS DOUBLE[])" if self._is_wide else decision
        if self.checked.score_type == "llr" and not countable_only:
            columns[_LOG_ODDS] = _call("log_odds", self._score, score_type=quoted_text("llr"), prior=self._prior)
        return f"(SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in columns.items())} FROM {relation})"

    def column(self, name: str) -> str:
        """The call behind a column of the report."""
        metric = name.removesuffix("_at_prior")
        if metric == "n":
            return self._counts("n_rows")
        if metric in PARTS:
            return self._missing(metric)
        if metric in (*COUNTS, "class_prior"):
            positive = "[2]" if metric == "class_prior" and self._is_list and self.n_classes == 2 else ""
            return f"({self._counts(metric)}){positive}"
        call = self._scoring_rule if metric in (*SCORING_RULES, "ece") else self._decisions
        # At the costs and the threshold of all other metrics of decisions, it is their expected cost.
        macro = "expected_cost" if metric == "bayes_risk" else metric
        return call(macro, prior=self._prior if name != metric else None)

    def _missing(self, part: str) -> str:
        """The rows in which this part is null, be it one element of a list."""
        column = {"n_missing_label": LABEL, "n_missing_score": SCORE, "n_missing_weight": self.weight}[part]
        element = f" OR list_count({SCORE}) <> len({SCORE})" if part == "n_missing_score" and self._is_list else ""
        return f"count_if({column} IS NULL{element})"

    def _counts(self, metric: str) -> str:
        # The number of classes is all that costs say here, and a score of two classes says it itself.
        costs = self._costs if self._is_list else None
        return _call(
            metric, SCORE, LABEL, costs=costs, score_type=quoted_text(self.checked.score_type), weight=self.weight
        )

    def _decisions(self, metric: str, *, prior: str | None) -> str:
        if self._needs_decisions:
            options = {
                "costs": self._costs,
                **self._binary_costs,
                "prior": prior,
                "score_type": quoted_text("decision"),
            }
            return _call(metric, _DECISION, LABEL, **options, weight=self.weight)
        options = {**self._choice, "prior": prior, "score_type": quoted_text(self.checked.score_type)}
        return _call(metric, SCORE, LABEL, **options, weight=self.weight)

    def _scoring_rule(self, metric: str, *, prior: str | None) -> str:
        if self.checked.score_type == "llr":
            return _call(metric, _LOG_ODDS, LABEL, prior=prior, score_type=quoted_text("log_odds"), weight=self.weight)
        return _call(
            metric, SCORE, LABEL, prior=prior, score_type=quoted_text(self.checked.score_type), weight=self.weight
        )

    @property
    def _is_list(self) -> bool:
        """Whether the macros get a list a row; decisions among other than two are lists of one."""
        return self.schema[self.score_name].is_nested() or (self.checked.score_type == "decision" and self._is_wide)

    @property
    def _is_wide(self) -> bool:
        costs = self.checked.costs(self.n_classes)
        return (costs.n_classes, costs.n_decisions) != (2, 2)

    @property
    def _needs_decisions(self) -> bool:
        """Decisions of LLRs stay those at the stated prior, also where the metric is at the group's own.

        And decisions of single scores among other than two are lists to the macros.
        """
        return self.checked.score_type == "llr" or (self._is_wide and not self._is_list)

    @property
    def _score(self) -> str:
        column, dtype = quoted(self.score_name), self.schema[self.score_name]
        if isinstance(dtype, pl.Struct):
            fields = ", ".join(f"struct_extract({column}, {quoted_text(field.name)})" for field in dtype.fields)
            return f"CAST([{fields}] AS DOUBLE[])"
        if dtype.is_nested():
            return f"CAST({column} AS DOUBLE[])"
        if self.decisions is not None:
            column = index_in_sql(column, dtype, self.decisions, rest=self.checked.pos_label is not None)
        return f"CAST([{column}] AS DOUBLE[])" if self._is_list else column

    @property
    def _label(self) -> str:
        """The macros read Booleans and class numbers only."""
        column, dtype = quoted(self.label_name), self.schema[self.label_name]
        nan = f" WHEN isnan({column}) THEN -1" if dtype.is_float() else ""
        if self.checked.pos_label is not None:
            positive = value_text(self.checked.pos_label)
            return f"CASE{nan} WHEN {column} = {positive} THEN 1 WHEN {column} IS NOT NULL THEN 0 END"
        if self.checked.classes is not None:
            classes = "".join(f" WHEN {column} = {value_text(c)} THEN {i}" for i, c in enumerate(self.checked.classes))
            return f"CASE{nan}{classes} WHEN {column} IS NOT NULL THEN -1 END"
        return column

    @cached_property
    def n_classes(self) -> int:
        """K, as the score and the options say."""
        return n_score_classes(self.schema[self.score_name], self.checked)

    @property
    def _costs(self) -> str | None:
        """Also says how many classes there are, where the score alone does not."""
        if self.checked.stated_costs is None and not self._is_list and self.n_classes == 2:
            return None
        rows = self.checked.costs(self.n_classes).values
        return f"[{', '.join(_numbers(row) for row in rows)}]"

    @property
    def _binary_costs(self) -> dict[str, str]:
        if self._costs is not None:
            return {}
        (_, cost_fp), (cost_fn, _) = self.checked.costs(2).values
        return {"cost_fn": _number(cost_fn), "cost_fp": _number(cost_fp)}

    @property
    def _choice(self) -> dict[str, str | None]:
        threshold = self.checked.constant_threshold
        stated = None if threshold is None else _number(threshold)
        return {"costs": self._costs, **self._binary_costs, "threshold": stated}

    @property
    def prior_in_use(self) -> Any:
        """The stated prior as `polars_ec.report` takes it; None where there is none, or it is not known."""
        prior = self.checked.prior
        return "uniform" if prior.uniform else None if prior.shares is None else list(prior.shares)

    @property
    def _prior(self) -> str | None:
        prior = self.checked.prior
        if not self.prior_is_known:
            return "CAST(NULL AS DOUBLE)"
        if prior.uniform:
            return quoted_text("uniform")
        if prior.shares is None:
            return None
        return _numbers(prior.shares) if self._is_list or self._is_wide else _number(prior.shares[1])

    @property
    def weight(self) -> str | None:
        """The column of weights, quoted."""
        weight = self.checked.weight
        return None if weight is None else quoted(weight.meta.output_name())


def _call(macro: str, *args: str, **options: str | None) -> str:
    named = [f"{name} := {value}" for name, value in options.items() if value is not None]
    return f"ec.{macro}({', '.join([*args, *named])})"


def _number(value: float) -> str:
    # A bare 0.1 would be a DECIMAL.
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def _numbers(values: Sequence[float]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def value_text(value: object) -> str:
    """A value of the label, as SQL has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return (
        _number(value)
        if isinstance(value, float)
        else str(value)
        if isinstance(value, int)
        else quoted_text(str(value))
    )
