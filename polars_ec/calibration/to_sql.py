"""Calibrators as one SQL expression, for warehouses that hold the rows."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_ec.calibration.parameters import Parameters
from polars_ec.dialects import WarehouseDialect, Writer, is_number, quoted

# EXP of more than 709 is an error in some engines.
_EXP_RANGE = 700


def calibration_sql(calibration: Parameters, score: str, dialect: WarehouseDialect) -> str:
    """What `Calibration.to_sql` gives."""
    writer = Writer(dialect)
    s = f"CAST({writer.expression('score', score)} AS DOUBLE)"
    keys = calibration.keys
    parameters, _ = calibration.fits(out_of_fold=False)
    table = parameters.drop_nulls("alpha" if calibration.is_affine else "log_odds")
    groups = table.partition_by(keys, maintain_order=True) if keys else [table]
    values = [_value(writer, s, calibration, group) for group in groups if group.height]
    if not values:
        return writer.write("CAST(NULL AS DOUBLE)")
    if keys:
        conditions = [" AND ".join(_equals(writer, key, group[key][0]) for key in keys) for group in groups]
        branches = " ".join(f"WHEN {c} THEN {value}" for c, value in zip(conditions, values, strict=True))
        values = [f"CASE {branches} END"]
    right = f"{s} >= 0 AND {s} <= 1" if calibration.score_type == "posterior" else is_number(s)
    return writer.write(f"CASE WHEN {right}{writer.and_not_nan(s)} THEN {values[0]} END")


def _value(writer: Writer, s: str, calibration: Parameters, parameters: pl.DataFrame) -> str:
    if calibration.is_affine:
        return _affine(writer, s, calibration.score_type, *parameters.select("alpha", "beta").row(0))
    return _steps(writer, s, parameters["above"].to_list(), parameters["log_odds"].to_list())


def _affine(writer: Writer, s: str, score_type: str, alpha: float, beta: float) -> str:
    if alpha == 0:
        return writer.number(_sigmoid(beta))
    slope, shift = writer.number(alpha), writer.number(beta)

    def calibrated(x: str) -> str:
        return f"1 / (1 + EXP(-GREATEST(-{_EXP_RANGE}, LEAST({_EXP_RANGE}, {slope} * {x} + {shift}))))"

    if score_type != "posterior":
        return calibrated(s)
    inner = f"CASE WHEN {s} > 0 AND {s} < 1 THEN {s} END"
    return f"CASE WHEN {s} = 0 THEN 0e0 WHEN {s} = 1 THEN 1e0 ELSE {calibrated(f'(LN({inner}) - LN(1 - {inner}))')} END"


def _steps(writer: Writer, s: str, above: Sequence[float], log_odds: Sequence[float]) -> str:
    lowest, *others = [writer.number(_sigmoid(z)) for z in log_odds]
    conditions = [
        f"WHEN {s} >= {writer.number(-sys.float_info.max)} THEN {q}"
        if t == -math.inf
        else f"WHEN {s} > {writer.number(t)} THEN {q}"
        for t, q in zip(above[1:], others, strict=True)
    ]
    return f"CASE {' '.join(conditions[::-1])} ELSE {lowest} END" if conditions else lowest


def _sigmoid(z: float) -> float:
    small = math.exp(-abs(z))
    return 1 / (1 + small) if z >= 0 else small / (1 + small)


def _equals(writer: Writer, key: str, value: Any) -> str:
    column = quoted(key)
    if value is None:
        return f"{column} IS NULL"
    if isinstance(value, datetime.datetime):
        return f"{column} = CAST('{value.isoformat(sep=' ')}' AS TIMESTAMP)"
    if isinstance(value, datetime.date):
        return f"{column} = CAST('{value.isoformat()}' AS DATE)"
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(
            f"the group column {key!r} holds {value!r}, which to_sql() cannot write: join the table `frame` to the rows, and "
            "use ec.affine or its formula"
        )
    return f"{column} = {writer.literal(key, value)}"
