"""Cumani, "Bayes decisions and model evaluation"."""

from examples.papers.paper import Paper

PAPER = Paper(
    "lecture",
    "S. Cumani",
    "Bayes decisions and model evaluation",
    notes=[
        "The lecture's tables of counts and of costs have decisions as rows and classes as columns; those of polars_ec are transposed. H_F is class 0, H_T class 1.",
        "The lecture decides for H_T where s >= t, polars_ec where the score is above the threshold; only rows whose score is t itself differ. Minimum costs and EER go over all thresholds, either way.",
        "Where two actions cost the same the lecture takes any of them, polars_ec the one of the lowest index: at a posterior of 1/2 and equal costs H_F.",
        "A weighted accuracy, alpha FPR + (1 - alpha) FNR, is a weighted error rate: the lower the better.",
        "Data of the figures are not at hand: they are drawn from 3,000 simulated scores, and their numbers are held against definitions in NumPy.",
    ],
    contents="""
accuracy | Accuracy | equation | accuracy and error rate from counts | ec.accuracy, ec.error_rate
rain | Rain | table | a forecast beside none: accuracies of 86 % and 90 % | ec.accuracy, ec.nec
  - Accuracies are printed as about 86 % and about 90 %. NEC says at once that the forecast is worse than none: it is above 1.
confusion-matrix | Confusion matrix | table | counts by class and decision | ec.confusion
  - The lecture's tables have decisions as rows and classes as columns; here rows are classes.
error-rates | Accuracy measures | equation | FNR, FPR, TPR, TNR | ec.fnr, ec.fpr, ec.recall, ec.specificity
weighted-accuracy | Weighted accuracy | equation | a mean of FPR and FNR with a weight | ec.expected_cost
  - The lecture calls alpha FPR + (1 - alpha) FNR a weighted accuracy: it is a weighted error rate, and the lower the better.
scores | Scores | equation | LLRs, posterior log ratios, scores without a scale | ec.llr, ec.log_odds
score-thresholding | Score thresholding | figure | scores of both classes, and decisions by a threshold | ec.bayes_decision
  - They differ by the rows whose score is t itself: here one.
error-rates-by-threshold | Error rates by threshold | figure | FPR and FNR over the threshold, and the equal error rate | ec.fpr, ec.fnr, ec.eer,
    ec.Sketch.cost_curve
  - Scores are simulated: the lecture's are not at hand.
roc | ROC curve | figure | TPR over FPR | ec.plot.roc, ec.auc_roc
  - Scores are simulated: the lecture's are not at hand. Allowed are three standard deviations over 200 draws.
det | DET curve | figure | FNR over FPR, on normal deviates | ec.plot.det, ec.Sketch.det
  - Scores are simulated: the lecture's are not at hand. Classes are normal with means 2 apart; allowed are three standard deviations over 200
    draws.
expected-cost | Expected cost of an action | equation | costs weighed by posteriors | ec.expected_cost
bayes-decision | Bayes decision | text | three classes: costs .95, .75, 1.05, and the unlikeliest class | ec.bayes_decision
  - Classes count from 1 as in the lecture, and from 0 in polars_ec.
binary-costs | Binary costs | text | costs of right decisions can be taken off | ec.CostMatrix.normalized
binary-decision | Binary decision | equation | the lower of two costs, and the sign of r(x) | ec.bayes_decision
  - Rows are posteriors from 0.025 to 0.975; costs are those of a miss and of a false alarm.
llr-decision | Decision by LLR | equation | prior and costs as a threshold on the LLR | ec.bayes_decision
  - Applications are (prior of H_T, cost of a miss, cost of a false alarm).
effective-prior | Effective prior | equation | applications that decide the same | ec.effective_prior
bayes-cost | Cost of Bayes decisions | equation | of a row, given its class | ec.row_cost
bayes-risk | Bayes risk | equation | an integral over the densities of the classes | ec.expected_cost
  - Allowed are three standard errors of a mean over 1,000 and 2,000 rows.
empirical-bayes-risk | Empirical Bayes risk | text | three classes, from a table of counts | ec.expected_cost
dcf-unnormalised | Detection cost function (DCF) | equation | FNR and FPR, each times its prior and cost | ec.expected_cost
  - The slides have the arguments of the cost in three orders, (C_fn, C_fp, pi_T), (pi_T, C_fn, C_fp) and (pi_T, C_fp, C_fn), and decisions as h*
    and as c*: here it is (prior of H_T, cost of a miss, cost of a false alarm).
dummy-systems | Dummy systems | equation | always accept, always reject | ec.expected_cost, ec.CostMatrix.naive
dcf | Normalised DCF | equation | divided by the better dummy system | ec.dcf
dcf-scaled | DCF at the effective prior | equation | the un-normalised cost, scaled | ec.expected_cost, ec.effective_prior
error-rates-as-dcf | Error rates as DCF | equation | error rate and weighted error rate as costs at a prior | ec.error_rate, ec.balanced_error_rate
  - The lecture has the error rate as a cost up to a scale: the cost before it is normalised is the error rate itself.
llr-threshold | Optimal threshold | equation | of LLRs, from the effective prior | ec.CostMatrix.bayes_log_odds, ec.dcf
minimum-and-actual-dcf | Minimum and actual DCF | procedure | at the best threshold, and at that of the prior | ec.dcf, ec.min_dcf,
    ec.Sketch.bayes_error
  - Scores are simulated: the lecture's are not at hand. Each is held against its definition in NumPy.
mis-calibration | Mis-calibration | text | actual less minimum DCF | ec.Sketch.bayes_error
  - Mean difference of the actual and the minimum DCF over prior log odds from -4 to 4, of simulated scores: beside that of both in NumPy, and
    beside what the lecture says.
bayes-error-plot | Bayes error plot | figure | DCF over the prior, before and after calibration | ec.plot.bayes_error, ec.Sketch.bayes_error
  - Scores are simulated: the lecture's are not at hand. Each is held against its definition in NumPy.
tippett | Tippett plot, on no slide | figure | shares of scores above each LLR, before and after calibration | ec.plot.tippett, ec.Sketch.tippett
  - Of the lecture's score sets; a Tippett plot is on none of its slides.
validation-threshold | Threshold of a validation set | procedure | the best threshold there, used elsewhere | ec.Sketch.best_threshold
  - Thresholds are of prior 1/2 and costs of 1.
isotonic-regression | Isotonic regression | procedure | steps that never fall (PAV) | ec.calibrate
logistic-regression | Prior-weighted logistic regression | procedure | an affine map of least weighted cross-entropy | ec.calibrate
  - Margins are 2 LLR + 2, so that LLRs are 0.5 margin - 1. Allowed are three standard deviations over 200 draws; beside Newton's method in NumPy
    1e-7, for both end a little before the minimum.
gaussian-score-model | Gaussian score model | procedure | a normal density for each class | ec.calibrate
score-calibration | Score calibration | text | what each way leaves of the cost of mis-calibration | ec.calibrate, ec.Calibration.apply
  - At prior 1/2 and costs of 1: between the minimum DCF and the actual one of the margins as they are.
multiclass-cost | Normalised multiclass cost | equation | the risk beside K dummy systems | ec.nec, ec.CostMatrix.naive
""",
)
