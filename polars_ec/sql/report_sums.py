"""The sums of the groups of a report, and the formulas over them, in portable SQL: as `log_rows` has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polars_ec.costs import CostMatrix
from polars_ec.dialects import Writer, quoted
from polars_ec.formulas.decisions import CELLS
from polars_ec.formulas.moved_by_prior import AT_PRIOR
from polars_ec.sql.log_rows import LogRows, product, select, with_levels
from polars_ec.sql.macro_formulas import MacroFormulas
from polars_ec.sql.report_limits import KINK, Limited, ReportLimits, metric_formula

_CELLS = (("tn", 0, 0), ("fp", 0, 1), ("fn", 1, 0), ("tp", 1, 1))
_COUNTS = {
    "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
    "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
    "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
}
_FACTORS = {"log_loss": ["ec_log_loss"], "brier": ["ec_error", "ec_error"]}
_LOW, _HIGH = "_ci_low", "_ci_high"


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
    level: float | None = None
    min_rows: int | None = None

    def text(self) -> str:
        """The query: rows, their sums, what formulas are made of, and the formulas; with a level, what limits are made of."""
        values = {name: self.rows.kind.sums[name] for name in self._values}
        levels = self.rows.levels({"ec_positive": f"CASE WHEN {self.positive} THEN 1 ELSE 0 END", **values}, {})
        keys = self.rows.key_names
        groups = f" GROUP BY {', '.join(keys)}" if keys else ""
        sizes = {"ec_n0": "ec_tn + ec_fp", "ec_n1": "ec_fn + ec_tp"}
        cells = self._right_cells
        kept = keys | {name: name for name in (*_COUNTS, *self._loss_sums, *self._squares)}
        kept_cells = {name: name for name in (*cells, *self._amounts)}
        levels["ec_sums"] = select(keys | self._sums, "ec_values") + groups
        levels["ec_groups"] = select(kept | cells | self._amounts, "ec_sums")
        levels["ec_sizes"] = select(kept | kept_cells | sizes, "ec_groups")
        levels["ec_means"] = select(kept | kept_cells | {name: name for name in sizes} | self._means, "ec_sizes")
        named = {quoted(name): source for name, source in zip(self.rows.keys, keys, strict=True)}
        if self.level is None:
            result = {quoted(name): sql for name, sql in self._result.items()}
            return with_levels(levels, select(named | result, "ec_means"))
        of_rows, shown = list(levels), self._shown
        limits = self._limits(self.level, shown)
        levels |= dict(limits.levels("ec_means"))
        # These engines would work out what is named in between wherever it is used.
        materialized = set(levels) - set(of_rows) if self.writer.can_materialize else ()
        return with_levels(levels, select(named | self._limited(limits, shown), next(reversed(levels))), materialized)

    @property
    def _values(self) -> list[str]:
        """The values of a row of which losses are made; where the first is NULL, the second says whether it is infinite."""
        logs = ["ec_log_loss"] if "log_loss" in self.losses else []
        return [*logs, *(["ec_error"] if self.losses else [])]

    @property
    def _sums(self) -> dict[str, str]:
        cells = {f"ec_sum_{cell}": self._amount(f"ec_class = {i} AND ec_positive = {j}") for cell, i, j in _CELLS}
        return _COUNTS | cells | self._loss_sums | self._squares

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

    @property
    def _squares(self) -> dict[str, str]:
        """Sums of squares of weights, and of these times losses and their squares."""
        if self.level is None:
            return {}
        sums = {f"ec_sq_{cell}": self._square(f"ec_class = {i} AND ec_positive = {j}", []) for cell, i, j in _CELLS}
        for i in (0, 1):
            for loss in self.losses:
                for times in (1, 2):
                    sums[f"ec_sum_{loss}{times}_{i}"] = self._square(f"ec_class = {i}", _FACTORS[loss] * times)
        return sums

    @property
    def _amounts(self) -> dict[str, str]:
        """The weights of the classes, also where rows are wrong, and the squares."""
        if self.level is None:
            return {}
        amounts = {}
        for i, (negative, positive) in enumerate((("tn", "fp"), ("fn", "tp"))):
            amount = f"ec_sum_{negative} + ec_sum_{positive}"
            amounts[f"ec_all_{i}"] = f"CASE WHEN {amount} <= {self.most} THEN {amount} END"
            amounts[f"ec_squares_{i}"] = f"ec_sq_{negative} + ec_sq_{positive}"
        return amounts

    def _square(self, rows: str, factors: Sequence[str]) -> str:
        """The sum of the squares of weights times factors; to PostgreSQL infinite where one is too large."""
        if not factors and self.rows.weight is None:
            return self._amount(rows)
        factors = factors if self.rows.weight is None else ["ec_times", "ec_times", *factors]
        value = product(factors, self.least)
        if self.least is not None:
            large = " OR ".join(f"ABS({name}) > {self.most}" for name in dict.fromkeys(factors))
            value = f"CASE WHEN {large} THEN {self.writer.infinity} ELSE {value} END"
        return f"COALESCE(SUM(CASE WHEN {rows} THEN {value} ELSE 0 END), 0)"

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
            "small": f"ec_n < {self.min_rows}",
        }
        return {name: plain.get(name) or self._metric(name) for name in self.columns if not _is_of_limits(name)}

    def _metric(self, name: str) -> str:
        prior, name = ("q", name.removesuffix(AT_PRIOR)) if name.endswith(AT_PRIOR) else ("p", name)
        priors = {f"p{i}": f"ec_{prior}{i}" for i in (0, 1)}
        cells = {name: f"ec_{name}" for name in (*CELLS, "n0", "n1")} | priors
        losses = {loss: {f"m{i}": f"ec_{loss}_{i}" for i in (0, 1)} | priors for loss in _FACTORS}
        return metric_formula(name, cells, losses, self.costs, self.writer)

    @property
    def _shown(self) -> dict[str, tuple[str, str]]:
        """Of each column of a group its name in the levels of the limits, and its formula."""
        values = {name: sql for name, sql in self._result.items() if name != "small"}
        return {name: (f"ec_column_{i}", sql) for i, (name, sql) in enumerate(values.items())}

    def _limits(self, level: float, shown: Mapping[str, tuple[str, str]]) -> ReportLimits:
        limited = [name.removesuffix(_LOW) for name in self.columns if name.endswith(_LOW)]
        metrics = [Limited(name.removesuffix(AT_PRIOR), name.endswith(AT_PRIOR), shown[name][0]) for name in limited]
        if "nec" in limited:
            metrics.append(Limited(KINK, at_prior=False, estimate=""))
        return ReportLimits(
            level=level,
            metrics=metrics,
            shown=dict(shown.values()),
            keys=list(self.rows.key_names),
            costs=self.costs,
            stated=self.shares is not None,
            min_rows=self.min_rows or 0,
            bounded=self.least is not None,
            writer=self.writer,
        )

    def _limited(self, limits: ReportLimits, shown: Mapping[str, tuple[str, str]]) -> dict[str, str]:
        """The columns of the report from the last level."""
        columns = {name: of for name, (of, _) in shown.items()} | {"small": "ec_small = 1"}
        for i, metric in enumerate(limits.metrics):
            if metric.name == KINK:
                columns["nec_kinked"] = f"CASE WHEN {columns[f'nec{_LOW}']} IS NOT NULL THEN ec_kinked = 1 END"
                continue
            name = metric.name + (AT_PRIOR if metric.at_prior else "")
            columns[f"{name}{_LOW}"], columns[f"{name}{_HIGH}"] = limits.low(i), limits.high(i)
        return {quoted(name): columns[name] for name in self.columns}


def _is_of_limits(name: str) -> bool:
    return name == "nec_kinked" or name.endswith((_LOW, _HIGH))
