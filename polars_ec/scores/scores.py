"""Scores of rows, and the decisions based on them.

Scores of few classes are expressions. Scores of more classes are read by one NumPy kernel, elementwise over the rows, so that it streams. Its
plan is one node for any number of classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add, and_, or_
from typing import Any, TypeAlias, TypeVar

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.scales import TOLERANCE, ScoreScale
from polars_ec.numerics import Floats, Numbers, np

VectorPrior: TypeAlias = "tuple[float, ...] | pl.Expr | None"
"""Stated shares; or a column of them, one vector a row; or none."""

_Terms = TypeVar("_Terms", pl.Expr, Floats)

CLASS, DECISION, WEIGHT, FAULT = "class", "decision", "weight", "faults"
CELL = "cell"
"""Class times decisions plus decision: lists of small integers, of many groups, are collected in a tenth of the time of those of structs."""
LOG_LOSS, BRIER, TOP = "log_loss", "brier", "top"
POSTERIORS, LOG_POSTERIORS = "posteriors", "log_posteriors"
_VECTORS = (POSTERIORS, LOG_POSTERIORS)
# Small ones, for a class and a decision a row are collected in every group.
_SMALL = 2**15

# Numbers that are worked on at a time: a few megabytes, so that they stay near the processor, in blocks that matrix
# products are good at.
_BLOCK, _LEAST_ROWS = 2**18, 512

# Multiplications of a matrix product that OpenBLAS does in one thread; and rows that are worth a product.
_LARGEST_OF_ONE_THREAD, _LEAST_OF_PRODUCT = 2**19 - 1, 16


def cell_dtype(n_cells: int) -> pl.DataType:
    """The smallest integers for `CELL`: every row of a group is collected, and in windows that overlap once for each of them."""
    return pl.Series(np.empty(0, np.min_scalar_type(-n_cells))).dtype


def rows_at_a_time(n_classes: int) -> int:
    """The number of rows of K numbers per block."""
    return max(_BLOCK // n_classes, _LEAST_ROWS)


@dataclass(frozen=True, eq=False)
class RowKernel:
    """Requested fields for vectors of K scores: any of the names above, `costs` for decisions.

    The rows are a struct of `score` and optional `label` (an index, -1 if invalid), `weight`, which multiplies losses, and `prior`. In a
    missing or invalid row all fields are null except `class`, which is -1 if invalid, and `faults`.
    """

    n_classes: int
    scale: ScoreScale
    outputs: tuple[str, ...]
    costs: CostMatrix | None = None
    prior: tuple[float, ...] | None = field(default=None, repr=False)

    def of(self, **columns: pl.Expr) -> pl.Expr:
        """The struct of the requested fields, row by row."""
        rows = pl.struct([column.alias(name) for name, column in columns.items()])
        return rows.map_batches(self, return_dtype=self.dtype, is_elementwise=True)

    @property
    def dtype(self) -> pl.Struct:
        vector = pl.Array(pl.Float64, self.n_classes)
        n_decisions = 0 if self.costs is None else self.costs.n_decisions
        index = pl.Int16 if max(self.n_classes, n_decisions) < _SMALL else pl.Int32
        others: Any = {CLASS: index, DECISION: index, FAULT: pl.Int8, CELL: cell_dtype(self.n_classes * n_decisions)}
        others |= dict.fromkeys(_VECTORS, vector)
        return pl.Struct({name: others.get(name, pl.Float64) for name in self.outputs})

    def __call__(self, packed: pl.Series) -> pl.Series:
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
            missing = missing | columns[WEIGHT].is_null().to_numpy()
            amount = columns[WEIGHT].fill_null(0.0).to_numpy()
            labelled_wrong = labelled_wrong | ~((amount >= 0) & np.isfinite(amount))
        if "prior" in columns:
            prior = shares_of(columns["prior"], self.n_classes)
        elif self.prior is not None:
            prior = np.array(self.prior)[None, :]
        computed: dict[str, list[Numbers]] = {name: [] for name in self.outputs if name not in (CLASS, FAULT)}
        with np.errstate(all="ignore"):
            # One block where there are no rows, too: it has the types.
            for start in range(0, max(n, 1), rows_at_a_time(self.n_classes)):
                rows = slice(start, start + rows_at_a_time(self.n_classes))
                here = prior if prior is None or len(prior) == 1 else prior[rows]
                values, wrong = self._values(x[rows], index[rows], here)
                if amount is not None:
                    # A row of weight 0 counts as no row, also when its loss is infinite.
                    weight = values[WEIGHT] = amount[rows]
                    for loss in {LOG_LOSS, BRIER}.intersection(values):
                        values[loss] = np.where(weight == 0, 0.0, values[loss] * weight)
                faults[rows] |= wrong
                for name, blocks in computed.items():
                    blocks.append(values[name])
        right = ~missing & (faults == 0) & ~labelled_wrong
        present = pl.Series(~missing) if missing.any() else None
        usable = None if right.all() else pl.Series(right)
        result = {}
        for name, dtype in self.dtype:
            kept = present
            if name == CLASS:
                numbers = np.where(right, index, -1)
            elif name == CELL:
                assert self.costs is not None
                numbers = np.where(right, index * self.costs.n_decisions + np.concatenate(computed[CELL]), -1)
            elif name == FAULT:
                numbers = faults
            else:
                numbers, kept = np.concatenate(computed[name]), usable
            column = pl.Series(numbers, dtype=dtype)
            if kept is not None:
                column = pl.select(pl.when(kept).then(column)).to_series()
            result[name] = column.alias(name)
        return pl.DataFrame(list(result.values())).to_struct(packed.name)

    def _values(self, x: Numbers, index: Numbers, prior: Numbers | None) -> tuple[dict[str, Numbers], Numbers]:
        """Requested fields for a block of rows, and the bits of their faults."""
        # Places of the true class among all numbers: one index is taken in a third of the time of two.
        true, logs, log_norm = np.arange(len(x)) * self.n_classes + index, None, None
        if self.scale.is_share:
            q = x
            # One comparison of all rows where all are right.
            wrong = np.zeros(len(x), np.int8)
            if len(x) and not (x.min() >= 0 and x.max() <= 1):
                wrong += 2 * (~((x >= 0) & (x <= 1)).all(axis=1)).astype(np.int8)
        elif self.scale.has_posteriors:
            logs, q = x, np.exp(x)
            wrong = np.asarray(2 * (~(x <= TOLERANCE).all(axis=1)), np.int8)
        else:
            wrong = np.asarray(2 * (~(x < np.inf).all(axis=1)) | 4 * (x.max(axis=1) == -np.inf), np.int8)
            joint = x if prior is None else x + np.log(prior)
            log_norm = _log_sum_exp(joint)
            wrong |= 8 * (~(log_norm > -np.inf)).astype(np.int8)
            logs = joint - log_norm[:, None]
            q = np.exp(logs)
        if self.scale.has_posteriors:
            wrong |= 4 * (~_sums_to_one(q)).astype(np.int8)
        values: dict[str, Numbers] = {}
        for name in {DECISION, CELL}.intersection(self.outputs):
            values[name] = self._decider.decide(q)
        if LOG_LOSS in self.outputs:
            if log_norm is not None:
                values[LOG_LOSS] = log_norm - joint.take(true)
            else:
                values[LOG_LOSS] = -np.log(q.take(true)) if logs is None else -logs.take(true)
        if BRIER in self.outputs:
            error = q.copy()
            error.reshape(-1)[true] -= 1
            values[BRIER] = np.einsum("ij,ij->i", error, error) / self.n_classes
        if TOP in self.outputs:
            values[TOP] = q.max(axis=1)
        if POSTERIORS in self.outputs:
            values[POSTERIORS] = q
        if LOG_POSTERIORS in self.outputs:
            values[LOG_POSTERIORS] = np.log(q) if logs is None else logs
        return values, wrong

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
        matrix = np.array(costs)
        # Each row's maximum is subtracted from its costs: the decision stays, and 0-1 costs become an exact argmax.
        reduced = matrix - matrix.max(axis=1, keepdims=True)
        self._diagonal: Numbers | None = None
        square = costs.n_classes == costs.n_decisions
        if square and np.count_nonzero(reduced) == np.count_nonzero(np.diag(reduced)):
            self._diagonal = np.diag(reduced).copy()
            return
        # The first of equal columns is used. To sort columns takes long, and those of a full matrix differ in the first row.
        _, first = np.unique(reduced[0], return_index=True)
        if len(first) < costs.n_decisions:
            _, first = np.unique(reduced, axis=1, return_index=True)
        self._columns = np.sort(first)
        self._costs = np.ascontiguousarray(reduced[:, self._columns])
        self._tolerance = 8 * len(matrix) * np.finfo(float).eps * float(np.abs(reduced).max())

    def decide(self, q: Numbers) -> Numbers:
        if self._diagonal is not None:
            weighed = q if (self._diagonal == -1).all() else q * -self._diagonal
            return np.asarray(weighed.argmax(axis=1), dtype=np.int32)
        expected = _product(q, self._costs)
        decided = expected.argmin(axis=1)
        near = expected <= (expected[np.arange(len(q)), decided] + self._tolerance)[:, None]
        if np.count_nonzero(near) > len(q):
            tied = near.sum(axis=1) > 1
            decided[tied] = self._in_order(q[tied]).argmin(axis=1)
        return np.asarray(self._columns[decided], dtype=np.int32)

    def _in_order(self, q: Numbers) -> Numbers:
        total = np.zeros((len(q), self._costs.shape[1]))
        for posterior, row in zip(q.T, self._costs, strict=True):
            total += posterior[:, None] * row
        return total


def _product(q: Numbers, costs: Numbers) -> Numbers:
    """`q @ costs`, so few rows at a time that BLAS has no use for threads of its own: they would wait for those of the engine."""
    size = _LARGEST_OF_ONE_THREAD // costs.size
    if size < _LEAST_OF_PRODUCT:
        return np.asarray(q @ costs)
    (n_classes, n_decisions), number = costs.shape, len(q) // size
    expected, whole = np.empty((len(q), n_decisions)), number * size
    blocks = q[:whole].reshape(number, size, n_classes)
    np.matmul(blocks, costs, out=expected[:whole].reshape(number, size, n_decisions))
    np.matmul(q[whole:], costs, out=expected[whole:])
    return expected


def matrix_of(score: pl.Series, n_classes: int) -> tuple[Numbers, Numbers, Numbers]:
    """Rows x classes; which rows have a null; which are of another length, and 0 here."""
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
    top = rows.max(axis=1)
    return np.where(top == -np.inf, -np.inf, top + np.log(np.exp(rows - top[:, None]).sum(axis=1)))


def _sums_to_one(shares: Numbers) -> Numbers:
    """Rows that sum to 1 within the tolerance; if rounding could matter, they are summed class by class, as in an expression."""
    off = np.abs(np.einsum("ij->i", shares) - 1)
    near = np.abs(off - TOLERANCE) <= 4 * shares.shape[1] * np.finfo(float).eps
    if near.any():
        off[near] = np.abs(np.cumsum(shares[near], axis=1)[:, -1] - 1)
    return np.asarray(off <= TOLERANCE)


def shares_of(prior: pl.Series, n_classes: int) -> Numbers:
    """Rows x classes; NaN where the vector is not a prior."""
    shares, missing, wrong_length = matrix_of(prior, n_classes)
    right = ((shares >= 0) & (shares <= 1)).all(axis=1) & _sums_to_one(shares)
    shares = shares.copy()
    shares[~right | missing | wrong_length] = np.nan
    return shares


def index_of(label: pl.Series, classes: Sequence[Any]) -> pl.Series:
    """The class of each label: 0..K-1, -1 for an invalid one, null for a null."""
    if label.dtype.is_integer() and set(map(type, classes)) == {int}:
        # One look-up, where there may be a thousand classes to compare the column with.
        numbers, known = label.cast(pl.Int128, strict=False), pl.Series(classes, dtype=pl.Int128)
        places = numbers.replace_strict(known, range(len(known)), default=-1, return_dtype=pl.Int32)
    else:
        index = np.full(len(label), -1, dtype=np.int32)
        for i, value in enumerate(classes):
            index[(label == value).fill_null(False).to_numpy()] = i
        places = pl.Series(index)
    return pl.select(pl.when(label.is_not_null()).then(places)).to_series() if label.null_count() else places


def cost_of(cells: pl.Expr, costs: CostMatrix) -> pl.Expr:
    """The cost of each row's decision, from a struct of its class and decision; null without a class."""

    def lookup(rows: pl.Series) -> pl.Series:
        table = rows.struct.unnest()
        known = (table[CLASS].fill_null(-1) >= 0).to_numpy() & table[DECISION].is_not_null().to_numpy()
        places = [np.where(known, table[name].fill_null(0).to_numpy(), 0) for name in (CLASS, DECISION)]
        found = pl.Series(np.asarray(costs)[places[0], places[1]])
        return pl.select(pl.when(pl.Series(known)).then(found)).to_series()

    return cells.map_batches(lookup, return_dtype=pl.Float64, is_elementwise=True)


def shifted(score: pl.Expr, scale: ScoreScale, n_classes: int, from_: VectorPrior, to: VectorPrior) -> pl.Expr:
    """Posteriors, or their logarithms, of the same evidence at another prior; null where there are none."""
    literal = {name: prior for name, prior in (("from", from_), ("to", to)) if isinstance(prior, tuple)}
    columns = {name: prior for name, prior in (("from", from_), ("to", to)) if isinstance(prior, pl.Expr)}
    dtype = pl.Array(pl.Float64, n_classes)

    def shift(packed: pl.Series) -> pl.Series:
        table = packed.struct.unnest()
        kernel = RowKernel(n_classes, scale, (scale.name, FAULT))
        blocks = []
        for rows in table.iter_slices(rows_at_a_time(n_classes)):
            read = kernel(rows.select("score").to_struct("")).struct.unnest()
            x = matrix_of(read[scale.name], n_classes)[0]
            old, new = (
                np.array(literal[name])[None, :] if name in literal else shares_of(rows[name], n_classes)
                for name in ("from", "to")
            )
            with np.errstate(all="ignore"):
                if not scale.is_share:
                    # Logarithms one by one: the quotient of a prior and a tiny one is more than a float holds.
                    joint = x + (np.log(new) - np.log(old))
                    moved = joint - _log_sum_exp(joint)[:, None]
                else:
                    joint = x * (new / old)
                    moved = joint / joint.sum(axis=1, keepdims=True)
            # A posterior of 1 of a class that the new prior rules out goes nowhere; so do all where there is no prior.
            right = ~np.isnan(moved).any(axis=1) & (old > 0).all(axis=1)
            right &= (read[FAULT].fill_null(-1) == 0).to_numpy()
            blocks.append(pl.select(pl.when(pl.Series(right)).then(pl.Series(moved, dtype=dtype))).to_series())
        return pl.concat(blocks) if blocks else pl.Series([], dtype=dtype)

    packed = pl.struct([score.alias("score"), *(column.alias(name) for name, column in columns.items())])
    return packed.map_batches(shift, return_dtype=dtype, is_elementwise=True)


# Scores of every type as row expressions: missing and invalid values, posteriors, and losses of the true class.

NEEDS_PRIOR = "score_type={!r} needs prior=, because the base rate of a group is not known while its rows are read. Pass {}, or a column that holds {}"


class Scores:
    """The interface of scores for metrics. `in_class` is one Boolean expression per class: the row's true class."""

    @property
    def missing(self) -> pl.Expr:
        raise NotImplementedError

    @property
    def defects(self) -> dict[str, pl.Expr]:
        raise NotImplementedError

    @property
    def posteriors(self) -> list[pl.Expr]:
        raise NotImplementedError

    def of_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        """`build` of the posteriors, each computed once."""
        return bind(self.posteriors, build)

    @property
    def top_posterior(self) -> pl.Expr:
        """The largest posterior."""
        return self.of_posteriors(pl.max_horizontal)

    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        """The negative natural logarithm of the posterior of the true class."""
        raise NotImplementedError

    def brier(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        """The mean square of the errors of the posteriors."""
        raise NotImplementedError


@dataclass(frozen=True)
class BinaryScores(Scores):
    """One number a row: a posterior of class 1, log-odds, (with the prior stated) an LLR, or a raw score, which has an order only."""

    score: pl.Expr
    scale: ScoreScale
    prior: list[pl.Expr] | None = None

    @property
    def missing(self) -> pl.Expr:
        return self.score.is_null()

    @property
    def defects(self) -> dict[str, pl.Expr]:
        if self.scale.needs_prior and self.prior is not None:
            return {"LLR is NaN, or its prior is not a share": self.log_odds.is_nan().fill_null(True)}
        return {self.scale.faults[0]: self.scale.is_wrong(self.score)}

    @cached_property
    def prior_log_odds(self) -> pl.Expr:
        """ln(P_1/P_0) of the stated prior."""
        if self.prior is None:
            raise ValueError(
                NEEDS_PRIOR.format(self.scale.name, "a number", "it, such as pl.col(label).mean().over(group)")
            )
        return self.prior[1].log() - self.prior[0].log()

    @cached_property
    def log_odds(self) -> pl.Expr:
        log_odds = self.scale.log_odds(self.score)
        return log_odds + self.prior_log_odds if self.scale.needs_prior else log_odds

    @property
    def posteriors(self) -> list[pl.Expr]:
        if self.scale.is_share:
            return [1 - self.scale.share(self.score), self.scale.share(self.score)]
        return [sigmoid(-self.log_odds), sigmoid(self.log_odds)]

    def true_and_other(self, in_class: Sequence[pl.Expr]) -> tuple[pl.Expr, pl.Expr]:
        """Posterior of the true class and of the other one, each without loss of small values."""
        if self.scale.is_share:
            q0, q1 = self.posteriors
            return pl.when(in_class[1]).then(q1).otherwise(q0), pl.when(in_class[1]).then(q0).otherwise(q1)
        against = self._log_odds_against(in_class)
        return sigmoid(-against), sigmoid(against)

    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        if self.scale.is_share:
            # One logarithm a row.
            true, other = self.true_and_other(in_class)
            return log_loss_of_posterior(true, other, true.log())
        against = self._log_odds_against(in_class)
        return pl.max_horizontal(against, pl.lit(0.0)) + (-against.abs()).exp().log1p()

    def brier(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        _, other = self.true_and_other(in_class)
        return other * other

    def _log_odds_against(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        return pl.when(in_class[1]).then(-self.log_odds).otherwise(self.log_odds)


@dataclass(frozen=True)
class VectorScores(Scores):
    """K numbers a row: posteriors, their logs, or (with the prior stated) log-likelihoods."""

    elements: list[pl.Expr]
    wrong_length: pl.Expr | None
    null_element: pl.Expr
    scale: ScoreScale
    prior: list[pl.Expr] | None

    @property
    def n_classes(self) -> int:
        return len(self.elements)

    @property
    def missing(self) -> pl.Expr:
        return self.null_element

    @property
    def defects(self) -> dict[str, pl.Expr]:
        wrong_length, *kinds = self.scale.faults
        if self.scale.needs_prior:
            masks = [
                reduce(or_, [~(x < math.inf) for x in self.elements]),
                pl.max_horizontal(self.elements) == -math.inf,
            ]
            if self.prior is not None:
                masks.append(~(self._log_norm > -math.inf).fill_null(False))
        else:
            wrong = [~x.is_between(0, 1) if self.scale.is_share else ~(x <= TOLERANCE) for x in self.elements]
            masks = [reduce(or_, wrong), ~((self._total - 1).abs() <= TOLERANCE)]
        found = {} if self.wrong_length is None else {wrong_length: self.wrong_length}
        return found | dict(zip(kinds, masks, strict=False))

    @property
    def _total(self) -> pl.Expr:
        return reduce(add, self.posteriors)

    @cached_property
    def _joint(self) -> list[pl.Expr]:
        if self.prior is None:
            raise ValueError(NEEDS_PRIOR.format(self.scale.name, 'one share per class, "uniform"', "them"))
        return [x + p.log() for x, p in zip(self.elements, self.prior, strict=True)]

    @cached_property
    def _log_norm(self) -> pl.Expr:
        return log_sum_exp(self._joint)

    @property
    def posteriors(self) -> list[pl.Expr]:
        if self.scale.is_share:
            return self.elements
        if self.scale.has_posteriors:
            return [x.exp() for x in self.elements]
        return [(x - self._log_norm).exp() for x in self._joint]

    def of_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        if self.scale.has_posteriors:
            return super().of_posteriors(build)
        return bind([*self._joint, self._log_norm], lambda x: bind([(x_k - x[-1]).exp() for x_k in x[:-1]], build))

    def of_log_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        """`build` of the logarithms of the posteriors."""
        if self.scale.is_share:
            return build([x.log() for x in self.elements])
        if self.scale.has_posteriors:
            return build(self.elements)
        return log_softmax(self._joint, build)

    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        if self.scale.is_share:
            return -_of_true_class(self.elements, in_class).log()
        if self.scale.has_posteriors:
            return -_of_true_class(self.elements, in_class)
        return self._log_norm - _of_true_class(self._joint, in_class)

    def brier(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        def mean_square(posteriors: list[pl.Expr]) -> pl.Expr:
            errors = [q - y.cast(pl.Float64) for q, y in zip(posteriors, in_class, strict=True)]
            return reduce(add, [error * error for error in errors]) / len(errors)

        return self.of_posteriors(mean_square)


@dataclass(frozen=True)
class DecidedScores(Scores):
    """Decisions already taken: an index a row. Posteriors and losses cannot be had from them."""

    index: pl.Expr
    names: Sequence[Any]
    n_decisions: int

    @property
    def missing(self) -> pl.Expr:
        return self.index.is_null()

    @property
    def defects(self) -> dict[str, pl.Expr]:
        whole = self.index.is_between(0, self.n_decisions - 1) & (self.index == self.index.floor())
        known = f"0..{self.n_decisions - 1}" if isinstance(self.names, range) else ", ".join(map(str, self.names))
        more = " (with more classes pass classes= or costs=)" if known == "0..1" else ""
        return {f"decision is none of {known}{more}": ~whole}

    @property
    def posteriors(self) -> list[pl.Expr]:
        raise ValueError("score_type='decision' has no posteriors, and this metric needs them")

    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr:  # noqa: ARG002
        raise ValueError("score_type='decision' has no posteriors, and a scoring rule needs them")

    brier = log_loss


def log_loss_of_posterior(true: _Terms, other: _Terms, log_true: _Terms) -> _Terms:
    """The log loss by the posteriors of the true class and of the other one, of which one is 1 minus the other, and a logarithm.

    1 - q is rounded where q is the other class's posterior: `other - (1 - true)` is exactly what the rounding lost, to first
    order what the logarithm misses, and 0 where nothing was rounded.
    """
    return other - (1 - true) - log_true


def bind(values: Sequence[pl.Expr], build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
    """`build` of the row's values, each computed once and used by name.

    Polars copies an expression wherever it is used: K posteriors, each with a norm of K terms, in K x M costs, would make
    plans of a million nodes.
    """
    names = [f"v{i}" for i in range(len(values))]
    bound = pl.struct([value.alias(name) for value, name in zip(values, names, strict=True)])
    return bound.struct.with_fields(bound=build([pl.field(name) for name in names])).struct.field("bound")


def log_sum_exp(values: Sequence[pl.Expr]) -> pl.Expr:
    """Natural logarithm of the sum of the exponentials; -inf where all values are."""

    def from_top(x: list[pl.Expr]) -> pl.Expr:
        top = x[-1]
        total = reduce(add, [(x_k - top).exp() for x_k in x[:-1]]).log()
        return pl.when(top == -math.inf).then(-math.inf).otherwise(top + total)

    return bind([*values, pl.max_horizontal(values)], from_top)


def log_softmax(values: Sequence[pl.Expr], build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
    """`build` of log posteriors, from their values up to a summand that is the same for all classes."""
    return bind([*values, log_sum_exp(values)], lambda x: build([x_k - x[-1] for x_k in x[:-1]]))


def _of_true_class(values: Sequence[pl.Expr], in_class: Sequence[pl.Expr]) -> pl.Expr:
    chosen = values[-1]
    for value, mask in zip(values[-2::-1], in_class[-2::-1], strict=True):
        chosen = pl.when(mask).then(value).otherwise(chosen)
    return chosen


def sigmoid(x: pl.Expr) -> pl.Expr:
    """1/(1 + exp(-x)), accurate in both tails."""
    small = (-x.abs()).exp()
    return pl.when(x >= 0).then(1 / (1 + small)).otherwise(small / (1 + small))


def affine_log_odds(log_odds: pl.Expr, alpha: pl.Expr, beta: pl.Expr) -> pl.Expr:
    """Alpha times the log-odds plus beta; with alpha = 0, beta also for infinite ones."""
    return pl.when(alpha == 0).then(beta + pl.when(log_odds.is_not_null()).then(0.0)).otherwise(alpha * log_odds + beta)


# Vectors of many classes: what `VectorScores` says by an expression per class, said by the kernel.

MANY = 4
"""More classes or decisions than these are read by the kernel, whose plan and time are the smaller ones.

Those of so few are nearly as fast by masks, which hold nothing of a row.
"""


@dataclass(frozen=True)
class ManyScores(Scores):
    """K numbers per row in one column, in class order: posteriors, their logarithms, or (with the prior stated) log-likelihoods.

    Fields of missing or invalid rows are null. There are no losses by masks, one per class: see `Rows.loss`.
    """

    vector: pl.Expr
    n_classes: int
    scale: ScoreScale
    prior: VectorPrior
    may_differ: bool
    """Whether vectors may have other lengths than K."""

    def ask(
        self,
        outputs: Sequence[str],
        costs: CostMatrix | None = None,
        label: pl.Expr | None = None,
        weight: pl.Expr | None = None,
    ) -> pl.Expr:
        """The struct of the requested fields of each row; `label` is an index, -1 if invalid."""
        columns = {"score": self.vector, "label": label, "weight": weight}
        literal: tuple[float, ...] | None = None
        if self.scale.needs_prior:
            # The invalid rows do not depend on the prior.
            if self.prior is None and not set(outputs) <= {CLASS, FAULT, WEIGHT}:
                raise ValueError(NEEDS_PRIOR.format(self.scale.name, 'one share per class, "uniform"', "them"))
            if isinstance(self.prior, pl.Expr):
                columns["prior"] = self.prior
            else:
                literal = self.prior
        kernel = RowKernel(self.n_classes, self.scale, tuple(outputs), costs, literal)
        return kernel.of(**{name: column for name, column in columns.items() if column is not None})

    def one(self, outputs: str, costs: CostMatrix | None = None, label: pl.Expr | None = None) -> pl.Expr:
        """One requested field of each row."""
        return self.ask([outputs], costs, label).struct.field(outputs)

    @property
    def missing(self) -> pl.Expr:
        return self.one(FAULT).is_null()

    @property
    def defects(self) -> dict[str, pl.Expr]:
        faults, kinds = self.one(FAULT), list(enumerate(self.scale.faults))
        return {kind: (faults // 2**bit) % 2 == 1 for bit, kind in (kinds if self.may_differ else kinds[1:])}

    @property
    def order(self) -> str:
        """The output that orders the rows of each class: posteriors that are as good as 0 or 1 are told apart by their logarithms."""
        return POSTERIORS if self.scale.is_share else LOG_POSTERIORS

    @property
    def posterior_vector(self) -> pl.Expr:
        """The posteriors, as one Array."""
        return self.one(POSTERIORS)

    @property
    def posteriors(self) -> list[pl.Expr]:
        return [self.posterior_vector.arr.get(k) for k in range(self.n_classes)]

    def of_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        return self._of_vector(POSTERIORS, build)

    def of_log_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        """`build` of the logarithms of the posteriors."""
        return self._of_vector(LOG_POSTERIORS, build)

    def _of_vector(self, which: str, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        if build in (pl.concat_arr, pl.concat_list):
            return self.one(which) if build is pl.concat_arr else self.one(which).arr.to_list()
        bound = self.ask([which]).struct
        elements = [pl.field(which).arr.get(k) for k in range(self.n_classes)]
        return bound.with_fields(bound=build(elements)).struct.field("bound")

    @property
    def top_posterior(self) -> pl.Expr:
        """The largest posterior."""
        return self.one(TOP)


def moved_scores(scores: Scores, from_: Any, to: Any) -> pl.Expr:
    """The result of `shift_prior` for these scores, in class order; with many classes each prior is one vector."""
    if isinstance(scores, ManyScores):
        return shifted(scores.vector, scores.scale, scores.n_classes, from_, to)
    possible = pl.all_horizontal([old > 0 for old in from_])
    moved = _shift(scores, from_, to)
    # A posterior of 1 of a class that the new prior rules out goes nowhere; so do all where there is no prior.
    nowhere = (
        moved.is_nan()
        if isinstance(scores, BinaryScores)
        else moved.arr.eval(pl.element().is_nan() | pl.element().is_null()).arr.any()
    )
    return pl.when(possible & ~nowhere).then(moved)


def _shift(scores: Scores, from_: list[pl.Expr], to: list[pl.Expr]) -> pl.Expr:
    # Logarithms one by one: the quotient of a prior and a tiny one is more than a float holds.
    if isinstance(scores, BinaryScores) and not scores.scale.is_share:
        return scores.score + ((to[1].log() - to[0].log()) - (from_[1].log() - from_[0].log()))
    if isinstance(scores, VectorScores) and not scores.scale.is_share:
        joint = [x + (new.log() - old.log()) for x, old, new in zip(scores.elements, from_, to, strict=True)]
        return log_softmax(joint, pl.concat_arr)
    joint = [q * (new / old) for q, old, new in zip(scores.posteriors, from_, to, strict=True)]
    if isinstance(scores, BinaryScores):
        return scores.scale.of_share(joint[1] / (joint[0] + joint[1]))
    return bind([*joint, reduce(add, joint)], lambda x: pl.concat_arr([x_k / x[-1] for x_k in x[:-1]]))


# Decisions for rows: by threshold, or by Bayes' rule for the costs.


@dataclass(frozen=True)
class Decisions:
    """The decision of each row: its index, or (two decisions) whether it is decision 1."""

    n_decisions: int
    positive: pl.Expr | None = None
    number: pl.Expr | None = None
    is_number: Callable[[int], pl.Expr] | None = None
    """Whether the row's decision is this one, where that is found sooner than by `number`."""

    def among(self, chosen: Collection[int]) -> pl.Expr:
        """Whether the row's decision is one of `chosen`; null without a decision."""
        others = [j for j in range(self.n_decisions) if j not in chosen]
        if len(others) < len(chosen):
            return ~reduce(or_, map(self._is, others)) if others else ~self._is(0) | self._is(0)
        # With one decision there is no other to choose.
        return reduce(or_, map(self._is, sorted(chosen))) if chosen else ~self._is(0) & self._is(0)

    @property
    def index(self) -> pl.Expr:
        """Int32 index of the decision; null without a decision."""
        if self.positive is not None:
            return self.positive.cast(pl.Int32)
        assert self.number is not None
        # NaN is no decision.
        return self.number.cast(pl.Int32, strict=False)

    def _is(self, j: int) -> pl.Expr:
        if self.positive is not None:
            return self.positive if j == 1 else ~self.positive
        assert self.number is not None
        return self.number == j if self.is_number is None or j >= self.n_decisions else self.is_number(j)


@dataclass(frozen=True)
class RowCosts:
    """The cost of an error in each row: of a miss for a positive, of a false alarm for a negative."""

    fn: pl.Expr
    fp: pl.Expr

    def of_error(self, i: int) -> pl.Expr:
        """Cost of an error in class i."""
        return self.fn if i == 1 else self.fp

    def favour_positive(self, scores: Scores) -> pl.Expr:
        """Whether deciding 1 is cheaper, if the posteriors are right."""
        if isinstance(scores, BinaryScores):
            if scores.scale.is_share:
                return scores.scale.share(scores.score) > self._threshold
            return scores.score > self._log_odds - (scores.prior_log_odds if scores.scale.needs_prior else 0.0)
        return scores.of_posteriors(lambda q: self.fn * q[1] > self.fp * q[0])

    @property
    def _threshold(self) -> pl.Expr:
        """`CostMatrix.bayes_threshold` row by row."""
        total, half = self.fp + self.fn, self.fp / 2 + self.fn / 2
        share = pl.when(total.is_finite()).then(self.fp / total).otherwise(self.fp / 2 / half)
        return pl.when(total == 0).then(1.0).otherwise(share)

    @property
    def _log_odds(self) -> pl.Expr:
        """`CostMatrix.bayes_log_odds` row by row."""
        ratio = self.fp / self.fn
        sound = (ratio > 0) & ratio.is_finite()
        logarithm = pl.when(sound).then(ratio.log()).otherwise(self.fp.log() - self.fn.log())
        return pl.when(self.fn == 0).then(math.inf).otherwise(logarithm)


def decision_faults(threshold: float | pl.Expr | None, costs: RowCosts | None) -> dict[str, pl.Expr]:
    """Masks of the kinds of invalid thresholds and costs in columns; never null."""
    faults = {}
    if isinstance(threshold, pl.Expr):
        faults["threshold is null or NaN"] = ~threshold.is_not_nan().fill_null(False)
    if costs is not None:
        for name, cost in (("cost_fn", costs.fn), ("cost_fp", costs.fp)):
            sound = (cost >= 0) & cost.is_finite()
            faults[f"{name} is null, NaN, negative or infinite"] = ~sound.fill_null(False)
    return faults


def decide(
    scores: Scores, costs: CostMatrix, threshold: float | pl.Expr | None, row_costs: RowCosts | None = None
) -> Decisions:
    """Threshold decisions where a threshold is given, Bayes decisions for the costs elsewhere.

    Where there are `row_costs`, `costs` only have their shape.
    """
    if isinstance(scores, DecidedScores):
        if threshold is not None:
            raise ValueError("threshold= is for scores, but score_type='decision' has decisions already: leave it out")
        return Decisions(costs.n_decisions, number=scores.index)
    if threshold is not None:
        if not isinstance(scores, BinaryScores):
            raise ValueError("threshold= is for one score per row: pass costs= to decide on vectors")
        if (costs.n_classes, costs.n_decisions) != (2, 2):
            raise ValueError(f"threshold= makes 2 decisions, but costs= has {costs.n_decisions}")
        return Decisions(2, positive=scores.score > threshold)
    if row_costs is not None:
        return Decisions(2, positive=row_costs.favour_positive(scores))
    if isinstance(scores, BinaryScores) and (costs.n_classes, costs.n_decisions) == (2, 2):
        positive = _bayes_positive(scores, costs)
        if positive is not None:
            return Decisions(2, positive=positive)
    if isinstance(scores, ManyScores):
        return Decisions(costs.n_decisions, number=scores.one(DECISION, costs))
    cheapest = scores.of_posteriors(lambda q: pl.concat_arr(_expected(q, costs)).arr.arg_min().cast(pl.Int32))

    def is_cheapest(j: int) -> pl.Expr:
        return scores.of_posteriors(lambda q: _is_least(_expected(q, costs), j))

    return Decisions(costs.n_decisions, number=cheapest, is_number=is_cheapest)


def _bayes_positive(scores: BinaryScores, costs: CostMatrix) -> pl.Expr | None:
    """Whether deciding 1 is cheaper, by a threshold on the scores' own scale; None if there is none."""
    try:
        threshold = pl.lit(scores.scale.bayes_threshold(costs))
    except ValueError:
        return _reversed_positive(scores, costs)
    return scores.score > (threshold - scores.prior_log_odds if scores.scale.needs_prior else threshold)


def _reversed_positive(scores: BinaryScores, costs: CostMatrix) -> pl.Expr | None:
    """Whether class 1 is decided where being right costs more than an error: below the threshold of the other decisions."""
    (c00, c01), (c10, c11) = costs.values
    if c00 <= c01 or c11 < c10:
        return None
    other = CostMatrix([[c01, c00], [c11, c10]])
    if scores.scale.is_share:
        return scores.scale.share(scores.score) < other.bayes_threshold()
    return scores.log_odds < other.bayes_log_odds()


def _expected(posteriors: list[pl.Expr], costs: CostMatrix) -> list[pl.Expr]:
    """sum_i c_ij q_i of each decision j, less the same for all.

    Each row's maximum is subtracted from its costs: the decision stays, and 0-1 costs become an exact argmax, where
    rounding cannot break a tie.
    """
    reduced = [[c - max(row) for c in row] for row in costs.values]
    expected = []
    for j in range(costs.n_decisions):
        terms = [q * row[j] for q, row in zip(posteriors, reduced, strict=True) if row[j] != 0]
        expected.append(reduce(add, terms) if terms else posteriors[0] * 0.0)
    return expected


def _is_least(values: list[pl.Expr], j: int) -> pl.Expr:
    """Whether value j is the least, the first one of those that are the same."""
    return reduce(and_, [values[j] < x if k < j else values[j] <= x for k, x in enumerate(values) if k != j])
