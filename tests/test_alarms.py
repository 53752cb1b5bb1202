"""Alarms over periods: their evidence against sums and products written out, what they refuse, and how often they are false."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec

CHANGES = (0.25, 0.5, 1, 2)
Z95 = 1.959963984540054


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
    assert_frame_equal(above.drop("difference"), below.drop("difference"))


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
    assert found["evidence"].gather([0, 2, 3]).to_list() == without["evidence"].to_list()
    assert found["evidence"][1] == found["evidence"][0]


def test_the_error_of_bins_moves_the_value_towards_the_bound():
    report = BY_DAY.rename({name: name.replace("difference", "auc_roc") for name in BY_DAY.columns}).head(1)
    report = report.with_columns(auc_roc=0.8, auc_roc_ci_low=0.7, auc_roc_ci_high=0.87, auc_roc_error=0.01)
    moved = report.with_columns(auc_roc=pl.col("auc_roc") + 0.01, auc_roc_error=0.0)
    found = [ec.alarms(of, "auc_roc", period="day", below=0.9, looks=9)["evidence"][0] for of in (report, moved)]
    assert found[0] == found[1]


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
        assert rows["evidence"].to_list() == one["evidence"].to_list()
    early = ec.alarms(report.filter(pl.col("day") < date(2025, 3, 4)), "difference", by="s", **arguments)
    assert_frame_equal(early, found.filter(pl.col("day") < date(2025, 3, 4)))


def test_a_group_without_a_period_keeps_its_evidence():
    report = pl.DataFrame({"s": ["a", "a", "b"], "t": [1, 3, 2], "n": [100] * 3, "error_rate": [0.3, 0.3, 0.1]})
    found = ec.alarms(report, "error_rate", period="t", by="s", above=0.1, looks=30, test="counts")
    alone = ec.alarms(report.filter(s="a"), "error_rate", period="t", above=0.1, looks=30, test="counts")
    assert found.filter(s="a")["evidence"].to_list() == alone["evidence"].to_list()


def test_a_report_without_rows_has_no_alarms():
    found = ec.alarms(BY_DAY.clear(), "difference", period="day", above=0, looks=30)
    assert (found.height, found.columns) == (
        0,
        ["day", "difference", "evidence", "alarm_at", "alarm", "since", "judged"],
    )
    assert found.schema["since"] == pl.Date


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"above": None}, "either above= or below="),
        ({"below": 1}, "either above= or below="),
        ({"above": math.inf}, "above=inf is not a finite number"),
        ({"looks": 1}, "looks=1: pass more than 1"),
        ({"looks": math.nan}, "looks=nan"),
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
        (pl.concat([BY_DAY, BY_DAY]), {}, "several rows for 2025-03-01"),
        (BY_DAY.with_columns(day=pl.lit(None, pl.Date)), {}, "have no period"),
        (BY_DAY.rename({"day": "since"}), {"period": "since"}, "a column 'since', which alarms"),
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
