"""Rows of many classes: what metrics ask of a row, of all its scores at once, where an expression per class would not end.

One NumPy kernel, elementwise over the rows, so that it streams: its plan is one node, whatever the number of classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_ec.costs import CostMatrix
from polars_ec.typing import RankingScoreType, ScoreType

if TYPE_CHECKING:
    import numpy as np

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

TOLERANCE = 1e-6
"""How far from 1 the sum of posteriors may be."""

WRONG_LENGTH = "vector has another length than there are classes"
_PRIOR_FAULT = "prior is not a share per class"
FAULTS: dict[str, tuple[str, ...]] = {
    "posteriors": (WRONG_LENGTH, "posterior is NaN or outside [0, 1]", "posteriors do not sum to 1"),
    "log_posteriors": (WRONG_LENGTH, "log posterior is NaN or above 0", "posteriors do not sum to 1"),
    "log_likelihoods": (WRONG_LENGTH, "log-likelihood is NaN or +inf", "all log-likelihoods are -inf", _PRIOR_FAULT),
}
"""What can be wrong with a vector, by score type: the bits of the kernel's `faults`."""

VectorPrior: TypeAlias = "tuple[float, ...] | pl.Expr | None"
"""Stated shares; or a column of them, one vector a row; or none."""

CLASS, DECISION, WEIGHT, FAULT = "class", "decision", "weight", "faults"
CELL, CELL_BITS = "cell", 32
"""Class and decision in one integer: lists of integers, of many groups, are collected in a tenth of the time of those of structs."""
LOG_LOSS, BRIER, TOP = "log_loss", "brier", "top"
POSTERIORS, LOG_POSTERIORS = "posteriors", "log_posteriors"
_VECTORS = (POSTERIORS, LOG_POSTERIORS)
# Small ones, for a class and a decision a row are collected in every group.
_SMALL = 2**15

# Numbers that are worked on at a time: a few megabytes, so that they stay near the processor, in blocks that matrix
# products are good at.
_BLOCK, _LEAST_ROWS = 2**18, 512


def rows_at_a_time(n_classes: int) -> int:
    """How many rows of K numbers are worked on at a time."""
    return max(_BLOCK // n_classes, _LEAST_ROWS)


@dataclass(frozen=True, eq=False)
class RowKernel:
    """What is asked of vectors of K scores: any of the names above, `costs` for decisions.

    The rows come as a struct of `score`, and, where there are any, `label` (an index, -1 for a wrong one), `weight`, by which
    losses are multiplied, and `prior`. Where a row is missing or wrong, all is null but `class`, which is -1 for a wrong one, and `faults`.
    """

    n_classes: int
    score_type: ScoreType | RankingScoreType
    asked: tuple[str, ...]
    costs: CostMatrix | None = None
    prior: tuple[float, ...] | None = field(default=None, repr=False)

    def of(self, **columns: pl.Expr) -> pl.Expr:
        """The struct of what is asked, row by row."""
        return pl.struct([column.alias(name) for name, column in columns.items()]).map_batches(
            self, return_dtype=self.dtype, is_elementwise=True
        )

    @property
    def dtype(self) -> pl.Struct:
        vector = pl.Array(pl.Float64, self.n_classes)
        index = pl.Int16 if max(self.n_classes, self.costs.n_decisions if self.costs else 0) < _SMALL else pl.Int32
        others = {
            CLASS: index,
            DECISION: index,
            FAULT: pl.Int8,
            CELL: pl.Int64,
            POSTERIORS: vector,
            LOG_POSTERIORS: vector,
        }
        return pl.Struct({name: others.get(name, pl.Float64) for name in self.asked})

    def __call__(self, packed: pl.Series) -> pl.Series:
        import numpy as np

        columns = {column.name: column for column in packed.struct.unnest()}
        x, missing, wrong_length = matrix_of(columns["score"], self.n_classes)
        n, prior = len(x), None
        faults = wrong_length.astype(np.int8)
        index = np.zeros(n, dtype=np.int64)
        labelled_wrong = np.zeros(n, dtype=bool)
        if "label" in columns:
            label = columns["label"]
            missing = missing | label.is_null().to_numpy()
            index = label.fill_null(0).to_numpy().astype(np.int64)
            labelled_wrong = index < 0
            index = np.maximum(index, 0)
        amount = None
        if WEIGHT in columns:
            weight = columns[WEIGHT]
            missing = missing | weight.is_null().to_numpy()
            amount = weight.fill_null(0.0).to_numpy()
            labelled_wrong = labelled_wrong | ~((amount >= 0) & np.isfinite(amount))
        if "prior" in columns:
            prior = shares_of(columns["prior"], self.n_classes)
        elif self.prior is not None:
            prior = np.array(self.prior)[None, :]
        made: dict[str, list[Numbers]] = {name: [] for name in self.asked if name not in (CLASS, FAULT)}
        with np.errstate(all="ignore"):
            for rows in self._blocks(n):
                here = prior if prior is None or len(prior) == 1 else prior[rows]
                values, wrong = self._values(x[rows], index[rows], here)
                if amount is not None:
                    values = self._weighted(values, amount[rows])
                faults[rows] |= wrong
                for name, parts in made.items():
                    parts.append(values[name])
        right = ~missing & (faults == 0) & ~labelled_wrong
        present = pl.Series(~missing) if missing.any() else None
        usable = None if right.all() else pl.Series(right)
        result = {}
        for name in self.asked:
            kept = present
            if name == CLASS:
                column = pl.Series(np.where(right, index, -1), dtype=self._dtype_of(CLASS))
            elif name == CELL:
                decision = np.concatenate(made[CELL]) if made[CELL] else np.empty(0, dtype=np.int64)
                column = pl.Series(np.where(right, (index << CELL_BITS) + decision, -(1 << CELL_BITS)))
            elif name == FAULT:
                column = pl.Series(faults)
            else:
                empty = np.empty((0, self.n_classes) if name in _VECTORS else 0)
                column = pl.Series(np.concatenate(made[name]) if made[name] else empty, dtype=self._dtype_of(name))
                kept = usable
            if kept is not None:
                column = pl.select(pl.when(kept).then(column)).to_series()
            result[name] = column.alias(name)
        return pl.DataFrame(list(result.values())).to_struct(packed.name)

    def _dtype_of(self, name: str) -> Any:
        return dict(self.dtype)[name]

    def _blocks(self, n: int) -> Iterator[slice]:
        size = rows_at_a_time(self.n_classes)
        for start in range(0, n, size):
            yield slice(start, min(start + size, n))

    def _values(self, x: Numbers, index: Numbers, prior: Numbers | None) -> tuple[dict[str, Numbers], Numbers]:
        """What is asked of a block of rows, and the bits of what is wrong with them."""
        import numpy as np

        at, logs, log_norm = np.arange(len(x)), None, None
        if self.score_type == POSTERIORS:
            q = x
            # One comparison of all rows where all are right.
            wrong = np.zeros(len(x), np.int8)
            if len(x) and not (x.min() >= 0 and x.max() <= 1):
                wrong += 2 * (~((x >= 0) & (x <= 1)).all(axis=1)).astype(np.int8)
        elif self.score_type == LOG_POSTERIORS:
            logs, q = x, np.exp(x)
            wrong = np.asarray(2 * (~(x <= TOLERANCE).all(axis=1)), np.int8)
        else:
            wrong = np.asarray(2 * (~(x < np.inf).all(axis=1)) | 4 * (x.max(axis=1) == -np.inf), np.int8)
            joint = x if prior is None else x + np.log(prior)
            log_norm = _log_sum_exp(joint)
            wrong |= 8 * (~(log_norm > -np.inf)).astype(np.int8)
            logs = joint - log_norm[:, None]
            q = np.exp(logs)
        if self.score_type in (POSTERIORS, LOG_POSTERIORS):
            wrong |= 4 * (~_sums_to_one(q)).astype(np.int8)
        values: dict[str, Numbers] = {}
        for name in {DECISION, CELL}.intersection(self.asked):
            values[name] = self._decider.decide(q)
        if LOG_LOSS in self.asked:
            if log_norm is not None:
                values[LOG_LOSS] = log_norm - joint[at, index]
            else:
                values[LOG_LOSS] = -np.log(q[at, index]) if logs is None else -logs[at, index]
        if BRIER in self.asked:
            error = q.copy()
            error[at, index] -= 1
            values[BRIER] = np.einsum("ij,ij->i", error, error) / self.n_classes
        if TOP in self.asked:
            values[TOP] = q.max(axis=1)
        if POSTERIORS in self.asked:
            values[POSTERIORS] = q
        if LOG_POSTERIORS in self.asked:
            values[LOG_POSTERIORS] = np.log(q) if logs is None else logs
        return values, wrong

    def _weighted(self, values: dict[str, Numbers], amount: Numbers) -> dict[str, Numbers]:
        """Losses times weight; a row of weight 0 counts as no row, also when its loss is infinite."""
        import numpy as np

        losses = {
            n: np.where(amount == 0, 0.0, value * amount) for n, value in values.items() if n in (LOG_LOSS, BRIER)
        }
        return {**values, **losses, WEIGHT: amount}

    @cached_property
    def _decider(self) -> Decider:
        assert self.costs is not None
        return Decider(self.costs)


class Decider:
    """Argmin over j of sum_i c_ij q_i, lowest index on ties, of many rows.

    The product of matrices sums in an order of its own, so that rounding could break a tie. Rows in which another decision is
    as good but for rounding are summed once more, class by class, as an expression sums them.
    """

    def __init__(self, costs: CostMatrix) -> None:
        import numpy as np

        matrix = np.array(costs.values)
        # Each row's maximum is subtracted from its costs: the decision stays, and 0-1 costs become an exact argmax.
        reduced = matrix - matrix.max(axis=1, keepdims=True)
        self._diagonal: Numbers | None = None
        square = costs.n_classes == costs.n_decisions
        if square and not (reduced - np.diag(np.diag(reduced))).any():
            self._diagonal = np.diag(reduced).copy()
        # Of equal columns the first is taken.
        _, first = np.unique(reduced, axis=1, return_index=True)
        self._columns = np.sort(first)
        self._costs = np.ascontiguousarray(reduced[:, self._columns])
        self._tolerance = 8 * len(matrix) * np.finfo(float).eps * float(np.abs(reduced).max())

    def decide(self, q: Numbers) -> Numbers:
        import numpy as np

        if self._diagonal is not None:
            weighed = q if (self._diagonal == -1).all() else q * -self._diagonal
            return np.asarray(weighed.argmax(axis=1), dtype=np.int32)
        expected = q @ self._costs
        decided = expected.argmin(axis=1)
        near = expected <= (expected[np.arange(len(q)), decided] + self._tolerance)[:, None]
        if np.count_nonzero(near) > len(q):
            tied = near.sum(axis=1) > 1
            decided[tied] = self._in_order(q[tied]).argmin(axis=1)
        return np.asarray(self._columns[decided], dtype=np.int32)

    def _in_order(self, q: Numbers) -> Numbers:
        import numpy as np

        total = np.zeros((len(q), self._costs.shape[1]))
        for posterior, row in zip(q.T, self._costs, strict=True):
            total += posterior[:, None] * row
        return total


def matrix_of(score: pl.Series, n_classes: int) -> tuple[Numbers, Numbers, Numbers]:
    """Rows x classes; which rows have a null; which are of another length, and 0 here."""
    import numpy as np

    n = len(score)
    if isinstance(score.dtype, pl.Struct):
        table = score.struct.unnest()
        missing = table.select(pl.any_horizontal(pl.all().is_null())).to_series().to_numpy()
        return table.fill_null(0.0).to_numpy(order="c"), missing, np.zeros(n, dtype=bool)
    missing, wrong_length = score.is_null().to_numpy(), np.zeros(n, dtype=bool)
    if isinstance(score.dtype, pl.List):
        wrong_length = (score.list.len() != n_classes).fill_null(False).to_numpy()
        if wrong_length.any() or missing.any():
            holds_null = score.list.eval(pl.element().is_null()).list.any().fill_null(False).to_numpy()
            missing = missing | holds_null
            zeros = pl.lit([0.0] * n_classes, dtype=score.dtype)
            score = pl.select(pl.when(pl.Series(~(missing | wrong_length))).then(score).otherwise(zeros)).to_series()
        score = score.list.to_array(n_classes)
    # Parts of a null vector are null as well.
    numbers = score.reshape((-1,)) if n else pl.Series([], dtype=pl.Float64)
    if numbers.null_count():
        missing = missing | numbers.is_null().to_numpy().reshape(n, n_classes).any(axis=1)
        numbers = numbers.fill_null(0.0)
    return numbers.to_numpy().reshape(n, n_classes), missing, wrong_length


def _log_sum_exp(rows: Numbers) -> Numbers:
    """The logarithm of the sum of the exponentials of each row; -inf where all are -inf."""
    import numpy as np

    top = rows.max(axis=1)
    return np.where(top == -np.inf, -np.inf, top + np.log(np.exp(rows - top[:, None]).sum(axis=1)))


def _sums_to_one(shares: Numbers) -> Numbers:
    """Which rows sum to 1 but for the tolerance; where rounding would tell, they are summed class by class, as an expression does."""
    import numpy as np

    off = np.abs(np.einsum("ij->i", shares) - 1)
    near = np.abs(off - TOLERANCE) <= 4 * shares.shape[1] * np.finfo(float).eps
    if near.any():
        off[near] = np.abs(np.cumsum(shares[near], axis=1)[:, -1] - 1)
    return np.asarray(off <= TOLERANCE)


def shares_of(prior: pl.Series, n_classes: int) -> Numbers:
    """Rows x classes; NaN where the vector is not a prior."""
    import numpy as np

    shares, missing, wrong_length = matrix_of(prior, n_classes)
    right = ((shares >= 0) & (shares <= 1)).all(axis=1) & _sums_to_one(shares)
    shares = shares.copy()
    shares[~right | missing | wrong_length] = np.nan
    return shares


def index_of(label: pl.Series, classes: Sequence[Any]) -> pl.Series:
    """The class of each label: 0..K-1, -1 where it is none, null where it is."""
    import numpy as np

    index = np.full(len(label), -1, dtype=np.int32)
    for i, value in enumerate(classes):
        index[(label == value).fill_null(False).to_numpy()] = i
    found = pl.Series(index)
    return pl.select(pl.when(label.is_not_null()).then(found)).to_series() if label.null_count() else found


def cost_of(cells: pl.Expr, costs: CostMatrix) -> pl.Expr:
    """What the decision of each row costs, from a struct of its class and decision; null where it has no class."""

    def lookup(rows: pl.Series) -> pl.Series:
        import numpy as np

        table = rows.struct.unnest()
        known = (table[CLASS].fill_null(-1) >= 0).to_numpy() & table[DECISION].is_not_null().to_numpy()
        places = [np.where(known, table[name].fill_null(0).to_numpy(), 0) for name in (CLASS, DECISION)]
        found = pl.Series(np.asarray(costs)[places[0], places[1]])
        return pl.select(pl.when(pl.Series(known)).then(found)).to_series()

    return cells.map_batches(lookup, return_dtype=pl.Float64, is_elementwise=True)


def shifted(
    score: pl.Expr, score_type: ScoreType | RankingScoreType, n_classes: int, from_: VectorPrior, to: VectorPrior
) -> pl.Expr:
    """Posteriors, or their logarithms, of the same evidence at another prior; null where there are none."""
    literal = {name: prior for name, prior in (("from", from_), ("to", to)) if isinstance(prior, tuple)}
    columns = {name: prior for name, prior in (("from", from_), ("to", to)) if isinstance(prior, pl.Expr)}
    dtype = pl.Array(pl.Float64, n_classes)

    def shift(packed: pl.Series) -> pl.Series:
        import numpy as np

        table = packed.struct.unnest()
        kernel = RowKernel(n_classes, score_type, (score_type, FAULT))
        parts = []
        for rows in table.iter_slices(rows_at_a_time(n_classes)):
            found = kernel(rows.select("score").to_struct("")).struct.unnest()
            x = matrix_of(found[score_type], n_classes)[0]
            old, new = (
                np.array(literal[name])[None, :] if name in literal else shares_of(rows[name], n_classes)
                for name in ("from", "to")
            )
            with np.errstate(all="ignore"):
                if score_type == LOG_POSTERIORS:
                    # Logarithms one by one: the quotient of a prior and a tiny one is more than a float holds.
                    joint = x + (np.log(new) - np.log(old))
                    made = joint - _log_sum_exp(joint)[:, None]
                else:
                    joint = x * (new / old)
                    made = joint / joint.sum(axis=1, keepdims=True)
            # A posterior of 1 of a class that the new prior rules out goes nowhere; so do all where there is no prior.
            right = ~np.isnan(made).any(axis=1) & (old > 0).all(axis=1)
            right &= (found[FAULT].fill_null(-1) == 0).to_numpy()
            parts.append(pl.select(pl.when(pl.Series(right)).then(pl.Series(made, dtype=dtype))).to_series())
        return pl.concat(parts) if parts else pl.Series([], dtype=dtype)

    packed = pl.struct([score.alias("score"), *(column.alias(name) for name, column in columns.items())])
    return packed.map_batches(shift, return_dtype=dtype, is_elementwise=True)
