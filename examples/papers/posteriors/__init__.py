"""Ferrer and Ramos, "Evaluating posterior probabilities: decision theory, proper scoring rules, and calibration"."""

from examples.papers.paper import Paper

PAPER = Paper(
    "posteriors",
    "L. Ferrer and D. Ramos",
    "Evaluating posterior probabilities: decision theory, proper scoring rules, and calibration",
    notes=[
        "Classes are 1 to K in the paper and 0 to K - 1 here. ECE is percent there and a share here.",
        "Folds are five, stratified, drawn anew from NumPy's legacy generator as the authors' code draws them: cross-validated numbers are the paper's own too.",
    ],
    contents="""
Equation 1 | Bayes decision | ec.bayes_decision
  - Three classes, four decisions. On a tie the lowest decision is taken; the paper takes any.
Equation 2 | scoring rule: the cost of the Bayes decision | ec.row_cost
Equation 3 | a proper rule is least at the reference | ec.cross_entropy, ec.brier, ec.bayes_risk
  - p = (0.5, 0.3, 0.2); 171 posteriors q. The Bayes risk is not strict: other q have the same.
Equation 4 | EPSR over (h, x) | part of ec.semi_empirical_epsr | not computed: defines the expectation that Equation 6 computes
Equation 5 | EPSR over (h, q) | part of ec.semi_empirical_epsr | not computed: a step from Equation 4 to Equation 6
Equation 6 | EPSR: the mean over the rows | ec.bayes_risk, ec.cross_entropy, ec.brier
Equation 7 | expected cost | ec.expected_cost, ec.nec, ec.error_rate
Equation 8 | cross-entropy | ec.cross_entropy, ec.nce
Equation 9 | Brier score | ec.brier, ec.nbs
naive-systems | Sections 2.3.2 and 2.3.3 | text | scores of the best naive system | ec.nce, ec.nbs
Equation 10 | rules as integrals over costs | ec.epsr
Equation 11 | the costs of an operating point | ec.CostMatrix.bayes_threshold
  - The N in the equation is the number of classes.
Equation 12 | EPSRs as integrals of Bayes risks | ec.epsr, ec.bayes_risk
  - By the weight Beta(2, 2) of the text one has 3 times the Brier score of Equation 9; normalised, they are the same.
Equation 13 | perfect calibration | part of ec.calibrate | not computed: defines calibration; Equations 24 to 33 measure it
Equation 14 | the optimal classifier | ec.posterior | not computed: Bayes' rule, which Equation 38 computes
Equation 15 | the optimal classifier is calibrated | part of ec.calibrate | not computed: a step to Equation 16
Equation 16 | the optimal classifier is calibrated | part of ec.calibrate | not computed: a step to Equation 17
Equation 17 | the optimal classifier is calibrated | part of ec.calibrate | not computed: an identity of distributions: no number
Equation 18 | a classifier is not the optimal one | part of ec.calibrate | not computed: says that two distributions differ: no number
Equation 19 | a classifier is calibrated with itself as the reference | part of ec.calibrate | not computed: an identity of distributions: no number
Equation 20 | the posteriors q, s and p | part of ec.calibrate | not computed: sums up Equations 16 to 19: no number
footnote-6 | Footnote 6 | text | a function of posteriors knows no more of the class | ec.nce, ec.Sketch.calibrate
  - By PAV on 1,999 rows of cal; of steps beside the entropies of the classes in each step.
Equation 21 | the naive classifier: calibrated, and of no use | ec.ece_mc, ec.calibration_loss, ec.nce
Equation 22 | Bayes decisions by calibrated posteriors | ec.Sketch.calibrate, ec.bayes_risk
  - P(H | q) by PAV on the very rows.
Equation 23 | affine calibration (DP) | ec.calibrate, ec.affine
  - The equation is held against Newton's method in NumPy, and against what holds at the least cross-entropy.
temperature-scaling | Section 2.4.2 | procedure | Equation 23 with beta = 0 | ec.calibrate
  - The equation is held against Newton's method in NumPy, and against what holds at the least cross-entropy.
histogram-binning | Sections 2.4.2 and 2.5.2 | procedure | posteriors from the shares in bins | ec.Sketch.calibrate
pav | Section 2.4.2 | procedure | isotonic calibration: pool adjacent violators | ec.Sketch.calibrate
Equation 24 | expected score divergence | ec.expected_score_divergence
  - The squared distance is over K, as the Brier loss of Section 2.3.3 is.
Equation 25 | EPSR as divergence and entropy | ec.semi_empirical_epsr, ec.expected_score_divergence
Equation 26 | the divergence that a rule induces | ec.expected_score_divergence
  - The squared distance is over K, as the Brier loss of Section 2.3.3 is.
Equation 27 | expected calibration error | ec.ece
  - A share here, percent in the paper's tables.
Equation 28 | ECE as a mean distance | ec.ece
other-ece | Section 2.5.2, other forms | text | ECE by squares, and of bins of equal mass | ec.ece, ec.expected_score_divergence
Equation 29 | the mean has the least score divergence | ec.expected_score_divergence
  - q0 in steps of 0.001. The absolute distance, least at the median, is no such divergence: Figure 4.
ece-mc | Section 2.5.2 | text | ECE of the class of the largest posterior | ec.ece_mc
Equation 30 | calibration loss | ec.calibration_loss
  - The loss on the very rows is the larger one: trained on what it is tested on, a calibrator finds too much.
Equation 31 | EPSR before calibration | part of ec.calibration_loss
Equation 32 | EPSR after calibration | part of ec.calibration_loss
Equation 33 | relative calibration loss (RCL) | ec.calibration_loss
cross-validation | Section 2.5.3 | procedure | each fold calibrated by the rows of the others | ec.calibrate, ec.Calibration.apply
  - Beside fits by Newton's method in NumPy, to 1e-7.
Equation 34 | the costs of Figure 1 | ec.CostMatrix.bayes_threshold
  - The code that drew Figure 1 has 1 / (1 - a1) and 1 / a1 the other way round, so that its a1 is the threshold of class 2.
Section 3.1 | at a = 1/2 the Bayes risk is twice the error rate; miscalibration shows elsewhere | ec.bayes_risk, ec.nbs
Figure 1 | Bayes risks of four systems, whose area is the cross-entropy or, weighted, the Brier score | ec.nce, ec.nbs, ec.epsr, ec.Sketch.bayes_risk
  - Areas are sums over 60,000 operating points of the risks of 100,000 rows: good to 2e-6.
  - A slip: the area on the right, of weight a (1 - a) / B(2, 2), is three times the Brier score with its factor 1 / K. Normalised it falls out.
  - The figure's code has costs 1 / a of the second class and 1 / (1 - a) of the first, the text the reverse: the axis runs the other way.
ends-of-rules | Section 3.1, the ends | text | what being sure of a wrong class costs | ec.row_brier, ec.row_log_loss
Figure 2 | two classes: normalised losses, calibration losses and errors of four systems | ec.nec, ec.nce, ec.nbs, ec.calibration_loss, ec.ece,
    ec.ece_mc
  - The text has NRisk-imb for the figure's NRisk-im. RCL and calibration errors in percent. The figure prints no numbers: its bars are held
    against the paper's equations, in NumPy.
  - RCL-BS-Hxv of cal depends on folds: in 20 others than these it is from -28.7 to -12.7, with mean -21.4 and standard deviation 5.0.
Section 3.2 | accuracy = 1 - 0.2 NRisk-01, and what each miscalibration moves | ec.accuracy, ec.nec, ec.calibration_loss
  - The identity has the share of the second class, which is 79 / 399: with 0.2 it is off by less than 0.003.
  - About 0 is within 3: over 20 foldings RCL-BS-Dxv of cal has a standard deviation of 0.8. Histograms that are trained on other rows make
    posteriors worse; trained on the very rows they find miscalibration where there is none.
Figure 3 | ten classes: normalised losses, calibration losses and errors of four systems | ec.nec, ec.nce, ec.nbs, ec.calibration_loss, ec.ece_mc
  - RCL and ECEmc in percent. The figure prints no numbers: those with few digits are of the notebook that drew it, in the public repository
    luferrer/expected_cost; the others are of the paper's equations, in NumPy. RCL may be 0.003 off (it is 0.002): calibrators of the notebook are
    trained in float32 and stop early. The folds are the notebook's own; in 20 others RCL-CE-Dxv of mcp is from 77.9 to 78.2.
Section 3.3 | what temperature scaling and the error of the top label do not find | ec.calibration_loss, ec.ece_mc
  - A slip: the text says that more than 70 % of the cross-entropy of miscalibrated systems is due to miscalibration; of mcs the notebook has
    67.12. Temperature alone cannot mend exchanged priors.
Equation 35 | cross-entropy by another reference | ec.semi_empirical_epsr
Table 1 | semi-empirical against empirical cross-entropy | ec.semi_empirical_epsr, ec.nce, ec.Sketch.calibrate
  - 100 (NCE - CE_se / H(s)) / NCE, s being the mean reference posterior: CE_se over its own naive value, and not over the entropy of the class
    shares, for only so do the numbers of the row true come out. D: affine (DP), T: temperature, H: histogram of 15 bins; tt: fitted on the very
    rows, xv: five folds.
  - The caption has (CE_e - CE_se) / CE_e, by which Dtt and Ttt would be 0 for every system: where alpha is the best one, both are the same.
  - The text says that temperature scaling does badly with mcs and mcps: by the table with mcp and mcps, for mcs is a matter of scale alone.
  - The folds are the paper's own: the generator that has drawn the classes draws them, for each system and calibrator in turn. With folds by
    seeds 1 to 20 cells of Dxv, Txv and Hxv move by up to 3.9, 1.6 and 21 where rows are 200, by 0.3, 0.2 and 1.4 where they are 2,000, and by 0.1
    where they are 20,000.
  - Hxv: a bin without rows in the other folds has posterior 0 in the paper; here it takes the share of the bin below. This makes a difference for
    200 rows only: the last row.
Table 2 | real systems: risks, NCE and calibration metrics | ec.nec, ec.nce, ec.calibrate, ec.Sketch.calibrate, ec.ece_mc, ec.ece
  - raw: as the system has them; cal: affine calibration (DP), five folds, each row by the fit of the other folds; calp: PAV, fitted on the very
    rows.
  - C01, Cab, Cimb: NEC of Bayes decisions for 0-1 costs, for these and abstaining at 0.1, and for errors on the last class costing 10.
  - RCL is of calibrating the row's own posteriors, cal and calp once more, with the same folds. ECE and ECEmc are percent here, as printed;
    ec.ece and ec.ece_mc give shares.
  - The folds are the paper's own: stratified, drawn with seed 0. With seeds 1 to 20 the rows of cal move by at most 0.002 in NCE, 0.02 in the
    risks, 0.7 in RCL, and 0.7 points in ECE and ECEmc.
  - No scores at hand: SITW and FVCAUS come from recordings of speakers, CIFAR-1vsO and CIFAR-2vsO from the CIFAR100 scores, the others from
    networks that are not run here. The authors publish most in notebooks/data of github.com/luferrer/expected_cost: `python -m examples.papers
    posteriors/table-2 --scores fvcaus=FOLDER` holds a folder of theirs, or a file, against its row; the name is the one in front.
  - IEMOCAP: the scores of that task in the reference data of the tests are of another run (raw NCE 1.295), and are not used.
Section 3.5 | numbers of Table 2 in the text | ec.nce
  - The others are of Vgg19 (NCE 0.103), RepVgg-a2 (0.092, RCL 19.9), CIFAR100 RepVgg-a2 (RCL 0.8, ECEmc 5.6), SITW and FVCAUS: no scores at hand.
  - The text says that affine calibration and PAV are close in most cases: within 6 % of NCE by the printed numbers of SST2 too.
Equation 36 | cross-entropy with stated priors | ec.cross_entropy
Equation 37 | Brier score with stated priors | ec.brier
Figure 4 | Appendix B: the absolute distance is no score divergence | ec.expected_score_divergence
  - q01 goes by 0.01: a curve is least at the point next to its minimum.
Equation 38 | posteriors by Bayes' rule | ec.posterior, ec.shift_prior
appendix-c | Appendix C | procedure | the synthetic sets, and how they are miscalibrated | ec.shift_prior, ec.affine
  - The paper rounds P_i N; its code cuts it off, in floating point: 399 rows and 1,996. It multiplies the unit vectors of the means by the root
    of a half, so that means are 1 apart as Section 3 has it, and draws class by class, with seed 0. Only so do the Brier scores of its notebooks
    come out.
  - What the appendix calls a mismatch in posteriors is one in priors; sigma is called a variance, which it is, and stands alone in the
    covariance.
Table 3 | classes, rows and priors of the real sets | ec.class_prior, ec.n_rows
  - The priors of CIFAR10 are printed as one number for all ten classes.
  - The appendix has GPT-2 without examples only; Table 2 has it with four as well, on the same rows.
one-against-others | Appendix D | procedure | one class against the others, as CIFAR-1vsO and CIFAR-2vsO, of CIFAR10 | ec.nec, ec.nce, ec.ece,
    ec.Sketch.calibrate
  - The paper has classes 1 and 2 of the 100 of CIFAR100, whose scores are not at hand; here they are of CIFAR10 Resnet-20, in the same way: the
    posterior of the class, and 1 less that of all others. So no number can be the printed one: those of raw are held against the paper's
    equations, in NumPy.
appendix-e | Appendix E | procedure | confidence intervals by bootstrap, calibrators trained anew, folds by original row | ec.Sketch.evaluate,
    ec.Sketch.calibration_loss
  - Beside them the percentiles of 2,000 sets of rows that are drawn one by one, in NumPy, histograms trained anew in each. Both are of random
    draws: over 12 seeds the standard deviation of a limit is 0.9 to 2.7 % of the interval. Allowed are 8 % of it, two standard deviations of the
    difference of the two where it is largest.
  - The paper takes the percentiles gamma / 2 and 100 - gamma / 2 and calls gamma the confidence level: for limits of 95 % gamma must be 5.
Figure 5 | NBS and calibration losses of four systems with 95 % limits of 100 bootstraps | ec.Sketch.evaluate, ec.Sketch.calibration_loss
  - The figure prints no numbers: limits are read off to about 0.02 of NBS. Limits of 100 draws depend on the draws: over 20 seeds their standard
    deviations are 0.012 and 0.014 for cal, 0.026 and 0.051 for mcp; those of RCL-BS-Hxv of cal are 5 and 2. Allowed are the reading and one and a
    half of the larger ones: 0.04 for cal, 0.1 for mcp; of 4,000 draws, where they are 0.002 and 0.012, 0.02 and 0.03.
  - The figure calls affine calibration A, the text D, as in Figures 2 and 3.
""",
)
