"""What a verdict says of the scores and rows that it is made of: calibration, and what is missing or wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from polars_ec.cells.moments import floats
from polars_ec.page.contents import Contents
from polars_ec.page.costly import above, eligible, lows_around
from polars_ec.page.sentence import Sentence, groups_in, number_of, those_judged
from polars_ec.page.wording import count, listed, percent_with_limits, share

MOST_THAT_GAIN = 3


def that_gain(contents: Contents) -> list[int]:
    """The rows of the groups in which calibration by itself would gain more than noise, those first in which it would most."""
    groups = contents.groups
    if groups.height < 2 or "rcl_ci_low" not in groups.columns:
        return []
    value, low = floats(groups["rcl"]), floats(groups["rcl_ci_low"])
    never = np.zeros(groups.height, dtype=bool)
    found = above(0.0, lows_around(value, low, contents.interval), eligible(groups, "rcl"), never, contents.interval)
    return sorted(found, key=lambda i: -value[i])


def of_calibration(contents: Contents) -> Iterator[Sentence]:
    """What calibration would gain, of the whole log and of groups."""
    row = contents.total.row(0, named=True) if contents.total.height else {}
    if row.get("rcl") is None:
        return
    gain, low = percent_with_limits(row, "rcl"), row["rcl_ci_low"]
    if low is None:
        yield Sentence(
            "neutral",
            f"Calibration would take {gain} off the loss of the scores (RCL), of which nobody knows how sure it is.",
        )
    elif low > 0:
        yield Sentence("neutral", f"Calibration would take {gain} off the loss of the scores in the whole log (RCL).")
    else:
        yield Sentence(
            "good",
            f"Nothing says that calibration would make the scores of the whole log better: it would take {gain} off their loss (RCL).",
        )
    groups = contents.groups
    most = that_gain(contents)
    if most:
        rows, names = groups.to_dicts(), groups_in(contents)
        candidates = eligible(groups, "rcl")
        shown = listed([f"{names[i]} ({percent_with_limits(rows[i], 'rcl')})" for i in most], MOST_THAT_GAIN)
        yield Sentence(
            "neutral",
            f"In {len(most):,} of {those_judged(int(candidates.sum()), groups.height, 'group')} a calibration of their own would gain more than noise; most in {shown}.",
        )


def of_quality(
    groups: pl.DataFrame, total: pl.DataFrame, names: Sequence[str], what: str = "group"
) -> Iterator[Sentence]:
    """Missing and wrong rows, and small groups, which have these names; `what` they are."""
    row = total.row(0, named=True) if total.height else {"n": 0, "n_missing": 0, "n_invalid": 0}
    n, missing, invalid = (int(row[name] or 0) for name in ("n", "n_missing", "n_invalid"))
    every = n + missing + invalid
    if not every:
        return
    several = groups.height > 1
    if missing:
        counts = groups["n_missing"].to_list() if several else []
        most = max(range(len(counts)), key=lambda i: counts[i], default=None)
        where = "" if most is None else f"; most are in {names[most]} ({counts[most]:,})"
        lack = "lacks" if missing == 1 else "lack"
        out = "is" if missing == 1 else "are"
        yield Sentence(
            "neutral",
            f"{missing:,} of {count(every, 'row')} ({share(missing, every)}) {lack} a score or a label and {out} left out{where}.",
        )
    if invalid:
        places = [i for i, wrong in enumerate(groups["n_invalid"].to_list()) if wrong] if several else []
        where = f": {listed([names[i] for i in places])}" if places else ""
        wrong = "is" if invalid == 1 else "are"
        yield Sentence(
            "bad",
            f"{invalid:,} of {count(every, 'row')} {wrong} wrong, such as a posterior above 1, and what holds one has no values{where}.",
        )
    if not missing and not invalid:
        yield Sentence(
            "good",
            f"All {count(every, 'row')} have a score and a label, and none is wrong."
            if every > 1
            else "The one row is right.",
        )
    small = int(groups["small"].sum()) if several and "small" in groups.columns else 0
    if small:
        said = "its limits mean" if small == 1 else "their limits mean"
        about = "it" if small == 1 else "them"
        yield Sentence(
            "neutral",
            f"{small:,} of {number_of(groups.height, what)} {'is' if small == 1 else 'are'} small: {said} little, and nothing is said about {about}.",
        )
