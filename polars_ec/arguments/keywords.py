"""Check the keywords of a call; errors name the value and what to do instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from inspect import Parameter, Signature
from typing import Any, get_args

import polars as pl

from polars_ec.arguments.classes import EMPIRICAL, CheckedPrior, parse_classes, parse_prior, plain
from polars_ec.arguments.costs import CostMatrix, as_cost_matrix
from polars_ec.arguments.options import DEFAULTS
from polars_ec.arguments.scales import ScoreScale, parse_score_type
from polars_ec.typing import IntervalMethod, IntoExpr


def checked_at_call(
    function: Callable[..., Any], shown: Signature, of_values: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The function, which refuses what this signature does not have, and shows it.

    A call whose first argument is neither a column's name nor an expression goes to `of_values`, with the arguments by name.
    """
    name, parameters = function.__name__, shown.parameters.values()
    by_position = [p.name for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    by_name = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    # Messages do not list the object of a method.
    public = [p for p in [*by_position, *by_name] if p not in ("self", "frame")]
    columns = [p.name for p in parameters if "IntoExpr" in str(p.annotation)]
    priors = [p.name for p in parameters if "Prior" in str(p.annotation)]
    any_number = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        check_keywords(name, [given for given in kwargs if given not in by_position], public)
        if len(args) > len(by_position) and not any_number:
            taken = " and ".join(p for p in by_position if p in public)
            raise TypeError(
                f"{name}() takes {taken} by position, and {args[len(by_position)]!r} is one argument too many: pass "
                f"options by name, such as {' or '.join(f'{option}=' for option in by_name[:2])}"
            )
        if kwargs.get("by", ()) is None:
            raise TypeError(f"{name}(): by=None names no groups: leave by= out for one group, or pass columns")
        try:
            bound = shown.bind(*args, **kwargs)
        except TypeError as error:
            if (
                by_position[:1] == ["frame"]
                and args
                and hasattr(args[0], "__array__")
                and not hasattr(args[0], "columns")
            ):
                raise TypeError(
                    f"{name}() takes a table and the names of its columns: put arrays into a frame, such as "
                    'pl.DataFrame({"score": y_score, "label": y_true})'
                ) from None
            raise TypeError(f"{name}(): {error}") from None
        if of_values is not None and not isinstance(next(iter(bound.arguments.values())), str | pl.Expr):
            return of_values(function, bound.arguments, columns, priors)
        return function(*args, **kwargs)

    checked.__signature__ = shown  # type: ignore[attr-defined]
    return checked


_ELSEWHERE = {
    "interval": "report(), compare() and Sketch.evaluate() have it. ",
    "cluster": "report(), compare() and sketch() have it. ",
}


def check_keywords(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    """TypeError for the first keyword that the function does not have, with the one that may be meant."""
    for name in given:
        if name not in known:
            raise TypeError(
                f"{function}() has no keyword {name}=: {_ELSEWHERE.get(name) or did_you_mean(name, known)}It has {', '.join(known)}"
            )


# Names of the metrics in scikit-learn and elsewhere.
_OTHER_NAMES = {
    "accuracy_score": "accuracy",
    "auc": "auc_roc",
    "average_precision_score": "average_precision",
    "balanced_accuracy_score": "balanced_accuracy",
    "brier_score": "brier",
    "brier_score_loss": "brier",
    "calibration_error": "ece",
    "confusion_matrix": "confusion",
    "expected_calibration_error": "ece",
    "f1_score": "f1",
    "fbeta_score": "fbeta",
    "log_loss": "cross_entropy",
    "logloss": "cross_entropy",
    "matthews_corrcoef": "mcc",
    "max": "highest",
    "min": "lowest",
    "ppv": "precision",
    "precision_score": "precision",
    "recall_score": "recall",
    "roc_auc": "auc_roc",
    "roc_auc_ovo": "pairwise_auc_roc",
    "roc_auc_ovr": "macro_auc_roc",
    "roc_auc_ovr_weighted": "weighted_auc_roc",
    "roc_auc_score": "auc_roc",
    "selection_rate": "decision_share",
    "sensitivity": "recall",
    "tnr": "specificity",
    "tpr": "recall",
    "youden": "informedness",
}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the closest known name as a question; empty if none is close."""
    # Imported here, for only errors need it.
    import difflib

    names = list(known)
    if _OTHER_NAMES.get(name) in names:
        return f"did you mean {_OTHER_NAMES[name]}? "
    turned = [x for x in names if x == f"macro_{name}" or sorted(x.split("_")) == sorted(name.split("_"))]
    near = turned or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean {near[0]}? " if near else ""


# A million numbers where there are a thousand classes, which each metric of a call needs.
_zero_one = lru_cache(maxsize=2)(CostMatrix.zero_one)

BY_ROW = ("threshold", "cost_fn", "cost_fp")
"""The options that may be columns where decisions are made row by row."""


@dataclass(frozen=True)
class Options:
    """The shared keywords of one call, checked."""

    scale: ScoreScale
    prior: CheckedPrior
    weight: pl.Expr | None
    pos_label: object
    classes: tuple[object, ...] | None
    threshold: float | pl.Expr | None
    stated_costs: CostMatrix | None
    cost_fn: float | pl.Expr
    cost_fp: float | pl.Expr

    @property
    def columns(self) -> dict[str, pl.Expr]:
        """The options that are columns of the log, by keyword."""
        given = {"weight": self.weight, "prior": self.prior.expression}
        given |= {name: getattr(self, name) for name in BY_ROW}
        return {name: value for name, value in given.items() if isinstance(value, pl.Expr)}

    @property
    def constant_threshold(self) -> float | None:
        """The threshold, which must not be a column."""
        assert not isinstance(self.threshold, pl.Expr)
        return self.threshold

    @property
    def costs_by_row(self) -> bool:
        """Whether a cost is a column, so that `costs` has only their shape."""
        return isinstance(self.cost_fn, pl.Expr) or isinstance(self.cost_fp, pl.Expr)

    def costs(self, n_classes: int) -> CostMatrix:
        """The cost matrix that the call means for this many classes; where costs differ by row, one of their shape."""
        if self.stated_costs is not None:
            return self.stated_costs
        given = {"cost_fn": self.cost_fn, "cost_fp": self.cost_fp}
        constant = {name: cost for name, cost in given.items() if not isinstance(cost, pl.Expr)}
        if n_classes == 2:
            return CostMatrix.binary(**constant)
        if constant != {"cost_fn": 1, "cost_fp": 1}:
            raise ValueError(f"cost_fn and cost_fp are for two classes, but there are {n_classes}: pass costs=")
        return _zero_one(n_classes)


def parse_options(options: Mapping[str, Any], by_row: Collection[str] = (), *, ranking: bool = False) -> Options:
    """Check the shared keywords and fill in defaults. Errors name the value and what to do instead.

    `by_row` names those of `BY_ROW` that may be columns; the others must be one number. `ranking` allows raw scores, for metrics of the order
    of the scores.
    """
    keywords = {**DEFAULTS, **options}
    scale = parse_score_type(keywords["score_type"], ranking=ranking)
    numbers: dict[str, Any] = {name: _number_or_column(keywords[name], name, name in by_row) for name in BY_ROW}
    costs = {name: numbers[name] for name in ("cost_fn", "cost_fp")}
    if keywords["costs"] is not None and any(isinstance(cost, pl.Expr) or cost != 1 for cost in costs.values()):
        raise ValueError("pass either costs= or cost_fn= and cost_fp=, not both")
    constant = {name: cost for name, cost in costs.items() if not isinstance(cost, pl.Expr)}
    CostMatrix.binary(**constant)
    threshold = numbers["threshold"]
    return Options(
        scale=scale,
        prior=EMPIRICAL if keywords["prior"] is None else parse_prior(keywords["prior"]),
        weight=None if keywords["weight"] is None else as_expr(keywords["weight"], "weight"),
        pos_label=None if keywords["pos_label"] is None else plain(keywords["pos_label"]),
        classes=None if keywords["classes"] is None else parse_classes(keywords["classes"], keywords["pos_label"]),
        threshold=threshold
        if threshold is None or isinstance(threshold, pl.Expr)
        else parse_number(threshold, "threshold"),
        stated_costs=None if keywords["costs"] is None else as_cost_matrix(keywords["costs"]),
        **{name: cost if isinstance(cost, pl.Expr) else float(cost) for name, cost in costs.items()},
    )


def _number_or_column(value: Any, what: str, by_row: bool) -> Any:
    """The value, as an expression if it names a column; ValueError for one where a number is needed."""
    is_column = isinstance(value, str | pl.Expr)
    if not is_column and (not hasattr(value, "__array__") or getattr(value, "shape", ()) == ()):
        return value
    if isinstance(value, str) and _is_number_as_text(value):
        raise ValueError(f"{what}={value!r} is a number as text: pass {value}, or pl.col({value!r}) for the column")
    if not by_row:
        shown = (
            (repr(value) if isinstance(value, str) else str(value))
            if is_column
            else f"{type(value).__name__} of values"
        )
        raise ValueError(
            f"{what}={shown} is a column, but one number is needed here: pass a number, or use a metric that decides "
            f"row by row, such as ec.nec(score, label, {what}=...), or the report"
        )
    if isinstance(value, str) and what == "threshold" and value.lower() in ("bayes", "best"):
        raise ValueError(
            f"threshold={value!r} is not a number: leave threshold= out for the Bayes decisions, or see best_threshold "
            f"for the best one in hindsight. For a column of this name pass pl.col({value!r})"
        )
    return as_expr(value, what)


def _is_number_as_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_OF_SEVERAL = {
    "score": ": to give one vector per row pass pl.concat_arr(...) of them",
    "cluster": ": for a key of several columns pass pl.concat_str(..., separator='/') of them",
}


def as_expr(column: IntoExpr, what: str) -> pl.Expr:
    """A column's name or an expression, as an expression."""
    if isinstance(column, str):
        return pl.col(column)
    if isinstance(column, pl.Expr):
        return column
    several = isinstance(column, list | tuple)
    if hasattr(column, "__array__") or (several and not all(isinstance(c, str | pl.Expr) for c in column)):
        raise TypeError(
            f"{what}= holds values ({type(column).__name__}), not a column's name: put them into a frame and pass the "
            "column's name, or pass only values to a metric, as in ec.nec(y_score, y_true)"
        )
    way_out = _OF_SEVERAL.get(what, "") if several else ""
    raise TypeError(f"{what}={column!r} is neither a column's name nor a Polars expression{way_out}")


def parse_number(value: Any, what: str) -> float:
    """A float that is not NaN."""
    if isinstance(value, bool | str | pl.Expr) or not hasattr(value, "__float__") or math.isnan(float(value)):
        raise ValueError(f"{what}={value!r} is not a number")
    return float(value)


def parse_beta(value: Any) -> float:
    """The beta of F_beta."""
    beta = parse_number(value, "beta")
    if not 0 < beta < math.inf:
        raise ValueError(f"beta={value!r} must be above 0 and finite: for misses only use recall")
    return beta


def parse_min_rows(min_rows: Any) -> int | None:
    """Check the number of rows below which a group is marked as small, if stated."""
    if min_rows is None:
        return None
    if isinstance(min_rows, bool) or not hasattr(min_rows, "__index__") or min_rows < 0:
        raise ValueError(f"min_rows={min_rows!r} is not a number of rows: pass a whole number, at least 0")
    return int(min_rows)


def parse_whole(value: Any, what: str, fewest: int, most: int | None = None, way_out: str = "") -> int:
    """A whole number in these bounds."""
    is_whole = not isinstance(value, bool) and hasattr(value, "__index__")
    if not is_whole or value < fewest or (most is not None and value > most):
        bounds = f"from {fewest}" if most is None else f"from {fewest} to {most}"
        raise ValueError(f"{what}={value!r} is not a whole number {bounds}{way_out}")
    return int(value)


# Intervals.

FEWEST_BUCKETS, MOST_BUCKETS = 5, 1000
"""Fewer buckets than this give no variance; and the most that `bucket` assigns keys to."""

INTERVAL_KEYWORDS = ("interval", "cluster", "buckets", "method", "replicates", "seed")
_FEWEST_REPLICATES: Mapping[str, int] = {"bootstrap": 2, "bca": 100}


@dataclass(frozen=True)
class Request:
    """The intervals of a call: their level, whether rows come in clusters, and the method."""

    level: float
    cluster: pl.Expr | None
    buckets: int
    method: IntervalMethod
    replicates: int
    seed: int

    @property
    def is_resampled(self) -> bool:
        """Whether rows or clusters are resampled."""
        return self.method != "influence"


def parse_interval(options: Mapping[str, Any]) -> Request | None:
    """Check the keywords of intervals among others and fill in defaults; None without `interval`."""
    keywords = {name: options.get(name, DEFAULTS[name]) for name in INTERVAL_KEYWORDS}
    method, replicates = keywords["method"], keywords["replicates"]
    if not isinstance(method, str) or method not in get_args(IntervalMethod):
        raise ValueError(f"method={method!r} is none of {', '.join(get_args(IntervalMethod))}")
    fewest = _FEWEST_REPLICATES.get(method, 2)
    parse_whole(replicates, "replicates", fewest, way_out=' (method="bca" needs 100)' if fewest > 2 else "")
    if method == "influence" and replicates != DEFAULTS["replicates"]:
        raise ValueError(f'replicates={replicates!r} is for method="bootstrap" or "bca": pass it too, or leave it out')
    cluster, buckets = keywords["cluster"], parse_whole(keywords["buckets"], "buckets", FEWEST_BUCKETS, MOST_BUCKETS)
    if cluster is None and buckets != DEFAULTS["buckets"]:
        raise ValueError(f"buckets={buckets} is the number of hash buckets of clusters: pass cluster=, or leave it out")
    if keywords["interval"] is None:
        for name in INTERVAL_KEYWORDS:
            # An expression compared is an expression.
            if (keywords[name] is not None) if DEFAULTS[name] is None else keywords[name] != DEFAULTS[name]:
                shown = str(keywords[name]) if isinstance(keywords[name], pl.Expr) else repr(keywords[name])
                raise ValueError(f"{name}={shown} is an option of intervals: pass interval=0.95 too, or leave it out")
        return None
    return Request(
        level=parse_level(keywords["interval"]),
        cluster=None if cluster is None else as_expr(cluster, "cluster"),
        buckets=buckets,
        method=keywords["method"],
        replicates=int(replicates),
        seed=parse_whole(keywords["seed"], "seed", 0),
    )


def parse_level(interval: Any) -> float:
    """The level of an interval: how often it holds what it is of."""
    if isinstance(interval, bool | str | pl.Expr) or not hasattr(interval, "__float__") or not 0 < float(interval) < 1:
        percent = not isinstance(interval, bool) and isinstance(interval, int | float) and 1 < interval < 100
        way_out = f"{interval / 100:g}" if percent else "0.95"
        raise ValueError(f"interval={interval!r} is not a level between 0 and 1: pass {way_out}")
    return float(interval)
