"""Cost matrices: rows are true classes, columns are decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from polars_ec.arguments.classes import ClassNames, literal_prior, plain
from polars_ec.numerics import np
from polars_ec.output.words import html_table, number

_SHOWN_COSTS = 150

Costs: TypeAlias = "CostMatrix | Sequence[Sequence[float]]"
"""K x M costs, rows = true class, columns = decision."""


@dataclass(frozen=True, repr=False)
class CostMatrix:
    """Costs c_ij of decision j for class i: K rows (true classes) by M columns (decisions).

    The object is frozen and copies its input. K is at least 2. M may differ from K; for example, abstaining adds a column.

    Parameters
    ----------
    values
        K x M finite numbers, as a nested sequence or array.
    classes, decisions
        Names of the rows and columns; default 0..K-1 and 0..M-1. Named rows are matched with the classes of the log by name, in any order.
        Columns are matched too if the decisions have the names of the classes.

    Raises
    ------
    ValueError
        Fewer than 2 classes, no decision, ragged rows, an entry that is not finite, entries in a row whose difference overflows, or names
        that do not fit.

    References
    ----------
    Ferrer, "The expected cost", Eq. 2 and section 2.1.

    Examples
    --------
    >>> CostMatrix([[0, 1], [10, 0]]).bayes_threshold()
    0.09090909090909091
    """

    values: tuple[tuple[float, ...], ...]
    classes: tuple[object, ...] = field(default=())
    decisions: tuple[object, ...] = field(default=())
    # Names that are stated may well be those that there are without: only where they are stated are they matched.
    _named: tuple[bool, bool] = field(default=(False, False), repr=False, compare=False)

    def __init__(
        self,
        values: Sequence[Sequence[float]] | np.ndarray[Any, Any],
        *,
        classes: Sequence[object] | None = None,
        decisions: Sequence[object] | None = None,
    ) -> None:
        rows = values.tolist() if hasattr(values, "tolist") and getattr(values, "ndim", 0) == 2 else values
        matrix = tuple(_row(i, row) for i, row in enumerate(_sequence(rows, "costs")))
        if len(matrix) < 2:
            raise ValueError(f"a cost matrix has a row per class, at least 2: got {len(matrix)}")
        n_decisions = len(matrix[0])
        for i, row in enumerate(matrix):
            if len(row) != n_decisions:
                raise ValueError(f"ragged cost matrix: row 0 has {n_decisions} entries, row {i} has {len(row)}")
        if n_decisions == 0:
            raise ValueError("a cost matrix has a column per decision, at least 1: got none")
        object.__setattr__(self, "values", matrix)
        object.__setattr__(self, "classes", _names(classes, len(matrix), "classes"))
        object.__setattr__(self, "decisions", _names(decisions, n_decisions, "decisions"))
        object.__setattr__(self, "_named", (classes is not None, decisions is not None))

    def __repr__(self) -> str:
        if self._is_large:
            return f"CostMatrix({self.n_classes} x {self.n_decisions})"
        rows = ", ".join(f"[{', '.join(map(number, row))}]" for row in self.values)
        names = (("classes", self.classes), ("decisions", self.decisions))
        stated = [f", {what}={list(values)!r}" for (what, values), own in zip(names, self._named, strict=True) if own]
        return f"CostMatrix([{rows}]{''.join(stated)})"

    def _repr_html_(self) -> str:
        if self._is_large:
            return html_table(repr(self), (), ())
        rows = [[name, *map(number, row)] for name, row in zip(self.classes, self.values, strict=True)]
        return html_table("Costs", ["true class", *(f"decide {name}" for name in self.decisions)], rows)

    @property
    def _is_large(self) -> bool:
        return self.n_classes * self.n_decisions > _SHOWN_COSTS

    @property
    def n_classes(self) -> int:
        """The number of true classes, K (rows)."""
        return len(self.values)

    @property
    def n_decisions(self) -> int:
        """The number of decisions, M (columns)."""
        return len(self.values[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Float64 array of shape (K, M), always a new one."""
        return self._array.astype(np.float64 if dtype is None else dtype)

    @cached_property
    def _array(self) -> np.ndarray[Any, Any]:
        # A million numbers are read one by one, and each metric needs them twice.
        return np.array(self.values, dtype=np.float64)

    @cached_property
    def lowest(self) -> float:
        """The smallest cost."""
        return min(map(min, self.values))

    @classmethod
    def zero_one(cls, n_classes: int, *, abstain: float | None = None) -> CostMatrix:
        """Make costs of 1 for every error and 0 for every hit; `abstain` adds a last decision with that cost for every class.

        The expected cost is then the error rate. With abstain=alpha, Bayes decisions abstain if every posterior is below 1 - alpha (Ferrer,
        "The expected cost", appendix B).

        Examples
        --------
        >>> CostMatrix.zero_one(2, abstain=0.1).values
        ((0.0, 1.0, 0.1), (1.0, 0.0, 0.1))
        """
        extra = () if abstain is None else (abstain,)
        rows = [(1.0,) * i + (0.0,) + (1.0,) * (n_classes - 1 - i) + extra for i in range(n_classes)]
        return cls(rows, decisions=None if abstain is None else [*range(n_classes), "abstain"])

    @classmethod
    def binary(cls, cost_fn: float = 1.0, cost_fp: float = 1.0) -> CostMatrix:
        """Make the costs of a missed positive and of a false alarm; hits cost 0.

        Examples
        --------
        >>> CostMatrix.binary(cost_fn=10).values
        ((0.0, 1.0), (10.0, 0.0))
        """
        for name, cost in (("cost_fn", cost_fn), ("cost_fp", cost_fp)):
            if not _is_number(cost) or not 0 <= cost < math.inf:
                raise ValueError(f"{name}={cost!r} is not a cost: pass a finite number that is at least 0")
        return cls([[0.0, cost_fp], [cost_fn, 0.0]])

    @classmethod
    def from_utilities(cls, utilities: Sequence[Sequence[float]]) -> CostMatrix:
        """Make costs with the same Bayes decisions as these K x M utilities: c_ij = max_k u_ik - u_ij.

        Examples
        --------
        >>> CostMatrix.from_utilities([[5, 0], [-20, 10]]).values
        ((0.0, 5.0), (30.0, 0.0))
        """
        return cls([[-u for u in row] for row in cls(utilities).values]).normalized()

    @classmethod
    def balanced(cls, priors: Sequence[float]) -> CostMatrix:
        """Make costs 1/(K P_i) for errors in class i, whose EC at these priors is the balanced error rate (Ferrer, "The expected cost", Eq. 6).

        Examples
        --------
        >>> CostMatrix.balanced([0.75, 0.25]).values
        ((0.0, 0.6666666666666666), (2.0, 0.0))
        """
        shares = literal_prior(priors, None)
        if 0.0 in shares:
            raise ValueError(f"balanced costs need a prior above 0 for every class: got {list(shares)}")
        n = len(shares)
        return cls([[0.0 if i == j else 1 / (n * p) for j in range(n)] for i, p in enumerate(shares)])

    @classmethod
    def operating_point(cls, posteriors: float | Sequence[float]) -> CostMatrix:
        """Make costs 1/((K - 1) a_i) for an error in class i; the Bayes decision is then the class with the largest q_i / a_i.

        `posteriors` are the a_i, at which all decisions cost the same: the posterior of the positive class, which is then the Bayes
        threshold, or one per class. The Bayes risk at these costs, averaged over all a, is the cross-entropy (Ferrer and Ramos, "Evaluating
        posterior probabilities", Eq. 11).

        Examples
        --------
        >>> CostMatrix.operating_point(0.2).values
        ((0.0, 1.25), (5.0, 0.0))
        """
        shares = literal_prior(posteriors, None)
        if 0.0 in shares:
            raise ValueError(f"an operating point needs a posterior above 0 for every class: got {list(shares)}")
        n = len(shares)
        return cls([[0.0 if i == j else 1 / ((n - 1) * a) for j in range(n)] for i, a in enumerate(shares)])

    def normalized(self) -> CostMatrix:
        """Subtract the minimum of each row, which keeps decisions and cost differences (Ferrer, "The expected cost", section 2.1).

        Examples
        --------
        >>> CostMatrix([[-1, 3], [2, 1]]).normalized().values
        ((0.0, 4.0), (1.0, 0.0))
        """
        values = [[c - min(row) for c in row] for row in self.values]
        names = zip(("classes", "decisions"), (self.classes, self.decisions), self._named, strict=True)
        return CostMatrix(values, **{what: of for what, of, is_named in names if is_named})

    def naive(self, prior: float | Sequence[float]) -> tuple[float, int]:
        """Return cost and index of the cheapest constant decision at these priors: min over j of sum_i P_i c_ij.

        The lowest index wins ties. Ferrer, "The expected cost", Eq. 3.

        Examples
        --------
        >>> CostMatrix.binary(cost_fn=10).naive(0.05)
        (0.5, 0)
        """
        shares = literal_prior(prior, self.n_classes)
        costs = [sum(p * row[j] for p, row in zip(shares, self.values, strict=True)) for j in range(self.n_decisions)]
        decision = min(range(self.n_decisions), key=costs.__getitem__)
        return costs[decision], decision

    def bayes_threshold(self) -> float:
        """Return the posterior of class 1 above which deciding 1 is cheaper: (c_01 - c_00) / ((c_01 - c_00) + (c_10 - c_11)).

        Ferrer, "The expected cost", Eq. 20 gives the same on the scale of log-odds. Raises ValueError unless there are 2 classes and 2
        decisions and each class's own decision costs at most as much as the other one. Otherwise no threshold gives the Bayes decisions.

        Examples
        --------
        >>> CostMatrix.binary(cost_fn=4, cost_fp=1).bayes_threshold()
        0.2
        """
        cost_fp, cost_fn = self.margins()
        if cost_fp == cost_fn == 0:
            return 1.0  # all decisions cost the same, and the first is taken
        if math.isinf(cost_fp + cost_fn):
            cost_fp, cost_fn = cost_fp / 2, cost_fn / 2
        return cost_fp / (cost_fp + cost_fn)

    def bayes_log_odds(self) -> float:
        """Return the log-odds above which deciding 1 is cheaper: ln((c_01 - c_00) / (c_10 - c_11)); ValueError as for `bayes_threshold`.

        Examples
        --------
        >>> CostMatrix.binary(cost_fn=1, cost_fp=1).bayes_log_odds()
        0.0
        """
        cost_fp, cost_fn = self.margins()
        if cost_fp == 0 or cost_fn == 0:
            return -math.inf if cost_fn > 0 else math.inf
        ratio = cost_fp / cost_fn
        return math.log(ratio) if 0 < ratio < math.inf else math.log(cost_fp) - math.log(cost_fn)

    @property
    def names_classes(self) -> bool:
        """Whether the rows have names; otherwise they are the classes in order."""
        return self._named[0]

    def names_decision(self, j: int) -> bool:
        """Return whether decision j has a name; `zero_one` numbers the decisions for classes."""
        return self._named[1] and not (j < self.n_classes and self.decisions[j] == j)

    def for_classes(self, classes: ClassNames) -> CostMatrix:
        """Reorder the rows, and columns with the same names, to match these classes.

        Raises ValueError if the names do not match, or if the class of a decision is not defined.
        """
        if not self.names_classes:
            return self
        rows = classes.places(self.classes, "costs=")
        columns = self._columns_for(rows)
        return CostMatrix(
            [[self.values[i][j] for j in columns] for i in rows],
            classes=[self.classes[i] for i in rows],
            decisions=[self.decisions[j] for j in columns] if self._named[1] else None,
        )

    def _columns_for(self, rows: Sequence[int]) -> list[int]:
        """Columns in the order that goes with the rows: those of the classes first, if decisions have the classes' names."""
        shared = [name for name in self.classes if name in self.decisions]
        if self._named[1] and len(shared) == self.n_classes:
            own = [self.decisions.index(self.classes[i]) for i in rows]
            return own + [j for j in range(self.n_decisions) if j not in own]
        if list(rows) != list(range(self.n_classes)) and (shared or not self._named[1]):
            raise ValueError(
                f"costs= has the classes {list(self.classes)} in another order than the log, and does not say which "
                "decision belongs to which class: name the columns with decisions= too, or put the rows in class order"
            )
        return list(range(self.n_decisions))

    def margins(self) -> tuple[float, float]:
        """Return the extra cost of an error over a hit in class 0 and in class 1; raises ValueError as `bayes_threshold` does."""
        if (self.n_classes, self.n_decisions) != (2, 2):
            raise ValueError(f"a threshold needs 2 x 2 costs, and these are {self.n_classes} x {self.n_decisions}")
        (c00, c01), (c10, c11) = self.values
        if c01 < c00 or c10 < c11:
            raise ValueError(
                f"no threshold gives the Bayes decisions for the costs {self.values}: an error must not cost less than the right decision in its row"
            )
        return c01 - c00, c10 - c11


def as_cost_matrix(costs: Costs) -> CostMatrix:
    """Return `costs` as a CostMatrix."""
    return costs if isinstance(costs, CostMatrix) else CostMatrix(costs)


def _sequence(value: Any, what: str) -> Sequence[Any]:
    if hasattr(value, "to_numpy") and getattr(value, "ndim", 2) == 2:
        raise ValueError(
            f"{what} are a {type(value).__name__}: pass its to_numpy(), rows and columns in the order of the classes"
        )
    if isinstance(value, str | bytes | Set) or not hasattr(value, "__iter__"):
        raise ValueError(f"{what} must be a K x M nested sequence, rows = true class: got {value!r}")
    return value if isinstance(value, list | tuple) else list(value)


def _row(i: int, entries_of: Any) -> tuple[float, ...]:
    entries = _sequence(entries_of, f"row {i} of costs")
    # All at once, for there are a million where there are a thousand classes. A NaN hides from the largest, but not from the sum.
    if set(map(type, entries)) == {float} and math.isfinite(max(entries) - min(entries) + 0 * sum(entries)):
        return tuple(entries)
    for j, cost in enumerate(entries):
        if not _is_number(cost) or not math.isfinite(cost):
            raise ValueError(f"cost of class {i}, decision {j} is {cost!r}: costs are finite numbers")
    row = tuple(float(cost) for cost in entries)
    if row and math.isinf(max(row) - min(row)):
        raise ValueError(f"the costs of class {i}, {row}, differ by more than a float can hold: divide all costs by 2")
    return row


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, str)


def _names(names: Sequence[object] | None, n: int, what: str) -> tuple[object, ...]:
    if names is None:
        return tuple(range(n))
    if isinstance(names, str | Set) or len(names) != n or len(set(names)) != n:
        raise ValueError(f"{what} must be {n} different names in order: got {names!r}")
    return tuple(map(plain, names))
