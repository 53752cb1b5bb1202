"""The results of the demo, in words and tables."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl

from examples.demo.findings import (
    AFTER,
    BEFORE,
    COST_FN,
    COST_FP,
    FOLDS,
    LATE_MINUTES,
    LEVEL,
    TOLERANCE,
    TRAINING_MONTHS,
    Change,
    Demo,
    Noise,
    name_of,
)

_SHOWN = ("n", "nec", "nce", "precision", "precision_at_prior", "class_prior")
_PARTS = ("prior", "likelihood", "mix")
_NEW_LINE = "\n"


def story_of(demo: Demo, flights: pl.DataFrame, scored: pl.DataFrame) -> str:
    """All that the demo prints."""
    trained = flights.filter(pl.col("month") <= TRAINING_MONTHS).height
    n_missing = scored["late"].null_count()
    agreement = "agree" if demo.largest_difference <= TOLERANCE else "DIFFER"
    return f"""\
Flights from New York, 2013: which will arrive more than {LATE_MINUTES} minutes late?
The model was trained on {trained:,} flights from January to March, with what is known before departure.
The log has {scored.height:,} flights from April to December, in {demo.log}. Of these {n_missing:,} never arrived, so their
label is missing. A missed delay costs {COST_FN / COST_FP:g} times as much as a false alarm. The base rate of late flights is {demo.prior:.4f}:
this is the reference prior for the columns that end in _at_prior.

Per month
{_shown(demo.by_month, "time")}

Per carrier
{_shown(demo.by_carrier, "carrier")}

RCL per carrier: the percentage of the cross-entropy that affine calibration would remove ({FOLDS} folds of days)
{table_text(demo.calibration)}

The report per carrier and month has {demo.by_both.height} rows: {demo.log.parent / "report.csv"}

Precision per month, at each month's base rate and at the reference prior
{tell(demo)}

NEC minus the NEC of all other flights, with {LEVEL:.0%} confidence intervals; the day is the cluster, because its flights share the weather
{tell_noise(demo.noise)}

The DuckDB macros on the same Parquet files: the three reports {agreement} to a relative {TOLERANCE:.0e}.

Why the metrics changed from {_month(BEFORE)} to {_month(AFTER)}: {LEVEL:.0%} confidence intervals, days as clusters, carriers as strata
{tell_change(demo.change)}

Open the report page by carrier and month, and the picture of precision by month:
{_NEW_LINE.join(map(str, demo.seen))}"""


def _shown(report: pl.DataFrame, key: str) -> str:
    return table_text(report.select(key, *_SHOWN))


def tell(demo: Demo) -> str:
    """The numbers of this run in words."""
    months = demo.by_month.sort("class_prior").select(
        "class_prior", "precision", "precision_at_prior", name=pl.col("time").dt.strftime("%B")
    )
    low, high = months.row(0, named=True), months.row(-1, named=True)
    raw = low["precision"] - high["precision"]
    own = low["precision_at_prior"] - high["precision_at_prior"]
    lines = [
        f"- The base rate of late flights is {low['class_prior']:.3f} in {low['name']} and {high['class_prior']:.3f} in {high['name']}, "
        f"{high['class_prior'] / low['class_prior']:.1f} times as high.",
        f"- From {high['name']} to {low['name']} precision {_moves(raw)} from {high['precision']:.3f} to "
        f"{low['precision']:.3f}, by {abs(raw):.3f}.",
        f"- At the reference prior of {demo.prior:.3f} it {_moves(own)} from {high['precision_at_prior']:.3f} to "
        f"{low['precision_at_prior']:.3f}, by {abs(own):.3f}. The rest, {raw - own:+.3f}, is due to the base "
        "rate.",
    ]
    swapped = _swapped(months)
    pairs = months.height * (months.height - 1) // 2
    lines.append(f"- {len(swapped)} of {pairs} pairs of months change their order at the reference prior.")
    if swapped:
        a, b = max(swapped, key=lambda pair: pair[0]["precision"] - pair[1]["precision"])
        lines.append(
            f"  The largest such change is {a['name']} and {b['name']}: {a['precision']:.3f} against {b['precision']:.3f}, at the "
            f"reference prior {a['precision_at_prior']:.3f} against {b['precision_at_prior']:.3f}."
        )
    worse = demo.by_month.filter(pl.col("nec") > 1)
    lines.append(
        f"- Precision does not show costs. In {worse.height} of {demo.by_month.height} months NEC is above 1: the same decision "
        "for every flight\n  would have been cheaper."
    )
    return "\n".join(lines)


def tell_noise(noise: Noise) -> str:
    """Which carriers and months differ significantly from the rest, with days as clusters and without."""
    lines = []
    for what, key, days, independent in (
        ("carriers", "carrier", noise.carriers, noise.carriers_independent),
        ("months", "time", noise.months, noise.months_independent),
    ):
        real, believed = (_different(table, key) for table in (days, independent))
        marked = "; * near the kink of NEC: interval may be too narrow" if noise.kinked & {*real["name"]} else ""
        lines.append(f"- {real.height} of {days.height} {what} differ significantly (adjusted p below 0.05{marked}):")
        for verb, rows in (
            ("higher", real.filter(pl.col("difference") > 0)),
            ("lower", real.filter(pl.col("difference") < 0)),
        ):
            named = [
                f"{name}{'*' * (name in noise.kinked)} {d:+.2f} [{low:+.2f}, {high:+.2f}]"
                for name, d, low, high in rows.rows()
            ]
            lines += [f"  {verb}: {', '.join(named[i : i + 3])}" for i in range(0, len(named), 3)]
        lost = [name for name in believed["name"] if name not in set(real["name"])]
        lines.append(
            f"  Without days as clusters it would be {believed.height}, with {', '.join(lost) or 'none'} in addition."
        )
    times = [
        f"{_width(noise.whole, name) / _width(noise.whole_independent, name):.1f} ({name})"
        for name in ("recall", "nec", "precision")
    ]
    lines.append(f"- In the whole log, days as clusters make the intervals wider by the factors {', '.join(times)}.")
    return "\n".join(lines)


def tell_change(change: Change) -> str:
    """The parts of the change and which are significant, with days as clusters and without."""
    lines = [
        "- prior: the base rates of the carriers changed. likelihood: the scores of a carrier's late flights, or of the others,",
        "  changed. mix: the carriers' shares of the flights changed.",
    ]
    rows = zip(change.days.to_dicts(), change.independent.to_dicts(), strict=True)
    for row, believed in rows:
        largest = max(_PARTS, key=lambda part: abs(row[part]))
        lines += [
            f"- {row['metric']} {_moves(row['difference'])} from {row['value_reference']:.3f} to {row['value']:.3f}: "
            f"{_with_interval(row, 'difference')}, of which",
            "  " + ", ".join(f"{part} {_with_interval(row, part)}" for part in _PARTS) + ".",
            f"  The largest part is the {largest}. Significant: {_significant(row)}.",
            f"  Without days as clusters the change would have {_interval(believed, 'difference')}. Significant: {_significant(believed)}.",
        ]
    return "\n".join([*lines, "- The parts add up to the change. They describe it and do not prove causes."])


def _with_interval(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:+.3f} {_interval(row, name)}"


def _interval(row: dict[str, Any], name: str) -> str:
    return f"[{row[f'{name}_ci_low']:+.3f}, {row[f'{name}_ci_high']:+.3f}]"


def _significant(row: dict[str, Any]) -> str:
    """The change and its parts with intervals that exclude 0."""
    names = {"difference": "the change", **{part: part for part in _PARTS}}
    found = [said for name, said in names.items() if row[f"{name}_ci_low"] > 0 or row[f"{name}_ci_high"] < 0]
    return ", ".join(found) or "nothing"


def _month(number: int) -> str:
    return date(2013, number, 1).strftime("%B")


def _different(compared: pl.DataFrame, key: str) -> pl.DataFrame:
    """The groups that differ, the most different first."""
    found = compared.filter(pl.col("p_adjusted") < 1 - LEVEL).sort(pl.col("difference").abs(), descending=True)
    return found.select(name_of(key), "difference", "difference_ci_low", "difference_ci_high")


def _width(report: pl.DataFrame, name: str) -> float:
    return float(report.select(pl.col(f"{name}_ci_high") - pl.col(f"{name}_ci_low")).item())


def _moves(change: float) -> str:
    return "falls" if change < 0 else "rises"


def _swapped(months: pl.DataFrame) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs of months of which the first has the better precision, and the worse one at the reference prior."""
    rows = months.to_dicts()
    return [
        (a, b)
        for a in rows
        for b in rows
        if a["precision"] > b["precision"] and a["precision_at_prior"] < b["precision_at_prior"]
    ]


def table_text(table: pl.DataFrame) -> str:
    """Columns of numbers to the right, of texts to the left; floats with four decimals, days without a time, `-` for null."""
    columns = []
    for column in table.with_columns(pl.col(pl.Datetime).dt.date()):
        cells = [column.name, *map(_cell, column)]
        width = max(map(len, cells))
        columns.append([c.ljust(width) if column.dtype == pl.String else c.rjust(width) for c in cells])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
