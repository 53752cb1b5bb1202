"""The SQL of the DuckDB cases. `log` is a view of its files, `{threshold}` stands for the Bayes threshold.

Costs and prior are those of the report: a false negative costs 5, a false alarm 1, and the reference prior is 0.1.
"""

FLOOR = """
SELECT segment, count(*) AS n, sum(score) AS score, sum(CAST(label AS INTEGER)) AS label
FROM log GROUP BY segment ORDER BY segment
"""

MACROS = """
SELECT segment,
    ec.n_rows(score, label) AS n,
    ec.n_missing(score, label) AS n_missing,
    ec.n_invalid(score, label) AS n_invalid,
    ec.class_prior(score, label) AS class_prior,
    unnest(ec.confusion(score, label, cost_fn := 5)),
    ec.nec(score, label, cost_fn := 5) AS nec,
    ec.nce(score, label) AS nce,
    ec.nbs(score, label) AS nbs,
    ec.precision(score, label, cost_fn := 5) AS precision,
    ec.f1(score, label, cost_fn := 5) AS f1,
    ec.recall(score, label, cost_fn := 5) AS recall,
    ec.nec(score, label, cost_fn := 5, prior := 0.1) AS nec_at_prior,
    ec.nce(score, label, prior := 0.1) AS nce_at_prior,
    ec.nbs(score, label, prior := 0.1) AS nbs_at_prior,
    ec.precision(score, label, cost_fn := 5, prior := 0.1) AS precision_at_prior,
    ec.f1(score, label, cost_fn := 5, prior := 0.1) AS f1_at_prior
FROM log GROUP BY segment ORDER BY segment
"""

# What somebody makes of the sums of a segment: rates and formulas, null where a row is wrong or a value undefined.
_FORMULAS = """rates AS (
    SELECT segment, n, n_missing, n_invalid,
        n_invalid = 0 AS ok,
        n1 / nullif(n1 + n0, 0) AS p1,
        n0 / nullif(n1 + n0, 0) AS p0,
        n0 - fp AS tn, fp, n1 - tp AS fn, tp,
        tp / nullif(n1, 0) AS r11, (n1 - tp) / nullif(n1, 0) AS r10, fp / nullif(n0, 0) AS r01,
        log_loss1 / nullif(n1, 0) AS ce1, log_loss0 / nullif(n0, 0) AS ce0,
        brier1 / nullif(n1, 0) AS bs1, brier0 / nullif(n0, 0) AS bs0
    FROM sums
), weighed AS (
    -- A class of prior 0 adds 0, also where it has no rows.
    SELECT *,
        CASE WHEN p1 = 0 THEN 0 ELSE p1 * r11 END AS p1r11,
        CASE WHEN p1 = 0 THEN 0 ELSE p1 * r10 END AS p1r10,
        CASE WHEN p0 = 0 THEN 0 ELSE p0 * r01 END AS p0r01,
        CASE WHEN p1 = 0 THEN 0 ELSE p1 * ce1 END + CASE WHEN p0 = 0 THEN 0 ELSE p0 * ce0 END AS ce,
        CASE WHEN p1 = 0 THEN 0 ELSE p1 * bs1 END + CASE WHEN p0 = 0 THEN 0 ELSE p0 * bs0 END AS bs,
        CASE WHEN p1 > 0 AND p0 > 0 THEN -p1 * ln(p1) - p0 * ln(p0) END AS entropy,
        CAST(0.1 AS DOUBLE) AS q1, CAST(0.9 AS DOUBLE) AS q0,
        -(q1 * ln(q1) + q0 * ln(q0)) AS entropy_at_prior
    FROM rates
)
SELECT segment, CAST(n AS BIGINT) AS n, CAST(n_missing AS BIGINT) AS n_missing, CAST(n_invalid AS BIGINT) AS n_invalid,
    CASE WHEN ok THEN p1 END AS class_prior,
    CASE WHEN ok THEN CAST(tn AS BIGINT) END AS tn,
    CASE WHEN ok THEN CAST(fp AS BIGINT) END AS fp,
    CASE WHEN ok THEN CAST(fn AS BIGINT) END AS fn,
    CASE WHEN ok THEN CAST(tp AS BIGINT) END AS tp,
    CASE WHEN ok THEN (5 * p1r10 + p0r01) / nullif(least(5 * p1, p0), 0) END AS nec,
    CASE WHEN ok THEN ce / entropy END AS nce,
    CASE WHEN ok THEN bs / nullif(p1 * p0, 0) END AS nbs,
    CASE WHEN ok THEN p1r11 / nullif(p1r11 + p0r01, 0) END AS precision,
    CASE WHEN ok THEN 2 * p1r11 / nullif(2 * p1r11 + p1r10 + p0r01, 0) END AS f1,
    CASE WHEN ok THEN r11 END AS recall,
    CASE WHEN ok THEN (5 * q1 * r10 + q0 * r01) / least(5 * q1, q0) END AS nec_at_prior,
    CASE WHEN ok THEN (q1 * ce1 + q0 * ce0) / entropy_at_prior END AS nce_at_prior,
    CASE WHEN ok THEN (q1 * bs1 + q0 * bs0) / (q1 * q0) END AS nbs_at_prior,
    CASE WHEN ok THEN q1 * r11 / nullif(q1 * r11 + q0 * r01, 0) END AS precision_at_prior,
    CASE WHEN ok THEN 2 * q1 * r11 / nullif(2 * q1 * r11 + q1 * r10 + q0 * r01, 0) END AS f1_at_prior
FROM weighed ORDER BY segment
"""

# What somebody writes who knows the data rules: a row with a null is left out and counted, a wrong posterior is counted
# and makes the metrics of its group null, what is undefined is null. One pass, one logarithm a row.
DIRECT = (
    """
WITH sums AS (
    SELECT segment,
        count(CASE WHEN score IS NOT NULL THEN label END) AS n_present,
        count(*) - n_present AS n_missing,
        -- NaN is greater than any number, so it falls out here.
        coalesce(sum(CAST(label IS NOT NULL AND NOT score BETWEEN 0 AND 1 AS INTEGER)), 0) AS n_invalid,
        n_present - n_invalid AS n,
        coalesce(sum(CAST(label AND score IS NOT NULL AS INTEGER)), 0) AS n1,
        n_present - n1 AS n0,
        coalesce(sum(CAST(label AND score > CAST({threshold} AS DOUBLE) AS INTEGER)), 0) AS tp,
        coalesce(sum(CAST(NOT label AND score > CAST({threshold} AS DOUBLE) AS INTEGER)), 0) AS fp,
        sum(CASE WHEN label THEN -ln(score) END) AS log_loss1,
        sum(CASE WHEN NOT label THEN -ln(1 - score) END) AS log_loss0,
        sum(CASE WHEN label THEN (1 - score) * (1 - score) END) AS brier1,
        sum(CASE WHEN NOT label THEN score * score END) AS brier0
    FROM log GROUP BY segment
), """
    + _FORMULAS
)

# The same rules from half as many sums: grouped by class first, which the sums of any macro cannot be.
HAND_WRITTEN = (
    """
WITH judged AS (
    SELECT segment, label,
        score IS NOT NULL AND label IS NOT NULL AS present,
        -- NaN is greater than any number, so it falls out here.
        score BETWEEN 0 AND 1 AS valid,
        score > CAST({threshold} AS DOUBLE) AS positive,
        CASE WHEN label THEN score ELSE 1 - score END AS true_posterior
    FROM log
), per_class AS (
    SELECT segment, label,
        count(*) AS n_all,
        sum(CAST(present AS INTEGER)) AS n_present,
        sum(CAST(present AND NOT valid AS INTEGER)) AS n_invalid,
        sum(CAST(present AND positive AS INTEGER)) AS n_positive,
        sum(CASE WHEN NOT present OR NOT valid THEN 0
                 WHEN true_posterior = 0 THEN CAST('inf' AS DOUBLE)
                 ELSE -ln(true_posterior) END) AS log_loss,
        sum(CASE WHEN present THEN (1 - true_posterior) * (1 - true_posterior) ELSE 0 END) AS brier
    FROM judged GROUP BY segment, label
), sums AS (
    SELECT segment,
        sum(n_present) - sum(n_invalid) AS n,
        sum(n_all) - sum(n_present) AS n_missing,
        sum(n_invalid) AS n_invalid,
        coalesce(sum(CASE WHEN label THEN n_present END), 0) AS n1,
        coalesce(sum(CASE WHEN NOT label THEN n_present END), 0) AS n0,
        coalesce(sum(CASE WHEN label THEN n_positive END), 0) AS tp,
        coalesce(sum(CASE WHEN NOT label THEN n_positive END), 0) AS fp,
        sum(CASE WHEN label THEN log_loss END) AS log_loss1,
        sum(CASE WHEN NOT label THEN log_loss END) AS log_loss0,
        sum(CASE WHEN label THEN brier END) AS brier1,
        sum(CASE WHEN NOT label THEN brier END) AS brier0
    FROM per_class GROUP BY segment
), """
    + _FORMULAS
)

# The same with variances: those of rates, p (1 - p) / (n - 1), and of mean losses, from the sums of their squares.
_SUMS_OF_SQUARES = """
), lost AS (
    SELECT segment, label, present, valid, positive,
        CASE WHEN NOT present OR NOT valid THEN 0
             WHEN true_posterior = 0 THEN CAST('inf' AS DOUBLE)
             ELSE -ln(true_posterior) END AS log_loss,
        CASE WHEN present THEN (1 - true_posterior) * (1 - true_posterior) ELSE 0 END AS brier
    FROM judged
), per_class AS (
    SELECT segment, label,
        count(*) AS n_all,
        sum(CAST(present AS INTEGER)) AS n_present,
        sum(CAST(present AND NOT valid AS INTEGER)) AS n_invalid,
        sum(CAST(present AND positive AS INTEGER)) AS n_positive,
        sum(log_loss) AS log_loss, sum(log_loss * log_loss) AS log_loss_2,
        sum(brier) AS brier, sum(brier * brier) AS brier_2
    FROM lost GROUP BY segment, label
), sums AS ("""
_VARIANCES = """), classes AS (
    SELECT segment, label, n_present - 1 AS df, CASE WHEN label THEN 0.1 ELSE 0.9 END AS q, CASE WHEN label THEN 5 ELSE 1 END AS cost,
        CAST(n_positive AS DOUBLE) / n_present AS rate, rate * (1 - rate) / df AS of_rate,
        (log_loss_2 - log_loss * log_loss / n_present) / n_present / df AS of_log_loss,
        (brier_2 - brier * brier / n_present) / n_present / df AS of_brier
    FROM per_class WHERE label IS NOT NULL
)
SELECT * FROM reported JOIN (
    SELECT segment, sum(CASE WHEN label THEN of_rate END) AS recall_variance,
        sum(pow(cost * q, 2) * of_rate) / pow(least(5 * 0.1, 0.9), 2) AS nec_at_prior_variance,
        sum(q * q * of_log_loss) / pow(0.1 * ln(0.1) + 0.9 * ln(0.9), 2) AS nce_at_prior_variance,
        sum(q * q * of_brier) / pow(0.1 * 0.9, 2) AS nbs_at_prior_variance
    FROM classes GROUP BY segment) USING (segment)
ORDER BY segment
"""
HAND_WRITTEN_WITH_VARIANCES = (
    HAND_WRITTEN.partition("\n), per_class AS (")[0]
    + _SUMS_OF_SQUARES
    + HAND_WRITTEN.partition("), sums AS (")[2].replace("\n)\nSELECT segment", "\n), reported AS (\nSELECT segment")
    + _VARIANCES
)

REPORT = "FROM ec.report('log', score, label, groups := ['segment'], cost_fn := 5, prior := 0.1)"
# Of ten rows, to plan.
NEC_OF_TEN = "SELECT ec.nec(ec.shift_prior(score, 0.2, 0.1), label, cost_fn := 5) AS nec_of_ten FROM ten"
REPORT_OF_TEN = """
SELECT nec AS nec_of_report FROM ec.report('ten', score, label, prior := 0.1, "interval" := 0.95, cluster := segment)
"""
REPORT_WITH_LIMITS = REPORT.replace(")", ', "interval" := 0.95)')

# What somebody writes in a hurry: the formulas of the textbooks on rows that are taken to be right. Wrong as soon as a
# label is late, a posterior is NaN, or a segment has no positives.
NAIVE = """
WITH sums AS (
    SELECT segment, count(*) AS n,
        sum(CAST(label AS INTEGER)) AS n1,
        sum(CAST(label AND score > CAST({threshold} AS DOUBLE) AS INTEGER)) AS tp,
        sum(CAST(score > CAST({threshold} AS DOUBLE) AS INTEGER)) - tp AS fp,
        n1 - tp AS fn, n - n1 - fp AS tn,
        avg(CAST(label AS INTEGER)) AS p1,
        avg(-ln(CASE WHEN label THEN score ELSE 1 - score END)) AS ce,
        avg((score - CAST(label AS INTEGER)) * (score - CAST(label AS INTEGER))) AS bs
    FROM log GROUP BY segment
)
SELECT segment, n, p1 AS class_prior, tn, fp, fn, tp,
    (5 * fn + fp) / n / least(5 * p1, 1 - p1) AS nec,
    ce / -(p1 * ln(p1) + (1 - p1) * ln(1 - p1)) AS nce,
    bs / (p1 * (1 - p1)) AS nbs,
    tp / (tp + fp) AS precision,
    2 * tp / (2 * tp + fn + fp) AS f1,
    tp / n1 AS recall
FROM sums ORDER BY segment
"""

# The scan of the column that a metric of K classes cannot do without.
COLUMN = "SELECT sum(list_sum(posteriors)) FROM log"

CLASSES_MACRO = "SELECT segment, ec.nec(posteriors, label) AS nec FROM log GROUP BY segment ORDER BY segment"

CLASSES_AVERAGE = (
    "SELECT segment, ec.weighted_f1(posteriors, label) AS weighted_f1 FROM log GROUP BY segment ORDER BY segment"
)

CLASSES_MACROS = """
SELECT segment, ec.nec(posteriors, label) AS nec, ec.nce(posteriors, label) AS nce, ec.nbs(posteriors, label) AS nbs
FROM log GROUP BY segment ORDER BY segment
"""

RANKING_MACRO = "SELECT segment, ec.auc_roc(score, label) AS auc_roc FROM log GROUP BY segment ORDER BY segment"

RANKING_MACROS = """
SELECT segment, ec.auc_roc(score, label) AS auc_roc, ec.average_precision(score, label) AS average_precision,
    ec.auprg(score, label) AS auprg, ec.ks(score, label) AS ks, ec.eer(score, label) AS eer,
    ec.min_dcf(score, label, prior := 0.1) AS min_dcf, ec.min_cllr(score, label) AS min_cllr,
    ec.specificity_at_sensitivity(score, label) AS specificity_at_sensitivity
FROM log GROUP BY segment ORDER BY segment
"""

APPROXIMATE_MACRO = """
SELECT segment, ec.approx_auc_roc(score, label) AS approx_auc_roc, ec.approx_auc_roc_error(score, label) AS approx_auc_roc_error
FROM log GROUP BY segment ORDER BY segment
"""

# A factor for all rows leaves the value as it is.
WEIGHTED_MACRO = (
    "SELECT segment, ec.auc_roc(score, label, weight := 2) AS auc_roc FROM log GROUP BY segment ORDER BY segment"
)

# Ties count half: a positive is above all negatives of lower scores, and half of those of its own.
EXACT_AUC = """
WITH scores AS (
    SELECT segment, score, count(*) FILTER (WHERE label) AS positives, count(*) FILTER (WHERE NOT label) AS negatives
    FROM log GROUP BY segment, score
), ranked AS (
    SELECT segment, positives, negatives,
        sum(negatives) OVER (PARTITION BY segment ORDER BY score) - negatives / 2.0 AS below
    FROM scores
)
SELECT segment, sum(positives * CAST(below AS DOUBLE)) / (CAST(sum(positives) AS DOUBLE) * sum(negatives)) AS auc_roc
FROM ranked GROUP BY segment ORDER BY segment
"""

SKETCH = "FROM ec.sketch('log', score, label, groups := ['segment'], thresholds := [{threshold}])"

# These make two tables, one below the other: the cells, and coarse ones by bucket.
SKETCH_BY_USER, SKETCH_BY_ACCOUNT = (
    SKETCH.replace("])", f"], cluster := {key}, buckets := 100)") for key in ('"user"', "account")
)

# What somebody writes who wants the same cells: the same rules for nulls and wrong rows, the same bins and the same sums.
SKETCH_BY_HAND = """
WITH rows AS (
    SELECT segment, score,
        CASE WHEN score IS NULL OR label IS NULL THEN NULL
             WHEN score BETWEEN 0 AND 1 THEN CAST(label AS TINYINT) ELSE CAST(-1 AS TINYINT) END AS class
    FROM log
), logs AS (
    SELECT segment, class, CASE WHEN class >= 0 THEN score END AS s,
        CASE WHEN s > 0 THEN ln(s) WHEN s = 0 THEN CAST('-inf' AS DOUBLE) END AS log1,
        CASE WHEN s < 1 THEN ln(1 - s) WHEN s = 1 THEN CAST('-inf' AS DOUBLE) END AS log0
    FROM rows
)
SELECT segment, class,
    CAST(CASE WHEN s = 0 THEN -4098 WHEN s = 1 THEN 4097
         ELSE greatest(least(floor((log1 - log0) * 64), 4096), -4097) END AS INTEGER) AS bin,
    CAST(s > CAST({threshold} AS DOUBLE) AS SMALLINT) AS above,
    count(*) AS n,
    CAST(count(s) AS DOUBLE) AS weight,
    coalesce(sum(CASE WHEN class = 1 THEN -log1 WHEN class = 0 THEN s - (1 - (1 - s)) - log0 END), 0) AS log_loss,
    coalesce(sum(CASE WHEN class = 1 THEN (1 - s) * (1 - s) ELSE s * s END), 0) AS brier,
    coalesce(sum(s), 0) AS posterior
FROM logs GROUP BY ALL
"""
