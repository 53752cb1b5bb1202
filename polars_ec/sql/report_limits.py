"""Sums of groups, formulas over them, and confidence intervals for independent rows, for a report in portable SQL.

The statistics are those of `polars_ec.inference`, and the formulas those of the macros (sql/intervals.sql), which explain them. Each level
defines names for the next one. A group becomes one row per metric, and this one per step: the value itself, and those of the finite
differences. An aggregation merges the steps, and the last SELECT the metrics. So each formula stands once, whatever the metrics are.

PostgreSQL raises errors for division by 0 and for underflow, so besides the rules of `log_rows` neither occurs. There, sums and values out of
bounds have no intervals.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from polars_ec.arguments.costs import CostMatrix
from polars_ec.formulas.decisions import AT_PRIOR, CELLS, highest, interval_scale, is_moved_by_prior
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.inference.confidence import FEW_OF_A_CLASS, STENCIL, normal_quantile, t_quantile
from polars_ec.numerics import np
from polars_ec.output.dialects import Writer, quoted
from polars_ec.sql.log_rows import Levels, LogRows, product, select, with_levels
from polars_ec.sql.macro_formulas import MacroFormulas, numbers_of, portable
from polars_ec.sql.report_clusters import FEATURES, SLOTS, WEIGHT, ClusterSums, pair_sums, sum_name

KINK = "ec: kink"
"""The difference of the two constant decisions' costs, which is 0 where NEC has its kink."""

FAMILIES = ("decisions", "costs", "log_loss", "brier", "constant")
"""The kinds of sums that a metric is of; the kink is of the classes' sizes alone, and of their costs if rows have costs of their own."""
_OF_COSTS = ("nec", "expected_cost", "bayes_risk")

_CELLS = (("00", "tn"), ("01", "fp"), ("10", "fn"), ("11", "tp"))
_DECISIONS = (("tn", "fp"), ("fn", "tp"))
_PLACES, _PLACES_OF_COSTS = ("00", "01", "10", "11"), ("02", "12")
# Less than this share of the variance is nothing to the degrees of freedom.
_LEAST_PART = 1e-60
# To PostgreSQL: sums of weights and losses, their squares, and values.
_BOUNDS_OF_SUMS, _BOUNDS_OF_SQUARES, _BOUNDS_OF_VALUES = (1e-70, 1e60), (1e-140, 1e120), (1e-30, 1e30)
_LARGEST = sys.float_info.max
# Steps that change no sum: the value of the report, and the one amid the differences, with half a row more of each decision.
_VALUE, _CENTRE = -1, 0


@dataclass(frozen=True)
class LimitedMetric:
    """A metric of the report, or the kink of NEC."""

    name: str
    at_prior: bool = False
    costs_by_row: bool = False

    @property
    def family(self) -> str:
        """The kind of sums of the metric."""
        if self.name == KINK:
            return "constant"
        if self.costs_by_row and self.name in _OF_COSTS:
            return "costs"
        return SCORING_RULES[self.name].loss if self.name in SCORING_RULES else "decisions"

    @property
    def scale(self) -> str:
        """The scale on which its interval is symmetric."""
        return "identity" if self.name == KINK else interval_scale(self.name)


_COUNTS = {
    "ec_n": "COUNT(CASE WHEN ec_class >= 0 THEN 1 END)",
    "ec_n_missing": "COUNT(CASE WHEN ec_class IS NULL THEN 1 END)",
    "ec_n_invalid": "COUNT(CASE WHEN ec_class < 0 THEN 1 END)",
}
_FACTORS = {"log_loss": ["ec_log_loss"], "brier": ["ec_error", "ec_error"]}
_LOW, _HIGH = "_ci_low", "_ci_high"


@dataclass(frozen=True)
class ReportQuery:
    """Elements of the query. A factor of a sum that is below `least` is 0; groups with the weight `most` or more have no metrics."""

    rows: LogRows
    columns: Sequence[str]
    losses: Sequence[str]
    positive: str
    costs: CostMatrix | None
    shares: tuple[float, float] | None
    writer: Writer
    least: str | None
    most: str
    level: float | None = None
    min_rows: int | None = None
    row_costs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The columns of the levels of rows that have costs of their own; then there are no `costs`."""
    cluster: str | None = None
    """Where rows are not independent, the key that those have in common which are not."""

    def text(self) -> str:
        """The query: rows, their sums, and the formulas with their inputs; with a level, also the inputs of the bounds."""
        names = ("ec_log_loss", "ec_error") if "log_loss" in self.losses else ("ec_error",) if self.losses else ()
        values = {"ec_positive": f"CASE WHEN {self.positive} THEN 1 ELSE 0 END"}
        values |= {name: self.rows.kind.sums[name] for name in names}
        levels = self.rows.levels(values, self._columns_of_rows)
        keys = self.rows.key_names
        groups = f" GROUP BY {', '.join(keys)}" if keys else ""
        sizes = {"ec_n0": "ec_tn + ec_fp", "ec_n1": "ec_fn + ec_tp"}
        if self.clusters is None:
            levels["ec_sums"] = select(keys | self._sums, "ec_values") + groups
        else:
            levels |= self.clusters.levels(keys, self._sums)
        levels["ec_groups"] = _adding(self._cells, "ec_sums")
        levels["ec_sizes"] = _adding(sizes, "ec_groups")
        named = {quoted(name): source for name, source in zip(self.rows.keys, keys, strict=True)}
        if self.level is None:
            levels["ec_means"] = _adding(self._means, "ec_sizes")
            result = {quoted(name): self._other_columns.get(name) or self._metric(name) for name in self.columns}
            return with_levels(levels, select(named | result, "ec_means"))
        limits = dict(self._levels_of_limits("ec_sizes"))
        groups = f" GROUP BY {', '.join(self._kept)}" if self.metrics else ""
        last = select(named | self._limited, next(reversed(limits))) + groups
        # These engines would reevaluate named subexpressions at each use.
        return with_levels(levels | limits, last, limits if self.writer.can_materialize else ())

    @cached_property
    def metrics(self) -> list[LimitedMetric]:
        """The metrics with intervals, and where NEC has its kink."""
        limited = [name.removesuffix(_LOW) for name in self.columns if name.endswith(_LOW)]
        kink = [LimitedMetric(KINK)] if "nec" in limited else []
        by_row = bool(self.row_costs)
        return [*(LimitedMetric(x.removesuffix(AT_PRIOR), x.endswith(AT_PRIOR), by_row) for x in limited), *kink]

    @cached_property
    def clusters(self) -> ClusterSums | None:
        """Whether intervals are for clusters."""
        if self.cluster is None or not self.metrics:
            return None
        families = dict.fromkeys(metric.family for metric in self.metrics if metric.family != "constant")
        return ClusterSums(tuple(families), _DECISIONS, self.writer, self.least, self.most)

    @property
    def _columns_of_rows(self) -> Mapping[str, Mapping[str, str]]:
        """The columns that the levels of rows have beside score, label and weight."""
        if self.clusters is None or self.cluster is None:
            return self.row_costs
        later = ("ec_classes", "ec_usable", "ec_logs", "ec_values")
        clusters = {"ec_rows": self.cluster} | dict.fromkeys(later, "ec_cluster")
        return {name: {**self.row_costs.get(name, {}), "ec_cluster": sql} for name, sql in clusters.items()}

    @property
    def _slots(self) -> tuple[str, ...]:
        return SLOTS if self.row_costs else SLOTS[:1]

    @property
    def _sums_of_features(self) -> tuple[str, ...]:
        """The sums of w x of the features of rows: of each class two, or three if rows have costs."""
        return tuple(f"ec_x{ij}" for ij in (*_PLACES, *(_PLACES_OF_COSTS if self.row_costs else ())))

    @property
    def _squares(self) -> tuple[str, ...]:
        squares = [f"ec_{name}{i}" for i in (0, 1) for name in ("abcde" if self.row_costs else "abc")]
        if self.clusters is not None:
            squares += [name for name, pair in pair_sums(self._slots).items() if pair[0][0] != WEIGHT]
        return tuple(squares)

    @property
    def _kept(self) -> list[str]:
        """The columns of a group that all levels have."""
        cells = [f"ec_{cell}" for cell in CELLS if cell in self.columns]
        uncosted = ["ec_n_uncosted"] if self.row_costs else []
        return [*self.rows.key_names, *_COUNTS, *uncosted, "ec_prior", "ec_small", *cells]

    @property
    def _sums(self) -> dict[str, str]:
        """With a level also of squares of weights, and of these times losses and their squares."""
        rows = {cell: f"ec_class = {ij[0]} AND ec_positive = {ij[1]}" for ij, cell in _CELLS}
        sums = _COUNTS | {f"ec_sum_{cell}": self._sum(of, []) for cell, of in rows.items()}
        squares = {f"ec_sq_{cell}": self._sum(of, [], weights=2) for cell, of in rows.items()}
        if self.row_costs:
            sums["ec_n_uncosted"] = "COUNT(ec_uncosted)"
        for i in (0, 1):
            wrong = f"ec_class = {i} AND ec_positive = {1 - i}"
            for name, rows_of in {"cost": f"ec_class = {i}", "error": wrong}.items() if self.row_costs else ():
                sums[f"ec_sum_{name}_{i}"] = self._sum(rows_of, ["ec_cost"])
                for times in (1, 2):
                    squares[f"ec_sum_{name}{times}_{i}"] = self._sum(rows_of, ["ec_cost"] * times, weights=2)
            for loss in self.losses:
                of_loss, factors = f"ec_sum_{loss}", _FACTORS[loss]
                sums[f"{of_loss}_{i}"] = self._sum(f"ec_class = {i}", factors)
                for times in (1, 2):
                    squares[f"{of_loss}{times}_{i}"] = self._sum(f"ec_class = {i}", factors * times, weights=2)
            if "log_loss" in self.losses:
                infinite = f"ec_class = {i} AND ec_log_loss IS NULL AND ec_error > {self.writer.number(0.5)}"
                if self.rows.weight is not None:
                    infinite += f" AND {product(['ec_times'], self.least)} > 0"
                sums[f"ec_infinite_{i}"] = f"COUNT(CASE WHEN {infinite} THEN 1 END)"
        return sums if self.level is None else sums | squares

    def _sum(self, rows: str, factors: Sequence[str], weights: int = 1) -> str:
        """The sum of this power of weights times factors; that of squares is infinite to PostgreSQL where one is too large."""
        if self.rows.weight is not None:
            factors = ["ec_times"] * weights + [*factors]
        if not factors:
            return f"CAST(COUNT(CASE WHEN {rows} THEN 1 END) AS DOUBLE)"
        value = product(factors, self.least)
        if weights == 2 and self.least is not None:
            large = " OR ".join(f"ABS({name}) > {self.most}" for name in dict.fromkeys(factors))
            value = f"CASE WHEN {large} THEN {self.writer.infinity} ELSE {value} END"
        return f"COALESCE(SUM(CASE WHEN {rows} THEN {value} ELSE 0 END), 0)"

    @property
    def _cells(self) -> dict[str, str]:
        """The weights of decisions, NULL where a row is invalid; with a level also those of the classes, and their squares."""
        right = "ec_n_invalid = 0"
        if self.rows.weight is not None:
            right += f" AND {' + '.join(f'ec_sum_{cell}' for cell in CELLS)} < {self.most}"
        cells = {f"ec_{cell}": f"CASE WHEN {right} THEN ec_sum_{cell} END" for cell in CELLS}
        for i, (negative, positive) in enumerate(_DECISIONS if self.level is not None else ()):
            amount = f"ec_sum_{negative} + ec_sum_{positive}"
            cells[f"ec_all_{i}"] = f"CASE WHEN {amount} < {self.most} THEN {amount} END"
            cells[f"ec_squares_{i}"] = f"ec_sq_{negative} + ec_sq_{positive}"
        return cells

    @property
    def _means(self) -> dict[str, str]:
        formulas = MacroFormulas({})
        means = {
            "ec_p0": formulas.of("_share", {"n": "ec_n0", "rest": "ec_n1"}),
            "ec_p1": formulas.of("_share", {"n": "ec_n1", "rest": "ec_n0"}),
        }
        for ij, cell in _CELLS:
            means[f"ec_r{ij}"] = formulas.of("_ratio", {"x": f"ec_{cell}", "y": f"ec_n{ij[0]}"})
        for name in (f"{of}_{i}" for of in ("cost", "error") for i in (0, 1) if self.row_costs):
            x = {"x": f"ec_sum_{name}", "n": f"ec_n{name[-1]}"}
            means[f"ec_mean_{name}"] = portable(formulas.of("_finite_mean", x), self.writer)
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
    def _other_columns(self) -> dict[str, str]:
        """The columns that are no metrics."""
        cell_type = "BIGINT" if self.rows.weight is None else "DOUBLE"
        return {
            "n": "CAST(ec_n AS BIGINT)",
            "class_prior": "ec_p1",
            **{cell: self._decided(f"CAST(ec_{cell} AS {cell_type})") for cell in CELLS},
            "n_missing": "CAST(ec_n_missing AS BIGINT)",
            "n_invalid": "CAST(ec_n_invalid AS BIGINT)",
            "small": f"ec_n < {self.min_rows}",
        }

    def _decided(self, sql: str) -> str:
        """What is made of decisions, NULL where a row has no costs."""
        return f"CASE WHEN ec_n_uncosted = 0 THEN {sql} END" if self.row_costs else sql

    def _metric(self, name: str) -> str:
        prior, name = ("q", name.removesuffix(AT_PRIOR)) if name.endswith(AT_PRIOR) else ("p", name)
        priors = {f"p{i}": f"ec_{prior}{i}" for i in (0, 1)}
        cells = {name: f"ec_{name}" for name in (*CELLS, "n0", "n1")} | priors
        losses = {loss: {f"m{i}": f"ec_{loss}_{i}" for i in (0, 1)} | priors for loss in _FACTORS}
        errors = {f"{x}{i}": f"ec_mean_{of}_{i}" for x, of in (("a", "cost"), ("m", "error")) for i in (0, 1)} | priors
        formula = metric_formula(name, cells, losses, self.costs or errors, self.writer)
        return formula if name in SCORING_RULES else self._decided(formula)

    @property
    def _limited(self) -> dict[str, str]:
        columns = self._other_columns | {"class_prior": "ec_prior", "small": "ec_small = 1"}
        for i, metric in enumerate(self.metrics):
            only = f"CASE WHEN ec_metric = {i}"
            if metric.name == KINK:
                near = f"COUNT({only} AND ABS(ec_centre) < 2 * SQRT(ec_variance) THEN 1 END)"
                columns["nec_kinked"] = f"CASE WHEN {columns[f'nec{_LOW}']} IS NOT NULL THEN {near} = 1 END"
                continue
            name = metric.name + (AT_PRIOR if metric.at_prior else "")
            most = self.writer.number(highest(metric.name, 2, self.costs))
            high = (
                "ec_high"
                if "inf" in most
                else f"CASE WHEN ec_high > {most} AND ec_value <= {most} THEN {most} ELSE ec_high END"
            )
            # To DataFusion the largest of -inf is a number.
            for column, x in ((name, "ec_value"), (f"{name}{_LOW}", "ec_low"), (f"{name}{_HIGH}", high)):
                columns[column] = f"SUM({only} THEN 1 END * {x})"
        return {quoted(name): columns[name] for name in self.columns}

    # Levels of the limits.

    def _levels_of_limits(self, source: str) -> Iterator[tuple[str, str]]:
        """The SELECTs by their names, the first from `source`."""
        tables = {"ec_metrics": self._table_of_metrics, "ec_steps": self.table_of_steps} if self.metrics else {}
        yield from tables.items()
        metrics = (*self._kept, "ec_metric", "ec_scale", "ec_u")
        # What the variance of clusters is of beside squares.
        of_clusters = ["ec_pseudo", "ec_clusters", "ec_others", "ec_others_0", "ec_others_1"]
        of_clusters += [name for name, pair in pair_sums(()).items() if pair[0][0] == WEIGHT]
        squares = (*self._squares, *(of_clusters if self.clusters is not None else ()))
        groups = {"ec_slopes": (*metrics, *squares), "ec_estimates": metrics}
        for name, columns in self._columns_of_limits().items():
            if name in groups:
                kept = {column: column for column in groups[name]}
                yield name, select(kept | columns, source) + f" GROUP BY {', '.join(kept)}"
            else:
                yield name, _adding(columns, source)
            source = name
            if name == "ec_halves":
                source = " CROSS JOIN ".join((name, *tables))
            elif name == "ec_moments":
                # Where rows are too few, or losses all alike, there is the value alone.
                source += f" WHERE ec_step = {_VALUE} OR ec_known = 1"

    def _columns_of_limits(self) -> Levels:
        """The columns that each level adds to the one before."""
        families = {metric.family for metric in self.metrics}
        if not families:
            return self.of_groups
        assert self.level is not None
        values = {metric.name: self.value(metric.name) for metric in self.metrics}
        return {
            **self.of_groups,
            **_levels_by("family", [name for name in FAMILIES if name in families], self.moments_of),
            **self.changed,
            "ec_values_of_metrics": {"ec_at_step": case_of("name", values)},
            **self.slopes,
            **self.spread,
            **t_levels(self.level, self.writer),
            **_levels_by("scale", dict.fromkeys(metric.scale for metric in self.metrics), self.ends_of),
        }

    def _of(self, name: str, *, guarded: bool = False, **arguments: str | Mapping[str, str]) -> str:
        return portable(MacroFormulas({}).of(name, arguments), self.writer, guarded=guarded)

    @property
    def of_groups(self) -> Levels:
        """Levels of groups: effective sizes; half a row more of each decision; whether classes have rows, and losses that differ."""
        rows = {f"ec_rows_{i}": self._of("_equal_rows", w=f"ec_all_{i}", w2=f"ec_squares_{i}") for i in (0, 1)}
        means = {
            f"ec_mean_cost_{i}": f"CASE WHEN ec_n{i} > 0 THEN ec_sum_cost_{i} / ec_n{i} ELSE 0 END"
            for i in (0, 1)
            if self.row_costs
        }
        halves = {
            f"ec_half_{i}": self._of("_half_a_row", a=f"ec_sq_{a}", c=f"ec_sq_{c}", x0=f"ec_{a}", x1=f"ec_{c}")
            for i, (a, c) in enumerate(_DECISIONS)
        }
        of_clusters = {}
        if self.clusters is not None:
            of_clusters = self.clusters.effective_clusters()
            one, zero = self.writer.number(1.0), self.writer.number(0.0)
            # A row of weight 1, of as many as there are clusters.
            halves = {f"ec_half_{i}": f"CASE WHEN ec_n{i} > 0 THEN {one} ELSE {zero} END" for i in (0, 1)}
            halves["ec_fewer"] = self.clusters.rescaling()
        enough, several = (
            " AND ".join(of)
            for of in zip(*((f"{x} >= {FEW_OF_A_CLASS}", self._of("_several", rows_=x)) for x in rows), strict=True)
        )
        for loss in dict.fromkeys(metric.family for metric in self.metrics if metric.name in SCORING_RULES):
            differ = " OR ".join(
                self._of("_differ", a=f"ec_squares_{i}", b=f"ec_sum_{loss}1_{i}", c=f"ec_sum_{loss}2_{i}")
                for i in (0, 1)
            )
            halves[f"ec_{loss}_known"] = f"CASE WHEN {several} AND ({differ}) THEN 1 ELSE 0 END"
        return {
            "ec_effective": {**rows, **means, **of_clusters, "ec_prior": self._of("_share", n="ec_n1", rest="ec_n0")},
            "ec_halves": {
                "ec_some": "CASE WHEN ec_rows_0 IS NOT NULL AND ec_rows_1 IS NOT NULL THEN 1 ELSE 0 END",
                "ec_small": f"CASE WHEN ec_n >= {self.min_rows or 0} AND {enough} THEN 0 ELSE 1 END",
                **halves,
            },
        }

    @property
    def _table_of_metrics(self) -> str:
        rows = [
            (i, f"'{of.name}'", f"'{of.family}'", f"'{of.scale}'", int(of.at_prior), int(of.family == "decisions"))
            for i, of in enumerate(self.metrics)
        ]
        return _table(["ec_metric", "ec_name", "ec_family", "ec_scale", "ec_at_prior", "ec_u"], rows)

    @property
    def table_of_steps(self) -> str:
        """The steps of the finite differences, and their shares."""
        number = self.writer.number
        same = [(_VALUE, number(0.0), number(0.0), 0), (_CENTRE, number(0.0), number(0.0), 1)]
        n = len(self._sums_of_features)
        steps = [(i, number(float(times)), number(share), 1) for i in range(1, n + 1) for times, share in STENCIL]
        rows = [*same, *steps]
        if self.clusters is not None:
            # The slopes of the metric itself too.
            rows += [(*row[:3], 0) for row in rows[1:]]
        return _table(["ec_step", "ec_change", "ec_share", "ec_pseudo"], rows)

    @property
    def changed(self) -> Levels:
        """Levels from the sums of a metric to rates and priors in each step."""
        levels = {}
        if self.least is not None:
            sums = {name: self._within(name, _BOUNDS_OF_SUMS) for name in self._sums_of_features}
            levels["ec_bounded"] = sums | {name: self._within(name, _BOUNDS_OF_SQUARES) for name in self._squares}
        levels["ec_changed"] = {
            x.replace("x", "y"): self._of("_changed", x=x, moved=f"(ec_step = {i})", times="ec_change")
            for i, x in enumerate(self._sums_of_features, 1)
        }
        # A loss may be infinite, of which 0 times is no number.
        levels["ec_class_sizes"] = {
            f"ec_m{i}": f"CASE WHEN ec_u = 1 THEN ec_y{i}0 + ec_y{i}1 ELSE ec_y{i}0 END" for i in (0, 1)
        }
        rates = {
            x.replace("x", "r"): self._of("_ratio", x=x.replace("x", "y"), y=f"ec_m{x[4]}")
            for x in self._sums_of_features
        }
        for i in (0, 1):
            share = rates[f"ec_p{i}"] = self._of("_share", n=f"ec_m{i}", rest=f"ec_m{1 - i}")
            if self.shares is not None:
                # A group without rows has no value at any prior.
                stated = self.writer.number(self.shares[i])
                rates[f"ec_p{i}"] = f"CASE WHEN ec_at_prior = 0 THEN {share} WHEN ec_m0 + ec_m1 > 0 THEN {stated} END"
        return {**levels, "ec_rates": rates}

    @property
    def slopes(self) -> Levels:
        """Levels from the values of all steps to slopes; a value that is no number in some step has none."""
        bounds = _BOUNDS_OF_VALUES if self.least is not None else (0.0, _LARGEST)
        least, most = map(self.writer.number, bounds)
        small = f"WHEN ABS(ec_at_step) < {least} THEN 0 " if self.least is not None else ""
        sums = {
            "ec_value": f"SUM(CASE WHEN ec_step = {_VALUE} THEN ec_at_step END)",
            "ec_centre": f"SUM(CASE WHEN ec_step = {_CENTRE} THEN ec_number END)",
            "ec_numbers_known": f"COUNT(CASE WHEN ec_step >= {_CENTRE} THEN ec_number END)",
        }
        gradients = {}
        n = 1 + len(self._sums_of_features) * len(STENCIL)
        for i, of in enumerate(self._sums_of_features, 1):
            ij = of[4:]
            x = f"ec_s{ij}"
            sums[x] = f"SUM(CASE WHEN ec_step = {_CENTRE} THEN {of} END)"
            sums[f"ec_d{ij}"] = f"SUM(CASE WHEN ec_step = {i} THEN ec_share * ec_number END)"
            slope = f"ec_d{ij} / ({self._of('_step', x=x)})"
            gradients[f"ec_g{ij}"] = f"CASE WHEN {x} = 0 THEN 0 WHEN ec_numbers_known = {n} THEN {slope} END"
        return {
            "ec_numbers": {"ec_number": f"CASE {small}WHEN ABS(ec_at_step) <= {most} THEN ec_at_step END"},
            "ec_slopes": sums,
            "ec_gradients": gradients,
        }

    def moments_of(self, family: str) -> Levels:
        """The level with the sums of the metrics of a family, of decisions with half a row more of each but for the value of the report."""
        moments = dict.fromkeys((*self._sums_of_features, *self._squares), self.writer.number(0.0))
        for i in (0, 1):
            moments |= self._moments_of_class(family, i)
        if self.clusters is not None:
            features = FEATURES.get("costs" if family == "constant" and self.row_costs else family, ())
            moments |= self._products_of(dict(zip(SLOTS, features, strict=False)))
        raw = {_raw(name): sql for name, sql in moments.items()} if self.least is not None else moments
        known = "ec_some" if family in ("decisions", "costs", "constant") else f"ec_{family}_known"
        return {"ec_moments": {**raw, "ec_known": known}}

    def _moments_of_class(self, family: str, i: int) -> dict[str, str]:
        """The sums of w x of a class, and from ec_a on of w^2 and its products with x and x^2."""
        # Half a row may be infinite, of which 0 times is no number.
        half = f"(CASE WHEN ec_pseudo = 1 THEN ec_half_{i} ELSE 0 END)"
        # Without clusters the value has no variance.
        half_of_squares = f"ec_half_{i}" if self.clusters is None else half
        if family == "decisions":
            moments = {}
            for j, cell in enumerate(_DECISIONS[i]):
                square = self._rescaled(f"ec_sq_{cell}", of_class=i)
                moments[f"ec_x{i}{j}"] = self._decided(self._of("_and_half", x=self._rescaled(f"ec_{cell}"), w=half))
                moments[f"ec_{'ac'[j]}{i}"] = self._of("_and_half_square", a=square, w=half_of_squares)
            return moments
        if family == "costs":
            # A row more of the mean cost, which is half an error.
            mean, whole = f"ec_mean_cost_{i}", f"{half_of_squares} * {half_of_squares}"
            squares = ("squares", "sum_cost1", "sum_cost2", "sum_error1", "sum_error2")
            added = [whole, f"{mean} * {whole}", f"{mean} * {mean} * {whole}"]
            added += [f"{of_cost} / 2" for of_cost in added[1:]]
            return {
                f"ec_x{i}0": self._decided(f"{self._rescaled(f'ec_n{i}')} + {half}"),
                f"ec_x{i}1": f"{self._rescaled(f'ec_sum_cost_{i}')} + {mean} * {half}",
                f"ec_x{i}2": f"{self._rescaled(f'ec_sum_error_{i}')} + {mean} * {half} / 2",
            } | {
                f"ec_{letter}{i}": f"{self._rescaled(f'ec_{square}_{i}', of_class=i)} + {of_row}"
                for letter, square, of_row in zip("abcde", squares, added, strict=True)
            }
        sizes = {f"ec_x{i}0": f"ec_n{i}", f"ec_a{i}": f"ec_squares_{i}"}
        if family == "constant" and not self.row_costs:
            return sizes
        value = "cost" if family == "constant" else family
        total = f"ec_sum_{value}_{i}"
        if family == "log_loss":
            total = f"CASE WHEN ec_infinite_{i} > 0 THEN {self.writer.infinity} ELSE {total} END"
        return {**sizes, f"ec_x{i}1": total, f"ec_b{i}": f"ec_sum_{value}1_{i}", f"ec_c{i}": f"ec_sum_{value}2_{i}"}

    def _products_of(self, features: Mapping[str, str]) -> dict[str, str]:
        """The sums of products over clusters of features, by the names that they have in any family."""
        sums = {}
        for name, pair in pair_sums(features).items():
            if pair[0][0] != WEIGHT:
                first, second = ((features.get(slot, slot), i) for slot, i in pair)
                sums[name] = sum_name((first, second), name.removeprefix("ec_")[0])
        return sums

    def _rescaled(self, x: str, of_class: int | None = None) -> str:
        """A sum of a group, of clusters with half a row more that of as many rows as there are clusters; of a class if it is of squares."""
        if self.clusters is None:
            return x
        mean = (
            "" if of_class is None else f" * {self._of('_ratio', x=f'ec_all_{of_class}', y=f'ec_squares_{of_class}')}"
        )
        return f"(CASE WHEN ec_pseudo = 1 THEN {x} * ec_fewer{mean} ELSE {x} END)"

    def _within(self, name: str, bounds: tuple[float, float]) -> str:
        """SQL that is 0 below the bounds and NULL above them, to PostgreSQL; but not of the value of the report."""
        x, (least, most) = _raw(name), (self.writer.number(bound) for bound in bounds)
        return f"CASE WHEN ec_step = {_VALUE} OR ABS({x}) >= {least} AND ABS({x}) <= {most} THEN {x} WHEN ABS({x}) < {least} THEN 0 END"

    def value(self, name: str) -> str:
        """A metric, of changed sums."""
        priors = {"p0": "ec_p0", "p1": "ec_p1"}
        means = {"a0": "ec_r01", "a1": "ec_r11", "m0": "ec_r02", "m1": "ec_r12"}
        # `metric_formula` writes numbers in the dialect.
        errors = {mean: f"CASE WHEN {x} <= {_LARGEST!r} THEN {x} END" for mean, x in means.items()} | priors
        if name == KINK:
            constants = errors if self.costs is None else _constant_costs(self.costs) | priors
            return self._of("_constants_apart", e=constants)
        cells = {"n0": "ec_m0", "n1": "ec_m1", **priors, **{cell: f"ec_y{ij}" for ij, cell in _CELLS}}
        losses = {"m0": "ec_r01", "m1": "ec_r11", **priors}
        return metric_formula(name, cells, {"log_loss": losses, "brier": losses}, self.costs or errors, self.writer)

    @property
    def spread(self) -> Levels:
        """Levels from slopes to the variance and its degrees of freedom."""
        influences, rows, variances = (dict[str, str]() for _ in range(3))
        lost: list[dict[str, str]] = []
        for i in (0, 1):
            sums = {name: f"ec_{name}{i}" for name in "abc"} | {f"x{j}": f"ec_s{i}{j}" for j in (0, 1)}
            slopes = {f"g{j}": f"ec_g{i}{j}" for j in (0, 1)}
            names = {}
            formulas = MacroFormulas({})
            of_class = formulas.parts_of("_influence", slopes | sums | {"u": "ec_u"})
            if self.row_costs:
                third = {"g2": f"ec_g{i}2", "x2": f"ec_s{i}2", "d": f"ec_d{i}", "e": f"ec_e{i}"}
                of_class = formulas.parts_of("_influence_of_costs", {"i": of_class, **slopes, **third})
            for part, sql in of_class.items():
                names[part] = f"ec_i_{part}_{i}"
                influences[names[part]] = portable(sql, self.writer)
            rows |= {f"ec_mean_{i}": self._of("_mean_influence", i=names), f"ec_k_{i}": self._of("_rows_of", i=names)}
            variances[f"ec_within_{i}"] = self._of("_within_class", i=names, rows_=f"ec_k_{i}", mean=f"ec_mean_{i}")
            variances[f"ec_between_{i}"] = self._of("_between_classes", i=names, mean=f"ec_mean_{i}")
            lost.append({"within": f"ec_part_{i}", "rows": f"ec_k_{i}"})
        least = f"{self.writer.number(_LEAST_PART)} * ec_variance"
        terms = ["ec_within_0", "ec_within_1", "ec_between_0 + ec_between_1"]
        of_variance = {f"ec_part_{i}": f"CASE WHEN {x} > {least} THEN {x} ELSE 0 END" for i, x in enumerate(terms)}
        rows_, variance = "ec_k_0 + ec_k_1", "ec_variance"
        df = self._of("_df_of_rows", s0=lost[0], s1=lost[1], between_="ec_part_2", rows_=rows_, variance=variance)
        one, most = self.writer.number(1.0), self.writer.number(1e30)
        return {
            "ec_influences": influences,
            "ec_means_of_class": rows,
            "ec_parts": variances,
            "ec_variances": {"ec_variance": "ec_within_0 + ec_between_0 + ec_within_1 + ec_between_1"},
            "ec_parts_of_variance": of_variance,
            "ec_freedom": {"ec_df": df},
            **self._chosen_spread,
            "ec_degrees": {"ec_nu": f"CASE WHEN ec_df > 1 AND ec_df < {most} THEN ec_df WHEN ec_df >= {most} AND ec_df <= {self.writer.number(_LARGEST)} THEN {most} ELSE {one} END"},
        }  # fmt: skip

    @property
    def _chosen_spread(self) -> Levels:
        """Levels from the spread of rows to that of clusters, and where all clusters are alike, a rate of 0 or 1, of as many rows."""
        if self.clusters is None:
            return {}
        # From the sums as they are, and from those with half a row more of each decision.
        names = [("ec_value", "ec_variance_of_clusters", "ec_df_of_clusters"), ("ec_centre", "ec_variance", "ec_df")]
        estimates = {
            f"{name}_{i}": f"SUM(CASE WHEN ec_pseudo = {i} THEN {name} END)" for i in (0, 1) for name in names[i]
        }
        # A class whose rows all have one decision has slopes only with half a row more of each. Equal rates are no stated prior.
        fixed = [str(i) for i, of in enumerate(self.metrics) if of.at_prior or not is_moved_by_prior(of.name)]
        is_fixed = f"ec_metric IN ({', '.join(fixed) or -1})"
        estimates["ec_on_one_cluster"] = f"MAX(CASE WHEN {is_fixed} THEN ec_fixed ELSE 0 END)"
        least = f"{self.writer.number(1e-9)} * ec_value_0"
        alike = f"ec_variance_of_clusters_0 <= {least} * {least}"
        scales = dict.fromkeys(metric.scale for metric in self.metrics)
        at_end = case_of("scale", {of: self._of("_is_at_end", scale=f"'{of}'", x="ec_value_0") for of in scales})
        extreme = f"ec_on_one_cluster = 0 AND {self._is_of_decisions} AND ec_df_of_clusters_0 IS NOT NULL AND (ec_alike = 1 OR {at_end})"
        return {
            **self.clusters.spread(self._slots),
            "ec_estimates": estimates,
            "ec_differing": {"ec_alike": f"CASE WHEN {alike} THEN 1 ELSE 0 END"},
            "ec_ends_of_scales": {"ec_extreme": f"CASE WHEN {extreme} THEN 1 ELSE 0 END"},
            "ec_chosen": {
                "ec_value": "ec_value_0",
                "ec_centre": "CASE WHEN ec_extreme = 1 THEN ec_centre_1 ELSE ec_value_0 END",
                "ec_variance": f"CASE WHEN ec_extreme = 1 THEN ec_variance_1 WHEN ec_on_one_cluster = 0 AND (ec_alike = 0 OR {self._is_of_decisions}) THEN ec_variance_of_clusters_0 END",
                "ec_df": "CASE WHEN ec_extreme = 1 THEN ec_df_1 ELSE ec_df_of_clusters_0 END",
            },
        }  # fmt: skip

    @property
    def _is_of_decisions(self) -> str:
        """Whether the metric of a row of the query is made of decisions."""
        of_costs = [str(i) for i, metric in enumerate(self.metrics) if metric.family == "costs"]
        return f"(ec_u = 1 OR ec_metric IN ({', '.join(of_costs)}))" if of_costs else "ec_u = 1"

    def ends_of(self, scale: str) -> Levels:
        """Levels to the bounds on a scale, which are around the middle and extended to contain the value; null if either is."""

        def of(name: str, *, guarded: bool = False, **arguments: str) -> str:
            return self._of(name, scale=f"'{scale}'", guarded=guarded, **arguments)

        largest = self.writer.number(_LARGEST)
        # ClickHouse evaluates what is named in later parts of AND and CASE alone at each use: so ends are named outside of them too.
        finite = (f"ABS({x}) <= {largest}" for x in ("ec_high_z - ec_low_z", "ec_high_end", "ec_value"))
        skew = of("_skew", x="ec_centre", half="ec_half")
        # Where the sums of a row of the query have half a row more of each decision.
        is_skewed = self._is_of_decisions if self.clusters is None else "ec_extreme = 1"
        above = of("_skew_above", skew="ec_skew")
        return {
            "ec_widths": {
                "ec_at": of("_forward", x="ec_centre", guarded=True),
                "ec_half": of("_half_width_of", t="ec_t", variance="ec_variance", centre="ec_centre"),
            },
            "ec_skews": {"ec_skew": f"CASE WHEN {is_skewed} THEN {skew} ELSE 0 END"},
            "ec_far": {
                "ec_low_z": f"ec_at - ec_half - {of('_further', skew='ec_skew', t='ec_t')}",
                "ec_high_z": f"ec_at + ec_half + {of('_further', skew=f'({above})', t='ec_t')}",
            },
            "ec_ends": {f"ec_{end}_end": of("_inverse", z=f"ec_{end}_z", guarded=True) for end in ("low", "high")},
            "ec_complete": {
                "ec_shown": f"CASE WHEN {' AND '.join(finite)} AND ({self._of('_has_square', x='ec_centre')}) THEN 1 END"
            },
            "ec_bounds": {
                "ec_low": "ec_shown * LEAST(ec_low_end, ec_value)",
                "ec_high": "ec_shown * GREATEST(ec_high_end, ec_value)",
            },
        }


def _adding(columns: dict[str, str], source: str) -> str:
    return select({"*": "*"} | columns, source)


def _raw(name: str) -> str:
    return name.replace("ec_", "ec_raw_")


def _levels_by(what: str, names: Iterable[str], levels_of: Callable[[str], Levels]) -> Levels:
    """The levels of the rows of all families, or scales."""
    of_each = {name: levels_of(name) for name in names}
    return {
        level: {column: case_of(what, {name: of[level][column] for name, of in of_each.items()}) for column in columns}
        for level, columns in next(iter(of_each.values())).items()
    }


def case_of(what: str, texts: Mapping[str, str]) -> str:
    """The text of the row's family, scale or name; those that are equal to the last one are its ELSE."""
    last = list(texts.values())[-1]
    cases = " ".join(f"WHEN ec_{what} = '{name}' THEN {sql}" for name, sql in texts.items() if sql != last)
    return f"CASE {cases} ELSE {last} END" if cases else last


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    first, *others = rows
    named = ", ".join(f"{value} AS {name}" for value, name in zip(first, names, strict=True))
    return " UNION ALL ".join([f"SELECT {named}", *(f"SELECT {', '.join(map(str, row))}" for row in others)])


def metric_formula(
    name: str,
    cells: Mapping[str, str],
    losses: Mapping[str, Mapping[str, str]],
    costs: CostMatrix | Mapping[str, str],
    writer: Writer,
) -> str:
    """The value of a metric of columns: cells, sizes and priors, and of each loss the means and priors. Rates are `ec_rij`.

    `costs` are constants, or the means of costs of rows, and of what their errors cost, and priors.
    """
    formulas = MacroFormulas(
        {
            **{f"_r{ij}": f"ec_r{ij}" for ij, _ in _CELLS},
            # Costs are constants.
            "_column_type": "NULL",
            "_binary_cells": cells,
            "_cells_of_costs": cells,
            "_log_losses": losses.get("log_loss", {}),
            "_briers": losses.get("brier", {}),
            **({} if isinstance(costs, CostMatrix) else {"_error_costs": costs}),
        }
    )
    # Without a threshold all decisions are those of Bayes. The macro of any decision is no formula of cells.
    macro = {"bayes_risk": "expected_cost", "decision_share": "_value_of_decision_share"}.get(name, name)
    constants = _constant_costs(costs) if isinstance(costs, CostMatrix) else costs
    arguments: dict[str, str | Mapping[str, str]] = {"cost_fn": constants["a1"], "cost_fp": constants["a0"], "c": cells}
    return numbers_of(formulas.of(macro, arguments), writer)


def _constant_costs(costs: CostMatrix) -> dict[str, str]:
    (_, fp), (fn, _) = costs.values
    return {"a0": repr(fp), "a1": repr(fn)}


# The t quantile at a constant level, by degrees of freedom in a column.

_DEGREE, _OF_EACH_LEVEL = 22, 8


def t_powers(level: float) -> tuple[float, list[float]]:
    """A shift, and coefficients of powers of w, highest first.

    With n degrees of freedom, and w = 2 (1 + shift) / (n + shift) - 1, their sum is z(n) / z(infinity), where z is the nearly normal
    variable of t (see `polars_ec.inference.confidence`): it is so smooth that a polynomial through 23 of its values has 11 digits.
    """
    p = 0.5 + level / 2
    normal = float(normal_quantile(p))
    shift = 0.75 + normal * normal / 12
    w = np.polynomial.chebyshev.chebpts1(_DEGREE + 1)
    n = 2 * (1 + shift) / (w + 1) - shift
    z = np.sqrt(n * np.log1p(t_quantile(p, n) ** 2 / n)) / normal
    chebyshev = np.polynomial.chebyshev.chebfit(w, z, _DEGREE)
    return shift, [round(float(x), 15) for x in np.polynomial.chebyshev.cheb2poly(chebyshev)[::-1]]


def t_levels(level: float, writer: Writer) -> Levels:
    """The columns that each level adds, of which the last one is `ec_t`: the quantile at 0.5 + level / 2, with `ec_nu` degrees of freedom."""
    normal = float(normal_quantile(0.5 + level / 2))
    if normal == 0 or math.isinf(normal):
        # t is what the normal quantile is, with however many degrees of freedom.
        return {"ec_t_end": {"ec_t": writer.infinity if normal else writer.number(0.0)}}
    return t_levels_of(normal, *t_powers(level), writer)


def t_levels_of(normal: float, shift: float, powers: Sequence[float], writer: Writer) -> Levels:
    """The levels of `t_levels`, from the normal quantile and what `t_powers` returns."""
    of_degrees = f"{writer.number(2 + 2 * shift)} / (ec_nu + {writer.number(shift)}) - 1"
    levels, text = {"ec_t_start": {"ec_w": of_degrees}}, writer.number(powers[0])
    for i, power in enumerate(powers[1:], 1):
        # Parsers call themselves for each parenthesis.
        if i % _OF_EACH_LEVEL == 0:
            levels[f"ec_powers_{i}"], text = {f"ec_z_{i}": text}, f"ec_z_{i}"
        text = f"({text}) * ec_w + {writer.number(power)}"
    levels["ec_powers"] = {"ec_z": f"{writer.number(normal)} * ({text})"}
    return {
        **levels,
        "ec_t_end": {"ec_t": portable(MacroFormulas({}).of("_t_of", {"z": "ec_z", "n": "ec_nu"}), writer)},
    }
