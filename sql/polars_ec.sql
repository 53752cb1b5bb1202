-- polars_ec for DuckDB: expected cost, proper scoring rules, calibrated metrics as macros in schema ec. The file polars_ec.sql is
-- made of begin, rows, counts, decisions, scoring_rules, sketch, ranking, calibration, ece, quantiles, intervals, report, end and of the signatures of the Python
-- functions (`make sql`): from these come defaults, most comments, and overloads for BOOLEAN. It may be loaded again.
-- One transaction: a client that goes on after an error, on an older DuckDB say, is left with what it had before.
BEGIN TRANSACTION;
SELECT CASE WHEN TRY_CAST(string_split(regexp_extract(library_version, '\d+\.\d+\.\d+'), '.') AS INTEGER[]) < [2, 0, 0]
            THEN error('polars_ec.sql needs DuckDB 2.0 or later, polars_ec_duckdb_1.sql needs 1.4.2, but this is ' || library_version || ': nothing was installed (run ROLLBACK to continue)')
            ELSE library_version END AS duckdb FROM pragma_version();
-- Before 1.3 DuckDB cannot parse a lambda, and before 1.4 not the type of a parameter: if a client passes the whole file at once, its
-- message has this name.
CREATE TEMP MACRO _ec_guard(x) AS list_transform([x], lambda "polars_ec needs DuckDB 1.4.2 or later": x);
CREATE TEMP TYPE "polars_ec needs DuckDB 1.4.2 or later" AS INTEGER;
CREATE OR REPLACE TEMP MACRO _ec_guard(x "polars_ec needs DuckDB 1.4.2 or later") AS x;
DROP MACRO _ec_guard;
DROP TYPE "polars_ec needs DuckDB 1.4.2 or later";
CREATE SCHEMA IF NOT EXISTS ec;
-- polars_ec for DuckDB, file 1 of 12: what is known of one row. Load after begin. Names that start with an underscore are private.

-- Arguments -----------------------------------------------------------------------------------------------------------

-- A macro's text is bound anew wherever it is called, about 20 microseconds for each name, operator and cast in it: hence
-- literals like 1e0 for CAST(1 AS DOUBLE), and format() for a chain of ||.

-- An argument is copied wherever its name stands, and bound anew there. invoke(lambda _x: ..., x) names a value once: it costs nothing
-- per row, and a score that is an expression of its own is bound once and not as often as it is used. What is repeated goes into
-- the argument, not into the lambda: a lambda's text is bound twice, and four times within another one. (Whether an argument
-- was left out is asked of the argument itself, for within a lambda a literal NULL has a type.) The optimizer does not look into a
-- lambda: constants are worked out in its arguments, and no error() may stand in one within a sum, for metrics would not share the sum.

-- Metrics tell that an argument was left out by an overload for "NULL", the type of a literal NULL: the text for an argument
-- that is given is then not even bound. But an argument whose type is not known that early, such as an alias from the same
-- SELECT or an aggregate, ends up there too. So each metric uses the argument once under that overload: the cast to "NULL" fails
-- for any other value. (A prior comes along a second time, uncast.) Functions of one row, whose arguments may well be window
-- functions, ask ec._unset instead.
--
-- A NULL of any other type, such as the threshold that a join did not find for a segment, was not left out: it makes a metric NULL.

-- Was an optional argument left out? This is known when the query is planned, and the CASE that asks it costs nothing per row.
CREATE OR REPLACE MACRO ec._unset(x) AS typeof(x) = '"NULL"';

-- Is it a column, or made of columns? Known when the query is planned, and so is the type that says so: "NULL" for constants, which
-- have the short text. The type of date_part is that of its unit where the unit is a constant, and one type for any unit elsewhere.
CREATE OR REPLACE MACRO ec._type_of_part(x, unit) AS typeof(date_part(CASE WHEN x IS NULL THEN unit ELSE unit END, TIMESTAMP '2000-01-01'));
CREATE OR REPLACE MACRO ec._is_column(x) AS ec._type_of_part(x, 'year') = ec._type_of_part(x, 'epoch');
CREATE OR REPLACE MACRO ec._column_type(x, y) AS
    struct_extract({'column': 1}, CASE WHEN ec._is_column(x) OR ec._is_column(y) THEN 'column' END);

-- Is score_type 'posterior'? The answer is a type, INTEGER or "NULL", so that an overload can ask. Macros that do hand on the
-- literal NULL for 'posterior', and the overloads for it below have the short text that posteriors need. A score_type that is
-- NULL to begin with is cast, and so is none of the known ones, and so is a number, most likely an argument without its name.
CREATE OR REPLACE MACRO ec._posterior_type(score_type DOUBLE) AS NULL,
(score_type) AS struct_extract({'posterior': 1}, CASE WHEN score_type = 'posterior' THEN score_type END);
-- The same for lists.
CREATE OR REPLACE MACRO ec._posteriors_type(score_type DOUBLE) AS NULL,
(score_type) AS struct_extract({'posterior': 1, 'posteriors': 1}, CASE WHEN score_type IN ('posterior', 'posteriors') THEN score_type END);

CREATE OR REPLACE MACRO ec._fail(message) AS CAST(error('ec: ' || message) AS DOUBLE);

-- Is a number that the metric is about what it must be? True, NULL for a NULL that was given, or an error.
CREATE OR REPLACE MACRO ec._number_is(condition, number, message) AS
    CASE WHEN condition AND typeof(number) <> 'BOOLEAN' THEN true
         WHEN number IS NULL AND NOT ec._unset(number) THEN NULL
         ELSE error(concat('ec: ', message, ', not ', coalesce(CAST(number AS VARCHAR), 'NULL'))) IS NULL END;

-- Numbers -------------------------------------------------------------------------------------------------------------

-- NaN compares as greatest, and yet comparisons and isnan() do not find it in a Parquet file: what holds of the least and the largest
-- number there DuckDB takes for granted, and these pass over NaN. isfinite() and isinf() are asked row by row.
CREATE OR REPLACE MACRO ec._share_ok(x) AS x BETWEEN 0e0 AND 1e0 AND isfinite(x);
CREATE OR REPLACE MACRO ec._percent_ok(x) AS x BETWEEN 0e0 AND 100e0 AND isfinite(x);
CREATE OR REPLACE MACRO ec._not_nan(x) AS isfinite(x) OR isinf(x);

-- -ln(1 - q) to full accuracy (DuckDB has no log1p): what 1 - q lost by rounding, at most half a unit in the last place of 1, is
-- added again. Where 1 - q < 1/2 nothing is lost.
CREATE OR REPLACE MACRO ec._minus_log1m(q) AS (q - (1 - (1 - q))) - ln(1 - q);
-- ln(1 + exp(z)) and 1/(1 + exp(-z)), exact in both tails; ln(1 + u) is 2 atanh(u/(2 + u)).
CREATE OR REPLACE MACRO ec._softplus(z) AS
    greatest(z, 0e0) + 2 * atanh(exp(-abs(z)) / (2 + exp(-abs(z))));
CREATE OR REPLACE MACRO ec._sigmoid(z) AS exp(least(z, 0e0)) / (1 + exp(-abs(z)));

-- Costs: rows are the true class, columns the decision ----------------------------------------------------------------

-- NULL for what is not a matrix, which ec._costs_ok refuses.
CREATE OR REPLACE MACRO ec._given_costs(costs) AS TRY_CAST(costs AS DOUBLE[][]);
CREATE OR REPLACE MACRO ec._binary_costs(cost_fn, cost_fp) AS
    [[0e0, CAST(cost_fp AS DOUBLE)], [CAST(cost_fn AS DOUBLE), 0e0]];

-- More than a 2 x 2 choice: an abstain column, or more than two classes.
CREATE OR REPLACE MACRO ec._wide(costs) AS
    costs IS NOT NULL AND (len(ec._given_costs(costs)) <> 2 OR len(ec._given_costs(costs)[1]) <> 2);

-- true, or an error that says what is wrong with the matrix. The error stands outside the lambda: an expression with an
-- error() in a lambda is not folded, and would be worked out for every row.
CREATE OR REPLACE MACRO ec._fault(m) AS
    CASE WHEN m IS NULL
         THEN 'costs must be a matrix such as [[0, 1], [5, 0]] (other arguments must be named, such as cost_fn := 5 or weight := w)'
         WHEN len(m) < 2 THEN 'costs need at least 2 rows (true classes)'
         WHEN list_min(list_transform(m, lambda _r: coalesce(len(_r), 0))) < 1
           OR len(list_distinct(list_transform(m, lambda _r: len(_r)))) > 1
         THEN 'costs must be rows (true classes) of equal length (decisions)'
         WHEN list_count(flatten(m)) < len(flatten(m)) OR len(list_filter(flatten(m), lambda _x: NOT isfinite(_x))) > 0
         THEN 'costs must be finite numbers' END;
CREATE OR REPLACE MACRO ec._no_fault(fault, costs) AS
    CASE WHEN fault IS NULL THEN true ELSE error('ec: ' || fault || ', not ' || CAST(costs AS VARCHAR)) IS NULL END;

-- Costs as they are given: true, NULL where any is a NULL that was given, or an error; but NULL for what is wrong in a column.
-- (least() passes over NULL. Halves add up to no infinity.)
CREATE OR REPLACE MACRO ec._binary_costs_ok(cost_fn, cost_fp) AS
    CASE WHEN least(cost_fn, cost_fp) >= 0
              AND isfinite(CAST(cost_fn AS DOUBLE) / 2 + CAST(cost_fp AS DOUBLE) / 2) THEN true
         WHEN (cost_fn IS NULL OR cost_fp IS NULL) AND NOT (ec._unset(cost_fn) OR ec._unset(cost_fp)) THEN NULL
         WHEN ec._is_column(cost_fn) OR ec._is_column(cost_fp) THEN NULL
         ELSE error('ec: costs must be finite numbers that are not negative, not '
                    || CAST({'cost_fn': cost_fn, 'cost_fp': cost_fp} AS VARCHAR)) IS NULL END;
CREATE OR REPLACE MACRO ec._matrix_ok(m, costs) AS CASE WHEN costs IS NOT NULL THEN ec._no_fault(ec._fault(m), costs) END;
CREATE OR REPLACE MACRO ec._one_way(cost_fn, cost_fp) AS
    CASE WHEN cost_fn = 1 AND cost_fp = 1 THEN true
         ELSE error('ec: pass either costs, or cost_fn and cost_fp, not both') IS NULL END;
CREATE OR REPLACE MACRO ec._costs_ok(costs "NULL", cost_fn, cost_fp) AS costs IS NULL AND ec._binary_costs_ok(cost_fn, cost_fp),
(costs, cost_fn, cost_fp) AS
    ec._one_way(cost_fn, cost_fp) AND CASE WHEN costs IS NOT NULL THEN
        ec._no_fault(list_transform([ec._given_costs(costs)], lambda _m: ec._fault(_m))[1], costs) END;

-- What costs are multiplied by where they are compared: a quarter of large ones, so that no sum overflows, and else 1, because a
-- quarter of the least number is 0.
CREATE OR REPLACE MACRO ec._room(m) AS
    CASE WHEN list_max(list_transform(flatten(m), lambda _x: abs(_x))) > 2e307 THEN 0.25e0 ELSE 1e0 END;
-- The matrix with each row's maximum subtracted, turned over: one list {c} of K numbers per decision. Subtracting moves no decision,
-- and makes 0-1 costs an exact argmax. Sums over the classes that differ by more than the margin do so in any order. (Without an
-- error() this is worked out once: rows of other lengths are for ec._costs_ok.)
CREATE OR REPLACE MACRO ec._below_largest(row_, largest, room) AS
    invoke(lambda _t, _most, _room: list_transform(_t, lambda _x: _x * _room - _most * _room), row_, largest, room);
CREATE OR REPLACE MACRO ec._choices(matrix) AS
    invoke(lambda _d: {'c': _d, 'margin': len(_d[1]) * 1e-15 * list_max(list_transform(flatten(_d), lambda _x: abs(_x)))},
        invoke(lambda _m: list_transform(range(len(_m[1])), lambda _j: list_transform(_m, lambda _r: coalesce(_r[_j + 1], 0))),
            invoke(lambda _m, _room: list_transform(_m, lambda _r: ec._below_largest(_r, list_max(_r), _room)), matrix, ec._room(matrix))));

-- Priors --------------------------------------------------------------------------------------------------------------

-- Is it the type of a column of priors, numbers, lists or arrays, and not that of what is written out, DECIMAL?
CREATE OR REPLACE MACRO ec._may_be_column(type) AS type LIKE 'DOUBLE%' OR type LIKE 'FLOAT%';
-- A list of priors, checked: k numbers >= 0 that sum to 1.
CREATE OR REPLACE MACRO ec._sums_to_1(priors, k) AS
    invoke(lambda _p: coalesce(list_count(_p) = len(_p) AND len(_p) = coalesce(k, len(_p)) AND list_min(_p) >= 0
                               AND abs(list_sum(_p) - 1) <= 1e-6, false), priors);
CREATE OR REPLACE MACRO ec._no_list_prior(priors, type) AS
    CASE WHEN ec._may_be_column(type) THEN [CAST('nan' AS DOUBLE), CAST('nan' AS DOUBLE)]
         ELSE [ec._fail('prior must have one number >= 0 per class, with sum 1, not ' || CAST(priors AS VARCHAR))] END;
CREATE OR REPLACE MACRO ec._list_prior(priors, type, k) AS
    CASE WHEN ec._sums_to_1(priors, k) THEN priors ELSE ec._no_list_prior(priors, type) END;

-- The positive class's prior as the row states it: NULL where none is stated at all, NaN where it is not a prior. A wrong
-- value of type DOUBLE may come from a column and costs its group the value; any other is a literal, and is an error. First a
-- prior that is a number, then any, and the negative class's: of a list its own number, for 1 - P1 would lose digits.
CREATE OR REPLACE MACRO ec._number_prior(prior) AS
    CASE WHEN ec._share_ok(TRY_CAST(prior AS DOUBLE)) AND typeof(prior) <> 'BOOLEAN' THEN TRY_CAST(prior AS DOUBLE)
         WHEN ec._may_be_column(typeof(prior)) OR prior IS NULL THEN CAST('nan' AS DOUBLE)
         ELSE ec._fail('prior must be a number in 0..1, a list or ''uniform'', not ' || CAST(prior AS VARCHAR)) END;
CREATE OR REPLACE MACRO ec._is_list(prior) AS typeof(prior) LIKE '%]';
CREATE OR REPLACE MACRO ec._two_priors(prior) AS ec._list_prior(TRY_CAST(prior AS DOUBLE[]), typeof(prior), 2);
CREATE OR REPLACE MACRO ec._one_prior(prior) AS
    CASE WHEN ec._unset(prior) THEN CAST(NULL AS DOUBLE)
         WHEN typeof(prior) = 'VARCHAR' AND CAST(prior AS VARCHAR) = 'uniform' THEN 0.5e0
         ELSE ec._number_prior(prior) END;
CREATE OR REPLACE MACRO ec._prior1(prior) AS
    CASE WHEN ec._is_list(prior) THEN ec._two_priors(prior)[2] ELSE ec._one_prior(prior) END;
CREATE OR REPLACE MACRO ec._prior0(prior) AS
    CASE WHEN ec._is_list(prior) THEN ec._two_priors(prior)[1] ELSE 1 - ec._one_prior(prior) END;

-- [P0, P1], checked: NULL where none is stated, NaN where it is not a prior.
CREATE OR REPLACE MACRO ec._prior_pair(prior) AS
    CASE WHEN NOT ec._unset(prior) THEN list_value(ec._prior0(prior), ec._prior1(prior)) END;

-- The same unchecked, where another aggregate of the metric has checked it: short, because it is repeated in many sums.
CREATE OR REPLACE MACRO ec._p1(prior) AS
    CASE WHEN ec._is_list(prior) THEN TRY_CAST(prior AS DOUBLE[])[2] ELSE coalesce(TRY_CAST(prior AS DOUBLE), 0.5e0) END;
CREATE OR REPLACE MACRO ec._p0(prior) AS
    CASE WHEN ec._is_list(prior) THEN TRY_CAST(prior AS DOUBLE[])[1] ELSE 1 - coalesce(TRY_CAST(prior AS DOUBLE), 0.5e0) END;

-- The same for K classes: [] stands for 'uniform' (K is not known yet), [NaN] for no prior.
CREATE OR REPLACE MACRO ec._priors(prior) AS
    invoke(lambda _p: CASE
        WHEN ec._unset(_p) THEN CAST(NULL AS DOUBLE[])
        WHEN _p IS NULL THEN [CAST('nan' AS DOUBLE)]
        WHEN typeof(_p) = 'VARCHAR' AND CAST(_p AS VARCHAR) = 'uniform' THEN CAST([] AS DOUBLE[])
        WHEN ec._is_list(_p) THEN ec._list_prior(TRY_CAST(_p AS DOUBLE[]), typeof(_p), NULL)
        ELSE list_value(1 - ec._number_prior(_p), TRY_CAST(_p AS DOUBLE)) END, prior);

CREATE OR REPLACE MACRO ec._no_prior(score_type) AS
    ec._fail(format('score_type ''{}'' needs prior, a number or a column', score_type));
CREATE OR REPLACE MACRO ec._needs_prior(prior, score_type) AS
    CASE WHEN ec._unset(prior) THEN ec._no_prior(score_type) ELSE 0 END;

-- ln(P1/P0) that turns an LLR into log-odds.
CREATE OR REPLACE MACRO ec._prior_log_odds(prior, score_type) AS
    ec._needs_prior(prior, score_type) + (ln(ec._p1(prior)) - ln(ec._p0(prior)));

-- ln P of class i of K, likewise unchecked.
CREATE OR REPLACE MACRO ec._log_prior(prior, i, k) AS
    ln(CASE WHEN typeof(prior) LIKE '%]' THEN TRY_CAST(prior AS DOUBLE[])[i]
            WHEN typeof(prior) = 'VARCHAR' THEN 1e0 / k
            WHEN i = 2 THEN TRY_CAST(prior AS DOUBLE) ELSE 1 - TRY_CAST(prior AS DOUBLE) END);
-- True, or an error: likelihoods become posteriors at a prior, and costs or likelihoods may need one.
CREATE OR REPLACE MACRO ec._list_prior_ok(prior, score_type) AS
    CASE WHEN score_type = 'log_likelihoods' THEN ec._needs_prior(prior, score_type) = 0 ELSE true END;

-- For row functions: true, false for a column's value that is not a prior, an error for a literal that is none.
CREATE OR REPLACE MACRO ec._prior_ok(prior) AS NOT isnan(coalesce(ec._prior1(prior), 0));
-- Of k classes, given what ec._priors makes of it.
CREATE OR REPLACE MACRO ec._fits_prior(priors, k) AS priors IS NULL OR len(priors) = 0 OR len(priors) = k AND NOT isnan(priors[1]);

-- Rows with a part missing, rows that are wrong -----------------------------------------------------------------------

-- BOOLEAN or integer; anything else is most likely a score in the label's place.
CREATE OR REPLACE MACRO ec._class(label) AS
    CASE WHEN typeof(label) IN ('BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT',
                                'USMALLINT', 'UINTEGER', 'UBIGINT', 'UHUGEINT', '"NULL"')
         THEN TRY_CAST(label AS INTEGER)
         ELSE CAST(error('ec: label must be BOOLEAN or an integer 0..K-1, not ' || typeof(label)
                         || ': write label = ''late'', for example, or for K classes list_position([''a'', ''b'', ''c''], label) - 1 (or are score and label swapped?)') AS INTEGER) END;

-- The same unchecked, where another aggregate of the metric has checked it.
CREATE OR REPLACE MACRO ec._y(label) AS TRY_CAST(label AS INTEGER);

CREATE OR REPLACE MACRO ec._weight_ok(weight "NULL") AS weight IS NULL,
(weight) AS CAST(weight AS DOUBLE) >= 0 AND isfinite(CAST(weight AS DOUBLE));

-- 1 where no weight is given, an integer so that the engine drops the multiplication.
CREATE OR REPLACE MACRO ec._weight(weight "NULL") AS 1, (weight) AS weight;

CREATE OR REPLACE MACRO ec._missing(score, label, weight "NULL") AS score IS NULL OR label IS NULL OR weight IS NOT NULL,
(score, label, weight) AS score IS NULL OR label IS NULL OR weight IS NULL;

-- A list is missing when any part of it is.
CREATE OR REPLACE MACRO ec._missing_vector(score, label, weight) AS
    ec._missing(score, label, weight) OR list_position(score, NULL) IS NOT NULL;

CREATE OR REPLACE MACRO ec._unknown_type(score_type) AS
    error(CASE WHEN score_type = 'raw' THEN 'ec: score_type ''raw'' is for ranking metrics only (auc_roc, eer, ...), because raw scores have just an order. '
                   || 'To decide at a threshold on their own scale, use ''log_odds'''
          ELSE format('ec: unknown score_type ''{}'': posterior, percent, log_odds, llr, decision; lists: posteriors, log_posteriors, log_likelihoods. '
                 || 'Other arguments must be named, such as prior := 0.2', coalesce(score_type, 'NULL')) END) IS NULL;

CREATE OR REPLACE MACRO ec._number_fits(score, decisions, score_type) AS
    CASE WHEN score_type = 'posterior' THEN ec._share_ok(score)
         WHEN score_type = 'percent' THEN ec._percent_ok(score)
         WHEN score_type = 'decision' THEN score BETWEEN 0 AND decisions - 1 AND score = floor(score) AND isfinite(score)
         ELSE ec._not_nan(score) END;
CREATE OR REPLACE MACRO ec._number_type_ok(score_type) AS
    CASE WHEN score_type IN ('posterior', 'percent', 'log_odds', 'llr', 'decision') THEN true
         WHEN score_type IN ('posteriors', 'log_posteriors', 'log_likelihoods')
         THEN error(format('ec: score_type ''{}'' needs a list of scores. For one number use ''posterior'', ''percent'', ''log_odds'', ''llr'' or ''decision''',
                           score_type)) IS NULL
         ELSE ec._unknown_type(score_type) END;
CREATE OR REPLACE MACRO ec._number_ok(score, decisions, score_type "NULL") AS ec._share_ok(score),
(score, decisions, score_type) AS CASE WHEN ec._number_type_ok(score_type) THEN ec._number_fits(score, decisions, score_type) END;
CREATE OR REPLACE MACRO ec._score_ok(score, costs, score_type) AS
    CASE WHEN ec._wide(costs) AND score_type <> 'decision' AND len(ec._given_costs(costs)) <> 2
         THEN error('ec: a single score is for two classes, but costs have ' || len(ec._given_costs(costs))
                    || ' rows: pass a list of posteriors') IS NULL
         ELSE ec._number_ok(score, coalesce(len(ec._given_costs(costs)[1]), 2), CAST(score_type AS VARCHAR)) END;

-- How many classes there are, a list of one decision cannot say.
CREATE OR REPLACE MACRO ec._has_costs(matrix) AS
    CASE WHEN matrix IS NULL
         THEN error('ec: score_type ''decision'' with a list needs costs, to know the number of classes') IS NULL ELSE true END;

-- Only for rows that miss nothing. A 'decision' may come as a list of one: the way to a K x M confusion matrix.
CREATE OR REPLACE MACRO ec._on_simplex(score) AS
    len(score) >= 2 AND list_min(score) >= 0 AND abs(list_sum(score) - 1) <= 1e-6
    AND CASE WHEN list_sum(score) > 1 THEN list_max(score) <= 1 ELSE true END;
CREATE OR REPLACE MACRO ec._vector_ok(score, matrix, score_type "NULL") AS ec._on_simplex(score),
(score, matrix, score_type) AS
    CASE WHEN score_type IN ('posterior', 'posteriors') THEN ec._on_simplex(score)
         WHEN score_type = 'log_posteriors' THEN
             len(score) >= 2 AND list_max(score) <= 1e-6
             AND abs(list_sum(list_transform(score, lambda _x: exp(_x))) - 1) <= 1e-6
         WHEN score_type = 'log_likelihoods' THEN
             len(score) >= 2
             AND list_max(score) < CAST('inf' AS DOUBLE) AND list_max(score) > CAST('-inf' AS DOUBLE)
         WHEN score_type = 'decision' THEN
             len(score) = 1 AND score[1] BETWEEN 0 AND len(matrix[1]) - 1 AND score[1] = floor(score[1]) END;
-- True, or an error: does a list have such scores?
CREATE OR REPLACE MACRO ec._list_type_ok(matrix, score_type "NULL") AS true,
(matrix, score_type) AS
    CASE WHEN score_type IN ('posterior', 'posteriors', 'log_posteriors', 'log_likelihoods') THEN true
         WHEN score_type = 'decision' THEN ec._has_costs(matrix)
         WHEN score_type IN ('percent', 'log_odds', 'llr')
         THEN error('ec: score_type ''' || score_type || ''' is for one number per row. For a list use ''posteriors'', '
                    || '''log_posteriors'' or ''log_likelihoods''') IS NULL
         ELSE ec._unknown_type(score_type) END;

CREATE OR REPLACE MACRO ec._usable(score, label, costs, score_type, weight) AS
    ec._score_ok(score, costs, score_type)
    AND ec._class(label) BETWEEN 0 AND coalesce(len(ec._given_costs(costs)) - 1, 1) AND ec._weight_ok(weight);

CREATE OR REPLACE MACRO ec._vector_classes(score, matrix, score_type "NULL") AS len(score),
(score, matrix, score_type) AS CASE WHEN score_type = 'decision' THEN len(matrix) ELSE len(score) END;

-- Is the list of as many classes as the matrix?
CREATE OR REPLACE MACRO ec._vector_fits(score, matrix, score_type "NULL") AS len(score) = coalesce(len(matrix), len(score)),
(score, matrix, score_type) AS score_type = 'decision' OR len(score) = coalesce(len(matrix), len(score));

-- Of class y, an integer.
CREATE OR REPLACE MACRO ec._vector_usable(score, y, matrix, score_type, weight) AS
    y BETWEEN 0 AND ec._vector_classes(score, matrix, score_type) - 1 AND ec._weight_ok(weight) AND ec._vector_ok(score, matrix, score_type);

-- Costs of a list of scores: NULL stands for 0-1 costs, whose K is the list's length. (What is wrong with costs is for ec._costs_ok.)
CREATE OR REPLACE MACRO ec._vector_costs(costs, cost_fn, cost_fp) AS
    CASE WHEN NOT ec._unset(costs) THEN ec._given_costs(costs)
         WHEN cost_fn = 1 AND cost_fp = 1 OR cost_fn IS NULL OR cost_fp IS NULL THEN NULL
         ELSE ec._binary_costs(cost_fn, cost_fp) END;

-- A BOOLEAN column is a decision, and must be called one: it may be the label in the score's place.
CREATE OR REPLACE MACRO ec._boolean_decision(score, score_type) AS
    CASE WHEN score_type = 'decision' THEN CAST(score AS DOUBLE)
         ELSE ec._fail('a BOOLEAN score is a decision: pass score_type := ''decision'' (or are score and label swapped?)') END;

-- Posteriors ----------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._log_joint(score, prior) AS list_transform(score, lambda _x, _i: _x + ec._log_prior(prior, _i, len(score)));
-- ln sum exp, of a list that is not empty.
CREATE OR REPLACE MACRO ec._log_sum(v) AS
    invoke(lambda _v, _m: _m + ln(list_sum(list_transform(_v, lambda _x: exp(_x - _m)))), v, list_max(v));
CREATE OR REPLACE MACRO ec._softmax(v) AS
    invoke(lambda _n: list_transform(_n['u'], lambda _x: exp(_x - _n['s'])), invoke(lambda _u: {'u': _u, 's': ec._log_sum(_u)}, v));

CREATE OR REPLACE MACRO ec._posteriors(score, score_type "NULL", prior) AS score,
(score, score_type, prior) AS
    CASE WHEN score_type = 'log_posteriors' THEN list_transform(score, lambda _x: exp(_x))
         WHEN score_type = 'log_likelihoods' THEN ec._softmax(ec._log_joint(score, prior))
         ELSE score END;

-- Log-odds of the positive class, from log-odds and LLRs.
CREATE OR REPLACE MACRO ec._given_log_odds(score, score_type, prior) AS
    CASE WHEN score_type = 'llr' THEN score + ec._prior_log_odds(prior, score_type)
         WHEN score_type = 'decision' THEN ec._fail('score_type ''decision'' has no posteriors')
         ELSE score END;
CREATE OR REPLACE MACRO ec._log_odds(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN ln(score) + ec._minus_log1m(score)
         WHEN score_type = 'percent' THEN ln(score / 100) + ec._minus_log1m(score / 100)
         ELSE ec._given_log_odds(score, score_type, prior) END;

CREATE OR REPLACE MACRO ec._posterior(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN score
         WHEN score_type = 'percent' THEN score / 100
         ELSE ec._sigmoid(ec._given_log_odds(score, score_type, prior)) END;
-- One minus it, as accurate.
CREATE OR REPLACE MACRO ec._q0(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN 1 - score
         WHEN score_type = 'percent' THEN 1 - score / 100
         ELSE ec._sigmoid(-ec._given_log_odds(score, score_type, prior)) END;

-- An LLR that its prior contradicts, an infinite one against a prior of 0, has no log-odds: such a score is wrong, NaN. Lists:
-- likelihoods of 0 wherever the prior is not.
CREATE OR REPLACE MACRO ec._likely(score, score_type "NULL", prior "NULL") AS score,
(score, score_type "NULL", prior) AS score,
(score, score_type, prior "NULL") AS score,
(score, score_type, prior) AS
    invoke(lambda _s: CASE WHEN score_type = 'llr' AND isnan(_s + ec._prior_log_odds(prior, score_type))
                           THEN CAST('nan' AS DOUBLE) ELSE _s END, score);
-- Log-likelihoods that are all -inf at the prior are wrong; a row that misses one of them misses it all the same.
CREATE OR REPLACE MACRO ec._likely_list(score, score_type "NULL", prior "NULL") AS score,
(score, score_type "NULL", prior) AS score,
(score, score_type, prior "NULL") AS score,
(score, score_type, prior) AS
    invoke(lambda _v: CASE WHEN score_type = 'log_likelihoods' AND list_max(ec._log_joint(_v, prior)) = CAST('-inf' AS DOUBLE)
                           THEN list_transform(_v, lambda _x: CASE WHEN _x IS NOT NULL THEN CAST('nan' AS DOUBLE) END) ELSE _v END, score);

-- Decisions -----------------------------------------------------------------------------------------------------------

-- ln(x/y), also where x/y is more or less than a number can say.
CREATE OR REPLACE MACRO ec._log_quotient(x, y) AS
    CASE WHEN x / y > 0 AND x / y < CAST('inf' AS DOUBLE) THEN ln(x / y) ELSE ln(x) - ln(y) END;
-- The largest percent whose posterior is no more than p, so that decisions are those of posteriors.
CREATE OR REPLACE MACRO ec._percent_at(p) AS
    invoke(lambda _t, _p: CASE WHEN _t / 100 > _p THEN nextafter(_t, 0e0)
                               WHEN nextafter(_t, 100e0) / 100 <= _p THEN nextafter(_t, 100e0) ELSE _t END, p * 100, p);
-- The Bayes threshold on the score's own scale (for LLRs, before the prior), from what a false positive and a false negative
-- cost more than a right decision: positive where fp (1 - q) < fn q. Where being right costs more than an error, that never holds
-- (inf), or below minus the threshold (see ec._reversed), or always: below NaN, which compares as greatest.
CREATE OR REPLACE MACRO ec._bayes_threshold(fp, fn, score_type) AS
    CASE WHEN fn > 0 AND fp < 0 THEN CAST('nan' AS DOUBLE)
         WHEN fn <= 0 AND fp >= 0 THEN CAST('inf' AS DOUBLE)
         ELSE sign(fp + fn) * CASE WHEN score_type = 'posterior' THEN fp / (fp + fn)
                                   WHEN score_type = 'percent' THEN ec._percent_at(fp / (fp + fn)) ELSE ec._log_quotient(abs(fp), abs(fn)) END END;
-- Of posteriors under cost_fn and cost_fp, a threshold that is given or theirs.
CREATE OR REPLACE MACRO ec._posterior_threshold(threshold "NULL", cost_fn, cost_fp) AS
    CASE WHEN CAST(cost_fp AS DOUBLE) + CAST(cost_fn AS DOUBLE) < CAST('inf' AS DOUBLE)
         THEN CAST(cost_fp AS DOUBLE) / (CAST(cost_fp AS DOUBLE) + CAST(cost_fn AS DOUBLE))
         ELSE CAST(cost_fp AS DOUBLE) / 2 / (CAST(cost_fp AS DOUBLE) / 2 + CAST(cost_fn AS DOUBLE) / 2) END,
(threshold, cost_fn, cost_fp) AS CAST(threshold AS DOUBLE);
-- No matrix is made of cost_fn and cost_fp: they may be columns, and a matrix a row takes microseconds.
CREATE OR REPLACE MACRO ec._costs_threshold(costs, cost_fn, cost_fp, score_type) AS
    CASE WHEN NOT ec._unset(costs)
         THEN list_transform(list_transform([ec._given_costs(costs)], lambda _m: {'m': _m, 'room': ec._room(_m)}),
                   lambda _c: ec._bayes_threshold(_c['m'][1][2] * _c['room'] - _c['m'][1][1] * _c['room'],
                                                  _c['m'][2][1] * _c['room'] - _c['m'][2][2] * _c['room'], score_type))[1]
         WHEN score_type = 'posterior' THEN ec._posterior_threshold(NULL, cost_fn, cost_fp)
         ELSE ec._bayes_threshold(CAST(cost_fp AS DOUBLE), CAST(cost_fn AS DOUBLE), score_type) END;
CREATE OR REPLACE MACRO ec._reversed(costs, threshold, score_type) AS
    ec._unset(threshold) AND score_type <> 'decision'
    AND ec._given_costs(costs)[1][2] < ec._given_costs(costs)[1][1];

-- Is the row left without the threshold that it was to have, NULL or NaN? An error for one that is no number, or not wanted.
CREATE OR REPLACE MACRO ec._no_threshold(threshold, score_type) AS
    CASE WHEN threshold IS NULL THEN NOT ec._unset(threshold)
         WHEN score_type = 'decision'
         THEN error('ec: threshold is for scores, but score_type ''decision'' has decisions already: leave it out') IS NULL
         WHEN typeof(threshold) <> 'BOOLEAN' AND ec._is_column(threshold) THEN NOT ec._not_nan(CAST(threshold AS DOUBLE))
         WHEN typeof(threshold) = 'BOOLEAN' OR isnan(CAST(threshold AS DOUBLE))
         THEN error('ec: threshold must be a number, not ' || CAST(threshold AS VARCHAR)) IS NULL
         ELSE false END;

-- What the prior adds to an LLR.
CREATE OR REPLACE MACRO ec._llr_shift(prior, score_type) AS
    CASE WHEN score_type = 'llr' THEN ec._prior_log_odds(prior, score_type) ELSE 0 END;

CREATE OR REPLACE MACRO ec._threshold(bayes, threshold, score_type) AS
    CASE WHEN score_type = 'decision' THEN 0.5e0
         WHEN ec._unset(threshold) THEN bayes
         ELSE CAST(threshold AS DOUBLE) END;

-- One comparison a row: the threshold is a constant. (It is folded only as long as no lambda in it holds an error().)
CREATE OR REPLACE MACRO ec._positive(score, costs, cost_fn, cost_fp, prior, threshold, score_type) AS
    CASE WHEN NOT coalesce(ec._reversed(costs, threshold, score_type), false)
         THEN score > ec._threshold(ec._costs_threshold(costs, cost_fn, cost_fp, score_type) - ec._llr_shift(prior, score_type),
                                    threshold, score_type)
         ELSE score + ec._llr_shift(prior, score_type) < -ec._costs_threshold(costs, cost_fn, cost_fp, score_type) END;

-- Costs are summed over classes in order, so that ties fall as in the Polars expressions. list_inner_product is fast, and has an order of
-- its own: where another decision is as near to the least as rounding may take it, the sums are made again in order. (It also refuses a
-- NULL in the list of any other row, that of a missing one: hence coalesce.)
CREATE OR REPLACE MACRO ec._in_order(choices, q) AS
    list_transform(choices, lambda _c: list_reduce(_c, lambda _a, _x, _i: _a + _x * q[_i], 0e0));
CREATE OR REPLACE MACRO ec._costs_of(choices, q) AS
    invoke(lambda _c, _q: list_transform(_c, lambda _x: list_inner_product(_x, _q)), choices, list_transform(q, lambda _x: coalesce(_x, 0)));
CREATE OR REPLACE MACRO ec._close_calls(e, bound) AS len(list_filter(e, lambda _x: _x <= bound)) > 1;
CREATE OR REPLACE MACRO ec._first_of_most(q) AS invoke(lambda _q: list_position(_q, list_max(_q)) - 1, q);
CREATE OR REPLACE MACRO ec._first_of_least(e) AS list_position(e, list_min(e)) - 1;
CREATE OR REPLACE MACRO ec._argmin(choices, q) AS
    invoke(lambda _e, _m, _c, _q: CASE WHEN ec._close_calls(_e['e'], _e['least'] + _m) THEN ec._first_of_least(ec._in_order(_c, _q))
                                       ELSE list_position(_e['e'], _e['least']) - 1 END,
           invoke(lambda _e: {'e': _e, 'least': list_min(_e)}, ec._costs_of(choices['c'], q)), choices['margin'], choices['c'], q);

-- The decision index of a row: under costs that are not 2 x 2, and under any.
CREATE OR REPLACE MACRO ec._decide_wide(score, choices, prior, threshold, score_type) AS
    CASE WHEN threshold IS NOT NULL
         THEN CAST(error('ec: threshold needs 2 x 2 costs: leave it out') AS INTEGER)
         WHEN score_type = 'decision' THEN TRY_CAST(score AS INTEGER)
         ELSE ec._argmin(choices, [ec._q0(score, score_type, prior), ec._posterior(score, score_type, prior)]) END;
CREATE OR REPLACE MACRO ec._decide(score, costs, choices, cost_fn, cost_fp, prior, threshold, score_type) AS
    CASE WHEN ec._wide(costs) THEN ec._decide_wide(score, choices, prior, threshold, score_type)
         ELSE CAST(ec._positive(score, costs, cost_fn, cost_fp, prior, threshold, score_type) AS INTEGER) END;

CREATE OR REPLACE MACRO ec._decide_vector(score, matrix, choices, prior, score_type "NULL") AS
    CASE WHEN matrix IS NULL THEN ec._first_of_most(score) ELSE ec._argmin(choices, score) END,
(score, matrix, choices, prior, score_type) AS
    CASE WHEN score_type = 'decision' THEN CAST(score[1] AS INTEGER)
         WHEN matrix IS NULL THEN ec._first_of_most(ec._posteriors(score, score_type, prior))
         ELSE ec._argmin(choices, ec._posteriors(score, score_type, prior)) END;
-- True, or an error: may the decisions of a list be taken so? (A threshold that is NULL leaves the row without one: ec._no_threshold.)
CREATE OR REPLACE MACRO ec._decisions_ok(matrix, prior, threshold, score_type) AS
    ec._list_type_ok(matrix, score_type) AND ec._list_prior_ok(prior, score_type)
    AND CASE WHEN threshold IS NOT NULL
             THEN error('ec: threshold is for a single score: for a list of scores use costs') IS NULL ELSE true END;

-- What a decision d costs a row of class y; no matrix stands for 0-1 costs.
CREATE OR REPLACE MACRO ec._cost(matrix, y, d) AS
    CASE WHEN matrix IS NULL THEN CAST(d <> y AS DOUBLE) ELSE matrix[y + 1][d + 1] END;

CREATE OR REPLACE MACRO ec._error_cost(cost_fn, cost_fp, y, positive) AS
    CASE WHEN y = 1 THEN CASE WHEN positive THEN 0e0 ELSE CAST(cost_fn AS DOUBLE) END
         ELSE CASE WHEN positive THEN CAST(cost_fp AS DOUBLE) ELSE 0e0 END END;

-- A list of two scores as one, and what kind of score that one is.
CREATE OR REPLACE MACRO ec._pair(score, score_type) AS
    CASE WHEN ec._list_type_ok(NULL, score_type) THEN
        invoke(lambda _v: CASE WHEN ec._missing_vector(_v, 0, NULL) THEN CAST(NULL AS DOUBLE)
                               WHEN len(_v) = 2 AND ec._vector_ok(_v, NULL, score_type)
                               THEN CASE WHEN score_type IN ('posterior', 'posteriors') THEN _v[2] ELSE _v[2] - _v[1] END
                               ELSE CAST('nan' AS DOUBLE) END, score) END;
CREATE OR REPLACE MACRO ec._pair_type(score_type) AS
    CASE score_type WHEN 'log_posteriors' THEN 'log_odds' WHEN 'log_likelihoods' THEN 'llr' ELSE 'posterior' END;

-- Losses of a usable row ----------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._log_loss1(score, score_type "NULL", prior) AS -ln(score),
(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN -ln(score) WHEN score_type = 'percent' THEN -ln(score / 100) ELSE ec._softplus(-ec._given_log_odds(score, score_type, prior)) END;
CREATE OR REPLACE MACRO ec._log_loss0(score, score_type "NULL", prior) AS ec._minus_log1m(score),
(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN ec._minus_log1m(score)
         WHEN score_type = 'percent' THEN ec._minus_log1m(score / 100)
         ELSE ec._softplus(ec._given_log_odds(score, score_type, prior)) END;
CREATE OR REPLACE MACRO ec._brier1(score, score_type "NULL", prior) AS (1 - score) * (1 - score),
(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN (1 - score) * (1 - score)
         WHEN score_type = 'percent' THEN (1 - score / 100) * (1 - score / 100)
         ELSE pow(ec._sigmoid(-ec._given_log_odds(score, score_type, prior)), 2) END;
CREATE OR REPLACE MACRO ec._brier0(score, score_type "NULL", prior) AS score * score,
(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN score * score
         WHEN score_type = 'percent' THEN (score / 100) * (score / 100)
         ELSE pow(ec._sigmoid(ec._given_log_odds(score, score_type, prior)), 2) END;

CREATE OR REPLACE MACRO ec._vector_log_loss(score, y, score_type "NULL", prior) AS -ln(score[y + 1]),
(score, y, score_type, prior) AS
    CASE WHEN score_type IN ('posterior', 'posteriors') THEN -ln(score[y + 1])
         WHEN score_type = 'log_posteriors' THEN -score[y + 1]
         WHEN score_type = 'log_likelihoods' THEN invoke(lambda _u, _s: _s - _u[y + 1], ec._log_joint(score, prior), ec._log_sum(ec._log_joint(score, prior))) END;

-- Component by component: sum q^2 - 2 q_y + 1 would cancel.
CREATE OR REPLACE MACRO ec._vector_brier(score, y, score_type, prior) AS
    invoke(lambda _d: list_inner_product(_d, _d) / len(_d),
           list_transform(ec._posteriors(score, score_type, prior), lambda _x, _k: coalesce(_x - CAST(_k = y + 1 AS DOUBLE), 0)));

-- True, or an error: do the scores of a list hold posteriors?
CREATE OR REPLACE MACRO ec._list_losses_ok(prior, score_type) AS
    CASE WHEN score_type = 'decision' THEN error('ec: score_type ''decision'' has no posteriors') IS NULL
         ELSE ec._list_type_ok(NULL, score_type) AND ec._list_prior_ok(prior, score_type) END;

-- Public: one value a row, NULL for a row with a part missing or wrong ------------------------------------------------

CREATE OR REPLACE MACRO ec.bayes_decision(score DOUBLE, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior') AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) AND ec._prior_ok(prior) AND NOT ec._no_threshold(threshold, score_type)
         THEN invoke(lambda _s, _c: CASE WHEN ec._score_ok(_s, costs, score_type)
                         THEN CAST(ec._decide(_s, costs, _c, cost_fn, cost_fp, prior, threshold, score_type) AS INTEGER) END,
                     ec._likely(score, score_type, prior), ec._choices(ec._given_costs(costs))) END,
(score DOUBLE[], costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior') AS
    CASE WHEN NOT coalesce(ec._costs_ok(costs, cost_fn, cost_fp), false) OR ec._no_threshold(threshold, score_type) THEN NULL
         WHEN ec._decisions_ok(ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type) THEN invoke(lambda _v, _m, _c, _p: CASE
             WHEN ec._missing_vector(_v, 0, NULL) OR NOT ec._fits_prior(_p, ec._vector_classes(_v, _m, score_type)) THEN NULL
             WHEN ec._vector_ok(_v, _m, score_type) AND ec._vector_fits(_v, _m, score_type)
             THEN CAST(ec._decide_vector(_v, _m, _c, prior, score_type) AS INTEGER) END,
             ec._likely_list(score, score_type, prior), ec._vector_costs(costs, cost_fn, cost_fp),
             ec._choices(ec._vector_costs(costs, cost_fn, cost_fp)), ec._priors(prior)) END;
COMMENT ON MACRO ec.bayes_decision IS 'Index of the decision for each row: by the threshold if one is given, else the one with the lowest expected cost. argmin over j of sum_i c_ij q_i, lowest index on ties. Binary: 1 if score > threshold, strictly. For a posterior the default threshold is cost_fp / (cost_fp + cost_fn).';

CREATE OR REPLACE MACRO ec.row_cost(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior') AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) AND ec._prior_ok(prior) AND NOT ec._no_threshold(threshold, score_type)
         THEN invoke(lambda _s, _c: CASE WHEN ec._usable(_s, label, costs, score_type, NULL)
                         THEN CASE WHEN NOT ec._unset(costs)
                                   THEN ec._cost(ec._given_costs(costs), ec._class(label), ec._decide(_s, costs, _c, 1, 1, prior, threshold, score_type))
                                   ELSE ec._error_cost(cost_fn, cost_fp, ec._class(label),
                                                       ec._positive(_s, NULL, cost_fn, cost_fp, prior, threshold, score_type)) END END,
                     ec._likely(score, score_type, prior), ec._choices(ec._given_costs(costs))) END,
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior') AS
    CASE WHEN NOT coalesce(ec._costs_ok(costs, cost_fn, cost_fp), false) OR ec._no_threshold(threshold, score_type) THEN NULL
         WHEN ec._decisions_ok(ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type) THEN invoke(lambda _v, _m, _c, _p, _y: CASE
             WHEN ec._missing_vector(_v, label, NULL) OR NOT ec._fits_prior(_p, ec._vector_classes(_v, _m, score_type)) THEN NULL
             WHEN ec._vector_usable(_v, _y, _m, score_type, NULL) AND ec._vector_fits(_v, _m, score_type)
             THEN ec._cost(_m, _y, ec._decide_vector(_v, _m, _c, prior, score_type)) END,
             ec._likely_list(score, score_type, prior), ec._vector_costs(costs, cost_fn, cost_fp),
             ec._choices(ec._vector_costs(costs, cost_fn, cost_fp)), ec._priors(prior), ec._class(label)) END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior') AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) AND ec._prior_ok(prior) AND NOT ec._no_threshold(threshold, score_type)
         THEN invoke(lambda _s, _c: CASE WHEN ec._usable(_s, label, costs, score_type, NULL)
                         THEN CASE WHEN NOT ec._unset(costs)
                                   THEN ec._cost(ec._given_costs(costs), ec._class(label), ec._decide(_s, costs, _c, 1, 1, prior, threshold, score_type))
                                   ELSE ec._error_cost(cost_fn, cost_fp, ec._class(label),
                                                       ec._positive(_s, NULL, cost_fn, cost_fp, prior, threshold, score_type)) END END,
                     ec._likely(ec._boolean_decision(score, score_type), score_type, prior), ec._choices(ec._given_costs(costs))) END;
COMMENT ON MACRO ec.row_cost IS 'Cost of each row''s decision, given its class. Lower is better; in [least cost, largest cost]. c_ij for class i and decision j. The mean over rows is the `expected_cost` at the empirical priors.';

-- A score, and log-odds for an LLR: NaN where the prior contradicts it, an infinite one a prior of 0.
CREATE OR REPLACE MACRO ec._with_shift(score, score_type, prior) AS score + ec._llr_shift(prior, score_type);
CREATE OR REPLACE MACRO ec._pair_ok(pair) AS NOT coalesce(isnan(list_max(pair)), false);
CREATE OR REPLACE MACRO ec._holds_posterior(score_type) AS
    CASE WHEN score_type = 'decision' THEN error('ec: score_type ''decision'' has no posteriors') IS NULL
         ELSE ec._number_type_ok(score_type) END;

-- Casts are for arguments without their names, numbers say, which no score_type is.
CREATE OR REPLACE MACRO ec._row_log_loss(score, label, score_type, prior) AS
    CASE WHEN ec._holds_posterior(score_type) THEN
        invoke(lambda _z, _y, _p: CASE WHEN ec._pair_ok(_p) AND ec._number_fits(_z, 2, score_type) AND _y BETWEEN 0 AND 1
                   THEN CASE WHEN score_type = 'posterior' THEN CASE WHEN _y = 1 THEN -ln(_z) ELSE ec._minus_log1m(_z) END
                             WHEN score_type = 'percent' THEN CASE WHEN _y = 1 THEN -ln(_z / 100) ELSE ec._minus_log1m(_z / 100) END
                             ELSE ec._softplus(CASE WHEN _y = 1 THEN -_z ELSE _z END) END END,
               ec._with_shift(score, score_type, prior), ec._class(label), ec._prior_pair(prior)) END;
CREATE OR REPLACE MACRO ec._row_log_loss_vector(score, label, score_type, prior) AS
    CASE WHEN ec._list_losses_ok(prior, score_type) THEN
        invoke(lambda _v, _p, _y: CASE WHEN ec._missing_vector(_v, label, NULL) OR NOT ec._fits_prior(_p, len(_v)) THEN NULL
                                       WHEN ec._vector_usable(_v, _y, NULL, score_type, NULL) THEN ec._vector_log_loss(_v, _y, score_type, prior) END,
               ec._likely_list(score, score_type, prior), ec._priors(prior), ec._class(label)) END;
CREATE OR REPLACE MACRO ec.row_log_loss(score DOUBLE, label, score_type := 'posterior', prior := NULL) AS
    ec._row_log_loss(score, label, CAST(score_type AS VARCHAR), prior),
(score DOUBLE[], label, score_type := 'posterior', prior := NULL) AS
    ec._row_log_loss_vector(score, label, CAST(score_type AS VARCHAR), prior);
COMMENT ON MACRO ec.row_log_loss IS 'Log loss of each row: the negative natural logarithm of the posterior of its true class. Lower is better; in [0, inf] nats. -ln q_i for class i. The mean over rows is the `cross_entropy` at the empirical priors.';

CREATE OR REPLACE MACRO ec._row_brier(score, label, score_type, prior) AS
    CASE WHEN ec._holds_posterior(score_type) THEN
        invoke(lambda _z, _y, _p: CASE WHEN ec._pair_ok(_p) AND ec._number_fits(_z, 2, score_type) AND _y BETWEEN 0 AND 1
                   THEN pow(CASE WHEN score_type = 'posterior' THEN CASE WHEN _y = 1 THEN 1 - _z ELSE _z END
                                 WHEN score_type = 'percent' THEN CASE WHEN _y = 1 THEN 1 - _z / 100 ELSE _z / 100 END
                                 ELSE ec._sigmoid(CASE WHEN _y = 1 THEN -_z ELSE _z END) END, 2) END,
               ec._with_shift(score, score_type, prior), ec._class(label), ec._prior_pair(prior)) END;
CREATE OR REPLACE MACRO ec._row_brier_vector(score, label, score_type, prior) AS
    CASE WHEN ec._list_losses_ok(prior, score_type) THEN
        invoke(lambda _v, _p, _y: CASE WHEN ec._missing_vector(_v, label, NULL) OR NOT ec._fits_prior(_p, len(_v)) THEN NULL
                                       WHEN ec._vector_usable(_v, _y, NULL, score_type, NULL) THEN ec._vector_brier(_v, _y, score_type, prior) END,
               ec._likely_list(score, score_type, prior), ec._priors(prior), ec._class(label)) END;
CREATE OR REPLACE MACRO ec.row_brier(score DOUBLE, label, score_type := 'posterior', prior := NULL) AS
    ec._row_brier(score, label, CAST(score_type AS VARCHAR), prior),
(score DOUBLE[], label, score_type := 'posterior', prior := NULL) AS
    ec._row_brier_vector(score, label, CAST(score_type AS VARCHAR), prior);
COMMENT ON MACRO ec.row_brier IS 'Brier loss of each row: the mean over classes of the squared error of its posteriors. Lower is better; in [0, 2/K]. (1/K) sum_k (q_k - [k = i])^2 for class i. The mean over rows is the `brier` at the empirical priors.';

CREATE OR REPLACE MACRO ec._row_posterior(score, score_type, prior) AS
    CASE WHEN ec._holds_posterior(score_type) THEN
        invoke(lambda _z, _p: CASE WHEN ec._pair_ok(_p) AND ec._number_fits(_z, 2, score_type)
                                   THEN CASE WHEN score_type = 'posterior' THEN _z WHEN score_type = 'percent' THEN _z / 100
                                             ELSE ec._sigmoid(_z) END END,
               ec._with_shift(score, score_type, prior), ec._prior_pair(prior)) END;
CREATE OR REPLACE MACRO ec._row_posterior_vector(score, score_type, prior) AS
    CASE WHEN ec._list_losses_ok(prior, score_type) THEN
        invoke(lambda _v, _p: CASE WHEN ec._missing_vector(_v, 0, NULL) OR NOT ec._fits_prior(_p, len(_v)) THEN NULL
                                   WHEN ec._vector_ok(_v, NULL, score_type) THEN ec._posteriors(_v, score_type, prior) END,
               ec._likely_list(score, score_type, prior), ec._priors(prior)) END;
CREATE OR REPLACE MACRO ec.posterior(score DOUBLE, score_type := 'posterior', prior := NULL) AS
    ec._row_posterior(score, CAST(score_type AS VARCHAR), prior),
(score DOUBLE[], score_type := 'posterior', prior := NULL) AS
    ec._row_posterior_vector(score, CAST(score_type AS VARCHAR), prior);
COMMENT ON MACRO ec.posterior IS 'Posterior of each row''s score: for the positive class, or for every class with vector scores. In [0, 1]. Binary: 1/(1 + e^-x) for log-odds x; an LLR has log-odds of the LLR plus ln(P_1/P_0). Vectors: the softmax of log-likelihoods plus ln P.';

CREATE OR REPLACE MACRO ec._row_log_odds(score, score_type, prior) AS
    CASE WHEN ec._holds_posterior(score_type) THEN
        invoke(lambda _z, _p: CASE WHEN ec._pair_ok(_p) AND ec._number_fits(_z, 2, score_type)
                                   THEN CASE WHEN score_type = 'posterior' THEN ln(_z) + ec._minus_log1m(_z)
                                             WHEN score_type = 'percent' THEN ln(_z / 100) + ec._minus_log1m(_z / 100) ELSE _z END END,
               ec._with_shift(score, score_type, prior), ec._prior_pair(prior)) END;
CREATE OR REPLACE MACRO ec.log_odds(score DOUBLE, score_type := 'posterior', prior := NULL) AS
    ec._row_log_odds(score, CAST(score_type AS VARCHAR), prior),
(score DOUBLE[], score_type := 'posterior', prior := NULL) AS
    ec._row_log_odds(ec._pair(score, CAST(score_type AS VARCHAR)), ec._pair_type(CAST(score_type AS VARCHAR)), prior);
COMMENT ON MACRO ec.log_odds IS 'Log-odds ln(q_1/q_0) of each row''s binary score. In [-inf, inf], natural logarithm. For a posterior ln q_1 - ln(1 - q_1), for an LLR the LLR plus ln(P_1/P_0).';

CREATE OR REPLACE MACRO ec._no_prior_in(score_type) AS
    ec._fail('score_type ''' || score_type || ''' has no prior to shift');
-- Certainty of a class that the prior rules out goes nowhere.
CREATE OR REPLACE MACRO ec._unless_nan(x) AS invoke(lambda _x: CASE WHEN NOT isnan(_x) THEN _x END, x);
CREATE OR REPLACE MACRO ec._unless_nans(v) AS invoke(lambda _v: CASE WHEN NOT isnan(list_max(_v)) THEN _v END, v);
-- Without a prior an LLR could not be told from log-odds, so it is an argument without default.
CREATE OR REPLACE MACRO ec._row_llr(score, prior, score_type) AS
    CASE WHEN score_type = 'llr' THEN ec._no_prior_in(score_type)
         ELSE ec._unless_nan(ec._row_log_odds(score, score_type, prior) - ec._prior_log_odds(prior, 'llr')) END;
CREATE OR REPLACE MACRO ec.llr(score DOUBLE, prior, score_type := 'posterior') AS
    ec._row_llr(score, prior, score_type),
(score DOUBLE[], prior, score_type := 'posterior') AS
    ec._row_llr(ec._pair(score, score_type), prior, ec._pair_type(score_type));
COMMENT ON MACRO ec.llr IS 'Log-likelihood ratio of each row''s binary score: its log-odds minus those of its own prior. In [-inf, inf], natural logarithm. ln(q_1/q_0) - ln(P_1/P_0).';

CREATE OR REPLACE MACRO ec._scaled(q, factor1, factor0) AS q * factor1 / (q * factor1 + (1 - q) * factor0);
CREATE OR REPLACE MACRO ec._pair_log_odds(pair) AS ln(pair[2]) - ln(pair[1]);
-- Are both priors stated, and has every class a prior above 0 that the scores can come from?
CREATE OR REPLACE MACRO ec._both_stated(from_, "to") AS
    CASE WHEN ec._unset(from_) OR ec._unset("to") THEN error('ec: shift_prior needs two priors, from_ and to') IS NULL ELSE true END;
CREATE OR REPLACE MACRO ec._comes_from(least, from_) AS
    CASE WHEN least > 0 THEN true
         WHEN ec._may_be_column(typeof(from_)) OR from_ IS NULL THEN false
         ELSE error('ec: from_ has a class of prior 0, which posteriors cannot have: ' || CAST(from_ AS VARCHAR)) IS NULL END;
CREATE OR REPLACE MACRO ec._shift_ok(from_, "to", least) AS ec._both_stated(from_, "to") AND ec._comes_from(least, from_);
CREATE OR REPLACE MACRO ec._shifted(score, from_, "to", score_type) AS
    CASE WHEN ec._both_stated(from_, "to") AND ec._number_type_ok(score_type) THEN
        ec._unless_nan(invoke(lambda _s, _f, _t, _ok: CASE
            WHEN NOT (_ok AND ec._number_fits(_s, 2, score_type) AND ec._pair_ok(_f) AND ec._pair_ok(_t)) THEN NULL
            WHEN score_type = 'log_odds' THEN _s + (ec._pair_log_odds(_t) - ec._pair_log_odds(_f))
            WHEN score_type = 'percent' THEN 100 * ec._scaled(_s / 100, _t[2] / _f[2], _t[1] / _f[1])
            ELSE ec._scaled(_s, _t[2] / _f[2], _t[1] / _f[1]) END,
        score, ec._prior_pair(from_), ec._prior_pair("to"), ec._comes_from(list_min(ec._prior_pair(from_)), from_))) END;
-- The same of K classes, with [] for 'uniform': it is a constant factor on either side, which the normalisation removes.
CREATE OR REPLACE MACRO ec._weighed(score, from_, "to", score_type) AS
    invoke(lambda _v, _f, _t, _ok: CASE
            WHEN NOT _ok OR ec._missing_vector(_v, 0, NULL) OR NOT ec._vector_ok(_v, NULL, score_type)
                 OR NOT ec._fits_prior(_f, len(_v)) OR NOT ec._fits_prior(_t, len(_v)) THEN NULL
            WHEN score_type = 'log_posteriors'
            THEN list_transform(_v, lambda _x, _i: _x + (ln(coalesce(_t[_i], 1e0)) - ln(coalesce(_f[_i], 1e0))))
            ELSE list_transform(_v, lambda _x, _i: _x * (coalesce(_t[_i], 1e0) / coalesce(_f[_i], 1e0))) END,
        score, ec._priors(from_), ec._priors("to"), ec._shift_ok(from_, "to", coalesce(list_min(ec._priors(from_)), 1)) AND ec._list_type_ok(NULL, score_type));
CREATE OR REPLACE MACRO ec._shifted_vector(score, from_, "to", score_type) AS
    invoke(lambda _n: list_transform(_n['u'], lambda _x: CASE WHEN score_type = 'log_posteriors' THEN _x - _n['s'] ELSE _x / _n['s'] END),
        invoke(lambda _u: {'u': _u, 's': CASE WHEN score_type = 'log_posteriors' THEN ec._log_sum(_u) ELSE list_sum(_u) END},
            ec._weighed(score, from_, "to", score_type)));
CREATE OR REPLACE MACRO ec.shift_prior(score DOUBLE, from_, "to", score_type := 'posterior') AS
    CASE WHEN score_type = 'llr' THEN ec._no_prior_in(score_type)
         WHEN score_type = 'decision' THEN ec._no_prior_in(score_type)
         ELSE ec._shifted(score, from_, "to", CAST(score_type AS VARCHAR)) END,
(score DOUBLE[], from_, "to", score_type := 'posterior') AS
    CASE WHEN score_type IN ('log_likelihoods', 'decision') THEN [ec._no_prior_in(score_type)]
         ELSE ec._unless_nans(ec._shifted_vector(score, from_, "to", CAST(score_type AS VARCHAR))) END;
COMMENT ON MACRO ec.shift_prior IS 'Move scores to a different prior: q_i to_i/from_i, renormalised, or log_odds + ln(to/(1-to)) - ln(from_/(1-from_)).';
-- polars_ec for DuckDB, file 2 of 12: sums of a group of rows, and the counts that are answers in themselves.
-- Load after rows. Everything here is plain sums of CASE: the engine shares equal ones, so ten metrics cost hardly more
-- than one. An aggregate is bound to a name with list_transform([aggregate], lambda s: ...)[1], because a subquery in a
-- macro would run once per row. Fields are written s['field'], for in HAVING DuckDB takes s.field for a column.

-- Sums ----------------------------------------------------------------------------------------------------------------

-- count_if over no rows is NULL.
CREATE OR REPLACE MACRO ec._count(condition) AS coalesce(count_if(condition), 0);

-- CASE, and not a product with 0 or 1: a row that misses its score or label may have any weight, NaN say.
CREATE OR REPLACE MACRO ec._sum_weights(condition, weight) AS
    CAST(coalesce(sum(CASE WHEN condition THEN weight ELSE 0 END), 0) AS DOUBLE);
-- Weights whose sum comes near the largest number make no metric, for what is made of it would overflow.
CREATE OR REPLACE MACRO ec._addable(total) AS total < 1e300;

-- A row of weight 0 counts as no row, whatever its value (0 * inf would be NaN).
CREATE OR REPLACE MACRO ec._weighted(value, weight "NULL") AS value,
(value, weight) AS CASE WHEN CAST(weight AS DOUBLE) = 0 THEN 0 ELSE value * CAST(weight AS DOUBLE) END;

-- A row of class i with nothing missing. Whether it is wrong need not be asked: one wrong row, and the metric is NULL.
CREATE OR REPLACE MACRO ec._of_class(i, score, label) AS ec._y(label) = i AND score IS NOT NULL;

-- A loss, weighted if there are weights, summed over the rows of class i; it is worked out for them only.
CREATE OR REPLACE MACRO ec._sum_loss(i, score, label, loss) AS
    sum(CASE WHEN ec._of_class(i, score, label) THEN loss ELSE 0 END);
-- The Brier loss of a posterior is finite and cheap: a product with 0 or 1 takes half the time of CASE. (Of an LLR it may be
-- NaN, where the prior is 0 or 1.)
CREATE OR REPLACE MACRO ec._sum_brier(i, score, label, loss, score_type "NULL") AS
    sum(CAST(ec._of_class(i, score, label) AS DOUBLE) * loss),
(i, score, label, loss, score_type) AS ec._sum_loss(i, score, label, loss);

-- Rows of a class, or their weights. Class 0 is counted as the rest of the rows that miss nothing, for the engine shares these
-- counts with other metrics; a label that is not a class is wrong, and leaves no metric. With weights a difference would lose digits.
CREATE OR REPLACE MACRO ec._size1(score, label, weight "NULL") AS ec._count(ec._of_class(1, score, label)),
(score, label, weight) AS ec._sum_weights(ec._of_class(1, score, label), weight);
CREATE OR REPLACE MACRO ec._size0(score, label, weight "NULL") AS
    count(*) - ec._count(ec._missing(score, label, weight)) - ec._size1(score, label, weight),
(score, label, weight) AS ec._sum_weights(ec._of_class(0, score, label), weight);

-- Nothing missing but something wrong, with a shorter text where no costs, no weight are given. There ec._number_ok is NULL
-- for a missing score, which is not counted.
CREATE OR REPLACE MACRO ec._label_wrong(score, label BOOLEAN) AS false,
(score, label) AS score IS NOT NULL AND label IS NOT NULL AND NOT coalesce(ec._class(label) BETWEEN 0 AND 1, false);
CREATE OR REPLACE MACRO ec._wrong(score, label, costs "NULL", score_type, weight "NULL") AS
    costs IS NULL AND weight IS NULL
    AND (label IS NOT NULL AND NOT ec._number_ok(score, 2, score_type) OR ec._label_wrong(score, label)),
(score, label, costs "NULL", score_type, weight) AS
    costs IS NULL AND (NOT ec._missing(score, label, weight) AND NOT (ec._number_ok(score, 2, score_type) AND ec._weight_ok(weight))
                       OR weight IS NOT NULL AND ec._label_wrong(score, label)),
(score, label, costs, score_type, weight) AS
    NOT ec._missing(score, label, weight) AND NOT coalesce(ec._usable(score, label, costs, score_type, weight), false);

CREATE OR REPLACE MACRO ec._count_invalid(score, label, costs, score_type, weight) AS
    ec._count(ec._wrong(score, label, costs, score_type, weight));

-- Binary cells --------------------------------------------------------------------------------------------------------

-- The prior that is stated, a number or a list of two: a literal NULL where none is, NULL or NaN of a type where it is not a prior or
-- not one in the group. `kind` is the prior again, for the overloads, because a parameter that has a type casts its argument. An
-- aggregate has no type yet when the macro is expanded, and comes first; it is the group's already.
CREATE OR REPLACE MACRO ec._constant(low, high) AS CASE WHEN low = high THEN low END;
CREATE OR REPLACE MACRO ec._given_prior(kind DOUBLE, prior) AS
    ec._constant(min(kind), max(ec._number_prior(prior))),
(kind, prior) AS
    [ec._constant(min(ec._p0(prior)), max(ec._prior0(prior))), ec._constant(min(ec._p1(prior)), max(ec._prior1(prior)))];
CREATE OR REPLACE MACRO ec._prior_of_kind(kind "NULL", prior) AS prior, (kind, prior) AS ec._given_prior(prior, prior);
CREATE OR REPLACE MACRO ec._stated_prior(prior) AS ec._prior_of_kind(prior, prior);

-- P1 and P0 from the class sums n1 and n0 and the stated prior. P0 is not 1 - P1 of the group, which would lose the digits
-- of a rare negative class.
CREATE OR REPLACE MACRO ec._share(n, rest) AS n / nullif(n + rest, 0);
CREATE OR REPLACE MACRO ec._stated_1(prior DOUBLE) AS CASE WHEN ec._share_ok(prior) THEN prior END,
(prior) AS CASE WHEN ec._sums_to_1(CAST(prior AS DOUBLE[]), 2) THEN CAST(prior AS DOUBLE[])[2] END;
CREATE OR REPLACE MACRO ec._stated_0(prior DOUBLE) AS CASE WHEN ec._share_ok(prior) THEN 1 - prior END,
(prior) AS CASE WHEN ec._sums_to_1(CAST(prior AS DOUBLE[]), 2) THEN CAST(prior AS DOUBLE[])[1] END;
CREATE OR REPLACE MACRO ec._prior_of_1(n1, n0, prior "NULL") AS ec._share(n1, n0),
(n1, n0, prior) AS CASE WHEN n1 + n0 > 0 THEN ec._stated_1(prior) END;
CREATE OR REPLACE MACRO ec._prior_of_0(n1, n0, prior "NULL") AS ec._share(n0, n1),
(n1, n0, prior) AS CASE WHEN n1 + n0 > 0 THEN ec._stated_0(prior) END;

-- Rows that leave the group without a value: wrong ones, and those without the threshold that they were to have.
CREATE OR REPLACE MACRO ec._count_unusable(score, label, costs, prior, threshold "NULL", score_type, weight) AS
    coalesce(threshold, ec._count_invalid(ec._likely(score, score_type, prior), label, costs, score_type, weight)),
(score, label, costs, prior, threshold, score_type, weight) AS
    ec._count(ec._wrong(ec._likely(score, score_type, prior), label, costs, score_type, weight) OR ec._no_threshold(threshold, score_type));

-- ec._llr_shift and ec._positive, with a shorter text where no prior, no costs are given, and shorter yet for posteriors.
-- Decisions under costs that are not 2 x 2 are counted elsewhere, see ec._means: none is positive here.
CREATE OR REPLACE MACRO ec._shift(prior "NULL", score_type) AS
    CASE WHEN score_type = 'llr' THEN ec._no_prior(score_type) ELSE 0 END,
(prior, score_type) AS ec._llr_shift(prior, score_type);
CREATE OR REPLACE MACRO ec._positives(score, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type "NULL") AS
    score > ec._posterior_threshold(threshold, cost_fn, cost_fp),
(score, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type) AS
    score > ec._threshold(ec._bayes_threshold(CAST(cost_fp AS DOUBLE), CAST(cost_fn AS DOUBLE), score_type) - ec._shift(prior, score_type),
                          threshold, score_type),
(score, costs, cost_fn, cost_fp, prior, threshold, score_type) AS
    CASE WHEN ec._wide(costs) THEN nullif(score IS NULL, true)
         ELSE ec._positive(score, costs, cost_fn, cost_fp, prior, threshold, score_type) END;

CREATE OR REPLACE MACRO ec._cells_of(n1, n0, tn, fp, fn, tp, prior) AS {
    'n1': n1, 'n0': n0, 'tn': tn, 'fp': fp, 'fn': fn, 'tp': tp,
    'p1': ec._prior_of_1(n1, n0, prior), 'p0': ec._prior_of_0(n1, n0, prior)};
CREATE OR REPLACE MACRO ec._cells_of_sums(sums) AS
    list_transform(list_transform(sums, lambda _s: CASE WHEN _s['invalid'] = 0 THEN {
            'c': _s, 'n1': _s['fn'] + _s['tp'], 'n0': _s['tn'] + _s['fp'], 'prior': _s['prior']} END),
        lambda _g: CASE WHEN ec._addable(_g['n1'] + _g['n0']) THEN ec._cells_of(
            _g['n1'], _g['n0'], _g['c']['tn'], _g['c']['fp'], _g['c']['fn'], _g['c']['tp'], _g['prior']) END);

-- Cells and priors of a group, in a list of one: NULL when a row is wrong. A comparison with a missing score is NULL and not
-- counted. Counts take two sums of decisions, for the other two cells are the rest of their class, and the engine shares the
-- sums of the classes with the scoring rules. With weights each cell is summed by itself: a difference would lose digits.
CREATE OR REPLACE MACRO ec._sum_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight "NULL") AS
    list_transform([{
            'invalid': ec._count_unusable(score, label, costs, prior, threshold, score_type, weight), 'prior': ec._stated_prior(prior),
            'n1': ec._size1(score, label, weight), 'n0': ec._size0(score, label, weight),
            'fp': ec._count(ec._y(label) = 0 AND ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type)),
            'tp': ec._count(ec._y(label) = 1 AND ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type))}],
        lambda _s: CASE WHEN _s['invalid'] = 0 THEN
            ec._cells_of(_s['n1'], _s['n0'], _s['n0'] - _s['fp'], _s['fp'], _s['n1'] - _s['tp'], _s['tp'], _s['prior']) END),
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._cells_of_sums([{
        'invalid': ec._count_unusable(score, label, costs, prior, threshold, score_type, weight), 'prior': ec._stated_prior(prior),
        'tn': ec._sum_weights(ec._y(label) = 0 AND NOT ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type), weight),
        'fp': ec._sum_weights(ec._y(label) = 0 AND ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type), weight),
        'fn': ec._sum_weights(ec._y(label) = 1 AND NOT ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type), weight),
        'tp': ec._sum_weights(ec._y(label) = 1 AND ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type), weight)}]);

CREATE OR REPLACE MACRO ec._posterior_cells(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, weight) AS
    ec._sum_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, NULL, weight),
(score, label, costs, cost_fn, cost_fp, prior, threshold, weight) AS
    ec._sum_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, 'posterior', weight);
CREATE OR REPLACE MACRO ec._cells_by(type "NULL", score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._sum_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, CAST(score_type AS VARCHAR), weight),
(type, score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._posterior_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, weight);
CREATE OR REPLACE MACRO ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._cells_by(ec._posterior_type(score_type), score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);

-- K classes -----------------------------------------------------------------------------------------------------------

-- One integer for (number of classes, class, decision); -1 for a wrong row, NULL for a missing one: one histogram of it
-- holds every count of a group.
CREATE OR REPLACE MACRO ec._key(k, y, d) AS (CAST(k AS BIGINT) << 40) + (CAST(y AS BIGINT) << 20) + d;

-- A list of other classes than the costs' is not decided, but counted under the classes that it has: see ec._classes_ok.
CREATE OR REPLACE MACRO ec._undecided(threshold "NULL", score_type) AS threshold IS NOT NULL,
(threshold, score_type) AS ec._no_threshold(threshold, score_type);
CREATE OR REPLACE MACRO ec._key_of_row(score, label, matrix, prior, score_type, weight) AS
    invoke(lambda _v, _m, _c, _y: CASE
        WHEN ec._missing_vector(_v, label, weight) THEN NULL
        WHEN ec._vector_usable(_v, _y, _m, score_type, weight)
        THEN ec._key(ec._vector_classes(_v, _m, score_type), _y,
                     CASE WHEN ec._vector_fits(_v, _m, score_type) THEN ec._decide_vector(_v, _m, _c, prior, score_type) ELSE 0 END)
        ELSE -1 END, ec._likely_list(score, score_type, prior), matrix, ec._choices(matrix), ec._class(label));
CREATE OR REPLACE MACRO ec._key_by(type "NULL", score, label, matrix, prior, score_type, weight) AS
    ec._key_of_row(score, label, matrix, prior, score_type, weight),
(type, score, label, matrix, prior, score_type, weight) AS ec._key_of_row(score, label, matrix, prior, NULL, weight);
CREATE OR REPLACE MACRO ec._vector_key(score, label, matrix, prior, threshold, score_type, weight) AS
    CASE WHEN ec._undecided(threshold, score_type) THEN -1
         WHEN ec._decisions_ok(matrix, prior, threshold, CAST(score_type AS VARCHAR))
         THEN ec._key_by(ec._posteriors_type(score_type), score, label, matrix, prior, CAST(score_type AS VARCHAR), weight) END;

-- The same without a decision.
CREATE OR REPLACE MACRO ec._class_key_of_row(score, label, matrix, score_type, weight) AS
    invoke(lambda _v, _m, _y: CASE
        WHEN ec._missing_vector(_v, label, weight) THEN NULL
        WHEN ec._vector_usable(_v, _y, _m, score_type, weight) THEN ec._key(ec._vector_classes(_v, _m, score_type), _y, 0)
        ELSE -1 END, score, matrix, ec._class(label));
CREATE OR REPLACE MACRO ec._class_key_by(type "NULL", score, label, matrix, score_type, weight) AS
    ec._class_key_of_row(score, label, matrix, score_type, weight),
(type, score, label, matrix, score_type, weight) AS ec._class_key_of_row(score, label, matrix, NULL, weight);
CREATE OR REPLACE MACRO ec._vector_class_key(score, label, matrix, score_type, weight) AS
    CASE WHEN ec._list_type_ok(matrix, CAST(score_type AS VARCHAR))
         THEN ec._class_key_by(ec._posteriors_type(score_type), score, label, matrix, CAST(score_type AS VARCHAR), weight) END;

-- A histogram of keys as a list of cells {k, y, d, n}; wrong rows have k = -1.
CREATE OR REPLACE MACRO ec._tally(histogram) AS
    list_transform(coalesce(map_entries(histogram), []), lambda _e: {
        'k': _e['key'] >> 40, 'y': (_e['key'] >> 20) & 1048575, 'd': _e['key'] & 1048575, 'n': CAST(_e['value'] AS DOUBLE)});

-- The same where each key carries a weight.
CREATE OR REPLACE MACRO ec._weighted_tally(histogram) AS
    list_transform(coalesce(map_entries(histogram), []), lambda _e: {
        'k': _e['key']['key'] >> 40, 'y': (_e['key']['key'] >> 20) & 1048575, 'd': _e['key']['key'] & 1048575, 'n': _e['key']['weight'] * _e['value']});

-- A wrong row's weight is of no interest, and may be NaN.
CREATE OR REPLACE MACRO ec._weighted_key(key, weight) AS
    invoke(lambda _k: CASE WHEN _k IS NULL THEN NULL
                           WHEN _k < 0 THEN {'key': _k, 'weight': 1e0}
                           ELSE {'key': _k, 'weight': ec._weight(weight)} END, key);

CREATE OR REPLACE MACRO ec._total(cells) AS coalesce(list_sum(list_transform(cells, lambda _c: _c['n'])), 0);

-- Rows whose length is not the costs', or else the group's largest, are wrong too.
CREATE OR REPLACE MACRO ec._tally_classes(tally) AS list_max(list_transform(tally, lambda _c: _c['k']));
CREATE OR REPLACE MACRO ec._tally_invalid(tally, k) AS
    list_transform([tally], lambda _t:
        ec._total(list_filter(_t, lambda _c: _c['k'] < 0 OR _c['k'] <> coalesce(k, ec._tally_classes(_t)))))[1];

-- True, or an error where all rows that are usable are of the same number of classes, and it is not k. A k of NULL is any.
CREATE OR REPLACE MACRO ec._classes_ok(tally, k) AS
    list_transform([list_filter(list_transform(tally, lambda _c: _c['k']), lambda _k: _k > 0)], lambda _k:
        CASE WHEN list_min(_k) = list_max(_k) AND list_max(_k) <> k
             THEN error(format('ec: the lists have {} classes, but this metric or its costs (cost_fn, cost_fp) have {}: '
                               || 'pass costs with one row per class, or the posterior of one class and label = that class',
                               list_max(_k), k)) IS NULL
             ELSE true END)[1];

-- Is any row wrong, or the sum of the weights too large? Weights may be 0, so this looks at the cells that are there; and once
-- over, for there may be many.
CREATE OR REPLACE MACRO ec._any_wrong(tally) AS
    list_transform([{'k': list_transform(tally, lambda _c: _c['k']), 'n': ec._total(tally)}], lambda _s:
        coalesce(list_min(_s['k']) < 0 OR list_min(_s['k']) <> list_max(_s['k']) OR NOT ec._addable(_s['n']), false))[1];

CREATE OR REPLACE MACRO ec._count_vector(score, label, matrix, score_type, weight) AS
    ec._tally(histogram(ec._vector_class_key(score, label, matrix, score_type, weight)));
CREATE OR REPLACE MACRO ec._two_classes(score, label, score_type, weight) AS
    ec._classes_ok(ec._count_vector(score, label, CAST(NULL AS DOUBLE[][]), score_type, weight), 2);

-- Sums per class of a value of the row, NULL for a row that misses a part. The number of classes is not known while the macro is written,
-- so there are 32 sums; of lists of more classes the rows of a group are kept, {y class, w weight, s value}.
CREATE OR REPLACE MACRO ec._sum_class(i, label, value) AS sum(invoke(lambda _x: CASE WHEN ec._y(label) = i THEN _x END, value));
CREATE OR REPLACE MACRO ec._sum_by_class(label, value) AS [
    ec._sum_class(0, label, value), ec._sum_class(1, label, value), ec._sum_class(2, label, value), ec._sum_class(3, label, value),
    ec._sum_class(4, label, value), ec._sum_class(5, label, value), ec._sum_class(6, label, value), ec._sum_class(7, label, value),
    ec._sum_class(8, label, value), ec._sum_class(9, label, value), ec._sum_class(10, label, value), ec._sum_class(11, label, value),
    ec._sum_class(12, label, value), ec._sum_class(13, label, value), ec._sum_class(14, label, value), ec._sum_class(15, label, value),
    ec._sum_class(16, label, value), ec._sum_class(17, label, value), ec._sum_class(18, label, value), ec._sum_class(19, label, value),
    ec._sum_class(20, label, value), ec._sum_class(21, label, value), ec._sum_class(22, label, value), ec._sum_class(23, label, value),
    ec._sum_class(24, label, value), ec._sum_class(25, label, value), ec._sum_class(26, label, value), ec._sum_class(27, label, value),
    ec._sum_class(28, label, value), ec._sum_class(29, label, value), ec._sum_class(30, label, value), ec._sum_class(31, label, value)];
CREATE OR REPLACE MACRO ec._kept(prior "NULL", score, label, weight "NULL", value) AS CAST(NULL AS STRUCT(y INTEGER, w DOUBLE, s DOUBLE)[]),
(prior, score, label, weight, value) AS
    list({'y': ec._y(label), 'w': CAST(ec._weight(weight) AS DOUBLE), 's': CAST(value AS DOUBLE)}) FILTER (WHERE len(score) > 32);
CREATE OR REPLACE MACRO ec._of_kept(rows, k, part) AS
    list_transform(range(k), lambda _i: list_sum(list_transform(list_filter(rows, lambda _r: _r['y'] = _i AND _r['s'] IS NOT NULL), lambda _r: _r[part])));
CREATE OR REPLACE MACRO ec._each_sum(sums, rows, k, part) AS
    list_transform(CASE WHEN k > 32 THEN ec._of_kept(rows, k, part) ELSE sums[1:k] END, lambda _x: coalesce(_x, 0));

-- 1 for a row that misses nothing, else NULL.
CREATE OR REPLACE MACRO ec._whole_row(score, label, weight) AS
    invoke(lambda _v: CASE WHEN NOT ec._missing_vector(_v, label, weight) THEN 1e0 END, score);

-- Weights per class; nothing is summed where no weight is given: then the histogram has the counts.
CREATE OR REPLACE MACRO ec._weight_by_class(score, label, weight "NULL") AS CAST(NULL AS DOUBLE[]),
(score, label, weight) AS
    ec._sum_by_class(label, invoke(lambda _v: CASE WHEN NOT ec._missing_vector(_v, label, weight) THEN CAST(weight AS DOUBLE) END, score));

-- Any metric is sum_i P_i * (s_i / n_i): class sums n and s of the group, and priors p. A term with prior 0 is 0; a class
-- with prior > 0 and no rows makes the whole NULL (list_reduce keeps NULL, list_sum would skip it).
CREATE OR REPLACE MACRO ec._term(p, x) AS CASE WHEN p = 0 THEN 0e0 ELSE p * x END;
CREATE OR REPLACE MACRO ec._ratio(x, y) AS x / nullif(y, 0);
CREATE OR REPLACE MACRO ec._plus(terms) AS list_reduce(terms, lambda _a, _b: _a + _b, 0e0);
CREATE OR REPLACE MACRO ec._each_mean(n, s) AS list_transform(n, lambda _x, _i: ec._ratio(s[_i], _x));
CREATE OR REPLACE MACRO ec._expect(p, means) AS
    invoke(lambda _p, _m: ec._plus(list_transform(_p, lambda _x, _i: ec._term(_x, _m[_i]))), p, means);

-- Is a stated prior one list in the group?
CREATE OR REPLACE MACRO ec._priors_hold(prior "NULL") AS prior IS NULL,
(prior) AS coalesce(min(ec._priors(prior)) = max(ec._priors(prior)) AND NOT coalesce(isnan(max(ec._priors(prior))[1]), false), false);

-- Priors of K classes: stated, uniform, or n/N. NULL for a prior that is none or not one list in the group.
CREATE OR REPLACE MACRO ec._class_priors(n, low, high) AS invoke(lambda _n, _low, _high:
    CASE WHEN list_sum(_n) = 0 OR NOT ec._addable(list_sum(_n)) THEN NULL
         WHEN _high IS NULL THEN list_transform(_n, lambda _x: _x / list_sum(_n))
         WHEN _low <> _high THEN NULL
         WHEN len(CAST(_high AS DOUBLE[])) = 0 THEN list_transform(_n, lambda _x: 1e0 / len(_n))
         WHEN isnan(CAST(_high AS DOUBLE[])[1]) THEN NULL
         WHEN len(CAST(_high AS DOUBLE[])) = len(_n) THEN CAST(_high AS DOUBLE[])
         ELSE [ec._fail('prior has ' || CAST(len(CAST(_high AS DOUBLE[])) AS VARCHAR) || ' numbers for ' || CAST(len(_n) AS VARCHAR)
                        || ' classes: ' || CAST(_high AS VARCHAR))] END, n, low, high);

-- Lists of the values of each key, 0 .. n - 1, given both sorted by the key; NULL for a key that does not occur.
CREATE OR REPLACE MACRO ec._runs(values_, keys, n) AS
    invoke(lambda _v, _k, _r: list_transform(range(n), lambda _i: CASE WHEN list_position(_k, _i) IS NOT NULL
               THEN _v[list_position(_k, _i) : len(_k) + 1 - list_position(_r, _i)] END), values_, keys, list_reverse(keys));
CREATE OR REPLACE MACRO ec._part(cells, part) AS list_transform(cells, lambda _c: _c[part]);
CREATE OR REPLACE MACRO ec._cells_by_class(tally, k) AS ec._runs(tally, ec._part(tally, 'y'), k);
CREATE OR REPLACE MACRO ec._tally_n(tally, k) AS
    list_transform(ec._runs(ec._part(tally, 'n'), ec._part(tally, 'y'), k), lambda _n: coalesce(list_sum(_n), 0));

-- Class sums n of a group of list rows; NULL when a row is wrong. Without weights there are no sums of them.
CREATE OR REPLACE MACRO ec._class_n(tally, sums, rows) AS
    CASE WHEN len(tally) = 0 OR ec._any_wrong(tally) THEN NULL
         WHEN sums IS NULL THEN ec._tally_n(tally, ec._tally_classes(tally))
         ELSE ec._each_sum(sums, rows, ec._tally_classes(tally), 'w') END;

CREATE OR REPLACE MACRO ec._tally_cell(tally, i, j) AS ec._total(list_filter(tally, lambda _c: _c['y'] = i AND _c['d'] = j));
CREATE OR REPLACE MACRO ec._matrix(tally, k, m) AS
    list_transform(ec._cells_by_class(tally, k), lambda _t:
        list_transform(ec._runs(coalesce(ec._part(_t, 'n'), []), coalesce(ec._part(_t, 'd'), []), m), lambda _n: coalesce(list_sum(_n), 0)));

-- Binary metrics of costs that are not a 2 x 2 matrix are errors.
CREATE OR REPLACE MACRO ec._two_by_two(costs) AS
    CASE WHEN ec._wide(costs)
         THEN error('ec: a single score needs 2 x 2 costs. For other costs pass a list: [1 - q, q], or [decision] with score_type ''decision''') IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec._two_rows(m) AS
    CASE WHEN len(m) > 2
         THEN error('ec: a single score and a single prior are for 2 classes. For more pass a list: posteriors, or [decision] with score_type ''decision''') IS NULL
         ELSE true END;

-- Costs of which a count needs the shape only.
CREATE OR REPLACE MACRO ec._shape_ok(costs "NULL") AS costs IS NULL, (costs) AS ec._costs_ok(costs, 1, 1);

-- Decided cells {k, y, d, n} of lists of scores. With weights the histogram has one entry for each different weight: a
-- sketch has few, a log with a weight of its own in each row many, and they are held in memory.
CREATE OR REPLACE MACRO ec._tally_vector(score, label, matrix, prior, threshold, score_type, weight) AS
    list_transform([{
            'counts': histogram(CASE WHEN ec._unset(weight) THEN
                          ec._vector_key(score, label, matrix, prior, threshold, score_type, weight) END),
            'weights': histogram(CASE WHEN ec._unset(weight) THEN NULL ELSE ec._weighted_key(
                           ec._vector_key(score, label, matrix, prior, threshold, score_type, weight), weight) END)}],
        lambda _s: list_concat(ec._tally(_s['counts']), ec._weighted_tally(_s['weights'])))[1];

-- Cells of lists of two scores.
CREATE OR REPLACE MACRO ec._cells_vector(score, label, matrix, prior, threshold, score_type, weight) AS
    ec._cells_of_sums(list_transform([{
            't': ec._tally_vector(score, label, matrix, prior, threshold, score_type, weight),
            'prior': ec._stated_prior(prior)}],
        lambda _s: CASE WHEN ec._classes_ok(_s['t'], 2) THEN {'invalid': len(list_filter(_s['t'], lambda _c: _c['k'] <> 2)), 'prior': _s['prior'],
                   'tn': ec._tally_cell(_s['t'], 0, 0), 'fp': ec._tally_cell(_s['t'], 0, 1),
                   'fn': ec._tally_cell(_s['t'], 1, 0), 'tp': ec._tally_cell(_s['t'], 1, 1)} END));

-- Rows that lack the costs that they were to have.
CREATE OR REPLACE MACRO ec._count_uncosted(cost_fn, cost_fp) AS
    ec._count(NOT coalesce(ec._binary_costs_ok(cost_fn, cost_fp), false));

-- The cells of scores and of lists of two, where the costs are 2 x 2.
CREATE OR REPLACE MACRO ec._cells_of_costs(kind "NULL", score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    CASE WHEN ec._binary_costs_ok(cost_fn, cost_fp)
         THEN ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) END,
(kind, score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform([{
            'c': ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
            'uncosted': ec._count_uncosted(cost_fn, cost_fp)}],
        lambda _g: CASE WHEN _g['uncosted'] = 0 THEN _g['c'] END);
CREATE OR REPLACE MACRO ec._binary_cells(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._cells_of_costs(ec._column_type(cost_fn, cost_fp), score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform([{
            'c': ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
            'm': ec._given_costs(costs)}],
        lambda _g: CASE WHEN ec._one_way(cost_fn, cost_fp) AND ec._two_rows(_g['m']) AND ec._two_by_two(_g['m'])
                             AND ec._matrix_ok(_g['m'], costs) THEN _g['c'] END);
CREATE OR REPLACE MACRO ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    CASE WHEN ec._two_by_two(costs) AND ec._costs_ok(costs, cost_fn, cost_fp)
         THEN ec._cells_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight) END;

-- Public --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.n_rows(score DOUBLE, label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(
        count(*) - ec._count(ec._missing(score, label, weight)) - ec._count_invalid(score, label, costs, score_type, weight) AS BIGINT) END,
(score DOUBLE[], label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN
        list_transform([{'t': ec._count_vector(score, label, ec._given_costs(costs), score_type, weight), 'c': ec._given_costs(costs)}],
                       lambda _s: CAST(ec._total(_s['t']) - ec._tally_invalid(_s['t'], len(_s['c'])) AS BIGINT))[1] END,
(score BOOLEAN, label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(
        count(*) - ec._count(ec._missing(ec._boolean_decision(score, score_type), label, weight)) - ec._count_invalid(ec._boolean_decision(score, score_type), label, costs, score_type, weight) AS BIGINT) END;
COMMENT ON MACRO ec.n_rows IS 'Number of valid rows: no missing value, no invalid value.';

CREATE OR REPLACE MACRO ec.n_missing(score DOUBLE, label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._count(ec._missing(score, label, weight)) AS BIGINT) END,
(score DOUBLE[], label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._count(ec._missing_vector(score, label, weight)) AS BIGINT) END,
(score BOOLEAN, label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._count(ec._missing(ec._boolean_decision(score, score_type), label, weight)) AS BIGINT) END;
COMMENT ON MACRO ec.n_missing IS 'Number of rows with missing values, which are left out: label, score (or an element of it) or weight is NULL.';

CREATE OR REPLACE MACRO ec.n_invalid(score DOUBLE, label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._count_invalid(score, label, costs, score_type, weight) AS BIGINT) END,
(score DOUBLE[], label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._tally_invalid(
        ec._count_vector(score, label, ec._given_costs(costs), score_type, weight), len(ec._given_costs(costs))) AS BIGINT) END,
(score BOOLEAN, label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._shape_ok(costs) THEN CAST(ec._count_invalid(ec._boolean_decision(score, score_type), label, costs, score_type, weight) AS BIGINT) END;
COMMENT ON MACRO ec.n_invalid IS 'Number of invalid rows: NaN, a posterior outside 0..1, a label that is not a class, or a negative or infinite weight.';

CREATE OR REPLACE MACRO ec.class_prior(score DOUBLE, label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform([{'invalid': ec._count_invalid(score, label, costs, score_type, weight),
                     'n1': ec._size1(score, label, weight), 'n0': ec._size0(score, label, weight)}],
        lambda _s: CASE WHEN ec._shape_ok(costs) AND ec._two_rows(ec._given_costs(costs)) AND _s['invalid'] = 0
                             AND ec._addable(_s['n1'] + _s['n0'])
                        THEN ec._share(_s['n1'], _s['n0']) END)[1],
(score DOUBLE[], label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform([{'tally': ec._count_vector(score, label, ec._given_costs(costs), score_type, weight),
                     'n': ec._weight_by_class(score, label, weight),
                     'rows': ec._kept(NULL, score, label, weight, ec._whole_row(score, label, weight)), 'c': ec._given_costs(costs)}],
        lambda _s: CASE WHEN ec._shape_ok(costs) AND ec._classes_ok(_s['tally'], len(_s['c']))
                        THEN ec._class_priors(ec._class_n(_s['tally'], _s['n'], _s['rows']), NULL, NULL) END)[1],
(score BOOLEAN, label, costs := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform([{'invalid': ec._count_invalid(ec._boolean_decision(score, score_type), label, costs, score_type, weight),
                     'n1': ec._size1(ec._boolean_decision(score, score_type), label, weight), 'n0': ec._size0(ec._boolean_decision(score, score_type), label, weight)}],
        lambda _s: CASE WHEN ec._shape_ok(costs) AND ec._two_rows(ec._given_costs(costs)) AND _s['invalid'] = 0
                             AND ec._addable(_s['n1'] + _s['n0'])
                        THEN ec._share(_s['n1'], _s['n0']) END)[1];
COMMENT ON MACRO ec.class_prior IS 'Base rate of the positive class, N_1/N. For lists, also of two numbers: [N_0/N, ..., N_(K-1)/N].';

-- A value of the type of counts: BIGINT, or with weights that of their sum with 0, DOUBLE as a rule.
CREATE OR REPLACE MACRO ec._count_type(weight "NULL") AS CAST(0 AS BIGINT),
(weight) AS any_value(coalesce(weight, CAST(0 AS BIGINT)));
CREATE OR REPLACE MACRO ec._confusion_vector(score, label, matrix, prior, threshold, score_type, weight) AS
    list_transform([{
            't': ec._tally_vector(score, label, matrix, prior, threshold, score_type, weight), 'c': CAST(matrix AS DOUBLE[][]),
            'k': max(len(score)), 'w': ec._count_type(weight), 'prior': ec._priors_hold(prior)}],
        lambda _s: CASE WHEN _s['prior'] AND ec._classes_ok(_s['t'], len(_s['c'])) AND NOT ec._any_wrong(_s['t']) THEN
            list_transform(ec._matrix(_s['t'], coalesce(len(_s['c']), _s['k']), coalesce(len(_s['c'][1]), _s['k'])),
                           lambda _r: list_transform(_r, lambda _x: cast_to_type(_x, _s['w']))) END)[1];
CREATE OR REPLACE MACRO ec.confusion(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform([{'c': ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
                     'w': ec._count_type(weight)}],
        lambda _s: CASE WHEN _s['c']['p1'] IS NOT NULL OR _s['c']['n1'] + _s['c']['n0'] = 0 THEN {
            'tn': cast_to_type(_s['c']['tn'], _s['w']), 'fp': cast_to_type(_s['c']['fp'], _s['w']),
            'fn': cast_to_type(_s['c']['fn'], _s['w']), 'tp': cast_to_type(_s['c']['tp'], _s['w'])} END)[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp)
         THEN ec._confusion_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight) END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform([{'c': ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
                     'w': ec._count_type(weight)}],
        lambda _s: CASE WHEN _s['c']['p1'] IS NOT NULL OR _s['c']['n1'] + _s['c']['n0'] = 0 THEN {
            'tn': cast_to_type(_s['c']['tn'], _s['w']), 'fp': cast_to_type(_s['c']['fp'], _s['w']),
            'fn': cast_to_type(_s['c']['fn'], _s['w']), 'tp': cast_to_type(_s['c']['tp'], _s['w'])} END)[1];
COMMENT ON MACRO ec.confusion IS 'Confusion matrix: the counts N_ij of rows of class i with decision j. STRUCT(tn, fp, fn, tp), for lists a K x M list of rows. BIGINT, with weights DOUBLE.';
-- polars_ec for DuckDB, file 3 of 12: metrics of decisions. Load after counts.
-- Each formula stands once, on the rates R_ij of a group and the priors P_i: with `prior` the same formula gives the value
-- at that prior. By hand a formula is of `cells`, or of what `errors` cost; where costs may be any matrix of the classes' mean `cost`,
-- `error` or `hit` as well; `make sql` makes the overloads, which differ in how a row is decided: a score, a list of scores, a BOOLEAN decision.

-- Four rates of a group ------------------------------------------------------------------------------------------------

-- R_ij of cells c (see ec._cells_of); an empty class has none.
CREATE OR REPLACE MACRO ec._r11(c) AS ec._ratio(c['tp'], c['n1']);
CREATE OR REPLACE MACRO ec._r10(c) AS ec._ratio(c['fn'], c['n1']);
CREATE OR REPLACE MACRO ec._r01(c) AS ec._ratio(c['fp'], c['n0']);
CREATE OR REPLACE MACRO ec._r00(c) AS ec._ratio(c['tn'], c['n0']);

-- A stated prior that is none leaves the group without a value, whether a metric needs the prior or not.
CREATE OR REPLACE MACRO ec._with_prior(c, value) AS CASE WHEN c['p1'] IS NOT NULL THEN value END;

-- Costs of any K x M matrix: means per class ---------------------------------------------------------------------------

-- What a row adds to its class's sum: its cost, whether it is decided wrongly, whether it is decided rightly, whether its decision
-- is no class's of two, whether it is the one of this index.
CREATE OR REPLACE MACRO ec._value(what, matrix, y, d) AS
    CASE what WHEN 'cost' THEN ec._cost(matrix, y, d)
              WHEN 'error' THEN CAST(d <> y AS DOUBLE)
              WHEN 'hit' THEN CAST(d = y AS DOUBLE)
              WHEN 'other' THEN CAST(d > 1 AS DOUBLE)
              ELSE CAST(d = TRY_CAST(what AS BIGINT) AS DOUBLE) END;

-- Means {m} of the classes' values, priors {p} and costs {c} of cells c, given the two means.
CREATE OR REPLACE MACRO ec._means_of(c, m0, m1, matrix) AS {
    'm': [m0, m1], 'p': CASE WHEN c['p1'] IS NOT NULL THEN [c['p0'], c['p1']] END, 'c': matrix};
CREATE OR REPLACE MACRO ec._means_of_cells(c, matrix, what) AS
    ec._means_of(c, ec._r00(c) * ec._value(what, matrix, 0, 0) + ec._r01(c) * ec._value(what, matrix, 0, 1),
                 ec._r10(c) * ec._value(what, matrix, 1, 0) + ec._r11(c) * ec._value(what, matrix, 1, 1), matrix);

-- The same of decided cells {y, d, n} and class sums n. Shares come first, for neither sums nor costs overflow by them.
CREATE OR REPLACE MACRO ec._tally_means(tally, n, matrix, what) AS
    list_transform(ec._cells_by_class(tally, len(n)), lambda _t, _i: list_sum(list_transform(_t,
        lambda _c: ec._ratio(_c['n'], n[_i]) * ec._value(what, matrix, _c['y'], _c['d']))));

-- The same from sums of the rows' values, for single scores under costs of 2 x M (an abstain column, say). K > 2 classes are
-- a list's. Costs are summed in a unit, a power of 2 near the largest: then no sum overflows that the sum of the weights does not.
CREATE OR REPLACE MACRO ec._unit(m) AS
    coalesce(pow(2e0, floor(log2(nullif(list_max(list_transform(flatten(m), lambda _x: abs(_x))), 0)))), 1e0);
CREATE OR REPLACE MACRO ec._in_units(m) AS
    list_transform([{'m': m, 'unit': ec._unit(m)}], lambda _c:
        list_transform(_c['m'], lambda _r: list_transform(_r, lambda _x: _x / _c['unit'])))[1];
CREATE OR REPLACE MACRO ec._sum_wide(i, score, label, costs, prior, threshold, score_type, weight, what) AS
    coalesce(sum(CASE WHEN ec._wide(costs)
             THEN invoke(lambda _s, _c, _m: CASE WHEN ec._of_class(i, _s, label) THEN ec._weight(weight) * ec._value(what, _m, i,
                             ec._decide_wide(_s, _c, prior, threshold, score_type)) END,
                         score, ec._choices(ec._given_costs(costs)), ec._in_units(ec._given_costs(costs))) END), 0);

-- Of single scores.
CREATE OR REPLACE MACRO ec._means(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight, what) AS
    list_transform([{
            'c': ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
            's1': ec._sum_wide(1, score, label, costs, prior, threshold, score_type, weight, what),
            's0': ec._sum_wide(0, score, label, costs, prior, threshold, score_type, weight, what),
            'm': ec._given_costs(costs), 'wide': ec._wide(costs),
            'unit': CASE WHEN what = 'cost' THEN ec._unit(ec._given_costs(costs)) ELSE 1e0 END}],
        lambda _g: CASE WHEN ec._one_way(cost_fn, cost_fp) AND ec._matrix_ok(_g['m'], costs) AND ec._two_rows(_g['m'])
                             AND _g['c']['n1'] IS NOT NULL
            THEN CASE WHEN _g['wide'] THEN ec._means_of(_g['c'], ec._ratio(_g['s0'], _g['c']['n0']) * _g['unit'],
                                                        ec._ratio(_g['s1'], _g['c']['n1']) * _g['unit'], _g['m'])
                      ELSE ec._means_of_cells(_g['c'], _g['m'], what) END END);

-- For lists of scores: from one histogram of (class, decision).
CREATE OR REPLACE MACRO ec._means_vector(score, label, matrix, prior, threshold, score_type, weight, what) AS
    list_transform(list_transform([{
            't': ec._tally_vector(score, label, matrix, prior, threshold, score_type, weight),
            'low': min(ec._priors(prior)), 'high': max(ec._priors(prior)), 'c': CAST(matrix AS DOUBLE[][])}],
        lambda _g: {
            'n': CASE WHEN ec._classes_ok(_g['t'], len(_g['c'])) AND len(_g['t']) > 0 AND NOT ec._any_wrong(_g['t'])
                      THEN ec._tally_n(_g['t'], ec._tally_classes(_g['t'])) END,
            't': _g['t'], 'low': _g['low'], 'high': _g['high'], 'c': _g['c']}),
        lambda _g: {'m': ec._tally_means(_g['t'], _g['n'], _g['c'], what),
                    'p': ec._class_priors(_g['n'], _g['low'], _g['high']), 'c': _g['c']});

-- Formulas over means of classes m.
CREATE OR REPLACE MACRO ec._expected(means) AS list_transform(means, lambda _m: ec._expect(_m['p'], _m['m']))[1];
CREATE OR REPLACE MACRO ec._balanced(means) AS
    list_transform(means, lambda _m: CASE WHEN _m['p'] IS NOT NULL
        THEN ec._expect(list_transform(_m['m'], lambda _x: 1e0 / len(_m['m'])), _m['m']) END)[1];

CREATE OR REPLACE MACRO ec._zero_one(k) AS
    list_transform(range(k), lambda _i: list_transform(range(k), lambda _j: CAST(_i <> _j AS DOUBLE)));
-- What the best constant decision costs, 0 without priors: list_inner_product refuses a NULL, and another length, in the lists of any group.
CREATE OR REPLACE MACRO ec._naive(p, matrix) AS
    invoke(lambda _m, _p: list_min(list_transform(range(len(_m[1])), lambda _j:
               list_inner_product(list_transform(_m, lambda _r: coalesce(_r[_j + 1], 0)), _p))),
           matrix, list_transform(matrix, lambda _r, _i: coalesce(p[_i], 0)));
CREATE OR REPLACE MACRO ec._normalized(means) AS
    list_transform(means, lambda _m:
        CASE WHEN list_min(flatten(_m['c'])) < 0
             THEN ec._fail('nec needs costs >= 0: subtract the minimum of each row first, from ' || CAST(_m['c'] AS VARCHAR))
             ELSE ec._ratio(ec._expect(_m['p'], _m['m']), ec._naive(_m['p'], coalesce(_m['c'], ec._zero_one(len(_m['m']))))) END)[1];

-- What errors cost where costs are cost_fn and cost_fp (a right decision costs nothing, a constant one all of the other class):
-- for each class the mean over its rows, m, that of deciding all of it wrongly, a, and its prior. First costs that are constants,
-- from the rates, and then columns of costs, from sums. (Their sums may overflow, which leaves no mean.)
CREATE OR REPLACE MACRO ec._finite_mean(x, n) AS CASE WHEN ec._ratio(x, n) < CAST('inf' AS DOUBLE) THEN ec._ratio(x, n) END;
CREATE OR REPLACE MACRO ec._sum_error_costs(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform([{
            'invalid': ec._count_unusable(score, label, costs, prior, threshold, score_type, weight),
            'uncosted': ec._count_uncosted(cost_fn, cost_fp), 'prior': ec._stated_prior(prior),
            'n1': ec._size1(score, label, weight), 'n0': ec._size0(score, label, weight),
            'a1': ec._sum_loss(1, score, label, ec._weighted(CAST(cost_fn AS DOUBLE), weight)),
            'a0': ec._sum_loss(0, score, label, ec._weighted(CAST(cost_fp AS DOUBLE), weight)),
            'm1': ec._sum_loss(1, score, label, CASE WHEN NOT ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type)
                                                     THEN ec._weighted(CAST(cost_fn AS DOUBLE), weight) ELSE 0 END),
            'm0': ec._sum_loss(0, score, label, CASE WHEN ec._positives(score, costs, cost_fn, cost_fp, prior, threshold, score_type)
                                                     THEN ec._weighted(CAST(cost_fp AS DOUBLE), weight) ELSE 0 END)}],
        lambda _s: CASE WHEN _s['invalid'] = 0 AND _s['uncosted'] = 0 AND ec._addable(_s['n1'] + _s['n0']) THEN {
            'm1': ec._finite_mean(_s['m1'], _s['n1']), 'm0': ec._finite_mean(_s['m0'], _s['n0']),
            'a1': ec._finite_mean(_s['a1'], _s['n1']), 'a0': ec._finite_mean(_s['a0'], _s['n0']),
            'p1': ec._prior_of_1(_s['n1'], _s['n0'], _s['prior']), 'p0': ec._prior_of_0(_s['n1'], _s['n0'], _s['prior'])} END);
CREATE OR REPLACE MACRO ec._error_costs_by(type "NULL", score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._sum_error_costs(score, label, costs, cost_fn, cost_fp, prior, threshold, CAST(score_type AS VARCHAR), weight),
(type, score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._sum_error_costs(score, label, costs, cost_fn, cost_fp, prior, threshold, NULL, weight);
CREATE OR REPLACE MACRO ec._costs_of_cell(c, cost_fn, cost_fp) AS {
    'm1': CAST(cost_fn AS DOUBLE) * ec._r10(c), 'm0': CAST(cost_fp AS DOUBLE) * ec._r01(c),
    'a1': CAST(cost_fn AS DOUBLE), 'a0': CAST(cost_fp AS DOUBLE), 'p1': c['p1'], 'p0': c['p0']};
-- Constants, or sums of the costs of rows: all of a class, and of those that are decided wrongly.
CREATE OR REPLACE MACRO ec._costs_of_sums(c, a1, a0, m1, m0) AS {
    'm1': ec._finite_mean(m1, c['n1']), 'm0': ec._finite_mean(m0, c['n0']), 'a1': ec._finite_mean(a1, c['n1']),
    'a0': ec._finite_mean(a0, c['n0']), 'p1': c['p1'], 'p0': c['p0']};
CREATE OR REPLACE MACRO ec._costs_of_errors(by_row, c, cost_fn, cost_fp, a1, a0, m1, m0) AS
    CASE WHEN by_row THEN ec._costs_of_sums(c, a1, a0, m1, m0) ELSE ec._costs_of_cell(c, cost_fn, cost_fp) END;
CREATE OR REPLACE MACRO ec._costs_of_cells(cells, cost_fn, cost_fp) AS
    list_transform(cells, lambda _c: ec._costs_of_cell(_c, cost_fn, cost_fp));
CREATE OR REPLACE MACRO ec._error_costs_of(kind "NULL", score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._costs_of_cells(ec._cells_of_costs(kind, score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), cost_fn, cost_fp),
(kind, score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._error_costs_by(ec._posterior_type(score_type), score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);
CREATE OR REPLACE MACRO ec._error_costs(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._error_costs_of(ec._column_type(cost_fn, cost_fp), score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);

-- First from what errors cost, or the rates, then from the means of the classes where costs are any matrix.
CREATE OR REPLACE MACRO ec._expected_cost(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform(ec._error_costs(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._term(_c['p1'], _c['m1']) + ec._term(_c['p0'], _c['m0']))[1],
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._expected(ec._means(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight, 'cost'));
CREATE OR REPLACE MACRO ec._value_of_expected_cost(c) AS
    ec._term(c['p1'], c['m1']) + ec._term(c['p0'], c['m0']);
CREATE OR REPLACE MACRO ec.expected_cost(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._expected_cost(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN ec._expected(ec._means_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight, 'cost')) END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._expected_cost(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);
COMMENT ON MACRO ec.expected_cost IS 'Expected cost (EC) of the decisions, in units of the costs. Lower is better; in [least cost, largest cost]. EC = sum_ij c_ij P_i R_ij.';
CREATE OR REPLACE MACRO ec._nec(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform(ec._error_costs(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._ratio(ec._term(_c['p1'], _c['m1']) + ec._term(_c['p0'], _c['m0']),
                                                least(ec._term(_c['p1'], _c['a1']), ec._term(_c['p0'], _c['a0']))))[1],
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._normalized(ec._means(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight, 'cost'));
CREATE OR REPLACE MACRO ec._value_of_nec(c) AS
    ec._ratio(ec._term(c['p1'], c['m1']) + ec._term(c['p0'], c['m0']),
                                                least(ec._term(c['p1'], c['a1']), ec._term(c['p0'], c['a0'])));
CREATE OR REPLACE MACRO ec.nec(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._nec(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN ec._normalized(ec._means_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight, 'cost')) END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._nec(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);
COMMENT ON MACRO ec.nec IS 'Expected cost normalised by the cost of the naive system, which ignores the score and always makes the cheapest decision. Lower is better; in [0, inf): 0 is perfect, 1 is naive, above 1 is worse than ignoring the score. NEC = EC / min_j sum_i P_i c_ij, with EC = sum_ij c_ij P_i R_ij. If even right decisions cost something, a perfect system is above 0. To count only the cost beyond the best decision for each class, pass `costs.normalized()`, which subtracts the minimum of each row. Then decisions stay the same, and 0 is perfect again.';
CREATE OR REPLACE MACRO ec._error_rate(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._term(_c['p1'], ec._r10(_c)) + ec._term(_c['p0'], ec._r01(_c)))[1],
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._expected(ec._means(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight, 'error'));
CREATE OR REPLACE MACRO ec._value_of_error_rate(c) AS
    ec._term(c['p1'], ec._r10(c)) + ec._term(c['p0'], ec._r01(c));
CREATE OR REPLACE MACRO ec.error_rate(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._error_rate(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN ec._expected(ec._means_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight, 'error')) END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._error_rate(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);
COMMENT ON MACRO ec.error_rate IS 'Share of rows whose decision is not their class; abstaining counts as an error. Lower is better; in [0, 1]. sum_i P_i (1 - R_ii), the expected cost at 0-1 costs. The costs or the threshold passed determine only the decisions.';
CREATE OR REPLACE MACRO ec._accuracy(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._term(_c['p1'], ec._r11(_c)) + ec._term(_c['p0'], ec._r00(_c)))[1],
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._expected(ec._means(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight, 'hit'));
CREATE OR REPLACE MACRO ec._value_of_accuracy(c) AS
    ec._term(c['p1'], ec._r11(c)) + ec._term(c['p0'], ec._r00(c));
CREATE OR REPLACE MACRO ec.accuracy(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._accuracy(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN ec._expected(ec._means_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight, 'hit')) END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._accuracy(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);
COMMENT ON MACRO ec.accuracy IS 'Share of rows whose decision is their class. Higher is better; in [0, 1]. sum_i P_i R_ii.';
CREATE OR REPLACE MACRO ec._balanced_error_rate(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, (ec._r10(_c) + ec._r01(_c)) / 2))[1],
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._balanced(ec._means(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight, 'error'));
CREATE OR REPLACE MACRO ec._value_of_balanced_error_rate(c) AS
    ec._with_prior(c, (ec._r10(c) + ec._r01(c)) / 2);
CREATE OR REPLACE MACRO ec.balanced_error_rate(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._balanced_error_rate(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN ec._balanced(ec._means_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight, 'error')) END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._balanced_error_rate(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);
COMMENT ON MACRO ec.balanced_error_rate IS 'Mean over classes of the share of the class with wrong decisions; it does not depend on priors. Lower is better; in [0, 1]. (1/K) sum_i (1 - R_ii).';
CREATE OR REPLACE MACRO ec._balanced_accuracy(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, (ec._r11(_c) + ec._r00(_c)) / 2))[1],
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._balanced(ec._means(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight, 'hit'));
CREATE OR REPLACE MACRO ec._value_of_balanced_accuracy(c) AS
    ec._with_prior(c, (ec._r11(c) + ec._r00(c)) / 2);
CREATE OR REPLACE MACRO ec.balanced_accuracy(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._balanced_accuracy(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN ec._balanced(ec._means_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight, 'hit')) END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._balanced_accuracy(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);
COMMENT ON MACRO ec.balanced_accuracy IS 'Mean over classes of the share of the class with right decisions; it does not depend on priors. Higher is better; in [0, 1]. (1/K) sum_i R_ii.';

-- A detection cost is about LLRs at a stated prior: without either there is no number to give.
CREATE OR REPLACE MACRO ec._dcf_ok(score_type) AS
    CASE WHEN score_type NOT IN ('llr', 'decision')
         THEN error('ec: dcf needs score_type := ''llr'' (or ''decision''), not ''' || score_type || ''': ec.llr(score, prior) computes LLRs') IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec._has_prior(kind "NULL", prior) AS
    CASE WHEN ec._unset(prior) THEN error('ec: dcf needs prior, the prior of the positive class') IS NULL ELSE true END,
(kind, prior) AS true;
-- One operating point: its costs are constants, or columns that the query is grouped by, as they must be outside of the sums.
CREATE OR REPLACE MACRO ec.dcf(score DOUBLE, label, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._dcf_ok(score_type) AND ec._has_prior(prior, prior) AND ec._binary_costs_ok(cost_fn, cost_fp)
         THEN ec._nec(score, label, NULL, cost_fn, cost_fp, prior, threshold, score_type, weight) END,
(score BOOLEAN, label, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._dcf_ok(score_type) AND ec._has_prior(prior, prior) AND ec._binary_costs_ok(cost_fn, cost_fp)
         THEN ec._nec(ec._boolean_decision(score, score_type), label, NULL, cost_fn, cost_fp, prior, threshold, score_type, weight) END;
COMMENT ON MACRO ec.dcf IS 'Normalised detection cost (actual DCF) of log-likelihood ratios at a stated prior and costs. Lower is better; in [0, inf): 0 is perfect, 1 is naive. (P_1 C_fn R_10 + P_0 C_fp R_01) / min(P_1 C_fn, P_0 C_fp), the NEC at the costs C_fn and C_fp. Rows are decided positive if the LLR is above ln(C_fp/C_fn) - ln(P_1/P_0).';

-- In units of the larger cost: neither products nor the sum overflow.
CREATE OR REPLACE MACRO ec._cost_is(cost, name) AS
    ec._number_is(cost >= 0 AND cost < CAST('inf' AS DOUBLE), cost, name || ' must be a finite number that is not negative');
CREATE OR REPLACE MACRO ec._larger_cost(cost_fn, cost_fp) AS nullif(greatest(CAST(cost_fn AS DOUBLE), CAST(cost_fp AS DOUBLE)), 0);
CREATE OR REPLACE MACRO ec._part_of_sum(x, y) AS ec._ratio(x, x + y);
CREATE OR REPLACE MACRO ec.effective_prior(prior, cost_fn := 1, cost_fp := 1) AS
    CASE WHEN ec._number_is(prior >= 0 AND prior <= 1, prior, 'prior must lie between 0 and 1') AND ec._cost_is(cost_fn, 'cost_fn')
              AND ec._cost_is(cost_fp, 'cost_fp')
         THEN ec._part_of_sum(CAST(prior AS DOUBLE) * (CAST(cost_fn AS DOUBLE) / ec._larger_cost(cost_fn, cost_fp)),
                           (1 - CAST(prior AS DOUBLE)) * (CAST(cost_fp AS DOUBLE) / ec._larger_cost(cost_fn, cost_fp))) END;
COMMENT ON MACRO ec.effective_prior IS 'Prior that leads to the same decisions at equal costs: P_1 C_fn / (P_1 C_fn + P_0 C_fp).';

-- Binary metrics -------------------------------------------------------------------------------------------------------

-- Of the positive decision; averages.sql has ec.decision_share, of any.
CREATE OR REPLACE MACRO ec._value_of_decision_share(c) AS ec._term(c['p1'], ec._r11(c)) + ec._term(c['p0'], ec._r01(c));
CREATE OR REPLACE MACRO ec._value_of_precision(c) AS
    ec._ratio(ec._term(c['p1'], ec._r11(c)), ec._value_of_decision_share(c));
CREATE OR REPLACE MACRO ec.precision(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._ratio(ec._term(_c['p1'], ec._r11(_c)), ec._value_of_decision_share(_c)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._ratio(ec._term(_c['p1'], ec._r11(_c)), ec._value_of_decision_share(_c)))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._ratio(ec._term(_c['p1'], ec._r11(_c)), ec._value_of_decision_share(_c)))[1];
COMMENT ON MACRO ec.precision IS 'Share of the positive decisions that are right; with `prior`, the calibrated precision. Higher is better; in [0, 1]. P_1 R_11 / (P_1 R_11 + P_0 R_01).';
CREATE OR REPLACE MACRO ec._value_of_recall(c) AS
    ec._with_prior(c, ec._r11(c));
CREATE OR REPLACE MACRO ec.recall(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r11(_c)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r11(_c)))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r11(_c)))[1];
COMMENT ON MACRO ec.recall IS 'Share of the positive class that is decided positive (sensitivity); it does not depend on priors. Higher is better; in [0, 1]. R_11 = TP / N_1.';
CREATE OR REPLACE MACRO ec._value_of_specificity(c) AS
    ec._with_prior(c, ec._r00(c));
CREATE OR REPLACE MACRO ec.specificity(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r00(_c)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r00(_c)))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r00(_c)))[1];
COMMENT ON MACRO ec.specificity IS 'Share of the negative class that is decided negative; it does not depend on priors. Higher is better; in [0, 1]. R_00 = TN / N_0.';
CREATE OR REPLACE MACRO ec._value_of_fpr(c) AS
    ec._with_prior(c, ec._r01(c));
CREATE OR REPLACE MACRO ec.fpr(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r01(_c)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r01(_c)))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r01(_c)))[1];
COMMENT ON MACRO ec.fpr IS 'False positive rate: share of the negative class that is decided positive. Lower is better; in [0, 1]. R_01 = FP / N_0.';
CREATE OR REPLACE MACRO ec._value_of_fnr(c) AS
    ec._with_prior(c, ec._r10(c));
CREATE OR REPLACE MACRO ec.fnr(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r10(_c)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r10(_c)))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._r10(_c)))[1];
COMMENT ON MACRO ec.fnr IS 'False negative rate: share of the positive class that is decided negative. Lower is better; in [0, 1]. R_10 = FN / N_1.';
-- What a miss weighs, and a false alarm: beta^2/(1 + beta^2) and 1/(1 + beta^2), both of them shares for any beta.
-- Without hits it is 0, also where the share of the only errors is too small for a number.
CREATE OR REPLACE MACRO ec._odds_share(x) AS 1 / (1 + 1 / (CAST(x AS DOUBLE) * CAST(x AS DOUBLE)));
CREATE OR REPLACE MACRO ec._f_of(hits, misses, alarms, of_misses, of_alarms) AS
    CASE WHEN hits > 0 THEN hits / (hits + of_misses * misses + of_alarms * alarms)
         WHEN misses + alarms > 0 THEN 0e0 END;
CREATE OR REPLACE MACRO ec._fbeta(c, of_misses, of_alarms) AS
    ec._f_of(ec._term(c['p1'], ec._r11(c)), ec._term(c['p1'], ec._r10(c)), ec._term(c['p0'], ec._r01(c)), of_misses, of_alarms);
CREATE OR REPLACE MACRO ec.fbeta(score DOUBLE, label, beta := 1, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._number_is(beta > 0 AND beta < CAST('inf' AS DOUBLE), beta, 'beta must be a finite number above 0')
         THEN list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._fbeta(_c, ec._odds_share(beta), ec._odds_share(1 / CAST(beta AS DOUBLE))))[1] END,
(score DOUBLE[], label, beta := 1, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._number_is(beta > 0 AND beta < CAST('inf' AS DOUBLE), beta, 'beta must be a finite number above 0')
         THEN list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._fbeta(_c, ec._odds_share(beta), ec._odds_share(1 / CAST(beta AS DOUBLE))))[1] END,
(score BOOLEAN, label, beta := 1, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._number_is(beta > 0 AND beta < CAST('inf' AS DOUBLE), beta, 'beta must be a finite number above 0')
         THEN list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._fbeta(_c, ec._odds_share(beta), ec._odds_share(1 / CAST(beta AS DOUBLE))))[1] END;
COMMENT ON MACRO ec.fbeta IS 'F score, in which recall counts beta times as much as precision; with `prior`, calibrated. Higher is better; in [0, 1]. (1 + beta^2) P_1 R_11 / ((1 + beta^2) P_1 R_11 + beta^2 P_1 R_10 + P_0 R_01).';
CREATE OR REPLACE MACRO ec._value_of_f1(c) AS
    ec._fbeta(c, 0.5e0, 0.5e0);
CREATE OR REPLACE MACRO ec.f1(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._fbeta(_c, 0.5e0, 0.5e0))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._fbeta(_c, 0.5e0, 0.5e0))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._fbeta(_c, 0.5e0, 0.5e0))[1];
COMMENT ON MACRO ec.f1 IS 'Harmonic mean of precision and recall; with `prior`, calibrated. Higher is better; in [0, 1]. 2 P_1 R_11 / (2 P_1 R_11 + P_1 R_10 + P_0 R_01).';
-- R11 - R01 is R00 - R10: the smaller ones of the rates have the digits of the difference.
CREATE OR REPLACE MACRO ec._rate_difference(c) AS
    CASE WHEN ec._r11(c) > 0.5 THEN ec._r00(c) - ec._r10(c) ELSE ec._r11(c) - ec._r01(c) END;
CREATE OR REPLACE MACRO ec._value_of_informedness(c) AS
    ec._with_prior(c, ec._rate_difference(c));
CREATE OR REPLACE MACRO ec.informedness(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._rate_difference(_c)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._rate_difference(_c)))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._rate_difference(_c)))[1];
COMMENT ON MACRO ec.informedness IS 'True-positive rate minus false-positive rate (Youden''s J); it does not depend on priors. Higher is better; in [-1, 1]: 0 is uninformative. R_11 - R_01: recall plus specificity minus 1, or 1 - 2 balanced_error_rate.';
-- Zero over zero is NULL, anything else over zero is inf.
CREATE OR REPLACE MACRO ec._ratio_or_inf(x, y) AS
    CASE WHEN y > 0 THEN x / y WHEN y = 0 AND x > 0 THEN CAST('inf' AS DOUBLE) END;
CREATE OR REPLACE MACRO ec._value_of_lr_plus(c) AS
    ec._with_prior(c, ec._ratio_or_inf(ec._r11(c), ec._r01(c)));
CREATE OR REPLACE MACRO ec.lr_plus(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._ratio_or_inf(ec._r11(_c), ec._r01(_c))))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._ratio_or_inf(ec._r11(_c), ec._r01(_c))))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._ratio_or_inf(ec._r11(_c), ec._r01(_c))))[1];
COMMENT ON MACRO ec.lr_plus IS 'Likelihood ratio of a positive decision; it does not depend on priors. Higher is better; in [0, inf]. R_11 / R_01, inf without false positives.';
CREATE OR REPLACE MACRO ec._value_of_lr_minus(c) AS
    ec._with_prior(c, ec._ratio_or_inf(ec._r10(c), ec._r00(c)));
CREATE OR REPLACE MACRO ec.lr_minus(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._ratio_or_inf(ec._r10(_c), ec._r00(_c))))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._ratio_or_inf(ec._r10(_c), ec._r00(_c))))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, ec._ratio_or_inf(ec._r10(_c), ec._r00(_c))))[1];
COMMENT ON MACRO ec.lr_minus IS 'Likelihood ratio of a negative decision; it does not depend on priors. Lower is better; in [0, inf]. R_10 / R_00, inf without true negatives.';
CREATE OR REPLACE MACRO ec._value_of_precision_gain(c) AS
    ec._with_prior(c, 1 - ec._ratio_or_inf(ec._r01(c), ec._r11(c)));
CREATE OR REPLACE MACRO ec.precision_gain(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, 1 - ec._ratio_or_inf(ec._r01(_c), ec._r11(_c))))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, 1 - ec._ratio_or_inf(ec._r01(_c), ec._r11(_c))))[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._with_prior(_c, 1 - ec._ratio_or_inf(ec._r01(_c), ec._r11(_c))))[1];
COMMENT ON MACRO ec.precision_gain IS 'Precision rescaled so that deciding every case positive is 0 and perfection is 1; it does not depend on priors. Higher is better; in [-inf, 1]. (precision - P_1) / ((1 - P_1) precision) = 1 - R_01/R_11.';
CREATE OR REPLACE MACRO ec._value_of_recall_gain(c) AS
    CASE WHEN c['p0'] > 0 AND c['n0'] > 0 AND (c['p1'] > 0 OR ec._r11(c) > 0)
        THEN 1 - c['p1'] / c['p0'] * ec._ratio_or_inf(ec._r10(c), ec._r11(c)) END;
CREATE OR REPLACE MACRO ec.recall_gain(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: CASE WHEN _c['p0'] > 0 AND _c['n0'] > 0 AND (_c['p1'] > 0 OR ec._r11(_c) > 0)
        THEN 1 - _c['p1'] / _c['p0'] * ec._ratio_or_inf(ec._r10(_c), ec._r11(_c)) END)[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells_vector(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: CASE WHEN _c['p0'] > 0 AND _c['n0'] > 0 AND (_c['p1'] > 0 OR ec._r11(_c) > 0)
        THEN 1 - _c['p1'] / _c['p0'] * ec._ratio_or_inf(ec._r10(_c), ec._r11(_c)) END)[1],
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: CASE WHEN _c['p0'] > 0 AND _c['n0'] > 0 AND (_c['p1'] > 0 OR ec._r11(_c) > 0)
        THEN 1 - _c['p1'] / _c['p0'] * ec._ratio_or_inf(ec._r10(_c), ec._r11(_c)) END)[1];
COMMENT ON MACRO ec.recall_gain IS 'Recall rescaled so that a recall equal to the prior is 0 and perfection is 1; with `prior`, calibrated. Higher is better; in [-inf, 1]. (recall - P_1) / ((1 - P_1) recall) = 1 - (P_1/P_0) R_10/R_11.';
CREATE OR REPLACE MACRO ec._net_benefit(cells, p_t) AS
    list_transform(cells, lambda _c: ec._term(_c['p1'], ec._r11(_c)) - p_t / (1 - p_t) * ec._term(_c['p0'], ec._r01(_c)))[1];

-- A false alarm costs p_t and a miss 1 - p_t: then p_t is the Bayes threshold, on any scale of the score.
CREATE OR REPLACE MACRO ec._p_t_ok(p_t) AS ec._number_is(p_t > 0 AND p_t < 1, p_t, 'p_t must lie between 0 and 1');
CREATE OR REPLACE MACRO ec._net_benefit_at(score, label, p_t, prior, threshold, score_type, weight) AS
    ec._net_benefit(ec._cells(score, label, NULL, 1 - p_t, p_t, prior, threshold, score_type, weight), p_t);
CREATE OR REPLACE MACRO ec.net_benefit(score DOUBLE, label, p_t, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._p_t_ok(p_t) THEN ec._net_benefit_at(score, label, CAST(p_t AS DOUBLE), prior, threshold, score_type, weight) END,
(score DOUBLE[], label, p_t, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._p_t_ok(p_t) AND ec._two_classes(score, label, score_type, weight)
         THEN ec._net_benefit_at(ec._pair(score, score_type), label, CAST(p_t AS DOUBLE), prior, threshold,
                                 ec._pair_type(score_type), weight) END,
(score BOOLEAN, label, p_t, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._p_t_ok(p_t) THEN ec._net_benefit_at(ec._boolean_decision(score, score_type), label, CAST(p_t AS DOUBLE), prior, threshold, score_type, weight) END;
COMMENT ON MACRO ec.net_benefit IS 'Net benefit per row of deciding positive above the posterior p_t: hits minus weighted false alarms. Higher is better; at most the prior of the positive class. P_1 R_11 - p_t/(1 - p_t) P_0 R_01, which is P_1 minus the expected cost at costs 1 (miss) and p_t/(1 - p_t) (false alarm).';
-- polars_ec for DuckDB, file 4 of 12: each class against the rest, averages over classes, shares of decisions. Load after decisions.
-- A formula is of `table`, which holds counts {n}, K x M, class priors {p} and the number {m} of decisions of a group; it is NULL where one of its rows is wrong,
-- none is usable, or the prior is none. `make sql` makes the overloads.

-- Tables ---------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._table_of_cells(c) AS CASE WHEN c['p1'] IS NOT NULL THEN {
    'n': [[c['tn'], c['fp']], [c['fn'], c['tp']]], 'p': [c['p0'], c['p1']], 'm': 2} END;

-- Of single scores; under costs of 2 x M decisions beyond the two classes' own are one.
CREATE OR REPLACE MACRO ec._wide_row(i, score, label, costs, prior, threshold, score_type, weight) AS [
    ec._sum_wide(i, score, label, costs, prior, threshold, score_type, weight, '0'),
    ec._sum_wide(i, score, label, costs, prior, threshold, score_type, weight, '1'),
    ec._sum_wide(i, score, label, costs, prior, threshold, score_type, weight, 'other')];
CREATE OR REPLACE MACRO ec._table(score, label, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
                   lambda _c: ec._table_of_cells(_c)),
(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    list_transform([{
            'c': ec._cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight)[1],
            'row1': ec._wide_row(1, score, label, costs, prior, threshold, score_type, weight),
            'row0': ec._wide_row(0, score, label, costs, prior, threshold, score_type, weight),
            'm': ec._given_costs(costs), 'wide': ec._wide(costs)}],
        lambda _g: CASE WHEN ec._one_way(cost_fn, cost_fp) AND ec._matrix_ok(_g['m'], costs) AND ec._two_rows(_g['m'])
                             AND _g['c']['p1'] IS NOT NULL
            THEN CASE WHEN _g['wide'] THEN {'n': [_g['row0'], _g['row1']], 'p': [_g['c']['p0'], _g['c']['p1']], 'm': len(_g['m'][1])}
                      ELSE ec._table_of_cells(_g['c']) END END);

-- Of lists of scores. There is a column for each class, also where there are fewer decisions.
CREATE OR REPLACE MACRO ec._table_vector(score, label, matrix, prior, threshold, score_type, weight) AS
    list_transform(list_transform([{
            't': ec._tally_vector(score, label, matrix, prior, threshold, score_type, weight),
            'low': min(ec._priors(prior)), 'high': max(ec._priors(prior)), 'c': CAST(matrix AS DOUBLE[][])}],
        lambda _g: CASE WHEN ec._classes_ok(_g['t'], len(_g['c'])) AND len(_g['t']) > 0 AND NOT ec._any_wrong(_g['t'])
            THEN {'t': _g['t'], 'k': ec._tally_classes(_g['t']), 'm': coalesce(len(_g['c'][1]), ec._tally_classes(_g['t'])),
                  'p': ec._class_priors(ec._tally_n(_g['t'], ec._tally_classes(_g['t'])), _g['low'], _g['high'])} END),
        lambda _g: CASE WHEN _g['p'] IS NOT NULL THEN {'n': ec._matrix(_g['t'], _g['k'], greatest(_g['k'], _g['m'])), 'p': _g['p'], 'm': _g['m']} END);

-- Each class against the rest ------------------------------------------------------------------------------------------

-- P_i R_ij, or NULL where a class with prior above 0 has no rows.
CREATE OR REPLACE MACRO ec._joint(t) AS
    list_transform(t['n'], lambda _r, _i: list_transform(_r, lambda _x: ec._term(t['p'][_i], ec._ratio(_x, list_sum(_r)))));
CREATE OR REPLACE MACRO ec._but(numbers, k) AS list_filter(numbers, lambda _v, _n: _n <> k);
-- A row of probabilities is NULL as a whole or not at all. Each class sums all others' rows, so this is no lambda.
CREATE OR REPLACE MACRO ec._sum_but(numbers, k) AS 0 * numbers[k] + coalesce(list_sum(numbers[:k - 1]), 0) + coalesce(list_sum(numbers[k + 1:]), 0);
-- Hits, misses, false alarms and right rejections of class k, given the joint probabilities j.
CREATE OR REPLACE MACRO ec._detector(j, k) AS {
    'h': j[k][k], 'm': ec._plus(ec._but(j[k], k)),
    'a': ec._plus(list_transform(ec._but(j, k), lambda _o: _o[k])),
    'r': ec._plus(list_transform(ec._but(j, k), lambda _o: ec._sum_but(_o, k)))};
CREATE OR REPLACE MACRO ec._detectors(t) AS
    list_transform([ec._joint(t)], lambda _j: list_transform(range(1, len(_j) + 1), lambda _k: ec._detector(_j, _k)))[1];
CREATE OR REPLACE MACRO ec._mean_of(numbers) AS invoke(lambda _n: ec._plus(_n) / len(_n), numbers);
CREATE OR REPLACE MACRO ec._pool(detectors, part) AS ec._plus(list_transform(detectors, lambda _e: _e[part]));

CREATE OR REPLACE MACRO ec._precisions(t) AS list_transform(ec._detectors(t), lambda _d: ec._ratio(_d['h'], _d['h'] + _d['a']));
CREATE OR REPLACE MACRO ec._recalls(t) AS list_transform(t['n'], lambda _r, _i: ec._ratio(_r[_i], list_sum(_r)));
CREATE OR REPLACE MACRO ec._f1s(t) AS list_transform(ec._detectors(t), lambda _d: ec._f_of(_d['h'], _d['m'], _d['a'], 0.5e0, 0.5e0));

CREATE OR REPLACE MACRO ec.class_precision(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._precisions(_t))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._precisions(_t))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._precisions(_t))[1];
COMMENT ON MACRO ec.class_precision IS 'One-vs-rest precision of each class: the share of the decisions for it that are right. Higher is better; each in [0, 1]. P_k R_kk / sum_i P_i R_ik for class k. Other decisions, such as to abstain, are for no class.';
CREATE OR REPLACE MACRO ec.class_recall(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._recalls(_t))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._recalls(_t))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._recalls(_t))[1];
COMMENT ON MACRO ec.class_recall IS 'Recall of each class: the share of its rows that are decided for it; it does not depend on priors. Higher is better; each in [0, 1]. R_kk = N_kk / N_k for class k.';
CREATE OR REPLACE MACRO ec.class_f1(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._f1s(_t))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._f1s(_t))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._f1s(_t))[1];
COMMENT ON MACRO ec.class_f1 IS 'One-vs-rest F1 of each class. Higher is better; each in [0, 1]. 2 P_k R_kk / (P_k + sum_i P_i R_ik) for class k.';
CREATE OR REPLACE MACRO ec.class_nec(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: list_transform(ec._detectors(_t), lambda _d:
        ec._ratio(_d['m'] + _d['a'], least(_d['h'] + _d['m'], _d['a'] + _d['r']))))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: list_transform(ec._detectors(_t), lambda _d:
        ec._ratio(_d['m'] + _d['a'], least(_d['h'] + _d['m'], _d['a'] + _d['r']))))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: list_transform(ec._detectors(_t), lambda _d:
        ec._ratio(_d['m'] + _d['a'], least(_d['h'] + _d['m'], _d['a'] + _d['r']))))[1];
COMMENT ON MACRO ec.class_nec IS 'One-vs-rest NEC of each class, with equal costs of a miss and a false alarm. Lower is better; each in [0, inf): 1 is naive. (P_k (1 - R_kk) + sum_i P_i R_ik over i != k) / min(P_k, 1 - P_k) for class k. The costs or the threshold passed determine only the decisions.';

-- Averages over classes -------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.macro_precision(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._precisions(_t)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._precisions(_t)))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._precisions(_t)))[1];
COMMENT ON MACRO ec.macro_precision IS 'Mean over classes of the one-vs-rest precision. Higher is better; in [0, 1]. (1/K) sum_k p_k, with p_k = P_k R_kk / sum_i P_i R_ik. It judges K detectors, and may disagree with `nec`, the cost of the decisions.';
CREATE OR REPLACE MACRO ec.macro_recall(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._recalls(_t)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._recalls(_t)))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._recalls(_t)))[1];
COMMENT ON MACRO ec.macro_recall IS 'Mean over classes of the recall, which equals `balanced_accuracy`; it does not depend on priors. Higher is better; in [0, 1]. (1/K) sum_k R_kk. Unlike other averages over classes it is one minus an expected cost, with costs 1/(K P_i) for an error in class i (`CostMatrix.balanced`).';
CREATE OR REPLACE MACRO ec.macro_f1(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._f1s(_t)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._f1s(_t)))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._mean_of(ec._f1s(_t)))[1];
COMMENT ON MACRO ec.macro_f1 IS 'Mean over classes of the one-vs-rest F1; `f1_of_averages` is another metric that some call macro F1. Higher is better; in [0, 1]. (1/K) sum_k 2 P_k R_kk / (P_k + sum_i P_i R_ik). It judges K detectors, and may disagree with `nec`, the cost of the decisions.';
-- Without hits it is 0/0.
CREATE OR REPLACE MACRO ec._harmonic(x, y) AS invoke(lambda _x, _y: CASE WHEN _y > 0 THEN 2 * _x * (_y / (_x + _y)) END, x, y);
CREATE OR REPLACE MACRO ec.f1_of_averages(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._harmonic(ec._mean_of(ec._precisions(_t)), ec._mean_of(ec._recalls(_t))))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._harmonic(ec._mean_of(ec._precisions(_t)), ec._mean_of(ec._recalls(_t))))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._harmonic(ec._mean_of(ec._precisions(_t)), ec._mean_of(ec._recalls(_t))))[1];
COMMENT ON MACRO ec.f1_of_averages IS 'Harmonic mean of macro precision and macro recall; `macro_f1` is the mean of the F1 of the classes. Higher is better; in [0, 1]. 2 p r / (p + r), with p = (1/K) sum_k P_k R_kk / sum_i P_i R_ik and r = (1/K) sum_k R_kk. Both metrics are called macro F1 in the literature. scikit-learn has `macro_f1`, which is never above this one. It judges K detectors, and may disagree with `nec`, the cost of the decisions.';
CREATE OR REPLACE MACRO ec.micro_precision(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: list_transform([ec._detectors(_t)], lambda _d:
        ec._ratio(ec._pool(_d, 'h'), ec._pool(_d, 'h') + ec._pool(_d, 'a')))[1])[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: list_transform([ec._detectors(_t)], lambda _d:
        ec._ratio(ec._pool(_d, 'h'), ec._pool(_d, 'h') + ec._pool(_d, 'a')))[1])[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: list_transform([ec._detectors(_t)], lambda _d:
        ec._ratio(ec._pool(_d, 'h'), ec._pool(_d, 'h') + ec._pool(_d, 'a')))[1])[1];
COMMENT ON MACRO ec.micro_precision IS 'Share of the decisions for any class that are right. Higher is better; in [0, 1]. sum_k P_k R_kk / sum_k sum_i P_i R_ik. If every decision is for a class, it equals `accuracy`. If some decisions abstain, it is the accuracy of the others. It judges K detectors, and may disagree with `nec`, the cost of the decisions.';
CREATE OR REPLACE MACRO ec.micro_recall(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._recalls(_t)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._recalls(_t)))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._recalls(_t)))[1];
COMMENT ON MACRO ec.micro_recall IS 'Share of rows that are decided for their class, which equals `accuracy`. Higher is better; in [0, 1]. sum_k P_k R_kk: one minus the expected cost at 0-1 costs.';
CREATE OR REPLACE MACRO ec.micro_f1(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: list_transform([ec._detectors(_t)], lambda _d:
        ec._f_of(ec._pool(_d, 'h'), ec._pool(_d, 'm'), ec._pool(_d, 'a'), 0.5e0, 0.5e0))[1])[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: list_transform([ec._detectors(_t)], lambda _d:
        ec._f_of(ec._pool(_d, 'h'), ec._pool(_d, 'm'), ec._pool(_d, 'a'), 0.5e0, 0.5e0))[1])[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: list_transform([ec._detectors(_t)], lambda _d:
        ec._f_of(ec._pool(_d, 'h'), ec._pool(_d, 'm'), ec._pool(_d, 'a'), 0.5e0, 0.5e0))[1])[1];
COMMENT ON MACRO ec.micro_f1 IS 'F1 from the hits, misses and false alarms of all classes together. Higher is better; in [0, 1]. 2 a / (1 + b), with a = sum_k P_k R_kk and b = sum_k sum_i P_i R_ik. If every decision is for a class, it equals `accuracy`. It judges K detectors, and may disagree with `nec`, the cost of the decisions.';
CREATE OR REPLACE MACRO ec.weighted_precision(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._precisions(_t)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._precisions(_t)))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._precisions(_t)))[1];
COMMENT ON MACRO ec.weighted_precision IS 'Mean over classes of the one-vs-rest precision, weighted by the priors. Higher is better; in [0, 1]. sum_k P_k p_k, with p_k = P_k R_kk / sum_i P_i R_ik. It judges K detectors, and may disagree with `nec`, the cost of the decisions.';
CREATE OR REPLACE MACRO ec.weighted_recall(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._recalls(_t)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._recalls(_t)))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._recalls(_t)))[1];
COMMENT ON MACRO ec.weighted_recall IS 'Mean over classes of the recall, weighted by the priors, which equals `accuracy`. Higher is better; in [0, 1]. sum_k P_k R_kk: one minus the expected cost at 0-1 costs.';
CREATE OR REPLACE MACRO ec.weighted_f1(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._f1s(_t)))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._f1s(_t)))[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._table(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _t: ec._expect(_t['p'], ec._f1s(_t)))[1];
COMMENT ON MACRO ec.weighted_f1 IS 'Mean over classes of the one-vs-rest F1, weighted by the priors. Higher is better; in [0, 1]. sum_k P_k 2 P_k R_kk / (P_k + sum_i P_i R_ik). It judges K detectors, and may disagree with `nec`, the cost of the decisions.';

-- Correlation of K classes and their decisions --------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._phi(c) AS
    CASE WHEN c['p1'] > 0 AND c['p0'] > 0 THEN ec._ratio(sqrt(c['p1'] * c['p0']) * ec._rate_difference(c),
        sqrt((c['p1'] * ec._r11(c) + c['p0'] * ec._r01(c)) * (c['p1'] * ec._r10(c) + c['p0'] * ec._r00(c)))) END;
CREATE OR REPLACE MACRO ec._two_class_cells(t) AS {
    'tn': t['n'][1][1], 'fp': t['n'][1][2], 'fn': t['n'][2][1], 'tp': t['n'][2][2],
    'n0': list_sum(t['n'][1]), 'n1': list_sum(t['n'][2]), 'p0': t['p'][1], 'p1': t['p'][2]};
CREATE OR REPLACE MACRO ec._within_1(x) AS CASE WHEN x > 1 THEN 1e0 WHEN x < -1 THEN -1e0 ELSE x END;
-- The root of a product, which is exact where the two are the same.
CREATE OR REPLACE MACRO ec._geometric(x, y) AS x * sqrt(ec._ratio(y, x));
-- Of the detectors' four probabilities, for where a class is rare a product of margins cancels most of another one.
CREATE OR REPLACE MACRO ec._correlation(d) AS invoke(lambda _d:
    ec._within_1(ec._ratio(ec._plus(list_transform(_d, lambda _e: _e['h'] * _e['r'] - _e['m'] * _e['a'])),
        ec._geometric(ec._plus(list_transform(_d, lambda _e: (_e['h'] + _e['m']) * (_e['a'] + _e['r']))),
                      ec._plus(list_transform(_d, lambda _e: (_e['h'] + _e['a']) * (_e['m'] + _e['r'])))))), d);
CREATE OR REPLACE MACRO ec._square(t) AS
    CASE WHEN t['m'] <> len(t['p']) THEN error('ec: mcc needs as many decisions as classes: filter the rows that are decided for a class, '
                                             || 'or use nec, which takes any number') IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec._value_of_mcc(c) AS
    ec._phi(c);
CREATE OR REPLACE MACRO ec.mcc(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._phi(_c))[1],
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN list_transform(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), lambda _t: CASE WHEN ec._square(_t)
        THEN CASE WHEN len(_t['p']) = 2 THEN ec._phi(ec._two_class_cells(_t)) ELSE ec._correlation(ec._detectors(_t)) END END)[1] END,
(score BOOLEAN, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._binary_cells(ec._boolean_decision(score, score_type), label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), lambda _c: ec._phi(_c))[1];
COMMENT ON MACRO ec.mcc IS 'Matthews correlation coefficient between class and decision; for K classes Gorodkin''s R_K. Higher is better; in [-1, 1]. sqrt(P_0 P_1) (R_11 - R_01) / sqrt(R_*1 R_*0), where R_*j is the share of all rows with decision j. For K classes sum_k P_k (R_kk - R_*k) / sqrt((1 - sum_k P_k^2) (1 - sum_k R_*k^2)), which agrees for K = 2.';

-- Shares of decisions ---------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._index_is(number, decision, m) AS
    ec._number_is(number >= 0 AND coalesce(number < m, true) AND number = floor(number), decision,
                  'decision must be the index of one of the decisions, from 0');
-- Of two decisions the positive one, where none is named.
CREATE OR REPLACE MACRO ec._decision_index(decision, m) AS
    CASE WHEN ec._unset(decision) AND coalesce(m = 2, true) THEN 1e0 ELSE TRY_CAST(decision AS DOUBLE) END;
CREATE OR REPLACE MACRO ec._decision_ok(decision, m) AS ec._index_is(ec._decision_index(decision, m), decision, m);
CREATE OR REPLACE MACRO ec._share_of(tables, decision) AS
    list_transform(tables, lambda _t: CASE WHEN ec._decision_ok(decision, _t['m'])
        THEN ec._plus(list_transform(ec._joint(_t), lambda _r: _r[CAST(ec._decision_index(decision, _t['m']) AS BIGINT) + 1])) END)[1];
CREATE OR REPLACE MACRO ec._n_decisions(costs) AS coalesce(len(ec._given_costs(costs)[1]), 2);
CREATE OR REPLACE MACRO ec._decision_share(score, label, decision, costs "NULL", cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._share_of(ec._table(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight), decision),
(score, label, decision, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    CASE WHEN ec._decision_ok(decision, ec._n_decisions(costs)) THEN
        ec._expected(ec._means(score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight,
                               CAST(CAST(ec._decision_index(decision, ec._n_decisions(costs)) AS BIGINT) AS VARCHAR))) END;
CREATE OR REPLACE MACRO ec.decision_share(score DOUBLE, label, decision := NULL, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._decision_share(score, label, decision, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score DOUBLE[], label, decision := NULL, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN
        ec._share_of(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), decision) END,
(score BOOLEAN, label, decision := NULL, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, threshold := NULL, score_type := 'posterior', weight := NULL) AS
    ec._decision_share(ec._boolean_decision(score, score_type), label, decision, costs, cost_fn, cost_fp, prior, threshold, score_type, weight);
COMMENT ON MACRO ec.decision_share IS 'Share of the rows with decision j: sum_i P_i R_ij. The index of the decision counts from 0; of two, the default is the positive one.';
-- polars_ec for DuckDB, file 5 of 12: expectations of scoring rules. Load after decisions.
-- Every one is sum_i P_i * mean over class i of a loss of the row: the files rows (losses) and counts (sums) do the rest.

-- Means of a loss, class by class -------------------------------------------------------------------------------------

-- Binary. sum1 and sum0 are the sums of the loss over the rows of class 1 and 0.
CREATE OR REPLACE MACRO ec._losses(score, label, prior, score_type, weight, sum1, sum0) AS
    list_transform([{
            'invalid': ec._count_invalid(ec._likely(score, score_type, prior), label, NULL, score_type, weight),
            'prior': ec._stated_prior(prior),
            'n1': ec._size1(score, label, weight), 'n0': ec._size0(score, label, weight),
            's1': sum1, 's0': sum0}],
        lambda _s: CASE WHEN _s['invalid'] = 0 AND ec._addable(_s['n1'] + _s['n0']) THEN {
            'm1': ec._ratio(_s['s1'], _s['n1']), 'm0': ec._ratio(_s['s0'], _s['n0']),
            'p1': ec._prior_of_1(_s['n1'], _s['n0'], _s['prior']), 'p0': ec._prior_of_0(_s['n1'], _s['n0'], _s['prior'])} END);

-- K classes: class sums {n}, priors {p} and the expectation {e} of the loss. At the group's own priors it is the mean over all rows, and
-- no sum per class is needed.
CREATE OR REPLACE MACRO ec._loss_of_row(score, label, weight, loss) AS
    CASE WHEN NOT ec._missing_vector(score, label, weight) THEN ec._weighted(loss, weight) END;
CREATE OR REPLACE MACRO ec._losses_vector(score, label, prior "NULL", score_type, weight, loss) AS
    list_transform(list_transform([{
            'ok': bool_and(ec._list_losses_ok(prior, CAST(score_type AS VARCHAR))),
            'tally': ec._count_vector(ec._likely_list(score, score_type, prior), label, CAST(NULL AS DOUBLE[][]), score_type, weight),
            'n': ec._weight_by_class(score, label, weight), 'rows': ec._kept(NULL, score, label, weight, loss), 's': sum(loss)}],
        lambda _g: {'n': CASE WHEN _g['ok'] THEN ec._class_n(_g['tally'], _g['n'], _g['rows']) END, 's': _g['s']}),
        lambda _g: invoke(lambda _p: {'e': CASE WHEN _p IS NOT NULL THEN _g['s'] / list_sum(_g['n']) END, 'p': _p},
                          ec._class_priors(_g['n'], CASE WHEN prior IS NULL THEN CAST(NULL AS DOUBLE[]) END, CAST(NULL AS DOUBLE[])))),
(score, label, prior, score_type, weight, loss) AS
    list_transform(list_transform([{
            'ok': bool_and(ec._list_losses_ok(prior, CAST(score_type AS VARCHAR))),
            'tally': ec._count_vector(ec._likely_list(score, score_type, prior), label, CAST(NULL AS DOUBLE[][]), score_type, weight),
            'n': ec._weight_by_class(score, label, weight), 'rows': ec._kept(1, score, label, weight, loss),
            's': ec._sum_by_class(label, loss), 'low': min(ec._priors(prior)), 'high': max(ec._priors(prior))}],
        lambda _g: {'n': CASE WHEN _g['ok'] THEN ec._class_n(_g['tally'], _g['n'], _g['rows']) END,
                    's': ec._each_sum(_g['s'], _g['rows'], ec._tally_classes(_g['tally']), 's'), 'low': _g['low'], 'high': _g['high']}),
        lambda _g: invoke(lambda _p: {'e': ec._expect(_p, ec._each_mean(_g['n'], _g['s'])), 'p': _p},
                          ec._class_priors(_g['n'], _g['low'], _g['high'])));

-- Of losses l of one group, and of a list of one.
CREATE OR REPLACE MACRO ec._loss_of(l) AS ec._term(l['p1'], l['m1']) + ec._term(l['p0'], l['m0']);
CREATE OR REPLACE MACRO ec._mean_loss(losses) AS list_transform(losses, lambda _l: ec._loss_of(_l))[1];

-- What the prior itself scores: entropy, and the Brier score of the prior as a posterior. -ln(p) near 1 is made of the other
-- priors, for p has lost their digits.
CREATE OR REPLACE MACRO ec._nats(p, others) AS
    CASE WHEN p = 0 THEN 0e0 WHEN p > 0.5 THEN p * ec._minus_log1m(others) ELSE -p * ln(p) END;
CREATE OR REPLACE MACRO ec._loss_over_entropy(l) AS ec._ratio(ec._loss_of(l), ec._nats(l['p1'], l['p0']) + ec._nats(l['p0'], l['p1']));
CREATE OR REPLACE MACRO ec._mean_over_entropy(losses) AS list_transform(losses, lambda _l: ec._loss_over_entropy(_l))[1];
CREATE OR REPLACE MACRO ec._loss_over_spread(l) AS ec._ratio(ec._loss_of(l), l['p1'] * l['p0']);
CREATE OR REPLACE MACRO ec._mean_over_spread(losses) AS list_transform(losses, lambda _l: ec._loss_over_spread(_l))[1];
-- 1 - P_i without loss of digits.
CREATE OR REPLACE MACRO ec._others(p, i) AS list_sum(list_transform(p, lambda _y, _j: CASE WHEN _j = i THEN 0 ELSE _y END));
CREATE OR REPLACE MACRO ec._expected_loss(losses) AS list_transform(losses, lambda _l: _l['e'])[1];
CREATE OR REPLACE MACRO ec._entropy(p) AS ec._plus(list_transform(p, lambda _x, _i: ec._nats(_x, ec._others(p, _i))));
CREATE OR REPLACE MACRO ec._expected_over_entropy(losses) AS
    list_transform(losses, lambda _l: ec._ratio(_l['e'], ec._entropy(_l['p'])))[1];
-- The sum of P_i (1 - P_i).
CREATE OR REPLACE MACRO ec._spread(p) AS list_sum(list_transform(p, lambda _x, _i: _x * ec._others(p, _i))) / len(p);
CREATE OR REPLACE MACRO ec._expected_over_spread(losses) AS
    list_transform(losses, lambda _l: ec._ratio(_l['e'], ec._spread(_l['p'])))[1];

-- Public --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._sum_log_losses(score, label, prior, score_type, weight "NULL") AS
    ec._losses(score, label, prior, score_type, weight,
               ec._sum_loss(1, score, label, ec._log_loss1(score, score_type, prior)),
               ec._sum_loss(0, score, label, ec._log_loss0(score, score_type, prior))),
(score, label, prior, score_type, weight) AS
    ec._losses(score, label, prior, score_type, weight,
               ec._sum_loss(1, score, label, ec._weighted(ec._log_loss1(score, score_type, prior), weight)),
               ec._sum_loss(0, score, label, ec._weighted(ec._log_loss0(score, score_type, prior), weight)));
CREATE OR REPLACE MACRO ec._log_losses_by(type "NULL", score, label, prior, score_type, weight) AS
    ec._sum_log_losses(score, label, prior, CAST(score_type AS VARCHAR), weight),
(type, score, label, prior, score_type, weight) AS ec._sum_log_losses(score, label, prior, NULL, weight);
CREATE OR REPLACE MACRO ec._log_losses(score, label, prior, score_type, weight) AS
    ec._log_losses_by(ec._posterior_type(score_type), score, label, prior, score_type, weight);
CREATE OR REPLACE MACRO ec._log_loss_of_row(type "NULL", score, label, prior, score_type, weight) AS
    invoke(lambda _v: ec._loss_of_row(_v, label, weight, ec._vector_log_loss(_v, ec._y(label), CAST(score_type AS VARCHAR), prior)), score),
(type, score, label, prior, score_type, weight) AS
    invoke(lambda _v: ec._loss_of_row(_v, label, weight, ec._vector_log_loss(_v, ec._y(label), NULL, prior)), score);
CREATE OR REPLACE MACRO ec._log_losses_vector(score, label, prior, score_type, weight) AS
    ec._losses_vector(score, label, prior, score_type, weight,
                      ec._log_loss_of_row(ec._posteriors_type(score_type), score, label, prior, score_type, weight));
CREATE OR REPLACE MACRO ec._sum_briers(score, label, prior, score_type, weight "NULL") AS
    ec._losses(score, label, prior, score_type, weight,
               ec._sum_brier(1, score, label, ec._brier1(score, score_type, prior), score_type),
               ec._sum_brier(0, score, label, ec._brier0(score, score_type, prior), score_type)),
(score, label, prior, score_type, weight) AS
    ec._losses(score, label, prior, score_type, weight,
               ec._sum_brier(1, score, label, ec._weighted(ec._brier1(score, score_type, prior), weight), score_type),
               ec._sum_brier(0, score, label, ec._weighted(ec._brier0(score, score_type, prior), weight), score_type));
CREATE OR REPLACE MACRO ec._briers_by(type "NULL", score, label, prior, score_type, weight) AS
    ec._sum_briers(score, label, prior, CAST(score_type AS VARCHAR), weight),
(type, score, label, prior, score_type, weight) AS ec._sum_briers(score, label, prior, NULL, weight);
CREATE OR REPLACE MACRO ec._briers(score, label, prior, score_type, weight) AS
    ec._briers_by(ec._posterior_type(score_type), score, label, prior, score_type, weight);
CREATE OR REPLACE MACRO ec._brier_of_row(type "NULL", score, label, prior, score_type, weight) AS
    invoke(lambda _v: ec._loss_of_row(_v, label, weight, ec._vector_brier(_v, ec._y(label), CAST(score_type AS VARCHAR), prior)), score),
(type, score, label, prior, score_type, weight) AS
    invoke(lambda _v: ec._loss_of_row(_v, label, weight, ec._vector_brier(_v, ec._y(label), NULL, prior)), score);
CREATE OR REPLACE MACRO ec._briers_vector(score, label, prior, score_type, weight) AS
    ec._losses_vector(score, label, prior, score_type, weight,
                      ec._brier_of_row(ec._posteriors_type(score_type), score, label, prior, score_type, weight));

CREATE OR REPLACE MACRO ec.cross_entropy(score DOUBLE, label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    ec._mean_loss(ec._log_losses(score, label, prior, score_type, weight)),
(score DOUBLE[], label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    ec._expected_loss(ec._log_losses_vector(score, label, prior, score_type, weight));
COMMENT ON MACRO ec.cross_entropy IS 'Cross-entropy (CE, log loss): the expected negative natural logarithm of the posterior of the true class. Lower is better; in [0, inf] nats; inf if the true class of a row has posterior 0. sum_i P_i mean over class i of -ln q_i.';

CREATE OR REPLACE MACRO ec.nce(score DOUBLE, label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    ec._mean_over_entropy(ec._log_losses(score, label, prior, score_type, weight)),
(score DOUBLE[], label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    ec._expected_over_entropy(ec._log_losses_vector(score, label, prior, score_type, weight));
COMMENT ON MACRO ec.nce IS 'Cross-entropy normalised by that of a system that always returns the prior. Lower is better; in [0, inf]: 0 is perfect, 1 is naive. CE / (-sum_i P_i ln P_i), with CE the `cross_entropy`.';

CREATE OR REPLACE MACRO ec.brier(score DOUBLE, label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    ec._mean_loss(ec._briers(score, label, prior, score_type, weight)),
(score DOUBLE[], label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    ec._expected_loss(ec._briers_vector(score, label, prior, score_type, weight));
COMMENT ON MACRO ec.brier IS 'Brier score (BS): the expected squared error of the posteriors, averaged over the K classes. Lower is better; in [0, 2/K]. sum_i P_i mean over class i of (1/K) sum_k (q_k - [k = i])^2; for two classes this is the squared error of q_1. Multiply by K for the convention that sums over the classes.';

CREATE OR REPLACE MACRO ec.nbs(score DOUBLE, label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    ec._mean_over_spread(ec._briers(score, label, prior, score_type, weight)),
(score DOUBLE[], label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    ec._expected_over_spread(ec._briers_vector(score, label, prior, score_type, weight));
COMMENT ON MACRO ec.nbs IS 'Brier score normalised by that of a system that always returns the prior. Lower is better; in [0, inf): 0 is perfect, 1 is naive. BS / (sum_i P_i (1 - P_i) / K), with BS the `brier`.';

CREATE OR REPLACE MACRO ec._not_decided(score_type) AS
    CASE WHEN score_type = 'decision'
         THEN error('ec: bayes_risk makes its own decisions: for given decisions use expected_cost') IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec.bayes_risk(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._not_decided(score_type)
         THEN ec._expected_cost(score, label, costs, cost_fn, cost_fp, prior, NULL, score_type, weight) END,
(score DOUBLE[], label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._not_decided(score_type) AND ec._costs_ok(costs, cost_fn, cost_fp)
         THEN ec._expected(ec._means_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, NULL,
                                            score_type, weight, 'cost')) END;
COMMENT ON MACRO ec.bayes_risk IS 'Expected cost of the Bayes decisions from the posteriors: the expected proper scoring rule of a cost matrix. Lower is better; in [least cost, largest cost]. sum_i P_i mean over class i of c_ij with j = argmin_j sum_k c_kj q_k. Divided by the naive cost it is `nec`.';

CREATE OR REPLACE MACRO ec._llr_only(score_type) AS
    CASE WHEN CAST(score_type AS VARCHAR) = 'llr' THEN score_type
         ELSE error(concat('ec: cllr needs score_type := ''llr'', not ''', score_type, ''': ec.llr(score, prior) computes LLRs')) END;
CREATE OR REPLACE MACRO ec.cllr(score DOUBLE, label, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._losses(score, label, NULL, ec._llr_only(score_type), weight,
                              ec._sum_loss(1, score, label, ec._weighted(ec._softplus(-score), weight)),
                              ec._sum_loss(0, score, label, ec._weighted(ec._softplus(score), weight))),
                   lambda _l: (_l['m1'] + _l['m0']) / (2 * ln(2e0)))[1];
COMMENT ON MACRO ec.cllr IS 'Cost of log-likelihood ratios (Cllr): their cross-entropy at a prior of 0.5, in bits. Lower is better; in [0, inf]: LLRs of 0 have 1. (1/2) (mean over class 1 of log2(1 + e^-LLR) + mean over class 0 of log2(1 + e^LLR)). It is the `nce` at prior 0.5.';

-- epsr ----------------------------------------------------------------------------------------------------------------

-- I(q) = integral of t^(a-2) (1-t)^(b-1) from q to 1; x = 1 - q comes along so that neither tail loses digits. Every
-- series is in a number <= 1/2, and has enough terms for 1e-16 while a, b <= 20; its coefficients are constants.
CREATE OR REPLACE MACRO ec._terms(a, b) AS 60 + 3 * CAST(ceil(greatest(a, b)) AS INTEGER);

-- (u)_k / (v)_(k+1), highest k first.
CREATE OR REPLACE MACRO ec._rising(u, v, n) AS
    list_transform(range(n), lambda _k: coalesce(list_product(list_transform(range(n - 1 - _k),
        lambda _j: (u + _j) / (v + 1 + _j))), 1) / v);
-- (1-b)_k / k! / (a-1+k) for k = 1..n, highest k first.
CREATE OR REPLACE MACRO ec._binomial(a, b, n) AS
    list_transform(range(n), lambda _k: list_product(list_transform(range(n - _k),
        lambda _j: (1 - b + _j) / (1 + _j))) / (a - 1 + n - _k));
CREATE OR REPLACE MACRO ec._horner(coefficients, x) AS list_reduce(coefficients, lambda _s, _c: _s * x + _c);

-- q >= 1/2: positive terms.
CREATE OR REPLACE MACRO ec._integral_high(q, x, a, b) AS
    pow(x, b) * pow(q, a - 1) * ec._horner(ec._rising(a + b - 1, b, ec._terms(a, b)), x);
-- q < 1/2 and a > 1: the whole integral less that from 0 to q, positive terms again.
CREATE OR REPLACE MACRO ec._integral_from_0(q, x, a, b) AS
    pow(q, a - 1) * pow(x, b) * ec._horner(ec._rising(a + b - 1, a - 1, ec._terms(a, b)), q);
-- q < 1/2 and a about 1 or less: from q to 1/2 term by term of (1-t)^(b-1). The first term is ln(1/2q) at a = 1 and near
-- it (exp(z) - 1)/z, z = (a-1) ln 2q, where sinh keeps the digits.
CREATE OR REPLACE MACRO ec._first_term(q, c) AS
    CASE WHEN c = 0 THEN -ln(2 * q)
         WHEN abs(c * ln(2 * q)) < 1
         THEN -pow(0.5e0, c) * 2 * sinh(c * ln(2 * q) / 2) * exp(c * ln(2 * q) / 2) / c
         ELSE (pow(0.5e0, c) - pow(q, c)) / c END;
CREATE OR REPLACE MACRO ec._integral_low(q, a, b) AS
    ec._integral_high(0.5e0, 0.5e0, a, b) + ec._first_term(q, a - 1)
    + pow(0.5e0, a) * ec._horner(ec._binomial(a, b, ec._terms(a, b)), 0.5e0)
    - pow(q, a) * ec._horner(ec._binomial(a, b, ec._terms(a, b)), q);

CREATE OR REPLACE MACRO ec._beta(a, b) AS exp(lgamma(a) + lgamma(b) - lgamma(a + b));
CREATE OR REPLACE MACRO ec._epsr_loss(q, x, a, b) AS
    CASE WHEN NOT (a >= 0.001 AND b >= 0.001 AND a <= 20 AND b <= 20) THEN NULL
         WHEN a = 2 AND b = 2 THEN 3 * x * x
         WHEN a = 1 AND b = 1 THEN CASE WHEN q < 0.5 THEN -ln(q) ELSE ec._minus_log1m(x) END
         WHEN q >= 0.5 THEN ec._integral_high(q, x, a, b) / ec._beta(a, b)
         WHEN a > 1.1 THEN (a + b - 1) / (a - 1) - ec._integral_from_0(q, x, a, b) / ec._beta(a, b)
         ELSE ec._integral_low(q, a, b) / ec._beta(a, b) END;

-- Seen from class 0 the roles of q and 1 - q, a and b are exchanged.
CREATE OR REPLACE MACRO ec._sum_epsr(i, score, label, q, x, a, b, weight) AS
    sum(invoke(lambda _q, _x: ec._weighted(ec._epsr_loss(_q, _x, a, b), weight),
               CASE WHEN ec._of_class(i, score, label) THEN q END, CASE WHEN ec._of_class(i, score, label) THEN x END));
CREATE OR REPLACE MACRO ec._epsr(score, label, a, b, prior, score_type, weight) AS
    ec._mean_loss(ec._losses(score, label, prior, score_type, weight,
        ec._sum_epsr(1, score, label, ec._posterior(score, score_type, prior), ec._q0(score, score_type, prior), a, b, weight),
        ec._sum_epsr(0, score, label, ec._q0(score, score_type, prior), ec._posterior(score, score_type, prior), b, a, weight)));
CREATE OR REPLACE MACRO ec._beta_ok(x, name) AS
    ec._number_is(x >= 0.001 AND x <= 20, x, format('epsr needs {} from 0.001 to 20', name));
CREATE OR REPLACE MACRO ec.epsr(score DOUBLE, label, a := 1, b := 1, score_type := 'posterior', prior := NULL, weight := NULL) AS
    CASE WHEN ec._beta_ok(a, 'a') AND ec._beta_ok(b, 'b')
         THEN ec._epsr(score, label, CAST(a AS DOUBLE), CAST(b AS DOUBLE), prior, score_type, weight) END,
(score DOUBLE[], label, a := 1, b := 1, score_type := 'posterior', prior := NULL, weight := NULL) AS
    CASE WHEN ec._beta_ok(a, 'a') AND ec._beta_ok(b, 'b') AND ec._two_classes(score, label, score_type, weight)
         THEN ec._epsr(ec._pair(score, score_type), label, CAST(a AS DOUBLE), CAST(b AS DOUBLE), prior,
                       ec._pair_type(score_type), weight) END;
COMMENT ON MACRO ec.epsr IS 'Mean Bayes risk under the costs [[0, 1/(1-t)], [1/t, 0]] with t ~ Beta(a, b), lower is better: a = b = 1 is CE, a = b = 2 is 3 BS.';
-- polars_ec for DuckDB, file 6 of 12: the log reduced to counts and sums per bin of the score. Load after scoring_rules.
-- A table macro: the log is a table, view or WITH clause given by its name as text, score, label and weight are
-- expressions over its columns, groups the names of its group columns. Names within start with "ec: ", because a parameter's
-- name would hide a column of the log, and a column of the log one that is made here.

-- Bins ----------------------------------------------------------------------------------------------------------------

-- Log-odds: floor(lo R) for -64 <= lo < 64, and one open-ended bin on either side, into which lo is clamped. Infinite
-- log-odds (all equal) have bins of their own beyond these.
CREATE OR REPLACE MACRO ec._log_odds_bin(lo, resolution) AS
    floor(greatest(least(lo, CAST(64 AS DOUBLE)), -64 - CAST(0.5 AS DOUBLE) / resolution) * resolution);

-- Any real number: floor(R ln x), moved so that every x > 0 has a bin > 0; -x has the bin of x, negated; 0 and the
-- infinities have bins of their own.
CREATE OR REPLACE MACRO ec._raw_bin(x, resolution) AS
    CASE WHEN x = 0 THEN 0
         WHEN abs(x) = CAST('inf' AS DOUBLE) THEN sign(x) * (1492 * resolution + 2)
         ELSE sign(x) * (floor(resolution * ln(abs(x))) + 746 * resolution + 1) END;

CREATE OR REPLACE MACRO ec._bin_of_share(share, resolution) AS
    CASE WHEN share = 0 THEN -64 * resolution - 2 WHEN share = 1 THEN 64 * resolution + 1
         ELSE ec._log_odds_bin(ln(share) - ln(1 - share), resolution) END;

-- The bin of a usable score. (NULL must be asked for: least and greatest pass over it.)
CREATE OR REPLACE MACRO ec._bin(score, score_type, resolution) AS
    CAST(CASE WHEN score IS NULL THEN NULL
              WHEN score_type = 'raw' THEN ec._raw_bin(score, resolution)
              WHEN score_type = 'percent' THEN ec._bin_of_share(score / 100, resolution)
              WHEN score_type = 'posterior' THEN ec._bin_of_share(score, resolution)
              WHEN score = CAST('-inf' AS DOUBLE) THEN -64 * resolution - 2
              WHEN score = CAST('inf' AS DOUBLE) THEN 64 * resolution + 1
              ELSE ec._log_odds_bin(score, resolution) END AS INTEGER);

CREATE OR REPLACE MACRO ec._top_bin(score_type, resolution) AS
    CASE WHEN score_type = 'raw' THEN 1492 * resolution + 2 ELSE 64 * resolution + 1 END;

-- The bin of resolution 8 at most in which a bin lies, or where it lies in two the score does.
CREATE OR REPLACE MACRO ec._coarse(resolution) AS least(resolution, 8);
CREATE OR REPLACE MACRO ec._outer_bin(bin, score_type, resolution, coarse) AS
    CASE WHEN score_type = 'raw' AND abs(bin) = 1492 * resolution + 2 THEN sign(bin) * (1492 * coarse + 2)
         WHEN score_type = 'raw' THEN sign(bin) * (floor((abs(bin) - 1) / (resolution / coarse)) + 1)
         WHEN bin = -64 * resolution - 2 THEN -64 * coarse - 2
         WHEN bin = 64 * resolution + 1 THEN 64 * coarse + 1
         ELSE floor(bin / (resolution / coarse)) END;
CREATE OR REPLACE MACRO ec._coarse_bin(score, score_type, resolution) AS
    CASE WHEN resolution % ec._coarse(resolution) = 0
         THEN CAST(ec._outer_bin(ec._bin(score, score_type, resolution), score_type, resolution, ec._coarse(resolution)) AS INTEGER)
         ELSE ec._bin(score, score_type, ec._coarse(resolution)) END;

-- Bins in which all scores are equal, so that their order is known.
CREATE OR REPLACE MACRO ec._one_score(bin, score_type, resolution) AS
    CASE WHEN score_type = 'raw' THEN bin = 0 OR abs(bin) = 1492 * resolution + 2
         ELSE bin = 64 * resolution + 1 OR bin = -64 * resolution - 2 END;

-- Bins are 32-bit integers; this is folded into a constant.
CREATE OR REPLACE MACRO ec._resolution(resolution) AS
    CASE WHEN TRY_CAST(resolution AS INTEGER) = resolution AND resolution BETWEEN 1 AND 1000000 AND typeof(resolution) <> 'BOOLEAN'
         THEN CAST(resolution AS INTEGER)
         ELSE CAST(error('ec: resolution must be a number of bins per nat, a whole number in 1..1000000, not '
                         || coalesce(CAST(resolution AS VARCHAR), 'NULL')) AS INTEGER) END;

-- Rows ----------------------------------------------------------------------------------------------------------------

-- What kind of score a bin is made of: an LLR is binned like log-odds.
CREATE OR REPLACE MACRO ec._binned_of(score_type) AS
    CASE WHEN score_type = 'llr' THEN 'log_odds'
         WHEN score_type IN ('posterior', 'percent', 'log_odds', 'raw') THEN score_type
         ELSE error(format('ec: score_type ''{}'' is not one of posterior, percent, log_odds, llr, raw. Other arguments must be named, such as '
                           || 'resolution := 64', coalesce(score_type, 'NULL'))) END;
CREATE OR REPLACE MACRO ec._binned_type(score_type) AS ec._binned_of(CAST(score_type AS VARCHAR));

-- 0, 1, -1 for a wrong row, NULL for one with a part missing. Labels and weights are checked as everywhere else.
CREATE OR REPLACE MACRO ec._ranked_class(score, label, score_type, weight) AS
    CASE WHEN ec._missing(score, label, weight) THEN NULL
         WHEN ec._usable(score, label, NULL, CASE WHEN score_type IN ('posterior', 'percent') THEN score_type ELSE 'log_odds' END, weight)
         THEN CAST(ec._y(label) AS TINYINT) ELSE CAST(-1 AS TINYINT) END;

CREATE OR REPLACE MACRO ec._thresholds(thresholds) AS
    CASE WHEN list_count(thresholds) = len(thresholds) AND NOT coalesce(isnan(list_max(CAST(thresholds AS DOUBLE[]))), false)
         THEN list_sort(list_distinct(CAST(thresholds AS DOUBLE[])))
         ELSE [ec._fail('thresholds must be numbers, not ' || CAST(thresholds AS VARCHAR))] END;

-- How many thresholds the score exceeds. Up to eight comparisons written out, of which those with no threshold are folded
-- away: four times as fast as a lambda.
CREATE OR REPLACE MACRO ec._exceeds(score, t) AS coalesce(CAST(score > t AS SMALLINT), CAST(0 AS SMALLINT));
CREATE OR REPLACE MACRO ec._above(score, t) AS
    CAST(CASE WHEN len(t) > 8 THEN len(list_filter(t, lambda _t: score > _t))
              ELSE ec._exceeds(score, t[1]) + ec._exceeds(score, t[2]) + ec._exceeds(score, t[3]) + ec._exceeds(score, t[4])
                 + ec._exceeds(score, t[5]) + ec._exceeds(score, t[6]) + ec._exceeds(score, t[7]) + ec._exceeds(score, t[8])
         END AS SMALLINT);

-- Group columns -------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._is_group(name, groups) AS
    list_contains(list_transform(CAST(groups AS VARCHAR[]), lambda _g: lower(_g)), lower(name));

-- True, or an error, or NULL of a log of no rows. COLUMNS(lambda) passes over a name that no column has, so the columns that it
-- finds are looked at, in the first row. It must find one, hence the 0.
CREATE OR REPLACE MACRO ec._columns_ok(log, groups, own) AS TABLE
    SELECT CASE WHEN len(list_filter(found, lambda _c: starts_with(_c, 'ec: '))) > 1
                THEN error('ec: the log has a column whose name starts with ''ec: '': ' || CAST(found AS VARCHAR)) IS NULL
                WHEN len(list_filter(own, lambda _c: ec._is_group(_c, groups))) > 0
                THEN error(format('ec: groups {} name a column that is also a column of the result: rename it', CAST(groups AS VARCHAR))) IS NULL
                WHEN len(found) - 1 < len(list_distinct(list_transform(CAST(groups AS VARCHAR[]), lambda _g: lower(_g))))
                THEN error(format('ec: groups {} name a column that the log does not have', CAST(groups AS VARCHAR))) IS NULL
                ELSE true END
    FROM (SELECT list_value(*COLUMNS(*)) AS found
          FROM (SELECT alias(COLUMNS(lambda _c: starts_with(_c, 'ec: ') OR ec._is_group(_c, groups)))
                FROM (SELECT 0 AS "ec: 0", * FROM query_table(log)) LIMIT 1));

-- Public --------------------------------------------------------------------------------------------------------------

-- A sum over the rows of one cell; 0 where they are wrong or miss a part. A row of weight 0 adds 0, whatever its value.
CREATE OR REPLACE MACRO ec._cell_sum(value, checked, weight) AS
    coalesce(sum(CASE WHEN ec._unset(weight) THEN value WHEN checked = 0 THEN 0 ELSE value * checked END), 0);

-- Without weights that of the usable rows is their number, and to count is cheaper than to add up.
CREATE OR REPLACE MACRO ec._weight_of(score, checked, weight "NULL") AS CAST(count(score) AS DOUBLE),
(score, checked, weight) AS coalesce(sum(checked), 0);
CREATE OR REPLACE MACRO ec._weight2_of(score, checked, weight "NULL") AS CAST(count(score) AS DOUBLE),
(score, checked, weight) AS coalesce(sum(checked * checked), 0);

CREATE OR REPLACE MACRO ec._number_per_row(score DOUBLE[]) AS
    CAST(error('ec: the scores are lists, so pass the number of classes and a reduction too, such as classes := 3, '
               || 'reduction := ''one_vs_rest'', ''top_label'' or ''decisions''') AS DOUBLE),
(score "NULL") AS CAST(NULL AS DOUBLE),
(score) AS CAST(score AS DOUBLE);

-- The log with the class, score and weight of each row. Scores of rows that are wrong or miss a part are NULL, so that they enter no
-- logarithm.
CREATE OR REPLACE MACRO ec._sketch_rows(log, score, label, score_type, weight) AS TABLE
    SELECT *, CASE WHEN "ec: class" >= 0 THEN ec._number_per_row(score) END AS "ec: score",
           CASE WHEN "ec: class" >= 0 THEN CAST(ec._weight(weight) AS DOUBLE) END AS "ec: weight"
    FROM (SELECT *, ec._ranked_class(ec._number_per_row(score), label, ec._binned_type(score_type), weight) AS "ec: class"
          FROM query_table(log));

-- COLUMNS(lambda) must find something even where there are no groups: it takes the class too, which comes last.
CREATE OR REPLACE MACRO ec._sketch_cells(log, score, label, groups, score_type, resolution, thresholds, weight) AS TABLE
    SELECT COLUMNS(lambda _c: _c = 'ec: class' OR ec._is_group(_c, groups)),
           ec._bin("ec: score", ec._binned_type(score_type), ec._resolution(resolution)) AS bin,
           CASE WHEN "ec: class" >= 0 THEN ec._above("ec: score", ec._thresholds(thresholds)) END AS above,
           count(*) AS n,
           ec._weight_of("ec: score", "ec: weight", weight) AS weight,
           ec._weight2_of("ec: score", "ec: weight", weight) AS weight2,
           ec._cell_sum(CASE WHEN "ec: class" = 1 THEN ec._log_loss1("ec: score", ec._binned_type(score_type), NULL)
                             WHEN "ec: class" = 0 THEN ec._log_loss0("ec: score", ec._binned_type(score_type), NULL) END,
                        "ec: weight", weight) AS log_loss,
           ec._cell_sum(CASE WHEN "ec: class" = 1 THEN ec._brier1("ec: score", ec._binned_type(score_type), NULL)
                             WHEN "ec: class" = 0 THEN ec._brier0("ec: score", ec._binned_type(score_type), NULL) END,
                        "ec: weight", weight) AS brier,
           ec._cell_sum(ec._posterior("ec: score", ec._binned_type(score_type), NULL), "ec: weight", weight) AS posterior
    FROM ec._sketch_rows(log, score, label, score_type, weight) GROUP BY ALL;

-- The usable rows once more, by bucket and at a coarser resolution.
CREATE OR REPLACE MACRO ec._sketch_coarse(log, score, label, groups, score_type, resolution, thresholds, weight, cluster, buckets) AS TABLE
    SELECT COLUMNS(lambda _c: _c = 'ec: class' OR ec._is_group(_c, groups)), "ec: bucket",
           ec._coarse_bin("ec: score", ec._binned_type(score_type), ec._resolution(resolution)) AS bin,
           ec._above("ec: score", ec._thresholds(thresholds)) AS above,
           count(*) AS n,
           ec._weight_of("ec: score", "ec: weight", weight) AS weight,
           ec._weight2_of("ec: score", "ec: weight", weight) AS weight2
    FROM (SELECT *, ec._bucket_of_cluster(cluster, buckets) AS "ec: bucket" FROM ec._sketch_rows(log, score, label, score_type, weight))
    WHERE "ec: class" >= 0 GROUP BY ALL;

CREATE OR REPLACE MACRO ec._buckets_of_clusters(buckets) AS
    CASE WHEN TRY_CAST(buckets AS UBIGINT) = buckets AND buckets BETWEEN 5 AND 1000 THEN CAST(buckets AS UBIGINT)
         ELSE CAST(error('ec: buckets must be a whole number in 5..1000, not '
                         || coalesce(CAST(buckets AS VARCHAR), 'NULL')) AS UBIGINT) END;

-- With clusters two tables, one below the other: "table" says which one a row is of.
CREATE OR REPLACE MACRO ec._sketch_tables(log, score, label, cluster, groups, score_type, resolution, thresholds, weight, buckets) AS TABLE
    -- One name at a time: of several DuckDB does not keep the order in a file, and the macros would seem others than those written.
    SELECT * RENAME ("ec: table" AS "table"), 'murmur3' AS hash
    FROM (SELECT * RENAME ("ec: bucket" AS bucket)
          FROM (SELECT * RENAME ("ec: class" AS class)
                FROM (SELECT 'cells' AS "ec: table", CAST(NULL AS SMALLINT) AS "ec: bucket", *
                      FROM ec._sketch_cells(log, score, label, groups, score_type, resolution, thresholds, weight)
                      UNION ALL BY NAME
                      SELECT 'coarse' AS "ec: table", *
                      FROM ec._sketch_coarse(log, score, label, groups, score_type, resolution, thresholds, weight, cluster, buckets))));

-- Lists of K posteriors, reduced to two classes ------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._reduction(reduction) AS
    CASE WHEN reduction IN ('one_vs_rest', 'top_label', 'decisions') THEN CAST(reduction AS VARCHAR)
         ELSE error(format('ec: reduction ''{}'' is not one of one_vs_rest, top_label, decisions', coalesce(CAST(reduction AS VARCHAR), 'NULL'))) END;
CREATE OR REPLACE MACRO ec._number_of_classes(classes) AS
    CASE WHEN TRY_CAST(classes AS INTEGER) = classes AND classes >= 2 AND typeof(classes) <> 'BOOLEAN' THEN CAST(classes AS INTEGER)
         ELSE CAST(error('ec: classes must be the number of classes, a whole number from 2, not '
                         || coalesce(CAST(classes AS VARCHAR), 'NULL')) AS INTEGER) END;

-- The posteriors of a row, NULL if one is missing and an empty list if they are wrong.
CREATE OR REPLACE MACRO ec._checked_posteriors(score, classes, score_type) AS
    CASE WHEN score_type NOT IN ('posterior', 'posteriors', 'log_posteriors')
         THEN error(format('ec: score_type ''{}'' is not one of posteriors, log_posteriors for a sketch of lists',
                           coalesce(CAST(score_type AS VARCHAR), 'NULL')))
         WHEN score IS NULL OR list_position(score, NULL) IS NOT NULL THEN NULL
         WHEN len(score) = classes AND ec._vector_ok(score, NULL, score_type) THEN ec._posteriors(score, score_type, NULL)
         ELSE [] END;

-- The log with a score and a label of two classes for each row and, of each class against the rest, for each class. A label that is no
-- class is -1, which is wrong, and so is NaN as a score.
CREATE OR REPLACE MACRO ec._reduced_rows(log, score, label, classes, reduction, score_type) AS TABLE
    SELECT *, CASE WHEN "ec: posteriors" IS NULL THEN NULL
                   WHEN len("ec: posteriors") = 0 THEN CAST('nan' AS DOUBLE)
                   WHEN ec._reduction(reduction) <> 'one_vs_rest' THEN least(list_max("ec: posteriors"), CAST(1 AS DOUBLE))
                   ELSE least("ec: posteriors"["ec: target" + 1], CAST(1 AS DOUBLE)) END AS "ec: reduced score",
           CASE WHEN "ec: label" IS NULL THEN NULL
                WHEN len("ec: posteriors") = 0 OR NOT "ec: label" BETWEEN 0 AND ec._number_of_classes(classes) - 1 THEN -1
                WHEN ec._reduction(reduction) <> 'one_vs_rest' THEN CAST(ec._first_of_most("ec: posteriors") = "ec: label" AS INTEGER)
                ELSE CAST("ec: label" = "ec: target" AS INTEGER) END AS "ec: reduced label"
    FROM (SELECT *, CASE WHEN label IS NULL THEN NULL ELSE coalesce(ec._class(label), -1) END AS "ec: label",
                 ec._checked_posteriors(CAST(score AS DOUBLE[]), ec._number_of_classes(classes), score_type) AS "ec: posteriors",
                 unnest(CASE WHEN ec._reduction(reduction) <> 'one_vs_rest' THEN [0] ELSE range(ec._number_of_classes(classes)) END) AS "ec: target"
          FROM query_table(log));

-- The Bayes decisions of these rows and their losses, in place of two classes.
CREATE OR REPLACE MACRO ec._costs_of_classes(costs, classes) AS
    CASE WHEN ec._costs_ok(costs, 1, 1) AND (ec._unset(costs) OR len(ec._given_costs(costs)) = ec._number_of_classes(classes)) THEN ec._given_costs(costs)
         ELSE error(format('ec: costs has {} rows, but classes := {}', len(ec._given_costs(costs)), classes)) END;
-- The one cost of all rows, which goes into the table: decisions of several costs would be taken for those of one.
CREATE OR REPLACE MACRO ec._one_cost(log, classes, costs, reduction) AS TABLE
    SELECT CASE WHEN min("ec: costs") IS DISTINCT FROM max("ec: costs") OR count("ec: costs") NOT IN (0, count(*))
                THEN CAST(error('ec: costs differ between rows, but a sketch in SQL has one cost for all: pass constants, or use polars-ec sketch --cost-fn')
                          AS DOUBLE[][])
                ELSE coalesce(min("ec: costs"), list_transform(range(ec._number_of_classes(classes)), lambda _i: list_transform(
                    range(ec._number_of_classes(classes)), lambda _j: CAST(_i <> _j AS DOUBLE)))) END AS "ec: costs"
    FROM (SELECT ec._costs_of_classes(costs, classes) AS "ec: costs" FROM query_table(log) WHERE reduction = 'decisions');
CREATE OR REPLACE MACRO ec._decided_rows(log, score, classes, costs, score_type, weight) AS TABLE
    SELECT *, CASE WHEN "ec: checked" >= 0 THEN CAST("ec: label" AS INTEGER) ELSE CAST("ec: checked" AS INTEGER) END AS "ec: class",
           CASE WHEN "ec: checked" >= 0
                THEN CAST(ec._decide_vector("ec: posteriors", ec._costs_of_classes(costs, classes), ec._choices(ec._costs_of_classes(costs, classes)),
                                            NULL, NULL) AS INTEGER) END AS "ec: decision",
           CASE WHEN "ec: checked" >= 0 THEN CAST(ec._weight(weight) AS DOUBLE) END AS "ec: weight",
           CASE WHEN "ec: checked" >= 0 THEN ec._vector_log_loss(CAST(score AS DOUBLE[]), "ec: label", CAST(score_type AS VARCHAR), NULL) END AS "ec: log_loss",
           CASE WHEN "ec: checked" >= 0 THEN ec._vector_brier("ec: posteriors", "ec: label", NULL, NULL) END AS "ec: brier"
    FROM (SELECT *, ec._ranked_class("ec: reduced score", "ec: reduced label", 'posterior', weight) AS "ec: checked" FROM query_table(log));

CREATE OR REPLACE MACRO ec._decision_cells(log, costs_of_log, units, weight) AS TABLE
    SELECT "ec: costs" AS decision_costs, "ec: cells".*
    FROM query_table(costs_of_log), (
        SELECT COLUMNS(lambda _c: _c IN ('ec: class', 'ec: decision') OR ec._is_group(_c, units)),
               count(*) AS n,
               ec._weight_of("ec: decision", "ec: weight", weight) AS weight,
               ec._weight2_of("ec: decision", "ec: weight", weight) AS weight2,
               ec._cell_sum("ec: log_loss", "ec: weight", weight) AS log_loss,
               ec._cell_sum("ec: brier", "ec: weight", weight) AS brier,
               ec._cell_sum("ec: log_loss" * "ec: log_loss" * "ec: weight", "ec: weight", weight) AS log_loss_square,
               ec._cell_sum("ec: log_loss" * "ec: weight", "ec: weight", weight) AS log_loss_times_weight,
               ec._cell_sum("ec: brier" * "ec: brier" * "ec: weight", "ec: weight", weight) AS brier_square,
               ec._cell_sum("ec: brier" * "ec: weight", "ec: weight", weight) AS brier_times_weight
        FROM query_table(log) GROUP BY ALL) AS "ec: cells"
    WHERE "ec: costs" IS NOT NULL;

-- What a sketch of lists has beside its groups: other columns where it is of decisions.
CREATE OR REPLACE MACRO ec._of_decisions() AS ['decision_costs', 'class', 'decision', 'n', 'weight', 'weight2', 'log_loss', 'brier',
                                               'log_loss_square', 'log_loss_times_weight', 'brier_square', 'brier_times_weight'];
CREATE OR REPLACE MACRO ec._of_bins() AS ['target', 'class', 'bin', 'above', 'n', 'weight', 'weight2', 'log_loss', 'brier', 'posterior'];
CREATE OR REPLACE MACRO ec._of_reduction(reduction) AS
    CASE WHEN reduction = 'decisions' THEN ec._of_decisions() WHEN reduction = 'top_label' THEN ec._of_bins()[2:] ELSE ec._of_bins() END;
CREATE OR REPLACE MACRO ec._is_shown(name, groups, reduction) AS
    ec._is_group(name, groups) OR name IN ('table', 'bucket', 'hash') OR list_contains(ec._of_reduction(reduction), name);

CREATE OR REPLACE MACRO ec._with_target(groups) AS list_concat(CAST(groups AS VARCHAR[]), ['ec: target']);

CREATE OR REPLACE MACRO ec.sketch(log, score, label, groups := [], score_type := 'posterior', resolution := 64,
    thresholds := [], weight := NULL) AS TABLE (
    SELECT COLUMNS(lambda _c: CAST(score_type AS VARCHAR) <> 'raw' OR _c NOT IN ('log_loss', 'brier', 'posterior'))
    FROM (SELECT * RENAME ("ec: class" AS class)
          FROM ec._sketch_cells(log, score, label, groups, score_type, resolution, thresholds, weight))
    WHERE coalesce((FROM ec._columns_ok(log, groups, ['class', 'bin', 'above', 'n', 'weight', 'weight2', 'log_loss', 'brier',
                                                      'posterior'])), true)),
(log, score, label, cluster, groups := [], score_type := 'posterior', resolution := 64, thresholds := [], weight := NULL,
    buckets := 100) AS TABLE (
    SELECT COLUMNS(lambda _c: CAST(score_type AS VARCHAR) <> 'raw' OR _c NOT IN ('log_loss', 'brier', 'posterior'))
    FROM ec._sketch_tables(log, score, label, cluster, groups, score_type, resolution, thresholds, weight, buckets)
    WHERE coalesce((FROM ec._columns_ok(log, groups, ['table', 'bucket', 'hash', 'class', 'bin', 'above', 'n', 'weight', 'weight2',
                                                      'log_loss', 'brier', 'posterior'])), true)),
(log, score, label, classes, reduction VARCHAR, groups := [], score_type := 'posteriors', resolution := 64, thresholds := [], weight := NULL,
    costs := NULL) AS TABLE (
    WITH "ec: reduced" AS (FROM ec._reduced_rows(log, score, label, classes, reduction, score_type)),
         -- Read apart, because DuckDB holds in memory what two queries read.
         "ec: read" AS (FROM ec._reduced_rows(log, score, label, classes, reduction, score_type) WHERE reduction = 'decisions'),
         "ec: one cost" AS (FROM ec._one_cost(log, classes, costs, reduction)),
         "ec: decided" AS (FROM ec._decided_rows('ec: read', score, classes, costs, score_type, weight))
    SELECT COLUMNS(lambda _c: ec._is_shown(_c, groups, reduction))
    FROM (SELECT * RENAME ("ec: target" AS target)
          FROM (SELECT * RENAME ("ec: class" AS class)
                FROM ec._sketch_cells('ec: reduced', "ec: reduced score", "ec: reduced label", ec._with_target(groups), 'posterior',
                                      resolution, thresholds, weight))
          WHERE ec._reduction(reduction) <> 'decisions'
          UNION ALL BY NAME
          SELECT * RENAME ("ec: decision" AS decision)
          FROM (SELECT * RENAME ("ec: class" AS class) FROM ec._decision_cells('ec: decided', 'ec: one cost', groups, weight)))
    WHERE coalesce((FROM ec._columns_ok(log, groups, ec._of_reduction(reduction))), true)),
(log, score, label, classes, reduction VARCHAR, cluster, groups := [], score_type := 'posteriors', resolution := 64, thresholds := [],
    weight := NULL, buckets := 100, costs := NULL) AS TABLE (
    WITH "ec: reduced" AS (FROM ec._reduced_rows(log, score, label, classes, reduction, score_type)),
         "ec: read" AS (FROM ec._reduced_rows(log, score, label, classes, reduction, score_type) WHERE reduction = 'decisions'),
         "ec: one cost" AS (FROM ec._one_cost(log, classes, costs, reduction)),
         "ec: decided" AS (SELECT *, ec._bucket_of_cluster(cluster, buckets) AS "ec: bucket"
                           FROM ec._decided_rows('ec: read', score, classes, costs, score_type, weight)),
         "ec: used" AS (FROM "ec: decided" WHERE "ec: class" >= 0)
    SELECT COLUMNS(lambda _c: ec._is_shown(_c, groups, reduction))
    FROM (SELECT * RENAME ("ec: target" AS target)
          FROM ec._sketch_tables('ec: reduced', "ec: reduced score", "ec: reduced label", cluster, ec._with_target(groups), 'posterior',
                                 resolution, thresholds, weight, buckets)
          WHERE ec._reduction(reduction) <> 'decisions'
          UNION ALL BY NAME
          SELECT * RENAME ("ec: table" AS "table"), 'murmur3' AS hash
          FROM (SELECT * RENAME ("ec: bucket" AS bucket)
                FROM (SELECT * RENAME ("ec: decision" AS decision)
                      FROM (SELECT * RENAME ("ec: class" AS class)
                            FROM (SELECT 'cells' AS "ec: table", CAST(NULL AS SMALLINT) AS "ec: bucket", *
                                  FROM ec._decision_cells('ec: decided', 'ec: one cost', groups, weight)
                                  UNION ALL BY NAME
                                  SELECT 'coarse' AS "ec: table", *
                                  FROM ec._decision_cells('ec: used', 'ec: one cost', list_concat(CAST(groups AS VARCHAR[]), ['ec: bucket']), weight))))))
    WHERE coalesce((FROM ec._columns_ok(log, groups, list_concat(['table', 'bucket', 'hash'], ec._of_reduction(reduction)))), true));
COMMENT ON MACRO TABLE ec.sketch IS 'Sketch of a log: counts and sums per group, class and bin of the score, bin = floor(resolution ln(q1/q0)). With cluster := also per bucket. Lists of posteriors take classes := 3, reduction := one_vs_rest, top_label or decisions (counts and sums per group, class and Bayes decision, at costs := a K x M list).';
-- polars_ec for DuckDB, file 7 of 12: metrics of the order of the scores. Load after sketch.
-- Under its own name each is exact: the rows of a group are sorted in memory. For groups that do not fit there: approx_..., from
-- counts of rows per bin of the score (`resolution` bins a nat, the bins of ec.sketch), each with a companion approx_..._error with
-- |value - exact| <= error, for the order within a bin is not known; and ec.ranking_exact, whose sort can spill to disk.

-- Sums down a list ----------------------------------------------------------------------------------------------------

-- A fold over values of one type, as DuckDB 1 asks for: the first is what it begins with, the others are NULL, and step _k is 2, 3, ...
-- Running sums, by doubling: a pass over the list for each binary digit of its length, because a fold over its elements is slow.
-- Sums never fall, and an element of 0 leaves a sum as it is, for equal terms are added to neighbours in the same order.
CREATE OR REPLACE MACRO ec._running(x) AS
    list_reduce(list_resize([x], 41), lambda _a, _null, _k: CASE WHEN len(_a) > 1 << _k - 2 THEN
        list_transform(_a, lambda _x, _i: CASE WHEN (_i - 1) >> _k - 2 & 1 = 1 THEN _x + _a[(_i - 1) >> _k - 2 << _k - 2] ELSE _x END)
        ELSE _a END);
-- Sums over runs of neighbours, {to: the place of the last one, n: how many}: from sums over 1, 2, 4 ... elements. (A sum that would
-- begin before the first element has some other value, and is in no run.)
CREATE OR REPLACE MACRO ec._run_sums(x, runs, longest) AS
    list_reduce(list_resize([{'s': list_transform(runs, lambda _r: 0e0), 'x': x}], 41), lambda _a, _null, _k: CASE WHEN longest >> _k - 2 > 0
        THEN {
            's': list_transform(runs, lambda _r, _i: CASE WHEN _r['n'] >> _k - 2 & 1 = 1
                     THEN _a['s'][_i] + _a['x'][_r['to'] - _r['n'] % (1 << _k - 2)] ELSE _a['s'][_i] END),
            'x': list_transform(_a['x'], lambda _x, _i: _x + coalesce(_a['x'][_i - (1 << _k - 2)], 0))}
        ELSE _a END)['s'];
-- Sums of what comes after each element.
CREATE OR REPLACE MACRO ec._after(x) AS
    list_transform([list_reverse(ec._running(list_reverse(x)))], lambda _u: list_transform(_u, lambda _x, _i: coalesce(_u[_i + 1], 0)))[1];
CREATE OR REPLACE MACRO ec._sum_of(x) AS list_aggregate(x, 'fsum');

-- A group as steps of the ROC curve, from the highest score down ------------------------------------------------------

-- A step leads from (fpr_before, tpr_before) to (fpr, tpr) and adds w1 to tpr, w0 to fpr; fnr and tnr are the shares that come
-- after it. It is a straight line if its scores are equal (tie), and else some way up and to the right.

-- Of counts {t, f, tie}: rows of class 1 and of class 0 from the top through each step.
CREATE OR REPLACE MACRO ec._count_step(t0, f0, t, f, n1, n0, tie) AS {
    'w1': (t - t0) / n1, 'w0': (f - f0) / n0, 'tpr_before': t0 / n1, 'fpr_before': f0 / n0, 'tpr': t / n1, 'fpr': f / n0,
    'fnr': (n1 - t) / n1, 'tnr': (n0 - f) / n0, 'tie': tie};
CREATE OR REPLACE MACRO ec._count_steps(points) AS
    list_transform([{'p': points, 'n1': points[-1]['t'], 'n0': points[-1]['f']}], lambda _s:
        list_transform(list_transform(_s['p'], lambda _p, _i: {
                't': _p['t'], 'f': _p['f'], 'tie': _p['tie'], 't0': coalesce(_s['p'][_i - 1]['t'], 0), 'f0': coalesce(_s['p'][_i - 1]['f'], 0)}),
            lambda _p: ec._count_step(_p['t0'], _p['f0'], _p['t'], _p['f'], _s['n1'], _s['n0'], _p['tie'])))[1];

-- Of sums of weights {w1, w0}, a list each. With weights what comes after is summed by itself: a difference would lose digits.
CREATE OR REPLACE MACRO ec._weight_steps(sums) AS
    list_transform(list_transform([{
            'w1': sums['w1'], 'w0': sums['w0'], 't': ec._running(sums['w1']), 'f': ec._running(sums['w0']),
            'm': ec._after(sums['w1']), 'r': ec._after(sums['w0'])}],
        lambda _s: {'s': _s, 'n1': _s['t'][-1], 'n0': _s['f'][-1]}),
        lambda _g: {'n1': _g['n1'], 'n0': _g['n0'], 'c': list_transform(_g['s']['w1'], lambda _w, _i: {
            'w1': _w / _g['n1'], 'w0': _g['s']['w0'][_i] / _g['n0'],
            'tpr_before': coalesce(_g['s']['t'][_i - 1], 0) / _g['n1'], 'fpr_before': coalesce(_g['s']['f'][_i - 1], 0) / _g['n0'],
            'tpr': _g['s']['t'][_i] / _g['n1'], 'fpr': _g['s']['f'][_i] / _g['n0'],
            'fnr': _g['s']['m'][_i] / _g['n1'], 'tnr': _g['s']['r'][_i] / _g['n0'], 'tie': true})})[1];

-- One struct {c steps, n1, n0, p1, p0} for the group, in a list that is empty when a row is wrong or a class has no rows.
CREATE OR REPLACE MACRO ec._rank_group(steps, n1, n0, prior) AS {
    'c': steps, 'n1': n1, 'n0': n0, 'p1': ec._prior_of_1(n1, n0, prior), 'p0': ec._prior_of_0(n1, n0, prior)};

-- Exact: rows {s score, y class, w weight}, sorted. (-0 is 0.) The last row of each score, and with weights the sums per score.
CREATE OR REPLACE MACRO ec._sorted(score, class, weight "NULL") AS
    list({'s': score, 'y': class} ORDER BY score DESC) FILTER (WHERE class >= 0 AND weight IS NULL),
(score, class, weight) AS
    list({'s': score, 'y': class, 'w': CAST(weight AS DOUBLE)} ORDER BY score DESC) FILTER (WHERE class >= 0);
CREATE OR REPLACE MACRO ec._last_of_score(r, i) AS i = len(r) OR r[i]['s'] <> r[i + 1]['s'];
CREATE OR REPLACE MACRO ec._ends(r) AS list_filter(range(1, len(r) + 1), lambda _i: ec._last_of_score(r, _i));
CREATE OR REPLACE MACRO ec._weights_of(r, class) AS list_transform(r, lambda _r: CASE WHEN _r['y'] = class THEN _r['w'] ELSE 0e0 END);
CREATE OR REPLACE MACRO ec._score_weights(rows) AS
    list_transform(list_transform(list_transform([rows],
        lambda _r: {'r': _r, 'e': ec._ends(_r)}),
        lambda _s: {'w1': ec._weights_of(_s['r'], 1), 'w0': ec._weights_of(_s['r'], 0),
                    'runs': list_transform(_s['e'], lambda _e, _i: {'to': _e, 'n': _e - coalesce(_s['e'][_i - 1], 0)})}),
        lambda _s: list_transform([list_max(list_transform(_s['runs'], lambda _r: _r['n']))], lambda _n: {
            'w1': ec._run_sums(_s['w1'], _s['runs'], _n), 'w0': ec._run_sums(_s['w0'], _s['runs'], _n)})[1])[1];
CREATE OR REPLACE MACRO ec._steps_of_rows(rows) AS
    list_transform(list_transform([rows],
        lambda _r: {'e': ec._ends(_r), 't': ec._running(list_transform(_r, lambda _x: CAST(_x['y'] AS DOUBLE)))}),
        lambda _s: {'n1': _s['t'][-1], 'n0': len(_s['t']) - _s['t'][-1],
                    'c': ec._count_steps(list_transform(_s['e'], lambda _e: {'t': _s['t'][_e], 'f': _e - _s['t'][_e], 'tie': true}))})[1];
CREATE OR REPLACE MACRO ec._steps_of_weights(rows) AS
    list_transform([ec._score_weights(rows)], lambda _w: ec._weight_steps(_w))[1];
CREATE OR REPLACE MACRO ec._of_both_classes(groups) AS
    list_filter(groups, lambda _g: _g['n1'] > 0 AND _g['n0'] > 0 AND ec._addable(_g['n1'] + _g['n0']));
CREATE OR REPLACE MACRO ec._ranked_rows(wrong, rows, prior) AS
    list_filter([{'r': rows, 'wrong': wrong, 'prior': prior}], lambda _h: _h['wrong'] = 0 AND len(_h['r']) > 0);
CREATE OR REPLACE MACRO ec._grouped(steps, prior) AS ec._rank_group(steps['c'], steps['n1'], steps['n0'], prior);
CREATE OR REPLACE MACRO ec._ranked(score, label, prior, score_type, weight "NULL") AS
    ec._of_both_classes(list_transform(
        ec._ranked_rows(ec._count(ec._ranked_class(score, label, ec._binned_type(score_type), weight) < 0),
                        ec._sorted(score, ec._ranked_class(score, label, ec._binned_type(score_type), weight), weight),
                        ec._stated_prior(prior)),
        lambda _h: list_transform([{'s': ec._steps_of_rows(_h['r']), 'prior': _h['prior']}], lambda _s: ec._grouped(_s['s'], _s['prior']))[1])),
(score, label, prior, score_type, weight) AS
    ec._of_both_classes(list_transform(
        ec._ranked_rows(ec._count(ec._ranked_class(score, label, ec._binned_type(score_type), weight) < 0),
                        ec._sorted(score, ec._ranked_class(score, label, ec._binned_type(score_type), weight), weight),
                        ec._stated_prior(prior)),
        lambda _h: list_transform([{'s': ec._steps_of_weights(_h['r']), 'prior': _h['prior']}], lambda _s: ec._grouped(_s['s'], _s['prior']))[1]));

-- With the scores of the steps, without rows of weight 0: no threshold is one of theirs.
CREATE OR REPLACE MACRO ec._scores_of(rows) AS list_transform(ec._ends(rows), lambda _e: rows[_e]['s']);
CREATE OR REPLACE MACRO ec._scored(score, label, prior, score_type, weight "NULL") AS
    list_filter(list_transform(
        ec._ranked_rows(ec._count(ec._ranked_class(score, label, ec._binned_type(score_type), weight) < 0),
                        ec._sorted(score, ec._ranked_class(score, label, ec._binned_type(score_type), weight), weight),
                        ec._stated_prior(prior)),
        lambda _h: list_transform([{'s': ec._steps_of_rows(_h['r']), 'prior': _h['prior'], 'scores': ec._scores_of(_h['r'])}],
            lambda _s: {'g': ec._grouped(_s['s'], _s['prior']), 'scores': _s['scores']})[1]),
        lambda _g: len(ec._of_both_classes([_g['g']])) > 0),
(score, label, prior, score_type, weight) AS
    list_filter(list_transform(
        ec._ranked_rows(ec._count(ec._ranked_class(score, label, ec._binned_type(score_type), weight) < 0),
                        list_filter(ec._sorted(score, ec._ranked_class(score, label, ec._binned_type(score_type), weight), weight), lambda _r: _r['w'] > 0),
                        ec._stated_prior(prior)),
        lambda _h: list_transform([{'s': ec._steps_of_weights(_h['r']), 'prior': _h['prior'], 'scores': ec._scores_of(_h['r'])}],
            lambda _s: {'g': ec._grouped(_s['s'], _s['prior']), 'scores': _s['scores']})[1]),
        lambda _g: len(ec._of_both_classes([_g['g']])) > 0);

-- In bins: twice the bins from the top, plus the class; -1 for a wrong row. Sorted by it, a histogram runs down from the top.
CREATE OR REPLACE MACRO ec._rank_key(class, score, score_type, resolution) AS
    CASE WHEN class < 0 THEN CAST(-1 AS BIGINT)
         WHEN class >= 0 THEN 2 * CAST(ec._top_bin(score_type, resolution) - ec._bin(score, score_type, resolution) AS BIGINT)
                              + class END;

-- The two classes of a bin are neighbours among the entries. (No argument may be checked in a lambda: see file rows.)
CREATE OR REPLACE MACRO ec._rank_cell(key, w1, w0, score_type, resolution) AS {
    'w1': CAST(w1 AS DOUBLE), 'w0': CAST(w0 AS DOUBLE),
    'tie': ec._one_score(ec._top_bin(score_type, resolution) - key // 2, score_type, resolution)};
CREATE OR REPLACE MACRO ec._rank_cells(entries, score_type, resolution) AS
    list_filter(list_transform(entries, lambda _e, _i:
        CASE WHEN _e['key'] % 2 = 0 THEN
                 CASE WHEN _i < len(entries) AND entries[_i + 1]['key'] = _e['key'] + 1 THEN NULL
                      ELSE ec._rank_cell(_e['key'], 0, _e['value'], score_type, resolution) END
             WHEN _i > 1 AND entries[_i - 1]['key'] = _e['key'] - 1
             THEN ec._rank_cell(_e['key'], _e['value'], entries[_i - 1]['value'], score_type, resolution)
             ELSE ec._rank_cell(_e['key'], _e['value'], 0, score_type, resolution) END), lambda _c: _c IS NOT NULL);
CREATE OR REPLACE MACRO ec._steps_of_cells(cells) AS
    list_transform(list_transform([cells], lambda _c: {
            'c': _c, 't': ec._running(list_transform(_c, lambda _x: _x['w1'])), 'f': ec._running(list_transform(_c, lambda _x: _x['w0']))}),
        lambda _s: ec._count_steps(list_transform(_s['c'], lambda _c, _i: {'t': _s['t'][_i], 'f': _s['f'][_i], 'tie': _c['tie']})))[1];

-- The same with the best and the worst order within each bin, as steps of equal scores: positives first, negatives first.
CREATE OR REPLACE MACRO ec._split(cells, first, second) AS
    flatten(list_transform(cells, lambda _c:
        CASE WHEN _c['tie'] OR _c['w1'] = 0 OR _c['w0'] = 0 THEN [_c]
             ELSE [{'w1': _c['w1'] * first, 'w0': _c['w0'] * second, 'tie': true},
                   {'w1': _c['w1'] * second, 'w0': _c['w0'] * first, 'tie': true}] END));
-- Orders: the steps themselves, the best, the worst. What a metric is of them bounds it.
CREATE OR REPLACE MACRO ec._binned_group(cells, n1, n0, prior) AS {
    'orders': list_transform([cells, ec._split(cells, 1, 0), ec._split(cells, 0, 1)], lambda _c: ec._steps_of_cells(_c)),
    'n1': n1, 'n0': n0, 'p1': ec._prior_of_1(n1, n0, prior), 'p0': ec._prior_of_0(n1, n0, prior)};
CREATE OR REPLACE MACRO ec._binned(score, label, prior, score_type, resolution) AS
    ec._of_both_classes(list_transform(list_transform(list_filter([{
                'e': map_entries(histogram(ec._rank_key(ec._ranked_class(score, label, ec._binned_type(score_type), NULL), score,
                                                        ec._binned_type(score_type), ec._resolution(resolution)))),
                'prior': ec._stated_prior(prior)}],
            lambda _h: _h['e'][1]['key'] >= 0),
        lambda _h: {'c': ec._rank_cells(_h['e'], CAST(score_type AS VARCHAR), resolution), 'prior': _h['prior']}),
        lambda _h: ec._binned_group(_h['c'], list_sum(list_transform(_h['c'], lambda _c: _c['w1'])),
                                    list_sum(list_transform(_h['c'], lambda _c: _c['w0'])), _h['prior'])));

-- K classes: a group as rows {s one score for each class, y class, w weight}, class sums {n} and priors {p}. Posteriors near 0 or 1 are told
-- apart by their logarithms, if those are given.
CREATE OR REPLACE MACRO ec._scores_in_order(score, score_type, prior) AS
    CASE WHEN score_type = 'log_likelihoods'
         THEN invoke(lambda _u, _s: list_transform(_u, lambda _x: _x - _s), ec._log_joint(score, prior), ec._log_sum(ec._log_joint(score, prior)))
         ELSE score END;
CREATE OR REPLACE MACRO ec._ranked_vector(score, label, prior, score_type, weight) AS
    list_transform(list_transform([{
            'ok': bool_and(ec._list_losses_ok(prior, CAST(score_type AS VARCHAR))),
            'tally': ec._count_vector(ec._likely_list(score, score_type, prior), label, CAST(NULL AS DOUBLE[][]), score_type, weight),
            'rows': list({'s': ec._scores_in_order(score, CAST(score_type AS VARCHAR), prior), 'y': ec._y(label), 'w': CAST(ec._weight(weight) AS DOUBLE)})
                    FILTER (WHERE NOT ec._missing_vector(score, label, weight)),
            'low': min(ec._priors(prior)), 'high': max(ec._priors(prior))}],
        lambda _g: {'rows': _g['rows'], 'low': _g['low'], 'high': _g['high'], 'n': CASE WHEN _g['ok'] AND len(_g['tally']) > 0 AND NOT ec._any_wrong(_g['tally'])
            THEN list_transform(ec._of_kept(_g['rows'], ec._tally_classes(_g['tally']), 'w'), lambda _n: coalesce(_n, 0)) END}),
        lambda _g: {'rows': _g['rows'], 'n': _g['n'], 'p': ec._class_priors(_g['n'], _g['low'], _g['high'])});
-- The area of class k against the rest: its own rows by weight, and others by that and the prior of their class.
CREATE OR REPLACE MACRO ec._row_of_class(r, n, p, k) AS {
    's': r['s'][k], 'y': CAST(r['y'] = k - 1 AS INTEGER),
    'w': CASE WHEN r['y'] = k - 1 OR r['w'] = 0 THEN r['w'] ELSE p[r['y'] + 1] * (r['w'] / n[r['y'] + 1]) END};
-- Of sums of weights {w1, w0}: it needs no other steps than those up.
CREATE OR REPLACE MACRO ec._area_of_weights(sums) AS
    list_transform(list_transform([sums], lambda _s: {'w1': _s['w1'], 'w0': _s['w0'], 't': ec._running(_s['w1']), 'n0': list_sum(_s['w0'])}),
        lambda _s: CASE WHEN _s['t'][-1] > 0 AND _s['n0'] > 0 THEN ec._auc_of(list_transform(_s['w1'], lambda _w, _i: {
            'w1': _w / _s['t'][-1], 'tpr_before': coalesce(_s['t'][_i - 1], 0) / _s['t'][-1], 'w0': _s['w0'][_i] / _s['n0']})) END)[1];
CREATE OR REPLACE MACRO ec._areas(g) AS list_transform(range(1, len(g['p']) + 1), lambda _k: ec._area_of_weights(ec._score_weights(
    list_sort(list_transform(g['rows'], lambda _r: ec._row_of_class(_r, g['n'], g['p'], _k)), 'DESC'))));
-- Of rows that count alike, in order: 1 for those of class k, first or last among ties as `sign` is 1 or -1, else 0.
CREATE OR REPLACE MACRO ec._order_of_class(rows, k, sign) AS
    list_transform(list_sort(list_transform(rows, lambda _r: {'s': _r['s'][k], 'y': CASE WHEN _r['y'] = k - 1 THEN sign ELSE 0 END})), lambda _r: abs(_r['y']));
CREATE OR REPLACE MACRO ec._plain_areas(g) AS list_transform(range(1, len(g['p']) + 1), lambda _k: ec._auc_of_orders(
    ec._order_of_class(g['rows'], _k, 1), ec._order_of_class(g['rows'], _k, -1)));
CREATE OR REPLACE MACRO ec._class_areas(score, label, prior "NULL", score_type, weight "NULL") AS
    list_transform(ec._ranked_vector(score, label, prior, score_type, weight), lambda _g:
        CASE WHEN _g['p'] IS NOT NULL THEN {'p': _g['p'], 'a': ec._plain_areas(_g)} END),
(score, label, prior, score_type, weight) AS
    list_transform(ec._ranked_vector(score, label, prior, score_type, weight), lambda _g:
        CASE WHEN _g['p'] IS NOT NULL THEN {'p': _g['p'], 'a': ec._areas(_g)} END);

-- Metrics of steps of equal scores ------------------------------------------------------------------------------------

-- Pairs in order, equal ones half.
CREATE OR REPLACE MACRO ec._pairs(c) AS c['w0'] * (c['tpr_before'] + c['w1'] / 2);
CREATE OR REPLACE MACRO ec._auc_of(steps) AS ec._sum_of(list_transform(steps, lambda _c: ec._pairs(_c)));

-- Of rows that count alike: the places of the positives (1) among all, lowest score first, ties once with the negatives first, once last.
CREATE OR REPLACE MACRO ec._places(classes) AS list_sum(list_transform(classes, lambda _y, _i: CASE WHEN _y = 1 THEN _i END));
CREATE OR REPLACE MACRO ec._auc_of_orders(high, low) AS
    list_transform(list_transform([{'n1': list_sum(high), 'n': len(high), 'places': ec._places(high) + ec._places(low)}],
        lambda _g: {'pairs': _g['n1'] * (_g['n'] - _g['n1']), 'below': (_g['places'] - _g['n1'] * (_g['n1'] + 1)) / 2e0}),
        lambda _g: CASE WHEN _g['pairs'] > 0 THEN _g['below'] / _g['pairs'] END)[1];
CREATE OR REPLACE MACRO ec._auc_of_class(score, class) AS
    CASE WHEN ec._count(class < 0) = 0 THEN ec._auc_of_orders(list(class ORDER BY score, class) FILTER (WHERE class >= 0),
                                                              list(class ORDER BY score, class DESC) FILTER (WHERE class >= 0)) END;
CREATE OR REPLACE MACRO ec._auc(score, label, score_type, weight "NULL") AS
    ec._auc_of_class(score, ec._ranked_class(score, label, ec._binned_type(score_type), weight)),
(score, label, score_type, weight) AS
    list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._auc_of(_g['c']))[1];

-- Precision times the recall won.
CREATE OR REPLACE MACRO ec._precision_step(c, p1, p0) AS
    CASE WHEN c['w1'] = 0 THEN 0 WHEN c['fpr'] = 0 THEN c['w1'] ELSE c['w1'] * c['tpr'] / (c['tpr'] + c['fpr'] * (p0 / p1)) END;
CREATE OR REPLACE MACRO ec._ap_of(steps, p1, p0) AS
    CASE WHEN p1 > 0 THEN ec._sum_of(list_transform(steps, lambda _c: ec._precision_step(_c, p1, p0))) END;
-- The least of any order: negatives first, then positive after positive. The sum over k of the concave (t + k)/(t + k + c)
-- is at least its integral from 1/2 to w1 + 1/2; ln(1 + u) is 2 atanh(u/(2 + u)). Half a row is the share 0.5/n1.
CREATE OR REPLACE MACRO ec._least_precision_step(tpr_before, w1, c, half) AS
    w1 - CASE WHEN c = 0 THEN 0 ELSE 2 * c * atanh(w1 / (2 * (tpr_before + half + c) + w1)) END;
CREATE OR REPLACE MACRO ec._least_ap(steps, n1, p1, p0) AS
    CASE WHEN p1 > 0 THEN ec._sum_of(list_transform(steps, lambda _c:
        CASE WHEN _c['tie'] OR _c['w1'] * n1 < 1.5 THEN ec._precision_step(_c, p1, p0)
             ELSE ec._least_precision_step(_c['tpr_before'], _c['w1'], _c['fpr'] * (p0 / p1), 0.5 / n1) END)) END;

-- Trapezoids from tpr = P1, where recall gain is 0. Over 1/tpr recall gain is a straight line, and so is precision gain
-- while fpr stays: a is tpr at the left end, fpr there found linearly, and length how far it is to the right end: with a prior
-- near 1 from the misses, for a difference of tpr would lose digits then.
CREATE OR REPLACE MACRO ec._gain_area(a, length, tpr_before, fpr_before, tpr, fpr, w1, w0, p1, p0) AS
    CASE WHEN length <= 0 OR w1 = 0 THEN 0
         ELSE p1 / p0 * length / (a * tpr)
              * (1 - ((fpr_before + w0 * CASE WHEN p1 < p0 THEN (a - tpr_before) / w1 ELSE 1 - length / w1 END) / a + fpr / tpr) / 2) END;
CREATE OR REPLACE MACRO ec._gain_step(c, p1, p0) AS
    ec._gain_area(greatest(c['tpr_before'], p1), least(c['w1'], CASE WHEN p1 < p0 THEN c['tpr'] - p1 ELSE p0 - c['fnr'] END),
                  c['tpr_before'], c['fpr_before'], c['tpr'], c['fpr'], c['w1'], c['w0'], p1, p0);
-- A prior below 1e-308 has too few digits to divide by.
CREATE OR REPLACE MACRO ec._finite(x) AS CASE WHEN isfinite(x) THEN x END;
CREATE OR REPLACE MACRO ec._auprg_of(steps, p1, p0) AS
    CASE WHEN p1 > 0 AND p0 > 0 THEN ec._finite(ec._sum_of(list_transform(steps, lambda _c: ec._gain_step(_c, p1, p0)))) END;

-- The least expected cost over the thresholds, of which one accepts none.
CREATE OR REPLACE MACRO ec._cost_at(m, p1, p0, tpr, fnr, fpr, tnr) AS
    p1 * (m[2][2] * tpr + m[2][1] * fnr) + p0 * (m[1][2] * fpr + m[1][1] * tnr);
CREATE OR REPLACE MACRO ec._least_cost(steps, m, p1, p0) AS
    least(ec._cost_at(m, p1, p0, 0, 1, 0, 1),
          list_min(list_transform(steps, lambda _c: ec._cost_at(m, p1, p0, _c['tpr'], _c['fnr'], _c['fpr'], _c['tnr']))));
-- The highest threshold at which it is the least, apart from rounding. No threshold is below a score of -inf.
CREATE OR REPLACE MACRO ec._threshold_of(steps, scores, m, p1, p0) AS
    list_transform([list_prepend(ec._cost_at(m, p1, p0, 0, 1, 0, 1), list_transform(steps, lambda _c, _i:
            CASE WHEN scores[_i] > CAST('-inf' AS DOUBLE) THEN ec._cost_at(m, p1, p0, _c['tpr'], _c['fnr'], _c['fpr'], _c['tnr']) END))],
        lambda _costs: list_transform([list_min(_costs)], lambda _least: list_max(list_transform(_costs, lambda _x, _i:
            CASE WHEN _x <= _least + abs(_least) * 1e-12
                 THEN CASE WHEN _i = 1 THEN CAST('inf' AS DOUBLE) ELSE coalesce(scores[_i], CAST('-inf' AS DOUBLE)) END END)))[1])[1];
-- Over the cost of the better naive system.
CREATE OR REPLACE MACRO ec._least_dcf(steps, m, p1, p0) AS
    ec._ratio(ec._least_cost(steps, m, p1, p0), least(ec._cost_at(m, p1, p0, 0, 1, 0, 1), ec._cost_at(m, p1, p0, 1, 0, 1, 0)));

-- A share that is wanted, less what rounding may take from a sum of weights.
CREATE OR REPLACE MACRO ec._enough(share, weight "NULL") AS coalesce(weight, share),
(share, weight) AS share * (1 - 1e-12);
-- At the first threshold that reaches the sensitivity, at the last one that keeps the specificity (or none accepted).
CREATE OR REPLACE MACRO ec._specificity_of(steps, enough) AS
    list_max(list_transform(steps, lambda _c: CASE WHEN _c['tpr'] >= enough THEN _c['tnr'] END));
CREATE OR REPLACE MACRO ec._sensitivity_of(steps, enough) AS
    coalesce(list_max(list_transform(steps, lambda _c: CASE WHEN _c['tnr'] >= enough THEN _c['tpr'] END)), 0);

CREATE OR REPLACE MACRO ec._ks_of(steps) AS list_max(list_transform(steps, lambda _c: abs(_c['tpr'] - _c['fpr'])));

-- Corners {x fpr, y tpr} of the convex hull of the ROC curve. First away with points on or below a line between two others, the
-- neighbours at growing distances: few are left. Then one after the other: a new point hides those that it sees from above,
-- which along a hull are the last ones.
CREATE OR REPLACE MACRO ec._below(p, a, b) AS
    (p['x'] <> a['x'] OR p['y'] <> a['y']) AND (p['x'] <> b['x'] OR p['y'] <> b['y']) AND
     (p['y'] - a['y']) * (b['x'] - a['x']) <= (b['y'] - a['y']) * (p['x'] - a['x']);
CREATE OR REPLACE MACRO ec._thinned(points) AS
    list_reduce(list_resize([points], 61), lambda _p, _null, _k: CASE WHEN len(_p) > 1 << (_k - 2) % 20 THEN
        list_filter(_p, lambda _x, _i: NOT ec._below(_x, _p[greatest(1, _i - (1 << (_k - 2) % 20))], _p[least(len(_p), _i + (1 << (_k - 2) % 20))]))
        ELSE _p END);
CREATE OR REPLACE MACRO ec._chained(points) AS
    list_reduce(list_transform(points[2:], lambda _p: [_p]), lambda _h, _p: list_concat(list_filter(_h, lambda _v, _i: _i = 1 OR
            (_v['y'] - _h[_i - 1]['y']) * (_p[1]['x'] - _v['x']) > (_p[1]['y'] - _v['y']) * (_v['x'] - _h[_i - 1]['x'])), _p),
        points[1:1]);
CREATE OR REPLACE MACRO ec._hull(steps) AS
    list_transform([ec._thinned(list_prepend({'x': 0e0, 'y': 0e0},
        list_transform(list_filter(steps, lambda _c: _c['w1'] > 0 OR _c['w0'] > 0), lambda _c: {'x': _c['fpr'], 'y': _c['tpr']})))],
        lambda _p: ec._chained(_p))[1];

-- Where a curve's miss rate meets its false alarm rate, between the two corners around.
CREATE OR REPLACE MACRO ec._crossing(x, y, to_x, to_y) AS x + (to_x - x) * ((1 - x - y) / (to_x + to_y - x - y));
CREATE OR REPLACE MACRO ec._eer_of(corners) AS
    list_transform([corners], lambda _h:
        list_max(list_transform(_h, lambda _v, _i: CASE WHEN _i > 1 AND _v['x'] + _v['y'] >= 1 AND _h[_i - 1]['x'] + _h[_i - 1]['y'] < 1
            THEN ec._crossing(_h[_i - 1]['x'], _h[_i - 1]['y'], _v['x'], _v['y']) END)))[1];
CREATE OR REPLACE MACRO ec._linear_eer_of(steps) AS
    list_max(list_transform(steps, lambda _c: CASE WHEN _c['tpr'] + _c['fpr'] >= 1 AND _c['tpr_before'] + _c['fpr_before'] < 1
        THEN ec._crossing(_c['fpr_before'], _c['tpr_before'], _c['fpr'], _c['tpr']) END));

-- A segment of the hull is a block of PAV: shares x and y of the classes, LLR ln(x/y). ln(1 + u) is 2 atanh(u/(2 + u)).
CREATE OR REPLACE MACRO ec._log1p(u) AS CASE WHEN u < 1 THEN 2 * atanh(u / (2 + u)) ELSE ln(1 + u) END;
CREATE OR REPLACE MACRO ec._block_bits(x, y) AS
    CASE WHEN x <= 0 OR y <= 0 THEN 0 ELSE (x * ec._log1p(y / x) + y * ec._log1p(x / y)) / (2 * ln(2e0)) END;
CREATE OR REPLACE MACRO ec._cllr_of(corners) AS
    list_transform([corners], lambda _h:
        ec._sum_of(list_transform(_h, lambda _v, _i: CASE WHEN _i > 1
            THEN ec._block_bits(_v['y'] - _h[_i - 1]['y'], _v['x'] - _h[_i - 1]['x']) END)))[1];

-- Arguments -----------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._not_negative(cost) AS
    CASE WHEN CAST(cost AS DOUBLE) >= 0 AND CAST(cost AS DOUBLE) < CAST('inf' AS DOUBLE) THEN CAST(cost AS DOUBLE)
         ELSE ec._fail('costs must be numbers >= 0, not ' || coalesce(CAST(cost AS VARCHAR), 'NULL')) END;
CREATE OR REPLACE MACRO ec._wanted(share, name) AS
    CASE WHEN CAST(share AS DOUBLE) > 0 AND CAST(share AS DOUBLE) <= 1 AND typeof(share) <> 'BOOLEAN' THEN true
         ELSE error(format('ec: {} must be above 0 and at most 1, not {}', name, coalesce(CAST(share AS VARCHAR), 'NULL'))) IS NULL END;
CREATE OR REPLACE MACRO ec._errors_cost_more(m) AS
    CASE WHEN m[1][2] >= m[1][1] AND m[2][1] >= m[2][2] THEN true
         ELSE error('ec: an error must not cost less than the right decision, as in costs ' || CAST(m AS VARCHAR)) IS NULL END;
CREATE OR REPLACE MACRO ec._costs(costs, cost_fn, cost_fp) AS
    CASE WHEN ec._unset(costs) THEN ec._binary_costs(cost_fn, cost_fp) ELSE ec._given_costs(costs) END;
CREATE OR REPLACE MACRO ec._risk_costs_ok(costs "NULL", cost_fn, cost_fp) AS costs IS NULL AND ec._binary_costs_ok(cost_fn, cost_fp),
(costs, cost_fn, cost_fp) AS
    ec._two_by_two(costs) AND ec._costs_ok(costs, cost_fn, cost_fp) AND ec._errors_cost_more(ec._costs(costs, cost_fn, cost_fp));
CREATE OR REPLACE MACRO ec._with_costs(groups, m) AS list_transform(groups, lambda _g: {'g': _g, 'm': m});

-- Bounds over the orders within bins ----------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._middle(bounds) AS list_transform(bounds, lambda _b: (_b['low'] + _b['high']) / 2)[1];
CREATE OR REPLACE MACRO ec._half(bounds) AS list_transform(bounds, lambda _b: (_b['high'] - _b['low']) / 2)[1];
CREATE OR REPLACE MACRO ec._low(bounds) AS list_transform(bounds, lambda _b: _b['low'])[1];
CREATE OR REPLACE MACRO ec._high(bounds) AS list_transform(bounds, lambda _b: _b['high'])[1];
CREATE OR REPLACE MACRO ec._range(bounds) AS list_transform(bounds, lambda _b: _b['high'] - _b['low'])[1];

CREATE OR REPLACE MACRO ec._bounds(x) AS list_transform([x], lambda _x: {'low': list_min(_x), 'high': list_max(_x)})[1];
CREATE OR REPLACE MACRO ec._auc_bounds(groups) AS
    list_transform(groups, lambda _g: ec._bounds(list_transform(_g['orders'], lambda _o: ec._auc_of(_o))));
CREATE OR REPLACE MACRO ec._ap_bounds(groups) AS
    list_transform(groups, lambda _g: {
        'low': ec._least_ap(_g['orders'][1], _g['n1'], _g['p1'], _g['p0']), 'high': ec._ap_of(_g['orders'][2], _g['p1'], _g['p0'])});
CREATE OR REPLACE MACRO ec._auprg_bounds(groups) AS
    list_transform(groups, lambda _g: ec._bounds(list_transform(_g['orders'], lambda _o: ec._auprg_of(_o, _g['p1'], _g['p0']))));
CREATE OR REPLACE MACRO ec._eer_bounds(groups) AS
    list_transform(groups, lambda _g: ec._bounds(list_transform(_g['orders'], lambda _o: ec._eer_of(ec._hull(_o)))));
CREATE OR REPLACE MACRO ec._min_cllr_bounds(groups) AS
    list_transform(groups, lambda _g: ec._bounds(list_transform(_g['orders'], lambda _o: ec._cllr_of(ec._hull(_o)))));
CREATE OR REPLACE MACRO ec._min_cost_bounds(groups, m) AS
    list_transform(ec._with_costs(groups, m), lambda _s: ec._bounds(list_transform(_s['g']['orders'], lambda _o: ec._least_cost(_o, _s['m'], _s['g']['p1'], _s['g']['p0']))));
CREATE OR REPLACE MACRO ec._min_dcf_bounds(groups, m) AS
    list_transform(ec._with_costs(groups, m), lambda _s: ec._bounds(list_transform(_s['g']['orders'], lambda _o: ec._least_dcf(_o, _s['m'], _s['g']['p1'], _s['g']['p0']))));
CREATE OR REPLACE MACRO ec._specificity_bounds(groups, sensitivity) AS
    list_transform(groups, lambda _g: ec._bounds(list_transform(_g['orders'], lambda _o: ec._specificity_of(_o, CAST(sensitivity AS DOUBLE)))));
CREATE OR REPLACE MACRO ec._sensitivity_bounds(groups, specificity) AS
    list_transform(groups, lambda _g: ec._bounds(list_transform(_g['orders'], lambda _o: ec._sensitivity_of(_o, CAST(specificity AS DOUBLE)))));
CREATE OR REPLACE MACRO ec._ks_bounds(groups) AS
    list_transform(groups, lambda _g: ec._bounds(list_transform(_g['orders'], lambda _o: ec._ks_of(_o))));

-- Public, exact -------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.auc_roc(score DOUBLE, label, score_type := 'posterior', weight := NULL) AS
    ec._auc(score, label, score_type, weight);
COMMENT ON MACRO ec.auc_roc IS 'Area under the ROC curve: the probability that a positive scores above a negative, with ties counting half. Higher is better; in [0, 1]: 0.5 is random order. P(s_1 > s_0) + P(s_1 = s_0)/2 for scores s_1 of a positive and s_0 of a negative. It does not depend on priors.';
CREATE OR REPLACE MACRO ec.average_precision(score DOUBLE, label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    list_transform(ec._ranked(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                   lambda _g: ec._ap_of(_g['c'], _g['p1'], _g['p0']))[1];
COMMENT ON MACRO ec.average_precision IS 'Average precision: the area under the precision-recall curve, as a step sum; with `prior`, calibrated. Higher is better; in [0, 1]. Sum over the distinct scores t, highest first, of the increase in recall at t times the precision of deciding positive from t up.';
CREATE OR REPLACE MACRO ec.auprg(score DOUBLE, label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    list_transform(ec._ranked(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                   lambda _g: ec._auprg_of(_g['c'], _g['p1'], _g['p0']))[1];
COMMENT ON MACRO ec.auprg IS 'Area under the precision-recall-gain curve; with `prior`, calibrated. Higher is better; at most 1, and 0 is as good as deciding every case positive. Trapezoids of precision gain over recall gain, from recall gain 0 (interpolated linearly in TP and FP) to 1.';
CREATE OR REPLACE MACRO ec.eer(score DOUBLE, label, score_type := 'posterior', method := 'hull', weight := NULL) AS
    CASE CAST(method AS VARCHAR) WHEN 'hull' THEN list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._eer_of(ec._hull(_g['c'])))[1]
                WHEN 'linear' THEN list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._linear_eer_of(_g['c']))[1]
                ELSE ec._fail(format('method ''{}'' is not ''hull'' or ''linear''', method)) END;
COMMENT ON MACRO ec.eer IS 'Equal error rate: the error rate at the threshold where false-negative and false-positive rate are equal. Lower is better; in [0, 1], and at most 0.5 on the convex hull. The value of FPR and FNR where FPR = FNR, on the ROC curve or its convex hull.';
CREATE OR REPLACE MACRO ec.min_expected_cost(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._risk_costs_ok(costs, cost_fn, cost_fp) THEN
        list_transform(ec._with_costs(ec._ranked(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                                      ec._costs(costs, cost_fn, cost_fp)),
                       lambda _s: ec._least_cost(_s['g']['c'], _s['m'], _s['g']['p1'], _s['g']['p0']))[1] END;
COMMENT ON MACRO ec.min_expected_cost IS 'Expected cost at the best threshold for these rows, in units of the costs. Lower is better; in [least cost, largest cost]. min over t of the EC of (score > t). It is optimistic, because the threshold is chosen with the labels.';
CREATE OR REPLACE MACRO ec.best_threshold(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._risk_costs_ok(costs, cost_fn, cost_fp) THEN
        list_transform(ec._with_costs(ec._scored(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                                      ec._costs(costs, cost_fn, cost_fp)),
                       lambda _s: ec._threshold_of(_s['g']['g']['c'], _s['g']['scores'], _s['m'], _s['g']['g']['p1'], _s['g']['g']['p0']))[1] END;
COMMENT ON MACRO ec.best_threshold IS 'Threshold with the least expected cost for these rows, on the scale of the score. argmin over t of the EC of (score > t); on ties the highest t. It is a score of these rows, or inf if no row is decided positive at it, or -inf if every row is. Apply it to other rows with `threshold=`: on these rows its cost is `min_expected_cost`, which is optimistic.';
CREATE OR REPLACE MACRO ec.min_dcf(score DOUBLE, label, score_type := 'posterior', cost_fn := 1, cost_fp := 1, prior := NULL, weight := NULL) AS
    CASE WHEN ec._binary_costs_ok(cost_fn, cost_fp) THEN
        list_transform(ec._with_costs(ec._ranked(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                                      ec._binary_costs(cost_fn, cost_fp)),
                       lambda _s: ec._least_dcf(_s['g']['c'], _s['m'], _s['g']['p1'], _s['g']['p0']))[1] END;
COMMENT ON MACRO ec.min_dcf IS 'Detection cost at the best threshold for these rows, divided by that of the naive system. Lower is better; in [0, 1]. min over t of the EC of (score > t), divided by min(P_1 C_fn, P_0 C_fp), with the costs C_fn and C_fp. It is optimistic, because the threshold is chosen with the labels.';
CREATE OR REPLACE MACRO ec.specificity_at_sensitivity(score DOUBLE, label, sensitivity := 0.95, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._wanted(sensitivity, 'sensitivity') THEN
        list_transform(ec._ranked(score, label, NULL, score_type, weight),
                       lambda _g: ec._specificity_of(_g['c'], ec._enough(CAST(sensitivity AS DOUBLE), weight)))[1] END;
COMMENT ON MACRO ec.specificity_at_sensitivity IS 'Specificity at the highest threshold with at least the given sensitivity. Higher is better; in [0, 1]. 1 - FPR of deciding positive from t up, where t is the highest score with TPR >= sensitivity.';
CREATE OR REPLACE MACRO ec.sensitivity_at_specificity(score DOUBLE, label, specificity := 0.95, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._wanted(specificity, 'specificity') THEN
        list_transform(ec._ranked(score, label, NULL, score_type, weight),
                       lambda _g: ec._sensitivity_of(_g['c'], ec._enough(CAST(specificity AS DOUBLE), weight)))[1] END;
COMMENT ON MACRO ec.sensitivity_at_specificity IS 'Sensitivity at the lowest threshold with at least the given specificity. Higher is better; in [0, 1]. TPR of deciding positive from t up, where t is the lowest score with 1 - FPR >= specificity; 0 if there is none.';
CREATE OR REPLACE MACRO ec.ks(score DOUBLE, label, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._ks_of(_g['c']))[1];
COMMENT ON MACRO ec.ks IS 'Kolmogorov-Smirnov distance between the scores of the two classes. Higher is better, if positives score higher; in [0, 1]. max over t of |TPR - FPR|, the shares of the positives and of the negatives that score above t.';
CREATE OR REPLACE MACRO ec.min_cllr(score DOUBLE, label, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._cllr_of(ec._hull(_g['c'])))[1];
COMMENT ON MACRO ec.min_cllr IS 'Cllr after the best monotone calibration for these rows (pool adjacent violators), in bits. Lower is better; in [0, 1]: 1 is uninformative. min over increasing functions f of the `cllr` of f(score): the part of the Cllr that no monotone calibration can remove.';

CREATE OR REPLACE MACRO ec.macro_auc_roc(score DOUBLE[], label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    list_transform(ec._class_areas(score, label, prior, score_type, weight), lambda _g: ec._mean_of(_g['a']))[1];
COMMENT ON MACRO ec.macro_auc_roc IS 'Mean over classes of the area under the ROC curve of each class against the rest. Higher is better; in [0, 1]: 0.5 is random order. (1/K) sum_k A_k, where A_k is the `auc_roc` of q_k for class k. The priors weigh the classes of the rest: at "uniform" it equals `pairwise_auc_roc`.';
CREATE OR REPLACE MACRO ec.weighted_auc_roc(score DOUBLE[], label, score_type := 'posterior', prior := NULL, weight := NULL) AS
    list_transform(ec._class_areas(score, label, prior, score_type, weight), lambda _g: ec._expect(_g['p'], _g['a']))[1];
COMMENT ON MACRO ec.weighted_auc_roc IS 'Mean over classes of the area under the ROC curve of each class against the rest, weighted by the priors. Higher is better; in [0, 1]: 0.5 is random order. sum_k P_k A_k, where A_k is the `auc_roc` of q_k for class k. The priors also weigh the classes of the rest.';
CREATE OR REPLACE MACRO ec.pairwise_auc_roc(score DOUBLE[], label, score_type := 'posterior', weight := NULL) AS
    list_transform(ec._class_areas(score, label, 'uniform', score_type, weight), lambda _g: ec._mean_of(_g['a']))[1];
COMMENT ON MACRO ec.pairwise_auc_roc IS 'Mean over pairs of classes of the area under the ROC curve of one against the other, by Hand and Till. Higher is better; in [0, 1]: 0.5 is random order. 1/(K (K - 1)) sum_(k != i) A_ki, where A_ki is the `auc_roc` of q_k for class k among the rows of k and i. It does not depend on priors. Log-likelihoods become posteriors at equal priors.';

-- Public, of bins -----------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.approx_auc_roc(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._middle(ec._auc_bounds(ec._binned(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.approx_auc_roc IS 'ec.auc_roc from counts of rows per bin of the score, in bounded memory: |value - ec.auc_roc| <= ec.approx_auc_roc_error';
CREATE OR REPLACE MACRO ec.approx_auc_roc_error(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._half(ec._auc_bounds(ec._binned(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.approx_auc_roc_error IS 'How far ec.approx_auc_roc may be from ec.auc_roc: sum over bins of n1 n0 / 2, over N1 N0';

CREATE OR REPLACE MACRO ec.approx_average_precision(score DOUBLE, label, score_type := 'posterior', prior := NULL, resolution := 64) AS
    ec._middle(ec._ap_bounds(ec._binned(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, resolution)));
COMMENT ON MACRO ec.approx_average_precision IS 'ec.average_precision from counts of rows per bin of the score, in bounded memory: |value - ec.average_precision| <= ec.approx_average_precision_error';
CREATE OR REPLACE MACRO ec.approx_average_precision_error(score DOUBLE, label, score_type := 'posterior', prior := NULL, resolution := 64) AS
    ec._half(ec._ap_bounds(ec._binned(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, resolution)));
COMMENT ON MACRO ec.approx_average_precision_error IS 'How far ec.approx_average_precision may be from ec.average_precision: half the range over the orders within bins';

CREATE OR REPLACE MACRO ec.approx_auprg(score DOUBLE, label, score_type := 'posterior', prior := NULL, resolution := 64) AS
    ec._middle(ec._auprg_bounds(ec._binned(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, resolution)));
COMMENT ON MACRO ec.approx_auprg IS 'ec.auprg from counts of rows per bin of the score, in bounded memory: |value - ec.auprg| <= ec.approx_auprg_error';
CREATE OR REPLACE MACRO ec.approx_auprg_error(score DOUBLE, label, score_type := 'posterior', prior := NULL, resolution := 64) AS
    ec._half(ec._auprg_bounds(ec._binned(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, resolution)));
COMMENT ON MACRO ec.approx_auprg_error IS 'How far ec.approx_auprg may be from ec.auprg: half the range over the orders within bins';

CREATE OR REPLACE MACRO ec.approx_eer(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._middle(ec._eer_bounds(ec._binned(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.approx_eer IS 'ec.eer from counts of rows per bin of the score, in bounded memory: |value - ec.eer| <= ec.approx_eer_error';
CREATE OR REPLACE MACRO ec.approx_eer_error(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._half(ec._eer_bounds(ec._binned(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.approx_eer_error IS 'How far ec.approx_eer may be from ec.eer: half the range over the orders within bins';

CREATE OR REPLACE MACRO ec.approx_min_expected_cost(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, score_type := 'posterior', resolution := 64) AS
    CASE WHEN ec._risk_costs_ok(costs, cost_fn, cost_fp) THEN ec._high(ec._min_cost_bounds(ec._binned(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, resolution), ec._costs(costs, cost_fn, cost_fp))) END;
COMMENT ON MACRO ec.approx_min_expected_cost IS 'ec.min_expected_cost from counts of rows per bin of the score, in bounded memory: |value - ec.min_expected_cost| <= ec.approx_min_expected_cost_error';
CREATE OR REPLACE MACRO ec.approx_min_expected_cost_error(score DOUBLE, label, costs := NULL, cost_fn := 1, cost_fp := 1, prior := NULL, score_type := 'posterior', resolution := 64) AS
    CASE WHEN ec._risk_costs_ok(costs, cost_fn, cost_fp) THEN ec._range(ec._min_cost_bounds(ec._binned(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, resolution), ec._costs(costs, cost_fn, cost_fp))) END;
COMMENT ON MACRO ec.approx_min_expected_cost_error IS 'How far ec.approx_min_expected_cost may be from ec.min_expected_cost: the gain of the best order within bins, because the minimum lies at the edge of a bin.';

CREATE OR REPLACE MACRO ec.approx_min_dcf(score DOUBLE, label, score_type := 'posterior', cost_fn := 1, cost_fp := 1, prior := NULL, resolution := 64) AS
    CASE WHEN ec._binary_costs_ok(cost_fn, cost_fp) THEN ec._high(ec._min_dcf_bounds(ec._binned(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, resolution), ec._binary_costs(cost_fn, cost_fp))) END;
COMMENT ON MACRO ec.approx_min_dcf IS 'ec.min_dcf from counts of rows per bin of the score, in bounded memory: |value - ec.min_dcf| <= ec.approx_min_dcf_error';
CREATE OR REPLACE MACRO ec.approx_min_dcf_error(score DOUBLE, label, score_type := 'posterior', cost_fn := 1, cost_fp := 1, prior := NULL, resolution := 64) AS
    CASE WHEN ec._binary_costs_ok(cost_fn, cost_fp) THEN ec._range(ec._min_dcf_bounds(ec._binned(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, resolution), ec._binary_costs(cost_fn, cost_fp))) END;
COMMENT ON MACRO ec.approx_min_dcf_error IS 'How far ec.approx_min_dcf may be from ec.min_dcf: the gain of the best order within bins, because the minimum lies at the edge of a bin.';

CREATE OR REPLACE MACRO ec.approx_specificity_at_sensitivity(score DOUBLE, label, sensitivity := 0.95, score_type := 'posterior', resolution := 64) AS
    CASE WHEN ec._wanted(sensitivity, 'sensitivity') THEN ec._low(ec._specificity_bounds(ec._binned(score, label, NULL, score_type, resolution), sensitivity)) END;
COMMENT ON MACRO ec.approx_specificity_at_sensitivity IS 'ec.specificity_at_sensitivity from counts of rows per bin of the score, in bounded memory: |value - ec.specificity_at_sensitivity| <= ec.approx_specificity_at_sensitivity_error';
CREATE OR REPLACE MACRO ec.approx_specificity_at_sensitivity_error(score DOUBLE, label, sensitivity := 0.95, score_type := 'posterior', resolution := 64) AS
    CASE WHEN ec._wanted(sensitivity, 'sensitivity') THEN ec._range(ec._specificity_bounds(ec._binned(score, label, NULL, score_type, resolution), sensitivity)) END;
COMMENT ON MACRO ec.approx_specificity_at_sensitivity_error IS 'How far ec.approx_specificity_at_sensitivity may be from ec.specificity_at_sensitivity: n0 / N0 of the bin that reaches the sensitivity';

CREATE OR REPLACE MACRO ec.approx_sensitivity_at_specificity(score DOUBLE, label, specificity := 0.95, score_type := 'posterior', resolution := 64) AS
    CASE WHEN ec._wanted(specificity, 'specificity') THEN ec._low(ec._sensitivity_bounds(ec._binned(score, label, NULL, score_type, resolution), specificity)) END;
COMMENT ON MACRO ec.approx_sensitivity_at_specificity IS 'ec.sensitivity_at_specificity from counts of rows per bin of the score, in bounded memory: |value - ec.sensitivity_at_specificity| <= ec.approx_sensitivity_at_specificity_error';
CREATE OR REPLACE MACRO ec.approx_sensitivity_at_specificity_error(score DOUBLE, label, specificity := 0.95, score_type := 'posterior', resolution := 64) AS
    CASE WHEN ec._wanted(specificity, 'specificity') THEN ec._range(ec._sensitivity_bounds(ec._binned(score, label, NULL, score_type, resolution), specificity)) END;
COMMENT ON MACRO ec.approx_sensitivity_at_specificity_error IS 'How far ec.approx_sensitivity_at_specificity may be from ec.sensitivity_at_specificity: n1 / N1 of the bin that would lose the specificity';

CREATE OR REPLACE MACRO ec.approx_ks(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._middle(ec._ks_bounds(ec._binned(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.approx_ks IS 'ec.ks from counts of rows per bin of the score, in bounded memory: |value - ec.ks| <= ec.approx_ks_error';
CREATE OR REPLACE MACRO ec.approx_ks_error(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._half(ec._ks_bounds(ec._binned(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.approx_ks_error IS 'How far ec.approx_ks may be from ec.ks: half the range over the orders within bins';

CREATE OR REPLACE MACRO ec.approx_min_cllr(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._middle(ec._min_cllr_bounds(ec._binned(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.approx_min_cllr IS 'ec.min_cllr from counts of rows per bin of the score, in bounded memory: |value - ec.min_cllr| <= ec.approx_min_cllr_error';
CREATE OR REPLACE MACRO ec.approx_min_cllr_error(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._half(ec._min_cllr_bounds(ec._binned(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.approx_min_cllr_error IS 'How far ec.approx_min_cllr may be from ec.min_cllr: half the range over the orders within bins';

-- Exact, in a table for groups that do not fit in memory ---------------------------------------------------------------

-- P1 and P0 of a group: the stated prior, else the group's own.
CREATE OR REPLACE MACRO ec._class_prior(n, rest, stated) AS
    CASE WHEN stated IS NULL THEN ec._share(n, rest) WHEN n + rest > 0 AND ec._share_ok(stated) THEN stated END;

-- Groups by score and a window over the sorted scores: both spill to disk. Groups are numbered first, because sorting by
-- names is slow, and the log is read a second time rather than kept (NOT MATERIALIZED). The hull (eer, min_cllr) has no
-- such form; a resolution of 1000000 leaves hardly any bin with more than one score.
CREATE OR REPLACE MACRO ec.ranking_exact(log, score, label, groups := [], prior := NULL, sensitivity := 0.95, specificity := 0.95,
    cost_fn := 1, cost_fp := 1, score_type := 'posterior') AS TABLE
    WITH _ec_rows AS NOT MATERIALIZED (
        SELECT struct_pack(*COLUMNS(lambda _c: _c = 'ec: 0' OR ec._is_group(_c, groups))) AS _ec_key, CAST(score AS DOUBLE) AS _ec_score,
               ec._ranked_class(CAST(score AS DOUBLE), label, ec._binned_type(score_type), NULL) AS _ec_class
        FROM (SELECT 0 AS "ec: 0", * FROM query_table(log))),
    _ec_counts AS (
        SELECT _ec_key, CAST(ec._count(_ec_class = 1) AS DOUBLE) AS _ec_n1, CAST(ec._count(_ec_class = 0) AS DOUBLE) AS _ec_n0,
               ec._count(_ec_class IS NULL) AS _ec_missing, ec._count(_ec_class < 0) AS _ec_invalid
        FROM _ec_rows GROUP BY _ec_key),
    _ec_groups AS MATERIALIZED (
        SELECT *, row_number() OVER () AS _ec_id, ec._class_prior(_ec_n1, _ec_n0, ec._prior1(prior)) AS _ec_p1,
               ec._class_prior(_ec_n0, _ec_n1, ec._prior0(prior)) AS _ec_p0
        FROM _ec_counts),
    _ec_scores AS (
        SELECT _ec_id, _ec_score, CAST(ec._count(_ec_class = 1) AS DOUBLE) AS _ec_w1, CAST(ec._count(_ec_class = 0) AS DOUBLE) AS _ec_w0
        FROM _ec_rows JOIN _ec_groups ON _ec_rows._ec_key IS NOT DISTINCT FROM _ec_groups._ec_key
        WHERE _ec_class >= 0 AND _ec_invalid = 0 AND _ec_n1 > 0 AND _ec_n0 > 0
        GROUP BY _ec_id, _ec_score),
    _ec_sums AS (
        SELECT *, sum(_ec_w1) OVER _ec_down AS _ec_t, sum(_ec_w0) OVER _ec_down AS _ec_f
        FROM _ec_scores WINDOW _ec_down AS (PARTITION BY _ec_id ORDER BY _ec_score DESC)),
    _ec_steps AS (
        SELECT _ec_id, _ec_p1, _ec_p0,
               ec._count_step(_ec_t - _ec_w1, _ec_f - _ec_w0, _ec_t, _ec_f, _ec_n1, _ec_n0, true) AS _ec_step
        FROM _ec_sums JOIN _ec_groups USING (_ec_id)),
    _ec_metrics AS (
        SELECT _ec_id, sum(ec._pairs(_ec_step)) AS auc_roc,
               CASE WHEN any_value(_ec_p1) > 0 THEN sum(ec._precision_step(_ec_step, _ec_p1, _ec_p0)) END AS average_precision,
               CASE WHEN any_value(_ec_p1) > 0 AND any_value(_ec_p0) > 0
                    THEN ec._finite(sum(ec._gain_step(_ec_step, _ec_p1, _ec_p0))) END AS auprg,
               ec._ratio(least(any_value(_ec_p1 * ec._not_negative(cost_fn)),
                               min(_ec_p1 * ec._not_negative(cost_fn) * _ec_step['fnr'] + _ec_p0 * ec._not_negative(cost_fp) * _ec_step['fpr'])),
                         any_value(least(_ec_p1 * ec._not_negative(cost_fn), _ec_p0 * ec._not_negative(cost_fp)))) AS min_dcf,
               max(CASE WHEN _ec_step['tpr'] >= sensitivity AND ec._wanted(sensitivity, 'sensitivity') THEN _ec_step['tnr'] END)
                   AS specificity_at_sensitivity,
               coalesce(max(CASE WHEN _ec_step['tnr'] >= specificity AND ec._wanted(specificity, 'specificity') THEN _ec_step['tpr'] END), 0)
                   AS sensitivity_at_specificity,
               max(abs(_ec_step['tpr'] - _ec_step['fpr'])) AS ks
        FROM _ec_steps GROUP BY _ec_id)
    SELECT * EXCLUDE ("ec: 0") FROM (
        SELECT unnest(_ec_key), CAST(_ec_n1 + _ec_n0 AS BIGINT) AS n, CAST(_ec_missing AS BIGINT) AS n_missing,
               CAST(_ec_invalid AS BIGINT) AS n_invalid,
               auc_roc, average_precision, auprg, min_dcf, specificity_at_sensitivity, sensitivity_at_specificity, ks
        FROM _ec_groups LEFT JOIN _ec_metrics USING (_ec_id)
        WHERE coalesce((FROM ec._columns_ok(log, groups, ['n', 'n_missing', 'n_invalid', 'auc_roc', 'average_precision', 'auprg',
                                                          'min_dcf', 'specificity_at_sensitivity', 'sensitivity_at_specificity', 'ks'])), true));
COMMENT ON MACRO TABLE ec.ranking_exact IS 'Exact ranking metrics per group, over all distinct scores: auc_roc = P(score of class 1 > score of class 0) + P(equal)/2 ...';
-- polars_ec for DuckDB, file 8 of 12: buckets and folds of keys, and calibrated posteriors. Load after ranking.

-- Buckets and folds ---------------------------------------------------------------------------------------------------

-- MurmurHash3 of 32 bits, as Apache Iceberg has it. Words and hashes are UBIGINT of which the lowest 32 bits count. DuckDB checks each
-- product and sum of integers for overflow, which takes ten times as long as an operation on bits or on DOUBLE: hence numbers below
-- 2^53 are multiplied and added as DOUBLE, which is exact, two words of a text are one number of 128 bits, and a word times 2^32 + 1
-- stands beside itself, so that a shift rotates it. What stands twice is named once by invoke(), for within a CASE or a lambda it
-- would be worked out twice.
CREATE OR REPLACE MACRO ec._word(x) AS (x) & 4294967295;
CREATE OR REPLACE MACRO ec._doubled(x) AS ec._word(x) * 4294967297;
-- The word is word * 3432918353, rotated by 15 bits, times 461845907; and the hash of it and those before, rotated by 13, times 5.
CREATE OR REPLACE MACRO ec._scrambled(word) AS
    invoke(lambda _x: CAST(CAST(_x & 131071 AS DOUBLE) * 2596896768e0 + CAST(_x >> 17 AS DOUBLE) * 461845907e0 AS UBIGINT),
           ec._word(word * 3432918353));
CREATE OR REPLACE MACRO ec._next(x) AS CAST(CAST(ec._doubled(x) >> 19 AS DOUBLE) * 5e0 + 3864292196e0 AS UBIGINT);
-- The same where `whole` is 1; x where it is 0, for the last word of a text, which may have less than four bytes.
CREATE OR REPLACE MACRO ec._next_if(x, whole) AS
    (ec._doubled(x) >> (32 - 13 * whole)) * (1 + 4 * whole) + 3864292196 * whole;
CREATE OR REPLACE MACRO ec._shifted_xor(x, bits) AS xor(x, x >> bits);
CREATE OR REPLACE MACRO ec._mixed(x) AS
    invoke(lambda _x: ec._shifted_xor(_x, 16),
        invoke(lambda _x: ec._word(ec._shifted_xor(_x, 13) * 3266489909),
            invoke(lambda _x: ec._word(ec._shifted_xor(_x, 16) * 2246822507), ec._word(x))));

CREATE OR REPLACE MACRO ec._unmixed_words(low, high) AS
    xor(ec._next(xor(ec._next(ec._scrambled(low)), ec._scrambled(high))), 8);
CREATE OR REPLACE MACRO ec._unmixed_number(x) AS
    ec._unmixed_words(CAST(ec._word(x) AS UBIGINT), CAST(ec._word(x >> 32) AS UBIGINT));

-- Texts are cut by the number of their bytes: first blocks of 16 bytes, numbers of 128 bits; then what is left, as such a number too, with
-- zeros after it. The first byte of a word is its lowest, and the highest of the number. `doubled` are words beside themselves.
CREATE OR REPLACE MACRO ec._bytes_reversed(doubled, even, odd) AS ((doubled >> 8) & even) | ((doubled >> 24) & odd);
-- Of the second and the fourth word of a block, each in 64 bits.
CREATE OR REPLACE MACRO ec._products(words) AS
    (invoke(lambda _x: ec._bytes_reversed(_x, 78919881707896124288626917120, 308280787921469235502448895), words * 4294967297)
     * 3432918353) & 79228162495817593524129366015;
CREATE OR REPLACE MACRO ec._scrambled_words(block) AS
    (((ec._products(block & 79228162495817593524129366015) * 4294967297) >> 17) & 79228162495817593524129366015) * 461845907;
CREATE OR REPLACE MACRO ec._high_word(words) AS CAST(words >> 64 AS UBIGINT);
CREATE OR REPLACE MACRO ec._low_word(words) AS CAST(words & 18446744073709551615 AS UBIGINT);
CREATE OR REPLACE MACRO ec._with_block(hash, block) AS
    invoke(lambda _h, _a, _b: ec._next(xor(ec._next(xor(ec._next(xor(ec._next(xor(_h, ec._high_word(_a))), ec._high_word(_b))), ec._low_word(_a))),
                                           ec._low_word(_b))),
           hash, ec._scrambled_words(block >> 32), ec._scrambled_words(block));
-- The block is named first, because it would be worked out twice.
CREATE OR REPLACE MACRO ec._with_words(hash, block, n) AS
    invoke(lambda _h, _x, _1, _2, _3:
               invoke(lambda _a, _b: xor(ec._next_if(xor(ec._next_if(xor(ec._next_if(xor(_h, ec._high_word(_a)), _1), ec._high_word(_b)), _2),
                                                         ec._low_word(_a)), _3), ec._low_word(_b)),
                      ec._scrambled_words(_x >> 32), ec._scrambled_words(_x)),
           hash, block, CAST(n > 3 AS UBIGINT), CAST(n > 7 AS UBIGINT), CAST(n > 11 AS UBIGINT));
CREATE OR REPLACE MACRO ec._with_left(hash, bytes, n) AS
    CASE WHEN n < 4
         THEN xor(hash, ec._scrambled(invoke(lambda _x: ec._bytes_reversed(_x, 4278255360, 16711935),
                                             ec._doubled(CAST(CAST(bytes AS BIT) AS UBIGINT) << CAST(32 - 8 * n AS UBIGINT)))))
         ELSE ec._with_words(hash, CAST(CAST(bytes AS BIT) AS UHUGEINT) << CAST(128 - 8 * n AS UHUGEINT), n) END;
-- To cut a text that has as many characters as bytes is faster than to cut bytes.
CREATE OR REPLACE MACRO ec._bytes(t, since, n) AS
    CASE WHEN length(t) = strlen(t) THEN encode(substring(t, since, n)) ELSE encode(t)[since:since + n - 1] END;
CREATE OR REPLACE MACRO ec._block(t, since) AS CAST(CAST(ec._bytes(t, since, 16) AS BIT) AS UHUGEINT);
CREATE OR REPLACE MACRO ec._with_blocks(t, n) AS
    CASE WHEN n < 16 THEN CAST(0 AS UBIGINT)
         WHEN n < 32 THEN invoke(lambda _block: ec._with_block(CAST(0 AS UBIGINT), _block), ec._block(t, 1))
         ELSE list_reduce(list_transform(range(1, n - 14, 16), lambda _i: ec._block(t, _i)),
                          lambda _hash, _block: ec._with_block(_hash, _block), CAST(0 AS UBIGINT)) END;
CREATE OR REPLACE MACRO ec._bytes_left(t, n) AS
    CASE WHEN n & 15 = 0 THEN '\x00'::BLOB WHEN n < 16 THEN encode(t) ELSE ec._bytes(t, n - (n & 15) + 1, 15) END;
CREATE OR REPLACE MACRO ec._unmixed_text_of(t, n) AS
    xor(ec._with_left(ec._with_blocks(t, n), ec._bytes_left(t, n), n & 15), CAST(n AS UBIGINT));
CREATE OR REPLACE MACRO ec._unmixed_text(t) AS ec._unmixed_text_of(t, strlen(t));

-- Microseconds, rounded down; casts round to the nearest. DuckDB 1 has no TIMESTAMPTZ_NS: its text has the nanoseconds.
CREATE OR REPLACE MACRO ec._micros(nanos) AS nanos // 1000 - CAST(nanos % 1000 < 0 AS BIGINT);
CREATE OR REPLACE MACRO ec._number_of_key(key) AS
    CASE typeof(key)
         WHEN 'BOOLEAN' THEN TRY_CAST(key AS BIGINT)
         WHEN 'DATE' THEN TRY_CAST(key AS DATE) - DATE '1970-01-01'
         WHEN 'TIME' THEN epoch_us(TRY_CAST(key AS TIME))
         WHEN 'TIME_NS' THEN ec._micros(epoch_ns(TRY_CAST(key AS TIME_NS)))
         WHEN 'TIMESTAMP_NS' THEN ec._micros(epoch_ns(TRY_CAST(key AS TIMESTAMP_NS)))
         WHEN 'TIMESTAMPTZ_NS' THEN epoch_us(TRY_CAST(regexp_replace(CAST(key AS VARCHAR), '(\.\d{6})\d+', '\1') AS TIMESTAMPTZ))
         WHEN 'TIMESTAMP WITH TIME ZONE' THEN epoch_us(TRY_CAST(key AS TIMESTAMPTZ))
         WHEN 'INTERVAL' THEN epoch_us(TRY_CAST(key AS INTERVAL))
         ELSE epoch_us(TRY_CAST(key AS TIMESTAMP)) END;
-- True, or an error; apart, because no error may stand in the ORDER BY of a window.
CREATE OR REPLACE MACRO ec._key_ok(key) AS
    CASE WHEN typeof(key) IN ('UBIGINT', 'HUGEINT', 'UHUGEINT', 'BOOLEAN', 'DATE', 'TIME', 'TIME_NS', 'TIMESTAMP',
                              'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP_NS', 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ_NS',
                              'INTERVAL')
         THEN true
         ELSE error('ec: a bucket key must be an integer, string, date or time, not ' || typeof(key) || ': cast the key') IS NULL END;

-- `kind` is the key again, for the overloads: an alias of the same SELECT, an aggregate and the parameter of another macro have no type
-- yet when the macro is expanded, and more than one overload would match them. They end up under "NULL", with the text for any type.
CREATE OR REPLACE MACRO ec._goes_by_text(type) AS type IN ('VARCHAR', 'JSON') OR starts_with(type, 'ENUM(');
CREATE OR REPLACE MACRO ec._goes_by_number(type) AS
    type IN ('BIGINT', 'INTEGER', 'SMALLINT', 'TINYINT', 'UINTEGER', 'USMALLINT', 'UTINYINT', 'INTEGER_LITERAL', '"NULL"');
-- A number that needs more than 64 bits goes by its digits, as a text.
CREATE OR REPLACE MACRO ec._goes_by_digits(key) AS
    typeof(key) IN ('HUGEINT', 'UHUGEINT')
    AND coalesce(TRY_CAST(key AS HUGEINT) NOT BETWEEN -9223372036854775808 AND 18446744073709551615, key IS NOT NULL);
-- Of keys of any type; a text stands once, for it is long.
CREATE OR REPLACE MACRO ec._unmixed_key(key) AS
    CASE WHEN ec._goes_by_text(typeof(key)) OR ec._goes_by_digits(key) THEN ec._unmixed_text(TRY_CAST(key AS VARCHAR))
         WHEN ec._goes_by_number(typeof(key)) THEN ec._unmixed_number(TRY_CAST(key AS BIGINT))
         WHEN typeof(key) IN ('UBIGINT', 'HUGEINT', 'UHUGEINT') THEN ec._unmixed_number(TRY_CAST(key AS HUGEINT))
         ELSE ec._unmixed_number(ec._number_of_key(key)) END;
-- 31 bits.
CREATE OR REPLACE MACRO ec._hash_of_text(t) AS ec._mixed(ec._unmixed_text(t)) & 2147483647;
CREATE OR REPLACE MACRO ec._hash_of_integer(x) AS ec._mixed(ec._unmixed_number(x)) & 2147483647;
CREATE OR REPLACE MACRO ec._hash_of_key(key) AS ec._mixed(ec._unmixed_key(key)) & 2147483647;
CREATE OR REPLACE MACRO ec._kind_ok(key) AS ec._goes_by_text(typeof(key)) OR ec._goes_by_number(typeof(key)) OR ec._key_ok(key);
-- The same, or an error; no CASE around a text or an integer, where an argument that stands twice is worked out twice. (Without the 0
-- the optimizer would see NULL either way, where the key is nothing that has a hash, and drop the error.)
CREATE OR REPLACE MACRO ec._sure_hash_of_type(kind BIGINT, key) AS ec._hash_of_integer(CAST(key AS BIGINT)),
(kind, key) AS CASE WHEN ec._key_ok(key) THEN ec._hash_of_key(key) ELSE 0 END;
CREATE OR REPLACE MACRO ec._sure_hash_of_kind(kind VARCHAR, key) AS ec._hash_of_text(CAST(key AS VARCHAR)),
(kind, key) AS ec._sure_hash_of_type(key, key);
CREATE OR REPLACE MACRO ec._sure_hash(kind "NULL", key) AS CASE WHEN ec._kind_ok(key) THEN ec._hash_of_key(key) ELSE 0 END,
(kind, key) AS ec._sure_hash_of_kind(key, key);

CREATE OR REPLACE MACRO ec._n_buckets(name, n) AS
    CASE WHEN TRY_CAST(n AS UBIGINT) = n AND n BETWEEN 2 AND 1000 THEN CAST(n AS UBIGINT)
         ELSE CAST(error('ec: ' || name || ' must be a whole number in 2..1000, not ' || coalesce(CAST(n AS VARCHAR), 'NULL')) AS UBIGINT)
         END;
CREATE OR REPLACE MACRO ec._bucket(hash, buckets) AS CAST(hash % ec._n_buckets('buckets', buckets) AS SMALLINT);
CREATE OR REPLACE MACRO ec._fold(hash, folds) AS
    CAST(coalesce(hash % ec._n_buckets('folds', folds), ec._n_buckets('folds', folds)) AS SMALLINT);
CREATE OR REPLACE MACRO ec._turn(key, hash, within, folds) AS
    CAST(CASE WHEN key IS NULL THEN ec._n_buckets('folds', folds)
              ELSE dense_rank() OVER (PARTITION BY within ORDER BY hash NULLS LAST) % ec._n_buckets('folds', folds) END AS SMALLINT);

CREATE OR REPLACE MACRO ec.bucket(key, buckets := 100) AS
    ec._bucket(ec._sure_hash(key, key), buckets);
-- The name of a column in quotes would make one cluster of all rows.
CREATE OR REPLACE MACRO ec._bucket_of_cluster(cluster, buckets) AS
    CASE WHEN starts_with(alias(cluster), '''') THEN error('ec: cluster := ' || alias(cluster) || ' is text, not a column: leave out the quotes')
         ELSE ec.bucket(cluster, ec._buckets_of_clusters(buckets)) END;
CREATE OR REPLACE MACRO ec.fold(key, folds := 5) AS
    ec._fold(ec._sure_hash(key, key), folds);
CREATE OR REPLACE MACRO ec.stratified_fold(key, within, folds := 5) AS
    CASE WHEN ec._kind_ok(key) THEN ec._turn(key, ec._hash_of_key(key), within, folds) END;
COMMENT ON MACRO ec.bucket IS 'Bucket of a key by the hash of Apache Iceberg, from 0 to buckets - 1: (murmur3(key) & 2147483647) % buckets. NULL for a NULL key.';
COMMENT ON MACRO ec.fold IS 'Fold of cross-validation, from 0 to folds - 1: the bucket of the key, or folds for a NULL key. All rows of a key are in one fold.';
COMMENT ON MACRO ec.stratified_fold IS 'Fold of cross-validation, from 0 to folds - 1: the folds of each stratum differ by at most one key in size.';

-- Calibrated posteriors -----------------------------------------------------------------------------------------------

-- An LLR is calibrated as log-odds are.
CREATE OR REPLACE MACRO ec._calibrated_type(score_type) AS
    CASE WHEN score_type = 'llr' THEN 'log_odds' ELSE score_type END;
CREATE OR REPLACE MACRO ec._affine(x, alpha, beta) AS
    invoke(lambda _x, _alpha, _beta: CASE WHEN isfinite(_alpha) AND isfinite(_beta) AND _x IS NOT NULL
                                          THEN ec._sigmoid(CASE WHEN _alpha = 0 THEN _beta ELSE _alpha * _x + _beta END) END,
           x, alpha, beta);

CREATE OR REPLACE MACRO ec._parameter(x) AS
    CASE WHEN typeof(x) = 'BOOLEAN' THEN ec._fail('alpha and beta must be numbers, not ' || CAST(x AS VARCHAR)) ELSE CAST(x AS DOUBLE) END;
CREATE OR REPLACE MACRO ec.affine(score DOUBLE, alpha, beta, score_type := 'posterior') AS
    ec._affine(ec._row_log_odds(score, ec._calibrated_type(score_type), NULL), ec._parameter(alpha), ec._parameter(beta)),
(score DOUBLE[], alpha, beta, score_type := 'posterior') AS
    ec._affine(ec._row_log_odds(ec._pair(score, score_type), ec._calibrated_type(ec._pair_type(score_type)), NULL),
               ec._parameter(alpha), ec._parameter(beta));
COMMENT ON MACRO ec.affine IS 'Calibrated posterior of each row''s binary score, from an affine function of its log-odds. In [0, 1]. 1/(1 + e^-(alpha x + beta)) for log-odds x; with alpha = 0 it is 1/(1 + e^-beta), even if x is infinite. Temperature scaling has beta = 0 and the inverse of the temperature as alpha.';
-- polars_ec for DuckDB, file 9 of 12: calibration errors by bins of the posterior, and divergence from reference posteriors.
-- Load after scoring_rules.
-- Bin b of B holds b/B < q <= (b + 1)/B, b = 0..B-1; q = 0 is in the first. There is a sum per bin, at most 32 of them,
-- because their number is fixed while a macro is written: what is repeated in all of them is kept short. Of lists at a stated
-- prior there would be one per class as well, so there the rows of a group are kept in a list.

-- Rows ----------------------------------------------------------------------------------------------------------------

-- Posterior of class 1, and of the more probable class, whose index is 0 on a tie.
CREATE OR REPLACE MACRO ec._moved(score, score_type, prior "NULL") AS score,
(score, score_type, prior) AS score + CASE WHEN score_type = 'llr' THEN ln(ec._p1(prior)) - ln(ec._p0(prior)) ELSE 0 END;
CREATE OR REPLACE MACRO ec._q(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN score WHEN score_type = 'percent' THEN score / 100 ELSE ec._sigmoid(ec._moved(score, score_type, prior)) END;
CREATE OR REPLACE MACRO ec._larger_q(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN greatest(score, 1 - score)
         WHEN score_type = 'percent' THEN greatest(score / 100, 1 - score / 100)
         ELSE 1 / (1 + exp(-abs(ec._moved(score, score_type, prior)))) END;
CREATE OR REPLACE MACRO ec._is_larger(score, score_type, prior) AS
    CASE WHEN score_type = 'posterior' THEN score > 0.5 WHEN score_type = 'percent' THEN score > 50 ELSE ec._moved(score, score_type, prior) > 0 END;

-- The same of a list; there are no likelihoods where no prior is stated.
CREATE OR REPLACE MACRO ec._whole(score, value) AS CASE WHEN list_count(score) = len(score) THEN value END;
CREATE OR REPLACE MACRO ec._given_posteriors(score, score_type, prior "NULL") AS
    CASE WHEN score_type = 'log_posteriors' THEN list_transform(score, lambda _x: exp(_x)) ELSE score END,
(score, score_type, prior) AS ec._posteriors(score, score_type, prior);
CREATE OR REPLACE MACRO ec._top(q) AS list_position(q, list_max(q)) - 1;

-- What is true, as a number.
CREATE OR REPLACE MACRO ec._hit(condition) AS CAST(condition AS INTEGER);

-- The outer bins take what rounding puts beyond 0 and 1.
CREATE OR REPLACE MACRO ec._bin_edge(b, bins) AS CASE WHEN b = 0 THEN -1 WHEN b = bins THEN 2 ELSE b / bins END;
CREATE OR REPLACE MACRO ec._in_bin(b, bins, q) AS q > ec._bin_edge(b, bins) AND q <= ec._bin_edge(b + 1, bins);

-- Groups --------------------------------------------------------------------------------------------------------------

-- A row that misses a part has NULL for q or value. Sums beyond the last bin are folded into one.
CREATE OR REPLACE MACRO ec._bin_sum(b, bins, q, value) AS
    sum(CASE WHEN b < bins THEN ec._hit(ec._in_bin(b, bins, q)) * value END);
CREATE OR REPLACE MACRO ec._bin_sums(bins, q, value) AS [
    ec._bin_sum(0, bins, q, value), ec._bin_sum(1, bins, q, value), ec._bin_sum(2, bins, q, value), ec._bin_sum(3, bins, q, value),
    ec._bin_sum(4, bins, q, value), ec._bin_sum(5, bins, q, value), ec._bin_sum(6, bins, q, value), ec._bin_sum(7, bins, q, value),
    ec._bin_sum(8, bins, q, value), ec._bin_sum(9, bins, q, value), ec._bin_sum(10, bins, q, value), ec._bin_sum(11, bins, q, value),
    ec._bin_sum(12, bins, q, value), ec._bin_sum(13, bins, q, value), ec._bin_sum(14, bins, q, value), ec._bin_sum(15, bins, q, value),
    ec._bin_sum(16, bins, q, value), ec._bin_sum(17, bins, q, value), ec._bin_sum(18, bins, q, value), ec._bin_sum(19, bins, q, value),
    ec._bin_sum(20, bins, q, value), ec._bin_sum(21, bins, q, value), ec._bin_sum(22, bins, q, value), ec._bin_sum(23, bins, q, value),
    ec._bin_sum(24, bins, q, value), ec._bin_sum(25, bins, q, value), ec._bin_sum(26, bins, q, value), ec._bin_sum(27, bins, q, value),
    ec._bin_sum(28, bins, q, value), ec._bin_sum(29, bins, q, value), ec._bin_sum(30, bins, q, value), ec._bin_sum(31, bins, q, value)];

-- From gaps (sums of q less hits) and masses (sums of weights) of the bins, and the mass of all rows. They are divided by that
-- before they are squared, for the squares of small or large sums would be 0 or infinite.
CREATE OR REPLACE MACRO ec._calibration_error(gaps, masses, mass, norm) AS
    CASE WHEN norm = 1 THEN ec._ratio(ec._plus(list_transform(gaps, lambda _x: abs(_x))), mass)
         ELSE sqrt(ec._plus(list_transform(gaps, lambda _x, _b: CASE WHEN masses[_b] > 0
             THEN ec._ratio(_x, mass) * (_x / masses[_b]) ELSE ec._ratio(_x, mass) END))) END;

-- Rows in a list {y class, q, g gap, w weight}. Those of class i count P_i / N_i each.
CREATE OR REPLACE MACRO ec._kept_rows(q, hit, y, weight) AS
    list({'y': y, 'q': q, 'g': (q - hit) * ec._weight(weight), 'w': CAST(ec._weight(weight) AS DOUBLE)})
        FILTER (WHERE q IS NOT NULL AND hit IS NOT NULL);
CREATE OR REPLACE MACRO ec._masses(rows, k) AS
    list_transform(range(k), lambda _i: list_sum(list_transform(rows, lambda _x: ec._hit(_x['y'] = _i) * _x['w'])));
CREATE OR REPLACE MACRO ec._sum_of_bin(rows, p, n) AS {
    'g': coalesce(list_sum(list_transform(rows, lambda _x: ec._term(p[_x['y'] + 1], ec._ratio(_x['g'], n[_x['y'] + 1])))), 0),
    'm': coalesce(list_sum(list_transform(rows, lambda _x: ec._term(p[_x['y'] + 1], ec._ratio(_x['w'], n[_x['y'] + 1])))), 0)};
CREATE OR REPLACE MACRO ec._error_of_rows(rows, k, low, high, bins, norm) AS
    list_transform(list_transform(list_transform(
            [{'rows': rows, 'n': ec._masses(rows, k), 'low': low, 'high': high}],
        lambda _g: {'rows': _g['rows'], 'n': _g['n'], 'p': ec._class_priors(_g['n'], _g['low'], _g['high'])}),
        lambda _g: {'defined': ec._expect(_g['p'], ec._each_mean(_g['n'], _g['n'])) IS NOT NULL,
                    's': list_transform(range(CAST(bins AS BIGINT)), lambda _b: ec._sum_of_bin(
                        list_filter(_g['rows'], lambda _x: ec._in_bin(_b, bins, _x['q'])), _g['p'], _g['n']))}),
        lambda _g: CASE WHEN _g['defined'] THEN ec._calibration_error(
            list_transform(_g['s'], lambda _x: _x['g']), list_transform(_g['s'], lambda _x: _x['m']), 1, norm) END)[1];

-- True, or an error.
CREATE OR REPLACE MACRO ec._ece_ok(bins, norm, score_type) AS
    CASE WHEN NOT coalesce(TRY_CAST(bins AS INTEGER) = bins AND bins BETWEEN 1 AND 32, false)
         THEN error('ec: bins must be a whole number in 1..32, not ' || coalesce(CAST(bins AS VARCHAR), 'NULL')
                    || ' (more: GROUP BY ceil(posterior * bins))') IS NULL
         WHEN NOT coalesce(norm IN (1, 2), false) OR typeof(norm) = 'BOOLEAN'
         THEN error('ec: norm must be 1 or 2, not ' || coalesce(CAST(norm AS VARCHAR), 'NULL')) IS NULL
         WHEN score_type = 'decision' THEN error('ec: score_type ''decision'' has no posteriors') IS NULL
         ELSE true END;
-- `kind` is the prior again, for the overloads: an aggregate has no type yet when the macro is expanded, and comes first.
CREATE OR REPLACE MACRO ec._ece_prior_ok(kind "NULL", prior, score_type) AS
    CASE WHEN NOT ec._unset(prior)
         THEN error('ec: the prior of ece and ece_mc must be a number, a list or a column that is constant in the group, not an aggregate '
                    || 'or alias: leave out any_value()') IS NULL
         WHEN score_type IN ('llr', 'log_likelihoods') THEN ec._no_prior(score_type) = 0
         ELSE true END,
(kind, prior, score_type) AS true;

-- Without a prior one sum a bin, with one all rows.
CREATE OR REPLACE MACRO ec._shown(norm, bins) AS CASE WHEN norm = 2 THEN bins ELSE 0 END;
CREATE OR REPLACE MACRO ec._error_of_bins(wrong, q, hit, y, k, bins, norm, kind "NULL", prior, weight) AS
    list_transform([{
            'wrong': wrong, 'g': ec._bin_sums(bins, q, (q - hit) * ec._weight(weight)),
            'm': ec._bin_sums(ec._shown(norm, bins), q, CASE WHEN hit IS NOT NULL THEN ec._weight(weight) END),
            'mass': sum(CASE WHEN q IS NOT NULL AND hit IS NOT NULL THEN ec._weight(weight) END)}],
        lambda _s: CASE WHEN NOT _s['wrong'] AND ec._addable(_s['mass'])
            THEN ec._calibration_error(list_transform(_s['g'], lambda _x: coalesce(_x, 0)), _s['m'], _s['mass'], norm) END)[1],
(wrong, q, hit, y, k, bins, norm, kind, prior, weight) AS
    list_transform([{
            'wrong': wrong, 'k': k, 'low': min(ec._priors(prior)), 'high': max(ec._priors(prior)),
            'rows': ec._kept_rows(q, hit, y, weight)}],
        lambda _s: CASE WHEN NOT _s['wrong'] THEN ec._error_of_rows(_s['rows'], _s['k'], _s['low'], _s['high'], bins, norm) END)[1];

-- Two classes with a prior: one sum a bin and class, and the classes' terms as in any expectation.
CREATE OR REPLACE MACRO ec._expected_sums(sums1, sums0, s) AS
    list_transform(sums1, lambda _x, _b: ec._term(s['p1'], ec._ratio(coalesce(_x, 0), s['n1']))
                                         + ec._term(s['p0'], ec._ratio(coalesce(sums0[_b], 0), s['n0'])));
CREATE OR REPLACE MACRO ec._error_of_two(wrong, q, hit, y, n1, n0, bins, norm, prior, weight) AS
    list_transform(list_transform([{
            'wrong': wrong, 'n1': n1, 'n0': n0, 'prior': ec._stated_prior(prior),
            'g1': ec._bin_sums(bins, q, ec._hit(y = 1) * (q - hit) * ec._weight(weight)),
            'g0': ec._bin_sums(bins, q, ec._hit(y = 0) * (q - hit) * ec._weight(weight)),
            'm1': ec._bin_sums(ec._shown(norm, bins), q, ec._hit(y = 1) * ec._weight(weight)),
            'm0': ec._bin_sums(ec._shown(norm, bins), q, ec._hit(y = 0) * ec._weight(weight))}],
        lambda _s: {
            'wrong': _s['wrong'], 'g1': _s['g1'], 'g0': _s['g0'], 'm1': _s['m1'], 'm0': _s['m0'], 'n1': _s['n1'], 'n0': _s['n0'],
            'p1': ec._prior_of_1(_s['n1'], _s['n0'], _s['prior']), 'p0': ec._prior_of_0(_s['n1'], _s['n0'], _s['prior'])}),
        lambda _s: CASE WHEN NOT _s['wrong'] AND ec._addable(_s['n1'] + _s['n0']) THEN
            ec._calibration_error(ec._expected_sums(_s['g1'], _s['g0'], _s), ec._expected_sums(_s['m1'], _s['m0'], _s), 1, norm) END)[1];

CREATE OR REPLACE MACRO ec._binary_error(score, label, q, hit, bins, norm, kind "NULL", prior, score_type, weight) AS
    ec._error_of_bins(ec._count_invalid(ec._likely(score, score_type, prior), label, NULL, score_type, weight) > 0, q, hit, ec._y(label), 2, bins, norm,
                      prior, prior, weight),
(score, label, q, hit, bins, norm, kind, prior, score_type, weight) AS
    ec._error_of_two(ec._count_invalid(ec._likely(score, score_type, prior), label, NULL, score_type, weight) > 0, q, hit, ec._y(label),
                     ec._size1(score, label, weight), ec._size0(score, label, weight), bins, norm, prior, weight);
CREATE OR REPLACE MACRO ec._vector_wrong(score, label, k, score_type, weight) AS
    list_transform([ec._count_vector(score, label, CAST(NULL AS DOUBLE[][]), score_type, weight)],
                   lambda _t: NOT ec._classes_ok(_t, k) OR ec._any_wrong(_t))[1];

-- Public --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._ece(score, label, bins, norm, prior, score_type, weight) AS
    ec._binary_error(score, label, ec._q(score, score_type, prior), ec._hit(ec._y(label) = 1), bins, norm, prior, prior, score_type, weight);
CREATE OR REPLACE MACRO ec.ece(score DOUBLE, label, bins := 15, norm := 1, prior := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._ece_ok(bins, norm, score_type) AND ec._ece_prior_ok(prior, prior, score_type)
         THEN ec._ece(score, label, bins, norm, prior, score_type, weight) END,
(score DOUBLE[], label, bins := 15, norm := 1, prior := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._ece_ok(bins, norm, score_type) AND ec._ece_prior_ok(prior, prior, score_type) THEN
        ec._error_of_bins(ec._vector_wrong(ec._likely_list(score, score_type, prior), label, 2, score_type, weight),
                          ec._whole(score, ec._given_posteriors(score, score_type, prior)[2]), ec._hit(ec._y(label) = 1), ec._y(label), 2,
                          bins, norm, prior, prior, weight) END;
COMMENT ON MACRO ec.ece IS 'Expected calibration error from 0 to 1, lower is better: sum over bins b of w_b |mean q_1 - share of class 1|. It does not measure the quality of the posteriors.';

CREATE OR REPLACE MACRO ec.ece_mc(score DOUBLE, label, bins := 15, norm := 1, prior := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._ece_ok(bins, norm, score_type) AND ec._ece_prior_ok(prior, prior, score_type) THEN
        ec._binary_error(score, label, ec._larger_q(score, score_type, prior),
                         ec._hit((ec._y(label) = 1) = ec._is_larger(score, score_type, prior)), bins, norm, prior, prior, score_type, weight) END,
(score DOUBLE[], label, bins := 15, norm := 1, prior := NULL, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._ece_ok(bins, norm, score_type) AND ec._ece_prior_ok(prior, prior, score_type) THEN
        ec._error_of_bins(ec._vector_wrong(ec._likely_list(score, score_type, prior), label, NULL, score_type, weight),
                          ec._whole(score, list_max(ec._given_posteriors(score, score_type, prior))),
                          ec._hit(ec._top(ec._given_posteriors(score, score_type, prior)) = ec._y(label)), ec._y(label), max(len(score)),
                          bins, norm, prior, prior, weight) END;
COMMENT ON MACRO ec.ece_mc IS 'Expected calibration error of the likeliest class, from 0 to 1, lower is better: ec.ece of max_k q_k. It does not measure the quality of the posteriors.';

-- Divergence from reference posteriors --------------------------------------------------------------------------------

-- A score of either shape as lists over the classes: posteriors q, and losses l = -ln q.
CREATE OR REPLACE MACRO ec._by_class(score, score_type) AS {
    'q': [CASE WHEN score_type = 'posterior' THEN 1 - score WHEN score_type = 'percent' THEN 1 - score / 100 ELSE ec._sigmoid(-score) END,
          ec._posterior(score, score_type, NULL)],
    'l': [ec._log_loss0(score, score_type, NULL), ec._log_loss1(score, score_type, NULL)]};
CREATE OR REPLACE MACRO ec._vector_by_class(score, score_type) AS {
    'q': ec._given_posteriors(score, score_type, NULL),
    'l': list_transform(score, lambda _x: CASE WHEN score_type = 'log_posteriors' THEN -_x ELSE -ln(_x) END)};

-- sum_h s_h (loss_h(q) - loss_h(s)), and sum_h s_h loss_h(q). A class that the reference rules out adds 0 whatever its loss
-- is; rounding may take a difference of equals below 0.
CREATE OR REPLACE MACRO ec._squares(a, b) AS list_sum(list_transform(a, lambda _x, _i: pow(_x - b[_i], 2)));
CREATE OR REPLACE MACRO ec._divergence(q, s, rule) AS
    list_transform([{'a': q, 'b': s}], lambda _r: CASE WHEN rule = 'brier' THEN ec._squares(_r['a']['q'], _r['b']['q']) / len(_r['a']['q'])
        ELSE greatest(ec._plus(list_transform(_r['b']['q'], lambda _x, _i: ec._term(_x, _r['a']['l'][_i] - _r['b']['l'][_i]))), 0) END)[1];
CREATE OR REPLACE MACRO ec._cross_loss(q, s, rule) AS
    list_transform([{'a': q, 'b': s}], lambda _r: CASE
        WHEN rule = 'brier' THEN (ec._squares(_r['a']['q'], _r['b']['q']) + list_sum(list_transform(_r['b']['q'], lambda _x: _x * (1 - _x)))) / len(_r['a']['q'])
        ELSE ec._plus(list_transform(_r['b']['q'], lambda _x, _i: ec._term(_x, _r['a']['l'][_i]))) END)[1];

CREATE OR REPLACE MACRO ec._rule_ok(rule, score_type) AS
    CASE WHEN NOT coalesce(rule IN ('cross_entropy', 'brier'), false)
         THEN error('ec: rule must be ''cross_entropy'' or ''brier'', not ' || coalesce(CAST(rule AS VARCHAR), 'NULL')) IS NULL
         WHEN score_type IN ('llr', 'log_likelihoods', 'decision')
         THEN error('ec: score_type ''' || score_type || ''' has no posteriors, which this macro compares') IS NULL
         ELSE true END;

-- Mean of a loss of the row, NULL when a row is wrong. The loss is worked out for rows that are right only.
CREATE OR REPLACE MACRO ec._mean_of_right(missing, right_, loss, weight) AS
    list_transform([{
            'wrong': ec._count(NOT missing AND NOT coalesce(right_, false)),
            's': sum(CASE WHEN NOT missing AND right_ THEN ec._weighted(loss, weight) END),
            'n': sum(CASE WHEN NOT missing AND right_ THEN CAST(ec._weight(weight) AS DOUBLE) END)}],
        lambda _g: CASE WHEN _g['wrong'] = 0 AND ec._addable(_g['n']) THEN ec._ratio(_g['s'], _g['n']) END)[1];
CREATE OR REPLACE MACRO ec._both_right(score, reference, score_type, weight) AS
    ec._number_ok(score, 2, score_type) AND ec._number_ok(reference, 2, score_type) AND ec._weight_ok(weight);
CREATE OR REPLACE MACRO ec._both_vectors_right(score, reference, score_type, weight) AS
    ec._vector_ok(score, NULL, score_type) AND ec._vector_ok(reference, NULL, score_type)
    AND len(score) = len(reference) AND ec._weight_ok(weight);
-- True, or an error where each row has lists of two lengths.
CREATE OR REPLACE MACRO ec._lengths_ok(missing, score, reference, score_type) AS
    CASE WHEN NOT ec._list_type_ok(NULL, score_type) THEN NULL
         WHEN bool_and(CASE WHEN NOT missing AND ec._vector_ok(score, NULL, score_type) AND ec._vector_ok(reference, NULL, score_type)
                            THEN len(score) <> len(reference) END)
         THEN error(format('ec: the lists have {} classes, but those of the reference have {}', max(len(score)), max(len(reference)))) IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec._either_missing(score, reference, weight) AS
    ec._missing_vector(score, reference, weight) OR list_count(reference) <> len(reference);

CREATE OR REPLACE MACRO ec.expected_score_divergence(score DOUBLE, reference, rule := 'cross_entropy', score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._rule_ok(CAST(rule AS VARCHAR), score_type) THEN
        ec._mean_of_right(ec._missing(score, reference, weight), ec._both_right(score, reference, score_type, weight),
                          ec._divergence(ec._by_class(score, score_type), ec._by_class(reference, score_type), CAST(rule AS VARCHAR)), weight) END,
(score DOUBLE[], reference, rule := 'cross_entropy', score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._rule_ok(CAST(rule AS VARCHAR), score_type)
              AND ec._lengths_ok(ec._either_missing(score, reference, weight), score, reference, score_type) THEN
        ec._mean_of_right(ec._either_missing(score, reference, weight), ec._both_vectors_right(score, reference, score_type, weight),
                          ec._divergence(ec._vector_by_class(score, score_type), ec._vector_by_class(reference, score_type), CAST(rule AS VARCHAR)), weight) END;
COMMENT ON MACRO ec.expected_score_divergence IS 'Mean divergence from reference posteriors s, lower is better: sum_i s_i ln(s_i / q_i), or 1/K sum_i (s_i - q_i)^2.';

-- Means of the reference over the rows, class by class: of a number, and of lists (see ec._sum_by_class: of more than 32 classes the rows
-- are kept). Where a row is wrong, no value is made of them.
CREATE OR REPLACE MACRO ec._row_mean(missing, value, weight) AS
    ec._ratio(sum(CASE WHEN NOT missing THEN ec._weighted(value, weight) END),
              sum(CASE WHEN NOT missing THEN CAST(ec._weight(weight) AS DOUBLE) END));
CREATE OR REPLACE MACRO ec._class_means(missing, reference, score_type, weight) AS [
    ec._row_mean(missing, ec._by_class(reference, score_type)['q'][1], weight), ec._row_mean(missing, ec._by_class(reference, score_type)['q'][2], weight)];
CREATE OR REPLACE MACRO ec._class_mean(i, missing, value, weight) AS ec._row_mean(missing, value[i], weight);
CREATE OR REPLACE MACRO ec._class_means_of_32(missing, value, weight) AS [
    ec._class_mean(1, missing, value, weight), ec._class_mean(2, missing, value, weight), ec._class_mean(3, missing, value, weight), ec._class_mean(4, missing, value, weight),
    ec._class_mean(5, missing, value, weight), ec._class_mean(6, missing, value, weight), ec._class_mean(7, missing, value, weight), ec._class_mean(8, missing, value, weight),
    ec._class_mean(9, missing, value, weight), ec._class_mean(10, missing, value, weight), ec._class_mean(11, missing, value, weight), ec._class_mean(12, missing, value, weight),
    ec._class_mean(13, missing, value, weight), ec._class_mean(14, missing, value, weight), ec._class_mean(15, missing, value, weight), ec._class_mean(16, missing, value, weight),
    ec._class_mean(17, missing, value, weight), ec._class_mean(18, missing, value, weight), ec._class_mean(19, missing, value, weight), ec._class_mean(20, missing, value, weight),
    ec._class_mean(21, missing, value, weight), ec._class_mean(22, missing, value, weight), ec._class_mean(23, missing, value, weight), ec._class_mean(24, missing, value, weight),
    ec._class_mean(25, missing, value, weight), ec._class_mean(26, missing, value, weight), ec._class_mean(27, missing, value, weight), ec._class_mean(28, missing, value, weight),
    ec._class_mean(29, missing, value, weight), ec._class_mean(30, missing, value, weight), ec._class_mean(31, missing, value, weight), ec._class_mean(32, missing, value, weight)];
CREATE OR REPLACE MACRO ec._kept_references(missing, value, weight) AS
    list({'w': CAST(ec._weight(weight) AS DOUBLE), 'v': value}) FILTER (WHERE len(value) > 32 AND NOT missing);
CREATE OR REPLACE MACRO ec._mean_of_kept(rows, k) AS
    list_transform(range(1, k + 1), lambda _i: ec._ratio(list_sum(list_transform(rows, lambda _r: CASE WHEN _r['w'] = 0 THEN 0 ELSE _r['v'][_i] * _r['w'] END)),
                                                         list_sum(list_transform(rows, lambda _r: _r['w']))));
CREATE OR REPLACE MACRO ec._vector_class_means(missing, reference, score_type, weight) AS
    list_transform([{'k': max(len(reference)),
                     'means': ec._class_means_of_32(missing, ec._given_posteriors(reference, score_type, NULL), weight),
                     'rows': ec._kept_references(missing, ec._given_posteriors(reference, score_type, NULL), weight)}],
        lambda _s: CASE WHEN _s['k'] > 32 THEN ec._mean_of_kept(_s['rows'], _s['k']) ELSE _s['means'][1:_s['k']] END)[1];
-- What always answering these means has, were classes drawn by them; 1 if nobody asks.
CREATE OR REPLACE MACRO ec._naive_loss(normalized, means, rule) AS
    CASE WHEN NOT CAST(normalized AS BOOLEAN) THEN 1e0
         ELSE list_transform([means], lambda _p: CASE WHEN rule = 'brier' THEN ec._spread(_p)
             ELSE ec._entropy(_p) END)[1] END;

CREATE OR REPLACE MACRO ec.semi_empirical_epsr(score DOUBLE, reference, rule := 'cross_entropy', normalized := false, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._rule_ok(CAST(rule AS VARCHAR), score_type) THEN ec._ratio(
        ec._mean_of_right(ec._missing(score, reference, weight), ec._both_right(score, reference, score_type, weight),
                          ec._cross_loss(ec._by_class(score, score_type), ec._by_class(reference, score_type), CAST(rule AS VARCHAR)), weight),
        ec._naive_loss(normalized, ec._class_means(ec._missing(score, reference, weight), reference, score_type, weight), CAST(rule AS VARCHAR))) END,
(score DOUBLE[], reference, rule := 'cross_entropy', normalized := false, score_type := 'posterior', weight := NULL) AS
    CASE WHEN ec._rule_ok(CAST(rule AS VARCHAR), score_type)
              AND ec._lengths_ok(ec._either_missing(score, reference, weight), score, reference, score_type) THEN ec._ratio(
        ec._mean_of_right(ec._either_missing(score, reference, weight), ec._both_vectors_right(score, reference, score_type, weight),
                          ec._cross_loss(ec._vector_by_class(score, score_type), ec._vector_by_class(reference, score_type), CAST(rule AS VARCHAR)), weight),
        ec._naive_loss(normalized, ec._vector_class_means(ec._either_missing(score, reference, weight), reference, score_type, weight), CAST(rule AS VARCHAR))) END;
COMMENT ON MACRO ec.semi_empirical_epsr IS 'Expected scoring rule if the classes were drawn from reference posteriors s, lower is better: -sum_i s_i ln q_i, or its Brier form.';
-- polars_ec for DuckDB, file 10 of 12: quantiles of the normal distribution and of t. Load after ece.

-- The algorithm is that of polars_ec/inference/confidence.py, which says why it is right; the nodes and weights are those of its rules.

-- Wichura 1988, algorithm AS 241 (PPND16).
CREATE OR REPLACE MACRO ec._normal_in_the_middle(r) AS
    (((((((2509.0809287301227e0 * r + 33430.57558358813e0) * r + 67265.7709270087e0) * r + 45921.95393154987e0) * r + 13731.69376550946e0) * r
         + 1971.5909503065513e0) * r + 133.14166789178438e0) * r + 3.3871328727963665e0)
    / (((((((5226.495278852546e0 * r + 28729.085735721943e0) * r + 39307.89580009271e0) * r + 21213.794301586597e0) * r + 5394.196021424751e0) * r
         + 687.1870074920579e0) * r + 42.31333070160091e0) * r + 1.0e0);
CREATE OR REPLACE MACRO ec._normal_beyond(r) AS
    (((((((0.0007745450142783414e0 * r + 0.022723844989269184e0) * r + 0.2417807251774506e0) * r + 1.2704582524523684e0) * r + 3.6478483247632045e0) * r
         + 5.769497221460691e0) * r + 4.630337846156546e0) * r + 1.4234371107496835e0)
    / (((((((1.0507500716444169e-09 * r + 0.0005475938084995345e0) * r + 0.015198666563616457e0) * r + 0.14810397642748008e0) * r + 0.6897673349851e0) * r
         + 1.6763848301838038e0) * r + 2.053191626637759e0) * r + 1.0e0);
CREATE OR REPLACE MACRO ec._normal_far_out(r) AS
    (((((((2.0103343992922881e-07 * r + 2.7115555687434876e-05) * r + 0.0012426609473880784e0) * r + 0.026532189526576124e0) * r + 0.29656057182850487e0) * r
         + 1.7848265399172913e0) * r + 5.463784911164114e0) * r + 6.657904643501103e0)
    / (((((((2.0442631033899397e-15 * r + 1.421511758316446e-07) * r + 1.8463183175100548e-05) * r + 0.0007868691311456133e0) * r + 0.014875361290850615e0) * r
         + 0.1369298809227358e0) * r + 0.599832206555888e0) * r + 1.0e0);
CREATE OR REPLACE MACRO ec._normal_outside(p, r) AS
    sign(p - 0.5e0) * CASE WHEN r <= 5 THEN invoke(lambda _x: ec._normal_beyond(_x), r - 1.6e0)
                           ELSE invoke(lambda _x: ec._normal_far_out(_x), r - 5) END;
CREATE OR REPLACE MACRO ec._normal_quantile(p) AS
    CASE WHEN p IS NULL THEN NULL
         WHEN p = 0 THEN -1e0 / 0
         WHEN p = 1 THEN 1e0 / 0
         WHEN NOT p BETWEEN 0 AND 1 THEN CAST('nan' AS DOUBLE)
         WHEN abs(p - 0.5e0) <= 0.425e0
         THEN (p - 0.5e0) * invoke(lambda _r: ec._normal_in_the_middle(_r), 0.180625e0 - (p - 0.5e0) * (p - 0.5e0))
         ELSE invoke(lambda _r: ec._normal_outside(p, _r), sqrt(-ln(least(p, 1 - p)))) END;

-- 1 - e^-x without loss of digits (DuckDB has no expm1), and the ratio of it to x that is the density's part beside the normal one.
CREATE OR REPLACE MACRO ec._lost(x) AS 2 / (1 + 1 / tanh(x / 2));
CREATE OR REPLACE MACRO ec._h(x) AS sqrt(x / 2 * (1 + 1 / tanh(x / 2)));

-- Gamma((n + 1) / 2) / Gamma(n / 2) sqrt(2 / n), by its logarithm's series at x = n / 2 + 10.
CREATE OR REPLACE MACRO ec._gamma_series(x) AS
    sqrt(x) * exp(((((-31e0 / 18432 / (x * x) + 17e0 / 14336) / (x * x) - 1e0 / 640) / (x * x) + 1e0 / 192) / (x * x) - 1e0 / 8) / x);
CREATE OR REPLACE MACRO ec._t_constant(n) AS
    ec._gamma_series(n / 2 + 10) * sqrt(2 / n)
    * n / (n + 1) * (n + 2) / (n + 3) * (n + 4) / (n + 5) * (n + 6) / (n + 7) * (n + 8) / (n + 9)
    * (n + 10) / (n + 11) * (n + 12) / (n + 13) * (n + 14) / (n + 15) * (n + 16) / (n + 17) * (n + 18) / (n + 19);

-- The mass between 0 and z, by Gauss and Legendre; the logarithm of that beyond z, by Gauss and Laguerre.
CREATE OR REPLACE MACRO ec._t_middle(z, n, k) AS
    k / sqrt(2 * pi()) * z * list_dot_product(
    [0.12793819534675202e0, 0.12583745634682825e0, 0.1216704729278033e0, 0.11550566805372552e0, 0.10744427011596556e0, 0.09761865210411393e0,
     0.0861901615319532e0, 0.07334648141108016e0, 0.05929858491543636e0, 0.04427743881741941e0, 0.02853138862893356e0, 0.01234122979998869e0],
    list_transform(
    [0.06405689286260563e0, 0.1911188674736163e0, 0.3150426796961634e0, 0.4337935076260451e0, 0.5454214713888396e0, 0.6480936519369755e0,
     0.7401241915785544e0, 0.820001985973903e0, 0.8864155270044011e0, 0.9382745520027328e0, 0.9747285559713095e0, 0.9951872199970213e0],
        lambda _x: exp(-(z * _x) * (z * _x) / 2) * ec._h((z * _x) * (z * _x) / n)));
CREATE OR REPLACE MACRO ec._t_log_tail(z, n, k) AS
    ln(k / sqrt(2 * pi()) * list_dot_product(
    [0.10921834195242515e0, 0.2104431079387924e0, 0.23521322966984298e0, 0.19590333597287354e0, 0.1299837862860684e0, 0.07057862386571556e0,
     0.03176091250917397e0, 0.011918214834838204e0, 0.003738816294611417e0, 0.0009808033066149246e0, 0.0002148649188013578e0, 3.920341967987801e-05,
     5.934541612868448e-06, 7.41640457866734e-07, 7.604567879120552e-08, 6.350602226625618e-09, 4.281382971040738e-10, 2.305899491891237e-11,
     9.799379288726772e-13, 3.2378016577291567e-14],
    list_transform(
    [0.04448936583326739e0, 0.23452610951961825e0, 0.5768846293018863e0, 1.072448753817818e0, 1.7224087764446456e0, 2.5283367064257942e0,
     3.492213273021994e0, 4.616456769749767e0, 5.903958504174244e0, 7.358126733186241e0, 8.982940924212597e0, 10.78301863253997e0,
     12.763697986742725e0, 14.931139755522558e0, 17.292454336715316e0, 19.855860940336054e0, 22.630889013196775e0, 25.628636022459247e0,
     28.862101816323474e0, 32.346629153964734e0],
        lambda _x: 1 / sqrt(n * ec._lost((z * z + 2 * _x) / n))))) - z * z / 2;
CREATE OR REPLACE MACRO ec._t_density(z, n, k) AS k * exp(-z * z / 2) / sqrt(2 * pi()) * ec._h(z * z / n);
CREATE OR REPLACE MACRO ec._t_log_slope(z, n) AS 1 / z - z / (2 * n) * (1 / tanh(z * z / n / 2) - 1) - z;

-- Halley's steps. Each part has a name, for ec.report_query takes them one by one.
CREATE OR REPLACE MACRO ec._t_start(normal, n) AS abs(normal) * (8 * n + 3) / (8 * n + 1);
CREATE OR REPLACE MACRO ec._t_hazard(z, log_tail, n, k) AS ec._t_density(z, n, k) / exp(log_tail);
CREATE OR REPLACE MACRO ec._t_tail_step(log_tail, hazard, beyond) AS (log_tail - ln(beyond)) / hazard;
CREATE OR REPLACE MACRO ec._t_middle_step(z, mass, n, k) AS (mass - ec._t_middle(z, n, k)) / ec._t_density(z, n, k);
CREATE OR REPLACE MACRO ec._t_step(z, step, hazard, n) AS z + step / (1 + step * (ec._t_log_slope(z, n) + hazard) / 2);
CREATE OR REPLACE MACRO ec._t_of(z, n) AS exp(z * z / n / 2) * sqrt(n * ec._lost(z * z / n));
CREATE OR REPLACE MACRO ec._t_from_tail(z, beyond, n, k) AS
    list_reduce([0e0, 0e0, 0e0], lambda _z, _i: invoke(lambda _log_tail:
        invoke(lambda _hazard: invoke(lambda _step: ec._t_step(_z, _step, _hazard, n), ec._t_tail_step(_log_tail, _hazard, beyond)),
               ec._t_hazard(_z, _log_tail, n, k)),
        ec._t_log_tail(_z, n, k)), z);
CREATE OR REPLACE MACRO ec._t_from_middle(z, mass, n, k) AS
    list_reduce([0e0, 0e0, 0e0], lambda _z, _i: invoke(lambda _step: ec._t_step(_z, _step, 0, n), ec._t_middle_step(_z, mass, n, k)), z);
CREATE OR REPLACE MACRO ec._t_quantile(p, normal, n, k) AS
    CASE WHEN p IS NULL OR n IS NULL THEN NULL
         WHEN isnan(n) THEN n
         WHEN p = 0.5e0 OR NOT isfinite(normal) THEN normal
         ELSE sign(p - 0.5e0) * invoke(lambda _z: ec._t_of(_z, n),
            CASE WHEN least(p, 1 - p) < 0.03e0
                 THEN ec._t_from_tail(ec._t_start(normal, n), least(p, 1 - p), n, k)
                 ELSE ec._t_from_middle(ec._t_start(normal, n), abs(p - 0.5e0), n, k) END) END;
CREATE OR REPLACE MACRO ec._degrees(df) AS
    CASE WHEN df > 0 AND NOT isnan(df) THEN greatest(least(df, 1e30), 1e0) WHEN df IS NOT NULL THEN CAST('nan' AS DOUBLE) END;

-- Public --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.normal_quantile(p) AS invoke(lambda _p: ec._normal_quantile(_p), CAST(p AS DOUBLE));
CREATE OR REPLACE MACRO ec.t_quantile(p, df) AS
    invoke(lambda _p, _n: invoke(lambda _normal, _k: ec._t_quantile(_p, _normal, _n, _k), ec._normal_quantile(_p), ec._t_constant(_n)),
           CAST(p AS DOUBLE), ec._degrees(CAST(df AS DOUBLE)));
COMMENT ON MACRO ec.normal_quantile IS 'Quantile of the normal distribution: the z with probability p below it. Infinite at 0 and 1, NaN outside.';
COMMENT ON MACRO ec.t_quantile IS 'Quantile of the t distribution with df degrees of freedom: the t with probability p below it. A df below 1 counts as 1, infinity gives the normal quantile, NaN gives NaN.';
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
        ec._low_end(ends, 'nec') AS nec_ci_low,
        ec._high_end(ends, 'nec') AS nec_ci_high,
    CASE WHEN ec._low_end(ends, 'nec') IS NOT NULL THEN coalesce(_ec_kinked, false) END AS nec_kinked,
    ec._value_of_nec(prior_errors) AS nec_at_prior,
        ec._low_end(ends, 'nec_at_prior') AS nec_at_prior_ci_low,
        ec._high_end(ends, 'nec_at_prior') AS nec_at_prior_ci_high,
    ec._loss_over_entropy(log_losses) AS nce,
        ec._low_end(ends, 'nce') AS nce_ci_low,
        ec._high_end(ends, 'nce') AS nce_ci_high, ec._loss_over_entropy(prior_log_losses) AS nce_at_prior,
        ec._low_end(ends, 'nce_at_prior') AS nce_at_prior_ci_low,
        ec._high_end(ends, 'nce_at_prior') AS nce_at_prior_ci_high,
    ec._loss_over_spread(briers) AS nbs,
        ec._low_end(ends, 'nbs') AS nbs_ci_low,
        ec._high_end(ends, 'nbs') AS nbs_ci_high, ec._loss_over_spread(prior_briers) AS nbs_at_prior,
        ec._low_end(ends, 'nbs_at_prior') AS nbs_at_prior_ci_low,
        ec._high_end(ends, 'nbs_at_prior') AS nbs_at_prior_ci_high,
    ec._value_of_precision(own) AS precision,
        ec._low_end(ends, 'precision') AS precision_ci_low,
        ec._high_end(ends, 'precision') AS precision_ci_high, ec._value_of_precision(at_prior) AS precision_at_prior,
        ec._low_end(ends, 'precision_at_prior') AS precision_at_prior_ci_low,
        ec._high_end(ends, 'precision_at_prior') AS precision_at_prior_ci_high,
    ec._value_of_f1(own) AS f1,
        ec._low_end(ends, 'f1') AS f1_ci_low,
        ec._high_end(ends, 'f1') AS f1_ci_high, ec._value_of_f1(at_prior) AS f1_at_prior,
        ec._low_end(ends, 'f1_at_prior') AS f1_at_prior_ci_low,
        ec._high_end(ends, 'f1_at_prior') AS f1_at_prior_ci_high,
    ec._value_of_recall(own) AS recall,
        ec._low_end(ends, 'recall') AS recall_ci_low,
        ec._high_end(ends, 'recall') AS recall_ci_high,
    ec._value_of_expected_cost(own_errors) AS expected_cost,
        ec._low_end(ends, 'expected_cost') AS expected_cost_ci_low,
        ec._high_end(ends, 'expected_cost') AS expected_cost_ci_high, ec._value_of_expected_cost(prior_errors) AS expected_cost_at_prior,
        ec._low_end(ends, 'expected_cost_at_prior') AS expected_cost_at_prior_ci_low,
        ec._high_end(ends, 'expected_cost_at_prior') AS expected_cost_at_prior_ci_high,
    ec._value_of_expected_cost(own_errors) AS bayes_risk,
        ec._low_end(ends, 'bayes_risk') AS bayes_risk_ci_low,
        ec._high_end(ends, 'bayes_risk') AS bayes_risk_ci_high, ec._value_of_expected_cost(prior_errors) AS bayes_risk_at_prior,
        ec._low_end(ends, 'bayes_risk_at_prior') AS bayes_risk_at_prior_ci_low,
        ec._high_end(ends, 'bayes_risk_at_prior') AS bayes_risk_at_prior_ci_high,
    ec._value_of_error_rate(own) AS error_rate,
        ec._low_end(ends, 'error_rate') AS error_rate_ci_low,
        ec._high_end(ends, 'error_rate') AS error_rate_ci_high, ec._value_of_error_rate(at_prior) AS error_rate_at_prior,
        ec._low_end(ends, 'error_rate_at_prior') AS error_rate_at_prior_ci_low,
        ec._high_end(ends, 'error_rate_at_prior') AS error_rate_at_prior_ci_high,
    ec._value_of_accuracy(own) AS accuracy,
        ec._low_end(ends, 'accuracy') AS accuracy_ci_low,
        ec._high_end(ends, 'accuracy') AS accuracy_ci_high, ec._value_of_accuracy(at_prior) AS accuracy_at_prior,
        ec._low_end(ends, 'accuracy_at_prior') AS accuracy_at_prior_ci_low,
        ec._high_end(ends, 'accuracy_at_prior') AS accuracy_at_prior_ci_high,
    ec._value_of_balanced_error_rate(own) AS balanced_error_rate,
        ec._low_end(ends, 'balanced_error_rate') AS balanced_error_rate_ci_low,
        ec._high_end(ends, 'balanced_error_rate') AS balanced_error_rate_ci_high,
    ec._value_of_balanced_accuracy(own) AS balanced_accuracy,
        ec._low_end(ends, 'balanced_accuracy') AS balanced_accuracy_ci_low,
        ec._high_end(ends, 'balanced_accuracy') AS balanced_accuracy_ci_high,
    ec._value_of_specificity(own) AS specificity,
        ec._low_end(ends, 'specificity') AS specificity_ci_low,
        ec._high_end(ends, 'specificity') AS specificity_ci_high,
    ec._value_of_fpr(own) AS fpr,
        ec._low_end(ends, 'fpr') AS fpr_ci_low,
        ec._high_end(ends, 'fpr') AS fpr_ci_high,
    ec._value_of_fnr(own) AS fnr,
        ec._low_end(ends, 'fnr') AS fnr_ci_low,
        ec._high_end(ends, 'fnr') AS fnr_ci_high,
    ec._value_of_decision_share(own) AS decision_share,
        ec._low_end(ends, 'decision_share') AS decision_share_ci_low,
        ec._high_end(ends, 'decision_share') AS decision_share_ci_high, ec._value_of_decision_share(at_prior) AS decision_share_at_prior,
        ec._low_end(ends, 'decision_share_at_prior') AS decision_share_at_prior_ci_low,
        ec._high_end(ends, 'decision_share_at_prior') AS decision_share_at_prior_ci_high,
    ec._value_of_informedness(own) AS informedness,
        ec._low_end(ends, 'informedness') AS informedness_ci_low,
        ec._high_end(ends, 'informedness') AS informedness_ci_high,
    ec._value_of_mcc(own) AS mcc,
        ec._low_end(ends, 'mcc') AS mcc_ci_low,
        ec._high_end(ends, 'mcc') AS mcc_ci_high, ec._value_of_mcc(at_prior) AS mcc_at_prior,
        ec._low_end(ends, 'mcc_at_prior') AS mcc_at_prior_ci_low,
        ec._high_end(ends, 'mcc_at_prior') AS mcc_at_prior_ci_high,
    ec._value_of_lr_plus(own) AS lr_plus,
        ec._low_end(ends, 'lr_plus') AS lr_plus_ci_low,
        ec._high_end(ends, 'lr_plus') AS lr_plus_ci_high,
    ec._value_of_lr_minus(own) AS lr_minus,
        ec._low_end(ends, 'lr_minus') AS lr_minus_ci_low,
        ec._high_end(ends, 'lr_minus') AS lr_minus_ci_high,
    ec._value_of_precision_gain(own) AS precision_gain,
        ec._low_end(ends, 'precision_gain') AS precision_gain_ci_low,
        ec._high_end(ends, 'precision_gain') AS precision_gain_ci_high,
    ec._value_of_recall_gain(own) AS recall_gain,
        ec._low_end(ends, 'recall_gain') AS recall_gain_ci_low,
        ec._high_end(ends, 'recall_gain') AS recall_gain_ci_high, ec._value_of_recall_gain(at_prior) AS recall_gain_at_prior,
        ec._low_end(ends, 'recall_gain_at_prior') AS recall_gain_at_prior_ci_low,
        ec._high_end(ends, 'recall_gain_at_prior') AS recall_gain_at_prior_ci_high,
    ec._loss_of(log_losses) AS cross_entropy,
        ec._low_end(ends, 'cross_entropy') AS cross_entropy_ci_low,
        ec._high_end(ends, 'cross_entropy') AS cross_entropy_ci_high, ec._loss_of(prior_log_losses) AS cross_entropy_at_prior,
        ec._low_end(ends, 'cross_entropy_at_prior') AS cross_entropy_at_prior_ci_low,
        ec._high_end(ends, 'cross_entropy_at_prior') AS cross_entropy_at_prior_ci_high,
    ec._loss_of(briers) AS brier,
        ec._low_end(ends, 'brier') AS brier_ci_low,
        ec._high_end(ends, 'brier') AS brier_ci_high, ec._loss_of(prior_briers) AS brier_at_prior,
        ec._low_end(ends, 'brier_at_prior') AS brier_at_prior_ci_low,
        ec._high_end(ends, 'brier_at_prior') AS brier_at_prior_ci_high,
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
-- The last macro: where there is a version, all macros are there.
CREATE OR REPLACE MACRO ec.version() AS '0.2.0';
COMMENT ON MACRO ec.version IS 'Version of these macros: ''0.2.0''';
-- A stamp of the macros as they are written here, by which ec.register finds that it need not write them. A type holds it, for a
-- macro cannot hold what a query counted.
CREATE OR REPLACE TYPE ec._stamp AS ENUM (
    SELECT concat_ws('-', '8c704ca5684ac29e37e593e50bf75c6359049ac207c1fc9fdfe388120d7bafdd', count(*),
        bit_xor(hash(function_name, parameters, parameter_types, macro_definition, comment)))
    FROM duckdb_functions() WHERE (database_name, schema_name) IN ((current_database(), 'ec'), ('ec', 'main')));
COMMIT;
