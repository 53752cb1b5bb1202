"""What is said of tables that are made up here, word by word; and that chance is not called a finding."""

import datetime as dt
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from polars_ec.output.numbers import count
from polars_ec.page.contents import (
    Contents,
    differing_groups,
    group_names,
    listed,
    period_text,
    report_sentences,
    sentences,
    share,
    text,
)

RUNS = 80
JANUARY, MARCH, MAY = (dt.date(2024, month, 1) for month in (1, 3, 5))


def row(
    name: str, value: float | None, low: float | None = None, high: float | None = None, **more: Any
) -> dict[str, Any]:
    usual = {"n": 1000, "n_missing": 0, "n_invalid": 0, "small": False, "nec_kinked": False}
    return {"group": name, **usual, "nec": value, "nec_ci_low": low, "nec_ci_high": high, **more}


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


GROUPS = table(row("a", 0.5, 0.45, 0.55), row("b", 1.3, 1.2, 1.41), row("c", 1.1, 0.9, 1.34))
TOTAL = table(row("", 0.6, 0.58, 0.62, n=3000)).drop("group")
MADE = Contents("Page", ["group"], None, ["nec"], None, 0.95, GROUPS, TOTAL, costly=[1])


def said(contents: Contents, *starts: str) -> list[str]:
    """Sentences that begin like this; of all of them without."""
    texts = [s.text for s in sentences(contents)]
    return [t for t in texts if t.startswith(starts)] if starts else texts


def kind_of(contents: Contents, start: str) -> str:
    (kind,) = [s.kind for s in sentences(contents) if s.text.startswith(start)]
    return kind


def with_total(**values: Any) -> Contents:
    return replace(MADE, total=TOTAL.with_columns(**{k: pl.lit(v) for k, v in values.items()}))


def test_a_page_says_all_there_is_to_say() -> None:
    assert said(MADE) == [
        "The decisions cost 40% less than making the same decision for every case (NEC 0.600).",
        "1 of 3 groups costs significantly more than the naive system (NEC): b (1.300).",
        "All 3,000 rows have a valid score and label.",
    ]
    assert [s.kind for s in sentences(MADE)] == ["good", "bad", "good"]
    assert [list(s.rows) for s in sentences(MADE)] == [[], [1], []]


@pytest.mark.parametrize(
    ("value", "low", "high", "kind", "begin"),
    [
        (
            1.2,
            1.1,
            1.31,
            "bad",
            "The decisions cost 20% more than making the same decision for every case (NEC 1.200).",
        ),
        (
            0.98,
            0.93,
            1.03,
            "neutral",
            "These rows do not show whether the decisions cost less than making the same decision for every case: NEC 0.980 is not "
            "significantly different from 1.",
        ),
        (
            1.05,
            1.002,
            1.1,
            "bad",
            "The decisions cost 5% more than making the same decision for every case (NEC 1.050).",
        ),
        (0.9996, 0.9991, 0.9999, "good", "The decisions cost 0.04% less than making the same decision for every case"),
        (
            0.7,
            None,
            None,
            "neutral",
            "The decisions cost 30% less than making the same decision for every case (NEC 0.700). Its uncertainty is not known.",
        ),
        (
            None,
            None,
            None,
            "neutral",
            "Whether the decisions cost less than making the same decision for every case is not known: all rows are of one class",
        ),
    ],
)
def test_the_whole_log_against_the_naive_system(value, low, high, kind, begin) -> None:
    made = with_total(nec=value, nec_ci_low=low, nec_ci_high=high)
    assert kind_of(made, begin) == kind
    kinked = replace(made, total=made.total.with_columns(nec_kinked=pl.lit(value=True)))
    assert ("may be too narrow" in said(kinked)[0]) == (low is not None)


def test_a_log_with_wrong_rows_or_without_rows() -> None:
    wrong = with_total(nec=None, nec_ci_low=None, nec_ci_high=None, n_invalid=2)
    assert said(wrong)[0].endswith("is not known: 2 rows of the log are invalid.")
    empty = replace(MADE, total=TOTAL.with_columns(n=pl.lit(0), n_missing=pl.lit(7)), groups=GROUPS.clear(), costly=[])
    assert said(empty)[0] == "There is nothing to judge: 7 rows, none with a score and a label."


def test_another_metric_stands_beside_the_naive_system() -> None:
    of_auc = {"auc_roc": 0.81, "auc_roc_ci_low": 0.79, "auc_roc_ci_high": 0.83}
    made = replace(with_total(**of_auc), metrics=["auc_roc"])
    assert said(made)[0] == (
        "Area under the ROC curve (AUC) of all rows is 0.810; making the same decision for every case has 0.500."
    )
    assert not [t for t in said(made) if "naive system" in t]


def test_no_group_and_many_groups() -> None:
    none = replace(MADE, costly=[])
    assert said(none)[1] == (
        "None of 3 groups costs significantly more than the naive system (NEC); 2 are above 1, which may be sampling noise."
    )
    assert kind_of(none, "None of 3") == "good"
    many = table(*(row(f"g{i}", 2 + i / 10, 1.9 + i / 10, 2.1 + i / 10) for i in range(12)))
    made = replace(MADE, groups=many, costly=list(range(12)))
    assert said(made)[1] == (
        "12 of 12 groups cost significantly more than the naive system (NEC): g11 (3.100), g10 (3.000), g9 (2.900), and 9 more."
    )
    small = replace(MADE, groups=GROUPS.with_columns(small=pl.lit(value=True)), costly=[])
    assert said(small)[1] == (
        "Whether any group costs significantly more than the naive system is not known: all are small or have no interval."
    )
    assert said(small)[-1] == "3 of 3 groups are small: their intervals are unreliable, so they are not judged."


def test_groups_are_judged_at_the_reference_prior_where_there_is_one() -> None:
    at_prior = GROUPS.with_columns(
        nec_at_prior=pl.Series([0.9, 0.8, 1.5]), nec_at_prior_ci_low=0.7, nec_at_prior_ci_high=1.8
    )
    made = replace(MADE, groups=at_prior, costly=[2])
    assert (made.judged_metric, made.cost_metric) == ("nec_at_prior", "nec_at_prior")
    assert said(made)[1] == (
        "1 of 3 groups costs significantly more than the naive system (NEC at the reference prior): c (1.500)."
    )


def test_of_one_group_only_the_whole_is_told() -> None:
    assert len(said(replace(MADE, groups=GROUPS[:1], keys=[], costly=[]))) == 2


def difference(name: str, value: float, p: float, **more: Any) -> dict[str, Any]:
    limits = {"difference": value, "difference_ci_low": value - 0.1, "difference_ci_high": value + 0.1}
    return {"group": name, **limits, "p_adjusted": p, "small": False, **more}


def test_groups_that_differ_from_the_rest() -> None:
    rest = table(difference("a", -0.4, 0.001), difference("b", 0.5, 0.01), difference("c", 0.3, 0.06))
    made = replace(MADE, rest=rest)
    assert said(made, "2 of 3") == [
        "2 of 3 groups differ significantly from all others (NEC). Worse: b (+0.500). Better: a (−0.400)."
    ]
    # Of areas more is better.
    auc = replace(made, metrics=["auc_roc"], total=TOTAL.with_columns(auc_roc=0.8))
    assert "Worse: a (−0.400)" in said(auc, "2 of 3")[0]
    # Small groups are not named, and beside the kink of NEC only half may be wrong.
    small = rest.with_columns(small=pl.col("group") == "a")
    assert said(replace(MADE, rest=small), "1 of 2 groups with enough rows differs")[0].endswith(
        "(NEC). Worse: b (+0.500)."
    )
    close = rest.with_columns(p_adjusted=pl.lit(0.03))
    kinked = GROUPS.with_columns(nec_kinked=pl.lit(value=True))
    assert said(replace(MADE, rest=close), "3 of 3")
    assert said(replace(MADE, rest=close, groups=kinked), "None of 3 groups differs significantly from all others")
    # Which is no kink of other metrics.
    assert said(replace(auc, rest=close, groups=kinked), "3 of 3")
    assert said(
        replace(MADE, rest=rest, interval=0.9999), "None of 3 groups differs significantly from all others (NEC)."
    )


def test_of_200_groups_one_that_is_four_standard_errors_off_may_have_few_errors_by_chance() -> None:
    groups = table(*(row(f"g{i}", 0.6, 0.5, 0.7) for i in range(200)))

    def rest(errors: float) -> pl.DataFrame:
        limits = {
            "difference": -0.2,
            "difference_ci_low": -0.2 - 0.392 / errors,
            "difference_ci_high": -0.2 + 0.392 / errors,
        }
        none = [difference(f"g{i}", 0.01, 1.0) for i in range(1, 200)]
        return table({**difference("g0", 0.0, 0.01), **limits}, *none)

    # A p-value of 0.00006, of a normal distribution; of t with 9 degrees of freedom it is 0.003, and one of 200 groups may be so far off.
    assert said(replace(MADE, groups=groups, costly=[], rest=rest(4.0)), "None of 200 groups differs")
    assert said(replace(MADE, groups=groups, costly=[], rest=rest(5.5)), "1 of 200 groups differs")


def that_differ_of_200(seed: int, useless: int) -> set[int]:
    """The groups that a page says differ: the scores of the first few are of no use, and the others are alike."""
    generator = np.random.default_rng(seed)
    n = 96_000
    label, group = generator.random(n) < 0.3, generator.integers(0, 200, n)
    log_odds = -0.847 + 1.2 * (generator.normal(size=n) + np.where(group < useless, 0.0, 1.2) * (label - 0.5))
    log = pl.DataFrame({"g": group, "p": 1 / (1 + np.exp(-log_odds)), "y": label})
    rest = log.ec.sketch("p", "y", by="g", cost_fn=5, resolution=1).compare("nec", reference="rest")
    made = Contents("", ["g"], None, ["nec"], None, 0.95, rest.select("g"), TOTAL, rest=rest)
    return set(differing_groups(made, rest)[0]["g"].to_list())


def test_those_that_are_truly_worse_are_named_among_200() -> None:
    assert that_differ_of_200(0, useless=5) >= {0, 1, 2, 3, 4}


@pytest.mark.slow
def test_of_200_groups_alike_one_differs_in_at_most_one_of_twenty_pages() -> None:
    named = sum(bool(that_differ_of_200(seed, useless=0)) for seed in range(RUNS))
    # By p-values alone it is one of four.
    assert named <= 0.05 * RUNS + 2 * (0.05 * 0.95 * RUNS) ** 0.5


def of_periods() -> Contents:
    changes = table(
        difference("a", 0.4, 0.001, month=MAY, nec_kinked=False),
        difference("b", -0.3, 0.01, month=MARCH, nec_kinked=False),
        difference("c", 0.3, 0.2, month=MAY, nec_kinked=False),
    )
    parts = {"prior": (0.1, 0.06, 0.14), "likelihood": (0.08, -0.02, 0.18), "mix": (-0.03, -0.05, -0.01)}
    told = {
        f"{name}{end}": v for name, of in parts.items() for end, v in zip(("", "_ci_low", "_ci_high"), of, strict=True)
    }
    limits = {"difference": 0.15, "difference_ci_low": 0.05, "difference_ci_high": 0.25}
    history = pl.DataFrame(
        [{"month": month, "value": 0.65, "value_reference": 0.5, **limits, **told} for month in (MARCH, MAY)]
    )
    by_month = pl.DataFrame({"month": [JANUARY, MARCH, MAY], "nec_kinked": [False] * 3})
    return replace(MADE, period="month", changes=changes, history=history, trend_total=by_month, reference=JANUARY)


def test_what_has_changed_since_the_reference() -> None:
    made = of_periods()
    assert said(made, "2 of 3", "From") == [
        "From 2024-01 to 2024-05 NEC rose from 0.500 to 0.650 (significant). The mix of classes explains +0.100 and the mix of groups "
        "explains −0.030 of the change (significant); the part of the model is not significant.",
        "2 of 3 groups have changed significantly since 2024-01 (NEC). Worse: a (+0.400). Better: b (last in 2024-03) (−0.300).",
    ]
    two_classes = replace(made, total=TOTAL.with_columns(class_prior=0.2))
    assert "(significant). The base rate explains +0.100 and " in said(two_classes, "From")[0]
    assert kind_of(made, "From") == "bad"
    assert made.changes is not None
    kinked = replace(made, changes=made.changes.with_columns(nec_kinked=pl.lit(value=True), p_adjusted=pl.lit(0.03)))
    assert said(kinked, "None of 3 groups has changed significantly since 2024-01 (NEC).")
    brier = replace(kinked, metrics=["brier", "nec"], total=TOTAL.with_columns(brier=0.1))
    assert said(brier, "3 of 3 groups have changed significantly since 2024-01 (Brier score).")


def test_periods_that_are_worse_than_the_others_are_named_and_no_better_ones() -> None:
    made = of_periods()
    others = table(
        difference("", 0.6, 0.001, month=MARCH),
        difference("", -0.3, 0.001, month=MAY),
        difference("", -0.3, 0.001, month=JANUARY),
    ).drop("group")
    worse = replace(made, periods=others)
    assert said(worse, "1 of 3 periods") == [
        "1 of 3 periods is significantly worse than all others (NEC): 2024-03 (+0.600)."
    ]
    assert kind_of(worse, "1 of 3 periods") == "bad"
    alike = replace(made, periods=others.with_columns(p_adjusted=0.2))
    assert said(alike, "None of 3 periods") == ["None of 3 periods is significantly worse than all others (NEC)."]


def test_changes_of_a_selection_rate_are_neither_better_nor_worse() -> None:
    made = of_periods()
    periods = table(difference("", 0.6, 0.001, month=MARCH), difference("", -0.3, 0.001, month=MAY)).drop("group")
    shares = replace(
        made, metrics=["decision_share"], total=TOTAL.with_columns(decision_share=0.3), costly=[], periods=periods
    )
    sentences_of_changes = {
        "From 2024-01": "(significant). The mix",
        "2 of 3": "Higher: a (+0.400). Lower: b (last in 2024-03) (−0.300).",
        "2 of 2": "2 of 2 periods are significantly different from all others (Share of positive decisions): 2024-03 (+0.600), ",
    }
    for start, words in sentences_of_changes.items():
        assert words in said(shares, start)[0]
        assert kind_of(shares, start) == "neutral"
    none = replace(shares, periods=periods.with_columns(p_adjusted=0.2))
    assert said(none, "None of 2 periods is significantly different from all others")
    assert not [text for text in said(shares) if re.search("better|worse|worst|best", text)]


def test_periods_that_are_numbers_say_of_what() -> None:
    made = of_periods()
    numbers = pl.col("month").dt.month().cast(pl.Int64)
    assert made.changes is not None
    assert made.history is not None
    assert made.trend_total is not None
    of_numbers = replace(
        made,
        changes=made.changes.with_columns(numbers),
        history=made.history.with_columns(numbers),
        trend_total=made.trend_total.with_columns(numbers),
        reference=1,
    )
    whole, first = said(of_numbers, "2 of 3", "From")
    assert "since month 1 (NEC)" in first
    assert "b (last in month 3) (" in first
    assert whole.startswith("From month 1 to month 5 NEC rose from")


def test_a_change_that_is_not_significant_and_parts_that_are_not_known() -> None:
    made = of_periods()
    assert made.history is not None
    noise = made.history.with_columns(difference=0.02, difference_ci_low=-0.05, difference_ci_high=0.09, value=0.52)
    assert "rose from 0.500 to 0.520 (not significant)." in said(replace(made, history=noise), "From")[0]
    assert kind_of(replace(made, history=noise), "From") == "neutral"
    unknown = made.history.with_columns(**{f"{name}_ci_low": None for name in ("prior", "likelihood", "mix")})
    assert "What explains the change is not known:" in said(replace(made, history=unknown), "From")[0]
    weak = made.history.with_columns(
        mix=0.0, mix_ci_low=-0.1, mix_ci_high=0.1, prior=0.05, prior_ci_low=0.001, prior_ci_high=0.1
    )
    assert said(replace(made, history=weak), "From")[0].endswith("No single part of the change is significant.")
    assert not said(replace(made, history=made.history.clear()), "From")


def test_what_recalibration_would_gain() -> None:
    gain = {"rcl": 4.2, "rcl_ci_low": 3.8, "rcl_ci_high": 4.6}
    groups = GROUPS.with_columns(
        rcl=pl.Series([5.0, 3.0, 1.0]), rcl_ci_low=pl.Series([4.0, -1.0, 0.5]), rcl_ci_high=pl.Series([6.0, 7.0, 1.5])
    )
    made = replace(with_total(**gain), groups=groups)
    assert said(made, "Recalibra") == [
        "Recalibration would reduce the loss of the scores by 4.2% (significant).",
        "Recalibrating each group would reduce the loss significantly in 2 of 3 groups: a (5.0%), c (1.0%).",
    ]
    nothing = {"rcl": 0.1, "rcl_ci_low": -0.2, "rcl_ci_high": 0.4}
    assert said(with_total(**nothing), "Recalibra") == [
        "Recalibration would not reduce the loss of the scores significantly (0.1%)."
    ]


def test_missing_and_wrong_rows() -> None:
    groups = GROUPS.with_columns(n_missing=pl.Series([0, 40, 5]), n_invalid=pl.Series([2, 0, 0]))
    made = replace(MADE, groups=groups, total=TOTAL.with_columns(n_missing=pl.lit(45), n_invalid=pl.lit(2)))
    assert said(made, "45 of", "2 of") == [
        "45 of 3,047 rows (1.5%) have no score or no label and are left out, most of them in b (40).",
        "2 of 3,047 rows are invalid, for example a posterior above 1. Groups with invalid rows have no values: a.",
    ]


def noise_only(groups: int, seed: int, log_spread: float = 0.1) -> pl.DataFrame:
    """A report of groups that all cost just as much as treating all cases alike, with limits of the normal distribution."""
    value = np.exp(np.random.default_rng(seed).normal(0, log_spread, groups))
    half = np.exp(1.959964 * log_spread)
    named = {
        "group": [f"g{i}" for i in range(groups)],
        "nec": value,
        "nec_ci_low": value / half,
        "nec_ci_high": value * half,
    }
    return pl.DataFrame(named).with_columns(small=pl.lit(value=False), nec_kinked=pl.lit(value=False))


@pytest.mark.quick("200")
@pytest.mark.parametrize("groups", [1, 2, 200])
def test_noise_in_a_report_is_named_in_at_most_one_of_twenty(groups: int) -> None:
    named = sum(
        any(s.kind == "bad" for s in report_sentences(noise_only(groups, seed), ["group"], None, interval=0.95))
        for seed in range(RUNS)
    )
    # Three standard errors above 5 %.
    assert named <= RUNS * 0.05 + 3 * np.sqrt(RUNS * 0.05 * 0.95)


def test_a_report_with_a_group_that_is_truly_bad() -> None:
    bad = pl.DataFrame([row("bad", 1.9, 1.6, 2.26)]).select(noise_only(1, 0).columns)
    (only,) = report_sentences(pl.concat([noise_only(200, 7), bad]), ["group"], None, interval=0.95)
    assert (only.kind, only.text) == (
        "bad",
        "1 of 201 groups costs significantly more than the naive system (NEC): bad (1.900).",
    )


def test_a_report_without_limits_says_how_to_get_some() -> None:
    plain = GROUPS.select("group", "nec")
    (only,) = report_sentences(plain, ["group"], None)
    assert (only.kind, only.text) == (
        "neutral",
        "2 of 3 groups cost more than the naive system (NEC above 1): b (1.300), c (1.100). --interval 0.95 shows which are significant.",
    )
    (fine,) = report_sentences(plain[:1], ["group"], None)
    assert (
        fine.text
        == "None of 1 group costs more than the naive system (NEC at most 1). --interval 0.95 adds the uncertainty."
    )
    # Limits that are of no stated level are no limits.
    assert "--interval" in report_sentences(GROUPS, ["group"], None)[0].text


def test_a_report_of_periods_of_nulls_and_with_a_total() -> None:
    periods = pl.DataFrame({"group": ["a", "a", None], "month": [JANUARY, MARCH, None], "nec": [1.2, None, 1.4]})
    (both,) = report_sentences(periods, ["group"], "month")
    assert both.text.startswith(
        "2 of 2 groups and periods cost more than the naive system (NEC above 1): (missing), (missing) (1.400), a, 2024-01 (1.200)."
    )
    (alone,) = report_sentences(periods.drop("group"), [], "month")
    assert alone.text.startswith(
        "2 of 2 periods cost more than the naive system (NEC above 1): (missing) (1.400), 2024-01 (1.200)."
    )
    whole = pl.concat([GROUPS.with_columns(total=pl.lit(value=False)), table(row("", 0.6, 0.58, 0.62, total=True))])
    found = [s.text for s in report_sentences(whole, ["group"], None, interval=0.9)]
    assert found[0].startswith("The decisions cost 40% less than making the same decision for every case")
    assert found[1].startswith("1 of 3 groups")
    (one, rows) = report_sentences(TOTAL, [], None, interval=0.95)
    assert one.kind == rows.kind == "good"
    assert report_sentences(GROUPS.rename({"nec": "recall"}), ["group"], None, "recall") == []
    assert report_sentences(GROUPS, ["group"], None, "nce") == []
    assert report_sentences(GROUPS.clear(), ["group"], None, interval=0.95) == []


def test_shares_and_counts() -> None:
    assert [share(*pair) for pair in ((1, 3), (1, 10_000), (5, 5))] == ["33.3%", "less than 0.1%", "100.0%"]
    assert [count(1, "row"), count(1200, "row")] == ["1 row", "1,200 rows"]
    assert listed([*"abcdefg"]) == "a, b, c, and 4 more"


def test_names_are_plain_text() -> None:
    hostile = pl.DataFrame({"k": ["\x1b[31mred\n\tx", "</script>", None, "x" * 99], "d": [dt.datetime(2024, 1, 2)] * 4})
    names = group_names(hostile, ["k"])
    assert names == ["\N{REPLACEMENT CHARACTER}[31mred x", "</script>", "(missing)", "x" * 59 + "…"]
    assert group_names(hostile[1:2], ["k", "d"]) == ["</script>, 2024-01-02"]
    assert text(dt.datetime(2024, 1, 2, 3)) == "2024-01-02 03:00:00"
    assert text([1, None]) == "[1, None]"
    years = pl.Series([dt.date(2023, 1, 1), dt.date(2024, 1, 1)])
    assert period_text(years[0], years) == "2023"
    assert period_text(JANUARY, pl.Series([JANUARY, MARCH])) == "2024-01"
    assert period_text(JANUARY, pl.Series([JANUARY, dt.date(2024, 1, 8)])) == "2024-01-01"
    assert (
        period_text(dt.datetime(2024, 1, 1), pl.Series([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 6)]))
        == "2024-01-01"
    )
    assert period_text(7, pl.Series([7, 8])) == "7"


def test_small_rows_of_groups_and_periods_are_called_that() -> None:
    periods = pl.DataFrame(
        {"group": ["a", "b"], "month": [JANUARY, MARCH], "n": [5, 5], "nec": [0.5, 0.6], "small": [True, False]}
    )
    found = report_sentences(periods.with_columns(n_missing=0, n_invalid=0), ["group"], "month")
    assert found[-1].text == "1 of 2 groups and periods is small: its interval is unreliable, so it is not judged."
