"""Portable SQL that depends on the kind of score, in the queries over a log."""

from __future__ import annotations

from collections.abc import Mapping

from polars_ec.arguments.scales import DECISION, ScoreScale
from polars_ec.output.dialects import is_number
from polars_ec.records import dataclass, field
from polars_ec.sketches.grid import RANGE, RAW_RANGE

_EXP_RANGE = 745  # exp(-x) is 0 beyond


@dataclass(frozen=True)
class Kind:
    """Conditions and columns of the usable rows, each level based on the previous one."""

    valid: str
    bin: str
    usable: Mapping[str, str] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)
    sums: Mapping[str, str] = field(default_factory=dict)


def _of_shares(scale: ScoreScale, resolution: int) -> Kind:
    """1 - p is rounded where p is small; p - (1 - (1 - p)) is exactly what the rounding lost."""
    log_odds, given, share = "(ec_loss_0 - ec_loss_1)", scale.share_sql("ec_score"), scale.share_sql("ec_used")
    inner = f"CASE WHEN ec_class >= 0 AND {given} > 0 AND {given} < 1 THEN {given} END"
    return Kind(
        valid=scale.valid_sql("ec_score"),
        usable={"ec_inner": inner},
        logs={"ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)", "ec_loss_1": "-LN(ec_inner)"},
        bin=_log_odds_bin(log_odds, resolution, f"{share} <= 0", f"{share} >= 1"),
        sums={
            "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
            "ec_error": f"CASE WHEN ec_class = 1 THEN 1 - {share} ELSE {share} END",
            "ec_posterior": share,
        },
    )


def log_odds_kind(resolution: int, largest: str, log_odds: str = "ec_score") -> Kind:
    """Conditions and columns of scores that are log-odds, or of which `log_odds` are made.

    With e = exp(-|x|), the likelier class has posterior 1 / (1 + e), the other one e / (1 + e).

    The last term of the loss is what 1 + e lost by rounding.
    """
    return Kind(
        valid=is_number(log_odds),
        usable={
            "ec_finite": f"CASE WHEN ec_class >= 0 AND {log_odds} >= -{largest} AND {log_odds} <= {largest} THEN {log_odds} END",
            "ec_against": f"CASE WHEN ec_class = 1 THEN -{log_odds} WHEN ec_class = 0 THEN {log_odds} END",
        },
        logs={
            "ec_finite": "ec_finite",
            "ec_against": "ec_against",
            "ec_exp": f"CASE WHEN ABS(ec_finite) < {_EXP_RANGE} THEN EXP(-ABS(ec_finite)) ELSE 0 END",
        },
        bin=_log_odds_bin("ec_finite", resolution, "ec_used < 0", "ec_used > 0"),
        sums={
            "ec_log_loss": "CASE WHEN ec_finite IS NOT NULL THEN CASE WHEN ec_against > 0 THEN ec_against ELSE 0 END "
            "+ LN(1 + ec_exp) - (1 + ec_exp - 1 - ec_exp) / (1 + ec_exp) END",
            "ec_error": "CASE WHEN ec_against > 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END",
            "ec_posterior": "CASE WHEN ec_used >= 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END",
        },
    )


def _of_raw_scores(resolution: int, largest: str) -> Kind:
    offset = RAW_RANGE * resolution + 1
    size_bin = f"CAST(FLOOR({resolution} * ec_log_size) AS INT) + {offset}"
    infinite = 2 * offset
    return Kind(
        valid=is_number("ec_score"),
        usable={
            "ec_size": f"CASE WHEN ec_class >= 0 AND ABS(ec_score) > 0 AND ABS(ec_score) <= {largest} "
            "THEN ABS(ec_score) END"
        },
        logs={"ec_log_size": "LN(ec_size)"},
        bin=f"CASE WHEN ec_log_size IS NOT NULL THEN CASE WHEN ec_used > 0 THEN {size_bin} ELSE -({size_bin}) END "
        f"WHEN ec_used > 0 THEN {infinite} WHEN ec_used < 0 THEN {-infinite} WHEN ec_class >= 0 THEN 0 END",
    )


DECISIONS_TAKEN = Kind(valid="(ec_score = 0 OR ec_score = 1)", bin="")
"""For scores that are decisions already, without bins and losses."""


def kind_of(scale: ScoreScale, resolution: int, largest: str) -> Kind:
    """Conditions and columns of the scores of a scale; LLRs are at even prior."""
    if scale is DECISION:
        return DECISIONS_TAKEN
    if scale.is_share:
        return _of_shares(scale, resolution)
    return (_of_raw_scores if scale.has_order_only else log_odds_kind)(resolution, largest)


def _log_odds_bin(log_odds: str, resolution: int, minus_infinity: str, plus_infinity: str) -> str:
    edge = RANGE * resolution
    return (
        f"CASE WHEN {log_odds} >= {-RANGE} AND {log_odds} < {RANGE} THEN CAST(FLOOR({log_odds} * {resolution}) AS INT) "
        f"WHEN {log_odds} < {-RANGE} THEN {-edge - 1} WHEN {log_odds} >= {RANGE} THEN {edge} "
        f"WHEN {minus_infinity} THEN {-edge - 2} WHEN {plus_infinity} THEN {edge + 1} END"
    )
