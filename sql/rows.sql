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

CREATE OR REPLACE MACRO ec.bayes_decision(score DOUBLE, costs, cost_fn, cost_fp, prior, threshold, score_type) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) AND ec._prior_ok(prior) AND NOT ec._no_threshold(threshold, score_type)
         THEN invoke(lambda _s, _c: CASE WHEN ec._score_ok(_s, costs, score_type)
                         THEN CAST(ec._decide(_s, costs, _c, cost_fn, cost_fp, prior, threshold, score_type) AS INTEGER) END,
                     ec._likely(score, score_type, prior), ec._choices(ec._given_costs(costs))) END,
(score DOUBLE[], costs, cost_fn, cost_fp, prior, threshold, score_type) AS
    CASE WHEN NOT coalesce(ec._costs_ok(costs, cost_fn, cost_fp), false) OR ec._no_threshold(threshold, score_type) THEN NULL
         WHEN ec._decisions_ok(ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type) THEN invoke(lambda _v, _m, _c, _p: CASE
             WHEN ec._missing_vector(_v, 0, NULL) OR NOT ec._fits_prior(_p, ec._vector_classes(_v, _m, score_type)) THEN NULL
             WHEN ec._vector_ok(_v, _m, score_type) AND ec._vector_fits(_v, _m, score_type)
             THEN CAST(ec._decide_vector(_v, _m, _c, prior, score_type) AS INTEGER) END,
             ec._likely_list(score, score_type, prior), ec._vector_costs(costs, cost_fn, cost_fp),
             ec._choices(ec._vector_costs(costs, cost_fn, cost_fp)), ec._priors(prior)) END;

CREATE OR REPLACE MACRO ec.row_cost(score DOUBLE, label, costs, cost_fn, cost_fp, prior, threshold, score_type) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) AND ec._prior_ok(prior) AND NOT ec._no_threshold(threshold, score_type)
         THEN invoke(lambda _s, _c: CASE WHEN ec._usable(_s, label, costs, score_type, NULL)
                         THEN CASE WHEN NOT ec._unset(costs)
                                   THEN ec._cost(ec._given_costs(costs), ec._class(label), ec._decide(_s, costs, _c, 1, 1, prior, threshold, score_type))
                                   ELSE ec._error_cost(cost_fn, cost_fp, ec._class(label),
                                                       ec._positive(_s, NULL, cost_fn, cost_fp, prior, threshold, score_type)) END END,
                     ec._likely(score, score_type, prior), ec._choices(ec._given_costs(costs))) END,
(score DOUBLE[], label, costs, cost_fn, cost_fp, prior, threshold, score_type) AS
    CASE WHEN NOT coalesce(ec._costs_ok(costs, cost_fn, cost_fp), false) OR ec._no_threshold(threshold, score_type) THEN NULL
         WHEN ec._decisions_ok(ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type) THEN invoke(lambda _v, _m, _c, _p, _y: CASE
             WHEN ec._missing_vector(_v, label, NULL) OR NOT ec._fits_prior(_p, ec._vector_classes(_v, _m, score_type)) THEN NULL
             WHEN ec._vector_usable(_v, _y, _m, score_type, NULL) AND ec._vector_fits(_v, _m, score_type)
             THEN ec._cost(_m, _y, ec._decide_vector(_v, _m, _c, prior, score_type)) END,
             ec._likely_list(score, score_type, prior), ec._vector_costs(costs, cost_fn, cost_fp),
             ec._choices(ec._vector_costs(costs, cost_fn, cost_fp)), ec._priors(prior), ec._class(label)) END;

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
CREATE OR REPLACE MACRO ec.row_log_loss(score DOUBLE, label, score_type, prior) AS
    ec._row_log_loss(score, label, CAST(score_type AS VARCHAR), prior),
(score DOUBLE[], label, score_type, prior) AS
    ec._row_log_loss_vector(score, label, CAST(score_type AS VARCHAR), prior);

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
CREATE OR REPLACE MACRO ec.row_brier(score DOUBLE, label, score_type, prior) AS
    ec._row_brier(score, label, CAST(score_type AS VARCHAR), prior),
(score DOUBLE[], label, score_type, prior) AS
    ec._row_brier_vector(score, label, CAST(score_type AS VARCHAR), prior);

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
CREATE OR REPLACE MACRO ec.posterior(score DOUBLE, score_type, prior) AS
    ec._row_posterior(score, CAST(score_type AS VARCHAR), prior),
(score DOUBLE[], score_type, prior) AS
    ec._row_posterior_vector(score, CAST(score_type AS VARCHAR), prior);

CREATE OR REPLACE MACRO ec._row_log_odds(score, score_type, prior) AS
    CASE WHEN ec._holds_posterior(score_type) THEN
        invoke(lambda _z, _p: CASE WHEN ec._pair_ok(_p) AND ec._number_fits(_z, 2, score_type)
                                   THEN CASE WHEN score_type = 'posterior' THEN ln(_z) + ec._minus_log1m(_z)
                                             WHEN score_type = 'percent' THEN ln(_z / 100) + ec._minus_log1m(_z / 100) ELSE _z END END,
               ec._with_shift(score, score_type, prior), ec._prior_pair(prior)) END;
CREATE OR REPLACE MACRO ec.log_odds(score DOUBLE, score_type, prior) AS
    ec._row_log_odds(score, CAST(score_type AS VARCHAR), prior),
(score DOUBLE[], score_type, prior) AS
    ec._row_log_odds(ec._pair(score, CAST(score_type AS VARCHAR)), ec._pair_type(CAST(score_type AS VARCHAR)), prior);

CREATE OR REPLACE MACRO ec._no_prior_in(score_type) AS
    ec._fail('score_type ''' || score_type || ''' has no prior to shift');
-- Certainty of a class that the prior rules out goes nowhere.
CREATE OR REPLACE MACRO ec._unless_nan(x) AS invoke(lambda _x: CASE WHEN NOT isnan(_x) THEN _x END, x);
CREATE OR REPLACE MACRO ec._unless_nans(v) AS invoke(lambda _v: CASE WHEN NOT isnan(list_max(_v)) THEN _v END, v);
-- Without a prior an LLR could not be told from log-odds, so it is an argument without default.
CREATE OR REPLACE MACRO ec._row_llr(score, prior, score_type) AS
    CASE WHEN score_type = 'llr' THEN ec._no_prior_in(score_type)
         ELSE ec._unless_nan(ec._row_log_odds(score, score_type, prior) - ec._prior_log_odds(prior, 'llr')) END;
CREATE OR REPLACE MACRO ec.llr(score DOUBLE, prior, score_type) AS
    ec._row_llr(score, prior, score_type),
(score DOUBLE[], prior, score_type) AS
    ec._row_llr(ec._pair(score, score_type), prior, ec._pair_type(score_type));

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
CREATE OR REPLACE MACRO ec.shift_prior(score DOUBLE, from_, "to", score_type) AS
    CASE WHEN score_type = 'llr' THEN ec._no_prior_in(score_type)
         WHEN score_type = 'decision' THEN ec._no_prior_in(score_type)
         ELSE ec._shifted(score, from_, "to", CAST(score_type AS VARCHAR)) END,
(score DOUBLE[], from_, "to", score_type) AS
    CASE WHEN score_type IN ('log_likelihoods', 'decision') THEN [ec._no_prior_in(score_type)]
         ELSE ec._unless_nans(ec._shifted_vector(score, from_, "to", CAST(score_type AS VARCHAR))) END;
COMMENT ON MACRO ec.shift_prior IS 'Move scores to a different prior: q_i to_i/from_i, renormalised, or log_odds + ln(to/(1-to)) - ln(from_/(1-from_)).';
