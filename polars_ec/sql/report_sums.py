"""The sums of the groups of a report, and the formulas over them, in portable SQL: as `log_rows` has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from polars_ec.costs import CostMatrix
from polars_ec.dialects import Writer, quoted
from polars_ec.formulas.decisions import CELLS
from polars_ec.formulas.moved_by_prior import AT_PRIOR
from polars_ec.sql.log_rows import LogRows, product, select, with_levels
from polars_ec.sql.macro_formulas import MacroFormulas

_CELLS = (("tn", 0, 0), ("fp", 0, 1), ("fn", 1, 0), ("tp", 1, 1))
_COUNTS = {
    "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
    "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
    "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
}
_FACTORS = {"log_loss": ["ec_log_loss"], "brier": ["ec_error", "ec_error"]}
_FRACTION = re.compile(r"\b\d+(?:\.\d*)?e[-+]?\d+|\b\d+\.\d+")


@dataclass(frozen=True)
class ReportQuery:
    """The parts of the query. A factor of a sum that is below `least` is 0; more weight than `most` makes no metric."""

    rows: LogRows
    columns: Sequence[str]
    losses: Sequence[str]
    positive: str
    costs: CostMatrix
    shares: tuple[float, float] | None
    writer: Writer
    least: str | None
    most: str

    def text(self) -> str:
        """The query: rows, their sums, what formulas are made of, and the formulas."""
        values = {name: self.rows.kind.sums[name] for name in self._values}
        levels = self.rows.levels({"ec_positive": f"CASE WHEN {self.positive} THEN 1 ELSE 0 END", **values}, {})
        keys = self.rows.key_names
        groups = f" GROUP BY {', '.join(keys)}" if keys else ""
        sizes = {"ec_n0": "ec_tn + ec_fp", "ec_n1": "ec_fn + ec_tp"}
        cells = self._right_cells
        kept, kept_cells = keys | {name: name for name in (*_COUNTS, *self._loss_sums)}, {name: name for name in cells}
        levels["ec_sums"] = select(keys | self._sums, "ec_values") + groups
        levels["ec_groups"] = select(kept | cells, "ec_sums")
        levels["ec_sizes"] = select(kept | kept_cells | sizes, "ec_groups")
        levels["ec_means"] = select(kept | kept_cells | self._means, "ec_sizes")
        named = {quoted(name): source for name, source in zip(self.rows.keys, keys, strict=True)}
        return with_levels(levels, select(named | self._result, "ec_means"))

    @property
    def _values(self) -> list[str]:
        """The values of a row of which losses are made; where the first is NULL, the second says whether it is infinite."""
        logs = ["ec_log_loss"] if "log_loss" in self.losses else []
        return [*logs, *(["ec_error"] if self.losses else [])]

    @property
    def _sums(self) -> dict[str, str]:
        cells = {f"ec_sum_{cell}": self._amount(f"ec_class = {i} AND ec_positive = {j}") for cell, i, j in _CELLS}
        return _COUNTS | cells | self._loss_sums

    @property
    def _loss_sums(self) -> dict[str, str]:
        sums = {}
        for i in (0, 1):
            for loss in self.losses:
                sums[f"ec_sum_{loss}_{i}"] = self._sum(f"ec_class = {i}", _FACTORS[loss])
            if "log_loss" in self.losses:
                infinite = f"ec_class = {i} AND ec_log_loss IS NULL AND ec_error > {self.writer.number(0.5)}"
                if self.rows.weight is not None:
                    infinite += f" AND {product(['ec_times'], self.least)} > 0"
                sums[f"ec_infinite_{i}"] = f"COUNT(CASE WHEN {infinite} THEN 1 END)"
        return sums

    def _amount(self, rows: str) -> str:
        """Number or weight of such rows."""
        if self.rows.weight is None:
            return f"CAST(COUNT(CASE WHEN {rows} THEN 1 END) AS DOUBLE)"
        return self._sum(rows, [])

    def _sum(self, rows: str, factors: Sequence[str]) -> str:
        factors = factors if self.rows.weight is None else ["ec_times", *factors]
        return f"COALESCE(SUM(CASE WHEN {rows} THEN {product(factors, self.least)} ELSE 0 END), 0)"

    @property
    def _right_cells(self) -> dict[str, str]:
        """The cells, NULL where rows are wrong."""
        right = "ec_n_invalid = 0"
        if self.rows.weight is not None:
            right += f" AND {' + '.join(f'ec_sum_{cell}' for cell in CELLS)} <= {self.most}"
        return {f"ec_{cell}": f"CASE WHEN {right} THEN ec_sum_{cell} END" for cell in CELLS}

    @property
    def _means(self) -> dict[str, str]:
        """Priors, rates, and means of losses."""
        formulas = MacroFormulas({})
        means = {
            "ec_p0": formulas.of("_share", {"n": "ec_n0", "rest": "ec_n1"}),
            "ec_p1": formulas.of("_share", {"n": "ec_n1", "rest": "ec_n0"}),
        }
        for cell, i, j in _CELLS:
            means[f"ec_r{i}{j}"] = formulas.of("_ratio", {"x": f"ec_{cell}", "y": f"ec_n{i}"})
        if self.shares is not None:
            # A group without rows has no value at any prior.
            for i, share in enumerate(self.shares):
                means[f"ec_q{i}"] = f"CASE WHEN ec_n0 + ec_n1 > 0 THEN CAST({self.writer.number(share)} AS DOUBLE) END"
        for loss in self.losses:
            for i in (0, 1):
                mean = formulas.of("_ratio", {"x": f"ec_sum_{loss}_{i}", "y": f"ec_n{i}"})
                if loss == "log_loss":
                    mean = f"CASE WHEN ec_infinite_{i} > 0 THEN {self.writer.infinity} ELSE {mean} END"
                means[f"ec_{loss}_{i}"] = mean
        return means

    @property
    def _result(self) -> dict[str, str]:
        cell_type = "BIGINT" if self.rows.weight is None else "DOUBLE"
        plain = {
            "n": "CAST(ec_n AS BIGINT)",
            "class_prior": "ec_p1",
            **{cell: f"CAST(ec_{cell} AS {cell_type})" for cell in CELLS},
            "n_missing": "CAST(ec_n_missing AS BIGINT)",
            "n_invalid": "CAST(ec_n_invalid AS BIGINT)",
        }
        own, reference = self._formulas("p"), self._formulas("q")
        return {
            quoted(name): plain.get(name)
            or (
                self._metric(reference, name.removesuffix(AT_PRIOR))
                if name.endswith(AT_PRIOR)
                else self._metric(own, name)
            )
            for name in self.columns
        }

    def _formulas(self, prior: str) -> MacroFormulas:
        """The formulas of the macros over the means, at the priors whose columns begin so."""
        priors = {f"p{i}": f"ec_{prior}{i}" for i in (0, 1)}
        cells = {name: f"ec_{name}" for name in (*CELLS, "n0", "n1")} | priors
        losses = {loss: {f"m{i}": f"ec_{loss}_{i}" for i in (0, 1)} | priors for loss in _FACTORS}
        return MacroFormulas(
            {
                **{f"_r{i}{j}": f"ec_r{i}{j}" for _, i, j in _CELLS},
                # Costs are constants.
                "_column_type": "NULL",
                "_binary_cells": cells,
                "_cells_of_costs": cells,
                "_log_losses": losses["log_loss"],
                "_briers": losses["brier"],
            }
        )

    def _metric(self, formulas: MacroFormulas, name: str) -> str:
        (_, fp), (fn, _) = self.costs.values
        # Without a threshold all decisions are those of Bayes.
        macro = "expected_cost" if name == "bayes_risk" else name
        formula = formulas.of(macro, {"cost_fn": repr(fn), "cost_fp": repr(fp)})
        infinite = formula.replace("CAST('inf' AS DOUBLE)", self.writer.infinity)
        return _FRACTION.sub(lambda number: self.writer.number(float(number[0])), infinite)
