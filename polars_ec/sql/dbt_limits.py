"""The formulas of limits for the dbt package: the levels of `ReportLimits`, as texts that `dbt_macros` puts tokens into."""

from __future__ import annotations

from typing import Any

from polars_ec.costs import CostMatrix
from polars_ec.dialects import Writer
from polars_ec.intervals.quantiles import WICHURA, normal_quantile
from polars_ec.sql.report_limits import BOUNDS_OF_SQUARES, BOUNDS_OF_SUMS, KINK, Limited, ReportLimits
from polars_ec.sql.t_quantile import TAIL

# Levels whose t is summed in the middle, and in the tail; any other level has the same formulas with other numbers.
_LEVELS = {"middle": 0.8123, "tail": 0.9510563}
MIN_ROWS = 987654321
"""A number that no formula has stands for the one that a call states."""


def numbers_of_levels() -> dict[float, str]:
    """The numbers that depend on the level, and their tokens."""
    found: dict[float, str] = {}
    for level in _LEVELS.values():
        p = 0.5 + level / 2
        found |= {float(normal_quantile(p)): "normal", abs(p - 0.5): "mass", min(p, 1 - p): "beyond"}
    return found


def parts_of_limits(names: list[str], costs: CostMatrix, writer: Writer) -> dict[str, Any]:
    """SQL texts: of levels by column, of the values, families and scales of metrics, and what else depends on a call."""

    def limits(*, level: float = _LEVELS["tail"], stated: bool = False, bounded: bool = False) -> ReportLimits:
        return ReportLimits(
            level=level,
            metrics=[Limited(name, at_prior=False, estimate="") for name in (*names, KINK)],
            shown={},
            keys=[],
            costs=costs,
            stated=stated,
            min_rows=MIN_ROWS,
            bounded=bounded,
            writer=writer,
        )

    plain, bounded = limits(), limits(bounded=True)
    families = {metric.name: metric.family for metric in plain.metrics}
    spread = {kind: list(limits(level=level).of_spread) for kind, level in _LEVELS.items()}
    places = {kind: [name for name, _ in levels] for kind, levels in spread.items()}
    start, end = (places["tail"].index(name) for name in ("ec_t_start", "ec_t_end"))
    of_t = {f"t_{kind}": dict(levels[start : places[kind].index("ec_t_end") + 1]) for kind, levels in spread.items()}
    return {
        "known": plain.known,
        "halves": plain.halves,
        "families": families,
        "scales": {metric.name: metric.scale for metric in plain.metrics},
        "moments": {family: plain.moments_of(family) for family in dict.fromkeys(families.values())},
        "within_sums": bounded.within("ec_token_x", BOUNDS_OF_SUMS),
        "within_squares": bounded.within("ec_token_x", BOUNDS_OF_SQUARES),
        "stencil": plain.table_of_steps,
        "changed": plain.changed,
        "rates": dict(plain.of_values)["ec_rates"],
        "rates_stated": dict(limits(stated=True).of_values)["ec_rates"],
        "values": {name: plain.value(name) for name in families},
        "numbers": dict(plain.of_values)["ec_numbers"],
        "numbers_from_least": dict(bounded.of_values)["ec_numbers"],
        "slopes": plain.slopes,
        "before_t": dict(spread["tail"][:start]),
        **of_t,
        "after_t": dict(spread["tail"][end + 1 :]),
        "settled": plain.settled,
        "ends": dict(plain.of_ends),
        "tail": TAIL,
        "normal_quantile": WICHURA,
    }
