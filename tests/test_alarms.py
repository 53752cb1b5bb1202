"""Alarms over periods: their evidence against sums and products written out, what they refuse, and how often they are false."""

from __future__ import annotations

import math
import statistics
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec

CHANGES = (0.25, 0.5, 1, 2)
Z95 = 1.959963984540054
MEAN = ("mean", "mean_ci_low", "mean_ci_high")


def sum_of_products(e_values):
    """The sum over every start s of the product of e_s to e_t, for each t."""
    return [sum(math.prod(e_values[s : t + 1]) for s in range(t + 1)) for t in range(len(e_values))]


def e_of_rows(rows, bound, change):
    """The product over rows of 1 + bet (x - bound), for a rate whose log-odds are so many standard errors higher."""
    odds = bound / (1 - bound) * math.exp(change / math.sqrt(len(rows) * bound * (1 - bound)))
    bet = (odds / (1 + odds) / bound - 1) / (1 - bound)
    return math.prod(1 + bet * (x - bound) for x in rows)


# From counts ------------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
LOG = pl.DataFrame(
    {
        "day": np.repeat(np.arange(12), 40),
        "s": np.tile(["a", "b"], 240),
        "p": RNG.uniform(size=480),
        "y": RNG.uniform(size=480) < 0.4,
    }
)
RATES = {
    "error_rate": lambda d, y: d != y,
    "accuracy": lambda d, y: d == y,
    "decision_share": lambda d, _: d,
    "recall": lambda d, y: d[y],
    "fnr": lambda d, y: ~d[y],
    "specificity": lambda d, y: ~d[~y],
    "fpr": lambda d, y: d[~y],
    "precision": lambda d, y: y[d],
}


@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("metric", RATES)
def test_counts_give_the_products_over_the_rows(metric, side):
    report = LOG.ec.report("p", "y", by=["s", "day"], metrics=[metric, "confusion"])
    bound = 0.55
    found = ec.alarms(report, metric, period="day", by="s", looks=50, test="counts", **{side: bound})
    for (s,), rows in LOG.group_by("s"):
        e_values = []
        for day in range(12):
            of_day = rows.filter(pl.col("day") == day)
            hits = RATES[metric](of_day["p"].to_numpy() > 0.5, of_day["y"].to_numpy())
            args = (hits, bound) if side == "above" else (~hits, 1 - bound)
            e_values.append([e_of_rows(*args, change) for change in CHANGES])
        expected = np.mean([sum_of_products(of) for of in zip(*e_values, strict=True)], axis=0)
        np.testing.assert_allclose(found.filter(s=s)["evidence"], expected, rtol=1e-9)
    assert found["alarm_at"].unique().to_list() == [100.0]


def test_of_a_single_row_and_a_rare_rate_the_evidence_is_a_number():
    """The rate that is two standard errors higher is then 1."""
    report = pl.DataFrame({"t": [1, 2], "n": [1, 1], "error_rate": [1.0, 0.0]})
    found = ec.alarms(report, "error_rate", period="t", above=1e-7, looks=10, test="counts")
    assert found["evidence"].to_list() == pytest.approx([1e7, 0], rel=1e-9, abs=1e-9)


def test_the_mean_of_an_e_value_of_counts_is_one_at_the_bound():
    """Over the binomial distribution, by its probabilities."""
    for n, bound in ((1, 0.3), (7, 0.9), (200, 0.02)):
        k = np.arange(n + 1)
        report = pl.DataFrame({"s": k, "t": [0] * (n + 1), "n": [n] * (n + 1), "accuracy": k / n})
        found = ec.alarms(report, "accuracy", period="t", by="s", above=bound, looks=10, test="counts")
        share = [math.comb(n, i) * bound**i * (1 - bound) ** (n - i) for i in k]
        assert np.dot(found["evidence"], share) == pytest.approx(1, rel=1e-9)


# From intervals ---------------------------------------------------------------------------------------------------------

BY_DAY = pl.DataFrame(
    {
        "day": [date(2025, 3, 1) + timedelta(d) for d in range(6)],
        "difference": [0.1, -0.2, 0.3, 0.5, None, 0.6],
        "difference_ci_low": [-0.1, -0.4, 0.1, 0.3, None, 0.4],
        "difference_ci_high": [0.3, 0.0, 0.5, 0.7, None, 0.8],
        "small": [False] * 6,
    }
)


def test_intervals_give_the_likelihood_ratios_of_standard_scores():
    found = ec.alarms(BY_DAY, "difference", period="day", above=0.05, looks=30)
    scores = [(value - 0.05) / (0.2 / Z95) for value in BY_DAY["difference"].drop_nulls()]
    expected = np.mean(
        [sum_of_products([math.exp(d * z - d * d / 2) for z in scores]) for d in CHANGES], axis=0
    ).tolist()
    expected.insert(4, expected[3])  # a period without a value changes nothing
    assert found["evidence"].to_list() == pytest.approx(expected, rel=1e-9)
    assert found["judged"].to_list() == [True] * 4 + [False, True]
    assert found["alarm"].to_list() == [value >= 30 for value in expected]
    assert found["alarm"].to_list() == [False] * 3 + [True] * 3
    assert found["since"].to_list() == [None] * 3 + [date(2025, 3, 3)] * 3


def test_below_is_above_of_the_opposite():
    turned = BY_DAY.with_columns(
        difference=-pl.col("difference"),
        difference_ci_low=-pl.col("difference_ci_high"),
        difference_ci_high=-pl.col("difference_ci_low"),
    )
    above = ec.alarms(BY_DAY, "difference", period="day", above=0.05, looks=30)
    below = ec.alarms(turned, "difference", period="day", below=-0.05, looks=30)
    assert_frame_equal(above.drop("difference", *MEAN), below.drop("difference", *MEAN))
    assert above["mean_ci_low"].to_list() == (-below["mean_ci_high"]).to_list()


@pytest.mark.parametrize(
    ("metric", "value", "arms", "expected"),
    [
        # On the scale ln the value is nearer to a bound below it, and on the metric itself to one above.
        (
            "nec",
            0.5,
            math.exp(0.3 * Z95),
            {("above", 0.4): (0.5 - 0.4) / (0.5 * 0.3), ("below", 0.7): math.log(0.7 / 0.5) / 0.3},
        )
    ],
)
def test_the_smaller_distance_counts(metric, value, arms, expected):
    report = pl.DataFrame(
        {"t": [1], metric: [value], f"{metric}_ci_low": [value / arms], f"{metric}_ci_high": [value * arms]}
    )
    for (side, bound), score in expected.items():
        (evidence,) = ec.alarms(report, metric, period="t", looks=10, **{side: bound})["evidence"]
        assert evidence == pytest.approx(np.mean([math.exp(d * score - d * d / 2) for d in CHANGES]), rel=1e-9)


def test_at_the_end_of_its_scale_the_longer_arm_counts():
    report = pl.DataFrame({"t": [1], "recall": [1.0], "recall_ci_low": [0.8], "recall_ci_high": [1.0]})
    (evidence,) = ec.alarms(report, "recall", period="t", looks=10, above=0.9)["evidence"]
    score = 0.1 / (0.2 / Z95)
    assert evidence == pytest.approx(np.mean([math.exp(d * score - d * d / 2) for d in CHANGES]), rel=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"small": True},
        {"nec_kinked": True},
        {"nec_ci_high": None},
        {"nec": math.nan},
        {"nec_ci_low": 0.9, "nec_ci_high": 0.9},
        {"nec": None},
    ],
)
def test_periods_that_cannot_be_judged_change_nothing(change):
    days = [
        {"t": t, "nec": 0.9, "nec_ci_low": 0.8, "nec_ci_high": 1.01, "small": False, "nec_kinked": False}
        for t in range(3)
    ]
    report = pl.DataFrame(days)
    with_one = pl.DataFrame([days[0], {**days[0], **change, "t": 0.5}, *days[1:]], strict=False)
    found, without = (ec.alarms(of, "nec", period="t", above=0.7, looks=9) for of in (with_one, report))
    assert not found["judged"][1]
    for name in ("evidence", *MEAN):
        assert found[name][1] == found[name][0]
        assert found[name].gather([0, 2, 3]).to_list() == without[name].to_list()


def test_the_error_of_bins_moves_the_value_towards_the_bound():
    report = BY_DAY.rename({name: name.replace("difference", "auc_roc") for name in BY_DAY.columns}).head(1)
    report = report.with_columns(auc_roc=0.8, auc_roc_ci_low=0.7, auc_roc_ci_high=0.87, auc_roc_error=0.01)
    moved = report.with_columns(auc_roc=pl.col("auc_roc") + 0.01, auc_roc_error=0.0)
    found = [ec.alarms(of, "auc_roc", period="day", below=0.9, looks=9) for of in (report, moved)]
    assert found[0]["evidence"][0] == found[1]["evidence"][0]
    exact = ec.alarms(report.drop("auc_roc_error"), "auc_roc", period="day", below=0.9, looks=9)
    for name, error in zip(MEAN, (0, -0.01, 0.01), strict=True):
        assert found[0][name][0] == pytest.approx(min(exact[name][0] + error, 1), rel=1e-12)


# Confidence sequences ---------------------------------------------------------------------------------------------------


def bounds_of_mean(values, errors, level):
    """The mean so far and its bounds after each period, by the formula of Waudby-Smith et al. with rho^2 = 0.3 / (the first variance)."""
    rho2, alpha, sequence = 0.3 / errors[0] ** 2, 1 - level, []
    for t in range(1, len(values) + 1):
        mean, variance = sum(values[:t]) / t, sum(error**2 for error in errors[:t])
        times = variance * rho2 + 1
        margin = math.sqrt(2 * times / (t**2 * rho2) * math.log(math.sqrt(times) / alpha))
        sequence.append((mean, mean - margin, mean + margin))
    return sequence


@pytest.mark.parametrize("level", [0.2, 0.95, 0.999])
def test_the_mean_has_the_bounds_of_a_normal_mixture(level):
    """With errors of any size, and whatever the bound and the number of looks."""
    rng = np.random.default_rng(3)
    values, arms = rng.normal(size=40), rng.uniform(0.1, 3, size=40)
    columns = {"difference": values, "difference_ci_low": values - arms, "difference_ci_high": values + arms}
    report = pl.DataFrame({"t": range(40), **columns})
    expected = bounds_of_mean(values, arms / statistics.NormalDist().inv_cdf(0.5 + level / 2), level)
    for arguments in ({"above": 0.3, "looks": 30}, {"below": -2, "looks": 999}):
        found = ec.alarms(
            report.sample(fraction=1, shuffle=True), "difference", period="t", interval=level, **arguments
        )
        np.testing.assert_allclose(found.select(MEAN).to_numpy(), expected, rtol=1e-9)


def test_the_error_of_a_mean_is_that_on_the_scale_and_its_bounds_stay_in_the_range():
    """The standard error of a logit is seen from the value; at the end of the scale there is the longer arm alone."""
    logit = math.log(0.8 / 0.2)
    low, high = (1 / (1 + math.exp(-logit - side * 0.5 * Z95)) for side in (-1, 1))
    report = pl.DataFrame(
        {"t": [1, 2], "recall": [0.8, 1.0], "recall_ci_low": [low, 0.7], "recall_ci_high": [high, 1.0]}
    )
    found = ec.alarms(report, "recall", period="t", looks=10, below=0.5).select(MEAN).rows()
    expected = bounds_of_mean([0.8, 1.0], [0.5 * 0.8 * 0.2, 0.3 / Z95], 0.95)
    assert expected[0][2] > 1
    for of, (mean, lower, upper) in zip(found, expected, strict=True):
        assert of == pytest.approx((mean, lower, min(upper, 1)), rel=1e-9)


@pytest.mark.parametrize("test", ["interval", "counts"])
def test_before_the_first_period_with_a_value_there_is_no_mean(test):
    rate = {"n": [0, 5], "error_rate": [None, 0.4], "error_rate_ci_low": [None, 0.1], "error_rate_ci_high": [None, 0.8]}
    report = pl.DataFrame({"t": [1, 2], **rate})
    found = ec.alarms(report, "error_rate", period="t", above=0.1, looks=9, test=test).select(MEAN)
    assert found.row(0) == (None, None, None)
    mean, low, high = found.row(1)
    assert (mean, 0 <= low < 0.4 < high <= 1) == (0.4, True)


def test_the_rate_of_all_rows_has_the_bounds_at_which_a_bet_has_won_enough():
    """By bisection, from the capital of each bet."""
    rows, hits = [7, 0, 250, 40], [2, 0, 31, 3]
    report = pl.DataFrame(
        {"t": range(4), "n": rows, "accuracy": [h / n if n else None for h, n in zip(hits, rows, strict=True)]}
    )
    found = ec.alarms(report, "accuracy", period="t", above=0.1, looks=9, test="counts").select(MEAN)

    def lower(hits, rows):
        low, high = 0.0, hits / rows
        for _ in range(80):
            rate = (low + high) / 2
            won = max(bet * hits - rows * math.log1p(rate * math.expm1(bet)) for bet in (4 / 2**k for k in range(16)))
            low, high = (rate, high) if won > math.log(2 * 16 / 0.05) else (low, rate)
        return low

    for t, (mean, low, high) in enumerate(found.rows()):
        n, k = sum(rows[: t + 1]), sum(hits[: t + 1])
        assert mean == pytest.approx(k / n, rel=1e-12)
        assert (low, high) == pytest.approx((lower(k, n), 1 - lower(n - k, n)), rel=1e-9, abs=1e-12)


def test_bounds_of_rates_that_change_miss_their_mean_as_rarely_as_promised():
    """Over all 4,096 outcomes of twelve rows, by their probabilities."""
    rates = np.array([0.02, 0.9, 0.5, 0.99, 0.01, 0.3, 0.95, 0.05, 0.6, 0.97, 0.1, 0.4])
    outcomes = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    report = pl.DataFrame({"s": np.repeat(np.arange(2**12), 12), "t": np.tile(np.arange(12), 2**12)})
    report = report.with_columns(n=1, accuracy=outcomes.astype(float).ravel())
    found = ec.alarms(report, "accuracy", period="t", by="s", above=0.1, looks=9, test="counts", interval=0.5)
    low, high = (found[name].to_numpy().reshape(-1, 12) for name in MEAN[1:])
    truth = rates.cumsum() / np.arange(1, 13)
    missed = ((low > truth) | (high < truth)).any(axis=1)
    assert 0 < np.where(outcomes, rates, 1 - rates).prod(axis=1) @ missed < 0.5


# Groups and orders ------------------------------------------------------------------------------------------------------


def test_the_answer_depends_on_the_periods_and_not_on_the_order_of_rows():
    """Groups have their own evidence, also null and NaN, and share the budget; the table is computed anew with late labels."""
    report = pl.concat(
        BY_DAY.with_columns(s=pl.lit(s, pl.Float64), difference=pl.col("difference") + shift)
        for s, shift in ((1.0, 0.0), (None, 0.2), (math.nan, -0.1))
    )
    arguments = {"period": "day", "above": 0.05, "looks": 30}
    found = ec.alarms(report.sample(fraction=1, shuffle=True, seed=1), "difference", by="s", **arguments)
    assert found["alarm_at"].unique().to_list() == [90.0]
    assert found["s"].to_list()[::6] == [None, 1.0, pytest.approx(math.nan, nan_ok=True)]
    for s, rows in ((1.0, found[6:12]), (None, found[:6])):
        one = ec.alarms(report.filter(pl.col("s").eq_missing(s)), "difference", **arguments)
        assert_frame_equal(rows.select("evidence", *MEAN), one.select("evidence", *MEAN))
    early = ec.alarms(report.filter(pl.col("day") < date(2025, 3, 4)), "difference", by="s", **arguments)
    assert_frame_equal(early, found.filter(pl.col("day") < date(2025, 3, 4)))


def test_a_group_without_a_period_keeps_its_evidence():
    report = pl.DataFrame({"s": ["a", "a", "b"], "t": [1, 3, 2], "n": [100] * 3, "error_rate": [0.3, 0.3, 0.1]})
    found = ec.alarms(report, "error_rate", period="t", by="s", above=0.1, looks=30, test="counts")
    alone = ec.alarms(report.filter(s="a"), "error_rate", period="t", above=0.1, looks=30, test="counts")
    assert found.filter(s="a")["evidence"].to_list() == alone["evidence"].to_list()


def test_a_report_without_rows_has_no_alarms():
    found = ec.alarms(BY_DAY.clear(), "difference", period="day", above=0, looks=30)
    columns = ["day", "difference", "evidence", "alarm_at", "alarm", "since", "judged", *MEAN]
    assert (found.height, found.columns) == (0, columns)
    assert found.schema["since"] == pl.Date


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"above": None}, "either above= or below="),
        ({"below": 1}, "either above= or below="),
        ({"above": math.inf}, "above=inf is not a finite number"),
        ({"looks": 1}, "looks=1: pass more than 1"),
        ({"looks": math.nan}, "looks=nan"),
        ({"looks": "1/year"}, "looks='1/year' is not a number"),
        ({"above": "0.1"}, "above='0.1' is not a number"),
        ({"metric": "differrence"}, "no column 'differrence': did you mean difference?"),
        ({"period": "dya"}, "no column 'dya': did you mean day?"),
        ({"by": "s"}, "no column 's'"),
        ({"test": "count"}, "test='count' is neither"),
        ({"test": "counts"}, "difference is not a share of rows"),
        ({"interval": 95}, "interval=95 is not a level between 0 and 1"),
        ({"metric": "small"}, "no column 'small_ci_low': pass interval=0.95 to the report. It has day,"),
        ({"metric": "difference_ci_low"}, "metric='difference_ci_low' is a bound of an interval: pass 'difference'"),
    ],
)
def test_wrong_arguments_are_named(change, words):
    arguments = {"metric": "difference", "period": "day", "above": 0.1, "looks": 30} | change
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        ec.alarms(BY_DAY, **arguments)


def test_a_lazy_report_is_to_be_collected():
    with pytest.raises(TypeError, match=r"pass report\.collect\(\)"):
        ec.alarms(BY_DAY.lazy(), "difference", period="day", above=0.1, looks=30)


def test_a_report_of_another_library_is_named():
    with pytest.raises(TypeError, match=r"the report is a builtins\.dict, not a data frame of Polars"):
        ec.alarms(BY_DAY.to_dict(), "difference", period="day", above=0.1, looks=30)


@pytest.mark.parametrize(
    ("report", "arguments", "words"),
    [
        (
            pl.concat([BY_DAY, BY_DAY]),
            {},
            "several rows for 2025-03-01 and one group: name all group columns in by=, and",
        ),
        (pl.concat([BY_DAY, BY_DAY]).with_columns(score=pl.lit("a")), {}, "in by=, such as by='score' for models, and"),
        (BY_DAY.with_columns(day=pl.lit(None, pl.Date)), {}, "have no period"),
        (BY_DAY.rename({"day": "since"}), {"period": "since"}, "a column 'since', which alarms"),
        (BY_DAY.rename({"day": "mean"}), {"period": "mean"}, "a column 'mean', which alarms"),
        (BY_DAY.with_columns(difference_low=0.0), {}, "sketch the log with this threshold"),
        (BY_DAY.with_columns(difference=pl.concat_arr("difference")), {}, "difference has several values per row"),
        (BY_DAY.with_columns(observed=0.1, covered=None), {}, "estimates of several periods share the labels"),
    ],
)
def test_reports_that_say_nothing_of_periods_are_refused(report, arguments, words):
    with pytest.raises(ValueError, match=words):
        ec.alarms(report, "difference", **{"period": "day", "above": 0.1, "looks": 30, **arguments})


@pytest.mark.parametrize(
    ("metric", "columns", "bound", "words"),
    [
        ("error_rate", {"n": [10, 10]}, 0.1, "not a share of whole rows"),
        ("error_rate", {"n": [100, 100]}, 1.5, "pass a bound between 0 and 1"),
        ("error_rate", {}, 0.1, "no column 'n'"),
        ("recall", {"n": [100, 100]}, 0.1, "no column 'class_prior'"),
        ("precision", {"n": [100, 100]}, 0.1, "no column 'tp'"),
    ],
)
def test_counts_that_are_not_there_are_named(metric, columns, bound, words):
    report = pl.DataFrame({"t": [1, 2], metric: [0.11, 0.12], **columns})
    with pytest.raises(ValueError, match=words):
        ec.alarms(report, metric, period="t", above=bound, looks=9, test="counts")
