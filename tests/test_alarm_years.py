"""Simulated years of daily looks: how often alarms are false, and how soon a real change is seen, against intervals that are looked at daily.

`python -m tests.test_alarm_years` prints the figures of docs/explanation/confidence-intervals.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
        is_recall = self.metric == "recall"
        bound = RECALL if is_recall else ((1 - RECALL) * PRIOR + FPR * (1 - PRIOR)) / PRIOR
        return {"below" if is_recall != self.better else "above": bound}

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


def looks(setting: Setting, years: int, days: int, level: float = 0.95) -> dict[str, np.ndarray]:
    """Whether each rule raises an alarm, (years, days)."""
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
            tables = [ec.alarms(year, setting.metric, **arguments) for year in report.partition_by("year")]
            shown["alarms"] = np.stack([table["alarm"].to_numpy() for table in tables])
    return shown


def mean_run(alarms: np.ndarray) -> float:
    """The mean number of looks until a first alarm, from years that end before some of them."""
    first = np.where(alarms.any(axis=1), alarms.argmax(axis=1) + 1, alarms.shape[1])
    return float(first.sum() / max(alarms.any(axis=1).sum(), 1))


def mean_delays(shown: dict[str, np.ndarray], change: int) -> dict[str, float]:
    """The mean number of looks from a change to an alarm; of evidence, which lasts, in years without an alarm before."""
    before = shown["alarms"][:, :change].any(axis=1)
    return {
        name: mean_run(alarms[~before if name == "alarms" else slice(None), change:]) for name, alarms in shown.items()
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


@pytest.mark.slow
@pytest.mark.parametrize("setting", [*SETTINGS, *FEW], ids=lambda setting: setting.name)
def test_false_alarms_are_as_rare_as_promised(setting: Setting) -> None:
    """At the bound itself, where they are most frequent: 365 looks or more in the mean, where an interval of some rows takes 20 to 55."""
    shown = looks(setting, years=50, days=DAYS)
    assert mean_run(shown["alarms"]) > DAYS
    if setting in SETTINGS and setting.rows >= 100:
        assert 15 < mean_run(shown["interval"]) < 60


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_change_is_seen_sooner_than_by_an_interval_with_as_few_false_alarms(setting: Setting) -> None:
    delays = mean_delays(looks(replace(setting, change=60), years=50, days=260), 60)
    assert delays["alarms"] < delays["one a year"]


def of_few_clusters(years: int = 100) -> Iterator[str]:
    for setting in (replace(of, better=better) for of in FEW for better in (False, True)):
        run = mean_run(looks(setting, years, DAYS)["alarms"])
        yield f"{setting.name}, {'better' if setting.better else 'worse'} than the bound: mean run {run:.0f}"


def figures(years: int = 100) -> Iterator[str]:
    for setting in SETTINGS:
        null = looks(setting, years, DAYS)
        changed = looks(replace(setting, change=60, seed=2), years, 260)
        runs = {name: f"{mean_run(alarms):.0f}" for name, alarms in null.items()}
        share = {name: f"{alarms.any(axis=1).mean():.2f}" for name, alarms in null.items()}
        delays = {name: f"{delay:.1f}" for name, delay in mean_delays(changed, 60).items()}
        yield f"{setting.name}: mean run {runs}, years with a false alarm {share}, delay {delays}"


if __name__ == "__main__":
    for line in (*figures(), *of_few_clusters()):
        print(line, flush=True)
