"""The demo, on every fourth flight: what it writes, that its engines agree, and its numbers from NumPy."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats

import polars_ec
from examples.demo import __main__ as demo
from examples.demo import findings as demo_findings
from examples.demo import pictures as demo_page
from examples.demo import story as demo_story
from tests.support.charts import data_of

ROOT = Path(__file__).parents[1]
README_PICTURE = ROOT / "docs" / "pictures" / "precision.svg"


@pytest.mark.slow
def test_demo(tmp_path):
    """One test, so that one process runs the demo, once."""
    printed = []
    found = demo.run(tmp_path, every_nth=4, echo=printed.append)
    check_log_is_partitioned_by_month(found)
    check_reports_have_every_month_and_carrier(found)
    check_engines_agree(found)
    check_prior_moves(found)
    check_numbers_from_numpy(found)
    check_model_is_better_than_the_prior(found)
    check_calibration_from_numpy(found)
    check_noise_from_numpy(found)
    check_days_hide_most_differences(found)
    check_change_from_numpy(found)
    check_change_needs_the_days(found)
    check_story_tells_the_numbers_of_the_run(found, printed)
    check_page_and_picture(found, printed)


def check_log_is_partitioned_by_month(found):
    assert sorted(folder.name for folder in found.log.iterdir()) == sorted(f"month={m}" for m in range(4, 13))
    log = pl.read_parquet(found.log)
    assert log.columns == ["time", "date", "carrier", "origin", "late", "score", "month"]
    assert (log["time"].dt.date() == log["date"]).all()
    assert log["late"].dtype == pl.Boolean
    assert (log["time"].dt.month() == log["month"]).all()
    assert log["late"].null_count() == found.by_month["n_missing"].sum() > 0


def check_reports_have_every_month_and_carrier(found):
    assert found.by_month["time"].dt.month().to_list() == list(range(4, 13))
    assert found.by_carrier.height > 10
    assert found.by_both["n"].sum() == found.by_month["n"].sum() == found.by_carrier["n"].sum()
    assert pl.read_csv(found.log.parent / "report.csv").height == found.by_both.height


def check_calibration_from_numpy(found):
    """Compare the largest carrier with Platt scaling by Newton's method, fold by fold."""
    row = found.calibration.sort("n").row(-1, named=True)
    log = pl.read_parquet(found.log).drop_nulls("late").filter(pl.col("carrier") == row["carrier"])
    fold = log.select(polars_ec.fold(pl.col("time").dt.date().cast(pl.Int32)))["fold"].to_numpy()
    late, score = log["late"].to_numpy().astype(float), log["score"].to_numpy()
    x = np.stack([np.log(score / (1 - score)), np.ones_like(score)], axis=1)
    losses = np.zeros_like(score)
    for k in range(5):
        kept, line = fold != k, np.array([1.0, 0.0])
        for _ in range(30):
            q = 1 / (1 + np.exp(-x[kept] @ line))
            line += np.linalg.solve((x[kept].T * (q * (1 - q))) @ x[kept], x[kept].T @ (late[kept] - q))
        losses[~kept] = np.logaddexp(0, -(2 * late[~kept] - 1) * (x[~kept] @ line))
    prior = late.mean()
    entropy = -prior * math.log(prior) - (1 - prior) * math.log(1 - prior)
    raw = -np.log(np.where(late == 1, score, 1 - score)).mean()
    assert row["nce"] == pytest.approx(raw / entropy, rel=1e-9)
    assert row["nce_calibrated"] == pytest.approx(losses.mean() / entropy, rel=1e-4)
    assert row["rcl"] == pytest.approx(100 * (1 - losses.mean() / raw), abs=0.01)


def check_noise_from_numpy(found):
    """Standard errors from the influence of each flight, added up by day; NEC is what decisions cost, by N c_fp P0 or N c_fn P1."""
    log = pl.read_parquet(found.log).drop_nulls("late")
    late, positive = log["late"].to_numpy().astype(float), (log["score"].to_numpy() > 1 / 6).astype(float)
    days = polars_ec.bucket("date", demo_findings.BUCKETS)
    bucket = log.select(days).to_series().to_numpy()
    n_late, n_positive = late.sum(), positive.sum()
    recall, precision = (late * positive).sum() / n_late, (late * positive).sum() / n_positive
    cost, naive = (
        5 * late * (1 - positive) + (1 - late) * positive,
        5 * late if 5 * n_late < (late == 0).sum() else 1 - late,
    )
    nec = cost.sum() / naive.sum()
    influence = {
        "recall": (recall, late * (positive - recall) / n_late, "logit"),
        "precision": (precision, positive * (late - precision) / n_positive, "logit"),
        "nec": (nec, (cost - nec * naive) / naive.sum(), "log"),
    }
    for name, (value, psi, scale) in influence.items():
        sums, sizes = (np.bincount(bucket, x) for x in (psi, np.ones_like(psi)))
        k = (sizes > 0).sum()
        error = math.sqrt(k / (k - 1) * (sums**2).sum())
        t = scipy.stats.t.ppf(0.975, sizes.sum() ** 2 / (sizes**2).sum() - 1)
        there, back, slope = {
            "log": (math.log(value), math.exp, 1 / value),
            "logit": (math.log(value / (1 - value)), lambda x: 1 / (1 + math.exp(-x)), 1 / (value * (1 - value))),
        }[scale]
        row = found.noise.whole.row(0, named=True)
        assert row[name] == pytest.approx(value, rel=1e-9)
        # Which rows of a class a day has counts a little more in the package, as it does for who leaves out the day.
        width = back(there + t * slope * error) - back(there - t * slope * error)
        for end, sign in (("low", -1), ("high", 1)):
            assert row[f"{name}_ci_{end}"] == pytest.approx(back(there + sign * t * slope * error), abs=0.01 * width)


def check_days_hide_most_differences(found):
    noise = found.noise
    for days, independent in ((noise.carriers, noise.carriers_independent), (noise.months, noise.months_independent)):
        assert days["difference"].to_list() == pytest.approx(independent["difference"].to_list(), rel=1e-9)
        assert (days["p_adjusted"] < 0.05).sum() <= (independent["p_adjusted"] < 0.05).sum()
    # A month has all flights of each of its days.
    assert (noise.months["p_adjusted"] < 0.05).sum() < (noise.months_independent["p_adjusted"] < 0.05).sum()
    assert demo_story._width(noise.whole, "precision") > 3 * demo_story._width(noise.whole_independent, "precision")


def check_change_from_numpy(found):
    """Parts of NCE and precision in all orders, on sums by month, carrier and class; limits from the influence of each flight, by day."""
    log = pl.read_parquet(found.log).drop_nulls("late").filter(pl.col("month").is_in([4, 9]))
    late, score = log["late"].to_numpy().astype(int), log["score"].to_numpy()
    month = (log["month"].to_numpy() == 9).astype(int)
    carrier, day = (np.unique(log[name].to_numpy(), return_inverse=True)[1] for name in ("carrier", "date"))
    shape = (2, carrier.max() + 1, 2)
    cell = np.ravel_multi_index((month, carrier, late), shape)
    features = {
        "nce": (-np.log(np.where(late == 1, score, 1 - score)), nce),
        "precision": ((score > 1 / 6).astype(float), lambda p, mean: p[1] * mean[1] / (p @ mean)),
    }
    for name, (x, formula) in features.items():
        sums = np.stack([np.bincount(cell, w, minlength=np.prod(shape)).reshape(shape) for w in (np.ones_like(x), x)])
        expected = shapley(sums, formula)
        # The influence of a flight: what one more of it in its cell, and its loss or decision there, would change.
        slopes = [np.zeros((4, *shape)), np.zeros((4, *shape))]
        for of_sums, slope in enumerate(slopes):
            for at in np.argwhere(sums[0] > 0):
                step = np.zeros_like(sums)
                step[(of_sums, *at)] = 1e-3 * sums[(0, *at)]
                change = shapley(sums + step, formula) - shapley(sums - step, formula)
                slope[(slice(None), *at)] = change / (2 * step[(of_sums, *at)])
        psi = np.stack([a.ravel()[cell] + b.ravel()[cell] * x for a, b in zip(*slopes, strict=True)])
        by_day = np.stack([np.bincount(day, of) for of in psi])
        for table, independent in ((found.change.days, False), (found.change.independent, True)):
            row = table.row(by_predicate=pl.col("metric") == name, named=True)
            spread = psi if independent else by_day
            # Of each month 30 days, of which the t distribution has between 29 and 58 degrees of freedom.
            half = (1.96 if independent else 2.02) * np.sqrt((spread**2).sum(axis=1) * (1 if independent else 30 / 29))
            for part, value, width in zip(("difference", "mix", "prior", "likelihood"), expected, half, strict=True):
                assert row[part] == pytest.approx(value, abs=1e-10)
                low, high = row[f"{part}_ci_low"], row[f"{part}_ci_high"]
                assert (low + high) / 2 == pytest.approx(value, abs=1e-10)
                # Few late flights of a small carrier count n / (n - 1) times.
                assert (high - low) / 2 == pytest.approx(width, rel=0.02 if independent else 0.03)


def nce(prior, mean):
    return prior @ mean / -(prior @ np.log(prior))


def shapley(sums, formula):
    """From sums of 1 and of x, (2, months, carriers, classes): the change, and what mix, prior and likelihood add on average over the orders."""
    n, x = sums
    share = n.sum(axis=2) / n.sum(axis=(1, 2))[:, None]
    with np.errstate(invalid="ignore"):
        prior, mean = n / n.sum(axis=2, keepdims=True), x / n
    # What a carrier lacks in one month is as in the other.
    prior, mean = (np.nan_to_num(np.where(np.isnan(of), of[::-1], of)) for of in (prior, mean))

    def value(mix, of_prior, likelihood):
        of_class = share[mix][:, None] * prior[of_prior]
        p = of_class.sum(axis=0)
        return formula(p, (of_class * mean[likelihood]).sum(axis=0) / p)

    parts = np.zeros(3)
    for order in itertools.permutations(range(3)):
        factors = [0, 0, 0]
        for k in order:
            before = value(*factors)
            factors[k] = 1
            parts[k] += (value(*factors) - before) / 6
    return np.array([value(1, 1, 1) - value(0, 0, 0), *parts])


def check_change_needs_the_days(found):
    for days, independent in zip(found.change.days.to_dicts(), found.change.independent.to_dicts(), strict=True):
        for part in ("difference", "prior"):
            width, believed = (row[f"{part}_ci_high"] - row[f"{part}_ci_low"] for row in (days, independent))
            assert width > 2 * believed


def check_engines_agree(found):
    assert found.largest_difference <= 1e-12


def check_page_and_picture(found, printed):
    out = found.log.parent
    files = [out / name for name in ("report.html", "precision.svg", "precision.png")]
    assert printed[0].splitlines()[-3:] == [*map(str, files)]
    page, picture, pixels = (file.read_bytes() for file in files)
    assert len(page) < 2_000_000
    whole, text = found.noise.whole.row(0, named=True), page.decode()
    assert "Late flights from New York, 2013" in text
    assert f"(NEC {whole['nec']:.3f})" in text
    assert "95% CI {:.3f} to {:.3f}".format(*(whole[f"nec_{end}"] for end in ("ci_low", "ci_high"))) in text
    assert all(f">{carrier}<" in text for carrier in found.by_carrier["carrier"])
    assert b"Precision at the reference prior" in picture
    assert pixels.startswith(b"\x89PNG")
    frame = pl.scan_parquet(found.log, hive_partitioning=True)
    chart = demo_page.precision_chart(frame, pl.col("time").dt.truncate("1mo"), found.prior)
    points = data_of(chart).sort("measure", "order")
    # `found` has been held against NumPy.
    assert points["y"].to_list() == pytest.approx(
        [*found.by_month["precision"], *found.by_month["precision_at_prior"]], rel=1e-12
    )
    assert values_drawn(picture.decode()) == pytest.approx(points["y"].to_list(), rel=1e-10)
    assert points.select((pl.col("low") < pl.col("y")) & (pl.col("y") < pl.col("high"))).to_series().all()


def check_prior_moves(found):
    prior = found.by_month["class_prior"]
    assert prior.max() / prior.min() > 1.5


def check_numbers_from_numpy(found):
    log = pl.read_parquet(found.log).drop_nulls("late")
    late, positive = log["late"].to_numpy(), log["score"].to_numpy() > 1 / 6
    prior = late.mean()
    assert found.prior == pytest.approx(prior, rel=1e-12)
    for row in found.by_month.iter_rows(named=True):
        month = log["month"].to_numpy() == row["time"].month
        hits, alarms = positive[month & late].mean(), positive[month & ~late].mean()
        expected = prior * hits / (prior * hits + (1 - prior) * alarms)
        assert row["precision_at_prior"] == pytest.approx(expected, rel=1e-12)
        assert row["precision"] == pytest.approx(late[month & positive].mean(), rel=1e-12)
        missed, false = (~positive[month & late]).sum(), positive[month & ~late].sum()
        naive = min(5 * late[month].sum(), (~late[month]).sum())
        assert row["nec"] == pytest.approx((5 * missed + false) / naive, rel=1e-12)


def check_model_is_better_than_the_prior(found):
    log = pl.read_parquet(found.log).drop_nulls("late")
    late, score = log["late"].to_numpy(), log["score"].to_numpy()
    ranks = np.argsort(np.argsort(score))
    n1, n0 = late.sum(), (~late).sum()
    assert (ranks[late].sum() - n1 * (n1 - 1) / 2) / (n1 * n0) > 0.6


def check_story_tells_the_numbers_of_the_run(found, printed):
    (text,) = printed
    assert len(text.splitlines()) <= 99
    assert "agree to a relative 1e-12" in text
    noise = demo_story.tell_noise(found.noise)
    assert noise in text
    assert len(noise.splitlines()) <= 16
    assert max(map(len, noise.splitlines())) <= 120
    change = demo_story.tell_change(found.change)
    assert text.split("carriers as strata\n")[1].startswith(change)
    assert max(map(len, change.splitlines())) <= 120
    for row in found.change.days.to_dicts():
        for part in ("difference", "prior", "likelihood", "mix"):
            assert f"{row[part]:+.3f} [{row[part + '_ci_low']:+.3f}, {row[part + '_ci_high']:+.3f}]" in change
    for title in ("Per month", "Per carrier"):
        table = text.split(f"{title}\n")[1].split("\n\n")[0].splitlines()
        assert table[0].split()[1:3] == ["n", "nec"]
        assert max(map(len, table)) <= 80
    months = found.by_month.sort("class_prior")
    for column in ("class_prior", "precision", "precision_at_prior"):
        for value in (months[column][0], months[column][-1]):
            assert f"{value:.3f}" in demo_story.tell(found)


def test_noise_names_what_differs_and_what_one_would_believe():
    def compared(p_values):
        columns = {"carrier": ["A", "B", "C"], "difference": [0.1, -0.3, 0.2], "p_adjusted": p_values}
        ends = {"difference_ci_low": pl.col("difference") - 0.05, "difference_ci_high": pl.col("difference") + 0.05}
        return pl.DataFrame(columns).with_columns(**ends)

    months = compared([0.9, 0.9, 0.9]).rename({"carrier": "time"}).with_columns(time=pl.date(2013, 4, 1))
    whole = pl.DataFrame(
        {
            f"{n}{end}": [x]
            for n in ("recall", "nec", "precision")
            for end, x in (("", 0.5), ("_ci_low", 0.2), ("_ci_high", 0.8))
        }
    )
    alone = whole.with_columns(pl.col("^.*_ci_low$") + 0.2, pl.col("^.*_ci_high$") - 0.2)
    carriers = compared([0.06, 0.001, 0.04]), compared([0.01, 0.001, 0.01])
    noise = demo_findings.Noise(*carriers, months, months, whole, alone, kinked=frozenset({"A", "B", "April"}))
    assert demo_story.tell_noise(noise).splitlines() == [
        "- 2 of 3 carriers differ significantly (adjusted p below 0.05; * near the kink of NEC: interval may be too narrow):",
        "  higher: C +0.20 [+0.15, +0.25]",
        "  lower: B* -0.30 [-0.35, -0.25]",
        "  Without days as clusters it would be 3, with A in addition.",
        "- 0 of 3 months differ significantly (adjusted p below 0.05):",
        "  Without days as clusters it would be 0, with none in addition.",
        "- In the whole log, days as clusters make the intervals wider by the factors 3.0 (recall), 3.0 (nec), 3.0 (precision).",
    ]


def test_change_tells_what_is_more_than_noise():
    def of(width):
        row = {"metric": "nce", "value_reference": 0.9, "value": 1.0}
        for name, value in (("difference", 0.1), ("prior", 0.12), ("likelihood", -0.02), ("mix", 0.0)):
            row |= {name: value, f"{name}_ci_low": value - width, f"{name}_ci_high": value + width}
        return pl.DataFrame([row])

    told = demo_story.tell_change(demo_findings.Change(of(0.11), of(0.01))).splitlines()
    assert told[2:-1] == [
        "- nce rises from 0.900 to 1.000: +0.100 [-0.010, +0.210], of which",
        "  prior +0.120 [+0.010, +0.230], likelihood -0.020 [-0.130, +0.090], mix +0.000 [-0.110, +0.110].",
        "  The largest part is the prior. Significant: prior.",
        "  Without days as clusters the change would have [+0.090, +0.110]. Significant: the change, prior, likelihood.",
    ]
    assert "Significant: nothing." in demo_story.tell_change(demo_findings.Change(of(1), of(0.01)))


def test_days_are_alone_in_their_buckets():
    days = pl.DataFrame({"date": pl.date_range(pl.date(2013, 4, 1), pl.date(2013, 5, 30), eager=True)})
    number = demo_findings._buckets_of_one(days)
    assert days.select(polars_ec.bucket("date", number).n_unique()).item() == 60
    more = range(number + 1, demo_findings.BUCKETS + 1)
    assert all(days.select(polars_ec.bucket("date", b).n_unique()).item() < 60 for b in more)
    # So many days that two of them always share one.
    year = pl.DataFrame({"date": pl.date_range(pl.date(2013, 1, 1), pl.date(2016, 1, 1), eager=True)})
    assert demo_findings._buckets_of_one(year) == demo_findings.BUCKETS


def test_swapped_months_are_those_that_change_places():
    months = pl.DataFrame({"precision": [0.5, 0.4, 0.3], "precision_at_prior": [0.2, 0.3, 0.1]})
    assert [(a["precision"], b["precision"]) for a, b in demo_story._swapped(months)] == [(0.5, 0.4)]


def test_largest_difference():
    ours = pl.DataFrame({"k": ["a", "b"], "x": [1.0, None]})
    assert demo.largest_difference(ours, ours) == 0
    assert demo.largest_difference(ours, ours.with_columns(x=pl.Series([1.0 + 1e-9, None]))) == pytest.approx(1e-9)
    assert demo.largest_difference(ours, ours.with_columns(x=pl.Series([1.0, 2.0]))) == math.inf
    assert demo.largest_difference(ours, ours.with_columns(k=pl.lit("a"))) == math.inf
    assert demo.largest_difference(ours, ours.head(1)) == math.inf
    infinite = ours.with_columns(x=pl.lit(math.inf))
    assert demo.largest_difference(infinite, infinite) == 0
    assert demo.largest_difference(infinite, infinite.with_columns(x=pl.lit(1.0))) > 1e-12


def test_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"pip install 'polars_ec\[demo\]'"):
        demo.run(tmp_path)


def values_drawn(picture):
    """Those of the points of the picture, measure by measure, month by month."""
    label = r'aria-label="month: [\d-]+; Precision: ([\d.]+); measure: [^;"]+; Period:'
    return [float(value) for value in re.findall(label, picture)]


def test_the_readme_says_what_its_picture_shows():
    own, at_prior = np.reshape(values_drawn(README_PICTURE.read_text("utf-8")), (2, 9))
    (july, september), (then, now) = ([f"{values[month]:.2f}" for month in (3, 5)] for values in (own, at_prior))
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"From July to September its precision falls from {july} to {september}." in text
    assert f"had the same share of late flights, precision would barely move ({then} to {now})." in text


@pytest.mark.slow
def test_the_picture_of_the_readme_is_the_demos(tmp_path):
    demo.run(tmp_path, echo=lambda text: None)
    drawn = [values_drawn(file.read_text("utf-8")) for file in (tmp_path / "precision.svg", README_PICTURE)]
    assert drawn[0] == pytest.approx(drawn[1], rel=1e-6)
