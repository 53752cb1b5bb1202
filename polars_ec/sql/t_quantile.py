"""The quantile of t at a level that is a constant, by degrees of freedom in a column: in portable SQL, a level for each part of a step."""

from __future__ import annotations

import math

from polars_ec.dialects import Writer
from polars_ec.intervals.quantiles import normal_quantile
from polars_ec.sql.macro_formulas import MacroFormulas
from polars_ec.sql.portable_formulas import portable

_STEPS = 3
# As in the macro: of less mass beyond, the tail is summed.
TAIL = 0.03


def t_levels(p: float, degrees: str, writer: Writer) -> list[tuple[str, dict[str, str]]]:
    """The levels, each with the columns that it adds, of which the last one is `ec_t`: the quantile at p > 0.5."""
    normal = float(normal_quantile(p))
    if normal == 0 or math.isinf(normal):
        # t is what the normal quantile is, with however many degrees of freedom.
        return [("ec_t_end", {"ec_t": writer.infinity if normal else writer.number(0.0)})]
    formulas = MacroFormulas({})

    def of(name: str, **arguments: str) -> str:
        return portable(formulas.of(name, arguments), writer)

    n = {"n": degrees}
    levels = [("ec_t_start", {"ec_k": of("_t_constant", **n), "ec_z0": of("_t_start", normal=repr(normal), **n)})]
    beyond, is_tail = min(p, 1 - p), min(p, 1 - p) < TAIL
    for i in range(_STEPS):
        at, hazard = {"z": f"ec_z{i}", **n, "k": "ec_k"}, "0"
        if is_tail:
            log_tail = f"ec_log_tail{i}"
            levels.append((f"ec_tails{i}", {log_tail: of("_t_log_tail", **at)}))
            hazard = formulas.of("_t_hazard", {**at, "log_tail": log_tail})
            given = {"log_tail": log_tail, "hazard": hazard, "beyond": repr(beyond)}
            step = formulas.of("_t_tail_step", given)
        else:
            levels.append((f"ec_steps{i}", {f"ec_step{i}": of("_t_middle_step", mass=repr(abs(p - 0.5)), **at)}))
            step = f"ec_step{i}"
        levels.append((f"ec_moved{i}", {f"ec_z{i + 1}": of("_t_step", z=f"ec_z{i}", step=step, hazard=hazard, **n)}))
    return [*levels, ("ec_t_end", {"ec_t": of("_t_of", z=f"ec_z{_STEPS}", **n)})]
