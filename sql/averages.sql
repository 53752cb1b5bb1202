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

CREATE OR REPLACE MACRO ec.class_precision(table) AS list_transform(table, lambda _t: ec._precisions(_t))[1];
CREATE OR REPLACE MACRO ec.class_recall(table) AS list_transform(table, lambda _t: ec._recalls(_t))[1];
CREATE OR REPLACE MACRO ec.class_f1(table) AS list_transform(table, lambda _t: ec._f1s(_t))[1];
CREATE OR REPLACE MACRO ec.class_nec(table) AS
    list_transform(table, lambda _t: list_transform(ec._detectors(_t), lambda _d:
        ec._ratio(_d['m'] + _d['a'], least(_d['h'] + _d['m'], _d['a'] + _d['r']))))[1];

-- Averages over classes -------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.macro_precision(table) AS list_transform(table, lambda _t: ec._mean_of(ec._precisions(_t)))[1];
CREATE OR REPLACE MACRO ec.macro_recall(table) AS list_transform(table, lambda _t: ec._mean_of(ec._recalls(_t)))[1];
CREATE OR REPLACE MACRO ec.macro_f1(table) AS list_transform(table, lambda _t: ec._mean_of(ec._f1s(_t)))[1];
-- Without hits it is 0/0.
CREATE OR REPLACE MACRO ec._harmonic(x, y) AS invoke(lambda _x, _y: CASE WHEN _y > 0 THEN 2 * _x * (_y / (_x + _y)) END, x, y);
CREATE OR REPLACE MACRO ec.f1_of_averages(table) AS
    list_transform(table, lambda _t: ec._harmonic(ec._mean_of(ec._precisions(_t)), ec._mean_of(ec._recalls(_t))))[1];
CREATE OR REPLACE MACRO ec.micro_precision(table) AS
    list_transform(table, lambda _t: list_transform([ec._detectors(_t)], lambda _d:
        ec._ratio(ec._pool(_d, 'h'), ec._pool(_d, 'h') + ec._pool(_d, 'a')))[1])[1];
CREATE OR REPLACE MACRO ec.micro_recall(table) AS list_transform(table, lambda _t: ec._expect(_t['p'], ec._recalls(_t)))[1];
CREATE OR REPLACE MACRO ec.micro_f1(table) AS
    list_transform(table, lambda _t: list_transform([ec._detectors(_t)], lambda _d:
        ec._f_of(ec._pool(_d, 'h'), ec._pool(_d, 'm'), ec._pool(_d, 'a'), 0.5e0, 0.5e0))[1])[1];
CREATE OR REPLACE MACRO ec.weighted_precision(table) AS list_transform(table, lambda _t: ec._expect(_t['p'], ec._precisions(_t)))[1];
CREATE OR REPLACE MACRO ec.weighted_recall(table) AS list_transform(table, lambda _t: ec._expect(_t['p'], ec._recalls(_t)))[1];
CREATE OR REPLACE MACRO ec.weighted_f1(table) AS list_transform(table, lambda _t: ec._expect(_t['p'], ec._f1s(_t)))[1];

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
CREATE OR REPLACE MACRO ec.mcc(cells) AS list_transform(cells, lambda _c: ec._phi(_c))[1],
(table) AS
    list_transform(table, lambda _t: CASE WHEN ec._square(_t)
        THEN CASE WHEN len(_t['p']) = 2 THEN ec._phi(ec._two_class_cells(_t)) ELSE ec._correlation(ec._detectors(_t)) END END)[1];

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
CREATE OR REPLACE MACRO ec.decision_share(score DOUBLE, label, decision, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    ec._decision_share(score, label, decision, costs, cost_fn, cost_fp, prior, threshold, score_type, weight),
(score DOUBLE[], label, decision, costs, cost_fn, cost_fp, prior, threshold, score_type, weight) AS
    CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN
        ec._share_of(ec._table_vector(score, label, ec._vector_costs(costs, cost_fn, cost_fp), prior, threshold, score_type, weight), decision) END;
COMMENT ON MACRO ec.decision_share IS 'Share of the rows with decision j: sum_i P_i R_ij. The index of the decision counts from 0; of two, the default is the positive one.';
