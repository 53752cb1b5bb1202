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

CREATE OR REPLACE MACRO ec.auc_roc(score DOUBLE, label, score_type, weight) AS ec._auc(score, label, score_type, weight);
CREATE OR REPLACE MACRO ec.average_precision(score DOUBLE, label, score_type, prior, weight) AS
    list_transform(ec._ranked(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                   lambda _g: ec._ap_of(_g['c'], _g['p1'], _g['p0']))[1];
CREATE OR REPLACE MACRO ec.auprg(score DOUBLE, label, score_type, prior, weight) AS
    list_transform(ec._ranked(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                   lambda _g: ec._auprg_of(_g['c'], _g['p1'], _g['p0']))[1];
CREATE OR REPLACE MACRO ec.eer(score DOUBLE, label, score_type, method, weight) AS
    CASE CAST(method AS VARCHAR) WHEN 'hull' THEN list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._eer_of(ec._hull(_g['c'])))[1]
                WHEN 'linear' THEN list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._linear_eer_of(_g['c']))[1]
                ELSE ec._fail(format('method ''{}'' is not ''hull'' or ''linear''', method)) END;
CREATE OR REPLACE MACRO ec.min_expected_cost(score DOUBLE, label, costs, cost_fn, cost_fp, prior, score_type, weight) AS
    CASE WHEN ec._risk_costs_ok(costs, cost_fn, cost_fp) THEN
        list_transform(ec._with_costs(ec._ranked(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                                      ec._costs(costs, cost_fn, cost_fp)),
                       lambda _s: ec._least_cost(_s['g']['c'], _s['m'], _s['g']['p1'], _s['g']['p0']))[1] END;
CREATE OR REPLACE MACRO ec.best_threshold(score DOUBLE, label, costs, cost_fn, cost_fp, prior, score_type, weight) AS
    CASE WHEN ec._risk_costs_ok(costs, cost_fn, cost_fp) THEN
        list_transform(ec._with_costs(ec._scored(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                                      ec._costs(costs, cost_fn, cost_fp)),
                       lambda _s: ec._threshold_of(_s['g']['g']['c'], _s['g']['scores'], _s['m'], _s['g']['g']['p1'], _s['g']['g']['p0']))[1] END;
CREATE OR REPLACE MACRO ec.min_dcf(score DOUBLE, label, score_type, cost_fn, cost_fp, prior, weight) AS
    CASE WHEN ec._binary_costs_ok(cost_fn, cost_fp) THEN
        list_transform(ec._with_costs(ec._ranked(ec._likely(score, CAST(score_type AS VARCHAR), prior), label, prior, score_type, weight),
                                      ec._binary_costs(cost_fn, cost_fp)),
                       lambda _s: ec._least_dcf(_s['g']['c'], _s['m'], _s['g']['p1'], _s['g']['p0']))[1] END;
CREATE OR REPLACE MACRO ec.specificity_at_sensitivity(score DOUBLE, label, sensitivity, score_type, weight) AS
    CASE WHEN ec._wanted(sensitivity, 'sensitivity') THEN
        list_transform(ec._ranked(score, label, NULL, score_type, weight),
                       lambda _g: ec._specificity_of(_g['c'], ec._enough(CAST(sensitivity AS DOUBLE), weight)))[1] END;
CREATE OR REPLACE MACRO ec.sensitivity_at_specificity(score DOUBLE, label, specificity, score_type, weight) AS
    CASE WHEN ec._wanted(specificity, 'specificity') THEN
        list_transform(ec._ranked(score, label, NULL, score_type, weight),
                       lambda _g: ec._sensitivity_of(_g['c'], ec._enough(CAST(specificity AS DOUBLE), weight)))[1] END;
CREATE OR REPLACE MACRO ec.ks(score DOUBLE, label, score_type, weight) AS
    list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._ks_of(_g['c']))[1];
CREATE OR REPLACE MACRO ec.min_cllr(score DOUBLE, label, score_type, weight) AS
    list_transform(ec._ranked(score, label, NULL, score_type, weight), lambda _g: ec._cllr_of(ec._hull(_g['c'])))[1];

CREATE OR REPLACE MACRO ec.macro_auc_roc(score DOUBLE[], label, score_type, prior, weight) AS
    list_transform(ec._class_areas(score, label, prior, score_type, weight), lambda _g: ec._mean_of(_g['a']))[1];
CREATE OR REPLACE MACRO ec.weighted_auc_roc(score DOUBLE[], label, score_type, prior, weight) AS
    list_transform(ec._class_areas(score, label, prior, score_type, weight), lambda _g: ec._expect(_g['p'], _g['a']))[1];
CREATE OR REPLACE MACRO ec.pairwise_auc_roc(score DOUBLE[], label, score_type, weight) AS
    list_transform(ec._class_areas(score, label, 'uniform', score_type, weight), lambda _g: ec._mean_of(_g['a']))[1];

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
