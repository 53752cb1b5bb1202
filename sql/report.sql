-- polars_ec for DuckDB, file 12 of 12: the report, a table of the metrics of each group. Load after intervals.
-- A table macro as ec.sketch is, with its rules for names. The log is summed by group and class in one pass, and what is not asked for
-- is not summed: lists of names are constants, and so is what asks them. All that follows is of the few sums.

-- Names ---------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._report_names() AS [
    'nec', 'nce', 'nbs', 'precision', 'f1', 'recall', 'expected_cost', 'bayes_risk', 'error_rate', 'accuracy', 'balanced_error_rate',
    'balanced_accuracy', 'specificity', 'fpr', 'fnr', 'decision_share', 'informedness', 'mcc', 'lr_plus', 'lr_minus', 'precision_gain',
    'recall_gain', 'cross_entropy', 'brier', 'confusion', 'tn', 'fp', 'fn', 'tp'];
CREATE OR REPLACE MACRO ec._of_posteriors() AS ['nce', 'nbs', 'cross_entropy', 'brier', 'bayes_risk'];

-- Does any of them need decisions?
CREATE OR REPLACE MACRO ec._decides(metrics, score_type) AS
    metrics IS NULL OR len(list_filter(CAST(metrics AS VARCHAR[]), lambda _m: _m NOT IN ('nce', 'nbs', 'cross_entropy', 'brier'))) > 0;

CREATE OR REPLACE MACRO ec._where_it_is(name) AS
    CASE WHEN name IN ('n', 'class_prior', 'n_missing', 'n_invalid') THEN 'every report has it already: leave it out'
         WHEN name IN ('fbeta', 'net_benefit', 'epsr', 'cllr', 'ece', 'ece_mc', 'auc_roc', 'eer', 'average_precision', 'auprg', 'ks',
                       'min_cllr', 'min_dcf', 'min_expected_cost', 'f1_of_averages',
                       'specificity_at_sensitivity', 'sensitivity_at_specificity')
              OR regexp_matches(name, '^(class|macro|micro|weighted|pairwise)_')
         THEN format('use SELECT ..., ec.{}(score, label) FROM log GROUP BY ...', name)
         WHEN name = 'dcf' THEN 'it equals nec_at_prior for LLRs with prior: pass nec'
         ELSE 'the metrics are ' || array_to_string(ec._report_names(), ', ') END;
CREATE OR REPLACE MACRO ec._names_ok(metrics, score_type) AS
    CASE WHEN len(ec._asked(metrics, score_type)) = 0 THEN error('ec: metrics := [] is empty: leave it out for the default metrics') IS NULL
         WHEN len(list_distinct(ec._asked(metrics, score_type))) < len(ec._asked(metrics, score_type))
         THEN error('ec: metrics ' || CAST(metrics AS VARCHAR) || ' contain a name twice, or a NULL') IS NULL
         WHEN len(list_filter(ec._asked(metrics, score_type), lambda _m: NOT list_contains(ec._report_names(), _m))) > 0
         THEN error(list_transform(list_filter(ec._asked(metrics, score_type), lambda _m: NOT list_contains(ec._report_names(), _m)),
                                   lambda _m: format('ec: ''{}'' is not a metric of ec.report: {}', _m, ec._where_it_is(_m)))[1]) IS NULL
         WHEN ec._is_decision(score_type) AND ec._asks(metrics, score_type, ec._of_posteriors())
         THEN error('ec: score_type ''decision'' has no posteriors, which metrics ' || CAST(metrics AS VARCHAR) || ' need') IS NULL
         ELSE true END;

-- Is it a column of this report?
CREATE OR REPLACE MACRO ec._shows(name, metrics, score_type, stated, limited, small, total) AS
    name IN ('n', 'class_prior', 'n_missing', 'n_invalid') OR small AND name = 'small' OR total AND name = 'total'
    OR name IN ('tn', 'fp', 'fn', 'tp') AND (metrics IS NULL OR ec._asks(metrics, score_type, ['confusion', name]))
    OR ec._asks(metrics, score_type, [regexp_replace(name, '(_kinked|(_at_prior)?(_ci_low|_ci_high)?)$', '')])
       AND (stated OR NOT contains(name, '_at_prior')) AND (limited OR NOT regexp_matches(name, '_ci_|_kinked'));

-- Arguments -----------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._report_score(score BOOLEAN, score_type) AS ec._boolean_decision(score, score_type),
(score DOUBLE, score_type) AS score,
(score VARCHAR, score_type) AS ec._fail('the score is text, not a number: write the column without quotes, (''log'', score, label)'),
(score, score_type) AS ec._fail('a table of two classes takes one score per row: from a list pass the posterior of one class, such as score[2]');

-- Costs are constants, or columns: then each row has a cost of its own, that of deciding it wrongly.
CREATE OR REPLACE MACRO ec._by_row(kind "NULL") AS kind IS NOT NULL, (kind) AS true;
CREATE OR REPLACE MACRO ec._constant_cost(kind "NULL", cost, cost_fn, cost_fp) AS
    CASE WHEN kind IS NULL AND ec._binary_costs_ok(cost_fn, cost_fp) THEN CAST(cost AS DOUBLE) END,
(kind, cost, cost_fn, cost_fp) AS CAST(NULL AS DOUBLE);
CREATE OR REPLACE MACRO ec._cost_of_row(kind "NULL", y, cost_fn, cost_fp) AS CASE WHEN kind IS NOT NULL THEN 0e0 END,
(kind, y, cost_fn, cost_fp) AS CASE y WHEN 1 THEN CAST(cost_fn AS DOUBLE) WHEN 0 THEN CAST(cost_fp AS DOUBLE) END;
CREATE OR REPLACE MACRO ec._uncosted_rows(kind "NULL", cost_fn, cost_fp) AS CASE WHEN kind IS NULL THEN 0 END,
(kind, cost_fn, cost_fp) AS ec._count_uncosted(cost_fn, cost_fp);

-- P0 and P1 as they are stated, least and greatest: equal where they are one prior. Constants are not looked at row by row. Numbers, for
-- the least of many lists takes as long as all the sums.
CREATE OR REPLACE MACRO ec._least_prior(kind "NULL", checked, unchecked) AS CASE WHEN kind IS NULL THEN checked END,
(kind, checked, unchecked) AS min(unchecked);
CREATE OR REPLACE MACRO ec._greatest_prior(kind "NULL", checked) AS CASE WHEN kind IS NULL THEN checked END,
(kind, checked) AS max(checked);
CREATE OR REPLACE MACRO ec._one_pair(least0, greatest0, least1, greatest1) AS
    least0 = greatest0 AND least1 = greatest1 AND least0 >= 0 AND least1 >= 0 AND abs(least0 + least1 - 1) <= 1e-6;

CREATE OR REPLACE MACRO ec._threshold_ok(threshold, metrics, score_type) AS
    CASE WHEN NOT ec._unset(threshold) AND ec._asks(metrics, score_type, ['bayes_risk'])
         THEN error('ec: bayes_risk uses Bayes decisions: leave threshold out, or use expected_cost') IS NULL ELSE true END;
CREATE OR REPLACE MACRO ec._prior_given(stated, prior) AS
    CASE WHEN stated AND ec._unset(prior) THEN error('ec: prior := NULL is not a prior: leave it out') IS NULL ELSE true END;
CREATE OR REPLACE MACRO ec._undecided_rows(kind "NULL", threshold, score_type) AS
    CASE WHEN kind IS NULL AND ec._no_threshold(threshold, CAST(score_type AS VARCHAR)) THEN 1 ELSE 0 END,
(kind, threshold, score_type) AS ec._count(ec._no_threshold(threshold, CAST(score_type AS VARCHAR)));

-- Rows ----------------------------------------------------------------------------------------------------------------

-- 0, 1, -1 for a wrong row, NULL for one with a part missing.
CREATE OR REPLACE MACRO ec._class_of(score, label, score_type, weight) AS
    CASE WHEN ec._missing(score, label, weight) THEN NULL
         WHEN ec._number_ok(score, 2, score_type) AND ec._weight_ok(weight) AND NOT ec._label_wrong(score, label)
         THEN TRY_CAST(label AS TINYINT) ELSE CAST(-1 AS TINYINT) END;
CREATE OR REPLACE MACRO ec._report_class(type "NULL", score, label, prior, score_type, weight) AS
    ec._class_of(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, CAST(score_type AS VARCHAR), weight),
(type, score, label, prior, score_type, weight) AS ec._class_of(score, label, NULL, weight);
CREATE OR REPLACE MACRO ec._report_positive(type "NULL", score, cost_fn, cost_fp, prior, threshold, score_type) AS
    ec._positives(score, NULL, cost_fn, cost_fp, prior, threshold, CAST(score_type AS VARCHAR)),
(type, score, cost_fn, cost_fp, prior, threshold, score_type) AS ec._positives(score, NULL, cost_fn, cost_fp, prior, threshold, NULL);
CREATE OR REPLACE MACRO ec._log_loss_of(type "NULL", y, score, prior, score_type) AS
    CASE y WHEN 1 THEN ec._log_loss1(score, CAST(score_type AS VARCHAR), prior)
           WHEN 0 THEN ec._log_loss0(score, CAST(score_type AS VARCHAR), prior) END,
(type, y, score, prior, score_type) AS
    CASE y WHEN 1 THEN ec._log_loss1(score, NULL, prior) WHEN 0 THEN ec._log_loss0(score, NULL, prior) END;
CREATE OR REPLACE MACRO ec._brier_of(type "NULL", y, score, prior, score_type) AS
    CASE y WHEN 1 THEN ec._brier1(score, CAST(score_type AS VARCHAR), prior)
           WHEN 0 THEN ec._brier0(score, CAST(score_type AS VARCHAR), prior) END,
(type, y, score, prior, score_type) AS
    CASE y WHEN 1 THEN ec._brier1(score, NULL, prior) WHEN 0 THEN ec._brier0(score, NULL, prior) END;

-- The score and the label are named once: then a column that is not there is an error that says so.
CREATE OR REPLACE MACRO ec._report_rows(log, score, label, cost_fn, cost_fp, threshold, prior, score_type, weight) AS TABLE
    SELECT *, ec._weighted(ec._log_loss_of(ec._posterior_type(score_type), "ec: class", "ec: score", prior, score_type), weight)
               AS "ec: log loss",
           ec._weighted(ec._cost_of_row(ec._column_type(cost_fn, cost_fp), "ec: class", cost_fn, cost_fp), weight) AS "ec: cost",
           ec._weighted(ec._brier_of(ec._posterior_type(score_type), "ec: class", "ec: score", prior, score_type), weight) AS "ec: brier",
           CASE WHEN "ec: class" >= 0 THEN CAST(ec._weight(weight) AS DOUBLE) END AS "ec: weight"
    FROM (SELECT *,
                 ec._report_class(ec._posterior_type(score_type), "ec: score", "ec: label", prior, score_type, weight) AS "ec: class",
                 ec._report_positive(ec._posterior_type(score_type), "ec: score", cost_fn, cost_fp, prior, threshold, score_type)
                     AS "ec: positive"
          FROM (SELECT *, ec._report_score("ec: given", score_type) AS "ec: score"
                FROM (SELECT *, score AS "ec: given", label AS "ec: label" FROM query_table(log))));

-- Sums of a group's class ---------------------------------------------------------------------------------------------

-- Rows or their weights; and sums of w^2 and w^2 x, of sums of w x. Without weights these are the same sums. DOUBLE, because integers of
-- 128 bits are slow to add up over many groups.
CREATE OR REPLACE MACRO ec._amount(condition, w, weight "NULL") AS CAST(count_if(condition) AS DOUBLE),
(condition, w, weight) AS sum(CASE WHEN condition THEN w ELSE 0 END);
CREATE OR REPLACE MACRO ec._amount_of_rest(condition, w, weight "NULL") AS CAST(count(*) - count_if(condition) AS DOUBLE),
(condition, w, weight) AS sum(CASE WHEN condition THEN 0 ELSE w END);
CREATE OR REPLACE MACRO ec._amount_of_all(w, weight "NULL") AS count(*), (w, weight) AS sum(w);
CREATE OR REPLACE MACRO ec._square_where(condition, w, weight "NULL") AS count_if(condition),
(condition, w, weight) AS sum(CASE WHEN condition THEN w * w ELSE 0 END);
CREATE OR REPLACE MACRO ec._square_of_rest(condition, w, weight "NULL") AS count(*) - count_if(condition),
(condition, w, weight) AS sum(CASE WHEN condition THEN 0 ELSE w * w END);
CREATE OR REPLACE MACRO ec._square_of_all(w, weight "NULL") AS count(*), (w, weight) AS sum(w * w);
CREATE OR REPLACE MACRO ec._weighted_sum(x, w, weight "NULL") AS sum(x), (x, w, weight) AS sum(w * x);

-- A row's bucket is that of its cluster, or none: then the row is a cluster of its own.
CREATE OR REPLACE MACRO ec._bucket_of(cluster "NULL", buckets) AS CAST(cluster AS UBIGINT),
(cluster, buckets) AS ec._bucket_of_cluster(cluster, buckets);
CREATE OR REPLACE MACRO ec._report_cells(log, score, label, groups, cost_fn, cost_fp, threshold, prior, stated, metrics, score_type, weight,
    limited, cluster, buckets) AS TABLE
    SELECT COLUMNS(lambda _c: _c = 'ec: class' OR ec._is_group(_c, groups)), ec._bucket_of(cluster, buckets) AS "ec: bucket",
           count(*) AS "ec: n", ec._by_row(ec._column_type(cost_fn, cost_fp)) AS "ec: by row",
           ec._undecided_rows(ec._column_type(threshold, NULL), threshold, score_type)
               + ec._uncosted_rows(ec._column_type(cost_fn, cost_fp), cost_fn, cost_fp) AS "ec: undecided",
           ec._least_prior(ec._column_type(prior, NULL), ec._prior0(prior), ec._p0(prior)) AS "ec: least0",
           ec._greatest_prior(ec._column_type(prior, NULL), ec._prior0(prior)) AS "ec: greatest0",
           ec._least_prior(ec._column_type(prior, NULL), ec._prior1(prior), ec._p1(prior)) AS "ec: least1",
           ec._greatest_prior(ec._column_type(prior, NULL), ec._prior1(prior)) AS "ec: greatest1",
           ec._constant_cost(ec._column_type(cost_fn, cost_fp), cost_fn, cost_fn, cost_fp) AS "ec: fn",
           ec._constant_cost(ec._column_type(cost_fn, cost_fp), cost_fp, cost_fn, cost_fp) AS "ec: fp",
           ec._amount_of_all("ec: weight", weight) AS "ec: x all",
           CASE WHEN ec._decides(metrics, score_type) THEN ec._amount("ec: positive", "ec: weight", weight) END AS "ec: x positive",
           CASE WHEN ec._decides(metrics, score_type) THEN ec._amount_of_rest("ec: positive", "ec: weight", weight) END AS "ec: x negative",
           CASE WHEN ec._asks(metrics, score_type, ['nce', 'cross_entropy']) THEN sum("ec: log loss") END AS "ec: x log_loss",
           CASE WHEN ec._asks(metrics, score_type, ['nbs', 'brier']) THEN sum("ec: brier") END AS "ec: x brier",
           CASE WHEN ec._by_row(ec._column_type(cost_fn, cost_fp)) THEN sum("ec: cost") END AS "ec: x cost",
           CASE WHEN ec._by_row(ec._column_type(cost_fn, cost_fp)) THEN
               sum(CASE WHEN "ec: positive" = ("ec: class" = 0) THEN "ec: cost" ELSE 0 END) END AS "ec: x error",
           CASE WHEN limited AND ec._by_row(ec._column_type(cost_fn, cost_fp)) THEN
               ec._weighted_sum("ec: cost", "ec: weight", weight) END AS "ec: x cost1",
           CASE WHEN limited AND ec._by_row(ec._column_type(cost_fn, cost_fp)) THEN sum("ec: cost" * "ec: cost") END AS "ec: x cost2",
           CASE WHEN limited AND ec._by_row(ec._column_type(cost_fn, cost_fp)) THEN
               ec._weighted_sum(CASE WHEN "ec: positive" = ("ec: class" = 0) THEN "ec: cost" ELSE 0 END, "ec: weight", weight) END
               AS "ec: x error1",
           CASE WHEN limited AND ec._by_row(ec._column_type(cost_fn, cost_fp)) THEN
               sum(CASE WHEN "ec: positive" = ("ec: class" = 0) THEN "ec: cost" * "ec: cost" ELSE 0 END) END AS "ec: x error2",
           CASE WHEN limited THEN ec._square_of_all("ec: weight", weight) END AS "ec: x all2",
           CASE WHEN limited AND ec._decides(metrics, score_type) THEN ec._square_where("ec: positive", "ec: weight", weight) END
               AS "ec: x positive2",
           CASE WHEN limited AND ec._decides(metrics, score_type) THEN ec._square_of_rest("ec: positive", "ec: weight", weight) END
               AS "ec: x negative2",
           CASE WHEN limited AND ec._asks(metrics, score_type, ['nce', 'cross_entropy']) THEN
               ec._weighted_sum("ec: log loss", "ec: weight", weight) END
               AS "ec: x log_loss1",
           CASE WHEN limited AND ec._asks(metrics, score_type, ['nce', 'cross_entropy']) THEN sum("ec: log loss" * "ec: log loss") END
               AS "ec: x log_loss2",
           CASE WHEN limited AND ec._asks(metrics, score_type, ['nbs', 'brier']) THEN ec._weighted_sum("ec: brier", "ec: weight", weight) END
               AS "ec: x brier1",
           CASE WHEN limited AND ec._asks(metrics, score_type, ['nbs', 'brier']) THEN sum("ec: brier" * "ec: brier") END AS "ec: x brier2"
    FROM ec._report_rows(log, score, label, cost_fn, cost_fp, threshold, prior, score_type, weight)
    WHERE ec._names_ok(metrics, score_type) AND ec._threshold_ok(threshold, metrics, score_type) AND ec._prior_given(stated, prior)
    GROUP BY ALL;

-- Of each group, and of all of them, the sums of each class: of so many rows with index of the group and bucket. A log without rows, and
-- without groups, has one.
CREATE OR REPLACE MACRO ec._report_sums(cells, groups, total) AS TABLE
    SELECT _ec_total, CASE WHEN NOT _ec_total THEN _ec_key END AS _ec_key, "ec: bucket" AS _ec_bucket,
           sum("ec: n") AS _ec_n, sum(CASE WHEN "ec: class" IS NULL THEN "ec: n" ELSE 0 END) AS _ec_missing,
           sum(CASE WHEN "ec: class" < 0 THEN "ec: n" ELSE 0 END) AS _ec_invalid, sum("ec: undecided") AS _ec_undecided,
           min(COLUMNS('^ec: (least.)$')) AS '_ec_\1', max(COLUMNS('^ec: (greatest.)$')) AS '_ec_\1',
           any_value("ec: fn") AS _ec_fn, any_value("ec: fp") AS _ec_fp, coalesce(any_value("ec: by row"), false) AS _ec_by_row,
           sum(CASE WHEN "ec: class" = 0 THEN COLUMNS('^ec: x (.*)$') ELSE 0 END) AS '\1_0',
           sum(CASE WHEN "ec: class" = 1 THEN COLUMNS('^ec: x (.*)$') ELSE 0 END) AS '\1_1'
    FROM (SELECT struct_pack(*COLUMNS(lambda _c: _c = 'ec: 0' OR ec._is_group(_c, groups))) AS _ec_key, COLUMNS('^ec: [^0]')
          FROM (SELECT *, 0 AS "ec: 0"
                FROM (FROM query_table(cells) UNION ALL BY NAME
                      SELECT 0 AS "ec: n", 0 AS "ec: undecided" WHERE coalesce(len(groups), 0) = 0))),
         (SELECT unnest([false, true]) AS _ec_total)
    WHERE total OR NOT _ec_total GROUP BY ALL;
-- Limits are joined to their group by its number; without them none is needed, and to rank a million keys takes as long as the sums.
CREATE OR REPLACE MACRO ec._report_units(cells, groups, total) AS TABLE
    SELECT dense_rank() OVER (ORDER BY _ec_total, _ec_key) AS _ec_id, * FROM ec._report_sums(cells, groups, total);
-- Without clusters a unit is a group. The unit of a log without rows does not know that costs are of each row.
CREATE OR REPLACE MACRO ec._report_merged(units) AS TABLE
    SELECT _ec_id, _ec_total, _ec_key, min(COLUMNS('^_ec_least.$')), max(COLUMNS('^_ec_greatest.$')),
           any_value(_ec_fn) AS _ec_fn, any_value(_ec_fp) AS _ec_fp, bool_or(_ec_by_row) AS _ec_by_row, CAST(NULL AS UBIGINT) AS _ec_bucket,
           sum(_ec_n) AS _ec_n, sum(_ec_missing) AS _ec_missing, sum(_ec_invalid) AS _ec_invalid, sum(_ec_undecided) AS _ec_undecided,
           sum(COLUMNS('_[01]$'))
    FROM query_table(units) GROUP BY ALL;
CREATE OR REPLACE MACRO ec._report_groups(merged) AS TABLE
    SELECT *, _ec_invalid = 0 AND ec._addable(all_0 + all_1) AS _ec_right, _ec_undecided = 0 AS _ec_decided,
           CASE WHEN stated THEN _ec_least0 END AS _ec_p0, CASE WHEN stated THEN _ec_least1 END AS _ec_p1
    FROM (SELECT *, all_0 + all_1 > 0 AND ec._one_pair(_ec_least0, _ec_greatest0, _ec_least1, _ec_greatest1) AS stated
          FROM query_table(merged));

-- Values --------------------------------------------------------------------------------------------------------------

-- Of what formulas are; none where there are wrong rows, or some have no decision.
CREATE OR REPLACE MACRO ec._cells_at(tn, fp, fn, tp, p1, p0) AS {
    'n1': fn + tp, 'n0': tn + fp, 'tn': tn, 'fp': fp, 'fn': fn, 'tp': tp, 'p1': p1, 'p0': p0};
CREATE OR REPLACE MACRO ec._losses_at(n1, n0, s1, s0, p1, p0) AS {'m1': ec._ratio(s1, n1), 'm0': ec._ratio(s0, n0), 'p1': p1, 'p0': p0};
CREATE OR REPLACE MACRO ec._report_values(groups) AS TABLE
    SELECT *, ec._costs_of_errors(_ec_by_row, own, _ec_fn, _ec_fp, cost_1, cost_0, error_1, error_0) AS own_errors,
           ec._costs_of_errors(_ec_by_row, at_prior, _ec_fn, _ec_fp, cost_1, cost_0, error_1, error_0) AS prior_errors
    FROM (SELECT *, CASE WHEN decided THEN ec._cells_at(negative_0, positive_0, negative_1, positive_1, class_prior, rest) END AS own,
                 CASE WHEN decided THEN ec._cells_at(negative_0, positive_0, negative_1, positive_1, _ec_p1, _ec_p0) END AS at_prior,
                 CASE WHEN _ec_right THEN ec._losses_at(all_1, all_0, log_loss_1, log_loss_0, class_prior, rest) END AS log_losses,
                 CASE WHEN _ec_right THEN ec._losses_at(all_1, all_0, log_loss_1, log_loss_0, _ec_p1, _ec_p0) END AS prior_log_losses,
                 CASE WHEN _ec_right THEN ec._losses_at(all_1, all_0, brier_1, brier_0, class_prior, rest) END AS briers,
                 CASE WHEN _ec_right THEN ec._losses_at(all_1, all_0, brier_1, brier_0, _ec_p1, _ec_p0) END AS prior_briers
          FROM (SELECT *, _ec_right AND _ec_decided AS decided, CASE WHEN _ec_right THEN ec._share(all_1, all_0) END AS class_prior,
                       CASE WHEN _ec_right THEN ec._share(all_0, all_1) END AS rest
                FROM query_table(groups)));

-- Table ---------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._low_end(limits, name) AS limits[name]['low'];
CREATE OR REPLACE MACRO ec._high_end(limits, name) AS limits[name]['high'];
-- Fewer rows of a class than 10, counting as many of equal weight as say as much.
CREATE OR REPLACE MACRO ec._few(n, n2) AS coalesce(ec._equal_rows(n, n2) < 10, true);
-- Rows are counts, as their total is, and weights are not.
CREATE OR REPLACE MACRO ec._as_count(n, total HUGEINT) AS CAST(n AS BIGINT), (n, total DOUBLE) AS n;
-- In the order of the columns of a report, of which the macros below take those that are shown. After each metric the bundle has its
-- limits too, nec_ci_low and nec_ci_high after nec: overloads.py writes them.
CREATE OR REPLACE MACRO ec._report_table(values_, limits, limited, min_rows) AS TABLE
    SELECT _ec_key, _ec_total AS "ec: total", CAST(_ec_n - _ec_missing - _ec_invalid AS BIGINT) AS n,
    ec._value_of_nec(own_errors) AS nec,
    CASE WHEN ec._low_end(ends, 'nec') IS NOT NULL THEN coalesce(_ec_kinked, false) END AS nec_kinked,
    ec._value_of_nec(prior_errors) AS nec_at_prior,
    ec._loss_over_entropy(log_losses) AS nce, ec._loss_over_entropy(prior_log_losses) AS nce_at_prior,
    ec._loss_over_spread(briers) AS nbs, ec._loss_over_spread(prior_briers) AS nbs_at_prior,
    ec._value_of_precision(own) AS precision, ec._value_of_precision(at_prior) AS precision_at_prior,
    ec._value_of_f1(own) AS f1, ec._value_of_f1(at_prior) AS f1_at_prior,
    ec._value_of_recall(own) AS recall,
    ec._value_of_expected_cost(own_errors) AS expected_cost, ec._value_of_expected_cost(prior_errors) AS expected_cost_at_prior,
    ec._value_of_expected_cost(own_errors) AS bayes_risk, ec._value_of_expected_cost(prior_errors) AS bayes_risk_at_prior,
    ec._value_of_error_rate(own) AS error_rate, ec._value_of_error_rate(at_prior) AS error_rate_at_prior,
    ec._value_of_accuracy(own) AS accuracy, ec._value_of_accuracy(at_prior) AS accuracy_at_prior,
    ec._value_of_balanced_error_rate(own) AS balanced_error_rate,
    ec._value_of_balanced_accuracy(own) AS balanced_accuracy,
    ec._value_of_specificity(own) AS specificity,
    ec._value_of_fpr(own) AS fpr,
    ec._value_of_fnr(own) AS fnr,
    ec._value_of_decision_share(own) AS decision_share, ec._value_of_decision_share(at_prior) AS decision_share_at_prior,
    ec._value_of_informedness(own) AS informedness,
    ec._value_of_mcc(own) AS mcc, ec._value_of_mcc(at_prior) AS mcc_at_prior,
    ec._value_of_lr_plus(own) AS lr_plus,
    ec._value_of_lr_minus(own) AS lr_minus,
    ec._value_of_precision_gain(own) AS precision_gain,
    ec._value_of_recall_gain(own) AS recall_gain, ec._value_of_recall_gain(at_prior) AS recall_gain_at_prior,
    ec._loss_of(log_losses) AS cross_entropy, ec._loss_of(prior_log_losses) AS cross_entropy_at_prior,
    ec._loss_of(briers) AS brier, ec._loss_of(prior_briers) AS brier_at_prior,
    class_prior,
    _ec_n - _ec_missing - _ec_invalid < coalesce(min_rows, 0) OR limited AND (ec._few(all_0, all2_0) OR ec._few(all_1, all2_1)) AS small,
    _ec_total AS total,
    CASE WHEN own IS NOT NULL THEN ec._as_count(negative_0, all_0) END AS tn, CASE WHEN own IS NOT NULL THEN ec._as_count(positive_0, all_0) END AS fp,
    CASE WHEN own IS NOT NULL THEN ec._as_count(negative_1, all_1) END AS fn, CASE WHEN own IS NOT NULL THEN ec._as_count(positive_1, all_1) END AS tp,
    CAST(_ec_missing AS BIGINT) AS n_missing, CAST(_ec_invalid AS BIGINT) AS n_invalid
    FROM query_table(values_) LEFT JOIN query_table(limits) USING (_ec_id);

-- True, or an error.
CREATE OR REPLACE MACRO ec._table_ok(groups, total, min_rows) AS
    CASE WHEN total AND coalesce(len(groups), 0) = 0
         THEN error('ec: total := true adds a row over all groups, but without groups there is only one: leave it out, or pass groups') IS NULL
         WHEN NOT coalesce(TRY_CAST(min_rows AS BIGINT) = min_rows AND min_rows >= 0, min_rows IS NULL)
         THEN error(format('ec: min_rows := {} is not a number of rows: pass a whole number, at least 0', CAST(min_rows AS VARCHAR))) IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec._report_shown(log, groups, metrics, score_type, stated, limited, min_rows, total, values_, ends) AS TABLE
    SELECT COLUMNS(lambda _c: _c NOT IN ('ec: 0', 'ec: total'))
    FROM (SELECT unnest(_ec_key),
                 COLUMNS(lambda _c: _c = 'ec: total'
                                    OR ec._shows(_c, metrics, score_type, stated, limited, limited OR min_rows IS NOT NULL, total))
          FROM ec._report_table(values_, ends, limited, min_rows))
    WHERE ec._table_ok(groups, total, min_rows)
          AND coalesce((FROM ec._columns_ok(log, groups, list_filter(CAST(groups AS VARCHAR[]), lambda _g:
              ec._shows(lower(_g), metrics, score_type, stated, limited, limited OR min_rows IS NOT NULL, total)))), true)
    ORDER BY "ec: total", COLUMNS(lambda _c: _c = 'ec: 0' OR ec._is_group(_c, groups)) NULLS FIRST;

CREATE OR REPLACE MACRO ec._report_of_cells(cells, log, groups, stated, metrics, total, score_type, min_rows) AS TABLE
    WITH _ec_units AS MATERIALIZED (SELECT 0 AS _ec_id, * FROM ec._report_sums(cells, groups, total)),
    _ec_groups AS MATERIALIZED (FROM ec._report_groups('_ec_units')),
    _ec_values AS (FROM ec._report_values('_ec_groups')),
    _ec_ends AS (SELECT NULL AS _ec_id, NULL AS _ec_kinked, MAP([''], [{'low': 0e0, 'high': 0e0}]) AS ends WHERE false)
    FROM ec._report_shown(log, groups, metrics, score_type, stated, false, min_rows, total, '_ec_values', '_ec_ends');
CREATE OR REPLACE MACRO ec._report(log, score, label, groups, cost_fn, cost_fp, threshold, prior, stated, metrics, total,
    score_type, weight, min_rows) AS TABLE
    WITH _ec_cells AS MATERIALIZED (
        FROM ec._report_cells(log, score, label, groups, cost_fn, cost_fp, threshold, prior, stated, metrics, score_type, weight,
                              false, NULL, NULL))
    FROM ec._report_of_cells('_ec_cells', log, groups, stated, metrics, total, score_type, min_rows);
CREATE OR REPLACE MACRO ec._report_with_limits(log, score, label, groups, cost_fn, cost_fp, threshold, prior, stated, metrics, total,
    score_type, weight, min_rows, level) AS TABLE
    WITH _ec_cells AS MATERIALIZED (
        FROM ec._report_cells(log, score, label, groups, cost_fn, cost_fp, threshold, prior, stated, metrics, score_type, weight,
                              true, NULL, NULL)),
    _ec_units AS MATERIALIZED (FROM ec._report_units('_ec_cells', groups, total)),
    _ec_groups AS MATERIALIZED (FROM ec._report_groups('_ec_units')),
    _ec_values AS (FROM ec._report_values('_ec_groups')),
    _ec_ends AS (FROM ec._limits_of_rows('_ec_groups', metrics, score_type, stated, level))
    FROM ec._report_shown(log, groups, metrics, score_type, stated, true, min_rows, total, '_ec_values', '_ec_ends');

CREATE OR REPLACE MACRO ec._report_of_clusters(cells, log, groups, stated, metrics, total, score_type, min_rows, level) AS TABLE
    WITH _ec_units AS MATERIALIZED (FROM ec._report_units(cells, groups, total)),
    _ec_merged AS (FROM ec._report_merged('_ec_units')),
    _ec_groups AS MATERIALIZED (FROM ec._report_groups('_ec_merged')),
    _ec_values AS (FROM ec._report_values('_ec_groups')),
    _ec_ends AS (FROM ec._limits_of_clusters('_ec_units', '_ec_groups', metrics, score_type, stated, level))
    FROM ec._report_shown(log, groups, metrics, score_type, stated, true, min_rows, total, '_ec_values', '_ec_ends');
CREATE OR REPLACE MACRO ec._report_with_clusters(log, score, label, groups, cost_fn, cost_fp, threshold, prior, stated, metrics, total,
    score_type, weight, min_rows, level, cluster, buckets) AS TABLE
    WITH _ec_cells AS MATERIALIZED (
        FROM ec._report_cells(log, score, label, groups, cost_fn, cost_fp, threshold, prior, stated, metrics, score_type, weight,
                              true, cluster, buckets))
    FROM ec._report_of_clusters('_ec_cells', log, groups, stated, metrics, total, score_type, min_rows, level);

-- Public --------------------------------------------------------------------------------------------------------------

-- What is 0.3 without a name? A number of any type, or a parameter, goes to the overloads of most types, which are these: of the log's too.
CREATE OR REPLACE MACRO ec._unnamed() AS TABLE
    SELECT ec._fail('arguments after the label must be named: prior := 0.3 or "interval" := 0.95');

-- A table macro knows by its parameters what its columns are: hence one for each of those that make columns and may be made of columns.
CREATE OR REPLACE MACRO ec.report(log, score, label, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL) AS TABLE (
    FROM ec._report(log, score, label, groups, cost_fn, cost_fp, threshold, NULL, false, metrics, total, score_type, weight,
        min_rows)),
(log, score, label, prior, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL) AS TABLE (
    FROM ec._report(log, score, label, groups, cost_fn, cost_fp, threshold, prior, true, metrics, total, score_type, weight,
        min_rows)),
(log, score, label, "interval" DOUBLE, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL) AS TABLE (
    FROM ec._report_with_limits(log, score, label, groups, cost_fn, cost_fp, threshold, NULL, false, metrics, total, score_type, weight,
        min_rows, "interval")),
(log, score, label, prior, "interval" DOUBLE, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL) AS TABLE (
    FROM ec._report_with_limits(log, score, label, groups, cost_fn, cost_fp, threshold, prior, true, metrics, total, score_type, weight,
        min_rows, "interval")),
(log, score, label, "interval" DOUBLE, cluster, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL, buckets := 100) AS TABLE (
    FROM ec._report_with_clusters(log, score, label, groups, cost_fn, cost_fp, threshold, NULL, false, metrics, total, score_type, weight,
        min_rows, "interval", cluster, buckets)),
(log, score, label, prior, "interval" DOUBLE, cluster, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL, buckets := 100) AS TABLE (
    FROM ec._report_with_clusters(log, score, label, groups, cost_fn, cost_fp, threshold, prior, true, metrics, total, score_type, weight,
        min_rows, "interval", cluster, buckets)),
(log VARCHAR, score, label, unnamed DOUBLE, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL) AS TABLE (FROM ec._unnamed()),
(log VARCHAR, score, label, unnamed DOUBLE, "interval" DOUBLE, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL) AS TABLE (FROM ec._unnamed()),
(log VARCHAR, score, label, unnamed DOUBLE, cluster, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL, buckets := 100) AS TABLE (FROM ec._unnamed()),
(log VARCHAR, score, label, unnamed DOUBLE, "interval" DOUBLE, cluster, groups := [], cost_fn := 1, cost_fp := 1, threshold := NULL, metrics := NULL,
    total := false, score_type := 'posterior', weight := NULL, min_rows := NULL) AS TABLE (FROM ec._unnamed());
COMMENT ON MACRO TABLE ec.report IS 'Metrics of a log, one row per group: the default metrics or those in metrics, with prior := also at a reference prior, with "interval" := with confidence intervals.';

-- The highest scores --------------------------------------------------------------------------------------------------

-- Each period of a group becomes four rows, of a class and a decision, with their expected weight and mean cost over the choice among ties.
-- The report of these has the metrics. The rows of a score are a cell.
CREATE OR REPLACE MACRO ec._capacity_ok(k, share) AS
    CASE WHEN (k IS NULL) = (share IS NULL)
         THEN error('ec: pass either k := 50, the number of rows per period, or share := 0.1, the share of rows') IS NULL
         WHEN k IS NULL THEN ec._wanted(share, 'share')
         WHEN coalesce(TRY_CAST(k AS BIGINT) = k AND k >= 1, false) THEN true
         ELSE error(format('ec: k := {} is not a whole number from 1', CAST(k AS VARCHAR))) IS NULL END;
CREATE OR REPLACE MACRO ec._period_given(limited, period) AS
    CASE WHEN limited AND ec._unset(period)
         THEN error('ec: "interval" needs period := ..., for intervals come from the differences between the periods') IS NULL ELSE true END;
CREATE OR REPLACE MACRO ec._capacity_cells(log, score, label, groups, period, cost_fn, cost_fp, prior, stated, limited, score_type, weight) AS TABLE
    SELECT _ec_key, _ec_period, _ec_score, count(_ec_row) AS _ec_n, ec._count(_ec_row IS NOT NULL AND _ec_class IS NULL) AS _ec_missing,
           ec._count(_ec_class < 0) AS _ec_invalid, ec._count(_ec_uncosted) AS _ec_uncosted,
           min(COLUMNS('^_ec_least.$')), max(COLUMNS('^_ec_(greatest.|f[np]|by_row)$')),
           sum(CASE WHEN _ec_class = 0 THEN _ec_weight ELSE 0 END) AS _ec_w0, sum(CASE WHEN _ec_class = 1 THEN _ec_weight ELSE 0 END) AS _ec_w1,
           sum(CASE WHEN _ec_class = 0 THEN _ec_weight * _ec_fp ELSE 0 END) AS _ec_c0,
           sum(CASE WHEN _ec_class = 1 THEN _ec_weight * _ec_fn ELSE 0 END) AS _ec_c1
    FROM (SELECT struct_pack(*COLUMNS(lambda _c: _c = 'ec: 0' OR ec._is_group(_c, groups))) AS _ec_key, period AS _ec_period,
                 1 AS _ec_row, "ec: score" AS _ec_score, CAST(ec._weight(weight) AS DOUBLE) AS _ec_weight,
                 ec._ranked_class("ec: score", "ec: label", ec._binned_type(score_type), weight) AS _ec_class,
                 CAST(cost_fn AS DOUBLE) AS _ec_fn, CAST(cost_fp AS DOUBLE) AS _ec_fp,
                 NOT coalesce(ec._binary_costs_ok(cost_fn, cost_fp), false) AS _ec_uncosted,
                 ec._by_row(ec._column_type(cost_fn, cost_fp)) AS _ec_by_row,
                 ec._p0(prior) AS _ec_least0, ec._prior0(prior) AS _ec_greatest0, ec._p1(prior) AS _ec_least1, ec._prior1(prior) AS _ec_greatest1
          FROM (SELECT *, ec._report_score("ec: given", score_type) AS "ec: score"
                FROM (SELECT *, 0 AS "ec: 0", score AS "ec: given", label AS "ec: label" FROM query_table(log)))
          WHERE ec._prior_given(stated, prior) AND ec._period_given(limited, period)
          -- A log without rows, and without groups, has one.
          UNION ALL BY NAME SELECT {'ec: 0': 0} AS _ec_key WHERE coalesce(len(groups), 0) = 0 AND NOT EXISTS (FROM query_table(log)))
    GROUP BY _ec_key, _ec_period, _ec_score;
CREATE OR REPLACE MACRO ec._capacity_shares(cells, k, share) AS TABLE
    SELECT *, CASE WHEN _ec_w = 0 OR _ec_left <= _ec_limit * 1e-12 THEN 0e0 WHEN _ec_left + _ec_limit * 1e-12 >= _ec_w THEN 1e0
                   ELSE _ec_left / _ec_w END AS _ec_taken
    FROM (SELECT *, _ec_limit - coalesce(sum(_ec_w) OVER (PARTITION BY _ec_key, _ec_period ORDER BY _ec_score DESC NULLS LAST
                                                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS _ec_left
          FROM (SELECT *, _ec_w0 + _ec_w1 AS _ec_w, CASE WHEN k IS NOT NULL THEN CAST(k AS DOUBLE)
                    ELSE CAST(share AS DOUBLE) * sum(_ec_w0 + _ec_w1) OVER (PARTITION BY _ec_key, _ec_period) END AS _ec_limit
                FROM query_table(cells) WHERE ec._capacity_ok(k, share)));
CREATE OR REPLACE MACRO ec._expected_counts(taken, x0, x1) AS [sum((1 - taken) * x0), sum(taken * x0), sum((1 - taken) * x1), sum(taken * x1)];
-- Invalid rows make the weights invalid, and so the report of their group NULL. Periods have numbers as in Python, of which the bucket is.
CREATE OR REPLACE MACRO ec._capacity_four(shares) AS TABLE
    SELECT *, CASE WHEN _ec_invalid > 0 THEN -1 ELSE _ec_weights[_ec_place] END AS _ec_weight,
           CASE WHEN _ec_uncosted = 0 THEN coalesce(ec._ratio(_ec_costs[_ec_place], _ec_weights[_ec_place]), 0) END AS _ec_cost
    FROM (SELECT *, CASE WHEN _ec_period IS NULL THEN 0 ELSE dense_rank() OVER (ORDER BY _ec_period NULLS LAST) END AS _ec_number
          FROM (SELECT _ec_key, _ec_period, sum(_ec_n) AS _ec_n, sum(_ec_missing) AS _ec_missing, sum(_ec_invalid) AS _ec_invalid,
                       sum(_ec_uncosted) AS _ec_uncosted, sum(_ec_taken * _ec_w) AS _ec_selected,
                       sum(CASE WHEN _ec_taken > 0 AND _ec_taken < 1 THEN _ec_n - _ec_missing - _ec_invalid ELSE 0 END) AS _ec_tied,
                       min(CASE WHEN _ec_taken > 0 THEN _ec_score END) AS _ec_threshold,
                       CASE WHEN ec._one_pair(min(_ec_least0), max(_ec_greatest0), min(_ec_least1), max(_ec_greatest1))
                            THEN max(_ec_greatest1) END AS _ec_p1, max(COLUMNS('^_ec_(f[np]|by_row)$')),
                       ec._expected_counts(_ec_taken, _ec_w0, _ec_w1) AS _ec_weights,
                       ec._expected_counts(_ec_taken, _ec_c0, _ec_c1) AS _ec_costs
                FROM query_table(shares) GROUP BY _ec_key, _ec_period)),
         (FROM (VALUES (1, 0, 0), (2, 0, 1), (3, 1, 0), (4, 1, 1)) AS four(_ec_place, _ec_label, _ec_decision));
CREATE OR REPLACE MACRO ec._capacity_rows(log, score, label, groups, k, share, period, cost_fn, cost_fp, prior, stated, limited, score_type,
    weight) AS TABLE
    WITH _ec_cells AS (FROM ec._capacity_cells(log, score, label, groups, period, cost_fn, cost_fp, prior, stated, limited, score_type, weight)),
    _ec_shares AS (FROM ec._capacity_shares('_ec_cells', k, share))
    FROM ec._capacity_four('_ec_shares');
CREATE OR REPLACE MACRO ec._capacity_metrics() AS ['nec', 'precision', 'recall', 'expected_cost', 'decision_share'];
-- Costs that do not differ by row are constants, as in a report.
CREATE OR REPLACE MACRO ec._capacity_report(four, stated, metrics, limited) AS TABLE
    SELECT * REPLACE (CASE WHEN limited THEN "ec: bucket" END AS "ec: bucket", (SELECT max(_ec_by_row) FROM query_table(four)) AS "ec: by row",
                      (SELECT max(_ec_fn) FROM query_table(four)) AS "ec: fn", (SELECT max(_ec_fp) FROM query_table(four)) AS "ec: fp")
    FROM ec._report_cells(four, _ec_decision, _ec_label, ['_ec_key'], _ec_cost, _ec_cost, NULL, CASE WHEN stated THEN _ec_p1 END, stated, metrics,
                          'decision', _ec_weight, limited, _ec_number, 100);
CREATE OR REPLACE MACRO ec._capacity_shown(log, groups, four, values_) AS TABLE
    SELECT * EXCLUDE ("ec: 0")
    FROM (SELECT unnest(_ec_key), CAST(_ec_n - _ec_missing - _ec_invalid AS BIGINT) AS n, CAST(_ec_missing AS BIGINT) AS n_missing,
                 CAST(_ec_invalid AS BIGINT) AS n_invalid, class_prior, CASE WHEN _ec_invalid = 0 THEN _ec_selected END AS selected,
                 CASE WHEN _ec_invalid = 0 THEN CAST(_ec_tied AS BIGINT) END AS tied, CASE WHEN _ec_invalid = 0 THEN _ec_threshold END AS threshold,
                 COLUMNS('^precision'), COLUMNS('^recall'), COLUMNS('^lift'), COLUMNS('^expected_cost'), COLUMNS('^nec($|_ci_)')
          FROM (SELECT _ec_key AS _ec_group, sum(_ec_n) AS _ec_n, sum(_ec_missing) AS _ec_missing, sum(_ec_invalid) AS _ec_invalid,
                       sum(_ec_selected) AS _ec_selected, sum(_ec_tied) AS _ec_tied, min(_ec_threshold) AS _ec_threshold
                FROM query_table(four) WHERE _ec_place = 1 GROUP BY _ec_key)
          JOIN (SELECT ec._ratio(recall, decision_share) AS lift, * FROM query_table(values_)) ON _ec_key IS NOT DISTINCT FROM _ec_group)
    WHERE coalesce((FROM ec._columns_ok(log, groups, ['n', 'n_missing', 'n_invalid', 'class_prior', 'selected', 'tied', 'threshold', 'precision',
                                                      'recall', 'lift', 'expected_cost', 'nec'])), true)
    ORDER BY COLUMNS(lambda _c: _c = 'ec: 0' OR ec._is_group(_c, groups)) NULLS FIRST;

CREATE OR REPLACE MACRO ec.capacity(log, score, label, k := NULL, share := NULL, period := NULL, groups := [], cost_fn := 1, cost_fp := 1,
    score_type := 'posterior', weight := NULL) AS TABLE (
    WITH _ec_four AS MATERIALIZED (
        FROM ec._capacity_rows(log, score, label, groups, k, share, period, cost_fn, cost_fp, NULL, false, false, score_type, weight)),
    _ec_cells AS MATERIALIZED (FROM ec._capacity_report('_ec_four', false, ec._capacity_metrics(), false)),
    _ec_values AS (FROM ec._report_of_cells('_ec_cells', '_ec_four', ['_ec_key'], false, ec._capacity_metrics(), false, 'decision', NULL))
    FROM ec._capacity_shown(log, groups, '_ec_four', '_ec_values')),
(log, score, label, prior, k := NULL, share := NULL, period := NULL, groups := [], cost_fn := 1, cost_fp := 1,
    score_type := 'posterior', weight := NULL) AS TABLE (
    WITH _ec_four AS MATERIALIZED (
        FROM ec._capacity_rows(log, score, label, groups, k, share, period, cost_fn, cost_fp, prior, true, false, score_type, weight)),
    _ec_cells AS MATERIALIZED (FROM ec._capacity_report('_ec_four', true, ec._capacity_metrics(), false)),
    _ec_values AS (
        SELECT _ec_key, class_prior, recall, COLUMNS('^(.*)_at_prior$') AS '\1'
        FROM ec._report_of_cells('_ec_cells', '_ec_four', ['_ec_key'], true, ec._capacity_metrics(), false, 'decision', NULL))
    FROM ec._capacity_shown(log, groups, '_ec_four', '_ec_values')),
(log, score, label, "interval" DOUBLE, k := NULL, share := NULL, period := NULL, groups := [], cost_fn := 1, cost_fp := 1,
    score_type := 'posterior', weight := NULL) AS TABLE (
    WITH _ec_four AS MATERIALIZED (
        FROM ec._capacity_rows(log, score, label, groups, k, share, period, cost_fn, cost_fp, NULL, false, true, score_type, weight)),
    -- The lift is the LR+ of the positives against all rows, which are the same periods.
    _ec_against_all AS (SELECT * REPLACE (0 AS _ec_label) FROM _ec_four UNION ALL FROM _ec_four WHERE _ec_label = 1),
    _ec_cells_against_all AS MATERIALIZED (FROM ec._capacity_report('_ec_against_all', false, ['lr_plus'], true)),
    _ec_lifts AS (
        SELECT _ec_key AS _ec_same, lr_plus_ci_low AS lift_ci_low, lr_plus_ci_high AS lift_ci_high
        FROM ec._report_of_clusters('_ec_cells_against_all', '_ec_against_all', ['_ec_key'], false, ['lr_plus'], false, 'decision', NULL,
                                    "interval")),
    _ec_cells AS MATERIALIZED (FROM ec._capacity_report('_ec_four', false, ec._capacity_metrics(), true)),
    _ec_values AS (
        FROM ec._report_of_clusters('_ec_cells', '_ec_four', ['_ec_key'], false, ec._capacity_metrics(), false, 'decision', NULL, "interval")
        JOIN _ec_lifts ON _ec_key IS NOT DISTINCT FROM _ec_same)
    FROM ec._capacity_shown(log, groups, '_ec_four', '_ec_values')),
(log, score, label, prior, "interval" DOUBLE, k := NULL, share := NULL, period := NULL, groups := [], cost_fn := 1, cost_fp := 1,
    score_type := 'posterior', weight := NULL) AS TABLE (
    WITH _ec_four AS MATERIALIZED (
        FROM ec._capacity_rows(log, score, label, groups, k, share, period, cost_fn, cost_fp, prior, true, true, score_type, weight)),
    _ec_priors AS (SELECT _ec_key AS _ec_same, max(_ec_p1) AS _ec_p1 FROM _ec_four GROUP BY _ec_key),
    _ec_cells AS MATERIALIZED (FROM ec._capacity_report('_ec_four', true, ec._capacity_metrics(), true)),
    _ec_values AS (
        SELECT _ec_key, class_prior, COLUMNS('^recall'), COLUMNS('^(.*)_at_prior(.*)$') AS '\1\2',
               ec._ratio(precision_at_prior_ci_low, _ec_p1) AS lift_ci_low, ec._ratio(precision_at_prior_ci_high, _ec_p1) AS lift_ci_high
        FROM ec._report_of_clusters('_ec_cells', '_ec_four', ['_ec_key'], true, ec._capacity_metrics(), false, 'decision', NULL, "interval")
        JOIN _ec_priors ON _ec_key IS NOT DISTINCT FROM _ec_same)
    FROM ec._capacity_shown(log, groups, '_ec_four', '_ec_values')),
(log VARCHAR, score, label, unnamed DOUBLE, k := NULL, share := NULL, period := NULL, groups := [], cost_fn := 1, cost_fp := 1,
    score_type := 'posterior', weight := NULL) AS TABLE (FROM ec._unnamed());
COMMENT ON MACRO TABLE ec.capacity IS 'Metrics of the decision to look at the k highest scores of each period, or at a share of its rows, one row per group. Ties at the cut get expected values. With "interval" := there are confidence intervals from the differences between the periods.';
