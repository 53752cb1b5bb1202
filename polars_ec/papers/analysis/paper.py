"""The paper, entry by entry in its own order."""

from __future__ import annotations

from polars_ec.papers.analysis import (
    abstaining,
    bayes_decisions,
    calibration_loss,
    error_counts,
    f_score_and_mcc,
    hard_decisions,
    held_out,
    preferences,
    ranking,
    scoring_rules,
    ten_classes,
    two_classes,
)
from polars_ec.papers.entries import Entry, Paper, equation, figure, section, table

_HARD_DECISIONS = (
    figure(
        1,
        "a classifier that makes scores, and a stage that decides by them",
        "ec.bayes_decision, ec.expected_cost",
        reason="a sketch of the two stages, without data",
    ),
    equation(1, "counts N_ij", "ec.confusion", hard_decisions.equation_1),
    equation(2, "expected cost (EC), a mean over the samples", "ec.expected_cost", hard_decisions.equation_2),
    equation(3, "EC by counts", "ec.expected_cost", hard_decisions.equation_3),
    equation(4, "EC by rates and priors, which may be stated", "ec.expected_cost", hard_decisions.equation_4),
    equation(5, "EC of the best naive system", "ec.CostMatrix.naive", hard_decisions.equation_5),
    equation(6, "normalised EC (NEC)", "ec.nec", hard_decisions.equation_6),
    section(
        "2.1.1", "NEC is up to 1 at the best threshold", "ec.nec, ec.Sketch.best_threshold", two_classes.section_2_1_1
    ),
    equation(7, "NEC of two classes", "ec.nec", hard_decisions.equation_7),
    equation(8, "NEC of two classes, by alpha", "ec.nec", hard_decisions.equation_8),
    equation(9, "alpha, the one parameter of costs and priors", "ec.effective_prior", hard_decisions.equation_9),
    equation(10, "error rate", "ec.error_rate, ec.accuracy", hard_decisions.equation_10),
    equation(
        11,
        "balanced error rate",
        "ec.balanced_error_rate, ec.balanced_accuracy, ec.CostMatrix.balanced",
        hard_decisions.equation_11,
    ),
    equation(12, "net benefit", "ec.net_benefit", hard_decisions.equation_12),
    equation(13, "net benefit by rates", "ec.net_benefit", hard_decisions.equation_13),
    equation(14, "net benefit by error rates", "ec.net_benefit", hard_decisions.equation_14),
    equation(15, "net benefit by NEC", "ec.net_benefit, ec.nec", hard_decisions.equation_15),
    equation(16, "F-beta by precision and recall", "ec.fbeta, ec.f1", f_score_and_mcc.equation_16),
    equation(17, "precision and recall", "ec.precision, ec.recall", f_score_and_mcc.equation_17),
    equation(18, "F-beta by counts", "ec.fbeta", f_score_and_mcc.equation_18),
    equation(19, "1 - F-beta by counts", "ec.fbeta", f_score_and_mcc.equation_19),
    equation(20, "1 - F-beta by totals", "ec.fbeta", f_score_and_mcc.equation_20),
    equation(21, "1 - F-beta by rates and priors", "ec.fbeta", f_score_and_mcc.equation_21),
    equation(22, "EC with c21 = beta^2", "ec.expected_cost", f_score_and_mcc.equation_22),
    equation(23, "1 - F-beta by EC", "ec.fbeta, ec.decision_share", f_score_and_mcc.equation_23),
    equation(24, "1 - F-beta by NEC", "ec.fbeta, ec.decision_share", f_score_and_mcc.equation_24),
    Entry(
        "footnote-2",
        "Footnote 2",
        "text",
        "F1 and EC of two sets of data with other priors",
        "ec.f1, ec.expected_cost",
        preferences.f_score_at_other_priors,
    ),
    Entry(
        "f-beta-at-the-same-cost",
        "Section 2.4, the same cost",
        "text",
        "F-beta prefers more decisions for H2",
        "ec.fbeta, ec.expected_cost, ec.decision_share",
        preferences.f_score_at_the_same_cost,
    ),
    section("2.4", "F-beta of naive systems", "ec.fbeta", f_score_and_mcc.naive_f_score),
    equation(25, "MCC by counts", "ec.mcc", f_score_and_mcc.equation_25),
    equation(26, "MCC by errors and totals", "ec.mcc", f_score_and_mcc.equation_26),
    equation(27, "MCC, a factor taken out", "ec.mcc", f_score_and_mcc.equation_27),
    equation(28, "MCC by error rates", "ec.mcc", f_score_and_mcc.equation_28),
    equation(29, "MCC by the sum of the error rates", "ec.mcc", f_score_and_mcc.equation_29),
    equation(30, "MCC by NEC at uniform priors", "ec.mcc, ec.nec", f_score_and_mcc.equation_30),
    equation(31, "the factor between MCC and 1 - NEC", "ec.mcc, ec.nec", f_score_and_mcc.equation_31),
    section(
        "2.5", "MCC prefers imbalanced decisions, and its sign", "ec.mcc, ec.nec", preferences.mcc_at_the_same_cost
    ),
    equation(32, "LR+ by sensitivity and specificity", "ec.lr_plus", f_score_and_mcc.equation_32),
    equation(33, "LR+ by error rates", "ec.lr_plus", f_score_and_mcc.equation_33),
    equation(34, "LR+ by the sum of the error rates", "ec.lr_plus", f_score_and_mcc.equation_34),
    equation(35, "LR+ by NEC at uniform priors", "ec.lr_plus, ec.nec", f_score_and_mcc.equation_35),
    section("2.6", "LR+ prefers few false alarms", "ec.lr_plus, ec.nec", preferences.lr_plus_at_the_same_cost),
    figure(
        2,
        "NEC against MCC and F1, for 441 systems on balanced and on imbalanced classes",
        "ec.nec, ec.mcc, ec.f1",
        error_counts.figure_2,
        error_counts.draw_figure_2,
    ),
    section("2.7", "what Figure 2 shows", "ec.nec, ec.mcc, ec.f1", error_counts.what_figure_2_shows),
    section("2.7.1", "MCC prefers imbalanced decisions", "ec.mcc, ec.nec", error_counts.section_2_7_1),
    table(
        1,
        "NEC, F1 and MCC of nine systems, balanced classes",
        "ec.nec, ec.f1, ec.mcc, ec.fnr, ec.fpr, ec.decision_share",
        error_counts.table_1,
    ),
    table(
        2,
        "NEC, F1 and MCC of twelve systems, imbalanced classes",
        "ec.nec, ec.f1, ec.mcc, ec.fnr, ec.fpr, ec.decision_share",
        error_counts.table_2,
    ),
    section(
        "2.7.2", "a system as costly as the best naive one", "ec.nec, ec.f1, ec.mcc", error_counts.text_after_table_2
    ),
)

_BAYES_DECISIONS = (
    equation(36, "expected cost by the posteriors", "ec.expected_cost", bayes_decisions.equation_36),
    equation(37, "Bayes decision", "ec.bayes_decision", bayes_decisions.equation_37),
    equation(38, "calibrated for a cost", "ec.calibration_loss", bayes_decisions.equation_38),
    section(
        "3.1", "a map of scores to labels, on its samples and on others", "ec.expected_cost", held_out.labels_as_scores
    ),
    equation(39, "calibrated, as usually defined", "ec.Sketch.reliability", bayes_decisions.equation_39),
    equation(40, "Bayes decision at 0-1 costs", "ec.bayes_decision", bayes_decisions.equation_40),
    equation(41, "Bayes decision at 0-1 costs, the second form", "ec.bayes_decision", bayes_decisions.equation_41),
    equation(
        42, "Bayes decision at 0-1 costs: the largest posterior", "ec.bayes_decision", bayes_decisions.equation_42
    ),
    equation(43, "Bayes decision of two classes", "ec.bayes_decision", bayes_decisions.equation_43),
    equation(44, "its threshold on the posterior", "ec.CostMatrix.bayes_threshold", bayes_decisions.equation_44),
    equation(45, "posteriors from likelihoods and priors", "ec.posterior", bayes_decisions.equation_45),
    equation(46, "posterior from a likelihood ratio", "ec.posterior", bayes_decisions.equation_46),
    equation(47, "likelihood ratio", "ec.llr", bayes_decisions.equation_47),
    equation(48, "threshold on the likelihood ratio", "ec.bayes_decision", bayes_decisions.equation_48),
)

_SCORES = (
    equation(49, "a proper scoring rule from a cost function", "ec.row_cost", scoring_rules.equation_49),
    equation(50, "its expectation (EPSR)", "ec.bayes_risk, ec.cross_entropy, ec.brier", scoring_rules.equation_50),
    equation(51, "proper: least at the distribution itself", "ec.semi_empirical_epsr", scoring_rules.equation_51),
    section("4.1.1", "Bayes EC at 0-1 costs", "ec.bayes_risk, ec.accuracy", scoring_rules.bayes_ec),
    equation(52, "cross-entropy", "ec.cross_entropy, ec.row_log_loss", scoring_rules.equation_52),
    equation(53, "cross-entropy by priors", "ec.cross_entropy", scoring_rules.equation_53),
    equation(54, "cross-entropy class by class", "ec.cross_entropy", scoring_rules.equation_54),
    section("4.1.2", "normalised cross-entropy", "ec.nce", scoring_rules.naive_cross_entropy),
    equation(55, "quadratic cost", "ec.row_brier", scoring_rules.equation_55),
    equation(56, "Brier score", "ec.brier", scoring_rules.equation_56),
    equation(57, "Brier score by priors", "ec.brier", scoring_rules.equation_57),
    equation(58, "Brier score of two classes", "ec.brier", scoring_rules.equation_58),
    section("4.1.3", "normalised Brier score, and its bound", "ec.nbs, ec.row_brier", scoring_rules.naive_brier_score),
    Entry(
        "integrals",
        "Sections 4.1.2 and 4.1.3",
        "text",
        "cross-entropy and Brier score as integrals of Bayes EC",
        "ec.epsr",
        scoring_rules.integrals_over_costs,
    ),
)

_CALIBRATION = (
    Entry(
        "calibration-loss",
        "Section 4.2, four steps",
        "procedure",
        "calibration loss",
        "ec.calibration_loss",
        reason="the steps that Equations 59 and 60 are held against",
    ),
    equation(59, "calibration loss", "ec.calibration_loss", calibration_loss.equation_59),
    equation(60, "relative calibration loss (RCL)", "ec.calibration_loss", calibration_loss.equation_60),
    section("4.2", "calibration loss by a calibrator that is none", "ec.calibration_loss", held_out.a_bad_calibrator),
    Entry(
        "degroot",
        "Section 4.2, DeGroot's decomposition",
        "text",
        "refinement and divergence instead of calibration loss",
        "ec.semi_empirical_epsr, ec.expected_score_divergence",
        held_out.degroot,
    ),
    equation(61, "affine calibration and temperature scaling", "ec.calibrate", calibration_loss.equation_61),
    Entry(
        "train-on-test",
        "Section 4.2.1, training on the test samples",
        "text",
        "calibration loss of few samples, and of many classes",
        "ec.calibration_loss",
        held_out.train_on_test,
    ),
    section(
        "4.2.1",
        "calibration loss of one EC of two classes, by thresholds",
        "ec.Sketch.best_threshold",
        calibration_loss.threshold_instead_of_scores,
    ),
    equation(62, "expected calibration error (ECE)", "ec.ece", calibration_loss.equation_62),
    equation(63, "ECE of confidences", "ec.ece_mc", calibration_loss.equation_63),
    equation(64, "calibration loss by Brier score", "ec.calibration_loss", calibration_loss.equation_64),
    equation(65, "ECE, sample by sample", "ec.ece", calibration_loss.equation_65),
    equation(66, "ECE as a distance to histogram binning", "ec.ece, ec.calibrate", calibration_loss.equation_66),
    Entry(
        "ece-by-bins",
        "Section 4.3.2, number of bins",
        "text",
        "ECE of calibrated scores grows with the number of bins",
        "ec.ece",
        held_out.ece_by_bins,
    ),
    section("4.3.2", "what ECE does not see", "ec.ece, ec.calibration_loss", calibration_loss.drawbacks_of_ece),
    section("4.4", "calibrated and useless", "ec.ece, ec.nce", calibration_loss.calibrated_but_useless),
)

_RANKING = (
    section(
        "4.5", "areas and equal error rate", "ec.auc_roc, ec.average_precision, ec.eer", ranking.curves_of_two_classes
    ),
    Entry(
        "monotone-transformations",
        "Section 4.5, monotone transformations",
        "text",
        "areas and EER are blind to them, Bayes decisions are not",
        "ec.auc_roc, ec.average_precision, ec.eer, ec.nec",
        ranking.monotone_transformations,
    ),
    Entry(
        "eer-bound",
        "Section 4.5, bound by the EER",
        "text",
        "EC at 0-1 costs of calibrated scores is up to the least of EER, P1 and P2",
        "ec.eer, ec.min_expected_cost, ec.bayes_risk",
        ranking.bound_by_the_equal_error_rate,
    ),
    section("4.6", "specificity at a sensitivity", "ec.specificity_at_sensitivity", ranking.specificity_at_sensitivity),
    Entry(
        "sensitivity-at-specificity",
        "Section 4.6, the other way round",
        "text",
        "sensitivity at a specificity",
        "ec.sensitivity_at_specificity",
        ranking.sensitivity_at_specificity,
    ),
    Entry(
        "sensitivity-on-other-data",
        "Section 4.6, other data",
        "text",
        "what a threshold for a sensitivity has elsewhere, and the costs that it stands for",
        "ec.equivalent_cost, ec.recall",
        ranking.sensitivity_on_other_data,
    ),
    Entry(
        "costs-for-a-sensitivity",
        "Section 4.6, four steps",
        "procedure",
        "the NEC whose best threshold has a sensitivity",
        "ec.equivalent_cost",
        ranking.costs_for_a_sensitivity,
    ),
    section(
        "4.7",
        "averages over detectors of the classes",
        "ec.macro_f1, ec.Sketch.mean_over_targets",
        ranking.average_over_detectors,
    ),
)

_EXAMPLES = (
    Entry(
        "simulation",
        "Section 4.8, seven steps",
        "procedure",
        "the simulated posteriors of two and of ten classes",
        "part of Tables 3 to 5 and Figure 3",
        two_classes.simulation,
    ),
    Entry(
        "best-threshold",
        "Section 4.8.1, three steps",
        "procedure",
        "choosing a threshold for a metric",
        "ec.Sketch.best_threshold, ec.Sketch.cost_curve",
        reason="its numbers are those of Figure 3",
    ),
    figure(
        3,
        "three NEC and 1 - F1 over the threshold, with best and Bayes thresholds",
        "ec.Sketch.cost_curve, ec.nec",
        two_classes.figure_3,
        two_classes.draw_figure_3,
    ),
    section(
        "4.8.1",
        "NEC by the Bayes threshold and by the best one",
        "ec.nec, ec.Sketch.cost_curve",
        two_classes.section_4_8_1,
    ),
    equation(69, "costs with a decision to abstain", "ec.CostMatrix.zero_one", abstaining.equation_69),
    equation(70, "cost of each decision by the posteriors", "ec.CostMatrix.naive", abstaining.equation_70),
    equation(71, "Bayes decision with a decision to abstain", "ec.bayes_decision", abstaining.equation_71),
    section("4.8.2", "when abstaining happens, and what it saves", "ec.expected_cost", abstaining.section_4_8_2),
    table(3, "EC, NEC and abstentions", "ec.expected_cost, ec.nec, ec.decision_share", abstaining.table_3),
    section("4.8.3", "error rates and decisions of Mismp-cal", "ec.nec, ec.bayes_decision", ten_classes.section_4_8_3),
    table(4, "four EPSR of 18 sets of posteriors", "ec.nec, ec.nce, ec.nbs, ec.calibrate", ten_classes.table_4),
    table(5, "calibration loss and ECE of the same", "ec.nce, ec.nbs, ec.ece_mc, ec.calibrate", ten_classes.table_5),
    Entry(
        "tables-4-and-5",
        "Section 4.8.3, Tables 4 and 5",
        "text",
        "what they show: what EPSRs see, and ECE does not",
        "ec.nec, ec.nce, ec.nbs, ec.ece_mc",
        ten_classes.what_tables_4_and_5_show,
    ),
)

PAPER = Paper(
    "analysis",
    "L. Ferrer",
    "Analysis and comparison of classification metrics",
    entries=(*_HARD_DECISIONS, *_BAYES_DECISIONS, *_SCORES, *_CALIBRATION, *_RANKING, *_EXAMPLES),
    notes=(
        "Classes are counted from 1, and H2 is the class of interest: class 1 in polars_ec.",
        "Equations are numbered up to 71; no equation has the number 67 or 68.",
        "ECE is in percent in Table 5, and a share in polars_ec.",
    ),
)
