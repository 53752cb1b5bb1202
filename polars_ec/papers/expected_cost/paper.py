"""The paper, entry by entry in its own order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_ec.papers.analysis.preferences import lr_plus_at_the_same_cost
from polars_ec.papers.entries import Entry, Paper, equation, figure, section, table
from polars_ec.papers.expected_cost import (
    bayes_decisions,
    binary_metrics,
    costs,
    implied_costs,
    scores,
    ten_classes,
    two_thresholds,
)

if TYPE_CHECKING:
    from altair import TopLevelMixin


def _figure_1() -> TopLevelMixin:
    from polars_ec.papers.expected_cost import charts

    return charts.figure_1()


def _figure_2() -> TopLevelMixin:
    from polars_ec.papers.expected_cost import charts

    return charts.figure_2()


_SECTION_2 = [
    section(
        "2",
        "costs below 0 and utilities, as costs whose least is 0",
        "ec.CostMatrix.normalized, ec.CostMatrix.from_utilities",
        costs.section_2,
    ),
    equation(1, "expected cost (EC), a mean over rows", "ec.expected_cost, ec.row_cost", costs.equation_1),
    equation(2, "EC from counts, and from rates and priors", "ec.expected_cost", costs.equation_2),
    equation(3, "normalised EC (NEC), and the best naive system", "ec.nec, ec.CostMatrix.naive", costs.equation_3),
    equation(4, "NEC of two classes, a function of one number", "ec.nec", costs.equation_4),
    section("2.1", "NEC of systems that decide a constant", "ec.nec", costs.section_2_1),
    equation(5, "error rate, as an EC", "ec.error_rate, ec.accuracy, ec.CostMatrix.zero_one", costs.equation_5),
    equation(
        6,
        "balanced error rate, as an EC",
        "ec.balanced_error_rate, ec.macro_recall, ec.CostMatrix.balanced",
        costs.equation_6,
    ),
    equation(7, "Bayes decision", "ec.bayes_decision", costs.equation_7),
    section("2.3", "of posteriors of 0.9, nine of ten are right", "ec.posterior", implied_costs.calibrated_posteriors),
]

_SECTION_3 = [
    equation(8, "F-beta from precision and recall", "ec.fbeta, ec.precision, ec.recall", binary_metrics.equation_8),
    equation(9, "F-beta from counts", "ec.fbeta", binary_metrics.equation_9),
    equation(10, "1 - F-beta", "ec.fbeta", binary_metrics.equation_10),
    equation(11, "EC in which a miss costs beta squared", "ec.expected_cost", binary_metrics.equation_11),
    equation(
        12,
        "1 - F-beta from EC, and from NEC",
        "ec.fbeta, ec.expected_cost, ec.nec, ec.decision_share",
        binary_metrics.equation_12,
    ),
    Entry(
        "benchmarks",
        "Section 3.1, benchmarks",
        "text",
        "how many tasks of SuperGLUE are measured by F-beta",
        "part of ec.fbeta",
        reason="counts tasks of benchmarks: nothing to compute",
    ),
    section("3.1", "F-beta of systems that decide a constant", "ec.fbeta", binary_metrics.section_3_1),
    Entry(
        "footnote-8",
        "Footnote 8",
        "text",
        "metrics at other priors than those of the data",
        "ec.f1, ec.mcc, ec.expected_cost",
        table=binary_metrics.footnote_8,
    ),
    equation(13, "Matthews correlation coefficient (MCC)", "ec.mcc", binary_metrics.equation_13),
    equation(14, "MCC from NEC at equal priors", "ec.mcc, ec.nec, ec.decision_share", binary_metrics.equation_14),
    section("3.3", "macro F score of several classes", "ec.f1_of_averages", binary_metrics.section_3_3),
]

_SECTION_4 = [
    figure(1, "F1, MCC and NEC over the threshold", "ec.Sketch.cost_curve", two_thresholds.figure_1, draw=_figure_1),
    section(
        "4.1",
        "best thresholds, and the costs that they stand for",
        "ec.equivalent_cost, ec.Sketch.best_threshold, ec.CostMatrix.bayes_log_odds",
        two_thresholds.section_4_1,
    ),
    figure(
        2,
        "F1's best threshold of two sets of scores",
        "ec.equivalent_cost, ec.Sketch.cost_curve",
        two_thresholds.figure_2,
        draw=_figure_2,
    ),
    Entry(
        "best-thresholds-of-f",
        "Section 4.1, any F-beta",
        "text",
        "the best threshold for F-beta, and the cost of a miss that it stands for",
        "ec.equivalent_cost, ec.Sketch.best_threshold",
        table=implied_costs.best_thresholds_of_f,
    ),
    Entry(
        "costs-of-a-miss",
        "Section 4.1, the cost of a miss",
        "text",
        "dearer misses, lower thresholds, the same for both sets",
        "ec.CostMatrix.bayes_log_odds, ec.fnr, ec.fpr, ec.nec",
        table=implied_costs.costs_of_a_miss,
    ),
    table(
        1,
        "EC and NEC of ten classes for five cost matrices",
        "ec.expected_cost, ec.nec, ec.bayes_decision, ec.CostMatrix.naive",
        ten_classes.table_1,
    ),
    Entry(
        "section-4.2",
        "Section 4.2",
        "procedure",
        "calibration, then Bayes decisions of ten classes",
        "ec.calibrate, ec.Calibration.apply, ec.nec",
        table=implied_costs.calibrate_then_decide,
    ),
]

_APPENDICES = [
    equation(
        15,
        "Bayes decision for costs of 0 and 1, by the other classes' posteriors",
        "ec.bayes_decision",
        bayes_decisions.equation_15,
    ),
    equation(16, "the same, by 1 - posterior", "ec.bayes_decision", bayes_decisions.equation_16),
    equation(17, "the same, by the largest posterior", "ec.bayes_decision", bayes_decisions.equation_17),
    equation(18, "Bayes decision of two classes", "ec.bayes_decision", bayes_decisions.equation_18),
    equation(
        19,
        "its threshold on the posterior",
        "ec.CostMatrix.bayes_threshold, ec.bayes_decision",
        bayes_decisions.equation_19,
    ),
    equation(
        20,
        "its threshold on the log odds",
        "ec.CostMatrix.bayes_log_odds, ec.bayes_decision",
        bayes_decisions.equation_20,
    ),
    equation(21, "costs with a decision to abstain", "ec.CostMatrix.zero_one", bayes_decisions.equation_21),
    equation(22, "Bayes decision for these costs", "ec.bayes_decision", bayes_decisions.equation_22),
    equation(23, "the rule to abstain", "ec.bayes_decision", bayes_decisions.equation_23),
    equation(24, "best naive decision for these costs", "ec.CostMatrix.naive", bayes_decisions.equation_24),
    Entry(
        "appendix-b",
        "Appendix B",
        "text",
        "when to abstain in Table 1",
        "ec.bayes_decision",
        table=bayes_decisions.appendix_b,
    ),
    equation(25, "net benefit from counts", "ec.net_benefit", binary_metrics.equation_25),
    equation(26, "net benefit from EC", "ec.net_benefit, ec.expected_cost", binary_metrics.equation_26),
    equation(
        27,
        "net benefit from NEC, and its threshold",
        "ec.net_benefit, ec.nec, ec.CostMatrix.bayes_threshold",
        binary_metrics.equation_27,
    ),
    Entry(
        "appendix-c.1",
        "Appendix C.1",
        "text",
        "net benefit ranks systems as NEC does",
        "ec.net_benefit, ec.nec, ec.Sketch.best_threshold",
        table=implied_costs.net_benefit_ranks_as_nec,
    ),
    equation(
        28, "LR+ from sensitivity and specificity", "ec.lr_plus, ec.recall, ec.specificity", binary_metrics.equation_28
    ),
    equation(29, "LR+ from NEC at equal priors", "ec.lr_plus, ec.nec", binary_metrics.equation_29),
    Entry(
        "appendix-c.2",
        "Appendix C.2",
        "text",
        "LR+ prefers few false alarms",
        "ec.lr_plus, ec.nec",
        table=lr_plus_at_the_same_cost,
    ),
    Entry(
        "appendix-c.3",
        "Appendix C.3",
        "text",
        "areas under curves and equal error rate, which no monotonic transform moves",
        "ec.auc_roc, ec.average_precision, ec.eer",
        table=scores.appendix_c_3,
    ),
    Entry(
        "eer-bound",
        "Appendix C.3, bound",
        "text",
        "error rate of calibrated posteriors: at most EER and each prior",
        "ec.error_rate, ec.eer",
        table=scores.eer_bound,
    ),
    Entry(
        "appendix-d",
        "Appendix D",
        "procedure",
        "simulated data",
        "part of section-4.1 and table-1",
        table=scores.appendix_d,
    ),
    equation(30, "posteriors from likelihoods and priors", "ec.posterior", scores.equation_30),
]

PAPER = Paper(
    "expected-cost",
    "L. Ferrer",
    "No need for ad-hoc substitutes: the expected cost is a principled all-purpose classification metric",
    entries=[*_SECTION_2, *_SECTION_3, *_SECTION_4, *_APPENDICES],
    notes=[
        "The classes H1, H2, ... are 0, 1, ... here: c12 is the cost of a false alarm, c21 that of a miss.",
        "Equations without printed numbers are held against themselves, in NumPy, on small simulated logs.",
        "What the paper calls a standard deviation is a variance, and class counts are cut off, not rounded; Table 1 is of 10,000 rows.",
        "Section 3 announces specificity at a sensitivity for appendix C, which does not have it: here it is ec.specificity_at_sensitivity.",
    ],
)
