"""The paper, entry by entry in its own order."""

from __future__ import annotations

from polars_ec.papers.entries import Entry, Paper, equation, figure, section, table
from polars_ec.papers.posteriors import (
    calibration_metrics,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    other_forms,
    scoring_rules,
    stated_priors,
    synthetic,
    transformations,
)
from polars_ec.papers.posteriors.one_against_others import one_against_others
from polars_ec.papers.posteriors.table_1 import table_1
from polars_ec.papers.posteriors.table_2 import numbers_in_the_text, table_2
from polars_ec.papers.posteriors.table_3 import table_3

SECTION_2 = [
    equation(1, "Bayes decision", "ec.bayes_decision", scoring_rules.bayes_decisions),
    equation(2, "scoring rule: the cost of the Bayes decision", "ec.row_cost", scoring_rules.cost_of_bayes_decisions),
    equation(
        3,
        "a proper rule is least at the reference",
        "ec.cross_entropy, ec.brier, ec.bayes_risk",
        scoring_rules.least_at_the_reference,
    ),
    equation(
        4,
        "EPSR over (h, x)",
        "part of ec.semi_empirical_epsr",
        reason="defines the expectation that Equation 6 computes",
    ),
    equation(5, "EPSR over (h, q)", "part of ec.semi_empirical_epsr", reason="a step from Equation 4 to Equation 6"),
    equation(
        6, "EPSR: the mean over the rows", "ec.bayes_risk, ec.cross_entropy, ec.brier", scoring_rules.averages_over_rows
    ),
    equation(7, "expected cost", "ec.expected_cost, ec.nec, ec.error_rate", scoring_rules.expected_cost),
    equation(8, "cross-entropy", "ec.cross_entropy, ec.nce", scoring_rules.cross_entropy),
    equation(9, "Brier score", "ec.brier, ec.nbs", scoring_rules.brier_score),
    Entry(
        "naive-systems",
        "Sections 2.3.2 and 2.3.3",
        "text",
        "scores of the best naive system",
        "ec.nce, ec.nbs",
        scoring_rules.naive_systems,
    ),
    equation(10, "rules as integrals over costs", "ec.epsr", scoring_rules.rule_as_an_integral),
    equation(
        11,
        "the costs of an operating point",
        "ec.CostMatrix.bayes_threshold",
        scoring_rules.costs_of_an_operating_point,
    ),
    equation(
        12, "EPSRs as integrals of Bayes risks", "ec.epsr, ec.bayes_risk", scoring_rules.expected_rules_as_integrals
    ),
    equation(
        13, "perfect calibration", "part of ec.calibrate", reason="defines calibration; Equations 24 to 33 measure it"
    ),
    equation(14, "the optimal classifier", "ec.posterior", reason="Bayes' rule, which Equation 38 computes"),
    *(
        equation(number, what, "part of ec.calibrate", reason=reason)
        for number, what, reason in (
            (15, "the optimal classifier is calibrated", "a step to Equation 16"),
            (16, "the optimal classifier is calibrated", "a step to Equation 17"),
            (17, "the optimal classifier is calibrated", "an identity of distributions: no number"),
            (18, "a classifier is not the optimal one", "says that two distributions differ: no number"),
            (19, "a classifier is calibrated with itself as the reference", "an identity of distributions: no number"),
            (20, "the posteriors q, s and p", "sums up Equations 16 to 19: no number"),
        )
    ),
    Entry(
        "footnote-6",
        "Footnote 6",
        "text",
        "a function of posteriors knows no more of the class",
        "ec.nce, ec.Sketch.calibrate",
        other_forms.data_processing,
    ),
    equation(
        21,
        "the naive classifier: calibrated, and of no use",
        "ec.ece_mc, ec.calibration_loss, ec.nce",
        transformations.naive_classifier,
    ),
    equation(
        22,
        "Bayes decisions by calibrated posteriors",
        "ec.Sketch.calibrate, ec.bayes_risk",
        transformations.decisions_by_calibrated_posteriors,
    ),
    equation(23, "affine calibration (DP)", "ec.calibrate, ec.affine", transformations.affine),
    Entry(
        "temperature-scaling",
        "Section 2.4.2",
        "procedure",
        "Equation 23 with beta = 0",
        "ec.calibrate",
        transformations.temperature,
    ),
    Entry(
        "histogram-binning",
        "Sections 2.4.2 and 2.5.2",
        "procedure",
        "posteriors from the shares in bins",
        "ec.Sketch.calibrate",
        transformations.histogram_binning,
    ),
    Entry(
        "pav",
        "Section 2.4.2",
        "procedure",
        "isotonic calibration: pool adjacent violators",
        "ec.Sketch.calibrate",
        transformations.pav,
    ),
    equation(24, "expected score divergence", "ec.expected_score_divergence", calibration_metrics.expected_divergence),
    equation(
        25,
        "EPSR as divergence and entropy",
        "ec.semi_empirical_epsr, ec.expected_score_divergence",
        calibration_metrics.decomposition,
    ),
    equation(
        26,
        "the divergence that a rule induces",
        "ec.expected_score_divergence",
        calibration_metrics.divergence_of_a_row,
    ),
    equation(27, "expected calibration error", "ec.ece", calibration_metrics.ece),
    equation(28, "ECE as a mean distance", "ec.ece", calibration_metrics.ece_as_a_distance),
    Entry(
        "other-ece",
        "Section 2.5.2, other forms",
        "text",
        "ECE by squares, and of bins of equal mass",
        "ec.ece, ec.expected_score_divergence",
        other_forms.other_errors,
    ),
    equation(
        29,
        "the mean has the least score divergence",
        "ec.expected_score_divergence",
        calibration_metrics.mean_is_the_minimiser,
    ),
    Entry(
        "ece-mc",
        "Section 2.5.2",
        "text",
        "ECE of the class of the largest posterior",
        "ec.ece_mc",
        calibration_metrics.ece_of_many_classes,
    ),
    equation(30, "calibration loss", "ec.calibration_loss", calibration_metrics.calibration_loss),
    equation(31, "EPSR before calibration", "part of ec.calibration_loss", calibration_metrics.raw_loss),
    equation(32, "EPSR after calibration", "part of ec.calibration_loss", calibration_metrics.calibrated_loss),
    equation(33, "relative calibration loss (RCL)", "ec.calibration_loss", calibration_metrics.relative_loss),
    Entry(
        "cross-validation",
        "Section 2.5.3",
        "procedure",
        "each fold calibrated by the rows of the others",
        "ec.calibrate, ec.Calibration.apply",
        transformations.cross_validation,
    ),
]

SECTION_3_1 = [
    equation(34, "the costs of Figure 1", "ec.CostMatrix.bayes_threshold", scoring_rules.costs_of_the_figure),
]

SECTION_3_4 = [
    equation(
        35,
        "cross-entropy by another reference",
        "ec.semi_empirical_epsr",
        calibration_metrics.semi_empirical_cross_entropy,
    ),
    table(
        1,
        "semi-empirical against empirical cross-entropy",
        "ec.semi_empirical_epsr, ec.nce, ec.Sketch.calibrate",
        table_1,
    ),
]

SECTION_3_5 = [
    table(
        2,
        "real systems: risks, NCE and calibration metrics",
        "ec.nec, ec.nce, ec.calibrate, ec.Sketch.calibrate, ec.ece_mc, ec.ece",
        table_2,
    ),
    section("3.5", "numbers of Table 2 in the text", "ec.nce", numbers_in_the_text),
]

APPENDIX_A = [
    equation(36, "cross-entropy with stated priors", "ec.cross_entropy", stated_priors.cross_entropy),
    equation(37, "Brier score with stated priors", "ec.brier", stated_priors.brier_score),
]

APPENDIX_C = [
    equation(38, "posteriors by Bayes' rule", "ec.posterior, ec.shift_prior", stated_priors.bayes_rule),
]

APPENDIX_D = [
    table(3, "classes, rows and priors of the real sets", "ec.class_prior, ec.n_rows", table_3),
    Entry(
        "one-against-others",
        "Appendix D",
        "procedure",
        "one class against the others, as CIFAR-1vsO and CIFAR-2vsO, of CIFAR10",
        "ec.nec, ec.nce, ec.ece, ec.Sketch.calibrate",
        one_against_others,
    ),
]

PAPER = Paper(
    "posteriors",
    "L. Ferrer and D. Ramos",
    "Evaluating posterior probabilities: decision theory, proper scoring rules, and calibration",
    entries=[
        *SECTION_2,
        *SECTION_3_1,
        section(
            "3.1",
            "at a = 1/2 the Bayes risk is twice the error rate; miscalibration shows elsewhere",
            "ec.bayes_risk, ec.nbs",
            figure_1.section_3_1,
        ),
        figure(
            1,
            "Bayes risks of four systems, whose area is the cross-entropy or, weighted, the Brier score",
            "ec.nce, ec.nbs, ec.epsr, ec.Sketch.bayes_risk",
            figure_1.figure_1,
            figure_1.draw_figure_1,
        ),
        Entry(
            "ends-of-rules",
            "Section 3.1, the ends",
            "text",
            "what being sure of a wrong class costs",
            "ec.row_brier, ec.row_log_loss",
            other_forms.ends_of_rules,
        ),
        figure(
            2,
            "two classes: normalised losses, calibration losses and errors of four systems",
            "ec.nec, ec.nce, ec.nbs, ec.calibration_loss, ec.ece, ec.ece_mc",
            figure_2.figure_2,
            figure_2.draw_figure_2,
        ),
        section(
            "3.2",
            "accuracy = 1 - 0.2 NRisk-01, and what each miscalibration moves",
            "ec.accuracy, ec.nec, ec.calibration_loss",
            figure_2.section_3_2,
        ),
        figure(
            3,
            "ten classes: normalised losses, calibration losses and errors of four systems",
            "ec.nec, ec.nce, ec.nbs, ec.calibration_loss, ec.ece_mc",
            figure_3.figure_3,
            figure_3.draw_figure_3,
        ),
        section(
            "3.3",
            "what temperature scaling and the error of the top label do not find",
            "ec.calibration_loss, ec.ece_mc",
            figure_3.section_3_3,
        ),
        *SECTION_3_4,
        *SECTION_3_5,
        *APPENDIX_A,
        figure(
            4,
            "Appendix B: the absolute distance is no score divergence",
            "ec.expected_score_divergence",
            figure_4.figure_4,
            figure_4.draw_figure_4,
        ),
        *APPENDIX_C,
        Entry(
            "appendix-c",
            "Appendix C",
            "procedure",
            "the synthetic sets, and how they are miscalibrated",
            "ec.shift_prior, ec.affine",
            synthetic.appendix_c,
        ),
        *APPENDIX_D,
        Entry(
            "appendix-e",
            "Appendix E",
            "procedure",
            "confidence intervals by bootstrap, calibrators trained anew, folds by original row",
            "ec.Sketch.evaluate, ec.Sketch.calibration_loss",
            figure_5.appendix_e,
        ),
        figure(
            5,
            "NBS and calibration losses of four systems with 95 % limits of 100 bootstraps",
            "ec.Sketch.evaluate, ec.Sketch.calibration_loss",
            figure_5.figure_5,
            figure_5.draw_figure_5,
        ),
    ],
    notes=(
        "Classes are 1 to K in the paper and 0 to K - 1 here. ECE is percent there and a share here.",
        "Folds are five, stratified, drawn anew from NumPy's legacy generator as the authors' code draws them: cross-validated numbers are the paper's own"
        " too.",
    ),
)
