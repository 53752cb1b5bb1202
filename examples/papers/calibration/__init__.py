"""Siblini and others, "Master your metrics with calibration"."""

from examples.papers.paper import Paper

PAPER = Paper(
    "calibration",
    "W. Siblini and others",
    "Master your metrics with calibration",
    notes=[
        "AUC-PR is average precision, the area below steps; a threshold is passed by scores above it, strictly.",
        "The paper says 602 data sets once and 614 elsewhere; 614 x 30 = 18,420 is what it goes on with.",
    ],
    contents="""
Equation 1 | the optimal score: the likelihood ratio | ec.llr
section-1 | Section 1 | equation | the same metric at another prior | prior= of ec.precision, ec.f1
Figure 1 | AUC-PR and the share of fraud by month | sketch.evaluate, ec.average_precision, ec.plot.trend
  - The paper's log is not public: this one is simulated.
  - Held against the areas of its normal classes; allowed: 0.055, three standard deviations over 20 draws of the log, which are 0.012 to 0.019.
  - In month 6 positives come closer to negatives.
section-2-counts | Section 2 | equation | TP, TN, FP, FN of a threshold | ec.confusion
section-2-ratios | Section 2 | equation | recall, false-positive rate, precision | ec.recall, ec.fpr, ec.precision
  - Section 1 says that false positives are divided by true negatives and by true positives: they are by all negatives and by all that is decided
    positive.
Equation 2 | F1 | ec.f1
section-2-areas | Section 2 | equation | areas under the curves | ec.auc_roc, ec.average_precision, ec.auprg
  - The paper does not say how points are joined: here straight lines for AUC-ROC, steps for AUC-PR, and for the gains straight lines from a
    recall gain of 0 on, where the curve starts between two points, linear in TP and FP.
Equation 3 | precision gain | ec.precision_gain
Equation 4 | recall gain | ec.recall_gain
Figure 2 | three curves at priors of 0.003 and 0.5 | ec.plot.roc, ec.plot.pr, ec.plot.prg
  - The paper's log is not public: normal features with means 3 apart, held against the areas of these; allowed: three standard deviations over 20
    draws, which are 0.002 for AUC-ROC, 0.017 and 0.002 for AUC-PR.
Figure 3 | half of the positives removed | ec.precision, ec.recall, ec.fpr
section-3.1 | Section 3.1 | equation | what a reference prior multiplies FP / TP by | prior= of ec.precision
Equation 5 | calibrated precision | ec.precision(prior=)
section-3.1-others | Section 3.1 | equation | calibrated F1, precision gain and recall gain | prior= of ec.f1, ec.precision_gain, ec.recall_gain
Equation 6 | two normal classes | simulated; ec.auc_roc
  - A million rows; allowed: four standard errors of an area of 1/2, 0.002.
Section 3.2 | AUC-PR by prior, beside that of the distributions | prior= of sketch.evaluate
  - Held against the area under precision over recall of the two normal distributions; allowed: four standard errors.
Figure 4 | metrics as the prior falls | sketch.evaluate, sketch.best_threshold
  - The paper draws these curves and prints no number; the ones in brackets are of another simulation of its set-up.
  - Means of 30 logs of a million rows, allowed: three standard deviations of one log, and a rounding.
  - At a prior of 0.001 the AUC-PR gain is nearly all in the few positives on top: in half of the logs it is outside of 0.1 to 0.6, so the median
    is shown, and a quarter allowed.
  - The paper states no threshold of F1: it is the best one here. Classes are so near to each other that at 0.5 it decides nearly all positive,
    which has 2 pi0 / (1 + pi0) = 0.667, whatever the model: so steady a number says little.
section-3.3 | Section 3.3 | equation | Kullback-Leibler divergence of the classes | mean of ec.llr over positives
  - Posteriors at a prior of 0.01; half a million positives, allowed: four standard errors of the mean.
Figure 5 | metrics as the classes come together at random priors | sketch.evaluate, sketch.best_threshold
  - The paper says in words that calibrated metrics fall smoothly and monotonically and the others do not.
  - 20 divergences from 2 to 0.1; a turn: a step to a smaller one raises the metric.
section-4.1 | Section 4.1 | equation | the own prior as the reference | prior= of all metrics
undersampling | Section 4.1 | procedure | undersampling to the reference prior, many times | ec.average_precision(prior=) in its place
  - 200 runs, as rows are drawn at random; allowed: four standard errors of their mean.
Figure 6 | the formula and undersampling | ec.average_precision(prior=)
  - The credit card data and the paper's model are not at hand. The numbers in brackets are of another simulation, whose reference priors are not
    known; here are as many rows and positives as the data have, normal features with means 3 apart, and the two reference priors at which that
    comes near. Allowed: three standard deviations from one such log to the next (30 logs); for that of a run, which is larger the fewer positives
    there are, a factor of 2.5.
section-4.2 | Section 4.2 | procedure | 30 models on each of 614 data sets | part of Figure 7 | not computed: data not at hand: predictions of models
    on OpenML; Figure 7 is of simulated ones
best-f1 | Section 4.2 | procedure | the best F1 over all thresholds | sketch.best_threshold
Figure 7 | rank correlations of ten metrics | sketch.evaluate, sketch.best_threshold
  - The predictions of OpenML's models are not at hand: data sets and models are simulated, 40 balanced sets and 8 imbalanced ones of 30 models;
    how different models are is ours to choose, and decides how large correlations are. The order of correlations is compared.
  - For the least of all pairs 0.06 is allowed: over eight draws it was 0.78 to 0.86.
  - Best F1 goes with AUC-PR more than with other areas only where classes are imbalanced here; the paper says it of both.
  - Calibrated near: at 1.01 times the own prior (balanced), or 10 times (imbalanced). The paper has 602 data sets once, and 614 elsewhere.
  - It calls 10 times the own prior near to it: only as 0.5 is farther.
section-4.2-weights | Section 4.2 | equation | the weight of a false positive at a reference of 0.5 | ec.precision(prior=0.5)
  - The paper says that (1 - pi) / pi is above 100 where pi is below 0.01: at 0.01 it is 99, and 100 at 1 / 101.
section-5-populations | Section 5 | procedure | two populations: the average prior | ec.report(by=, prior="overall")
  - Held against the value of the normal distributions; allowed: 0.02, three standard deviations over 20 draws, which are 0.002 to 0.007.
section-5-monitoring | Section 5 | procedure | monitoring: a prior that occurred | prior= of sketch.evaluate, sketch.drift
  - Held against F1 of the normal classes, and the part of the likelihood against 0; allowed: 0.05 and 0.06, three standard deviations over 20
    draws of the log, which are 0.009 to 0.017 and 0.014 to 0.020.
  - In month 6 positives come closer to negatives.
section-5-agreements | Section 5 | procedure | an agreement: the prior that both sides accept | ec.report(by=, prior=)
  - Held against the value of the normal distributions; allowed: 0.02, three standard deviations over 20 draws, which are 0.002 to 0.007.
section-5-deployment | Section 5 | procedure | before deployment: the lowest prior to be expected | prior= of sketch.evaluate
  - The sample promises as much as practice keeps only at the lowest prior.
  - Held against the value of the normal distributions; allowed: 0.025 of the sample and 0.07 of practice, three standard deviations over 20
    draws, which are up to 0.008 and 0.023.
Section 6 | the reference prior can decide which model is the better one | ec.f1(prior=)
""",
)
