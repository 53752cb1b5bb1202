"""Ferrer, "Analysis and comparison of classification metrics"."""

from examples.papers.paper import Paper

PAPER = Paper(
    "analysis",
    "L. Ferrer",
    "Analysis and comparison of classification metrics",
    notes=[
        "Classes are counted from 1, and H2 is the class of interest: class 1 in polars_ec.",
        "Equations are numbered up to 71; no equation has the number 67 or 68.",
        "ECE is in percent in Table 5, and a share in polars_ec.",
    ],
    contents="""
Figure 1 | a classifier that makes scores, and a stage that decides by them | ec.bayes_decision, ec.expected_cost | not computed: a sketch of the two
    stages, without data
Equation 1 | counts N_ij | ec.confusion
Equation 2 | expected cost (EC), a mean over the samples | ec.expected_cost
Equation 3 | EC by counts | ec.expected_cost
  - Decisions are counted up to D in Equations 3 and 4, and up to M elsewhere: it is the same number, which may differ from K.
Equation 4 | EC by rates and priors, which may be stated | ec.expected_cost
Equation 5 | EC of the best naive system | ec.CostMatrix.naive
Equation 6 | normalised EC (NEC) | ec.nec
Section 2.1.1 | NEC is up to 1 at the best threshold | ec.nec, ec.Sketch.best_threshold
  - Miscalibrated scores of Section 4.8.1.
Equation 7 | NEC of two classes | ec.nec
Equation 8 | NEC of two classes, by alpha | ec.nec
Equation 9 | alpha, the one parameter of costs and priors | ec.effective_prior
Equation 10 | error rate | ec.error_rate, ec.accuracy
  - The text has c_ij = 1 for i != 1 and 0 for i = 1: it must be i != j and i = j.
Equation 11 | balanced error rate | ec.balanced_error_rate, ec.balanced_accuracy, ec.CostMatrix.balanced
Equation 12 | net benefit | ec.net_benefit
Equation 13 | net benefit by rates | ec.net_benefit
Equation 14 | net benefit by error rates | ec.net_benefit
Equation 15 | net benefit by NEC | ec.net_benefit, ec.nec
Equation 16 | F-beta by precision and recall | ec.fbeta, ec.f1
Equation 17 | precision and recall | ec.precision, ec.recall
Equation 18 | F-beta by counts | ec.fbeta
Equation 19 | 1 - F-beta by counts | ec.fbeta
Equation 20 | 1 - F-beta by totals | ec.fbeta
Equation 21 | 1 - F-beta by rates and priors | ec.fbeta
Equation 22 | EC with c21 = beta^2 | ec.expected_cost
Equation 23 | 1 - F-beta by EC | ec.fbeta, ec.decision_share
Equation 24 | 1 - F-beta by NEC | ec.fbeta, ec.decision_share
footnote-2 | Footnote 2 | text | F1 and EC of two sets of data with other priors | ec.f1, ec.expected_cost
  - R21 is 0.2 and R12 0.1 in both.
f-beta-at-the-same-cost | Section 2.4, the same cost | text | F-beta prefers more decisions for H2 | ec.fbeta, ec.expected_cost, ec.decision_share
  - 900 samples of H1 and 100 of H2. F-beta is held against Equation 23.
Section 2.4 | F-beta of naive systems | ec.fbeta
Equation 25 | MCC by counts | ec.mcc
Equation 26 | MCC by errors and totals | ec.mcc
Equation 27 | MCC, a factor taken out | ec.mcc
Equation 28 | MCC by error rates | ec.mcc
Equation 29 | MCC by the sum of the error rates | ec.mcc
Equation 30 | MCC by NEC at uniform priors | ec.mcc, ec.nec
Equation 31 | the factor between MCC and 1 - NEC | ec.mcc, ec.nec
Section 2.5 | MCC prefers imbalanced decisions, and its sign | ec.mcc, ec.nec
  - 500 samples of each class. MCC is held against Equations 30 and 31.
Equation 32 | LR+ by sensitivity and specificity | ec.lr_plus
Equation 33 | LR+ by error rates | ec.lr_plus
Equation 34 | LR+ by the sum of the error rates | ec.lr_plus
Equation 35 | LR+ by NEC at uniform priors | ec.lr_plus, ec.nec
Section 2.6 | LR+ prefers few false alarms | ec.lr_plus, ec.nec
  - LR+ is held against (1 - NEC_b) / R12 + 1.
Figure 2 | NEC against MCC and F1, for 441 systems on balanced and on imbalanced classes | ec.nec, ec.mcc, ec.f1
  - The paper prints no correlations: beside them are those of Equations 7, 18 and 25, in NumPy.
Section 2.7 | what Figure 2 shows | ec.nec, ec.mcc, ec.f1
  - A correlation is the stronger, the nearer it is to -1. The text says that F1 goes better with NEC of b²=2 than of b²=1 where systems are good:
    so it is where NEC is up to 1, and not on balanced classes where both NEC are up to 0.5.
Section 2.7.1 | MCC prefers imbalanced decisions | ec.mcc, ec.nec
Table 1 | NEC, F1 and MCC of nine systems, balanced classes | ec.nec, ec.f1, ec.mcc, ec.fnr, ec.fpr, ec.decision_share
Table 2 | NEC, F1 and MCC of twelve systems, imbalanced classes | ec.nec, ec.f1, ec.mcc, ec.fnr, ec.fpr, ec.decision_share
Section 2.7.2 | a system as costly as the best naive one | ec.nec, ec.f1, ec.mcc
  - The paper calls 0.62 the F1 of the first system; that is its MCC, and its F1 is 180 / 280.
  - It has NEC = 1 and F1 = 0.18 for one naive system, always H2, whose NEC is 9: NEC = 1 is that of always H1, whose F1 is 0. And P1 is 0.9, not
    0.1.
Equation 36 | expected cost by the posteriors | ec.expected_cost
Equation 37 | Bayes decision | ec.bayes_decision
Equation 38 | calibrated for a cost | ec.calibration_loss
  - Simulated scores of Section 4.8.1, c21 = 2: cal are right by construction, mc1 are not. No number is printed.
Section 3.1 | a map of scores to labels, on its samples and on others | ec.expected_cost
  - LR-cal of Section 4.8.1, c21 = 2; every other score is seen, and others take the class of the nearest of these.
Equation 39 | calibrated, as usually defined | ec.Sketch.reliability
  - Share of H2 among samples in bins of the log-odds of Datap-cal, two classes, beside their mean posterior; allowed are three standard errors of
    the share.
Equation 40 | Bayes decision at 0-1 costs | ec.bayes_decision
Equation 41 | Bayes decision at 0-1 costs, the second form | ec.bayes_decision
Equation 42 | Bayes decision at 0-1 costs: the largest posterior | ec.bayes_decision
Equation 43 | Bayes decision of two classes | ec.bayes_decision
Equation 44 | its threshold on the posterior | ec.CostMatrix.bayes_threshold
Equation 45 | posteriors from likelihoods and priors | ec.posterior
Equation 46 | posterior from a likelihood ratio | ec.posterior
Equation 47 | likelihood ratio | ec.llr
Equation 48 | threshold on the likelihood ratio | ec.bayes_decision
Equation 49 | a proper scoring rule from a cost function | ec.row_cost
Equation 50 | its expectation (EPSR) | ec.bayes_risk, ec.cross_entropy, ec.brier
Equation 51 | proper: least at the distribution itself | ec.semi_empirical_epsr
  - Only strict rules are the least at q alone.
Section 4.1.1 | Bayes EC at 0-1 costs | ec.bayes_risk, ec.accuracy
Equation 52 | cross-entropy | ec.cross_entropy, ec.row_log_loss
Equation 53 | cross-entropy by priors | ec.cross_entropy
Equation 54 | cross-entropy class by class | ec.cross_entropy
Section 4.1.2 | normalised cross-entropy | ec.nce
Equation 55 | quadratic cost | ec.row_brier
Equation 56 | Brier score | ec.brier
Equation 57 | Brier score by priors | ec.brier
Equation 58 | Brier score of two classes | ec.brier
Section 4.1.3 | normalised Brier score, and its bound | ec.nbs, ec.row_brier
  - The text has 1 as the most that Brier score charges, for a posterior of 0 of the true class. So it is of two classes; of K it is 2 / K, and
    that where another class has all of the posterior.
integrals | Sections 4.1.2 and 4.1.3 | text | cross-entropy and Brier score as integrals of Bayes EC | ec.epsr
  - ec.epsr with the weights Beta(1, 1) and Beta(2, 2) over operating points, the latter a third; beside a sum over 20,000 operating points, which
    is good to 1e-8, and beside the scores themselves.
calibration-loss | Section 4.2, four steps | procedure | calibration loss | ec.calibration_loss | not computed: the steps that Equations 59 and 60 are
    held against
Equation 59 | calibration loss | ec.calibration_loss
  - Datap-mc1 of two classes, affine calibration by cross-validation with 5 folds.
Equation 60 | relative calibration loss (RCL) | ec.calibration_loss
Section 4.2 | calibration loss by a calibrator that is none | ec.calibration_loss
  - In percent, by cross-entropy, cross-validation with 5 folds; histograms have 15 bins.
degroot | Section 4.2, DeGroot's decomposition | text | refinement and divergence instead of calibration loss | ec.semi_empirical_epsr,
    ec.expected_score_divergence
  - Datap-mc1 of two classes. Expected: with classes drawn by the calibrated posteriors, whose own EPSR is the refinement; the divergence is what
    is left. The paper has no number: it says that this decomposition and that of CalLoss are alike where the calibration is good, as the affine
    map is here, and temperature scaling is not.
Equation 61 | affine calibration and temperature scaling | ec.calibrate
train-on-test | Section 4.2.1, training on the test samples | text | calibration loss of few samples, and of many classes | ec.calibration_loss
  - In percent, by cross-entropy with the affine map; means of 20 sets. The paper has no number: it says that training on the test samples
    overestimates the loss, the more so where samples are few or classes many: it is above that of two classes and 1,000 samples there.
Section 4.2.1 | calibration loss of one EC of two classes, by thresholds | ec.Sketch.best_threshold
  - c21 = 2, thresholds of one half of the samples applied to the other.
Equation 62 | expected calibration error (ECE) | ec.ece
Equation 63 | ECE of confidences | ec.ece_mc
Equation 64 | calibration loss by Brier score | ec.calibration_loss
Equation 65 | ECE, sample by sample | ec.ece
Equation 66 | ECE as a distance to histogram binning | ec.ece, ec.calibrate
ece-by-bins | Section 4.3.2, number of bins | text | ECE of calibrated scores grows with the number of bins | ec.ece
  - Datap-cal of two classes, which are calibrated by construction: all of it is overestimated. Held against Equation 62, in NumPy.
Section 4.3.2 | what ECE does not see | ec.ece, ec.calibration_loss
Section 4.4 | calibrated and useless | ec.ece, ec.nce
Section 4.5 | areas and equal error rate | ec.auc_roc, ec.average_precision, ec.eer
monotone-transformations | Section 4.5, monotone transformations | text | areas and EER are blind to them, Bayes decisions are not | ec.auc_roc,
    ec.average_precision, ec.eer, ec.nec
eer-bound | Section 4.5, bound by the EER | text | EC at 0-1 costs of calibrated scores is up to the least of EER, P1 and P2 | ec.eer,
    ec.min_expected_cost, ec.bayes_risk
  - Scores of Section 4.8.1. The bound is the least of EER, P1 and P2; it holds for scores that are calibrated on the very samples, which is the
    least EC over thresholds. For cal, calibrated but for chance, half a percent more is allowed.
  - The text says that without calibration EC can grow without bound: at costs of 0 and 1 it is up to 1, and NEC up to 1 / min(P1, P2).
Section 4.6 | specificity at a sensitivity | ec.specificity_at_sensitivity
sensitivity-at-specificity | Section 4.6, the other way round | text | sensitivity at a specificity | ec.sensitivity_at_specificity
sensitivity-on-other-data | Section 4.6, other data | text | what a threshold for a sensitivity has elsewhere, and the costs that it stands for |
    ec.equivalent_cost, ec.recall
  - The paper has no number, but for a hypothetical c12 / c21 of 2. It says that elsewhere the sensitivity is another, and that another threshold
    for the same sensitivity stands for other costs: at least a tenth more or less.
costs-for-a-sensitivity | Section 4.6, four steps | procedure | the NEC whose best threshold has a sensitivity | ec.equivalent_cost
  - LR-cal of Section 4.8.1: to ask for a sensitivity of 0.95 makes a miss cost 22 false alarms. The paper prints no number.
Section 4.7 | averages over detectors of the classes | ec.macro_f1, ec.Sketch.mean_over_targets
  - 5 of the 10 samples are of no class for the detectors.
simulation | Section 4.8, seven steps | procedure | the simulated posteriors of two and of ten classes | part of Tables 3 to 5 and Figure 3
  - Of two classes; ten have the means 0 to 9 and the same variance, 90,000 samples of H1 and 1,111 of each other. What the paper calls the
    standard deviation, 0.15, is the variance; only so do Tables 3 to 5 come out.
  - Counts are cut off: (1 - 0.9) * 100,000 is below 10,000 in floating point, so that there is a sample less.
best-threshold | Section 4.8.1, three steps | procedure | choosing a threshold for a metric | ec.Sketch.best_threshold, ec.Sketch.cost_curve | not
    computed: its numbers are those of Figure 3
Figure 3 | three NEC and 1 - F1 over the threshold, with best and Bayes thresholds | ec.Sketch.cost_curve, ec.nec
  - The author's notebook has the numbers of mc1, on a grid of thresholds of step 0.01, and takes the value at a Bayes threshold from the nearest
    point of it; the paper's text repeats 0.366 and 0.604. Of cal it says that Bayes and best thresholds are very close and their NEC almost the
    same: within 0.15 and 2 %.
Section 4.8.1 | NEC by the Bayes threshold and by the best one | ec.nec, ec.Sketch.cost_curve
  - At the very Bayes threshold, not the nearest of the grid, NEC of mc1 is 0.605.
  - F1 chooses like NEC of b²=2: their thresholds are less than 0.3 times as far apart as those of F1 and NEC_b.
Equation 69 | costs with a decision to abstain | ec.CostMatrix.zero_one
Equation 70 | cost of each decision by the posteriors | ec.CostMatrix.naive
Equation 71 | Bayes decision with a decision to abstain | ec.bayes_decision
  - The text has alpha below either of the two posteriors: it must be below both, as in the equation.
Section 4.8.2 | when abstaining happens, and what it saves | ec.expected_cost
  - A slip: the text says that for most alpha the miscalibrated scores abstain more than is optimal, that is, than the calibrated ones. By Table 3
    they do at 0.01 alone, and abstain less at 0.1, 0.2 and 0.4.
Table 3 | EC, NEC and abstentions | ec.expected_cost, ec.nec, ec.decision_share
  - The paper's 0.15 is a variance, not a standard deviation, and its counts are cut off: 9,999 samples of H2.
  - The caption calls the last numbers of each system how many abstentions there are: they are percentages.
Section 4.8.3 | error rates and decisions of Mismp-cal | ec.nec, ec.bayes_decision
  - The paper prints 0.027 and 97.3 % for Datap-cal; its own NEC of 0.25 in Table 4, times the 0.1 of the naive system, is 0.025, so 97.5 %.
Table 4 | four EPSR of 18 sets of posteriors | ec.nec, ec.nce, ec.nbs, ec.calibrate
  - mc2 are powers of cal, so that temperature scaling makes the same of both; the affine map makes the same of all three and of both priors. So
    temperature is fitted to mc1 and mc2 of both priors, and the affine map to mc1 of Mismp.
  - The folds are not the paper's. Over 20 draws of them NEC of affcal is from 0.2539 to 0.2560, standard deviation 0.0005, NEC with abstaining
    from 0.1352 to 0.1365: three standard deviations more than a rounding are allowed there.
Table 5 | calibration loss and ECE of the same | ec.nce, ec.nbs, ec.ece_mc, ec.calibrate
  - mc2 are powers of cal, so that temperature scaling makes the same of both; the affine map makes the same of all three and of both priors. So
    temperature is fitted to mc1 and mc2 of both priors, and the affine map to mc1 of Mismp.
  - ECE is a share in the package, and percent here. That of Mismp-temcal mc1 is 1.5002, and its standard deviation over 20 draws of the folds
    below 0.0005: it is held against the printed 1 with a thousandth more than a rounding.
  - The heads of the table say calibration loss: it is the relative one, of Equation 60.
tables-4-and-5 | Section 4.8.3, Tables 4 and 5 | text | what they show: what EPSRs see, and ECE does not | ec.nec, ec.nce, ec.nbs, ec.ece_mc
  - Of six sets without calibration the percentages of Table 5 by cross-entropy and by Brier score are up to 7 points apart: both call the same
    sets well or badly calibrated, as ECEmc does not.
""",
)
