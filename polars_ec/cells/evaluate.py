"""Metrics from the cells of a sketch: sums for the formulas, and ordered cells for the ranking metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.cells.grid import posterior_edges
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.exceptions import SketchError
from polars_ec.formulas import calibration_error as _ece
from polars_ec.formulas import decisions as formulas
from polars_ec.formulas import ranking as _ranking
from polars_ec.formulas.decisions import Sums
from polars_ec.formulas.ranking import GROUP, RankingArguments
from polars_ec.metrics.calibration_error import EceBins
from polars_ec.metrics.decisions import check_normalisable
from polars_ec.metrics.ranking import checked_method, checked_sensitivity
from polars_ec.options import check_keywords, did_you_mean, parse_beta, parse_number, parse_options
from polars_ec.priors import PriorSettings, parse_prior

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from polars_ec.cells.grid import Grid
    from polars_ec.options import Options

# What names of columns begin with while metrics are computed.
_OWN = "__ec_"
_PRIOR = f"{_OWN}prior"
_SHARED = ("costs", "cost_fn", "cost_fp", "threshold", "prior")
KEYWORDS = (*_SHARED, "beta", "p_t", "sensitivity", "method", "bins", "norm")
CELLS = ("tn", "fp", "fn", "tp")


@dataclass(frozen=True)
class _Arguments:
    """Keywords of one call, checked."""

    settings: Options
    costs: CostMatrix
    thresholds: Mapping[str, float]
    beta: float = 1.0
    p_t: float | None = None
    ece: EceBins = field(default_factory=lambda: EceBins.of(15, 1))
    ranking: RankingArguments = field(default_factory=lambda: RankingArguments(CostMatrix.binary()))


class _GroupSums(Sums):
    """Sums of a group, from columns; `positive` and `negative` are those of each class on either side of the threshold."""

    def __init__(
        self,
        prior: list[pl.Expr] | None,
        positive: Sequence[pl.Expr] | None = None,
        negative: Sequence[pl.Expr] | None = None,
    ) -> None:
        super().__init__(2, prior, 2)
        self._by_decision = None if positive is None or negative is None else (negative, positive)

    def count(self, i: int) -> pl.Expr:
        if self._by_decision is None:
            return pl.col(f"__ec_count_{i}")
        # Of the very sums that its cells are, so that their shares are at most 1.
        return self._by_decision[0][i] + self._by_decision[1][i]

    @property
    def size(self) -> pl.Expr:
        return self.count(0) + self.count(1)

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        assert self._by_decision is not None
        return reduce(add, [self._by_decision[j][i] for j in sorted(decided)])

    def total(self, i: int, name: str) -> pl.Expr:
        return pl.col(f"__ec_{name}_{i}")


_Formula = Callable[[_GroupSums, _Arguments], pl.Expr]

_DECISIONS: dict[str, _Formula] = {
    "tn": lambda sums, _: sums.cell(0, [0]),
    "fp": lambda sums, _: sums.cell(0, [1]),
    "fn": lambda sums, _: sums.cell(1, [0]),
    "tp": lambda sums, _: sums.cell(1, [1]),
    "expected_cost": lambda sums, a: formulas.expected_cost(sums, a.costs),
    "bayes_risk": lambda sums, a: formulas.expected_cost(sums, a.costs),
    "nec": lambda sums, a: formulas.nec(sums, a.costs),
    "dcf": lambda sums, a: formulas.nec(sums, a.costs),
    "error_rate": lambda sums, _: formulas.error_rate(sums),
    "accuracy": lambda sums, _: formulas.accuracy(sums),
    "balanced_error_rate": lambda sums, _: formulas.balanced_error_rate(sums),
    "balanced_accuracy": lambda sums, _: formulas.balanced_accuracy(sums),
    "precision": lambda sums, _: formulas.precision(sums),
    "recall": lambda sums, _: sums.rate(1, [1]),
    "specificity": lambda sums, _: sums.rate(0, [0]),
    "fpr": lambda sums, _: sums.rate(0, [1]),
    "fnr": lambda sums, _: sums.rate(1, [0]),
    "fbeta": lambda sums, a: formulas.fbeta(sums, a.beta),
    "f1": lambda sums, _: formulas.fbeta(sums, 1.0),
    "mcc": lambda sums, _: formulas.mcc(sums),
    "lr_plus": lambda sums, _: formulas.likelihood_ratio(sums, 1),
    "lr_minus": lambda sums, _: formulas.likelihood_ratio(sums, 0),
    "net_benefit": lambda sums, a: formulas.net_benefit(sums, _stated_p_t(a)),
    "precision_gain": lambda sums, _: formulas.precision_gain(sums),
    "recall_gain": lambda sums, _: formulas.recall_gain(sums),
}


_Normaliser = Callable[[Sums], pl.Expr]
# Of each scoring rule the loss that is summed, and what it is divided by.
_LOSSES: dict[str, tuple[str, _Normaliser | None]] = {
    "cross_entropy": ("log_loss", None),
    "nce": ("log_loss", formulas.entropy),
    "brier": ("brier", None),
    "nbs": ("brier", formulas.prior_brier),
}
_BATTERY = ("nec", "nce", "nbs", "precision", "f1", "recall", "auc_roc")
_BATTERY_OF_RANKS = ("auc_roc", "average_precision", "eer", "min_cllr")
DECISION_METRICS = tuple(_DECISIONS)
SCORING_RULES = tuple(_LOSSES)
METRICS = (*_DECISIONS, "confusion", *_LOSSES, "ece", "cllr", *_ranking.RANKING_METRICS)


def bayes_threshold(costs: CostMatrix, score_type: str, prior: Any, classes: ClassNames) -> float:
    """Above which score deciding 1 is cheaper, on the scale of the score."""
    if score_type == "posterior":
        return costs.bayes_threshold()
    if score_type == "log_odds":
        return costs.bayes_log_odds()
    if score_type == "raw":
        raise ValueError("raw scores have no Bayes threshold: pass threshold=, on their own scale")
    settings = parse_options({"prior": prior})
    if not settings.prior.stated or settings.prior.expression is not None:
        raise ValueError("the Bayes threshold of LLRs moves with the prior: pass prior= a number, or threshold=")
    shares = settings.prior.per_row(classes, None)
    assert shares is not None
    p0, p1 = pl.select(a=shares[0], b=shares[1]).row(0)
    if not 0 < p1 < 1:
        raise ValueError(f"prior={prior!r} leaves one class, and so no threshold for LLRs")
    return costs.bayes_log_odds() - (math.log(p1) - math.log(p0))


def two_by_two(settings: Options) -> CostMatrix:
    """The costs, which a sketch takes for two decisions only; ValueError for others."""
    costs = settings.costs(2)
    if (costs.n_classes, costs.n_decisions) != (2, 2):
        raise ValueError(
            f"costs= is {costs.n_classes} x {costs.n_decisions}, and a sketch decides between two: evaluate it on the rows"
        )
    return costs


def evaluate(
    frame: pl.DataFrame,
    keys: list[str],
    grid: Grid,
    weighted: bool,
    metrics: Sequence[str],
    keywords: Mapping[str, Any],
    *,
    own_threshold: float | None = None,
    llr_prior: Any = None,
) -> pl.DataFrame:
    """What `Sketch.evaluate` gives.

    `own_threshold` is the sketch's, for decisions that neither a threshold nor costs were stated for. `llr_prior` makes
    posteriors of LLRs, whatever weighs the classes; default: `prior`.
    """
    names = list(metrics) or list(_battery(grid, keywords))
    made_at = keywords.get("prior") if llr_prior is None else llr_prior
    _check_metrics(names, grid, made_at)
    arguments = _parse(names, grid, keywords, own_threshold)
    numbered, table = _tabulate(frame, keys, grid, arguments)
    if grid.score_type == "llr" and any(name in _LOSSES for name in names):
        table = _join_llr_losses(table, numbered, keys, grid, parse_prior(made_at))
    ranked = None
    if any(name in _ranking.RANKING_METRICS for name in names):
        cells = ordered_cells(numbered, grid, weighted)
        ranked = _ranking.prepare(cells, _ranking_prior(table, arguments))
    columns: dict[str, pl.Expr] = {}
    for name in names:
        if name in _ranking.RANKING_METRICS:
            assert ranked is not None
            values = _ranking.evaluate(ranked, name, arguments.ranking)
            named = {c: name if c == "value" else f"{name}_{c}" for c in values.columns if c != GROUP}
            table = table.join(values.rename(named), on=GROUP, how="left", maintain_order="left")
            columns |= {column: pl.col(column) for column in named.values()}
        elif name == "ece":
            table = _join_ece(table, numbered, arguments, grid)
            columns |= {c: pl.col(c) for c in ("ece", "ece_error")}
        else:
            columns |= _formula_columns(name, arguments, grid, weighted)
    # Weights may add up to more than a float holds.
    right = (pl.col("n_invalid") == 0) & _GroupSums(None).size.is_finite()
    guarded = {
        name: pl.when(right).then(column) for name, column in {"class_prior": pl.col("class_prior"), **columns}.items()
    }
    check_keys(keys, guarded)
    return table.select(*keys, "n", "n_missing", "n_invalid", **guarded)


def _battery(grid: Grid, keywords: Mapping[str, Any]) -> Sequence[str]:
    if grid.score_type == "raw" or (grid.score_type == "llr" and keywords.get("prior") is None):
        decided = ("precision", "f1", "recall", *CELLS) if keywords.get("threshold") is not None else ()
        return (*decided, *_BATTERY_OF_RANKS)
    return (*CELLS, *_BATTERY)


def _check_metrics(names: Sequence[str], grid: Grid, llr_prior: Any) -> None:
    for name in names:
        if name == "epsr":
            raise SketchError(
                "a sketch holds the losses of epsr(1, 1) and epsr(2, 2) only: ask for cross_entropy or brier"
            )
        if name not in METRICS:
            hint = did_you_mean(str(name), METRICS)
            raise SketchError(f"{name!r} is no metric of a sketch: {hint}It has {', '.join(METRICS)}")
        if (name in _LOSSES or name == "ece") and grid.score_type == "raw":
            raise SketchError(f"{name} is of posteriors, and the sketch is of raw scores: min_cllr judges their order")
        if name == "ece" and grid.score_type == "llr":
            raise SketchError(
                "ece is of posteriors, and the sketch is of llr scores: sketch ec.posterior(score, prior=...)"
            )
        if name in _LOSSES and grid.score_type == "llr" and llr_prior is None:
            raise SketchError(
                f"{name} is of posteriors, and the sketch is of llr scores: pass prior=, which makes posteriors of them, or "
                "take cllr, which needs no prior"
            )
        if name in ("cllr", "dcf") and grid.score_type != "llr":
            raise SketchError(
                f"{name} is of LLRs, and the sketch is of {grid.score_type} scores: sketch ec.llr(score, prior)"
            )


def _parse(
    names: Sequence[str], grid: Grid, keywords: Mapping[str, Any], own_threshold: float | None = None
) -> _Arguments:
    check_keywords("evaluate", keywords, KEYWORDS)
    settings = parse_options({name: value for name, value in keywords.items() if name in _SHARED})
    costs = two_by_two(settings)
    decides = [name for name in names if name in _DECISIONS or name == "confusion"]
    thresholds = {name: _threshold_of(name, grid, costs, keywords, own_threshold) for name in decides}
    if "nec" in names or "dcf" in names:
        check_normalisable(settings, 2)
    if any(name.startswith("min_") for name in names):
        costs.margins()
    sensitivity = checked_sensitivity(keywords.get("sensitivity", 0.95))
    beta = parse_beta(keywords.get("beta", 1.0))
    method = checked_method(keywords.get("method", "hull"))
    p_t = None if keywords.get("p_t") is None else parse_number(keywords["p_t"], "p_t")
    ece = EceBins.of(keywords.get("bins", 15), keywords.get("norm", 1))
    return _Arguments(settings, costs, thresholds, beta, p_t, ece, RankingArguments(costs, sensitivity, method))


def _threshold_of(
    name: str, grid: Grid, costs: CostMatrix, keywords: Mapping[str, Any], own_threshold: float | None
) -> float:
    """Where a metric decides: at the stated threshold, but for what decides by itself; else at the costs' own."""
    stated = keywords.get("threshold")
    if name == "net_benefit":
        # At p_t, which has costs of its own.
        p_t = parse_number(keywords.get("p_t"), "p_t")
        costs = CostMatrix.binary(1 - p_t, p_t)
    elif stated is None and name != "bayes_risk":
        stated = own_threshold
    if stated is not None and name != "bayes_risk":
        return parse_number(stated, "threshold") + 0.0  # 0 stands for -0 too
    return grid.declared(bayes_threshold(costs, grid.score_type, keywords.get("prior"), grid.classes)) + 0.0


def _stated_p_t(arguments: _Arguments) -> float:
    if arguments.p_t is None or not 0 <= arguments.p_t < 1:
        raise ValueError(f"net_benefit needs p_t= in [0, 1), not {arguments.p_t}")
    return arguments.p_t


def _groups(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    if not keys:
        return pl.DataFrame({GROUP: [0]}, schema={GROUP: pl.get_index_type()})
    return frame.select(keys).unique(maintain_order=True).with_row_index(GROUP)


def _number(frame: pl.DataFrame, groups: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    if not keys:
        return frame.with_columns(pl.lit(0, dtype=pl.get_index_type()).alias(GROUP))
    return frame.join(groups, on=keys, how="left", nulls_equal=True, maintain_order="left")


def check_keys(keys: Sequence[str], columns: Collection[str]) -> None:
    """SketchError if a group column has the name of a column of the result."""
    clash = [name for name in keys if name in columns or name.startswith(_OWN)]
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, which results from it have too: rename it")


def _tabulate(
    frame: pl.DataFrame, keys: list[str], grid: Grid, arguments: _Arguments
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The cells with the number of their group; and a row per group: its keys, sums and stated prior."""
    check_keys(keys, ("n", "n_missing", "n_invalid", "class_prior"))
    groups = _groups(frame, keys)
    numbered = _number(frame, groups, keys)
    return numbered, _with_prior(_sum_per_group(numbered, groups, arguments, grid), keys, arguments, grid.classes)


def _sum_per_group(cells: pl.DataFrame, groups: pl.DataFrame, arguments: _Arguments, grid: Grid) -> pl.DataFrame:
    """One row per group: rows, and the sums of the classes, as columns."""
    label, weight = pl.col("class"), pl.col("weight")

    def total(mask: pl.Expr, value: pl.Expr) -> pl.Expr:
        return pl.when(mask).then(value).sum()

    sums = {
        "n": total(label >= 0, pl.col("n")),
        "n_missing": total(label.is_null(), pl.col("n")),
        "n_invalid": total(label == -1, pl.col("n")),
    }
    losses = () if grid.score_type == "raw" else ("log_loss", "brier")
    for i in range(2):
        sums[f"__ec_count_{i}"] = total(label == i, weight)
        sums |= {f"__ec_{name}_{i}": total(label == i, pl.col(name)) for name in losses}
    for threshold in set(arguments.thresholds.values()):
        certain, possible = _positive(grid, threshold)
        for i in range(2):
            # Each by its own sum: a difference of sums of weights may be below 0.
            decided = {
                "least_positive": certain,
                "most_positive": certain | possible,
                "least_negative": ~certain & ~possible,
                "most_negative": ~certain,
            }
            sums |= {f"__ec_{name}_{i}_{threshold!r}": total((label == i) & x, weight) for name, x in decided.items()}
    counted = cells.group_by(GROUP).agg(**sums)
    table = groups.join(counted, on=GROUP, how="left", maintain_order="left")
    filled = table.with_columns(pl.col(name).fill_null(0) for name in sums)
    n1, n0 = pl.col("__ec_count_1"), pl.col("__ec_count_0")
    return filled.with_columns(class_prior=formulas.ratio(n1, n1 + n0))


def _positive(grid: Grid, threshold: float) -> tuple[pl.Expr, pl.Expr]:
    """Whether all scores of a cell are above the threshold; whether, if not, some may be."""
    never = pl.lit(value=False)
    if grid.resolution is None:
        return pl.col("score") > threshold, never
    if threshold in grid.thresholds:
        return pl.col("above") > grid.thresholds.index(threshold), never
    if grid.score_type == "posterior" and not 0 <= threshold < 1:
        return pl.lit(value=threshold < 0), never
    # Scores of a higher bin are above it; within its bin the declared thresholds still tell.
    at = pl.select(grid.bin(pl.lit(threshold), grid.position(pl.lit(threshold)))).item()
    lower = sum(t < threshold for t in grid.thresholds)
    bin_, above = pl.col("bin"), pl.col("above")
    certain = ((bin_ > at) | (above > lower)) & (bin_ >= at)
    point = grid.is_point()
    return certain, (bin_ == at) & (above == lower) & ~point


def is_exact(grid: Grid, threshold: float) -> bool:
    """Whether the counts at this threshold are exact, whatever the data."""
    # No score is cut by a threshold beyond all scores, or at a score that has a cell of its own.
    never_cuts = not 0 < threshold < 1 if grid.score_type == "posterior" else math.isinf(threshold)
    return grid.resolution is None or threshold in grid.thresholds or never_cuts


def _formula_columns(name: str, arguments: _Arguments, grid: Grid, weighted: bool) -> dict[str, pl.Expr]:
    prior = _prior_columns(arguments)
    if name == "confusion":
        of_cells = replace(arguments, thresholds=dict.fromkeys(CELLS, arguments.thresholds[name]))
        return {
            column: expression
            for cell in CELLS
            for column, expression in _formula_columns(cell, of_cells, grid, weighted).items()
        }
    if name == "cllr":
        even = _GroupSums([pl.lit(0.5), pl.lit(0.5)])
        return {name: _expected_loss(even, "log_loss", None) / math.log(2)}
    if name in _LOSSES and grid.score_type == "llr":
        loss, normaliser = _LOSSES[name]
        low, high = (_expected_loss(_GroupSums(prior), loss, normaliser, f"_{end}") for end in ("low", "high"))
        # Where both are infinite the value is known.
        error = pl.when(low == high).then(0.0).otherwise((high - low) / 2)
        return {name: (low + high) / 2, f"{name}_error": error}
    if name in _LOSSES:
        return {name: _expected_loss(_GroupSums(prior), *_LOSSES[name])}
    threshold, formula = arguments.thresholds[name], _DECISIONS[name]
    dtype = pl.Int64 if name in CELLS and not weighted else pl.Float64

    def at(of_1: str, of_0: str) -> pl.Expr:
        opposite = {"least": "most", "most": "least"}
        positive = [pl.col(f"__ec_{of}_positive_{i}_{threshold!r}") for i, of in enumerate((of_0, of_1))]
        negative = [pl.col(f"__ec_{opposite[of]}_negative_{i}_{threshold!r}") for i, of in enumerate((of_0, of_1))]
        return formula(_GroupSums(prior, positive, negative), arguments).cast(dtype)

    if is_exact(grid, threshold):
        return {name: at("least", "least")}
    # Every metric of decisions is monotone in either count, so it is extreme at the corners of what they can be.
    corners = [at(of_1, of_0) for of_1 in ("least", "most") for of_0 in ("least", "most")]
    if name == "mcc":
        # At a corner where all decisions are the same it is not defined, but near there it is as near to 0 as one likes.
        known = pl.any_horizontal([corner.is_not_null() for corner in corners])
        corners = [pl.when(known).then(corner.fill_null(0.0)) for corner in corners]
    return {f"{name}_low": pl.min_horizontal(corners), f"{name}_high": pl.max_horizontal(corners)}


def _expected_loss(sums: _GroupSums, loss: str, normaliser: _Normaliser | None, end: str = "") -> pl.Expr:
    value = formulas.expected_loss(sums, [sums.total(i, loss + end) for i in range(2)])
    return value if normaliser is None else formulas.ratio(value, normaliser(sums))


def _join_llr_losses(
    table: pl.DataFrame, numbered: pl.DataFrame, keys: list[str], grid: Grid, prior: PriorSettings
) -> pl.DataFrame:
    """The sums of the losses that the LLRs have as posteriors at this prior, as bounds."""
    from polars_ec.cells import llr_losses as _llr_losses

    shares = _stated_shares(table, keys, prior, grid.classes)
    shift = shares[1].log() - shares[0].log()
    bounds = _llr_losses.of_cells(numbered, table.select(GROUP, shift=shift), grid)
    named = bounds.rename({name: f"__ec_{name}" for name in bounds.columns if name != GROUP})
    joined = table.join(named, on=GROUP, how="left", maintain_order="left")
    names = [name for name in named.columns if name != GROUP]
    # A group without such rows adds nothing, but one without a prior, or of LLRs that contradict it, has no losses.
    known = pl.lit(shift).is_not_null() & ~pl.any_horizontal(
        [pl.col(name).is_nan().fill_null(value=False) for name in names]
    )
    return joined.with_columns(pl.when(known).then(pl.col(name).fill_null(0.0)) for name in names)


def _with_prior(table: pl.DataFrame, keys: list[str], arguments: _Arguments, classes: ClassNames) -> pl.DataFrame:
    """The shares of both classes as columns, where a prior is stated."""
    settings = arguments.settings.prior
    if not settings.stated:
        return table
    return table.with_columns(
        share.alias(f"{_PRIOR}_{i}") for i, share in enumerate(_stated_shares(table, keys, settings, classes))
    )


def _stated_shares(
    table: pl.DataFrame, keys: list[str], settings: PriorSettings, classes: ClassNames
) -> list[pl.Series]:
    """The stated shares of both classes, a row per group; null where they are none."""
    dtype = None
    # A prior sees what the reader of the result sees.
    public = table.select(*keys, "n", "class_prior")
    if settings.expression is not None:
        public = public.with_columns(settings.expression.alias(_PRIOR))
        dtype = public.schema[_PRIOR]
        settings = replace(settings, expression=pl.col(_PRIOR))
    shares = settings.per_row(classes, dtype)
    assert shares is not None
    named = {f"{_PRIOR}_{i}": share for i, share in enumerate(shares)}
    return public.with_columns(**named).select(*named).get_columns()


def _prior_columns(arguments: _Arguments) -> list[pl.Expr] | None:
    return [pl.col(f"{_PRIOR}_{i}") for i in range(2)] if arguments.settings.prior.stated else None


def ordered_cells(numbered: pl.DataFrame, grid: Grid, weighted: bool) -> pl.DataFrame:
    """Cells of both classes side by side, from the highest score down, as `_ranking.prepare` takes them."""
    label, weight = pl.col("class"), pl.col("weight")
    cell = grid.cell_columns
    w1, w0 = (pl.when(label == i).then(weight).sum() for i in (1, 0))
    cells = (
        numbered.filter(label >= 0)
        .group_by(GROUP, *cell)
        .agg(w1=w1, w0=w0)
        .sort(GROUP, *cell, descending=[False] + [True] * len(cell))
    )
    if grid.resolution is None:
        threshold = pl.col("score").shift(-1).over(GROUP).fill_null(-math.inf)
    else:
        threshold = grid.lower_edge()
    return cells.with_columns(point=grid.is_point(), threshold=threshold, whole=pl.lit(value=not weighted))


def _join_ece(table: pl.DataFrame, numbered: pl.DataFrame, arguments: _Arguments, grid: Grid) -> pl.DataFrame:
    bins = arguments.ece
    edges = [grid.declared(edge) for edge in posterior_edges(bins.number, grid.score_type)]
    if bins.norm == 2 and not all(is_exact(grid, edge) for edge in edges):
        raise SketchError(
            f"ece with norm=2 has no bound where an edge of a bin may be inside a cell: sketch with thresholds=[k / "
            f"{bins.number} for k in range(1, {bins.number})], as log-odds for log-odds, or exact=True"
        )
    sums = _GroupSums(_prior_columns(arguments))
    stated = arguments.settings.prior.stated
    even = formulas.ratio(pl.lit(1.0), sums.size)
    weights = table.select(GROUP, **{f"r{i}": formulas.row_weight(sums, i) if stated else even for i in range(2)})
    values = _ece.of_cells(numbered, weights, [_positive(grid, edge) for edge in edges], bins)
    return table.join(values, on=GROUP, how="left", maintain_order="left")


def prepared_cells(
    frame: pl.DataFrame, keys: list[str], grid: Grid, weighted: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cells as the ranking formulas take them, of groups without wrong rows; and the keys of their groups."""
    groups = _groups(frame, keys)
    numbered = _number(frame, groups, keys)
    wrong = numbered.filter(pl.col("class") == -1).select(GROUP).unique()
    numbered = numbered.join(wrong, on=GROUP, how="anti", maintain_order="left")
    return _ranking.prepare(ordered_cells(numbered, grid, weighted), None), groups


def at_every_edge(
    frame: pl.DataFrame,
    keys: list[str],
    grid: Grid,
    weighted: bool,
    metrics: Sequence[str],
    keywords: Mapping[str, Any],
) -> tuple[pl.DataFrame, dict[str, pl.Expr]]:
    """Every operating point of every group, as sums, with the formulas of the metrics over them."""
    arguments = _parse((), grid, keywords)
    numbered, table = _tabulate(frame, keys, grid, arguments)
    table = table.filter(pl.col("n_invalid") == 0)
    top = table.select(GROUP, threshold=pl.lit(math.inf), w0=pl.lit(0.0), w1=pl.lit(0.0))
    steps = ordered_cells(numbered, grid, weighted).select(top.columns)
    points = pl.concat([top, steps]).sort(GROUP, "threshold", descending=[False, True], maintain_order=True)
    running: dict[str, pl.Expr] = {}
    for i in range(2):
        weight = pl.col(f"w{i}")
        running[f"__ec_positive_{i}"] = weight.cum_sum().over(GROUP)
        # From the bottom up, and not by a difference, which of sums of weights may be below 0.
        running[f"__ec_negative_{i}"] = weight.cum_sum(reverse=True).shift(-1, fill_value=0.0).over(GROUP)
    points = points.with_columns(**running)
    positive, negative = ([pl.col(f"__ec_{name}_{i}") for i in range(2)] for name in ("positive", "negative"))
    sums = _GroupSums(_prior_columns(arguments), positive, negative)
    formulas_of = {name: _DECISIONS[name](sums, arguments) for name in metrics}
    return table.join(points, on=GROUP, maintain_order="left_right"), formulas_of


def _ranking_prior(table: pl.DataFrame, arguments: _Arguments) -> pl.DataFrame | None:
    stated = _prior_columns(arguments)
    return None if stated is None else table.select(GROUP, p0=stated[0], p1=stated[1])


def cells_and_priors(
    frame: pl.DataFrame, keys: list[str], grid: Grid, prior: Any
) -> tuple[pl.DataFrame, pl.DataFrame, NDArray[np.float64] | None]:
    """The cells with the number of their group; a row per group, with its keys and counts; the stated priors.

    Of class 0 and of class 1, of each group; NaN where the prior is none; None in all where none is stated.
    """
    arguments = _parse((), grid, {"prior": prior})
    numbered, table = _tabulate(frame, keys, grid, arguments)
    if not arguments.settings.prior.stated:
        return numbered, table, None
    return numbered, table, table.select(f"{_PRIOR}_{i}" for i in range(2)).to_numpy().T
