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
CREATE OR REPLACE MACRO ec.ece(score DOUBLE, label, bins, norm, prior, score_type, weight) AS
    CASE WHEN ec._ece_ok(bins, norm, score_type) AND ec._ece_prior_ok(prior, prior, score_type)
         THEN ec._ece(score, label, bins, norm, prior, score_type, weight) END,
(score DOUBLE[], label, bins, norm, prior, score_type, weight) AS
    CASE WHEN ec._ece_ok(bins, norm, score_type) AND ec._ece_prior_ok(prior, prior, score_type) THEN
        ec._error_of_bins(ec._vector_wrong(ec._likely_list(score, score_type, prior), label, 2, score_type, weight),
                          ec._whole(score, ec._given_posteriors(score, score_type, prior)[2]), ec._hit(ec._y(label) = 1), ec._y(label), 2,
                          bins, norm, prior, prior, weight) END;
COMMENT ON MACRO ec.ece IS 'Expected calibration error from 0 to 1, lower is better: sum over bins b of w_b |mean q_1 - share of class 1|. It does not measure the quality of the posteriors.';

CREATE OR REPLACE MACRO ec.ece_mc(score DOUBLE, label, bins, norm, prior, score_type, weight) AS
    CASE WHEN ec._ece_ok(bins, norm, score_type) AND ec._ece_prior_ok(prior, prior, score_type) THEN
        ec._binary_error(score, label, ec._larger_q(score, score_type, prior),
                         ec._hit((ec._y(label) = 1) = ec._is_larger(score, score_type, prior)), bins, norm, prior, prior, score_type, weight) END,
(score DOUBLE[], label, bins, norm, prior, score_type, weight) AS
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

CREATE OR REPLACE MACRO ec.expected_score_divergence(score DOUBLE, reference, rule, score_type, weight) AS
    CASE WHEN ec._rule_ok(CAST(rule AS VARCHAR), score_type) THEN
        ec._mean_of_right(ec._missing(score, reference, weight), ec._both_right(score, reference, score_type, weight),
                          ec._divergence(ec._by_class(score, score_type), ec._by_class(reference, score_type), CAST(rule AS VARCHAR)), weight) END,
(score DOUBLE[], reference, rule, score_type, weight) AS
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

CREATE OR REPLACE MACRO ec.semi_empirical_epsr(score DOUBLE, reference, rule, normalized, score_type, weight) AS
    CASE WHEN ec._rule_ok(CAST(rule AS VARCHAR), score_type) THEN ec._ratio(
        ec._mean_of_right(ec._missing(score, reference, weight), ec._both_right(score, reference, score_type, weight),
                          ec._cross_loss(ec._by_class(score, score_type), ec._by_class(reference, score_type), CAST(rule AS VARCHAR)), weight),
        ec._naive_loss(normalized, ec._class_means(ec._missing(score, reference, weight), reference, score_type, weight), CAST(rule AS VARCHAR))) END,
(score DOUBLE[], reference, rule, normalized, score_type, weight) AS
    CASE WHEN ec._rule_ok(CAST(rule AS VARCHAR), score_type)
              AND ec._lengths_ok(ec._either_missing(score, reference, weight), score, reference, score_type) THEN ec._ratio(
        ec._mean_of_right(ec._either_missing(score, reference, weight), ec._both_vectors_right(score, reference, score_type, weight),
                          ec._cross_loss(ec._vector_by_class(score, score_type), ec._vector_by_class(reference, score_type), CAST(rule AS VARCHAR)), weight),
        ec._naive_loss(normalized, ec._vector_class_means(ec._either_missing(score, reference, weight), reference, score_type, weight), CAST(rule AS VARCHAR))) END;
COMMENT ON MACRO ec.semi_empirical_epsr IS 'Expected scoring rule if the classes were drawn from reference posteriors s, lower is better: -sum_i s_i ln q_i, or its Brier form.';
