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
CREATE OR REPLACE MACRO ec.expected_cost(errors) AS
    list_transform(errors, lambda _c: ec._term(_c['p1'], _c['m1']) + ec._term(_c['p0'], _c['m0']))[1],
(cost) AS ec._expected(cost);
CREATE OR REPLACE MACRO ec.nec(errors) AS
    list_transform(errors, lambda _c: ec._ratio(ec._term(_c['p1'], _c['m1']) + ec._term(_c['p0'], _c['m0']),
                                                least(ec._term(_c['p1'], _c['a1']), ec._term(_c['p0'], _c['a0']))))[1],
(cost) AS ec._normalized(cost);
CREATE OR REPLACE MACRO ec.error_rate(cells) AS
    list_transform(cells, lambda _c: ec._term(_c['p1'], ec._r10(_c)) + ec._term(_c['p0'], ec._r01(_c)))[1],
(error) AS ec._expected(error);
CREATE OR REPLACE MACRO ec.accuracy(cells) AS
    list_transform(cells, lambda _c: ec._term(_c['p1'], ec._r11(_c)) + ec._term(_c['p0'], ec._r00(_c)))[1],
(hit) AS ec._expected(hit);
CREATE OR REPLACE MACRO ec.balanced_error_rate(cells) AS
    list_transform(cells, lambda _c: ec._with_prior(_c, (ec._r10(_c) + ec._r01(_c)) / 2))[1],
(error) AS ec._balanced(error);
CREATE OR REPLACE MACRO ec.balanced_accuracy(cells) AS
    list_transform(cells, lambda _c: ec._with_prior(_c, (ec._r11(_c) + ec._r00(_c)) / 2))[1],
(hit) AS ec._balanced(hit);

-- A detection cost is about LLRs at a stated prior: without either there is no number to give.
CREATE OR REPLACE MACRO ec._dcf_ok(score_type) AS
    CASE WHEN score_type NOT IN ('llr', 'decision')
         THEN error('ec: dcf needs score_type := ''llr'' (or ''decision''), not ''' || score_type || ''': ec.llr(score, prior) computes LLRs') IS NULL
         ELSE true END;
CREATE OR REPLACE MACRO ec._has_prior(kind "NULL", prior) AS
    CASE WHEN ec._unset(prior) THEN error('ec: dcf needs prior, the prior of the positive class') IS NULL ELSE true END,
(kind, prior) AS true;
-- One operating point: its costs are constants, or columns that the query is grouped by, as they must be outside of the sums.
CREATE OR REPLACE MACRO ec.dcf(score DOUBLE, label, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    CASE WHEN ec._dcf_ok(score_type) AND ec._has_prior(prior, prior) AND ec._binary_costs_ok(cost_fn, cost_fp)
         THEN ec._nec(score, label, NULL, cost_fn, cost_fp, prior, threshold, score_type, weight) END;

-- In units of the larger cost: neither products nor the sum overflow.
CREATE OR REPLACE MACRO ec._cost_is(cost, name) AS
    ec._number_is(cost >= 0 AND cost < CAST('inf' AS DOUBLE), cost, name || ' must be a finite number that is not negative');
CREATE OR REPLACE MACRO ec._larger_cost(cost_fn, cost_fp) AS nullif(greatest(CAST(cost_fn AS DOUBLE), CAST(cost_fp AS DOUBLE)), 0);
CREATE OR REPLACE MACRO ec._part_of_sum(x, y) AS ec._ratio(x, x + y);
CREATE OR REPLACE MACRO ec.effective_prior(prior, cost_fn, cost_fp) AS
    CASE WHEN ec._number_is(prior >= 0 AND prior <= 1, prior, 'prior must lie between 0 and 1') AND ec._cost_is(cost_fn, 'cost_fn')
              AND ec._cost_is(cost_fp, 'cost_fp')
         THEN ec._part_of_sum(CAST(prior AS DOUBLE) * (CAST(cost_fn AS DOUBLE) / ec._larger_cost(cost_fn, cost_fp)),
                           (1 - CAST(prior AS DOUBLE)) * (CAST(cost_fp AS DOUBLE) / ec._larger_cost(cost_fn, cost_fp))) END;
COMMENT ON MACRO ec.effective_prior IS 'Prior that leads to the same decisions at equal costs: P_1 C_fn / (P_1 C_fn + P_0 C_fp).';

-- Binary metrics -------------------------------------------------------------------------------------------------------

-- Of the positive decision; averages.sql has ec.decision_share, of any.
CREATE OR REPLACE MACRO ec._value_of_decision_share(c) AS ec._term(c['p1'], ec._r11(c)) + ec._term(c['p0'], ec._r01(c));
CREATE OR REPLACE MACRO ec.precision(cells) AS
    list_transform(cells, lambda _c: ec._ratio(ec._term(_c['p1'], ec._r11(_c)), ec._value_of_decision_share(_c)))[1];
CREATE OR REPLACE MACRO ec.recall(cells) AS list_transform(cells, lambda _c: ec._with_prior(_c, ec._r11(_c)))[1];
CREATE OR REPLACE MACRO ec.specificity(cells) AS list_transform(cells, lambda _c: ec._with_prior(_c, ec._r00(_c)))[1];
CREATE OR REPLACE MACRO ec.fpr(cells) AS list_transform(cells, lambda _c: ec._with_prior(_c, ec._r01(_c)))[1];
CREATE OR REPLACE MACRO ec.fnr(cells) AS list_transform(cells, lambda _c: ec._with_prior(_c, ec._r10(_c)))[1];
-- What a miss weighs, and a false alarm: beta^2/(1 + beta^2) and 1/(1 + beta^2), both of them shares for any beta.
-- Without hits it is 0, also where the share of the only errors is too small for a number.
CREATE OR REPLACE MACRO ec._odds_share(x) AS 1 / (1 + 1 / (CAST(x AS DOUBLE) * CAST(x AS DOUBLE)));
CREATE OR REPLACE MACRO ec._f_of(hits, misses, alarms, of_misses, of_alarms) AS
    CASE WHEN hits > 0 THEN hits / (hits + of_misses * misses + of_alarms * alarms)
         WHEN misses + alarms > 0 THEN 0e0 END;
CREATE OR REPLACE MACRO ec._fbeta(c, of_misses, of_alarms) AS
    ec._f_of(ec._term(c['p1'], ec._r11(c)), ec._term(c['p1'], ec._r10(c)), ec._term(c['p0'], ec._r01(c)), of_misses, of_alarms);
CREATE OR REPLACE MACRO ec.fbeta(cells, beta) AS
    CASE WHEN ec._number_is(beta > 0 AND beta < CAST('inf' AS DOUBLE), beta, 'beta must be a finite number above 0')
         THEN list_transform(cells, lambda _c: ec._fbeta(_c, ec._odds_share(beta), ec._odds_share(1 / CAST(beta AS DOUBLE))))[1] END;
CREATE OR REPLACE MACRO ec.f1(cells) AS list_transform(cells, lambda _c: ec._fbeta(_c, 0.5e0, 0.5e0))[1];
-- R11 - R01 is R00 - R10: the smaller ones of the rates have the digits of the difference.
CREATE OR REPLACE MACRO ec._rate_difference(c) AS
    CASE WHEN ec._r11(c) > 0.5 THEN ec._r00(c) - ec._r10(c) ELSE ec._r11(c) - ec._r01(c) END;
CREATE OR REPLACE MACRO ec.informedness(cells) AS list_transform(cells, lambda _c: ec._with_prior(_c, ec._rate_difference(_c)))[1];
-- Zero over zero is NULL, anything else over zero is inf.
CREATE OR REPLACE MACRO ec._ratio_or_inf(x, y) AS
    CASE WHEN y > 0 THEN x / y WHEN y = 0 AND x > 0 THEN CAST('inf' AS DOUBLE) END;
CREATE OR REPLACE MACRO ec.lr_plus(cells) AS list_transform(cells, lambda _c: ec._with_prior(_c, ec._ratio_or_inf(ec._r11(_c), ec._r01(_c))))[1];
CREATE OR REPLACE MACRO ec.lr_minus(cells) AS list_transform(cells, lambda _c: ec._with_prior(_c, ec._ratio_or_inf(ec._r10(_c), ec._r00(_c))))[1];
CREATE OR REPLACE MACRO ec.precision_gain(cells) AS
    list_transform(cells, lambda _c: ec._with_prior(_c, 1 - ec._ratio_or_inf(ec._r01(_c), ec._r11(_c))))[1];
CREATE OR REPLACE MACRO ec.recall_gain(cells) AS
    list_transform(cells, lambda _c: CASE WHEN _c['p0'] > 0 AND _c['n0'] > 0 AND (_c['p1'] > 0 OR ec._r11(_c) > 0)
        THEN 1 - _c['p1'] / _c['p0'] * ec._ratio_or_inf(ec._r10(_c), ec._r11(_c)) END)[1];
CREATE OR REPLACE MACRO ec._net_benefit(cells, p_t) AS
    list_transform(cells, lambda _c: ec._term(_c['p1'], ec._r11(_c)) - p_t / (1 - p_t) * ec._term(_c['p0'], ec._r01(_c)))[1];

-- A false alarm costs p_t and a miss 1 - p_t: then p_t is the Bayes threshold, on any scale of the score.
CREATE OR REPLACE MACRO ec._p_t_ok(p_t) AS ec._number_is(p_t > 0 AND p_t < 1, p_t, 'p_t must lie between 0 and 1');
CREATE OR REPLACE MACRO ec._net_benefit_at(score, label, p_t, prior, threshold, score_type, weight) AS
    ec._net_benefit(ec._cells(score, label, NULL, 1 - p_t, p_t, prior, threshold, score_type, weight), p_t);
CREATE OR REPLACE MACRO ec.net_benefit(score DOUBLE, label, p_t, prior, threshold, score_type, weight) AS
    CASE WHEN ec._p_t_ok(p_t) THEN ec._net_benefit_at(score, label, CAST(p_t AS DOUBLE), prior, threshold, score_type, weight) END,
(score DOUBLE[], label, p_t, prior, threshold, score_type, weight) AS
    CASE WHEN ec._p_t_ok(p_t) AND ec._two_classes(score, label, score_type, weight)
         THEN ec._net_benefit_at(ec._pair(score, score_type), label, CAST(p_t AS DOUBLE), prior, threshold,
                                 ec._pair_type(score_type), weight) END;
