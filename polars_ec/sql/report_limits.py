"""Sums of groups, formulas over them, and confidence intervals for independent rows, for a report in portable SQL.

The statistics are those of `polars_ec.inference`, and the formulas those of the macros (sql/intervals.sql), which explain them. Each level
defines names for the next one. A group becomes one row per metric, and this one per step of the finite differences; two aggregations merge
them again.

PostgreSQL raises errors for division by 0 and for underflow, so besides the rules of `log_rows` neither occurs. There, sums and values out of
bounds have no intervals.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polars_ec.arguments.costs import CostMatrix
from polars_ec.formulas.decisions import AT_PRIOR, CELLS, highest, interval_scale
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.inference.confidence import FEW_OF_A_CLASS, STENCIL, normal_quantile
from polars_ec.output.dialects import Writer, quoted
from polars_ec.sql.log_rows import LogRows, product, select, with_levels
from polars_ec.sql.macro_formulas import MacroFormulas, numbers_of, portable

KINK = "ec: kink"
"""The difference of the two constant decisions' costs, which is 0 where NEC has its kink."""

_CELLS = (("00", "tn"), ("01", "fp"), ("10", "fn"), ("11", "tp"))
_MOMENTS = (*(f"ec_x{cell}" for cell, _ in _CELLS), *(f"ec_{name}{i}" for i in (0, 1) for name in "abc"))
# Less than this share of the variance is nothing to the degrees of freedom.
_LEAST_PART = 1e-60
# To PostgreSQL: sums of weights and losses, their squares, and values.
BOUNDS_OF_SUMS, BOUNDS_OF_SQUARES, _BOUNDS_OF_VALUES = (1e-70, 1e60), (1e-140, 1e120), (1e-30, 1e30)
_ANY = (0.0, sys.float_info.max)


@dataclass(frozen=True)
class Limited:
    """A metric with an interval, or the kink of NEC: its value in the group is the column `estimate`."""

    name: str
    at_prior: bool
    estimate: str

    @property
    def family(self) -> str:
        """The kind of sums of the metric."""
        if self.name == KINK:
            return "constant"
        return SCORING_RULES[self.name].loss if self.name in SCORING_RULES else "decisions"

    @property
    def scale(self) -> str:
        """The scale on which its interval is symmetric."""
        return "identity" if self.name == KINK else interval_scale(self.name)


@dataclass(frozen=True)
class ReportLimits:
    """The query levels for the intervals of `metrics`; `shown` are columns of a group, and `formulas` its metrics by `MacroFormulas`."""

    level: float
    metrics: Sequence[Limited]
    shown: Mapping[str, str]
    keys: Sequence[str]
    costs: CostMatrix
    stated: bool
    min_rows: int
    bounded: bool
    writer: Writer

    def levels(self, source: str) -> Iterator[tuple[str, str]]:
        """The SELECTs by their names, the first from `source`."""
        for name, text in self._levels():
            yield name, text.replace("{source}", source)
            source = name

    def _levels(self) -> Iterator[tuple[str, str]]:
        keys = {key: key for key in self.keys}
        yield "ec_rows_of_class", f"SELECT *, {_columns({**self.shown, **self.known})} FROM {{source}}"
        yield "ec_halves", f"SELECT *, {_columns(self.halves)} FROM {{source}}"
        if not self.metrics:
            return
        yield "ec_metrics", self._table_of_metrics
        # Keys of groups rather than aggregates: to DataFusion the largest of -inf is a number.
        taken = {name: name for name in (*self.shown, "ec_small")}
        groups = keys | {"ec_metric": "ec_metric"} | taken
        grouped = ", ".join(groups)
        priors = {f"ec_q{i}": f"ec_q{i}" for i in (0, 1)} if self.stated else {}
        of_metric = {name: name for name in ("ec_metric", "ec_name", "ec_scale", "ec_at_prior", "ec_u")}
        yield "ec_moments", select(keys | taken | priors | of_metric | self._moments, "ec_halves CROSS JOIN ec_metrics")
        yield "ec_stencil", self.table_of_steps
        yield "ec_changed", f"SELECT *, {_columns(self.changed)} FROM ec_moments CROSS JOIN ec_stencil"
        for name, columns in self.of_values:
            yield name, f"SELECT *, {_columns(columns)} FROM {{source}}"
        slopes = select(groups | {"ec_value": "ec_value"} | self.slopes, "{source}")
        yield "ec_slopes", f"{slopes} GROUP BY {grouped}, ec_value"
        for name, columns in self.of_spread:
            yield name, f"SELECT *, {_columns(columns)} FROM {{source}}"
        settled = select(groups | {"ec_value": "ec_value"} | self.settled, "{source}")
        yield "ec_settled", f"{settled} GROUP BY {grouped}, ec_value"
        for name, columns in self.of_ends:
            yield name, f"SELECT *, {_columns(columns)} FROM {{source}}"
        by_group = f" GROUP BY {', '.join(keys | taken)}"
        yield "ec_limits", select(keys | taken | self._taken_together, "{source}") + by_group

    def _of(self, name: str, *, guarded: bool = False, **arguments: str | Mapping[str, str]) -> str:
        return portable(MacroFormulas({}).of(name, arguments), self.writer, guarded=guarded)

    @property
    def known(self) -> dict[str, str]:
        """The effective sample size of each class."""
        return {f"ec_rows_{i}": self._of("_equal_rows", w=f"ec_all_{i}", w2=f"ec_squares_{i}") for i in (0, 1)}

    @property
    def halves(self) -> dict[str, str]:
        """Conditions: every class has rows, or several whose losses are not all equal; and half a row more of each decision."""
        enough = [f"ec_rows_{i} >= {FEW_OF_A_CLASS}" for i in (0, 1)]
        several = " AND ".join(self._of("_several", rows_=f"ec_rows_{i}") for i in (0, 1))
        halves = {
            f"ec_half_{i}": self._of("_half_a_row", a=f"ec_sq_{a}", c=f"ec_sq_{c}", x0=f"ec_{a}", x1=f"ec_{c}")
            for i, (a, c) in enumerate((("tn", "fp"), ("fn", "tp")))
        }
        for loss in dict.fromkeys(metric.family for metric in self.metrics if metric.name in SCORING_RULES):
            differ = " OR ".join(
                self._of("_differ", a=f"ec_squares_{i}", b=f"ec_sum_{loss}1_{i}", c=f"ec_sum_{loss}2_{i}")
                for i in (0, 1)
            )
            halves[f"ec_{loss}_known"] = f"CASE WHEN {several} AND ({differ}) THEN 1 ELSE 0 END"
        return {
            "ec_some": "CASE WHEN ec_rows_0 IS NOT NULL AND ec_rows_1 IS NOT NULL THEN 1 ELSE 0 END",
            "ec_small": f"CASE WHEN ec_n >= {self.min_rows} AND {' AND '.join(enough)} THEN 0 ELSE 1 END",
            **halves,
        }

    @property
    def _table_of_metrics(self) -> str:
        rows = [
            f"SELECT {i} AS ec_metric, '{metric.name}' AS ec_name, '{metric.family}' AS ec_family, "
            f"'{metric.scale}' AS ec_scale, {int(metric.at_prior)} AS ec_at_prior, {int(metric.family == 'decisions')} AS ec_u"
            for i, metric in enumerate(self.metrics)
        ]
        return " UNION ALL ".join(rows)

    @property
    def table_of_steps(self) -> str:
        """The steps of the finite differences, and their shares."""
        number = self.writer.number
        steps = [(0, 0.0, 0.0), *((i, float(times), share) for i in range(1, 5) for times, share in STENCIL)]
        return " UNION ALL ".join(
            f"SELECT {i} AS ec_sum, {number(times)} AS ec_change, {number(share)} AS ec_share"
            for i, times, share in steps
        )

    @property
    def _moments(self) -> dict[str, str]:
        """The sums of a metric, with half a pseudo-row for decisions, and its value."""
        families: dict[str, dict[str, str]] = {}
        for metric in self.metrics:
            families.setdefault(metric.family, self.moments_of(metric.family))
        moments = {}
        for name in _MOMENTS:
            cases = " ".join(
                f"WHEN ec_family = '{family}' AND ec_{'some' if family in ('decisions', 'constant') else f'{family}_known'} = 1 THEN {of[name]}"
                for family, of in families.items()
            )
            bounds = BOUNDS_OF_SUMS if name.startswith("ec_x") else BOUNDS_OF_SQUARES
            moments[name] = self.within(f"CASE {cases} END", bounds)
        with_value = [(i, metric.estimate) for i, metric in enumerate(self.metrics) if metric.name != KINK]
        estimates = " ".join(f"WHEN ec_metric = {i} THEN {estimate}" for i, estimate in with_value)
        return {**moments, "ec_value": f"CASE {estimates} END"}

    def moments_of(self, family: str) -> dict[str, str]:
        """The sums of the metrics of a family."""
        moments = dict.fromkeys(_MOMENTS, self.writer.number(0.0))
        for i, (negative, positive) in enumerate((("tn", "fp"), ("fn", "tp"))):
            half = f"ec_half_{i}"
            if family == "decisions":
                for j, cell in enumerate((negative, positive)):
                    moments[f"ec_x{i}{j}"] = self._of("_and_half", x=f"ec_{cell}", w=half)
                    moments[f"ec_{'ac'[j]}{i}"] = self._of("_and_half_square", a=f"ec_sq_{cell}", w=half)
                continue
            moments[f"ec_x{i}0"], moments[f"ec_a{i}"] = f"ec_n{i}", f"ec_squares_{i}"
            if family != "constant":
                moments[f"ec_x{i}1"] = f"ec_sum_{family}_{i}"
                moments[f"ec_b{i}"], moments[f"ec_c{i}"] = f"ec_sum_{family}1_{i}", f"ec_sum_{family}2_{i}"
        return moments

    def within(self, x: str, bounds: tuple[float, float]) -> str:
        """SQL that is 0 below the bounds and NULL above them, to PostgreSQL."""
        if not self.bounded:
            return x
        least, most = (self.writer.number(bound) for bound in bounds)
        return f"CASE WHEN ABS({x}) >= {least} AND ABS({x}) <= {most} THEN {x} WHEN ABS({x}) < {least} THEN 0 END"

    @property
    def changed(self) -> dict[str, str]:
        """The sums after a step."""
        return {
            f"ec_{cell}": self._of("_changed", x=f"ec_x{ij}", moved=f"(ec_sum = {i})", times="ec_change")
            for i, (ij, cell) in enumerate(_CELLS, 1)
        }

    @property
    def of_values(self) -> list[tuple[str, dict[str, str]]]:
        """Levels from changed sums to the value of a metric, NULL where it is no number."""
        sizes = {"ec_n0": "ec_tn + ec_u * ec_fp", "ec_n1": "ec_fn + ec_u * ec_tp"}
        rates = {f"ec_r{ij}": self._of("_ratio", x=f"ec_{cell}", y=sizes[f"ec_n{ij[0]}"]) for ij, cell in _CELLS}
        for i, rest in ((0, 1), (1, 0)):
            share = self._of("_share", n=sizes[f"ec_n{i}"], rest=sizes[f"ec_n{rest}"])
            rates[f"ec_p{i}"] = f"CASE WHEN ec_at_prior = 1 THEN ec_q{i} ELSE {share} END" if self.stated else share
        names = dict.fromkeys(metric.name for metric in self.metrics)
        values = " ".join(f"WHEN ec_name = '{name}' THEN {self.value(name)}" for name in names)
        least, most = (self.writer.number(bound) for bound in (_BOUNDS_OF_VALUES if self.bounded else _ANY))
        at = "ec_at_step"
        number = f"CASE WHEN ABS({at}) >= {least} AND ABS({at}) <= {most} THEN {at} WHEN ABS({at}) < {least} THEN 0 END"
        return [
            ("ec_rates", sizes | rates),
            ("ec_metric_values", {at: f"CASE {values} END"}),
            ("ec_numbers", {"ec_number": number}),
        ]

    def value(self, name: str) -> str:
        """A metric, of changed sums."""
        (_, fp), (fn, _) = self.costs.values
        if name == KINK:
            e = {"p0": "ec_p0", "p1": "ec_p1", "a0": repr(fp), "a1": repr(fn)}
            return self._of("_constants_apart", e=e)
        cells = {cell: f"ec_{cell}" for cell in ("n0", "n1", "p0", "p1", *CELLS)}
        losses = {"m0": "ec_r01", "m1": "ec_r11", "p0": "ec_p0", "p1": "ec_p1"}
        return metric_formula(name, cells, {"log_loss": losses, "brier": losses}, self.costs, self.writer)

    @property
    def slopes(self) -> dict[str, str]:
        """Aggregates from the values of all steps to slopes, beside what a metric has in each step."""
        centre = "MAX(CASE WHEN ec_sum = 0 THEN ec_number END)"
        of_metric = {"ec_on": "MAX(ec_scale)", "ec_v": "MAX(ec_u)", "ec_centre": centre}
        moments = {_after(name): f"MAX({name})" for name in _MOMENTS}
        slopes = {}
        for i, (ij, _) in enumerate(_CELLS, 1):
            slopes[f"ec_d{ij}"] = f"SUM(CASE WHEN ec_sum = {i} THEN ec_share * ec_number END)"
            slopes[f"ec_known{ij}"] = f"COUNT(CASE WHEN ec_sum = {i} THEN ec_number END)"
        return of_metric | moments | slopes

    @property
    def of_spread(self) -> list[tuple[str, dict[str, str]]]:
        """Levels from slopes to bounds; a value with a null at any step has no slope."""
        slopes, influences, rows, variances = (dict[str, str]() for _ in range(4))
        lost: list[dict[str, str]] = []
        for ij, _ in _CELLS:
            x = _after(f"ec_x{ij}")
            step = self._of("_step", x=x)
            slopes[f"ec_g{ij}"] = (
                f"CASE WHEN {x} = 0 THEN 0 WHEN ec_known{ij} = {len(STENCIL)} THEN ec_d{ij} / ({step}) END"
            )
        for i in (0, 1):
            sums = {name: _after(f"ec_{name}{i}") for name in "abc"} | {f"x{j}": _after(f"ec_x{i}{j}") for j in (0, 1)}
            given = {f"g{j}": f"ec_g{i}{j}" for j in (0, 1)} | sums | {"u": "ec_v"}
            names = {}
            for part, sql in MacroFormulas({}).parts_of("_influence", given).items():
                names[part] = f"ec_i_{part}_{i}"
                influences[names[part]] = portable(sql, self.writer)
            rows |= {f"ec_m_{i}": self._of("_mean_influence", i=names), f"ec_k_{i}": self._of("_rows_of", i=names)}
            variances[f"ec_within_{i}"] = self._of("_within_class", i=names, rows_=f"ec_k_{i}", mean=f"ec_m_{i}")
            variances[f"ec_between_{i}"] = self._of("_between_classes", i=names, mean=f"ec_m_{i}")
            lost.append({"within": f"ec_part_{i}", "rows": f"ec_k_{i}"})
        least = f"{self.writer.number(_LEAST_PART)} * ec_variance"
        terms = ["ec_within_0", "ec_within_1", "ec_between_0 + ec_between_1"]
        within = {f"ec_part_{i}": f"CASE WHEN {x} > {least} THEN {x} ELSE 0 END" for i, x in enumerate(terms)}
        rows_, variance = "ec_k_0 + ec_k_1", "ec_variance"
        df = self._of("_df_of_rows", s0=lost[0], s1=lost[1], between_="ec_part_2", rows_=rows_, variance=variance)
        one, most = self.writer.number(1.0), self.writer.number(1e30)
        levels = [
            ("ec_gradients", slopes),
            ("ec_influences", influences),
            ("ec_means_of_class", rows),
            ("ec_parts", variances),
            ("ec_variances", {"ec_variance": "ec_within_0 + ec_between_0 + ec_within_1 + ec_between_1"}),
            ("ec_parts_of_variance", within),
            ("ec_freedom", {"ec_df": df}),
            ("ec_degrees", {"ec_nu": f"CASE WHEN ec_df > 1 AND ec_df < {most} THEN ec_df WHEN ec_df >= {most} AND ec_df <= {self.writer.number(sys.float_info.max)} THEN {most} ELSE {one} END"}),
            *t_levels(0.5 + self.level / 2, "ec_nu", self.writer),
        ]  # fmt: skip
        at = self._of("_forward", scale="ec_on", x="ec_centre", guarded=True)
        half = self._of("_half_width_of", t="ec_t", variance="ec_variance", scale="ec_on", centre="ec_centre")
        skew = f"CASE WHEN ec_v = 1 THEN {self._of('_skew', scale='ec_on', x='ec_centre', half='ec_half')} ELSE 0 END"
        up = self._of("_skew_above", scale="ec_on", skew="ec_skew")
        sides = {"ec_below": "ec_skew", "ec_above": up}
        further = {end: self._of("_further", scale="ec_on", skew=side, t="ec_t") for end, side in sides.items()}
        widths = {"ec_at": at, "ec_half": half}
        return [*levels, ("ec_widths", widths), ("ec_skews", {"ec_skew": skew}), ("ec_skewed", further)]

    @property
    def settled(self) -> dict[str, str]:
        """Operands of the bounds as aggregates, because ClickHouse reevaluates non-aggregates within AND and CASE at each use."""
        near = "MAX(CASE WHEN ABS(ec_centre) < 2 * SQRT(ec_variance) THEN 1 ELSE 0 END)"
        names = {"scale": "on", "middle": "centre", "start": "at", "width": "half", "down": "below", "up": "above"}
        return {**{f"ec_{name}": f"MAX(ec_{of})" for name, of in names.items()}, "ec_near": near}

    @property
    def of_ends(self) -> list[tuple[str, dict[str, str]]]:
        """Bounds around the middle, extended to contain the value; null if either is."""
        largest, end = self.writer.number(sys.float_info.max), "ec_start + ec_width + ec_up"
        shown = " AND ".join(
            [f"{x} >= -{largest} AND {x} <= {largest}" for x in ("ec_value", "ec_start", "ec_width")]
            + [f"({self._of('_has_square', x='ec_middle')})", f"({self._of('_has_end', scale='ec_scale', z=end)})"]
        )
        ends = {
            f"ec_{end}_end": f"CASE WHEN {shown} THEN {self._of('_inverse', scale='ec_scale', z=z, guarded=True)} END"
            for end, z in (("low", "ec_start - ec_width - ec_down"), ("high", end))
        }
        held = {
            "ec_low": "CASE WHEN ec_low_end < ec_value THEN ec_low_end WHEN ec_low_end >= ec_value THEN ec_value END",
            "ec_high": "CASE WHEN ec_high_end > ec_value THEN ec_high_end WHEN ec_high_end <= ec_value THEN ec_value END",
        }
        return [("ec_ends", ends), ("ec_held", held)]

    @property
    def _taken_together(self) -> dict[str, str]:
        taken = {}
        for i, metric in enumerate(self.metrics):
            if metric.name == KINK:
                taken["ec_kinked"] = f"MAX(CASE WHEN ec_metric = {i} THEN ec_near END)"
                continue
            most = self.writer.number(highest(metric.name, 2, self.costs))
            above = "" if "inf" in most else f"WHEN ec_high > {most} AND ec_value <= {most} THEN {most} "
            taken[f"ec_low_{i}"] = f"MAX(CASE WHEN ec_metric = {i} THEN ec_low END)"
            taken[f"ec_high_{i}"] = f"MAX(CASE WHEN ec_metric <> {i} THEN NULL {above}ELSE ec_high END)"
        return taken


def metric_formula(
    name: str, cells: Mapping[str, str], losses: Mapping[str, Mapping[str, str]], costs: CostMatrix, writer: Writer
) -> str:
    """The value of a metric of columns: cells, sizes and priors, and of each loss the means and priors. Rates are `ec_rij`."""
    (_, fp), (fn, _) = costs.values
    formulas = MacroFormulas(
        {
            **{f"_r{ij}": f"ec_r{ij}" for ij, _ in _CELLS},
            # Costs are constants.
            "_column_type": "NULL",
            "_binary_cells": cells,
            "_cells_of_costs": cells,
            "_log_losses": losses.get("log_loss", {}),
            "_briers": losses.get("brier", {}),
        }
    )
    # Without a threshold all decisions are those of Bayes.
    macro = "expected_cost" if name == "bayes_risk" else name
    return numbers_of(formulas.of(macro, {"cost_fn": repr(fn), "cost_fp": repr(fp)}), writer)


def _columns(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {name}" for name, sql in columns.items())


def _after(name: str) -> str:
    """The name of a moment after the aggregation: an engine may take a name for the aggregate that it names."""
    return f"{name}_"


# The t quantile at a constant level, by degrees of freedom in a column, as a query level per step.

_STEPS = 3
# As in the macro: with less mass beyond, the tail is summed.
TAIL = 0.03


def t_levels(p: float, degrees: str, writer: Writer) -> list[tuple[str, dict[str, str]]]:
    """The levels, each with the columns that it adds, of which the last one is `ec_t`: the quantile at p > 0.5."""
    normal = float(normal_quantile(p))
    if normal == 0 or math.isinf(normal):
        # t is what the normal quantile is, with however many degrees of freedom.
        return [("ec_t_end", {"ec_t": writer.infinity if normal else writer.number(0.0)})]
    formulas = MacroFormulas({})

    def of(name: str, **arguments: str) -> str:
        return portable(formulas.of(name, arguments), writer)

    n = {"n": degrees}
    levels = [("ec_t_start", {"ec_k": of("_t_constant", **n), "ec_z0": of("_t_start", normal=repr(normal), **n)})]
    beyond, is_tail = min(p, 1 - p), min(p, 1 - p) < TAIL
    for i in range(_STEPS):
        at, hazard = {"z": f"ec_z{i}", **n, "k": "ec_k"}, "0"
        if is_tail:
            log_tail = f"ec_log_tail{i}"
            levels.append((f"ec_tails{i}", {log_tail: of("_t_log_tail", **at)}))
            hazard = formulas.of("_t_hazard", {**at, "log_tail": log_tail})
            given = {"log_tail": log_tail, "hazard": hazard, "beyond": repr(beyond)}
            step = formulas.of("_t_tail_step", given)
        else:
            levels.append((f"ec_steps{i}", {f"ec_step{i}": of("_t_middle_step", mass=repr(abs(p - 0.5)), **at)}))
            step = f"ec_step{i}"
        levels.append((f"ec_moved{i}", {f"ec_z{i + 1}": of("_t_step", z=f"ec_z{i}", step=step, hazard=hazard, **n)}))
    return [*levels, ("ec_t_end", {"ec_t": of("_t_of", z=f"ec_z{_STEPS}", **n)})]


# The sums of the groups and the formulas over them, in portable SQL: as `log_rows` has it.

_COUNTS = {
    "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
    "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
    "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
}
_FACTORS = {"log_loss": ["ec_log_loss"], "brier": ["ec_error", "ec_error"]}
_LOW, _HIGH = "_ci_low", "_ci_high"


@dataclass(frozen=True)
class ReportQuery:
    """Elements of the query. A factor of a sum that is below `least` is 0; groups with more weight than `most` have no metrics."""

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
        """The query: rows, their sums, and the formulas with their inputs; with a level, also the inputs of the bounds."""
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
        # These engines would reevaluate named subexpressions at each use.
        materialized = set(levels) - set(of_rows) if self.writer.can_materialize else ()
        return with_levels(levels, select(named | self._limited(limits, shown), next(reversed(levels))), materialized)

    @property
    def _values(self) -> list[str]:
        logs = ["ec_log_loss"] if "log_loss" in self.losses else []
        return [*logs, *(["ec_error"] if self.losses else [])]

    @property
    def _sums(self) -> dict[str, str]:
        cells = {f"ec_sum_{cell}": self._amount(f"ec_class = {ij[0]} AND ec_positive = {ij[1]}") for ij, cell in _CELLS}
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
        sums = {
            f"ec_sq_{cell}": self._square(f"ec_class = {ij[0]} AND ec_positive = {ij[1]}", []) for ij, cell in _CELLS
        }
        for i in (0, 1):
            for loss in self.losses:
                for times in (1, 2):
                    sums[f"ec_sum_{loss}{times}_{i}"] = self._square(f"ec_class = {i}", _FACTORS[loss] * times)
        return sums

    @property
    def _amounts(self) -> dict[str, str]:
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
        if self.rows.weight is None:
            return f"CAST(COUNT(CASE WHEN {rows} THEN 1 END) AS DOUBLE)"
        return self._sum(rows, [])

    def _sum(self, rows: str, factors: Sequence[str]) -> str:
        factors = factors if self.rows.weight is None else ["ec_times", *factors]
        return f"COALESCE(SUM(CASE WHEN {rows} THEN {product(factors, self.least)} ELSE 0 END), 0)"

    @property
    def _right_cells(self) -> dict[str, str]:
        right = "ec_n_invalid = 0"
        if self.rows.weight is not None:
            right += f" AND {' + '.join(f'ec_sum_{cell}' for cell in CELLS)} <= {self.most}"
        return {f"ec_{cell}": f"CASE WHEN {right} THEN ec_sum_{cell} END" for cell in CELLS}

    @property
    def _means(self) -> dict[str, str]:
        formulas = MacroFormulas({})
        means = {
            "ec_p0": formulas.of("_share", {"n": "ec_n0", "rest": "ec_n1"}),
            "ec_p1": formulas.of("_share", {"n": "ec_n1", "rest": "ec_n0"}),
        }
        for ij, cell in _CELLS:
            means[f"ec_r{ij}"] = formulas.of("_ratio", {"x": f"ec_{cell}", "y": f"ec_n{ij[0]}"})
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
        of_limits = ("nec_kinked", _LOW, _HIGH)
        return {name: plain.get(name) or self._metric(name) for name in self.columns if not name.endswith(of_limits)}

    def _metric(self, name: str) -> str:
        prior, name = ("q", name.removesuffix(AT_PRIOR)) if name.endswith(AT_PRIOR) else ("p", name)
        priors = {f"p{i}": f"ec_{prior}{i}" for i in (0, 1)}
        cells = {name: f"ec_{name}" for name in (*CELLS, "n0", "n1")} | priors
        losses = {loss: {f"m{i}": f"ec_{loss}_{i}" for i in (0, 1)} | priors for loss in _FACTORS}
        return metric_formula(name, cells, losses, self.costs, self.writer)

    @property
    def _shown(self) -> dict[str, tuple[str, str]]:
        """The columns of a group: the name of each in the levels of the bounds, and its formula."""
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
        columns = {name: of for name, (of, _) in shown.items()} | {"small": "ec_small = 1"}
        for i, metric in enumerate(limits.metrics):
            if metric.name == KINK:
                columns["nec_kinked"] = f"CASE WHEN {columns[f'nec{_LOW}']} IS NOT NULL THEN ec_kinked = 1 END"
                continue
            name = metric.name + (AT_PRIOR if metric.at_prior else "")
            columns[f"{name}{_LOW}"], columns[f"{name}{_HIGH}"] = f"ec_low_{i}", f"ec_high_{i}"
        return {quoted(name): columns[name] for name in self.columns}
