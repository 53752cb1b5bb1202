"""Ferrer, "No need for ad-hoc substitutes: the expected cost is a principled all-purpose classification metric"."""

from examples.papers.paper import Paper

PAPER = Paper(
    "expected-cost",
    "L. Ferrer",
    "No need for ad-hoc substitutes: the expected cost is a principled all-purpose classification metric",
    notes=[
        "The classes H1, H2, ... are 0, 1, ... here: c12 is the cost of a false alarm, c21 that of a miss.",
        "Equations without printed numbers are held against themselves, in NumPy, on small simulated logs.",
        "What the paper calls a standard deviation is a variance, and class counts are cut off, not rounded; Table 1 is of 10,000 rows.",
        "Section 3 announces specificity at a sensitivity for appendix C, which does not have it: here it is ec.specificity_at_sensitivity.",
    ],
    contents="""
Section 2 | costs below 0 and utilities, as costs whose least is 0 | ec.CostMatrix.normalized, ec.CostMatrix.from_utilities
Equation 1 | expected cost (EC), a mean over rows | ec.expected_cost, ec.row_cost
Equation 2 | EC from counts, and from rates and priors | ec.expected_cost
  - The text has P_i = N_i* / N_i: priors are N_i* / N.
Equation 3 | normalised EC (NEC), and the best naive system | ec.nec, ec.CostMatrix.naive
Equation 4 | NEC of two classes, a function of one number | ec.nec
Section 2.1 | NEC of systems that decide a constant | ec.nec
Equation 5 | error rate, as an EC | ec.error_rate, ec.accuracy, ec.CostMatrix.zero_one
  - The text has c_ij = 1 for i != 1 and 0 for i = 1: it must be i != j and i = j.
Equation 6 | balanced error rate, as an EC | ec.balanced_error_rate, ec.macro_recall, ec.CostMatrix.balanced
Equation 7 | Bayes decision | ec.bayes_decision
Section 2.3 | of posteriors of 0.9, nine of ten are right | ec.posterior
  - Beside their mean posterior; allowed are three standard errors of the share.
Equation 8 | F-beta from precision and recall | ec.fbeta, ec.precision, ec.recall
Equation 9 | F-beta from counts | ec.fbeta
Equation 10 | 1 - F-beta | ec.fbeta
Equation 11 | EC in which a miss costs beta squared | ec.expected_cost
Equation 12 | 1 - F-beta from EC, and from NEC | ec.fbeta, ec.expected_cost, ec.nec, ec.decision_share
benchmarks | Section 3.1, benchmarks | text | how many tasks of SuperGLUE are measured by F-beta | part of ec.fbeta | not computed: counts tasks of
    benchmarks: nothing to compute
Section 3.1 | F-beta of systems that decide a constant | ec.fbeta
footnote-8 | Footnote 8 | text | metrics at other priors than those of the data | ec.f1, ec.mcc, ec.expected_cost
Equation 13 | Matthews correlation coefficient (MCC) | ec.mcc
Equation 14 | MCC from NEC at equal priors | ec.mcc, ec.nec, ec.decision_share
Section 3.3 | macro F score of several classes | ec.f1_of_averages
Figure 1 | F1, MCC and NEC over the threshold | ec.Sketch.cost_curve
  - NEC is NEC_1 for F1 and NEC_4 for MCC; 1 - metric is held against Equations 12 and 14.
  - What is preferred at the same NEC: for F1 how much more is decided as class 2, for MCC how much farther that share is from 0.5.
Section 4.1 | best thresholds, and the costs that they stand for | ec.equivalent_cost, ec.Sketch.best_threshold, ec.CostMatrix.bayes_log_odds
  - The text does not print MCC's best threshold: it is held against Equation 13 in NumPy.
  - In these 99,999 rows the best threshold of the grid is up to a step of 0.1 away from the point of the grid that is nearest to the Bayes
    threshold, and costs up to 0.0018 less.
Figure 2 | F1's best threshold of two sets of scores | ec.equivalent_cost, ec.Sketch.cost_curve
  - The best threshold for F1 is the point of a grid of step 0.1 that is nearest to the Bayes threshold of that cost; the best one for NEC is in
    these rows up to a step away from it.
  - Section 4.1 says 0.06 of the easier set, appendix D 0.05: as variances, and in these rows, 0.06 has the printed 1.0 and 0.05 has 0.9. Of the
    distributions themselves costs are 1.09 and 1.07 (best-thresholds-of-f): the printed number alone would not tell.
best-thresholds-of-f | Section 4.1, any F-beta | text | the best threshold for F-beta, and the cost of a miss that it stands for | ec.equivalent_cost,
    ec.Sketch.best_threshold
  - Of the distributions, not of samples, at log odds in steps of 0.005; beside them the log odds of F / (1 + beta^2), above which one more
    decision for class 2 raises F, and the cost that this posterior is the Bayes threshold of.
  - The -0.60 and 1.8 of Section 4.1 are those of one draw of rows: the maximum is flat, and that of the distributions is at -0.50, a cost of
    1.65. Of the easier set the cost is 1.09 with the 0.06 of the text, and 1.07 with the 0.05 of appendix D: too near to each other for the
    printed 1.0 to tell which it was.
costs-of-a-miss | Section 4.1, the cost of a miss | text | dearer misses, lower thresholds, the same for both sets | ec.CostMatrix.bayes_log_odds,
    ec.fnr, ec.fpr, ec.nec
  - The least NEC is that of a grid of thresholds in steps of 0.1; about 0 is within 2 %, for at c21 = 16 few rows of the easier set cost
    anything.
Table 1 | EC and NEC of ten classes for five cost matrices | ec.expected_cost, ec.nec, ec.bayes_decision, ec.CostMatrix.naive
  - Printed from 10,000 rows, and not from the 100,000 of appendix D: with those six numbers are others.
  - Naive decision: classes count from 1, and 11 is to abstain; for CinvP it is how many decisions are the best.
  - The text compares the abstentions of Cabs1 with those of Cabs1: the other is Cabs2, which abstains less.
section-4.2 | Section 4.2 | procedure | calibration, then Bayes decisions of ten classes | ec.calibrate, ec.Calibration.apply, ec.nec
  - Log posteriors of Table 1 times 4, then the affine map by cross-validation with 5 folds; about the right is within 3 %. The decisions for C01,
    of the largest posterior, are the same before.
Equation 15 | Bayes decision for costs of 0 and 1, by the other classes' posteriors | ec.bayes_decision
Equation 16 | the same, by 1 - posterior | ec.bayes_decision
Equation 17 | the same, by the largest posterior | ec.bayes_decision
Equation 18 | Bayes decision of two classes | ec.bayes_decision
Equation 19 | its threshold on the posterior | ec.CostMatrix.bayes_threshold, ec.bayes_decision
Equation 20 | its threshold on the log odds | ec.CostMatrix.bayes_log_odds, ec.bayes_decision
Equation 21 | costs with a decision to abstain | ec.CostMatrix.zero_one
Equation 22 | Bayes decision for these costs | ec.bayes_decision
Equation 23 | the rule to abstain | ec.bayes_decision
Equation 24 | best naive decision for these costs | ec.CostMatrix.naive
  - Decisions count from 0: 10 is to abstain, which is the best where it costs 0.05.
appendix-b | Appendix B | text | when to abstain in Table 1 | ec.bayes_decision
Equation 25 | net benefit from counts | ec.net_benefit
Equation 26 | net benefit from EC | ec.net_benefit, ec.expected_cost
Equation 27 | net benefit from NEC, and its threshold | ec.net_benefit, ec.nec, ec.CostMatrix.bayes_threshold
appendix-c.1 | Appendix C.1 | text | net benefit ranks systems as NEC does | ec.net_benefit, ec.nec, ec.Sketch.best_threshold
Equation 28 | LR+ from sensitivity and specificity | ec.lr_plus, ec.recall, ec.specificity
Equation 29 | LR+ from NEC at equal priors | ec.lr_plus, ec.nec
appendix-c.2 | Appendix C.2 | text | LR+ prefers few false alarms | ec.lr_plus, ec.nec
  - LR+ is held against (1 - NEC_b) / R12 + 1.
appendix-c.3 | Appendix C.3 | text | areas under curves and equal error rate, which no monotonic transform moves | ec.auc_roc, ec.average_precision,
    ec.eer
eer-bound | Appendix C.3, bound | text | error rate of calibrated posteriors: at most EER and each prior | ec.error_rate, ec.eer
  - The text says that without calibration EC can grow without bound: at costs of 0 and 1 it is up to 1.
appendix-d | Appendix D | procedure | simulated data | part of section-4.1 and table-1
  - What is called the standard deviation, 0.20, is the variance: the printed numbers come out with a deviation of 0.447.
  - Counts are cut off, not rounded: of 100,000 rows that are asked for 99,999 are made, and of 10,000 in ten classes 9,998.
Equation 30 | posteriors from likelihoods and priors | ec.posterior
""",
)
