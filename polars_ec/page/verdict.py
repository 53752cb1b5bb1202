"""What a page, or a report, says in plain sentences: what is more than noise, and that the rest may be noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_ec.cells.moments import floats
from polars_ec.formulas.directions import lower_is_better
from polars_ec.page.contents import Contents
from polars_ec.page.costly import above, costly_groups, eligible, lows_of_loss
from polars_ec.page.sentence import KINK, NEC, Sentence, groups_in, names_in, number_of, those_judged
from polars_ec.page.told_changes import of_changes, of_history, of_rest
from polars_ec.page.told_rows import of_calibration, of_quality
from polars_ec.page.wording import count, listed, number_in_sentence, with_limits
from polars_ec.words import in_words, naive_value, short


def sentences(contents: Contents) -> list[Sentence]:
    """The verdict of a page: each sentence can be understood alone, and none calls noise a finding."""
    return [
        *of_the_whole(
            contents.total.row(0, named=True) if contents.total.height else {}, contents.metrics, contents.interval
        ),
        *_of_costly(contents),
        *of_rest(contents),
        *of_changes(contents),
        *of_history(contents),
        *of_calibration(contents),
        *of_quality(contents.groups, contents.total, groups_in(contents)),
    ]


def of_report(
    table: pl.DataFrame, keys: Sequence[str], period: str | None, metric: str = NEC, interval: float | None = None
) -> list[Sentence]:
    """The verdict of a table that `report` gave: which groups, or groups and periods, cost more than treating all cases alike.

    `interval` is the level of its limits. Without them nobody can say which is more than noise, and the verdict says how to ask. Of
    metrics but those that are 1 where all cases are treated alike there is no verdict.
    """
    if naive_value(metric) != 1 or not lower_is_better(metric) or metric not in table.columns:
        return []
    by = [*keys, *([] if period is None else [period])]
    is_total = pl.col("total") if "total" in table.columns else pl.lit(value=not by)
    rows, total = table.filter(~is_total), table.filter(is_total)
    has_limits = interval is not None and f"{metric}_ci_low" in table.columns
    found = [
        s for row in total.head(1).to_dicts() for s in of_the_whole(row, [metric], interval if has_limits else None)
    ]
    names = names_in(rows, keys, period)
    what = "group" if period is None else "group and period" if keys else "period"
    if rows.height:
        level = interval if has_limits else None
        found += _above_one(rows, names, metric, level, what)
    if {"n_missing", "n_invalid"} <= {*table.columns}:
        whole = total if total.height else rows.select(pl.col("n", "n_missing", "n_invalid").sum())
        found += of_quality(rows, whole, names, what)
    return found


def of_the_whole(row: dict[str, Any], metrics: Sequence[str], level: float | None) -> Iterator[Sentence]:
    """Whether all decisions together are worth their while, and the main metric if that is another one."""
    if not row.get("n") and not row.get("n_invalid"):
        missing = row.get("n_missing") or 0
        yield Sentence("bad", f"There is nothing to judge: {count(missing, 'row')}, none with a score and a label.")
        return
    if NEC in metrics:
        yield _cost(row, level)
    main = metrics[0]
    if main != NEC and row.get(main) is not None:
        naive = naive_value(main)
        beside = "" if naive is None else f"; a system that treats all cases alike has {number_in_sentence(naive)}"
        yield Sentence("neutral", f"{in_words(main)} of all rows together is {with_limits(row, main, naive)}{beside}.")


def _cost(row: dict[str, Any], level: float | None) -> Sentence:
    value, low, high = (row.get(f"nec{end}") for end in ("", "_ci_low", "_ci_high"))
    if value is None:
        why = (
            f"{count(row['n_invalid'], 'row')} of the log {'is' if row['n_invalid'] == 1 else 'are'} wrong"
            if row.get("n_invalid")
            else "all rows are of one class, or treating all cases alike costs nothing"
        )
        return Sentence(
            "neutral", f"Whether the decisions cost less than treating all cases alike is not known: {why}."
        )
    in_brackets = "" if level is None or low is None else f"; in brackets {100 * level:g}% limits"
    value_and_limits, name = with_limits(row, "nec", 1.0), f"(NEC{in_brackets})"
    measure = f"{value_and_limits} times as much {name}"
    kink = KINK if row.get("nec_kinked") else ""
    if low is None or high is None:
        return Sentence(
            "neutral",
            f"In the whole log the decisions cost {value_and_limits} times what treating all cases alike would {name}; how sure that is, "
            "is not known.",
        )
    if low > 1:
        return Sentence(
            "bad", f"In the whole log the decisions cost more than treating all cases alike: {measure}.{kink}"
        )
    if high < 1:
        return Sentence(
            "good", f"In the whole log the decisions cost less than treating all cases alike: {measure}.{kink}"
        )
    return Sentence(
        "neutral",
        f"These rows do not tell whether the decisions cost less than treating all cases alike: {measure}.{kink}",
    )


def _of_costly(contents: Contents) -> Iterator[Sentence]:
    if NEC not in contents.metrics or contents.groups.height < 2:
        return
    names = groups_in(contents)
    yield from _said_above_one(contents.groups, names, NEC, contents.costly, "group")


def _above_one(
    table: pl.DataFrame, names: Sequence[str], metric: str, level: float | None, what: str
) -> Iterator[Sentence]:
    """Which rows of a report are above 1: by their limits, or as far as can be said without."""
    if level is not None:
        lows = lows_of_loss(table, metric, level)
        found = (
            costly_groups(table, lows, level)
            if metric == NEC
            else above(1.0, lows, eligible(table, metric), np.zeros(table.height, dtype=bool), level)
        )
        yield from _said_above_one(table, names, metric, found, what)
        return
    value = floats(table[metric])
    known, over = ~np.isnan(value), [int(i) for i in np.flatnonzero(value > 1)]
    of_all = f"of {number_of(int(known.sum()), what)}"
    if not over:
        yield Sentence(
            "neutral",
            f"None {of_all} {_DEARER[metric == NEC][0]} ({short(metric)} at most 1); how sure that is, --interval 0.95 tells.",
        )
        return
    worst = sorted(over, key=lambda i: -value[i])
    shown = listed([f"{names[i]} ({number_in_sentence(value[i], 1.0)})" for i in worst])
    verb = _DEARER[metric == NEC][0 if len(over) == 1 else 1]
    yield Sentence(
        "neutral",
        f"{len(over):,} {of_all} {verb} ({short(metric)} above 1): {shown}. Which of them by more than noise, --interval 0.95 tells.",
    )


_DEARER = {
    True: ("costs more than treating all cases alike", "cost more than treating all cases alike"),
    False: ("is above 1", "are above 1"),
}


def _said_above_one(
    table: pl.DataFrame, names: Sequence[str], metric: str, found: Sequence[int], what: str
) -> Iterator[Sentence]:
    looked_at = int(eligible(table, metric).sum())
    one, many = _DEARER[metric == NEC]
    if not looked_at:
        yield Sentence("neutral", f"Of no {what} can be said whether it {one}: they are small, or have no limits.")
        return
    of_all = f"of {those_judged(looked_at, table.height, what)}"
    if found:
        rows = table.select(f"^{metric}(_ci_low|_ci_high)?$").to_dicts()
        worst = sorted(found, key=lambda i: -rows[i][metric])
        shown = listed([f"{names[i]} ({short(metric)} {with_limits(rows[i], metric, 1.0)})" for i in worst])
        yield Sentence("bad", f"{len(found):,} {of_all} {one if len(found) == 1 else many}, beyond noise: {shown}.")
        return
    over = int(((floats(table[metric]) > 1) & eligible(table, metric)).sum())
    chance = f"; {over:,} {'has' if over == 1 else 'have'} {short(metric)} above 1, which may be chance" if over else ""
    yield Sentence("good", f"None {of_all} {one} beyond noise{chance}.")
