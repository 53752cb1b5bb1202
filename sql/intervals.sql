-- polars_ec for DuckDB, file 11 of 12: limits of the metrics of a report. Load after quantiles.
-- The statistics are those of polars_ec/inference, which says why they are right: moments and spread, gradient, scales, limits,
-- estimates. All of it is of a table of sums, in which each formula stands once: a row for each group, metric and changed sum.

-- Metrics asked for ---------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._is_decision(score_type) AS CAST(score_type AS VARCHAR) = 'decision';
CREATE OR REPLACE MACRO ec._usual(score_type) AS
    CASE WHEN ec._is_decision(score_type) THEN ['nec', 'precision', 'f1', 'recall']
         ELSE ['nec', 'nce', 'nbs', 'precision', 'f1', 'recall'] END;
CREATE OR REPLACE MACRO ec._asked(metrics, score_type) AS coalesce(CAST(metrics AS VARCHAR[]), ec._usual(score_type));
CREATE OR REPLACE MACRO ec._asks(metrics, score_type, names) AS list_has_any(ec._asked(metrics, score_type), names);

-- Moments -------------------------------------------------------------------------------------------------------------

-- A row of a class has two features: which decision it has, or 1 and its loss. x are the sums of w x, and a, b, c those of w^2 times the
-- products of the features: first, both, second. The features of a row, the second u times, are 1. Where rows have costs of their own, the
-- second is the cost of an error, and a third one what the row does cost: that or 0. d and e are of its products with the first and itself.
CREATE OR REPLACE MACRO ec._features(family, u, x00, x01, x10, x11, a0, b0, c0, a1, b1, c1, x02, x12, d0, e0, d1, e1) AS {
    'x02': CAST(x02 AS DOUBLE), 'x12': CAST(x12 AS DOUBLE), 'd0': CAST(d0 AS DOUBLE), 'e0': CAST(e0 AS DOUBLE),
    'd1': CAST(d1 AS DOUBLE), 'e1': CAST(e1 AS DOUBLE),
    'family': family, 'u': u, 'x00': CAST(x00 AS DOUBLE), 'x01': CAST(x01 AS DOUBLE), 'x10': CAST(x10 AS DOUBLE), 'x11': CAST(x11 AS DOUBLE),
    'a0': CAST(a0 AS DOUBLE), 'b0': CAST(b0 AS DOUBLE), 'c0': CAST(c0 AS DOUBLE),
    'a1': CAST(a1 AS DOUBLE), 'b1': CAST(b1 AS DOUBLE), 'c1': CAST(c1 AS DOUBLE)};
-- Sums of squares of weights beyond have lost digits.
CREATE OR REPLACE MACRO ec._square_ok(w2) AS w2 > 1e-280 AND w2 < 1e300;
-- As many rows of equal weight as say as much.
CREATE OR REPLACE MACRO ec._equal_rows(w, w2) AS CASE WHEN w > 0 AND ec._square_ok(w2) THEN w * w / w2 END;
-- Has every class rows, or, as the spread of a loss takes, several?
CREATE OR REPLACE MACRO ec._several(rows_) AS rows_ > 1 + 1e-9;
CREATE OR REPLACE MACRO ec._has_rows(decided, w0, w1, w20, w21) AS
    w0 > 0 AND w1 > 0 AND ec._square_ok(w20) AND ec._square_ok(w21)
    AND (decided OR ec._several(ec._equal_rows(w0, w20)) AND ec._several(ec._equal_rows(w1, w21)));
-- Losses that are all equal within the classes, but for rounding, say nothing of what other rows would lose.
CREATE OR REPLACE MACRO ec._differ(a, b, c) AS c - b * ec._ratio(b, a) > 1e-11 * c;
CREATE OR REPLACE MACRO ec._sums_of_families(sums) AS TABLE
    SELECT * EXCLUDE (_ec_features), unnest(_ec_features) FROM (
        SELECT *, unnest([
            ec._features('constant', 0, all_0, coalesce(cost_0, 0), all_1, coalesce(cost_1, 0), all2_0, coalesce(cost1_0, 0),
                         coalesce(cost2_0, 0), all2_1, coalesce(cost1_1, 0), coalesce(cost2_1, 0), 0, 0, 0, 0, 0, 0),
            ec._features('decisions', 1, negative_0, positive_0, negative_1, positive_1,
                         negative2_0, 0, positive2_0, negative2_1, 0, positive2_1, 0, 0, 0, 0, 0, 0),
            ec._features('costs', 0, all_0, cost_0, all_1, cost_1, all2_0, cost1_0, cost2_0, all2_1, cost1_1, cost2_1,
                         error_0, error_1, error1_0, error2_0, error1_1, error2_1),
            ec._features('log_loss', 0, all_0, log_loss_0, all_1, log_loss_1,
                         all2_0, log_loss1_0, log_loss2_0, all2_1, log_loss1_1, log_loss2_1, 0, 0, 0, 0, 0, 0),
            ec._features('brier', 0, all_0, brier_0, all_1, brier_1,
                         all2_0, brier1_0, brier2_0, all2_1, brier1_1, brier2_1, 0, 0, 0, 0, 0, 0)]) AS _ec_features
        FROM query_table(sums)) WHERE _ec_features['family'] <> 'costs' OR _ec_by_row;
-- Are these sums of what rows are decided for, or what it costs?
CREATE OR REPLACE MACRO ec._is_decided(family) AS family IN ('decisions', 'costs');
CREATE OR REPLACE MACRO ec._moments(groups) AS TABLE
    SELECT *, 'plain' AS kind, true AS sloped, ec._has_rows(ec._is_decided(family), all_0, all_1, all2_0, all2_1)
           AND (family = 'constant' OR ec._is_decided(family) OR coalesce(ec._differ(a0, b0, c0) OR ec._differ(a1, b1, c1), false)) AS known
    FROM ec._sums_of_families(groups) WHERE _ec_right AND (_ec_decided OR family NOT IN ('constant', 'decisions', 'costs'));

-- Half a row more of each decision, of the mean weight that rows have who say as much.
CREATE OR REPLACE MACRO ec._half_a_row(a, c, x0, x1) AS CASE WHEN x0 + x1 > 0 THEN (a + c) / (x0 + x1) ELSE 0 END;
CREATE OR REPLACE MACRO ec._and_half(x, w) AS x + w / 2;
CREATE OR REPLACE MACRO ec._and_half_square(a, w) AS a + w * w / 2;
-- Of costs of rows a row more of the mean cost k, which is half an error.
CREATE OR REPLACE MACRO ec._enlarged_costs(moments) AS TABLE
    SELECT _ec_id, _ec_p1, _ec_p0, _ec_fn, _ec_fp, _ec_by_row, family, 'enlarged' AS kind, true AS sloped, known, u,
           x00 + _ec_0 AS x00, x01 + _ec_k0 * _ec_0 AS x01, ec._and_half(x02, _ec_k0 * _ec_0) AS x02,
           x10 + _ec_1 AS x10, x11 + _ec_k1 * _ec_1 AS x11, ec._and_half(x12, _ec_k1 * _ec_1) AS x12,
           a0 + _ec_0 * _ec_0 AS a0, b0 + _ec_k0 * _ec_0 * _ec_0 AS b0, c0 + _ec_k0 * _ec_k0 * _ec_0 * _ec_0 AS c0,
           d0 + _ec_k0 * _ec_0 * _ec_0 / 2 AS d0, ec._and_half_square(e0, _ec_k0 * _ec_0) AS e0,
           a1 + _ec_1 * _ec_1 AS a1, b1 + _ec_k1 * _ec_1 * _ec_1 AS b1, c1 + _ec_k1 * _ec_k1 * _ec_1 * _ec_1 AS c1,
           d1 + _ec_k1 * _ec_1 * _ec_1 / 2 AS d1, ec._and_half_square(e1, _ec_k1 * _ec_1) AS e1
    FROM (SELECT *, ec._half_a_row(a0, 0, x00, 0) AS _ec_0, ec._half_a_row(a1, 0, x10, 0) AS _ec_1,
                 coalesce(ec._ratio(x01, x00), 0) AS _ec_k0, coalesce(ec._ratio(x11, x10), 0) AS _ec_k1
          FROM query_table(moments) WHERE family = 'costs');
CREATE OR REPLACE MACRO ec._enlarged(moments) AS TABLE
    SELECT _ec_id, _ec_p1, _ec_p0, _ec_fn, _ec_fp, _ec_by_row, family, 'enlarged' AS kind, true AS sloped, known, u,
           ec._and_half(x00, _ec_0) AS x00, ec._and_half(x01, _ec_0) AS x01, ec._and_half(x10, _ec_1) AS x10, ec._and_half(x11, _ec_1) AS x11,
           ec._and_half_square(a0, _ec_0) AS a0, b0, ec._and_half_square(c0, _ec_0) AS c0,
           ec._and_half_square(a1, _ec_1) AS a1, b1, ec._and_half_square(c1, _ec_1) AS c1,
           x02, x12, d0, e0, d1, e1
    FROM (SELECT *, ec._half_a_row(a0, c0, x00, x01) AS _ec_0, ec._half_a_row(a1, c1, x10, x11) AS _ec_1
          FROM query_table(moments) WHERE family = 'decisions')
    UNION ALL BY NAME FROM ec._enlarged_costs(moments);

-- Metrics -------------------------------------------------------------------------------------------------------------

-- What each is made of, the scale on which it is nearest to normal, whether a stated prior moves it. Last the difference of the two constant
-- decisions' costs, which is 0 where NEC has its kink.
CREATE OR REPLACE MACRO ec._metrics_with_limits(metrics, score_type) AS TABLE
    SELECT name, family, scale, moves
    FROM (VALUES ('nec', 'decisions', 'log', true), ('expected_cost', 'decisions', 'log', true), ('bayes_risk', 'decisions', 'log', true),
                 ('error_rate', 'decisions', 'logit', true), ('accuracy', 'decisions', 'logit', true),
                 ('balanced_error_rate', 'decisions', 'logit', false), ('balanced_accuracy', 'decisions', 'logit', false),
                 ('precision', 'decisions', 'logit', true), ('recall', 'decisions', 'logit', false), ('f1', 'decisions', 'logit', true),
                 ('specificity', 'decisions', 'logit', false), ('fpr', 'decisions', 'logit', false), ('fnr', 'decisions', 'logit', false),
                 ('decision_share', 'decisions', 'logit', true),
                 ('informedness', 'decisions', 'atanh', false), ('mcc', 'decisions', 'atanh', true),
                 ('lr_plus', 'decisions', 'ratio', false), ('lr_minus', 'decisions', 'ratio', false),
                 ('precision_gain', 'decisions', 'identity', false), ('recall_gain', 'decisions', 'identity', true),
                 ('cross_entropy', 'log_loss', 'log', true), ('nce', 'log_loss', 'log', true),
                 ('brier', 'brier', 'log', true), ('nbs', 'brier', 'log', true), ('ec: kink', 'constant', 'identity', false))
         AS known(name, family, scale, moves)
    WHERE ec._asks(metrics, score_type, [CASE name WHEN 'ec: kink' THEN 'nec' ELSE name END]);
-- Of costs of rows those are made of that constant costs make of decisions.
CREATE OR REPLACE MACRO ec._of_costs(name) AS name IN ('nec', 'expected_cost', 'bayes_risk');
CREATE OR REPLACE MACRO ec._metrics_of_families(metrics, score_type) AS TABLE
    FROM ec._metrics_with_limits(metrics, score_type) UNION ALL
    SELECT * REPLACE ('costs' AS family) FROM ec._metrics_with_limits(metrics, score_type) WHERE ec._of_costs(name);
CREATE OR REPLACE MACRO ec._constants_apart(e) AS e['p1'] * e['a1'] - e['p0'] * e['a0'];
CREATE OR REPLACE MACRO ec._value_of(name, cells, errors, losses) AS
    CASE name WHEN 'nec' THEN ec._value_of_nec(errors)
              WHEN 'expected_cost' THEN ec._value_of_expected_cost(errors)
              WHEN 'bayes_risk' THEN ec._value_of_expected_cost(errors)
              WHEN 'error_rate' THEN ec._value_of_error_rate(cells)
              WHEN 'accuracy' THEN ec._value_of_accuracy(cells)
              WHEN 'balanced_error_rate' THEN ec._value_of_balanced_error_rate(cells)
              WHEN 'balanced_accuracy' THEN ec._value_of_balanced_accuracy(cells)
              WHEN 'precision' THEN ec._value_of_precision(cells)
              WHEN 'recall' THEN ec._value_of_recall(cells)
              WHEN 'f1' THEN ec._value_of_f1(cells)
              WHEN 'specificity' THEN ec._value_of_specificity(cells)
              WHEN 'fpr' THEN ec._value_of_fpr(cells)
              WHEN 'fnr' THEN ec._value_of_fnr(cells)
              WHEN 'decision_share' THEN ec._value_of_decision_share(cells)
              WHEN 'informedness' THEN ec._value_of_informedness(cells)
              WHEN 'mcc' THEN ec._value_of_mcc(cells)
              WHEN 'lr_plus' THEN ec._value_of_lr_plus(cells)
              WHEN 'lr_minus' THEN ec._value_of_lr_minus(cells)
              WHEN 'precision_gain' THEN ec._value_of_precision_gain(cells)
              WHEN 'recall_gain' THEN ec._value_of_recall_gain(cells)
              WHEN 'cross_entropy' THEN ec._loss_of(losses)
              WHEN 'nce' THEN ec._loss_over_entropy(losses)
              WHEN 'brier' THEN ec._loss_of(losses)
              WHEN 'nbs' THEN ec._loss_over_spread(losses)
              ELSE ec._constants_apart(errors) END;

-- Gradients -----------------------------------------------------------------------------------------------------------

-- Of each of four sums, or six, the value with a little more and less of it; NaN where one is none. A sum of 0 no row has made.
CREATE OR REPLACE MACRO ec._steps() AS TABLE
    SELECT 0 AS sum_, 0e0 AS times, 0e0 AS share UNION ALL
    SELECT unnest(range(1, 7)), times, share
    FROM (VALUES (1e0, 2e0 / 3), (-1e0, -2e0 / 3), (2e0, -1e0 / 12), (-2e0, 1e0 / 12)) AS s(times, share);
CREATE OR REPLACE MACRO ec._step(x) AS x * 1e-4;
CREATE OR REPLACE MACRO ec._changed(x, moved, times) AS x + CASE WHEN moved THEN times * ec._step(x) ELSE 0 END;
CREATE OR REPLACE MACRO ec._slope(x, moved, share, value) AS
    CASE WHEN any_value(x) = 0 THEN 0 ELSE sum(CASE WHEN moved THEN share * value END) / any_value(ec._step(x)) END;
CREATE OR REPLACE MACRO ec._slopes(moments, metrics, score_type, stated) AS TABLE
    SELECT _ec_id, family, kind, at_prior, name, scale, moves, any_value(value) FILTER (WHERE sum_ = 0) AS value,
           ec._slope(x00, sum_ = 1, share, value) AS g00, ec._slope(x01, sum_ = 2, share, value) AS g01,
           ec._slope(x10, sum_ = 3, share, value) AS g10, ec._slope(x11, sum_ = 4, share, value) AS g11,
           ec._slope(x02, sum_ = 5, share, value) AS g02, ec._slope(x12, sum_ = 6, share, value) AS g12
    FROM (
        SELECT *, coalesce(ec._value_of(name, cells, errors, losses), CAST('nan' AS DOUBLE)) AS value
        FROM (SELECT *, ec._costs_of_errors(_ec_by_row, cells, _ec_fn, _ec_fp, y11, y01, y12, y02) AS errors FROM (
            SELECT *, {'n1': n1, 'n0': n0, 'tn': y00, 'fp': y01, 'fn': y10, 'tp': y11, 'p1': p1, 'p0': p0} AS cells,
                   {'m1': ec._ratio(y11, n1), 'm0': ec._ratio(y01, n0), 'p1': p1, 'p0': p0} AS losses
            FROM (
                SELECT *, CASE WHEN at_prior THEN _ec_p1 ELSE ec._share(n1, n0) END AS p1,
                       CASE WHEN at_prior THEN _ec_p0 ELSE ec._share(n0, n1) END AS p0
                FROM (
                    SELECT *, y10 + u * y11 AS n1, y00 + u * y01 AS n0
                    FROM (SELECT *, ec._changed(x00, sum_ = 1, times) AS y00, ec._changed(x01, sum_ = 2, times) AS y01,
                                 ec._changed(x10, sum_ = 3, times) AS y10, ec._changed(x11, sum_ = 4, times) AS y11,
                                 ec._changed(x02, sum_ = 5, times) AS y02, ec._changed(x12, sum_ = 6, times) AS y12
                          FROM query_table(moments) JOIN ec._metrics_of_families(metrics, score_type) USING (family), ec._steps(),
                               (SELECT unnest([false, true]) AS at_prior)
                          WHERE (NOT at_prior OR stated AND moves) AND (sum_ = 0 OR sloped)
                                AND (sum_ < 5 OR family = 'costs') AND NOT (_ec_by_row AND family = 'decisions' AND ec._of_costs(name))))))
        ))
    GROUP BY ALL;

-- Spread --------------------------------------------------------------------------------------------------------------

-- Of a class: sums of w, w^2, w psi, w^2 psi^2 and w^2 psi; where it has a third feature, with that.
CREATE OR REPLACE MACRO ec._influence_of_costs(i, g0, g1, g2, x2, d, e) AS {
    'w': i['w'], 'w2': i['w2'], 'i': i['i'] + g2 * x2, 's': i['s'] + 2 * g0 * g2 * d + (2 * g1 + g2) * g2 * e, 'm': i['m'] + g2 * d};
CREATE OR REPLACE MACRO ec._influence(g0, g1, x0, x1, a, b, c, u) AS {
    'w': x0 + u * x1, 'w2': a + u * (2 * b + c), 'i': g0 * x0 + g1 * x1, 's': g0 * g0 * a + 2 * g0 * g1 * b + g1 * g1 * c,
    'm': g0 * (a + u * b) + g1 * (b + u * c)};
CREATE OR REPLACE MACRO ec._rows_of(i) AS CASE WHEN i['w'] > 0 THEN i['w'] * i['w'] / i['w2'] ELSE 0 END;
CREATE OR REPLACE MACRO ec._mean_influence(i) AS ec._ratio(i['i'], i['w']);
-- What rounding leaves of rows that are all alike is nothing.
CREATE OR REPLACE MACRO ec._within(i, mean) AS
    CASE WHEN i['s'] - 2 * mean * i['m'] + mean * mean * i['w2'] > 1e-13 * i['s']
         THEN i['s'] - 2 * mean * i['m'] + mean * mean * i['w2'] ELSE 0 END;
CREATE OR REPLACE MACRO ec._within_class(i, rows_, mean) AS ec._within(i, mean) * ec._ratio(rows_, rows_ - 1);
CREATE OR REPLACE MACRO ec._between_classes(i, mean) AS mean * mean * i['w2'];
CREATE OR REPLACE MACRO ec._stratum(i, rows_, mean) AS
    CASE WHEN i['w'] > 0 THEN {'within': ec._within_class(i, rows_, mean), 'between': ec._between_classes(i, mean), 'rows': rows_}
         ELSE {'within': 0e0, 'between': 0e0, 'rows': 0e0} END;
CREATE OR REPLACE MACRO ec._lost_df(s, variance) AS
    CASE WHEN s['within'] <> 0 THEN pow(s['within'] / variance, 2) / (s['rows'] - 1) ELSE 0 END;
CREATE OR REPLACE MACRO ec._df_of_rows(s0, s1, between_, rows_, variance) AS
    CASE WHEN variance = 0 THEN rows_ - 1
         ELSE 1 / nullif(ec._lost_df(s0, variance) + ec._lost_df(s1, variance) + pow(between_ / variance, 2) / (rows_ - 1), 0) END;
CREATE OR REPLACE MACRO ec._spread_of_rows(slopes, moments) AS TABLE
    SELECT *, ec._df_of_rows(_ec_0, _ec_1, _ec_between, _ec_rows, variance) AS df
    FROM (
        SELECT *, _ec_0['between'] + _ec_1['between'] AS _ec_between, _ec_0['rows'] + _ec_1['rows'] AS _ec_rows,
               _ec_0['within'] + _ec_0['between'] + _ec_1['within'] + _ec_1['between'] AS variance
        FROM (
            SELECT *, ec._stratum(i0, ec._rows_of(i0), ec._mean_influence(i0)) AS _ec_0,
                   ec._stratum(i1, ec._rows_of(i1), ec._mean_influence(i1)) AS _ec_1
            FROM (
                SELECT *, ec._influence_of_costs(ec._influence(g00, g01, x00, x01, a0, b0, c0, u), g00, g01, g02, x02, d0, e0) AS i0,
                       ec._influence_of_costs(ec._influence(g10, g11, x10, x11, a1, b1, c1, u), g10, g11, g12, x12, d1, e1) AS i1
                FROM query_table(slopes) JOIN query_table(moments) USING (_ec_id, kind, family))));

-- Limits --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._forward(scale, x) AS
    CASE scale WHEN 'log' THEN CASE WHEN x > 0 THEN ln(x) END WHEN 'ratio' THEN CASE WHEN x > 0 THEN ln(x) END
               WHEN 'logit' THEN CASE WHEN x > 0 AND x < 1 THEN ln(x) + ec._minus_log1m(x) END
               WHEN 'atanh' THEN CASE WHEN abs(x) < 1 THEN atanh(x) END
               ELSE x END;
CREATE OR REPLACE MACRO ec._inverse(scale, z) AS
    CASE scale WHEN 'log' THEN exp(z) WHEN 'ratio' THEN exp(z) WHEN 'logit' THEN 1 / (1 + exp(-z)) WHEN 'atanh' THEN tanh(z) ELSE z END;
CREATE OR REPLACE MACRO ec._runs_at(scale, x) AS
    CASE scale WHEN 'log' THEN ec._ratio(1, x) WHEN 'ratio' THEN ec._ratio(1, x) WHEN 'logit' THEN ec._ratio(1, x * (1 - x))
               WHEN 'atanh' THEN ec._ratio(1, 1 - x * x) ELSE 1 END;
CREATE OR REPLACE MACRO ec._is_at_end(scale, x) AS
    CASE scale WHEN 'log' THEN NOT x > 0 WHEN 'ratio' THEN NOT x > 0 WHEN 'identity' THEN false
               ELSE least(CASE scale WHEN 'atanh' THEN x + 1 ELSE x END, 1 - x) <= 1e-12 END;

CREATE OR REPLACE MACRO ec._level(level) AS
    CASE WHEN level > 0 AND level < 1 THEN level
         ELSE ec._fail(format('interval := {} is not a level between 0 and 1: pass 0.95', coalesce(CAST(level AS VARCHAR), 'NULL'))) END;
CREATE OR REPLACE MACRO ec._half_width_of(t, variance, scale, centre) AS t * sqrt(variance) * abs(ec._runs_at(scale, centre));
-- Shares of few errors are skewed, and half an error more, for rates of 0 and 1, takes their limits too far from the end of the scale: with fewer
-- than 20 errors the limit at that end is further away. A value leans to the lower end by 1 to -1; a ratio to both.
CREATE OR REPLACE MACRO ec._leans(scale, x) AS
    CASE scale WHEN 'log' THEN 1 WHEN 'ratio' THEN 1 WHEN 'logit' THEN 1 - 2 * x WHEN 'atanh' THEN -x ELSE 0 END;
CREATE OR REPLACE MACRO ec._times_logit(scale) AS CASE scale WHEN 'atanh' THEN 2 ELSE 1 END;
CREATE OR REPLACE MACRO ec._skew(scale, x, half) AS
    CASE WHEN half < 100 THEN ec._leans(scale, x) * ec._times_logit(scale) * half * ec._times_logit(scale) * half ELSE 0 END;
CREATE OR REPLACE MACRO ec._skew_above(scale, skew) AS CASE scale WHEN 'ratio' THEN skew ELSE -skew END;
CREATE OR REPLACE MACRO ec._further(scale, skew, t) AS
    CASE WHEN 20 * skew > t * t THEN (skew / 4 + skew * skew / 8) / ec._times_logit(scale) ELSE 0 END;
-- The squares of smaller numbers, and of larger ones, lose digits, and then nothing is left of a variance.
CREATE OR REPLACE MACRO ec._has_square(x) AS x = 0 OR abs(x) > 1e-140 AND abs(x) < 1e140;
-- Beyond this an exponential is infinite.
CREATE OR REPLACE MACRO ec._has_end(scale, z) AS NOT scale IN ('log', 'ratio') OR z < 709.78;
-- Where every row is surely wrong a Brier score is 1, and a cost the larger one.
CREATE OR REPLACE MACRO ec._at_most(name, x, cost) AS
    CASE name WHEN 'brier' THEN least(x, 1) WHEN 'expected_cost' THEN least(x, cost) WHEN 'bayes_risk' THEN least(x, cost) ELSE x END;
-- Limits around the centre, so far apart that they hold the value; none where either is none. (MATERIALIZED, for what is only named
-- in between is planned wherever it is used, and quantiles are long.)
CREATE OR REPLACE MACRO ec._limits(spread, level) AS TABLE
    WITH _ec_widths AS MATERIALIZED (
        SELECT *, ec._forward(scale, value) AS _ec_at, ec._half_width_of(_ec_t, variance, scale, value) AS _ec_half
        FROM (SELECT *, ec.t_quantile(0.5e0 + level / 2, CASE WHEN df > 1 AND NOT isnan(df) THEN df ELSE 1 END) AS _ec_t
              FROM query_table(spread))),
    _ec_ends AS (
        SELECT *, _ec_at - _ec_half - ec._further(scale, _ec_skew, _ec_t) AS _ec_from,
               _ec_at + _ec_half + ec._further(scale, ec._skew_above(scale, _ec_skew), _ec_t) AS _ec_to
        FROM (SELECT *, CASE WHEN skewed THEN ec._skew(scale, value, _ec_half) ELSE 0 END AS _ec_skew FROM _ec_widths)),
    _ec_known AS (
        SELECT *, known AND isfinite(estimate) AND isfinite(_ec_at) AND isfinite(_ec_half) AND ec._has_square(value)
                  AND ec._has_end(scale, _ec_to) AS _ec_shown
        FROM _ec_ends)
    SELECT *, CASE WHEN _ec_shown THEN least(ec._inverse(scale, _ec_from), estimate) END AS low,
           CASE WHEN _ec_shown THEN greatest(ec._at_most(name, ec._inverse(scale, _ec_to), greatest(_ec_fn, _ec_fp)), estimate) END AS high
    FROM _ec_known;

-- The limits of a group by the names of metrics.
CREATE OR REPLACE MACRO ec._limits_of_groups(limits) AS TABLE
    SELECT _ec_id, map(list(concat(name, CASE WHEN at_prior THEN '_at_prior' ELSE '' END)), list({'low': low, 'high': high})) AS ends,
           bool_or(name = 'ec: kink' AND abs(estimate) < 2 * sqrt(variance)) AS _ec_kinked
    FROM query_table(limits) GROUP BY _ec_id;

-- Of independent rows; metrics of decisions from sums with half a row more.
CREATE OR REPLACE MACRO ec._limits_of_rows(groups, metrics, score_type, stated, level) AS TABLE
    WITH _ec_moments AS MATERIALIZED (
        SELECT * REPLACE (NOT ec._is_decided(family) AS sloped) FROM ec._moments(groups)),
    _ec_both AS MATERIALIZED (FROM _ec_moments UNION ALL BY NAME FROM ec._enlarged('_ec_moments')),
    _ec_slopes AS MATERIALIZED (FROM ec._slopes('_ec_both', metrics, score_type, stated)),
    _ec_spread AS (
        SELECT *, ec._is_decided(family) AS skewed FROM ec._spread_of_rows('_ec_slopes', '_ec_both')
        JOIN (SELECT _ec_id, at_prior, name, value AS estimate FROM _ec_slopes WHERE kind = 'plain') USING (_ec_id, at_prior, name)
        WHERE sloped),
    _ec_limits AS (FROM ec._limits('_ec_spread', ec._level(level)))
    FROM ec._limits_of_groups('_ec_limits');

-- Clusters ------------------------------------------------------------------------------------------------------------

-- Of each group sums of w, and of the squares of the clusters' w, of the classes and of all; how many clusters there are; and what w^2 is
-- of w in rows that are clusters of their own. These are in no bucket.
CREATE OR REPLACE MACRO ec._clusters(units) AS TABLE
    SELECT _ec_id, CAST(sum(all_0) AS DOUBLE) AS total0, CAST(sum(all_1) AS DOUBLE) AS total1, CAST(sum(all_0 + all_1) AS DOUBLE) AS whole,
           CAST(sum(CASE WHEN _ec_bucket IS NULL THEN all2_0 ELSE all_0 * all_0 END) AS DOUBLE) AS squares0,
           CAST(sum(CASE WHEN _ec_bucket IS NULL THEN all2_1 ELSE all_1 * all_1 END) AS DOUBLE) AS squares1,
           CAST(sum(CASE WHEN _ec_bucket IS NULL THEN all2_0 + all2_1 ELSE (all_0 + all_1) * (all_0 + all_1) END) AS DOUBLE) AS squares,
           sum(CASE WHEN NOT all_0 + all_1 > 0 THEN 0
                    WHEN _ec_bucket IS NULL THEN (all_0 + all_1) * (all_0 + all_1) / (all2_0 + all2_1) ELSE 1 END) AS number,
           sum(CASE WHEN _ec_bucket IS NULL AND all_0 + all_1 > 0 THEN (all2_0 + all2_1) / (all_0 + all_1) ELSE 0 END) AS alone
    FROM query_table(units) GROUP BY _ec_id;

-- As many independent rows as there are clusters, each of weight 1, that are like these.
CREATE OR REPLACE MACRO ec._so_many(a, c, x0, x1) AS CASE WHEN x0 + x1 > 0 THEN (x0 + x1) * (x0 + x1) / (a + c) ELSE 0 END;
CREATE OR REPLACE MACRO ec._fewer(moments, clusters) AS TABLE
    SELECT _ec_id, _ec_p1, _ec_p0, _ec_fn, _ec_fp, _ec_by_row, family, known, u,
           COLUMNS('^x..$') * _ec_times, COLUMNS('^[a-e]0$') * _ec_0, COLUMNS('^[a-e]1$') * _ec_1
    FROM (SELECT *, _ec_times * coalesce(ec._ratio(x00 + u * x01, a0 + u * c0), 0) AS _ec_0,
                 _ec_times * coalesce(ec._ratio(x10 + u * x11, a1 + u * c1), 0) AS _ec_1
          FROM (SELECT *, least(whole * whole / squares,
                                ec._so_many(a0, u * c0, x00, u * x01) + ec._so_many(a1, u * c1, x10, u * x11)) / whole AS _ec_times
                FROM query_table(moments) JOIN query_table(clusters) USING (_ec_id) WHERE ec._is_decided(family)));

-- All of a class in one cluster is its mean: rounding is no spread.
CREATE OR REPLACE MACRO ec._in_one(total, squares) AS total > 0 AND total * total / squares < 1 + 1e-7;
-- What the rows of a bucket add within their class is that much more of what the class is without it; and what their number adds, of all.
CREATE OR REPLACE MACRO ec._left(x, part, whole) AS CASE WHEN part < whole THEN x / (1 - part / whole) ELSE 0 END;
CREATE OR REPLACE MACRO ec._of_buckets(means, units) AS TABLE
    SELECT _ec_id, family, at_prior, name,
           pow(ec._left(within0, w0, total0) + ec._left(within1, w1, total1)
               + CASE WHEN w0 + w1 > 0 THEN among / (1 - (w0 + w1) / whole) ELSE 0 END, 2) AS added,
           within0 * within0 AS within0, within1 * within1 AS within1, among * among AS among
    FROM (SELECT *, w0 * mean0 + w1 * mean1 AS among,
                 CASE WHEN one0 THEN 0 ELSE g00 * x00 + g01 * x01 + g02 * x02 - w0 * mean0 END AS within0,
                 CASE WHEN one1 THEN 0 ELSE g10 * x10 + g11 * x11 + g12 * x12 - w1 * mean1 END AS within1
          FROM (SELECT *, x00 + u * x01 AS w0, x10 + u * x11 AS w1
                FROM query_table(means) JOIN query_table(units) USING (_ec_id, family) WHERE _ec_bucket IS NOT NULL));
CREATE OR REPLACE MACRO ec._single(i, mean, total, one, of_number) AS
    CASE WHEN i['w'] > 0 AND one THEN {'own': 0e0, 'other': mean * mean * i['w2'], 'added': mean * mean * i['w2'] * of_number * of_number}
         WHEN i['w'] > 0
         THEN invoke(lambda _own, _both, _other, _times: {
                  'own': _own, 'other': _other,
                  'added': _own * _times * _times + 2 * _both * _times * of_number + _other * of_number * of_number},
                  greatest(i['s'] - 2 * mean * i['m'] + mean * mean * i['w2'], 0), mean * i['m'] - mean * mean * i['w2'],
                  mean * mean * i['w2'], 1 / (1 - i['w2'] / i['w'] / total))
         ELSE {'own': 0e0, 'other': 0e0, 'added': 0e0} END;
CREATE OR REPLACE MACRO ec._of_single(means, units) AS TABLE
    SELECT _ec_id, family, at_prior, name, of_0['added'] + of_1['added'] AS added, of_0['own'] AS within0, of_1['own'] AS within1,
           of_0['other'] + of_1['other'] AS among
    FROM (SELECT *, ec._single(ec._influence_of_costs(ec._influence(g00, g01, x00, x01, a0, b0, c0, u), g00, g01, g02, x02, d0, e0),
                               mean0, total0, one0, 1 / (1 - alone / whole)) AS of_0,
                 ec._single(ec._influence_of_costs(ec._influence(g10, g11, x10, x11, a1, b1, c1, u), g10, g11, g12, x12, d1, e1),
                            mean1, total1, one1, 1 / (1 - alone / whole)) AS of_1
          FROM query_table(means) JOIN query_table(units) USING (_ec_id, family) WHERE _ec_bucket IS NULL);

-- Is all of a class that has a share of its own in the metric in one bucket? Of such a class influences add up to 0, and so do those of its
-- only cluster; of rows that all have one decision they are 0 each, unless half a row more is there.
CREATE OR REPLACE MACRO ec._is_fixed(s0, s1, s2, most) AS
    coalesce(abs(s0 + s1 + s2) < 1e-7 * (abs(s0) + abs(s1) + abs(s2)) AND abs(s0) + abs(s1) + abs(s2) > 1e-7 * most, false);
CREATE OR REPLACE MACRO ec._on_one_cluster(slopes, moments, clusters) AS TABLE
    SELECT _ec_id, at_prior, name, bool_or((at_prior OR NOT moves) AND (ec._in_one(total0, squares0) AND ec._is_fixed(s00, s01, s02, most)
                                           OR ec._in_one(total1, squares1) AND ec._is_fixed(s10, s11, s12, most))) AS on_one
    FROM (
        SELECT *, greatest(abs(s00) + abs(s01) + abs(s02), abs(s10) + abs(s11) + abs(s12)) AS most
        FROM (SELECT *, g00 * x00 AS s00, g01 * x01 AS s01, g02 * x02 AS s02, g10 * x10 AS s10, g11 * x11 AS s11, g12 * x12 AS s12
              FROM query_table(slopes) JOIN query_table(moments) USING (_ec_id, kind, family) JOIN query_table(clusters) USING (_ec_id)))
    GROUP BY ALL;
CREATE OR REPLACE MACRO ec._lost_to(part, total, squares) AS CASE WHEN part > 0 THEN part / (total * total / squares - 1) ELSE 0 END;
CREATE OR REPLACE MACRO ec._spread_of_clusters(means, units) AS TABLE
    SELECT *, CASE WHEN enough THEN CASE WHEN parts > 0 THEN parts / lost ELSE whole * whole / squares - 1 END END AS df,
           CASE WHEN enough THEN (number - 1) / number * added END AS variance
    FROM (
        SELECT *, within0 + within1 + among AS parts,
               ec._lost_to(within0, total0, squares0) + ec._lost_to(within1, total1, squares1) + ec._lost_to(among, whole, squares) AS lost,
               number >= 5 AND NOT on_one AS enough
        FROM query_table(means) JOIN (
            SELECT _ec_id, family, at_prior, name, sum(added) AS added, sum(within0) AS within0, sum(within1) AS within1, sum(among) AS among
            FROM (FROM ec._of_buckets(means, units) UNION ALL BY NAME FROM ec._of_single(means, units)) GROUP BY ALL)
        USING (_ec_id, family, at_prior, name));

-- A rate of 0 or 1 has the limits of as many independent rows as there are clusters.
CREATE OR REPLACE MACRO ec._limits_of_clusters(units, groups, metrics, score_type, stated, level) AS TABLE
    WITH _ec_moments AS MATERIALIZED (FROM ec._moments(groups)),
    _ec_clusters AS MATERIALIZED (FROM ec._clusters(units)),
    _ec_fewer AS MATERIALIZED (FROM ec._fewer('_ec_moments', '_ec_clusters')),
    _ec_both AS MATERIALIZED (FROM _ec_moments UNION ALL BY NAME FROM ec._enlarged('_ec_fewer')),
    _ec_slopes AS MATERIALIZED (FROM ec._slopes('_ec_both', metrics, score_type, stated)),
    _ec_on_one AS MATERIALIZED (FROM ec._on_one_cluster('_ec_slopes', '_ec_both', '_ec_clusters')),
    _ec_means AS MATERIALIZED (
        SELECT _ec_id, on_one, family, at_prior, name, scale, known, value AS estimate, _ec_fn, _ec_fp, g00, g01, g02, g10, g11, g12, whole, total0, total1,
               squares, squares0, squares1, number, alone, ec._in_one(total0, squares0) AS one0, ec._in_one(total1, squares1) AS one1,
               CASE WHEN total0 > 0 THEN (g00 * x00 + g01 * x01 + g02 * x02) / total0 ELSE 0 END AS mean0,
               CASE WHEN total1 > 0 THEN (g10 * x10 + g11 * x11 + g12 * x12) / total1 ELSE 0 END AS mean1
        FROM _ec_slopes JOIN _ec_moments USING (_ec_id, kind, family) JOIN _ec_clusters USING (_ec_id)
        JOIN _ec_on_one USING (_ec_id, at_prior, name)),
    _ec_sums AS MATERIALIZED (FROM ec._sums_of_families(units)),
    _ec_of_clusters AS MATERIALIZED (FROM ec._spread_of_clusters('_ec_means', '_ec_sums')),
    _ec_enlarged AS (FROM _ec_slopes WHERE kind = 'enlarged'),
    _ec_of_rows AS (
        SELECT _ec_id, at_prior, name, value, variance AS variance_, df AS df_ FROM ec._spread_of_rows('_ec_enlarged', '_ec_both')),
    _ec_spread AS (
        SELECT _ec_id, at_prior, name, scale, _ec_fn, _ec_fp, known AND (NOT no_width OR ec._is_decided(family)) AS known, estimate, CASE WHEN at_end THEN value ELSE estimate END AS value, at_end AS skewed,
               CASE WHEN at_end THEN variance_ ELSE variance END AS variance, CASE WHEN at_end THEN df_ ELSE df END AS df
        FROM (SELECT *, coalesce(ec._is_decided(family) AND isfinite(df) AND (no_width OR ec._is_at_end(scale, estimate)), false) AS at_end
              FROM (SELECT *, variance <= pow(1e-9 * estimate, 2) AS no_width FROM _ec_of_clusters)
              LEFT JOIN _ec_of_rows USING (_ec_id, at_prior, name))),
    _ec_limits AS (FROM ec._limits('_ec_spread', ec._level(level)))
    FROM ec._limits_of_groups('_ec_limits');
