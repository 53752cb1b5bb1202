"""Simulated years of daily looks: how often alarms are false, and how soon a real change is seen, against intervals that are looked at daily.

Beside them confidence sequences: how often they miss the mean of the days so far, how wide they are, and how soon they exclude the bound.

`python -m tests.test_alarm_years` prints the figures of docs/explanation/confidence-intervals.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

import polars_ec as ec

DAYS, PRIOR, FPR = 365, 0.2, 0.1
RECALL, WORSE = 0.7, 0.6


@dataclass(frozen=True)
class Setting:
    """Days of so many rows, perhaps in sessions whose rows are correlated, at the bound of a gate, and from `change` on worse. `better`: the gate is for better values."""

    name: str
    rows: int
    metric: str
    test: str = "interval"
    sessions: int | None = None
    change: int | None = None
    better: bool = False
    seed: int = 1

    @property
    def side(self) -> dict[str, float]:
        """The true value as the bound: of the recall, or of NEC at the reference prior."""
        return {"below" if (self.metric == "recall") != self.better else "above": self.truth(RECALL)}

    def truth(self, recall: float) -> float:
        """The true value of the metric at this recall."""
        return recall if self.metric == "recall" else ((1 - recall) * PRIOR + FPR * (1 - PRIOR)) / PRIOR

    def truths(self, days: int) -> np.ndarray:
        """The true value of each day."""
        change = days if self.change is None else self.change
        return np.where(np.arange(days) >= change, self.truth(WORSE), self.truth(RECALL))

    def log(self, years: int, days: int) -> pl.DataFrame:
        rng, n = np.random.default_rng(self.seed), years * days * self.rows
        year = np.repeat(np.arange(years, dtype=np.int32), days * self.rows)
        day = np.tile(np.repeat(np.arange(days, dtype=np.int32), self.rows), years)
        label, noise, session = rng.random(n) < PRIOR, rng.normal(size=n), np.arange(n)
        if self.sessions is not None:
            session = (year * days + day) * self.sessions + rng.integers(0, self.sessions, n)
            noise = np.sqrt(0.3) * rng.normal(size=years * days * self.sessions)[session] + np.sqrt(0.7) * noise
        recall = np.where(day >= (days if self.change is None else self.change), WORSE, RECALL)
        share = np.where(label, recall, FPR)
        # Decided by chance, with the right share of positives.
        limits = {value: NormalDist().inv_cdf(1 - value) for value in (RECALL, WORSE, FPR)}
        decided = noise > np.select([share == value for value in limits], list(limits.values()))
        return pl.DataFrame({"year": year, "day": day, "y": label, "p": decided * 0.8 + 0.1, "session": session})


@dataclass(frozen=True)
class Sequences:
    """The confidence sequences of the mean in simulated years, (years, days), with the true mean of the days so far. `noise`: the error of one day."""

    low: np.ndarray
    high: np.ndarray
    truth: np.ndarray
    noise: float

    @property
    def missed(self) -> float:
        """The share of years in which the true mean was outside on any day."""
        return float(((self.truth < self.low) | (self.truth > self.high)).any(axis=1).mean())

    def widths(self, days: tuple[int, ...]) -> list[float]:
        """The mean width after so many days, beside that of an interval of the mean for one look; days are alike."""
        for_one_look = 2 * NormalDist().inv_cdf(0.975) * self.noise
        return [float((self.high - self.low)[:, day - 1].mean() / for_one_look * day**0.5) for day in days]


def looks(setting: Setting, years: int, days: int, level: float = 0.95) -> tuple[dict[str, np.ndarray], Sequences]:
    """Whether each rule raises an alarm, (years, days), and the confidence sequences."""
    log, metric = setting.log(years, days), setting.metric.removesuffix("_at_prior")
    cluster = None if setting.sessions is None else "session"
    shown = {}
    for name, of_interval in (("interval", level), ("one a year", 1 - 2 / DAYS)):
        report = log.ec.report(
            "p", "y", by=["year", "day"], metrics=[metric], prior=PRIOR, interval=of_interval, cluster=cluster
        ).sort("year", "day")
        above = setting.side.get("above")
        beyond = (
            report[f"{setting.metric}_ci_low"] > above
            if above is not None
            else report[f"{setting.metric}_ci_high"] < setting.side["below"]
        )
        shown[name] = beyond.fill_null(value=False).to_numpy().reshape(years, days)
        if name == "interval":
            arguments = {"period": "day", "looks": DAYS, "interval": level, "test": setting.test, **setting.side}
            # Each year is a log of its own.
            tables = pl.concat(ec.alarms(year, setting.metric, **arguments) for year in report.partition_by("year"))
            # Of counts, every row counts once.
            rows = report["n"] * report["class_prior"] if setting.test == "counts" else 0 * report["n"] + 1
            columns = tables.select("alarm", "mean_ci_low", "mean_ci_high", setting.metric, rows=rows)
            shown["alarms"], low, high, value, weight = (of.to_numpy().reshape(years, days) for of in columns)
            truth = (weight * setting.truths(days)).cumsum(axis=1) / np.fmax(weight.cumsum(axis=1), 1)
            noise = float(np.nanstd(weight * (value - setting.truths(days))) / weight.mean())
            shown["sequence"] = low > above if above is not None else high < setting.side["below"]
    return shown, Sequences(low, high, truth, noise)


def mean_run(alarms: np.ndarray) -> float:
    """The mean number of looks until a first alarm, from years that end before some of them."""
    first = np.where(alarms.any(axis=1), alarms.argmax(axis=1) + 1, alarms.shape[1])
    return float(first.sum() / max(alarms.any(axis=1).sum(), 1))


def mean_delays(shown: dict[str, np.ndarray], change: int) -> dict[str, float]:
    """The mean number of looks from a change to an alarm; of what lasts, in years without an alarm before."""
    lasting = {name: shown[name][:, :change].any(axis=1) for name in ("alarms", "sequence")}
    return {
        name: mean_run(alarms[~lasting[name] if name in lasting else slice(None), change:])
        for name, alarms in shown.items()
    }


SETTINGS = [
    Setting("NEC, 100 rows", 100, "nec_at_prior"),
    Setting("NEC, 500 rows", 500, "nec_at_prior"),
    Setting("NEC, 400 rows in 40 sessions", 400, "nec_at_prior", sessions=40),
    Setting("recall, 100 rows, by counts", 100, "recall", "counts"),
    Setting("recall, 20 rows, by counts", 20, "recall", "counts"),
    Setting("recall, 400 rows in 40 sessions", 400, "recall", sessions=40),
]
FEW = [Setting(f"NEC, 200 rows in {n} sessions", 200, "nec_at_prior", sessions=n) for n in (8, 20)]
RATIOS = [Setting(f"NEC at its own prior, {n} rows", n, "nec") for n in (100, 500)]


@pytest.mark.slow
@pytest.mark.parametrize("setting", [*SETTINGS, *FEW], ids=lambda setting: setting.name)
def test_false_alarms_are_as_rare_as_promised(setting: Setting) -> None:
    """At the bound itself, where they are most frequent: 365 looks or more in the mean, where an interval of some rows takes 20 to 55."""
    shown, sequences = looks(setting, years=50, days=DAYS)
    assert mean_run(shown["alarms"]) > DAYS
    assert sequences.missed <= 0.1
    if setting in SETTINGS and setting.rows >= 100:
        assert 15 < mean_run(shown["interval"]) < 60


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_change_is_seen_sooner_than_by_an_interval_with_as_few_false_alarms(setting: Setting) -> None:
    shown, sequences = looks(replace(setting, change=60), years=50, days=260)
    delays = mean_delays(shown, 60)
    assert delays["alarms"] < min(delays["one a year"], delays["sequence"])
    assert sequences.missed <= 0.1


def of_few_clusters(years: int = 100) -> Iterator[str]:
    for setting in (replace(of, better=better) for of in FEW for better in (False, True)):
        shown, sequences = looks(setting, years, DAYS)
        side = "better" if setting.better else "worse"
        yield f"{setting.name}, {side} than the bound: mean run {mean_run(shown['alarms']):.0f}, means missed {sequences.missed:.2f}"


def of_ratios(years: int = 100) -> Iterator[str]:
    for setting in RATIOS:
        yield f"{setting.name}: means missed {looks(setting, years, DAYS)[1].missed:.2f}"


def figures(years: int = 100) -> Iterator[str]:
    for setting in SETTINGS:
        null, sequences = looks(setting, years, DAYS)
        runs = {name: f"{mean_run(alarms):.0f}" for name, alarms in null.items()}
        share = {name: f"{alarms.any(axis=1).mean():.2f}" for name, alarms in null.items()}
        widths = ", ".join(f"{width:.2f}" for width in sequences.widths((7, 30, DAYS)))
        yield f"{setting.name}: mean run {runs}, years with a false alarm {share}, means missed {sequences.missed:.2f}, widths {widths}"
        for change, days in ((60, 260), (0, 200)):
            changed, sequences = looks(replace(setting, change=change, seed=2), years, days)
            delays = {name: f"{delay:.1f}" for name, delay in mean_delays(changed, change).items()}
            yield f"    worse from day {change}: delay {delays}, means missed {sequences.missed:.2f}"


if __name__ == "__main__":
    for line in chain(figures(), of_few_clusters(), of_ratios()):
        print(line, flush=True)
