-- polars_ec for DuckDB, file 7 of 9: metrics of the order of the scores. Load after sketch.
-- An aggregate cannot sort millions of rows cheaply, so these count rows per bin of the score (`resolution` bins a nat, the
-- bins of ec.sketch) and fold the counts. Where several scores share a bin their order is not known: each metric has a
-- companion ..._error with |value - exact| <= error. They take no weights: the sketch does. Exact values, by a sort that
-- can spill to disk: ec.ranking_exact.

-- A group as cells, from the highest score down -----------------------------------------------------------------------

-- A cell holds w1 rows of class 1 and w0 of class 0. Going down, the cells before it have added up to t and f: the ROC goes
-- from (f, t) to (f + w0, t + w1), on a straight line if the cell's scores are equal (tie), and else on some way up and
-- to the right.

-- Twice the bins from the top, plus the class; -1 for a wrong row. Sorted by it, a histogram runs down from the top.
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

-- One struct {c cells, n1, n0, p1, p0} for the group, in a list that is empty when a row is wrong or a class has no rows.
CREATE OR REPLACE MACRO ec._rank_group(cells, n1, n0, prior) AS {
    'c': cells, 'n1': n1, 'n0': n0, 'p1': ec._prior_of_1(n1, n0, prior), 'p0': ec._prior_of_0(n1, n0, prior)};
CREATE OR REPLACE MACRO ec._ranked(score, label, prior, score_type, resolution) AS
    list_filter(list_transform(list_transform(list_filter([{
                'e': map_entries(histogram(ec._rank_key(ec._ranked_class(score, label, ec._binned_type(score_type), NULL), score,
                                                        ec._binned_type(score_type), ec._resolution(resolution)))),
                'prior': ec._stated_prior(prior)}],
            lambda _h: _h['e'][1]['key'] >= 0),
        lambda _h: {'c': ec._rank_cells(_h['e'], CAST(score_type AS VARCHAR), resolution), 'prior': _h['prior']}),
        lambda _h: ec._rank_group(_h['c'], list_sum(list_transform(_h['c'], lambda _c: _c['w1'])),
                                  list_sum(list_transform(_h['c'], lambda _c: _c['w0'])), _h['prior'])),
        lambda _g: _g['n1'] > 0 AND _g['n0'] > 0);

-- The best and the worst order within a cell, as cells of equal scores: positives first, negatives first.
CREATE OR REPLACE MACRO ec._split(cells, first, second) AS
    flatten(list_transform(cells, lambda _c:
        CASE WHEN _c['tie'] OR _c['w1'] = 0 OR _c['w0'] = 0 THEN [_c]
             ELSE [{'w1': _c['w1'] * first, 'w0': _c['w0'] * second, 'tie': true},
                   {'w1': _c['w1'] * second, 'w0': _c['w0'] * first, 'tie': true}] END));
CREATE OR REPLACE MACRO ec._best(cells) AS ec._split(cells, 1, 0);
CREATE OR REPLACE MACRO ec._worst(cells) AS ec._split(cells, 0, 1);

CREATE OR REPLACE MACRO ec._middle(bounds) AS list_transform(bounds, lambda _b: (_b['low'] + _b['high']) / 2)[1];
CREATE OR REPLACE MACRO ec._half(bounds) AS list_transform(bounds, lambda _b: (_b['high'] - _b['low']) / 2)[1];

-- Metrics of cells of equal scores ------------------------------------------------------------------------------------
-- Each folds the cells into a struct that holds t, f and the metric so far (v).

-- A fold's start: 0 everywhere.
CREATE OR REPLACE MACRO ec._zero(v) AS {'t': CAST(0 AS DOUBLE), 'f': CAST(0 AS DOUBLE), 'v': CAST(v AS DOUBLE)};

-- Pairs in order, equal ones half.
CREATE OR REPLACE MACRO ec._auc_of(cells, n1, n0) AS
    list_reduce(cells, lambda _s, _c: {'t': _s['t'] + _c['w1'], 'f': _s['f'], 'v': _s['v'] + _c['w0'] * (_s['t'] + _c['w1'] / 2)},
                ec._zero(0))['v'] / (n1 * n0);

-- Precision t/(t + r f) times the recall won; r moves the data's prior to the stated one.
CREATE OR REPLACE MACRO ec._odds_factor(g) AS ec._ratio(g['n1'] * g['p0'], g['n0'] * g['p1']);
CREATE OR REPLACE MACRO ec._precision_step(t, f, w1, w0, r) AS
    CASE WHEN w1 = 0 THEN 0 ELSE w1 * (t + w1) / (t + w1 + r * (f + w0)) END;
CREATE OR REPLACE MACRO ec._ap_of(cells, n1, r) AS
    list_reduce(cells, lambda _s, _c: {'t': _s['t'] + _c['w1'], 'f': _s['f'] + _c['w0'],
                                       'v': _s['v'] + ec._precision_step(_s['t'], _s['f'], _c['w1'], _c['w0'], r)}, ec._zero(0))['v'] / n1;
-- The least of any order: negatives first, then positive after positive. The sum over k of the concave (t + k)/(t + k + c)
-- is at least its integral from 1/2 to w1 + 1/2; ln(1 + u) is 2 atanh(u/(2 + u)).
CREATE OR REPLACE MACRO ec._least_precision_step(t, w1, c) AS
    w1 - CASE WHEN c = 0 THEN 0 ELSE 2 * c * atanh(w1 / (2 * (t + 0.5 + c) + w1)) END;
CREATE OR REPLACE MACRO ec._least_ap(cells, n1, r) AS
    list_reduce(cells, lambda _s, _c: {'t': _s['t'] + _c['w1'], 'f': _s['f'] + _c['w0'],
        'v': _s['v'] + CASE WHEN _c['tie'] OR _c['w1'] <= 1 THEN ec._precision_step(_s['t'], _s['f'], _c['w1'], _c['w0'], r)
                         ELSE ec._least_precision_step(_s['t'], _c['w1'], r * (_s['f'] + _c['w0'])) END}, ec._zero(0))['v'] / n1;

-- Trapezoids from t = P1 N1, where recall gain is 0. Over 1/t recall gain is a straight line, and so is precision gain
-- while f stays: a is t at the left end, f there found linearly, and length how far it is to the right end: with a prior near 1
-- from the misses, N1 less t, for P1 N1 is near N1 then and a difference of t would lose digits.
CREATE OR REPLACE MACRO ec._gain_area(a, length, t, f, w1, w0, p1, p0, n1, n0) AS
    CASE WHEN length <= 0 OR w1 = 0 THEN 0
         ELSE p1 / p0 * n1 * length / (a * (t + w1))
              * (1 - n1 / n0 * ((f + w0 * CASE WHEN p1 < p0 THEN (a - t) / w1 ELSE 1 - length / w1 END) / a
                                + (f + w0) / (t + w1)) / 2) END;
CREATE OR REPLACE MACRO ec._gain_step(t, f, w1, w0, p1, p0, n1, n0) AS
    ec._gain_area(greatest(t, p1 * n1), least(w1, CASE WHEN p1 < p0 THEN t + w1 - p1 * n1 ELSE p0 * n1 - (n1 - (t + w1)) END),
                  t, f, w1, w0, p1, p0, n1, n0);
CREATE OR REPLACE MACRO ec._auprg_of(cells, g) AS
    CASE WHEN g['p1'] > 0 AND g['p0'] > 0 THEN
        list_reduce(cells, lambda _s, _c: {'t': _s['t'] + _c['w1'], 'f': _s['f'] + _c['w0'],
            'v': _s['v'] + ec._gain_step(_s['t'], _s['f'], _c['w1'], _c['w0'], g['p1'], g['p0'], g['n1'], g['n0'])},
            ec._zero(0))['v'] END;

-- Cost of misses b1 and of false alarms b0 at the cheapest threshold; none accepted costs b1.
CREATE OR REPLACE MACRO ec._least_cost(cells, n1, n0, b1, b0) AS
    list_reduce(cells, lambda _s, _c: {'t': _s['t'] + _c['w1'], 'f': _s['f'] + _c['w0'],
        'v': least(_s['v'], b1 * ((n1 - (_s['t'] + _c['w1'])) / n1) + b0 * ((_s['f'] + _c['w0']) / n0))}, ec._zero(b1))['v'];

-- False positives at the first threshold that reaches the sensitivity; t stays as it is from there on.
CREATE OR REPLACE MACRO ec._specificity_of(cells, n1, n0, sensitivity) AS
    1 - list_reduce(cells, lambda _s, _c: CASE WHEN _s['t'] / n1 >= sensitivity THEN _s
        ELSE {'t': _s['t'] + _c['w1'], 'f': _s['f'] + _c['w0'], 'v': _s['v']} END, ec._zero(0))['f'] / n0;

CREATE OR REPLACE MACRO ec._ks_of(cells, n1, n0) AS
    list_reduce(cells, lambda _s, _c: {'t': _s['t'] + _c['w1'], 'f': _s['f'] + _c['w0'],
        'v': greatest(_s['v'], abs((_s['t'] + _c['w1']) / n1 - (_s['f'] + _c['w0']) / n0))}, ec._zero(0))['v'];

-- Vertices {t, f} of the convex hull of the ROC. A new point hides those that it sees from above: along a hull they are the
-- last ones, so one pass over it finds them.
CREATE OR REPLACE MACRO ec._hull(cells) AS
    list_reduce(cells, lambda _s, _c: {'t': _s['t'] + _c['w1'], 'f': _s['f'] + _c['w0'],
        'h': list_append(list_filter(_s['h'], lambda _v, _i: _i = 1 OR
                (_v['t'] - _s['h'][_i - 1]['t']) * (_s['f'] + _c['w0'] - _v['f']) > (_s['t'] + _c['w1'] - _v['t']) * (_v['f'] - _s['h'][_i - 1]['f'])),
            {'t': _s['t'] + _c['w1'], 'f': _s['f'] + _c['w0']})},
        {'t': CAST(0 AS DOUBLE), 'f': CAST(0 AS DOUBLE), 'h': [{'t': CAST(0 AS DOUBLE), 'f': CAST(0 AS DOUBLE)}]})['h'];

-- Where the hull's miss rate meets its false alarm rate: d, false alarms less misses, goes from -1 to 1.
CREATE OR REPLACE MACRO ec._eer_of(hull, n1, n0) AS
    list_transform([list_transform(hull, lambda _v: {'x': _v['f'] / n0, 'd': _v['f'] / n0 - (n1 - _v['t']) / n1})], lambda _h:
        list_max(list_transform(_h, lambda _v, _i: CASE WHEN _i > 1 AND _v['d'] >= 0 AND _h[_i - 1]['d'] < 0
            THEN _h[_i - 1]['x'] - (_v['x'] - _h[_i - 1]['x']) * (_h[_i - 1]['d'] / (_v['d'] - _h[_i - 1]['d'])) END)))[1];

-- A segment of the hull is a block of PAV: shares x and y of the classes, LLR ln(x/y).
CREATE OR REPLACE MACRO ec._block_bits(x, y) AS
    CASE WHEN x = 0 OR y = 0 THEN 0 ELSE (x * ln(1 + y / x) + y * ln(1 + x / y)) / (2 * ln(CAST(2 AS DOUBLE))) END;
CREATE OR REPLACE MACRO ec._cllr_of(hull, n1, n0) AS
    list_transform([hull], lambda _h:
        list_sum(list_transform(_h, lambda _v, _i: CASE WHEN _i > 1
            THEN ec._block_bits((_v['t'] - _h[_i - 1]['t']) / n1, (_v['f'] - _h[_i - 1]['f']) / n0) END)))[1];

-- Bounds --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec._ap_bounds(groups) AS
    list_transform(list_transform(groups, lambda _g: {'c': _g['c'], 'n1': _g['n1'], 'r': ec._odds_factor(_g)}), lambda _g: {
        'low': ec._least_ap(_g['c'], _g['n1'], _g['r']), 'high': ec._ap_of(ec._best(_g['c']), _g['n1'], _g['r'])});

CREATE OR REPLACE MACRO ec._auprg_bounds(groups) AS
    list_transform(groups, lambda _g: {
        'low': ec._auprg_of(ec._worst(_g['c']), _g), 'high': ec._auprg_of(ec._best(_g['c']), _g)});

CREATE OR REPLACE MACRO ec._eer_bounds(groups) AS
    list_transform(groups, lambda _g: {
        'low': ec._eer_of(ec._hull(ec._best(_g['c'])), _g['n1'], _g['n0']), 'high': ec._eer_of(ec._hull(_g['c']), _g['n1'], _g['n0'])});

CREATE OR REPLACE MACRO ec._min_cllr_bounds(groups) AS
    list_transform(groups, lambda _g: {
        'low': ec._cllr_of(ec._hull(ec._best(_g['c'])), _g['n1'], _g['n0']), 'high': ec._cllr_of(ec._hull(_g['c']), _g['n1'], _g['n0'])});

CREATE OR REPLACE MACRO ec._ks_bounds(groups) AS
    list_transform(groups, lambda _g: {
        'low': ec._ks_of(_g['c'], _g['n1'], _g['n0']),
        'high': greatest(ec._ks_of(ec._best(_g['c']), _g['n1'], _g['n0']), ec._ks_of(ec._worst(_g['c']), _g['n1'], _g['n0']))});

CREATE OR REPLACE MACRO ec._not_negative(cost) AS
    CASE WHEN CAST(cost AS DOUBLE) >= 0 AND CAST(cost AS DOUBLE) < CAST('inf' AS DOUBLE) THEN CAST(cost AS DOUBLE)
         ELSE ec._fail('costs must be numbers >= 0, not ' || coalesce(CAST(cost AS VARCHAR), 'NULL')) END;
CREATE OR REPLACE MACRO ec._costed(groups, cost_fn, cost_fp) AS
    list_transform(groups, lambda _g: {'c': _g['c'], 'n1': _g['n1'], 'n0': _g['n0'], 'b1': _g['p1'] * cost_fn, 'b0': _g['p0'] * cost_fp});
CREATE OR REPLACE MACRO ec._min_dcf_bounds(groups, cost_fn, cost_fp) AS
    list_transform(ec._costed(groups, cost_fn, cost_fp), lambda _g: {
        'low': ec._ratio(ec._least_cost(ec._best(_g['c']), _g['n1'], _g['n0'], _g['b1'], _g['b0']), least(_g['b1'], _g['b0'])),
        'high': ec._ratio(ec._least_cost(_g['c'], _g['n1'], _g['n0'], _g['b1'], _g['b0']), least(_g['b1'], _g['b0']))});

CREATE OR REPLACE MACRO ec._sensitivity(x) AS
    CASE WHEN CAST(x AS DOUBLE) > 0 AND CAST(x AS DOUBLE) <= 1 AND typeof(x) <> 'BOOLEAN' THEN CAST(x AS DOUBLE)
         ELSE ec._fail('sensitivity must be in 0..1, above 0, not ' || coalesce(CAST(x AS VARCHAR), 'NULL')) END;
CREATE OR REPLACE MACRO ec._specificity_bounds(groups, sensitivity) AS
    list_transform(list_transform(groups, lambda _g: {'c': _g['c'], 'n1': _g['n1'], 'n0': _g['n0'], 's': sensitivity}), lambda _g: {
        'low': ec._specificity_of(_g['c'], _g['n1'], _g['n0'], _g['s']),
        'high': ec._specificity_of(ec._best(_g['c']), _g['n1'], _g['n0'], _g['s'])});

-- Public --------------------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO ec.auc_roc(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    list_transform(ec._ranked(score, label, NULL, score_type, resolution), lambda _g: ec._auc_of(_g['c'], _g['n1'], _g['n0']))[1];
CREATE OR REPLACE MACRO ec.auc_roc_error(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    list_transform(ec._ranked(score, label, NULL, score_type, resolution),
                   lambda _g: ec._auc_of(ec._best(_g['c']), _g['n1'], _g['n0']) - ec._auc_of(_g['c'], _g['n1'], _g['n0']))[1];
COMMENT ON MACRO ec.auc_roc_error IS 'How far ec.auc_roc may be from the exact value: sum over bins of n1 n0 / 2, over N1 N0';

CREATE OR REPLACE MACRO ec.average_precision(score DOUBLE, label, score_type := 'posterior', prior := NULL, resolution := 64) AS
    ec._middle(ec._ap_bounds(ec._ranked(score, label, prior, score_type, resolution)));
CREATE OR REPLACE MACRO ec.average_precision_error(score DOUBLE, label, score_type := 'posterior', prior := NULL, resolution := 64) AS
    ec._half(ec._ap_bounds(ec._ranked(score, label, prior, score_type, resolution)));
COMMENT ON MACRO ec.average_precision_error IS 'How far ec.average_precision may be from the exact value: half the range over the orders within bins';

CREATE OR REPLACE MACRO ec.auprg(score DOUBLE, label, score_type := 'posterior', prior := NULL, resolution := 64) AS
    ec._middle(ec._auprg_bounds(ec._ranked(score, label, prior, score_type, resolution)));
CREATE OR REPLACE MACRO ec.auprg_error(score DOUBLE, label, score_type := 'posterior', prior := NULL, resolution := 64) AS
    ec._half(ec._auprg_bounds(ec._ranked(score, label, prior, score_type, resolution)));
COMMENT ON MACRO ec.auprg_error IS 'How far ec.auprg may be from the exact value: half the range over the orders within bins';

CREATE OR REPLACE MACRO ec.eer(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._middle(ec._eer_bounds(ec._ranked(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.eer IS 'Equal error rate (lower is better): R10 = R01 on the convex hull of the ROC curve';
CREATE OR REPLACE MACRO ec.eer_error(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._half(ec._eer_bounds(ec._ranked(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.eer_error IS 'How far ec.eer may be from the exact value: half the range over the orders within bins';

CREATE OR REPLACE MACRO ec.min_dcf(score DOUBLE, label, prior, cost_fn := 1, cost_fp := 1, score_type := 'posterior', resolution := 64) AS
    list_transform(ec._min_dcf_bounds(ec._ranked(score, label, prior, score_type, resolution),
                                      ec._not_negative(cost_fn), ec._not_negative(cost_fp)), lambda _b: _b['high'])[1];
CREATE OR REPLACE MACRO ec.min_dcf_error(score DOUBLE, label, prior, cost_fn := 1, cost_fp := 1, score_type := 'posterior', resolution := 64) AS
    list_transform(ec._min_dcf_bounds(ec._ranked(score, label, prior, score_type, resolution),
                                      ec._not_negative(cost_fn), ec._not_negative(cost_fp)), lambda _b: _b['high'] - _b['low'])[1];
COMMENT ON MACRO ec.min_dcf_error IS 'How far ec.min_dcf, attained at an edge of a bin, may be above the exact value: the gain of the best order within bins';

CREATE OR REPLACE MACRO ec.specificity_at_sensitivity(score DOUBLE, label, sensitivity := 0.95, score_type := 'posterior', resolution := 64) AS
    list_transform(ec._specificity_bounds(ec._ranked(score, label, NULL, score_type, resolution), ec._sensitivity(sensitivity)),
                   lambda _b: _b['low'])[1];
CREATE OR REPLACE MACRO ec.specificity_at_sensitivity_error(score DOUBLE, label, sensitivity := 0.95, score_type := 'posterior', resolution := 64) AS
    list_transform(ec._specificity_bounds(ec._ranked(score, label, NULL, score_type, resolution), ec._sensitivity(sensitivity)),
                   lambda _b: _b['high'] - _b['low'])[1];
COMMENT ON MACRO ec.specificity_at_sensitivity_error IS 'How far ec.specificity_at_sensitivity may be below the exact value: n0 / N0 of the bin that reaches it';

CREATE OR REPLACE MACRO ec.ks(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._middle(ec._ks_bounds(ec._ranked(score, label, NULL, score_type, resolution)));
CREATE OR REPLACE MACRO ec.ks_error(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._half(ec._ks_bounds(ec._ranked(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.ks_error IS 'How far ec.ks may be from the exact value: half the range over the orders within bins';

CREATE OR REPLACE MACRO ec.min_cllr(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._middle(ec._min_cllr_bounds(ec._ranked(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.min_cllr IS 'Cost of LLRs in bits after PAV (lower is better): ec.cllr of ln((dR11)/(dR01)) along the convex hull of the ROC curve';
CREATE OR REPLACE MACRO ec.min_cllr_error(score DOUBLE, label, score_type := 'posterior', resolution := 64) AS
    ec._half(ec._min_cllr_bounds(ec._ranked(score, label, NULL, score_type, resolution)));
COMMENT ON MACRO ec.min_cllr_error IS 'How far ec.min_cllr may be from the exact value: half the range over the orders within bins';

-- Exact ---------------------------------------------------------------------------------------------------------------

-- P1 and P0 of a group: the stated prior, else the group's own.
CREATE OR REPLACE MACRO ec._class_prior(n, rest, stated) AS
    CASE WHEN stated IS NULL THEN ec._share(n, rest) WHEN n + rest > 0 AND ec._share_ok(stated) THEN stated END;

-- Groups by score and a window over the sorted scores: both spill to disk. Groups are numbered first, because sorting by
-- names is slow, and the log is read a second time rather than kept (NOT MATERIALIZED). The hull (eer, min_cllr) has no
-- such form; a resolution of 1000000 leaves hardly any bin with more than one score.
CREATE OR REPLACE MACRO ec.ranking_exact(log, score, label, groups := [], prior := NULL, sensitivity := 0.95,
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
    _ec_metrics AS (
        SELECT _ec_id, sum(_ec_w0 * (_ec_t - _ec_w1 / 2)) / any_value(_ec_n1 * _ec_n0) AS auc_roc,
               CASE WHEN any_value(_ec_p1) > 0 THEN
                   sum(ec._precision_step(_ec_t - _ec_w1, _ec_f - _ec_w0, _ec_w1, _ec_w0,
                                          _ec_n1 * _ec_p0 / (_ec_n0 * _ec_p1))) / any_value(_ec_n1) END AS average_precision,
               CASE WHEN any_value(_ec_p1 * _ec_p0) > 0 THEN
                   sum(ec._gain_step(_ec_t - _ec_w1, _ec_f - _ec_w0, _ec_w1, _ec_w0,
                                     _ec_p1, _ec_p0, _ec_n1, _ec_n0)) END AS auprg,
               ec._ratio(least(any_value(_ec_p1 * ec._not_negative(cost_fn)),
                               min(_ec_p1 * ec._not_negative(cost_fn) * ((_ec_n1 - _ec_t) / _ec_n1)
                                   + _ec_p0 * ec._not_negative(cost_fp) * (_ec_f / _ec_n0))),
                         any_value(least(_ec_p1 * ec._not_negative(cost_fn), _ec_p0 * ec._not_negative(cost_fp)))) AS min_dcf,
               1 - min(CASE WHEN _ec_t / _ec_n1 >= ec._sensitivity(sensitivity) THEN _ec_f / _ec_n0 END)
                   AS specificity_at_sensitivity,
               max(abs(_ec_t / _ec_n1 - _ec_f / _ec_n0)) AS ks
        FROM _ec_sums JOIN _ec_groups USING (_ec_id) GROUP BY _ec_id)
    SELECT * EXCLUDE ("ec: 0") FROM (
        SELECT unnest(_ec_key), CAST(_ec_n1 + _ec_n0 AS BIGINT) AS n, CAST(_ec_missing AS BIGINT) AS n_missing,
               CAST(_ec_invalid AS BIGINT) AS n_invalid,
               auc_roc, average_precision, auprg, min_dcf, specificity_at_sensitivity, ks
        FROM _ec_groups LEFT JOIN _ec_metrics USING (_ec_id)
        WHERE coalesce((FROM ec._columns_ok(log, groups, ['n', 'n_missing', 'n_invalid', 'auc_roc', 'average_precision', 'auprg',
                                                          'min_dcf', 'specificity_at_sensitivity', 'ks'])), true));
COMMENT ON MACRO TABLE ec.ranking_exact IS 'Ranking metrics per group over all distinct scores, exact: auc_roc = P(score of class 1 > score of class 0) + P(equal)/2 ...';
