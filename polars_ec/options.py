"""The keywords that metrics share: their defaults, their place in signatures, and their checks at the call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ForwardRef, ParamSpec, TypeVar, get_args

import polars as pl

from polars_ec.costs import CostMatrix, as_cost_matrix
from polars_ec.priors import PriorSettings, parse_prior
from polars_ec.typing import ScoreType

if TYPE_CHECKING:
    from polars_ec.typing import IntoExpr

P = ParamSpec("P")
T = TypeVar("T")

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "costs": None,
        "cost_fn": 1.0,
        "cost_fp": 1.0,
        "prior": None,
        "threshold": None,
        "score_type": "posterior",
        "weight": None,
        "pos_label": None,
        "classes": None,
    }
)


def with_options(options: type[Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Show the keywords of `options` in the function's signature, and refuse any other at the call.

    Type checkers read the keywords from the annotation `**options: Unpack[...]`; people and `inspect` read them here.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        own = signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        annotations = {name: _source(hint) for name, hint in options.__annotations__.items()}
        shared = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotations[name])
            for name, default in DEFAULTS.items()
            if name in annotations
        ]
        shown = own.replace(parameters=kept + shared)

        name = function.__name__
        by_position = [p.name for p in kept if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
        by_name = [p.name for p in shown.parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
        public = [p for p in [*by_position, *by_name] if p != "self"]

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            check_keywords(name, kwargs, public)
            if len(args) > len(by_position):
                taken = " and ".join(p for p in by_position if p != "self")
                raise TypeError(
                    f"{name}() takes {taken} by position, and {args[len(by_position)]!r} is one more: options go by name, such "
                    f"as {by_name[0]}="
                )
            if kwargs.get("by", ()) is None:
                raise TypeError(f"{name}(): by=None names no groups: leave by= out for one group, or pass columns")
            try:
                shown.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{name}(): {error}") from None
            return function(*args, **kwargs)

        checked.__signature__ = shown  # type: ignore[attr-defined]
        return checked

    return decorate


def check_keywords(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    """TypeError for the first keyword that the function does not have, with the one that may be meant."""
    for name in given:
        if name not in known:
            raise TypeError(
                f"{function}() has no keyword {name}=: {did_you_mean(name, known)}It has {', '.join(known)}"
            )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The one of the known names that may be meant, as a question; nothing where none is near."""
    # Imported here, for only errors need it.
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]}? " if near else ""


def _source(hint: Any) -> Any:
    return hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint


@dataclass(frozen=True)
class Settings:
    """The shared keywords of one call, checked."""

    score_type: ScoreType
    prior: PriorSettings
    weight: pl.Expr | None
    pos_label: object
    classes: tuple[object, ...] | None
    threshold: float | None
    stated_costs: CostMatrix | None
    cost_fn: float
    cost_fp: float

    def costs(self, n_classes: int) -> CostMatrix:
        """The cost matrix that the call means for this many classes."""
        if self.stated_costs is not None:
            return self.stated_costs
        if n_classes == 2:
            return CostMatrix.binary(self.cost_fn, self.cost_fp)
        if (self.cost_fn, self.cost_fp) != (1, 1):
            raise ValueError(f"cost_fn and cost_fp are for two classes, and there are {n_classes}: pass costs=")
        return CostMatrix.zero_one(n_classes)


def parse_options(options: Mapping[str, Any]) -> Settings:
    """Check the shared keywords; what is left out has its default. Errors name the value and the way out."""
    given = {**DEFAULTS, **options}
    if given["score_type"] not in get_args(ScoreType):
        raise ValueError(f"score_type={given['score_type']!r} is none of {', '.join(get_args(ScoreType))}")
    if given["costs"] is not None and (given["cost_fn"], given["cost_fp"]) != (1, 1):
        raise ValueError("pass either costs= or cost_fn= and cost_fp=, not both")
    CostMatrix.binary(given["cost_fn"], given["cost_fp"])
    return Settings(
        score_type=given["score_type"],
        prior=parse_prior(given["prior"]),
        weight=None if given["weight"] is None else as_expr(given["weight"], "weight"),
        pos_label=given["pos_label"],
        classes=_parse_classes(given["classes"], given["pos_label"]),
        threshold=None if given["threshold"] is None else parse_number(given["threshold"], "threshold"),
        stated_costs=None if given["costs"] is None else as_cost_matrix(given["costs"]),
        cost_fn=float(given["cost_fn"]),
        cost_fp=float(given["cost_fp"]),
    )


def as_expr(column: IntoExpr, what: str) -> pl.Expr:
    """A column's name or an expression, as an expression."""
    if isinstance(column, str):
        return pl.col(column)
    if isinstance(column, pl.Expr):
        return column
    raise TypeError(f"{what}={column!r} is neither a column's name nor a Polars expression")


def parse_number(value: Any, what: str) -> float:
    """A float that is not NaN."""
    if isinstance(value, bool | str | pl.Expr) or not hasattr(value, "__float__") or math.isnan(float(value)):
        raise ValueError(f"{what}={value!r} is no number")
    return float(value)


def parse_beta(value: Any) -> float:
    """The beta of F_beta."""
    beta = parse_number(value, "beta")
    if not 0 < beta < math.inf:
        raise ValueError(f"beta={value!r} must be above 0 and finite: take recall where only misses count")
    return beta


def _parse_classes(classes: Sequence[object] | None, pos_label: object) -> tuple[object, ...] | None:
    if classes is None:
        return None
    if pos_label is not None:
        raise ValueError("pass either pos_label= (binary) or classes=, not both")
    ordered = isinstance(classes, Iterable) and not isinstance(classes, str | Set | Mapping)
    values = tuple(classes) if ordered else ()
    if (
        any(isinstance(value, list | dict | set) for value in values)
        or len(set(values)) != len(values)
        or len(values) < 2
    ):
        raise ValueError(f"classes={classes!r} must list at least two different label values, in class order")
    return values
